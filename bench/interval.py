"""Feasibility intervals: every withheld cell's least and largest value, against one cold LP per end.

Invented counts, a tenth of all cells withheld at random (the last case: a third, so that a large group of
cells hangs together and linear programs are needed). The rival solves one linear program per end from
scratch with HiGHS' own defaults, on withheld cells only; it is timed on a sample of cells and projected.
Times are CPU seconds of one thread, those of hitoku the least of several runs after the kernels are
compiled. Results go to .bench/interval.json.

    python -m bench.interval --only 2d_50 3d_20
    python -m bench.interval --rival 0      # hitoku only; writes the JJ files that the peers read
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import highspy
import numpy as np

from bench import OUT, keep
from hitoku.attacks import Interval, null_dimension
from hitoku.model import Dimension, Hierarchy, Protection, Release, Table, add_up

SEED = 20261115
RUNS = 3


@dataclass(frozen=True)
class Case:
    """A table and the share of its cells that is withheld."""

    name: str
    trees: tuple[tuple[int, ...], ...]  # per variable: children on each level
    share: float = 0.1


CASES = (
    Case("2d_50", ((50,), (50,))),
    Case("2d_100", ((100,), (100,))),
    Case("2d_300", ((300,), (300,))),
    Case("3d_20", ((20,), (20,), (20,))),
    Case("hierarchy", ((8, 6, 5), (6, 5))),
    Case("3d_10_dense", ((10,), (10,), (10,)), 1 / 3),
)


def tree(name: str, children: tuple[int, ...]) -> Hierarchy:
    """Every code of a level has the same number of children."""
    pairs, above = [], ["Total"]
    for n in children:
        below = [
            (f"{'' if code == 'Total' else code}{name}{k:03d}", code) for code in above for k in range(n)
        ]
        pairs += below
        above = [code for code, _ in below]
    return Hierarchy.from_pairs(pairs)


def invented(case: Case) -> tuple[Table, Release]:
    """Counts with effects per category and much spread per cell, a share of them withheld at random."""
    random = np.random.default_rng([SEED, *case.name.encode()])
    dimensions = tuple(Dimension.of(f"v{k}", tree("abc"[k], t)) for k, t in enumerate(case.trees))
    shape = [len(d.leaves) for d in dimensions]
    rate = random.gamma(1.5, 1 / 1.5, shape) * 20
    for axis, n in enumerate(shape):
        rate = np.moveaxis(np.moveaxis(rate, axis, -1) * random.lognormal(0, 0.5, n), -1, axis)
    value = add_up(random.poisson(rate), dimensions)
    table = Table(value=value, dimensions=dimensions, integer=True)
    withheld = random.random(table.n_cells) < case.share
    return table, Release.of(table, Protection.withhold(table, withheld))


def timed(work) -> tuple[float, object]:
    """CPU seconds: the machine is shared, so a wall clock would tell little."""
    best, answer = np.inf, None
    for _ in range(RUNS):
        start = time.process_time()
        answer = work()
        best = min(best, time.process_time() - start)
        if best > 5:
            break
    return best, answer


def cold(release: Release, bounds, n_sample: int) -> float:
    """Project the time of one cold linear program per end; every answer of the sample is compared."""
    cells = np.flatnonzero(release.withheld)
    matrix = release.relations[:, cells].tocsr()
    rhs = -(release.relations @ np.where(release.withheld, 0, release.published))
    sample = np.random.default_rng(SEED).choice(len(cells), min(n_sample, len(cells)), replace=False)
    start = time.process_time()
    for place in sample:
        for sense, end in ((1.0, bounds.lower), (-1.0, bounds.upper)):
            highs = highspy.Highs()
            highs.setOptionValue("output_flag", False)
            highs.setOptionValue("threads", 1)
            cost = np.zeros(len(cells))
            cost[place] = sense
            sizes = (len(cells), matrix.shape[0], matrix.nnz, 2, 1, 0.0)
            column_ends = (release.lower[cells], release.upper[cells])
            parts = (matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data)
            highs.passModel(
                *sizes, cost, *column_ends, rhs, rhs, *parts, np.zeros(len(cells), dtype=np.int32)
            )
            highs.run()
            status = highs.getModelStatus()
            unlimited = status != highspy.HighsModelStatus.kOptimal
            found = -sense * np.inf if unlimited else sense * highs.getObjectiveValue()
            assert abs(found - end[cells[place]]) <= 1e-5 or found == end[cells[place]], "the rival disagrees"
    return (time.process_time() - start) * len(cells) / max(len(sample), 1)


def write_jj(path: Path, table: Table, release: Release) -> None:
    """The same table as JJ, for the peers; their format wants a finite upper bound."""
    top = 2 * table.value.max()
    lines = ["0", str(table.n_cells)]
    for cell, (value, hidden) in enumerate(zip(table.value, release.withheld, strict=True)):
        lines.append(f"{cell} {value:.0f} 1 {'u' if hidden else 's'} 0 {top:.0f} 0 0 0")
    lines.append(str(table.relations.shape[0]))
    indptr, indices, data = table.relations.indptr, table.relations.indices, table.relations.data
    for row in range(table.relations.shape[0]):
        entries = range(indptr[row], indptr[row + 1])
        terms = " ".join(f"{indices[k]} ({data[k]:.0f})" for k in entries)
        lines.append(f"0 {len(entries)} : {terms}")
    path.write_text("\n".join(lines) + "\n")


def measured(case: Case, n_rival: int) -> dict[str, object]:
    """Everything about one case."""
    table, release = invented(case)
    seconds, bounds = timed(lambda: Interval().bounds(release))
    low, high = table.value * 0.9, table.value * 1.1
    meets_s, _ = timed(lambda: Interval().meets(release, low, high))
    folder = OUT / "interval"
    folder.mkdir(parents=True, exist_ok=True)
    write_jj(folder / f"{case.name}.jj", table, release)
    cells = np.flatnonzero(release.withheld)
    top = 2 * table.value.max()
    ends = {str(c): [float(bounds.lower[c]), float(min(bounds.upper[c], top))] for c in cells}
    (folder / f"{case.name}.json").write_text(json.dumps(ends))
    result = {
        "case": case.name,
        "cells": table.n_cells,
        "withheld": len(cells),
        "exact": int((bounds.width[cells] == 0).sum()),
        "moves": null_dimension(release),
        "bounds_s": seconds,
        "meets_s": meets_s,
    }
    if n_rival:
        result["cold_projected_s"] = cold(release, bounds, n_rival)
        result["times_faster"] = result["cold_projected_s"] / seconds
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[case.name for case in CASES])
    parser.add_argument("--rival", type=int, default=8, help="cells in the rival's sample; 0 leaves it out")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    for case in (Case("small", ((3,), (3,)), 0.5), Case("small", ((3,), (3,), (3,)), 0.7)):
        measured(case, 0)  # compiles the kernels
    results = [measured(case, asked.rival) for case in CASES if case.name in asked.only]
    keep("interval", results)
    if asked.json:
        print(json.dumps(results))
        return
    names = (
        "case",
        "cells",
        "withheld",
        "exact",
        "moves",
        "bounds_s",
        "meets_s",
        "cold_projected_s",
        "times_faster",
    )
    print("  ".join(f"{name:>16}" for name in names))
    for result in results:
        shown = [result.get(name, "") for name in names]
        print("  ".join(f"{x:>16.4g}" if isinstance(x, float) else f"{x:>16}" for x in shown))


if __name__ == "__main__":
    main()
