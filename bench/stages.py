"""What each stage of the audit, of the coalition search and of the intervals buys, with and without in turns.

    python -m bench.stages                        ten minutes
    python -m bench.stages --short                seconds, on small tables
    python -m bench.stages --only audit --runs 5

A stage is switched off by replacing one function. Every row has the median CPU seconds with all stages and
without one of them, and what the answer was: open and undecided cells, linear programs, witnesses. Runs with
and without take turns within one process. Results go to .bench/stages.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

import hitoku as ht
from bench import keep
from bench.large import RULES
from hitoku.coalitions import (
    CellSearch,
    CoalitionDeviations,
    CoalitionSearch,
    HypercubeDeviations,
    choose_insiders,
    coalition_search,
)
from hitoku.evidence import WitnessSearch, nearby, prover
from hitoku.feasibility import ends

Answer = dict[str, object]
# A module or class, the name of one of its functions, and what takes its place.
Stage = tuple[object, str, object]
AUDIT = {
    "circulation": (WitnessSearch, "push_in_circles", lambda *_: None),
    "hypercubes": (WitnessSearch, "push_hypercubes", lambda *_: None),
    "near each cell": (prover, "settle_nearby", lambda *_: True),
    "inside a change": (nearby, "_reach_within", lambda *_: None),
    "summed programs": (WitnessSearch, "push_all", lambda *_: None),
    "propagation": (WitnessSearch, "propagate", lambda *_: None),
}
COALITIONS = {
    "propagation": (CoalitionSearch, "_possible", lambda _, attained, __: attained.missing | True),
    "hypercubes": (HypercubeDeviations, "found", lambda *_: CoalitionDeviations.none()),
    "repair": (CoalitionSearch, "_repair", lambda *_: None),
    "all at once": (CoalitionSearch, "_push", lambda *_: None),
    "both ways": (CellSearch, "_both_ways", lambda *_: iter(())),
    "program of all cells": (coalition_search, "SMALL", 0),
}
INTERVALS = {
    "tied": (ends, "tie_cells", lambda _: None),
    "sums of goals": (ends.Pushes, "_together", lambda *_, **__: None),
}


def register(n: int, seed: int, regions: tuple[int, int], activities: tuple[int, int]) -> ht.Table:
    """Tabulate a synthetic register by three variables."""
    firms = ht.samples.register(n, seed, regions=regions, activities=activities)
    by = ["region", "activity", "size"]
    return ht.tabulate(
        firms.records,
        by=by,
        value="turnover",
        unit="enterprise",
        holding="holding",
        hierarchies=firms.hierarchies,
    )


def counts(seed: int, *shape: int) -> ht.Table:
    """Draw counts, a tenth of them zero."""
    random = np.random.default_rng(seed)
    return ht.Table.from_array(random.integers(1, 200, shape) * (random.random(shape) > 0.1))


def need_of(table: ht.Table, seed: int) -> ht.Need:
    """Apply the rules; without contributors one cell in twenty is unsafe, its levels a tenth of it."""
    if table.largest is not None:
        return ht.assess(table, RULES)
    inner = table.inner & (table.value > 0)
    unsafe = inner & (np.random.default_rng(seed).random(table.n_cells) < 0.05)
    level = np.where(unsafe, np.ceil(0.1 * table.value), 0.0)
    return ht.Need(unsafe=unsafe, lower=level, upper=level)


def releases(table: ht.Table, seed: int) -> Iterator[tuple[str, ht.Need, ht.Release]]:
    """Protect a table; the same with gaps; the unsafe cells alone. None has its witnesses with it."""
    need = need_of(table, seed)
    whole = ht.Circulation().protect(table, need)
    random = np.random.default_rng(seed).random(table.n_cells)
    gaps = whole.withheld & ~(whole.secondary & (random < 0.1))
    for name, withheld in (("safe", whole.withheld), ("gaps", gaps), ("unsafe alone", need.unsafe)):
        yield name, need, ht.Release.of(table, ht.Protection.withhold(table, withheld, need))


def audited(table: ht.Table, need: ht.Need, release: ht.Release) -> Answer:
    """Audit a release."""
    found = ht.audit(table, need, release)
    undecided = len(found.proof.undecided)
    return {
        "open": found.summary["open"],
        "undecided": undecided,
        "programs": found.proof.n_programs,
        "witnesses": len(found.proof.witnesses),
    }


def searched(table: ht.Table, need: ht.Need, release: ht.Release) -> Answer:
    """Try all sole and largest contributors."""
    attack = choose_insiders(table, "singletons").attack
    search = CoalitionSearch(table, need, release, attack)
    found = list(search.too_close())
    return {"coalitions": len(found), "cells": sum(len(one.cells) for one in found), "work": search.work.done}


def inferred(table: ht.Table, need: ht.Need, release: ht.Release) -> Answer:
    """Return how wide the intervals are in all, and how many goals are met."""
    bounds = ht.Interval().bounds(release)
    low = np.where(need.unsafe, table.value - need.lower, np.nan)
    high = np.where(need.unsafe, table.value + need.upper, np.nan)
    met = ht.Interval().meets(release, low, high)
    width = (bounds.upper - bounds.lower)[np.isfinite(bounds.upper)]
    return {"width": float(width.sum()), "met": int(met[0].sum() + met[1].sum())}


@contextmanager
def without(stage: Stage | None) -> Iterator[None]:
    """Switch a stage off."""
    if stage is None:
        yield
        return
    with patch.object(*stage):
        yield


def compared(run: Callable[[], Answer], stages: dict[str, Stage], runs: int) -> list[Answer]:
    """Run with all stages and without each of them in turn; return medians and answers."""
    run()
    seconds: dict[str, list[float]] = {}
    answers: dict[str, Answer] = {}
    for _ in range(runs):
        for name, stage in {"everything": None, **stages}.items():
            with without(stage):
                began = time.process_time()
                answers[name] = run()
                seconds.setdefault(name, []).append(time.process_time() - began)
    return [{"stage": name, "cpu_s": statistics.median(seconds[name]), **answers[name]} for name in seconds]


KINDS = {"audit": (audited, AUDIT), "coalitions": (searched, COALITIONS), "intervals": (inferred, INTERVALS)}
SHORT = {
    "audit": {"counts 6x8x5": lambda: counts(7, 6, 8, 5)},
    "coalitions": {"register of 500": lambda: register(500, 7, (2, 2), (2, 2))},
    "intervals": {"counts 4x5x4": lambda: counts(7, 4, 5, 4)},
}
LONG = {
    "audit": {
        "counts 9x11x13": lambda: counts(7, 9, 11, 13),
        "counts 70x90": lambda: counts(7, 70, 90),
        "register of 12,000": lambda: register(12_000, 7, (4, 4), (4, 6)),
        "register of 200,000": lambda: register(200_000, 7, (7, 11), (8, 10)),
    },
    "coalitions": {
        "register of 2,000": lambda: register(2_000, 7, (3, 3), (3, 3)),
        "register of 12,000": lambda: register(12_000, 7, (4, 4), (4, 6)),
    },
    "intervals": {
        "counts 9x11x13": lambda: counts(7, 9, 11, 13),
        "counts 5x6x5x4": lambda: counts(7, 5, 6, 5, 4),
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--short", action="store_true", help="small tables, one run each")
    parser.add_argument("--only", nargs="*", choices=KINDS, default=list(KINDS))
    parser.add_argument("--tables", nargs="*", help="names of tables; default: all")
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    rows = []
    for kind in given.only:
        run, stages = KINDS[kind]
        for name, table_of in (SHORT if given.short else LONG)[kind].items():
            if given.tables and name not in given.tables:
                continue
            table = table_of()
            for pattern, need, release in releases(table, 7):
                for found in compared(
                    lambda table=table, need=need, release=release, run=run: run(table, need, release),
                    stages,
                    1 if given.short else given.runs,
                ):
                    rows.append({"kind": kind, "table": name, "pattern": pattern, **found})
                    print(json.dumps(rows[-1]), flush=True)
    keep("stages", rows)


if __name__ == "__main__":
    main()
