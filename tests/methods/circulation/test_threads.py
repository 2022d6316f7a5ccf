"""The pattern of a circulation does not depend on how many threads anything under it may take."""

from __future__ import annotations

import os
import subprocess
import sys

# HiGHS is given one thread by hitoku: here it is given as many as the rest, before anybody imports it.
CHILD = """
import hashlib, sys
from hitoku.solver import highs
threads, (make, run), n_runs = int(sys.argv[1]), (highs.engine, highs.run), []
highs.engine = lambda options: make({**options, "threads": threads})
highs.run = lambda model, _: n_runs.append(1) or run(model, threads)

import numba, numpy
from hitoku.methods.circulation import Circulation
from hitoku.model import Need
from hitoku.model import Table
assert numba.get_num_threads() == threads
counts = numpy.exp(numpy.random.default_rng(0).normal(2.4, 1.3, (5, 6, 4))).astype(int)
table = Table.from_array(counts)
found = Circulation().protect(table, Need(unsafe=(table.value > 0) & (table.value < 4), width=5))
assert found.secondary.any() and n_runs
deviations = found.deviations
parts = (found.withheld, deviations.begins, deviations.cells, deviations.amounts)
print(hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest())
"""


def started(threads):
    counts = dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), str(threads)
    )
    path = os.pathsep.join(sys.path)
    words = [sys.executable, "-c", CHILD, str(threads)]
    return subprocess.Popen(words, env={**os.environ, **counts, "PYTHONPATH": path}, stdout=subprocess.PIPE)


def test_one_thread_and_two_give_the_same_bytes():
    one, two = (child.communicate()[0] for child in [started(1), started(2)])
    assert len(one) == 65
    assert one == two
