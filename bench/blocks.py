"""The method of blocks: cost compared with Greedy, time, and a check of the theorem by brute force.

Families of square tables; counts of 1 to 4 are unsafe. "lognormal": Poisson counts around the product of
lognormal margins (sigma 1.2), mean 100. "interaction": Zipf margins times gamma(1) factors, mean 300; here
also with a noisy earlier table (rates times uniform factors within 20 percent) as expectation. "paper":
|N(15, 10)| rounded. Widths are capped where totals allow less, for both methods. Results go to
.bench/blocks.json.

    python -m bench.blocks --sides 50 100 --seeds 10
    python -m bench.blocks --theorem 600     every table of many margins, for ten minutes
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from bench import keep
from hitoku.errors import NeedError
from hitoku.methods.blocks import Blocks
from hitoku.methods.flagged_groups import FlaggedGroups
from hitoku.methods.greedy import Greedy
from hitoku.model import Table
from hitoku.rules import MinFrequency, assess

ROOT = Path(__file__).resolve().parents[1]
RULES = [MinFrequency(5)]
# A table is drawn again when a margin is unsafe itself.
LEAST_MARGIN = 5


def rates(family: str, side: int, rng: np.random.Generator) -> np.ndarray:
    if family == "lognormal":
        rate = np.outer(rng.lognormal(0, 1.2, side), rng.lognormal(0, 1.2, side))
        return rate * 100 / rate.mean()
    zipf = 1 / np.arange(1, side + 1)
    rate = np.outer(zipf, zipf) * rng.gamma(1, 1, (side, side))
    return rate * 300 / rate.mean()


def drawn(family: str, side: int, seed: int) -> tuple[Table, np.ndarray]:
    """Draw a table and the table of the year before."""
    rng = np.random.default_rng([seed, side])
    while True:
        if family == "paper":
            counts = np.abs(np.rint(rng.normal(15, 10, (side, side)))).astype(np.int64)
            before = counts
        else:
            rate = rates(family, side, rng)
            counts = rng.poisson(rate)
            before = rate * rng.uniform(0.8, 1.2, rate.shape)
        if min(counts.sum(axis=0).min(), counts.sum(axis=1).min()) >= LEAST_MARGIN:
            return Table.from_array(counts), before


def widths(table: Table, width: int) -> np.ndarray:
    """Ask for the width, or for what the totals leave."""
    printed = table.value.reshape(table.shape)
    row, column, total = printed[:, -1:], printed[-1:, :], printed[-1, -1]
    room = np.minimum(row, column) - np.maximum(0, row + column - total)
    return np.clip(room, 1, width).ravel()


def cost(family: str, side: int, width: int, seeds: int) -> dict[str, object]:
    rows = []
    for seed in range(seeds):
        table, before = drawn(family, side, seed)
        wanted = widths(table, width)
        need = assess(table, RULES, width=wanted)
        row = {"unsafe": int(need.unsafe.sum())}
        methods = {"greedy": Greedy(keep="margins"), "blocks": Blocks(rules=RULES, width=wanted)}
        witnesses = {"rules": RULES, "width": wanted}
        methods["witnesses"] = FlaggedGroups(**witnesses)
        if family == "interaction":
            methods["expected"] = Blocks(rules=RULES, width=wanted, expected=before)
            methods["expected witnesses"] = FlaggedGroups(**witnesses, expected=before)
        for name, method in methods.items():
            start = time.process_time()
            try:
                protection = method.protect(table, need)
            except NeedError:
                # By witnesses alone; what the others would have lost does not count then.
                row |= {name: np.nan, f"{name} share": np.nan, f"{name} s": time.process_time() - start}
                row[f"{name} refused"] = 1
                continue
            row[name] = int(protection.withheld.sum())
            row[f"{name} refused"] = 0
            lost = table.value[protection.withheld].sum() / table.value[table.inner].sum()
            row[f"{name} share"] = float(lost)
            row[f"{name} s"] = time.process_time() - start
        rows.append(row)
    mean = {key: float(np.nanmean([row[key] for row in rows])) for key in rows[0]}
    for name in ("blocks", "expected", "witnesses", "expected witnesses"):
        if name in mean:
            mean[f"{name} / greedy"] = float(np.nanmean([row[name] / row["greedy"] for row in rows]))
    return {"family": family, "side": side, "width": width, "seeds": seeds, **mean}


def large(side: int) -> dict[str, object]:
    table, _ = drawn("lognormal", side, 0)
    need = assess(table, RULES, width=9)
    start = time.process_time()
    protection = Blocks(rules=RULES, width=9).protect(table, need)
    seconds = time.process_time() - start
    return {
        "side": side,
        "unsafe": int(need.unsafe.sum()),
        "blocks": int(protection.withheld.sum()),
        "s": seconds,
    }


def theorem(seconds: float) -> dict[str, int]:
    """List every table with the totals of random small ones, until the time is over."""
    sys.path.insert(0, str(ROOT))
    from tests.methods.blocks.fibres import fibres, random_examples, too_narrow  # noqa: PLC0415 - only for this

    end = time.process_time() + seconds
    tally = {"margins": 0, "tables": 0, "releases": 0, "unsafe cells": 0, "too narrow": 0}
    for example, given in random_examples(20261116):
        if time.process_time() >= end:
            break
        terms, groups = fibres(example, **given)
        cells, narrow = too_narrow(terms, groups)
        for key, n_more in (
            ("margins", 1), ("tables", sum(map(len, groups))), ("releases", len(groups)),
            ("unsafe cells", cells), ("too narrow", narrow),
        ):  # fmt: skip
            tally[key] += n_more
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sides", type=int, nargs="+", default=[20, 50, 100])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--families", nargs="+", default=["lognormal", "interaction", "paper"])
    parser.add_argument("--large", type=int, default=1000)
    parser.add_argument("--theorem", type=float, default=0, help="seconds to list tables")
    given = parser.parse_args()
    found: dict[str, object] = {}
    if given.theorem:
        found["theorem"] = theorem(given.theorem)
        print(found["theorem"])
    else:
        found["cost"] = []
        for family in given.families:
            for side in given.sides:
                for width in (9,) if family == "paper" else (5, 10):
                    row = cost(family, side, width, given.seeds)
                    found["cost"].append(row)
                    print({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
        if given.large:
            found["large"] = large(given.large)
            print(found["large"])
    keep("blocks", found)


if __name__ == "__main__":
    main()
