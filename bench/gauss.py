"""Elimination: time by size, cold and warm, with the table building that comes before it.

Invented over-dispersed counts, about a tenth of the inner cells from 1 to 3 and unsafe; hierarchies of random
shape. Times are CPU seconds of one thread: "build" makes the table, "need" assesses it, "first" is the first
call in a fresh process (plain Python where that is enough; else it loads compiled kernels, or compiles them
with --cold), "again" the second, "loaded" one with the kernels in memory. Beside them stands what
GaussSuppression 1.2.3 in R took on tables of the same kind, table building included, as measured once for
this project (R itself is not needed to run this). Results go to .bench/gauss.json.

    python -m bench.gauss --only 2d_100 3d_20
    python -m bench.gauss --cold --only 2d_20
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

from bench import keep

SEED = 20261115
# Seconds of CPU in R (singletonMethod anySum, its default), from the project's notes.
R_SECONDS = {
    "2d_50": 1.69,
    "2d_100": 22.3,
    "2d_200": 330.0,
    "3d_10": 0.72,
    "3d_20": 30.4,
    "4d_8": 17.9,
    "hierarchy_2k": 0.80,
    "hierarchy_24k": 129.0,
}
FLAT = {
    "2d_20": (20,) * 2,
    "2d_50": (50,) * 2,
    "2d_100": (100,) * 2,
    "2d_200": (200,) * 2,
    "2d_1000": (1000,) * 2,
    "3d_10": (10,) * 3,
    "3d_20": (20,) * 3,
    "3d_100": (100,) * 3,
    "4d_8": (8,) * 4,
    "4d_16": (16,) * 4,
}
TREES = {
    "hierarchy_2k": ((4, 3, 4), (3, 3, 4), 8.0),
    "hierarchy_24k": ((8, 4, 6), (4, 4, 8), 4.0),
    "hierarchy_177k": ((20, 5, 5), (6, 8, 7), 2.0),
    "hierarchy_1500k": ((20, 10, 8), (10, 9, 8), 2.0),
}


def flat_counts(rng, shape):
    """Poisson counts around a product of effects, scaled so that a tenth of them is 1, 2 or 3."""
    rate = rng.gamma(1.5, 1 / 1.5, shape)
    for axis, side in enumerate(shape):
        effect = rng.lognormal(0.0, 0.5, side)
        rate *= effect.reshape([-1 if a == axis else 1 for a in range(len(shape))])
    low, high = 3.0, 1e4
    for _ in range(60):
        level = np.sqrt(low * high)
        mean = rate * level
        small = (np.exp(-mean) * (mean + mean**2 / 2 + mean**3 / 6)).mean()
        low, high = (level, high) if small > 0.1 else (low, level)
    return rng.poisson(rate * np.sqrt(low * high))


def tree(rng, prefix, fan):
    """Draw a code tree with these mean numbers of children per level."""
    rows, level = [], [()]
    for depth, mean in enumerate(fan):
        level = [
            (*above, f"{above[-1] if above else prefix}.{i}")
            for above in level
            for i in range(mean if depth == 0 else max(2, int(rng.poisson(mean))))
        ]
    rows.extend(level)
    return rows


def counted(name):
    """Inner counts of a case, and its code trees if it has any."""
    rng = np.random.default_rng([SEED, sum(name.encode())])
    if name in FLAT:
        return flat_counts(rng, FLAT[name]), None
    one, two, per_cell = TREES[name]
    rows = [tree(rng, "N", one), tree(rng, "R", two)]
    weights = [rng.lognormal(0, 1.0, len(r)) for r in rows]
    mean = np.outer(*[w / w.sum() for w in weights]) * rng.gamma(1.0, 1.0, (len(rows[0]), len(rows[1])))
    return rng.poisson(mean / mean.sum() * per_cell * mean.size), rows


def measured(name):
    """Run one case in this process."""
    counts, trees = counted(name)
    from hitoku.methods.gauss import Gauss  # noqa: PLC0415 - imports are no part of the first call
    from hitoku.model import Dimension, Hierarchy, Table, add_up  # noqa: PLC0415 - see above
    from hitoku.rules import MinFrequency  # noqa: PLC0415 - see above

    clock = [time.process_time()]
    if trees is None:
        table = Table.from_array(counts)
    else:
        both = tuple(
            Dimension.of(n, Hierarchy.from_levels(rows)) for n, rows in zip("NR", trees, strict=True)
        )
        value = add_up(counts, both)
        table = Table(value=value, dimensions=both, frequency=value.astype(np.int64), integer=True)
    clock.append(time.process_time())
    need = MinFrequency(4).assess(table)
    clock.append(time.process_time())
    for _ in range(2):
        protection = Gauss().protect(table, need)
        clock.append(time.process_time())
    build, assess, first, again = np.diff(clock).round(4).tolist()
    in_python = "hitoku.kernels.gauss_passes" not in sys.modules
    import hitoku.kernels.gauss_passes  # noqa: F401, PLC0415 - from here on the kernels are in memory

    Gauss().protect(table, need)
    start = time.process_time()
    protection = Gauss().protect(table, need)
    loaded = round(time.process_time() - start, 4)
    return {
        "cells": table.n_cells,
        "unsafe": int(need.unsafe.sum()),
        "secondary": int(protection.secondary.sum()),
        "build_s": build,
        "need_s": assess,
        "first_s": first,
        "again_s": again,
        "loaded_s": loaded,
        "in_python": in_python,
        "r_s": R_SECONDS.get(name),
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--only", nargs="+", choices=[*FLAT, *TREES], default=[*FLAT, *TREES])
    arguments.add_argument("--cold", action="store_true", help="compile again, in a separate cache")
    arguments.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.here:
        print(json.dumps(measured(given.only[0])))
        return
    results = {}
    for name in given.only:
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, **({"NUMBA_CACHE_DIR": folder} if given.cold else {})}
            command = [sys.executable, "-m", "bench.gauss", "--here", "--only", name]
            done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        row = results[name] = json.loads(done.stdout)
        if row["r_s"]:
            row["r_over_first"] = round(row["r_s"] / (row["build_s"] + row["need_s"] + row["first_s"]))
            row["r_over_loaded"] = round(row["r_s"] / (row["build_s"] + row["need_s"] + row["loaded_s"]))
        print(name, results[name], flush=True)
    keep("gauss_cold" if given.cold else "gauss", results)


if __name__ == "__main__":
    main()
