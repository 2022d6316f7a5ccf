"""Count false alarms: 38 ordinary requests of a researcher's week, under every shipped policy.

    python -m tools.ordinary_week
    python -m tools.ordinary_week --details

Every request is ordinary research on a made-up register of 3,000 enterprises; none of them is an attack. Each
is requested twice: in a separate session, and in one session with all the others, as in a real week. The
figures say how many pass, go to review, fail, or are refused with an error; and how many numbers
of those that pass are withheld.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

import hitoku as ht
from hitoku.samples import ACTIVITIES, REGIONS, register

POLICIES = ("japan-2017", "essnet-2009")
Request = tuple[str, dict[str, Any]]


def make_firms(n: int = 3_000, seed: int = 1) -> pd.DataFrame:
    """Return a register of enterprises with what a researcher would merge to it."""
    firms = register(n=n, seed=seed).records.drop(columns=["holding"])
    rng = np.random.default_rng(seed)
    above = {
        town: province
        for province, valleys in REGIONS.items()
        for towns in valleys.values()
        for town in towns
    }
    sector = {
        leaf: top for top, groups in ACTIVITIES.items() for leaves in groups.values() for leaf in leaves
    }
    firms["province"], firms["sector"] = firms["region"].map(above), firms["activity"].map(sector)
    firms["size"] = firms["size"].replace({"4 large": "3 medium and large", "3 medium": "3 medium and large"})
    firms["log_turnover"] = np.log1p(firms["turnover"]).round(4)
    firms["wage"] = rng.lognormal(3.4, 0.35, n).round(1)
    firms["growth"] = rng.normal(2.0, 6.0, n).round(2)
    chance = 1 / (1 + np.exp(2.2 - 0.25 * firms["log_turnover"]))
    firms["exports"] = (rng.random(n) < chance).astype(int)
    firms["woman_owned"] = rng.choice(["yes", "no"], n, p=[0.3, 0.7])
    firms["months"] = np.minimum(rng.exponential(40, n), 60).round().clip(1)
    firms["closed"] = (firms["months"] < 60).astype(int)
    return firms


# Monday to Friday.
WEEK: tuple[Request, ...] = (
    ("frequency_table", {"by": ["province", "size"]}),
    ("frequency_table", {"by": ["sector", "size"]}),
    ("frequency_table", {"by": ["province", "woman_owned"]}),
    ("percentages", {"by": ["province", "size"], "of": "row"}),
    ("percentages", {"by": ["sector", "woman_owned"], "of": "row"}),
    ("crosstab", {"index": "size", "columns": "exports"}),
    ("describe", {"value": "wage"}),
    ("describe", {"value": "growth", "by": "province"}),
    ("mean", {"value": "wage", "by": "sector"}),
    ("mean", {"value": "growth", "by": ["province", "size"]}),
    ("mean", {"value": "exports", "by": "province"}),
    ("mean", {"value": "exports", "by": "size"}),
    ("sum", {"value": "employees", "by": "province"}),
    ("magnitude_table", {"by": ["province", "size"], "value": "wage"}),
    ("magnitude_table", {"by": ["sector"], "value": "employees"}),
    ("percentile", {"value": "wage", "percent": 50, "by": "sector"}),
    ("percentile", {"value": "turnover", "percent": 90, "by": "province"}),
    ("table", {"by": "province", "value": "wage", "statistics": ["count", "mean", "std", "p50"]}),
    ("table", {"by": "size", "value": "growth", "statistics": ["count", "mean", "p10", "p50", "p90"]}),
    ("mode", {"value": "size", "by": "sector"}),
    ("concentration", {"value": "employees", "statistic": "gini", "by": "province"}),
    ("concentration", {"value": "wage", "statistic": "hhi", "by": "sector"}),
    ("concentration", {"value": "employees", "statistic": "cr4"}),
    ("lorenz", {"value": "wage", "n_groups": 10}),
    ("quantile_groups", {"value": "wage", "n_groups": 5}),
    ("summary", {"statistic": "std", "value": "growth", "by": "sector"}),
    ("summary", {"statistic": "correlation", "value": "log_turnover", "other": "wage"}),
    ("summary", {"statistic": "ratio", "value": "turnover", "other": "employees", "by": "size"}),
    ("test", {"statistic": "t", "value": "growth", "other": "woman_owned"}),
    ("test", {"statistic": "f", "value": "wage", "other": "province"}),
    ("test", {"statistic": "kruskal", "value": "growth", "other": "sector"}),
    ("test", {"statistic": "chi2", "value": "size", "other": "province"}),
    ("regression", {"model": "log_turnover ~ wage + C(size) + C(province)"}),
    ("regression", {"model": "exports ~ log_turnover + wage", "family": "logit"}),
    ("regression", {"model": "growth ~ C(province)"}),
    ("histogram", {"value": "wage", "bins": 8}),
    ("survival", {"duration": "months", "event": "closed", "by": "size"}),
    ("life_table", {"duration": "months", "event": "closed", "edges": [0, 12, 24, 36, 48, 60], "by": "size"}),
)


def run_week(policy: str, *, together: bool, firms: pd.DataFrame) -> list[tuple[Request, str, str]]:
    """Return for every request its status and, where it does not pass, why."""
    work = ht.Session("week", firms, unit="enterprise", policy=policy)
    found = []
    for method, options in WEEK:
        own = work if together else ht.Session("week", firms, unit="enterprise", policy=policy)
        try:
            output = getattr(own, method)(**options)
        except ht.HitokuError as error:
            found.append(((method, options), "refused", error.what))
            continue
        why = "; ".join(
            f"{v.principle}: {v.text}" for v in output.verdicts if str(v.status) == str(output.status)
        )
        entries = [entry for column in output.published.values() for entry in column]
        gone = f"{sum(entry is None for entry in entries)} of {len(entries)} entries withheld"
        status = str(output.status)
        found.append(((method, options), status, gone if status == "pass" else why))
    return found


def main(words: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--details", action="store_true", help="show every request")
    given = parser.parse_args(words)
    firms = make_firms()
    for policy in POLICIES:
        for together in (False, True):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = run_week(policy, together=together, firms=firms)
            tally = Counter(status for _, status, _ in found)
            figures = ", ".join(
                f"{tally[status]} {status}" for status in ("pass", "review", "fail", "refused")
            )
            how = "one session" if together else "each alone"
            print(f"{policy:12} {how:12} {len(found)} requests: {figures}")
            for (method, options), status, why in found:
                if given.details or status != "pass":
                    asked = ", ".join(f"{name}={value!r}" for name, value in options.items())
                    print(f"    {status:7} {method}({asked}): {why[:160]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
