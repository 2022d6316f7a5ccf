"""Greedy suppression: time by size, cells withheld, memory, and against the literal procedure.

Invented skewed counts. In tables without hierarchies a share of the inner cells is unsafe, drawn among the
smaller ones; in hierarchies every count below a threshold. Each needs an interval of width 9. Times are CPU
seconds of one thread, one run. Memory is the peak that Python allocates, in a second run. The reference
implementation recomputes every interval after every cell. Results go to .bench/greedy.json.

    python -m bench.greedy --only 2d_50 hierarchy_1k
"""

from __future__ import annotations

import argparse
import json
import time
import tracemalloc
from dataclasses import dataclass

import numpy as np
from tests.oracles.greedy import literal_greedy

from bench import keep
from hitoku.methods import costs
from hitoku.methods.greedy import Greedy
from hitoku.model import Dimension, Hierarchy, Need, Table, add_up

SEED = 20261115
WIDTH = 9.0


@dataclass(frozen=True)
class Case:
    """A table: children on each level per variable; unsafe cells by share, or below a threshold."""

    name: str
    trees: tuple[tuple[int, ...], ...]
    share: float = 0.0
    below: int = 0
    tidy: bool = True


CASES = (
    Case("2d_50", ((50,), (50,)), share=0.1),
    Case("2d_100", ((100,), (100,)), share=0.1),
    Case("2d_100_few", ((100,), (100,)), share=0.005),
    Case("3d_10", ((10,), (10,), (5,)), share=0.05),
    Case("hierarchy_1k", ((4, 4), (4, 4), (3,)), below=5),
    Case("hierarchy_10k", ((6, 6), (7, 7), (3,)), below=8, tidy=False),
)
TWIN = Case("2d_8", ((8,), (8,)), share=0.2)


def tree(name: str, children: tuple[int, ...]) -> Hierarchy:
    pairs, above = [], ["Total"]
    for level, n in enumerate(children):
        stem = {code: name if level == 0 else code for code in above}
        below = [(f"{stem[parent]}.{i}", parent) for parent in above for i in range(n)]
        pairs += below
        above = [code for code, _ in below]
    return Hierarchy.from_pairs(pairs)


def instance(case: Case) -> tuple[Table, Need]:
    random = np.random.default_rng(SEED)
    names = [f"v{axis}" for axis in range(len(case.trees))]
    dimensions = tuple(
        Dimension.of(name, tree(name, children)) for name, children in zip(names, case.trees, strict=True)
    )
    shape = tuple(len(d.leaves) for d in dimensions)
    counts = np.floor(np.exp(random.normal(2.6, 1.3, shape)))
    table = Table(value=add_up(counts, dimensions), dimensions=dimensions, integer=True, measure="count")
    if case.below:
        return table, Need(unsafe=(table.value > 0) & (table.value < case.below), width=WIDTH)
    inner = np.flatnonzero(table.inner & (table.value > 0))
    wanted = max(1, round(case.share * len(inner)))
    small = inner[np.argsort(table.value[inner], kind="stable")][: 2 * wanted]
    unsafe = np.zeros(table.n_cells, dtype=bool)
    unsafe[random.permutation(small)[:wanted]] = True
    return table, Need(unsafe=unsafe, width=WIDTH)


def timed(run):
    begin = time.process_time()
    answer = run()
    return answer, time.process_time() - begin


def measure(case: Case) -> list[dict[str, object]]:
    table, need = instance(case)
    rows = []
    options = [{}, {"prefer": "closing"}]
    options += [{"tidy": True}, {"tidy": True, "prefer": "closing"}] if case.tidy else []
    for option in options:
        protection, seconds = timed(lambda option=option: Greedy(**option).protect(table, need))
        tracemalloc.start()
        Greedy(**option).protect(table, need)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        rows.append(
            {
                "case": case.name,
                "options": repr(Greedy(**option)),
                "cells": table.n_cells,
                "relations": table.relations.shape[0],
                "unsafe": int(need.unsafe.sum()),
                "secondary": int(protection.secondary.sum()),
                "secondary_value": float(table.value[protection.secondary].sum()),
                "cpu_s": round(seconds, 3),
                "peak_mb": round(peak / 1e6, 1),
            }
        )
        print(json.dumps(rows[-1]), flush=True)
    return rows


def against_the_twin() -> dict[str, object]:
    table, need = instance(TWIN)
    protection, seconds = timed(lambda: Greedy().protect(table, need))
    cells, literal = timed(lambda: literal_greedy(table, need, cost=costs(table, "value")))
    assert [step.cell for step in protection.steps] == cells
    row = {
        "case": TWIN.name,
        "options": "reference implementation",
        "steps": len(cells),
        "cpu_s": round(seconds, 4),
        "twin_cpu_s": round(literal, 3),
        "ratio": round(literal / seconds, 1),
    }
    print(json.dumps(row), flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[case.name for case in CASES])
    chosen = set(parser.parse_args().only)
    rows = [against_the_twin()]
    for case in CASES:
        if case.name in chosen:
            rows += measure(case)
    keep("greedy", rows)


if __name__ == "__main__":
    main()
