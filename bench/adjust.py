"""Adjustment: seconds per table and norm, compared with solvers on the plain formulation.

Instances in JJ format from a folder, every unsafe cell up, weights 1/a and 1/a²; and two generated tables:
one million cells in two dimensions, a three-way hierarchy of 35,000. "hitoku" is the whole method: scaling,
solving, checking, rounding to a grid on which sums hold. "highs" and "clarabel" get the problem as the paper
writes it, deviations as columns, with their default settings. All in CPU seconds of one thread, each in a
process of its own with its peak memory in MB; "cost" is recomputed from the point returned, so that a wrong
one shows. "paper" is CPLEX 12.4 on a computer of 2010: the seconds of Table 1 for 41 solves, divided by 41.
Clarabel is tried where it is installed (pip install clarabel). Results go to .bench/adjust.json.

    python -m bench.adjust ../shared/data/csplib --only table3 hier16
    python -m bench.adjust --only 2d_1000 hierarchy_35k
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from bench import keep

SEED = 20261115
LIMIT_S = 60
# Table 1 of Castro (2012): seconds of all runs, L1 and L2.
PAPER = {
    "cbs": (29.26, 51.95),
    "hier13": (127.19, 88.25),
    "hier13x13x13a": (73.5, 85.43),
    "hier13x7x7d": (6.53, 6.19),
    "hier16": (541.69, 429.36),
    "hier16x16x16a": (676.15, 607.93),
    "nine5d": (885.92, 1172.9),
    "osorio": (59.6, 30.54),
    "table1": (16.07, 11.13),
    "table3": (335.48, 443.69),
    "table8": (6.88, 4.75),
    "targus": (1.82, 1.53),
    "two5in6": (345.26, 368.32),
}
SOLVES = 41
GENERATED = ("2d_1000", "hierarchy_35k", "2d_20")
WAYS = ("hitoku", "highs", "clarabel")


def generated(name):
    """Skewed magnitudes, a twentieth of the inner cells unsafe with a level of ten percent."""
    from hitoku.model import (  # noqa: PLC0415 - a process loads what it measures
        Dimension,
        Hierarchy,
        Need,
        Table,
        add_up,
    )

    rng = np.random.default_rng([SEED, sum(name.encode())])
    if name.startswith("2d_"):
        side = int(name.removeprefix("2d_"))
        table = Table.from_array(np.round(rng.lognormal(4, 1.5, (side, side))))
    else:
        trees = [
            Hierarchy.from_tree({f"{v}{i}": [f"{v}{i}.{j}" for j in range(fan)] for i in range(4)})
            for v, fan in (("a", 8), ("b", 7), ("c", 6))
        ]
        dims = tuple(Dimension.of(name, tree) for name, tree in zip("abc", trees, strict=True))
        inner = np.round(rng.lognormal(4, 1.5, [len(d.leaves) for d in dims]))
        table = Table(value=add_up(inner, dims), dimensions=dims)
    unsafe = table.inner & (rng.random(table.n_cells) < 0.05) & (table.value > 0)
    level = np.where(unsafe, 0.1 * table.value, 0.0)
    return table, Need(unsafe=unsafe, lower=level, upper=level)


def plain(table, need):
    """The paper's (4) with all senses up: bounds of the deviations."""
    lower = np.where(need.unsafe, need.upper, table.lower - table.value)
    upper = table.upper - table.value
    kept = np.zeros(table.n_cells, dtype=bool) if table.fixed is None else table.fixed
    return np.where(kept, 0.0, lower), np.where(kept, 0.0, upper)


def by_highs(table, lower, upper, weight, norm):
    import highspy  # noqa: PLC0415 - a process loads what it measures

    relations, n = table.relations, table.n_cells
    highs = highspy.Highs()
    for option, setting in (("output_flag", False), ("threads", 1), ("time_limit", float(LIMIT_S))):
        highs.setOptionValue(option, setting)
    rows = np.zeros(relations.shape[0])
    cost = np.zeros(n)
    if norm == "l1":
        from scipy import sparse  # noqa: PLC0415 - see above

        relations = sparse.csr_array(sparse.hstack([relations, -relations]))
        cost = np.tile(weight, 2)
        lower, upper = (
            np.concatenate([np.maximum(lower, 0), np.maximum(-upper, 0)]),
            np.concatenate([np.maximum(upper, 0), np.maximum(-lower, 0)]),
        )
    highs.passModel(
        *(len(cost), len(rows), relations.nnz, 2, 1, 0.0, cost, lower, upper, rows, rows),
        *(relations.indptr.astype(np.int32), relations.indices.astype(np.int32), relations.data),
        np.zeros(len(cost), dtype=np.int32),
    )
    if norm == "l2":
        every = np.arange(n, dtype=np.int32)
        highs.passHessian(n, n, 1, np.arange(n + 1, dtype=np.int32), every, 2 * weight)
    highs.run()
    x = np.asarray(highs.getSolution().col_value)
    moved = (x[:n] - x[n:] if norm == "l1" else x) if len(x) else np.full(n, np.nan)
    return moved, str(highs.getModelStatus()).rpartition(".k")[2]


