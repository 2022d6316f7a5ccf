"""Relations of a three-way hierarchical table of a million cells: time and memory to build them.

python -m bench.relations --json
"""

from __future__ import annotations

import argparse
import resource
import time
import tracemalloc

from bench import keep
from bench.tabulation import levels
from hitoku.model import Dimension, cross_relations, frozen_relations


def dimensions() -> list[Dimension]:
    """181 x 93 x 61 codes: 1.03 million cells."""
    return [
        Dimension.of("region", levels("R", 10, 30, 140)[0]),
        Dimension.of("activity", levels("A", 4, 18, 70)[0]),
        Dimension.of("size", levels("S", 10, 50)[0]),
    ]


def measure() -> dict[str, float]:
    """Build once to measure time and once under the memory tracer, which is slower."""
    variables = dimensions()
    start = time.perf_counter()
    relations = frozen_relations(
        cross_relations(variables), len(variables[0]) * len(variables[1]) * len(variables[2])
    )
    seconds = time.perf_counter() - start
    tracemalloc.start()
    cross_relations(variables)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    held = relations.data.nbytes + relations.indices.nbytes + relations.indptr.nbytes
    return {
        "cells": relations.shape[1],
        "relations": relations.shape[0],
        "entries": relations.nnz,
        "seconds": seconds,
        "matrix_mb": held / 2**20,
        "peak_while_building_mb": peak / 2**20,
        "peak_process_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true", help="write .bench/relations.json")
    options = parser.parse_args()
    found = measure()
    for name, number in found.items():
        print(f"{name:24}{number:>14,.2f}" if isinstance(number, float) else f"{name:24}{number:>14,}")
    if options.json:
        keep("relations", found)


if __name__ == "__main__":
    main()
