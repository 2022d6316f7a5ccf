"""What each stage of the methods buys: time, cost and gap with and without it, in turns.

    python -m bench.method_stages                          an hour
    python -m bench.method_stages --short                  seconds, on small tables
    python -m bench.method_stages --only optimal --tables "flat 30x40" --stages halves

A stage is switched off by replacing functions or numbers. Tables are of shapes and seeds that no setting was
chosen on. Every row has the median CPU seconds for some tables with all stages and without one of them, the
cost of the patterns and, for the optimal method, mean gaps and the problems solved until the last improvement
of bound or pattern. Runs take turns within one process. Results go to .bench/method_stages.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from importlib import import_module
from typing import Any
from unittest.mock import patch

import numpy as np

import hitoku as ht
from bench import keep
from bench.large import RULES
from bench.optimal import hierarchical, made_unsafe, magnitudes
from bench.stages import counts, need_of, register
from hitoku.feasibility import push
from hitoku.feasibility.hypercubes import HypercubeSearch
from hitoku.methods.circulation import batches, circulation, reach
from hitoku.methods.greedy import greedy, incremental_audit
from hitoku.methods.optimal import cuts, heuristics, neighbourhoods, optimal, relaxation, tree
from hitoku.methods.tuning import GREEDY

# The package has a function of the same name.
search = import_module("hitoku.methods.optimal.search")
SEED = 701
Problem = tuple[ht.Table, ht.Need]
# A module or class, the name of one of its functions or numbers, and what takes its place; several together.
Stage = list[tuple[Any, str, Any]]


def nothing(*_: Any, **__: Any) -> None:
    """Do nothing."""


def _repair_alone(self: Any, relaxed: Any) -> None:
    self._repair(self.relaxation.pattern(relaxed.x), self._promising(relaxed))


def _only_at_roots(tree_init: Any) -> Any:
    def made(self: Any, *problem: Any, **options: Any) -> None:
        tree_init(self, *problem, **options)
        self._repairs = False

    return made


def _unless_wide(searched: Any) -> Any:
    def made(self: Any, relaxed: Any, far_off: float = 0.05, extent: Any = None) -> None:
        if extent is None:
            searched(self, relaxed, far_off, extent)

    return made


def _seldom(pool_violated: Any) -> Any:
    def made(self: Any, x: Any, least: float, most: int = 20, among: Any = None) -> Any:
        return np.zeros(0, dtype=np.int64) if among is None else pool_violated(self, x, least, most, among)

    return made


OPTIMAL: dict[str, Stage] = {
    "bit patterns of small tables": [(optimal.Optimal, "_small", nothing)],
    "enumeration of tiny parts": [(search, "cheapest_by_enumeration", nothing)],
    "star cuts": [(optimal, "star_cuts", lambda _: cuts.Cuts.of([]))],
    "first patterns": [(optimal, "first_patterns", lambda *_: iter(()))],
    "updates of prices": [(heuristics, "ROUNDS", 1)],
    "further movements": [(heuristics, "AGAIN", 0)],
    "shaken prices": [(heuristics, "SHAKES", 0)],
    "redundant cells": [(heuristics, "drop_redundant", lambda _engine, pattern, *_: pattern)],
    "repairs in nodes": [(tree.BranchAndCut, "__init__", _only_at_roots(tree.BranchAndCut.__init__))],
    "covers and rounding": [(relaxation, "strengthen", lambda cells, c, _: (cells, c))],
    "rows strengthened again": [(relaxation.Relaxation, "_remember", nothing)],
    "halves": [(relaxation.Relaxation, "halves", lambda *_: [])],
    "a look into the pool": [(relaxation.RowPool, "violated", _seldom(relaxation.RowPool.violated))],
    "dense tableau of the master": [(relaxation, "WIDE", -1), (relaxation, "WIDE_NETWORK", -1)],
    "strong branching": [(tree, "RELIABLE", 0)],
    "diving": [(tree, "PLUNGE", -1.0)],
    "early leave of the root": [(tree, "ROOT_COLUMNS", 0)],
    "core": [(search.PatternSearch, "_search_core", _repair_alone)],
    "early narrowing": [(search.PatternSearch, "_narrow_early", nothing)],
    "fewer cells after the root": [(search, "FEWER", 0.0)],
    "parts around cells": [(search.PatternSearch, "_search_neighbourhoods", nothing)],
    "wide parts": [
        (
            search.PatternSearch,
            "_search_neighbourhoods",
            _unless_wide(vars(search.PatternSearch)["_search_neighbourhoods"]),
        )
    ],
    "incumbent search": [
        (neighbourhoods.IncumbentSearch, "begin", nothing),
        (neighbourhoods.IncumbentSearch, "catch_up", lambda _: False),
    ],
    "restarts": [(neighbourhoods, "RESTART_AFTER", 2**62)],
}
CIRCULATION: dict[str, Stage] = {
    "free moves": [
        (circulation, "free_moves", lambda _, rooms, *__: ht.model.Deviations.of([], int(rooms.scale)))
    ],
    "hypercubes": [(HypercubeSearch, "serve", nothing)],
    "sweeps": [(circulation, "swept", lambda state, _, given, *__: state.assigned(given))],
    "tidying of batches": [(batches.BatchTidy, "run", lambda self, *_: self._batches)],
    "parts by programs": [(circulation.Search, "_search_parts", nothing)],
    "second routing": [
        (circulation, "LARGE", 0),
    ],
    "avoiding cells": [(HypercubeSearch, "avoid", nothing)],
    "integer programs": [(reach.CellReach, "_whole_change", nothing)],
    "coarse steps": [(reach, "STEPS", (1.0,))],
    "caps": [(reach, "CAPS", (4.0,))],
    "few cells first": [(reach, "LEAN", ())],
    "gathering prices": [
        (circulation, "CellReach", lambda table, movable, _, **how: reach.CellReach(table, movable, 1, **how))
    ],
    "grids of batches": [(batches, "GRIDS", ())],
}
GREEDY_STAGES: dict[str, Stage] = {
    "propagation": [(incremental_audit.IncrementalAudit, "_any_held", lambda *_: False)],
    "circulations": [(incremental_audit.IncrementalAudit, "_circulate", nothing)],
    "all at once": [(incremental_audit.IncrementalAudit, "show", nothing)],
    "flows": [(incremental_audit, "push_engine", push.LinearPush)],
    "one large program": [(incremental_audit, "GREEDY", replace(GREEDY, large_share=2.0))],
    "groups": [(incremental_audit, "GREEDY", replace(GREEDY, large_share=-1.0))],
    "redundant cells": [(greedy, "publish_redundant", lambda _, __, found, *___: found)],
}


def invented(shape: tuple[int, ...], share: float, seed: int) -> Problem:
    random = np.random.default_rng(seed)
    return made_unsafe(ht.Table.from_array(magnitudes(random, shape)), share, random)


def counted(seed: int, *shape: int) -> Problem:
    table = counts(seed, *shape)
    return table, need_of(table, seed)


def registered(seed: int, n: int) -> Problem:
    table = register(n, seed, (3, 4), (3, 4))
    return table, ht.assess(table, RULES)


def unlinked(problem: Problem) -> Problem:
    """Forget the dimensions, as for a JJ file."""
    table, need = problem
    return replace(table, dimensions=()), need


def solved(table: ht.Table, need: ht.Need, work: int | None) -> dict[str, Any]:
    found = ht.Optimal(cost="own", work_limit=work).protect(table, need)
    return {"cost": found.cost, "gap": found.gap, "work": found.trace[-1][0] if found.trace else 0}


def circulated(table: ht.Table, need: ht.Need, cost: str) -> dict[str, Any]:
    try:
        found = ht.Circulation(cost=cost).protect(table, need)
    except ht.HitokuError:
        return {"cost": 0.0, "cells": 0, "failed": 1}
    return {"cost": found.cost, "cells": int(found.secondary.sum()), "failed": 0}


def walked(table: ht.Table, need: ht.Need, tidy: bool) -> dict[str, Any]:
    found = ht.Greedy(tidy=tidy, prefer="closing").protect(table, need)
    return {"cost": found.cost, "cells": int(found.secondary.sum())}


# Each family of tables: how a seed makes one, how many, and the argument of the method: a limit of work, a
# cost, whether redundant cells are published.
Family = tuple[Callable[[int], Problem], int, Any]
SHORT: dict[str, dict[str, Family]] = {
    "optimal": {"cubes 3x4x3": (lambda seed: invented((3, 4, 3), 0.1, seed), 2, 200)},
    "circulation": {"counts 6x8x5": (lambda seed: counted(seed, 6, 8, 5), 1, "value")},
    "greedy": {"counts 5x5x4": (lambda seed: counted(seed, 5, 5, 4), 1, True)},
}
LONG: dict[str, dict[str, Family]] = {
    "optimal": {
        "cubes 6x6x4": (lambda seed: invented((6, 6, 4), 0.06, seed), 6, None),
        "cubes 7x5x4": (lambda seed: invented((7, 5, 4), 0.06, seed), 6, None),
        "flat 30x40": (lambda seed: invented((30, 40), 0.05, seed), 6, None),
        "flat 70x70": (lambda seed: invented((70, 70), 0.02, seed), 3, None),
        "trees 9x6x4": (lambda seed: hierarchical(((3, 3), (2, 3), (2, 2)), 0.05, seed), 4, None),
        "cubes 9x7x5, open": (lambda seed: invented((9, 7, 5), 0.06, seed), 6, 3_000),
        "flat 150x150, open": (lambda seed: invented((150, 150), 0.008, seed), 1, 60_000),
        "cubes 17x16x13, open": (lambda seed: invented((17, 16, 13), 0.03, seed), 1, 4_000),
    },
    "circulation": {
        "counts 9x11x13": (lambda seed: counted(seed, 9, 11, 13), 6, "value"),
        "counts 7x8x9, unit": (lambda seed: counted(seed, 7, 8, 9), 4, "unit"),
        "counts 70x90": (lambda seed: counted(seed, 70, 90), 6, "value"),
        "counts 25x25x25": (lambda seed: counted(seed, 25, 25, 25), 1, "value"),
        "registers": (lambda seed: registered(seed, 5_000), 3, "value"),
        "relations 8x9x10": (lambda seed: unlinked(counted(seed, 8, 9, 10)), 2, "value"),
        "relations 6x7x8, unit": (lambda seed: unlinked(counted(seed, 6, 7, 8)), 4, "unit"),
    },
    "greedy": {
        "counts 9x11x13": (lambda seed: counted(seed, 9, 11, 13), 3, True),
        "counts 70x90": (lambda seed: counted(seed, 70, 90), 3, True),
        "registers": (lambda seed: registered(seed, 5_000), 2, True),
        "trees 30x16x9": (lambda seed: hierarchical(((5, 6), (4, 4), (3, 3)), 0.03, seed), 1, False),
    },
}
KINDS: dict[str, tuple[Callable[..., dict[str, Any]], dict[str, Stage]]] = {
    "optimal": (solved, OPTIMAL),
    "circulation": (circulated, CIRCULATION),
    "greedy": (walked, GREEDY_STAGES),
}


def measured(
    run: Callable[..., dict[str, Any]], problems: list[Problem], how: Any, stage: Stage
) -> dict[str, Any]:
    """Run a family without a stage; return sums, and the mean of gaps."""
    with ExitStack() as stack:
        for replaced in stage:
            stack.enter_context(patch.object(*replaced))
        began = time.process_time()
        answers = [run(*problem, how) for problem in problems]
        seconds = time.process_time() - began
    total = {key: sum(answer[key] for answer in answers) for key in answers[0]}
    if "gap" in total:
        total["gap"] = round(total["gap"] / len(answers), 5)
    return {"cpu_s": round(seconds, 3), **total}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--short", action="store_true", help="small tables, one run each")
    parser.add_argument("--only", nargs="*", choices=KINDS, default=list(KINDS))
    parser.add_argument("--tables", nargs="*", help="names of tables; default: all")
    parser.add_argument("--stages", nargs="*", help="names of stages; default: all")
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    rows = []
    for kind in given.only:
        run, every = KINDS[kind]
        stages = {name: stage for name, stage in every.items() if not given.stages or name in given.stages}
        for name, (made, n_seeds, how) in (SHORT if given.short else LONG)[kind].items():
            if given.tables and name not in given.tables:
                continue
            problems = [made(SEED + seed) for seed in range(n_seeds)]
            measured(run, problems[:1], how, [])
            seconds: dict[str, list[float]] = {}
            for turn in range(1 if given.short else given.runs):
                for stage, replaced in {"everything": [], **stages}.items():
                    row = measured(run, problems, how, replaced)
                    seconds.setdefault(stage, []).append(row["cpu_s"])
                    row["cpu_s"] = statistics.median(seconds[stage])
                    rows.append({"kind": kind, "table": name, "stage": stage, "turn": turn, **row})
                    print(json.dumps(rows[-1]), flush=True)
    last = {(row["kind"], row["table"], row["stage"]): row for row in rows}
    keep("method_stages", list(last.values()))


if __name__ == "__main__":
    main()