def by_clarabel(table, lower, upper, weight, norm):
    import clarabel  # noqa: PLC0415 - optional
    from scipy import sparse  # noqa: PLC0415 - see above

    relations, n = table.relations, table.n_cells
    low, high = np.flatnonzero(np.isfinite(lower)), np.flatnonzero(np.isfinite(upper))
    one = sparse.eye_array(n, format="csr")
    blocks, rhs, cones = [relations], [np.zeros(relations.shape[0])], [clarabel.ZeroConeT(relations.shape[0])]
    squares, cost = sparse.csc_array((n, n)), np.zeros(n)
    limits, ends = [-one[low], one[high]], [-lower[low], upper[high]]
    if norm == "l1":
        # |z| <= t, t the price.
        wide = [sparse.hstack([part, sparse.csr_array((part.shape[0], n))]) for part in (*blocks, *limits)]
        blocks, limits = wide[:1], [*wide[1:], sparse.hstack([one, -one]), sparse.hstack([-one, -one])]
        ends += [np.zeros(n), np.zeros(n)]
        squares, cost = sparse.csc_array((2 * n, 2 * n)), np.concatenate([np.zeros(n), weight])
    else:
        squares = sparse.csc_array(sparse.diags_array(2 * weight))
    matrix = sparse.csc_array(sparse.vstack([*blocks, *limits]))
    cones.append(clarabel.NonnegativeConeT(sum(map(len, ends))))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.time_limit = float(LIMIT_S)
    solver = clarabel.DefaultSolver(squares, cost, matrix, np.concatenate([*rhs, *ends]), cones, settings)
    found = solver.solve()
    return np.array(found.x)[:n], str(found.status)


def measured(folder, name, norm, way):
    """Run one case in this process."""
    from hitoku.io import read_jj  # noqa: PLC0415 - see above
    from hitoku.methods.adjust import Adjust  # noqa: PLC0415 - see above
    from hitoku.solver.closest import reciprocal  # noqa: PLC0415 - see above

    table, need = generated(name) if name in GENERATED else read_jj(Path(folder) / f"{name}.jj.gz")
    weight = reciprocal(table.value, norm)
    lower, upper = plain(table, need)
    start = time.process_time()
    if way == "hitoku":
        found = Adjust(norm=norm).protect(table, need)
        moved, status = found.value - table.value, "proven" if found.proven else "not proven"
    else:
        solver = by_highs if way == "highs" else by_clarabel
        moved, status = solver(table, lower, upper, weight, norm)
    seconds = time.process_time() - start
    size = np.abs(moved) if norm == "l1" else moved**2
    short = np.maximum(np.maximum(lower - moved, moved - upper), 0).max()
    return {
        "cells": table.n_cells,
        "seconds": round(seconds, 3),
        "status": status,
        "cost": float(weight @ size),
        "row_error": float(np.abs(table.relations @ moved).max()),
        "bound_error": float(short),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folder", nargs="?", help="folder with JJ files, such as ../shared/data/csplib")
    arguments.add_argument("--only", nargs="+")
    arguments.add_argument("--ways", nargs="+", choices=WAYS, default=[*WAYS])
    arguments.add_argument("--here", nargs=2, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.here:
        print(json.dumps(measured(given.folder, given.only[0], *given.here)))
        return
    there = sorted(p.name.removesuffix(".jj.gz") for p in Path(given.folder or "/nowhere").glob("*.jj.gz"))
    names = given.only or [*there, *GENERATED[:2]]
    ways = [way for way in given.ways if way != "clarabel" or find_spec("clarabel")]
    if len(ways) < len(given.ways):
        print("clarabel is not installed, so it is left out: pip install clarabel")
    results = {}
    for name in names:
        for place, norm in enumerate(("l1", "l2")):
            row = {"paper": round(PAPER[name][place] / SOLVES, 2) if name in PAPER else None}
            for way in ways:
                command = [sys.executable, "-m", "bench.adjust", given.folder or "", "--only", name]
                try:
                    done = subprocess.run(
                        [*command, "--here", norm, way],
                        check=True,
                        capture_output=True,
                        text=True,
                        timeout=4 * LIMIT_S,
                    )
                    row[way] = json.loads(done.stdout)
                except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
                    row[way] = {"status": type(error).__name__}
            results[f"{name} {norm}"] = row
            print(name, norm, json.dumps(row), flush=True)
    keep("adjust", results)


if __name__ == "__main__":
    main()
