"""The randomised method on the tables of the matching attack's paper: what it costs and what it leaves.

Counts are drawn as in the paper, |N(15, 10)| rounded; cells of 1 to 4 are unsafe and need an interval of 9.
For each size: cells withheld beyond the optimum, how often everything is withheld, what a likelihood-ratio
attacker learns about unsafe cells (optimal: the matching attack), CPU seconds of one thread per table.
Strengths side by side. Results go to .bench/randomised.json.

    python -m bench.randomised --sizes 4 5 --tables 20
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

from bench import keep
from hitoku.attacks.matching import Likelihood, Matching
from hitoku.methods.optimal import Optimal
from hitoku.methods.randomised import Randomised
from hitoku.model import Bounds, Need, Release, Table
from hitoku.rules import MinFrequency, assess

SEED = 20261116
RULES = [MinFrequency(5)]
WIDTH = 9
RATIO = 20.0
# Attacking a release in full takes long where many tables fit; those with more are left out and counted.
MAX_CANDIDATES = 3_000


def tables(side: int, n: int) -> list[tuple[Table, Need]]:
    random = np.random.default_rng(SEED + side)
    found = []
    while len(found) < n:
        table = Table.from_array(np.abs(np.rint(random.normal(15, 10, (side, side)))).astype(int))
        need = assess(table, RULES, width=WIDTH)
        if need.unsafe.any():
            found.append((table, need))
    return found


def narrow(bounds: Bounds, need: Need) -> tuple[int, int]:
    """Unsafe cells that the attacker pins down further than allowed, and unsafe cells he could judge."""
    judged = need.unsafe & ~bounds.unknown
    return int(np.sum(judged & (bounds.width < WIDTH))), int(judged.sum())


def attacked(method: object, release: Release, need: Need, **how: object) -> tuple[int, int]:
    attack = Matching(method=method, rules=RULES, width=WIDTH, **how)
    return narrow(attack.bounds(release), need)


def measure(side: int, n: int, strength: float, *, attack: bool) -> dict[str, object]:
    optimal = Optimal(cost="unit", keep="margins")
    extra, seconds, everything = [], [], 0
    hits = {"optimal": [0, 0], "randomised": [0, 0]}
    for place, (table, need) in enumerate(tables(side, n)):
        best = optimal.protect(table, need)
        method = Randomised(rules=RULES, width=WIDTH, strength=strength, ratio=RATIO, seed=place)
        begin = time.process_time()
        drawn = method.protect(table, need)
        seconds.append(time.process_time() - begin)
        last_resort = bool(drawn.withheld.sum() == side * side)
        everything += last_resort
        if not last_resort:
            extra.append(float(drawn.withheld.sum() - best.withheld.sum()))
        if attack:
            found = {"optimal": attacked(optimal, Release.of(table, best), need)}
            if not last_resort:
                found["randomised"] = attacked(
                    method, Release.of(table, drawn), need, attacker=Likelihood(RATIO), limit=MAX_CANDIDATES
                )
            for name, pair in found.items():
                hits[name] = [a + b for a, b in zip(hits[name], pair, strict=True)]
    row = {
        "size": f"{side}x{side}",
        "tables": n,
        "strength": strength,
        "extra_cells": round(float(np.mean(extra)), 2),
        "everything_withheld": round(everything / n, 3),
        "cpu_s_mean": round(float(np.mean(seconds)), 3),
        "cpu_s_max": round(float(np.max(seconds)), 2),
    }
    for name, (short, judged) in hits.items():
        if judged:
            row |= {f"{name}_unsafe": round(short / judged, 3), f"{name}_cells": judged}
    print(json.dumps(row), flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", nargs="*", type=int, default=[4, 5, 6])
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--strengths", nargs="*", type=float, default=[1.0, 2.0])
    parser.add_argument("--no-attack", action="store_true", help="leave the attack on the releases out")
    chosen = parser.parse_args()
    # Compiling is no part of what is measured.
    for table, need in tables(4, 1):
        Randomised(rules=RULES, width=WIDTH, seed=0).protect(table, need)
    rows = [
        measure(side, chosen.tables, strength, attack=not chosen.no_attack)
        for side in chosen.sizes
        for strength in chosen.strengths
    ]
    keep("randomised", rows)


if __name__ == "__main__":
    main()
