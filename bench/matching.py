"""The matching attack: time per table by size, and the literal algorithm on the same tables in one run.

Tables as in the paper: counts |round(N(15, 10))|, fewer than 5 unsafe, width 9, unit cost, margins
published. "shave" is the interval of every cell; "all" adds the values between its ends and the number of
candidates; "literal" lists every candidate and suppresses each with the very method (tables with more
candidates than --literal are left out of the ratio, so it is that of the easy ones). Times are CPU seconds
of one thread with kernels loaded. Results go to .bench/matching.json.

    python -m bench.matching --sides 4 5 6 --tables 50
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from bench import keep
from hitoku.attacks.matching import Matching
from hitoku.errors import NeedError
from hitoku.methods.optimal import Optimal
from hitoku.model import Release, Table
from hitoku.rules import MinFrequency, assess

SEED = 20261115
RULES = [MinFrequency(5, zeros=True)]
METHOD = Optimal(cost="unit", keep="margins")


def released(rng, side):
    """Draw tables until one can be released with something withheld; its unsafe cells, and the release."""
    while True:
        table = Table.from_array(np.abs(np.rint(rng.normal(15, 10, (side, side)))).astype(np.int64))
        need = assess(table, RULES, width=9)
        try:
            if need.unsafe.any():
                return need.unsafe, Release.of(table, METHOD.protect(table, need))
        except NeedError:
            continue


def timed(function, *arguments):
    start = time.process_time()
    answer = function(*arguments)
    return time.process_time() - start, answer


def measured(side, n_tables, most, limit):
    rng = np.random.default_rng([SEED, side])
    known = {"method": METHOD, "rules": RULES, "width": 9}
    fast = Matching(**known, limit=limit)
    literal = Matching(**known, strategy="enumerate", limit=most or None)
    shave, everything, slow, same = [], [], [], []
    unsafe = narrow = finished = 0
    for _ in range(n_tables):
        primary, release = released(rng, side)
        took, bounds = timed(fast.bounds, release)
        shave.append(took)
        everything.append(timed(fast.run, release)[0])
        finished += not bounds.unknown.any()
        unsafe += int(primary.sum())
        narrow += int((bounds.width < 8)[primary & ~bounds.unknown].sum())
        if most:
            took, found = timed(literal.run, release)
            if found.complete:
                slow.append(took)
                same.append(shave[-1])
                if not (
                    np.array_equal(found.bounds.lower, bounds.lower)
                    and np.array_equal(found.bounds.upper, bounds.upper)
                ):
                    message = "shaving and the literal algorithm disagree"
                    raise RuntimeError(message)
    return {
        "tables": n_tables,
        "finished": finished,
        "unsafe": unsafe,
        "below_8": round(narrow / unsafe, 3),
        "shave_ms": round(float(np.mean(shave)) * 1e3, 3),
        "shave_median_ms": round(float(np.median(shave)) * 1e3, 3),
        "shave_max_ms": round(float(np.max(shave)) * 1e3, 1),
        "all_ms": round(float(np.mean(everything)) * 1e3, 3),
        "literal_tables": len(slow),
        "literal_ms": round(float(np.mean(slow)) * 1e3, 1) if slow else None,
        "ratio": round(float(np.sum(slow) / np.sum(same)), 1) if slow else None,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--sides", nargs="+", type=int, default=[4, 5, 6, 7])
    arguments.add_argument("--tables", type=int, default=50)
    arguments.add_argument(
        "--literal", type=int, default=300, help="most candidates for the literal algorithm; 0: none"
    )
    arguments.add_argument(
        "--limit", type=int, default=10_000_000, help="boxes and patterns before giving up"
    )
    given = arguments.parse_args()
    measured(3, 2, 50, given.limit)  # loads the kernels
    results = {}
    for side in given.sides:
        results[f"{side}x{side}"] = measured(side, given.tables, given.literal, given.limit)
        print(side, results[f"{side}x{side}"], flush=True)
    keep("matching", results)


if __name__ == "__main__":
    main()
