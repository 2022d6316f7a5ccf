"""What is known of methods against a reader who knows them, on tables of 20 x 20 and 50 x 50 counts.

Of every unsafe cell: proved safe (a walk from the true table met tables that lead to the same release so far
apart), proved to leak (the matching attack looked at everything), or unknown. "sparse" are tables with few
unsafe cells: lognormal ones of mean 3,000. Results go to .bench/known_method.json.

    python -m bench.known_method --sides 20 50 --walks 2 --steps 40
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from bench import keep
from hitoku.methods import Blocks, Greedy, Optimal, with_known_rules
from hitoku.model import Table
from hitoku.pipeline import against_known_method
from hitoku.rules import MinFrequency, assess

RULES, WIDTH = [MinFrequency(5)], 8
FAMILIES = {"dense": 100.0, "sparse": 3000.0}
# Optimal without the proof of optimality, which may take long.
METHODS = {
    "blocks": Blocks(),
    "greedy": Greedy(keep="margins"),
    "optimal": Optimal(cost="unit", keep="margins", time_limit_s=20),
}


def drawn(side: int, mean: float, seed: int) -> Table:
    """Draw lognormal tables until no total is too small for the width."""
    rng = np.random.default_rng([20261117, side, seed])
    while True:
        rate = np.outer(rng.lognormal(0, 1.2, side), rng.lognormal(0, 1.2, side))
        counts = rng.poisson(rate * mean / rate.mean())
        if min(counts.sum(axis=0).min(), counts.sum(axis=1).min()) > 2 * WIDTH:
            return Table.from_array(counts)


def measured(name: str, side: int, family: str, walks: int, steps: int) -> dict[str, object]:
    table = drawn(side, FAMILIES[family], 0)
    need = assess(table, RULES, width=WIDTH)
    method = with_known_rules(METHODS[name], RULES, WIDTH)
    start = time.process_time()
    protection = method.protect(table, need)
    middle = time.process_time()
    known = against_known_method(table, need, protection, method, RULES, WIDTH, walks=walks, steps=steps)
    return {
        "method": name, "side": side, "family": family, "unsafe": int(need.unsafe.sum()),
        "withheld": int(protection.withheld.sum()), "safe": known.safe, "leaking": known.leaking,
        "unknown": known.unknown, "protect s": round(middle - start, 2),
        "attack s": round(time.process_time() - middle, 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sides", type=int, nargs="+", default=[20, 50])
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--families", nargs="+", default=list(FAMILIES))
    parser.add_argument("--walks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=40)
    given = parser.parse_args()
    rows = []
    for side in given.sides:
        for family in given.families:
            for name in given.methods:
                rows.append(measured(name, side, family, given.walks, given.steps))
                print(rows[-1], flush=True)
    keep("known_method", rows)


if __name__ == "__main__":
    main()
