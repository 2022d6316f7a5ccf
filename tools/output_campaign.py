"""Attack what passes: random sessions of every output type under every shipped policy.

    python -m tools.output_campaign --sessions 500
    python -m tools.output_campaign --minutes 60
    python -m tools.output_campaign --replay 17 --policy japan-2017

Each session has a small data set of its own and one to three outputs. Those that pass are given to
``tools.output_solver``, which knows nothing of hitoku. Nothing that passed may fall: exit code 1 if
something does, with the number that replays it. hitoku is used through ``hitoku.Session`` alone.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from tools.output_solver import Attacker, Claim, Released

import hitoku as ht

POLICIES = ("japan-2017", "essnet-2009")
CODES = ("region", "job", "sex", "disease", "twin", "kept")
Request = tuple[str, dict[str, Any]]
Random = np.random.Generator


def make_people(rng: Random, *, many: bool) -> pd.DataFrame:
    """Make up people: 160 to 320, or 40 to 160. Some of the traps of research data are in every data set."""
    n = int(rng.choice([160, 240, 320] if many else [40, 62, 101, 101, 160]))
    regions = list("NSEW")[: rng.integers(2, 5)]
    people = pd.DataFrame({"region": rng.choice(regions, n, p=_shares(rng, len(regions)))})
    people["job"] = rng.choice(list("abc"), n, p=_shares(rng, 3))
    if rng.random() < 0.6:
        # Another composition in every region: some cells are small, and so are some of their lines.
        for own in people.groupby("region").indices.values():
            people.loc[own, "job"] = rng.choice(list("abc"), len(own), p=rng.dirichlet(np.full(3, 0.7)))
    people["sex"] = rng.choice(["f", "m"], n)
    # A few people with a disease, from one to a dozen.
    people["disease"] = "none"
    people.loc[rng.choice(n, rng.integers(1, 13), replace=False), "disease"] = "rare"
    # A variable that follows from another, or nearly.
    people["twin"] = people["sex"].map({"f": "p", "m": "q"})
    if rng.random() < 0.5:
        people.loc[rng.choice(n, 15, replace=False), "twin"] = "p"
    income = rng.lognormal(10, rng.choice([0.3, 0.6]), n).round()
    if rng.random() < 0.3:
        income = rng.choice(np.arange(1, 12) * 100.0, n)
    if rng.random() < 0.4:
        income[people["region"] == "N"] = 500.0
    people["income"] = income
    people["hours"] = rng.integers(10, 60, n).astype(float)
    people["tax"] = 0.25 * people["income"] + 120 if rng.random() < 0.4 else rng.normal(900, 200, n).round()
    few = rng.random(n) < rng.choice([0.04, 0.15, 0.5])
    people["sick"] = few.astype(int)
    people["percent"] = 100 * people["sick"]
    people["coded"] = people["sick"]
    people.loc[int(rng.integers(n)), "coded"] = 9
    month = rng.integers(1, 24, n).astype(float)
    if rng.random() < 0.5:
        month[(people["sex"] == "f") & (rng.random(n) < rng.choice([0.92, 0.97]))] = 3.0
    people["month"] = month
    people["event"] = (rng.random(n) < rng.choice([0.5, 1.0])).astype(int)
    # Sums of which give those of others, and everybody but the first.
    people["shifted"], people["turned"] = people["income"] + 1, 5 - 2 * people["hours"]
    people["total"] = people["income"] + people["hours"]
    people["kept"] = np.where(np.arange(n) < 1, "no", "yes")
    return people


def _shares(rng: Random, n: int) -> Any:
    """Return shares of codes, even or with some that hardly occur."""
    return rng.dirichlet(np.full(n, rng.choice([0.7, 3.0, 20.0])))


def ask_tables(rng: Random) -> list[Request]:
    """Counts and percentages of the same variables."""
    by = [str(name) for name in rng.choice(["region", "job", "sex", "disease"], 2, replace=False)]
    if rng.random() < 0.6:
        by = ["region", "job"]
    pool: list[Request] = [
        ("frequency_table", {"by": by}),
        ("percentages", {"by": by, "of": str(rng.choice(["row", "row", "row", "column", "all"]))}),
        ("percentages", {"by": by[::-1], "of": "row"}),
        ("frequency_table", {"by": by[0]}),
        ("frequency_table", {"by": by[1], "where": {"sex": ["f"]}} if "sex" not in by else {"by": by[1]}),
        ("describe", {"value": "hours", "by": by[0]}),
    ]
    if rng.random() < 0.5:
        return pool[:2]
    return [pool[0], *_some(rng, pool[1:], 2)] if rng.random() < 0.7 else _some(rng, pool, 2)


def ask_percentiles(rng: Random) -> list[Request]:
    """Percentiles of one variable, in one output or several."""
    value, by = str(rng.choice(["income", "hours"])), _by(rng) if rng.random() < 0.5 else []
    step, first = int(rng.choice([1, 2, 5, 10])), int(rng.choice([1, 10, 20, 25]))
    many = [f"p{p}" for p in range(first, 100 - first + 1, step)]
    pool: list[Request] = [
        ("table", {"by": by, "value": value, "statistics": many}),
        *(("percentile", {"value": value, "percent": int(p), "by": by}) for p in rng.integers(10, 91, 3)),
        ("percentile", {"value": value, "percent": 1, "by": by}),
        ("percentile", {"value": value, "percent": 99, "by": by}),
        ("mean", {"value": value, "by": by}),
        ("describe", {"value": value, "by": by}),
    ]
    return _some(rng, pool, 3)


def ask_moments(rng: Random) -> list[Request]:
    """Moments of all and of groups, and tests between groups."""
    value, by = str(rng.choice(["income", "hours", "tax"])), _by(rng)
    other = str(rng.choice(["disease", "sex"]))
    pool: list[Request] = [
        ("mean", {"value": value}),
        ("summary", {"statistic": str(rng.choice(["std", "variance", "cv"])), "value": value}),
        (
            "test",
            {
                "statistic": str(rng.choice(["t", "t", "f", "mannwhitney", "kruskal"])),
                "value": value,
                "other": other,
            },
        ),
    ]
    more: list[Request] = [
        ("mean", {"value": value, "by": by}),
        ("sum", {"value": value, "by": [other]}),
        ("summary", {"statistic": "std", "value": value, "by": by}),
        ("magnitude_table", {"by": ["region", other], "value": value}),
        ("magnitude_table", {"by": ["job"], "value": value}),
        ("mean", {"value": value, "where": {"disease": ["none"]}}),
        ("summary", {"statistic": "std", "value": value, "where": {"disease": ["none"]}}),
        ("concentration", {"value": value, "statistic": "hhi"}),
        ("regression", {"model": f"{value} ~ C({other})"}),
        ("regression", {"model": f"{value} ~ C(region)"}),
        ("describe", {"value": value}),
        ("summary", {"statistic": "skewness", "value": value, "by": by}),
        ("summary", {"statistic": "kurtosis", "value": value, "by": by}),
    ]
    return pool if rng.random() < 0.4 else _some(rng, [*pool, *more], 3)


def ask_two_values(rng: Random) -> list[Request]:
    """A rare attribute through every statistic that contains its mean."""
    value = str(rng.choice(["sick", "sick", "percent", "coded"]))
    by = str(rng.choice(["region", "sex", "job"]))
    pool: list[Request] = [
        ("mean", {"value": value, "by": by}),
        ("sum", {"value": value, "by": by}),
        ("summary", {"statistic": str(rng.choice(["std", "variance", "cv"])), "value": value, "by": by}),
        ("summary", {"statistic": "covariance", "value": value, "other": value, "by": by}),
        ("summary", {"statistic": "ratio", "value": "income", "other": value, "by": by}),
        ("summary", {"statistic": "index", "value": value, "other": "hours", "by": by}),
        ("mean", {"value": "income", "by": by}),
        ("mean", {"value": "hours", "by": by}),
        ("regression", {"model": f"{value} ~ C({by})"}),
        ("regression", {"model": f"sick ~ C({by})", "family": "logit"}),
        ("magnitude_table", {"by": [by], "value": value}),
        ("concentration", {"value": value, "statistic": str(rng.choice(["gini", "hhi"])), "by": by}),
        ("quantile_groups", {"value": value, "n_groups": 3, "by": by}),
        ("table", {"by": by, "value": value, "statistics": ["count", "mean"]}),
        ("frequency_table", {"by": [by, value]}),
        ("summary", {"statistic": "correlation", "value": value, "other": "income", "by": by}),
    ]
    return _some(rng, pool, 3)


def ask_alike(rng: Random) -> list[Request]:
    """Dispersion and level of a variable that may be equal for all units of a group."""
    by = str(rng.choice(["region", "region", "sex"]))
    pool: list[Request] = [
        ("concentration", {"value": "income", "statistic": "gini", "by": by}),
        ("concentration", {"value": "income", "statistic": "hhi", "by": by}),
        ("concentration", {"value": "income", "statistic": f"cr{rng.integers(3, 6)}", "by": by}),
        ("concentration", {"value": "income", "statistic": f"cr{rng.integers(3, 6)}", "by": by}),
        ("percentile", {"value": "income", "percent": int(rng.choice([1, 2, 5])), "by": by}),
        ("percentile", {"value": "income", "percent": int(rng.choice([95, 98, 99])), "by": by}),
        ("mean", {"value": "income", "by": by}),
        ("mode", {"value": "income", "by": by}),
        ("summary", {"statistic": "cv", "value": "income", "by": by}),
        ("quantile_groups", {"value": "income", "n_groups": 3, "by": by}),
        ("lorenz", {"value": "income", "n_groups": 3, "by": by}),
        ("summary", {"statistic": str(rng.choice(["min", "max"])), "value": "income", "by": by}),
    ]
    if rng.random() < 0.3:
        return [pool[4], pool[5], *_some(rng, pool[6:], 1)]
    return _some(rng, pool, 3)


def ask_perfect(rng: Random) -> list[Request]:
    """Variables that follow from each other."""
    pool: list[Request] = [
        ("summary", {"statistic": "correlation", "value": "tax", "other": "income"}),
        ("regression", {"model": "tax ~ income"}),
        ("test", {"statistic": "chi2", "value": "twin", "other": "sex"}),
        ("describe", {"value": "tax"}),
        ("describe", {"value": "income"}),
        ("frequency_table", {"by": ["twin", "sex"]}),
    ]
    return pool[3:5] + pool[:1] if rng.random() < 0.5 else _some(rng, pool, 3)


def ask_related(rng: Random) -> list[Request]:
    """Means and sums of variables that are sums of each other, of everybody and of nearly everybody."""
    values = ["income", "hours", "total", "shifted", "turned"]
    kept: list[dict[str, Any]] = [{}, {}, {"kept": ["yes"]}, {"disease": ["none"]}]
    pool: list[Request] = [
        (
            str(rng.choice(["mean", "sum"])),
            {
                "value": str(value),
                "by": [] if rng.random() < 0.7 else ["sex"],
                "where": kept[rng.integers(len(kept))],
            },
        )
        for value in rng.permutation(values)
    ]
    return _some(rng, pool, 4)


def ask_curves(rng: Random) -> list[Request]:
    """Curves of events over time."""
    by = ["sex"] if rng.random() < 0.5 else _by(rng)
    common = {"duration": "month", "event": "event", "by": by}
    pool: list[Request] = [
        ("survival", dict(common)),
        ("life_table", {**common, "edges": [0, 6, 12, 18, 24]}),
        ("histogram", {"value": "month", "bins": [0, 6, 12, 18, 24]}),
        ("mean", {"value": "event", "by": by}),
        ("percentile", {"value": "month", "percent": 50, "by": by}),
    ]
    return [pool[0], *_some(rng, pool[1:], 1)] if rng.random() < 0.5 else _some(rng, pool, 2)


THEMES: tuple[Callable[[Random], list[Request]], ...] = (
    ask_tables,
    ask_percentiles,
    ask_moments,
    ask_two_values,
    ask_alike,
    ask_perfect,
    ask_curves,
    ask_related,
)


# Those in which small data sets have everything withheld.
OF_MANY = (ask_tables, ask_curves)


def ask(rng: Random) -> tuple[pd.DataFrame, list[Request]]:
    """Make up the data and the outputs of a session: outputs of one theme, or of two."""
    theme = THEMES[rng.integers(len(THEMES))]
    people, requests = make_people(rng, many=theme in OF_MANY), theme(rng)
    if rng.random() < 0.25:
        other = THEMES[rng.integers(len(THEMES))]
        requests = _some(rng, [*requests, *other(rng)], 3)
    return people, requests


def _some(rng: Random, pool: Sequence[Request], most: int) -> list[Request]:
    n = int(rng.integers(1, most + 1)) if rng.random() < 0.2 else most
    return [pool[at] for at in rng.permutation(len(pool))[:n]]


def _by(rng: Random) -> list[str]:
    return [[], [], ["region"], ["sex"], ["job"], ["region", "sex"]][rng.integers(6)]


@dataclass
class Tally:
    """What came out of the sessions so far."""

    sessions: int = 0
    outputs: Counter[str] = field(default_factory=Counter)
    fallen: list[tuple[int, str, Claim]] = field(default_factory=list)
    wrong: list[tuple[int, str, Claim]] = field(default_factory=list)


def run_session(seed: int, policy: str, tally: Tally, *, verbose: bool = False) -> list[Claim]:
    """Run one session and attack what passed; return what fell."""
    rng = np.random.default_rng(seed)
    people, requests = ask(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # models of statsmodels that do not converge say so
        passed = _passed(people, requests, policy, tally, verbose=verbose)
    found = Attacker(people, CODES).attack(passed)
    tally.sessions += 1
    tally.fallen += [(seed, policy, claim) for claim in found if claim.true]
    tally.wrong += [(seed, policy, claim) for claim in found if not claim.true]
    return found


def _passed(
    people: pd.DataFrame, requests: Sequence[Request], policy: str, tally: Tally, *, verbose: bool
) -> list[Released]:
    """Ask for outputs in one session; return what passes, as it would be released."""
    work = ht.Session("campaign", people, policy=policy)
    passed = []
    for method, options in requests:
        try:
            output = getattr(work, method)(**options)
        except ht.HitokuError as error:
            tally.outputs["refused"] += 1
            status, output = f"refused: {error.what}", None
        else:
            status = str(output.status)
            tally.outputs[status] += 1
        if output is not None and status == "pass":
            passed.append(
                Released(method, options, {name: list(own) for name, own in output.published.items()})
            )
        if verbose:
            print(f"  {method}({', '.join(f'{k}={v!r}' for k, v in options.items())}): {status}")
            if output is not None:
                print(output.frame.to_string(max_rows=12))
    return passed


def main(words: Sequence[str] | None = None) -> int:
    """Run the campaign; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sessions", type=int, default=0, help="sessions per policy")
    parser.add_argument("--minutes", type=float, default=0.0, help="go on for so long")
    parser.add_argument("--seed", type=int, default=0, help="number of the first session")
    parser.add_argument("--replay", type=int, help="run one session and show it")
    parser.add_argument("--policy", choices=POLICIES, help="one policy instead of all")
    given = parser.parse_args(words)
    policies = (given.policy,) if given.policy else POLICIES
    tally, begun = Tally(), time.monotonic()
    if given.replay is not None:
        for policy in policies:
            print(f"session {given.replay}, {policy}")
            for claim in run_session(given.replay, policy, tally, verbose=True):
                print(f"  {'FELL' if claim.true else 'NOT TRUE'}, {claim.kind}: {claim.text}")
        return 1 if tally.fallen else 0
    most = given.sessions or (sys.maxsize if given.minutes else 200)
    seed = given.seed
    while seed < given.seed + most:
        if given.minutes and time.monotonic() - begun > 60 * given.minutes:
            break
        for policy in policies:
            known = len(tally.fallen)
            run_session(seed, policy, tally)
            for _, _, claim in tally.fallen[known:]:
                print(f"FELL  --replay {seed} --policy {policy}  {claim.kind}: {claim.text}", flush=True)
        seed += 1
    _report(tally)
    return 1 if tally.fallen else 0


def _report(tally: Tally) -> None:
    outputs = ", ".join(f"{n:,} {status}" for status, n in sorted(tally.outputs.items()))
    print(f"{tally.sessions:,} sessions; outputs: {outputs}")
    kinds = Counter((claim.kind, policy) for _, policy, claim in tally.fallen)
    sessions = len({(seed, policy) for seed, policy, _ in tally.fallen})
    print(f"{len(tally.fallen):,} claims in {sessions:,} sessions fell")
    for (kind, policy), n in sorted(kinds.items()):
        print(f"  {kind:20} {policy:12} {n:6,}")
    for seed, policy, claim in tally.wrong[:5]:
        print(f"the solver is wrong: --replay {seed} --policy {policy}  {claim.kind}: {claim.text}")
    if tally.wrong:
        print(f"the solver was wrong {len(tally.wrong)} times")


if __name__ == "__main__":
    sys.exit(main())
