"""Optimal suppression: time to the proof and to the canonical pattern, by size and kind of table.

Known instances come from the shared ground truth next to the repository, if present, each with the
optimum and CPU seconds of tau-ARGUS (another run, another load: compare orders of magnitude; for the same run
see ``bench/peers/optimal_pytauargus.py``). The others are invented: skewed magnitudes, a share of the
inner cells unsafe, drawn among the smaller half, 15 % either way, cost by value. Times are CPU seconds of one
thread, one run, compiled code loaded before. "proof" is when the least cost was proven, "total" when the
tie-break was settled and the pattern judged. Results go to .bench/optimal.json, tables to .bench/optimal/.
With ``--copies`` every table is also solved with its cells and relations in other orders, and the medians are
what counts: one order may be lucky. Settings are chosen on ``tune3d_0`` to ``tune3d_9``, over in seconds,
and on ``dense3d_0`` to ``dense3d_9``, which do not; the others are for reporting what came of it.

    python -m bench.optimal --only t2d_50x50 v2d_100 --limit 60
    python -m bench.optimal --only t3d_5x5x5 h3d_4.5_3.4_3 --copies 5
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench import OUT, keep
from hitoku.io import read_jj, write_jj
from hitoku.kernels import (
    attacker_tableau,
    capacity_cuts,
    dual_simplex,
    mincut,
    patterns,
    sparse_rows,
    zero_half,
)
from hitoku.methods.optimal import Optimal
from hitoku.model import Hierarchy, Need, Table

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data" / "jj_synthetic"
KERNELS = (
    zero_half, mincut, capacity_cuts, patterns, attacker_tableau, dual_simplex, sparse_rows
)  # fmt: skip
SEED = 20261115
# Side, and share of unsafe cells: many protect each other, few need help.
INVENTED = {
    "v2d_20": (20, 0.05),
    "v2d_50": (50, 0.05),
    "v2d_100": (100, 0.05),
    "v2d_200": (200, 0.05),
    "v2d_50_few": (50, 0.02),
    "v2d_100_few": (100, 0.018),
    "v2d_200_few": (200, 0.0043),
}
# Shape, and share of unsafe cells. The last is a hierarchy: groups and members of each variable.
CUBES = {"c3d_10": ((10, 10, 10), 0.05)}
CUBES |= {f"tune3d_{k}": ((5 + k % 3, 5, 4), 0.06) for k in range(10)}
CUBES |= {f"dense3d_{k}": ((8 + k % 3, 8, 4), 0.06) for k in range(10)}
HIERARCHY = {"h3d_10k": (((5, 6), (4, 4), (3, 3)), 0.03)}


def magnitudes(random: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.int64]:
    cells = np.rint(np.exp(random.normal(4.0, 1.5, shape))).astype(np.int64) + 1
    cells[random.random(shape) < 0.05] = 0
    return cells


def invented(shape: tuple[int, ...], share: float, seed: int) -> tuple[Table, Need]:
    random = np.random.default_rng(seed)
    return made_unsafe(Table.from_array(magnitudes(random, shape)), share, random)


def hierarchical(levels: tuple[tuple[int, ...], ...], share: float, seed: int = SEED) -> tuple[Table, Need]:
    """Return a table of hierarchical variables with given numbers of groups and members."""
    random = np.random.default_rng(seed)
    trees, codes = {}, []
    for place, (groups, members) in enumerate(levels):
        name = f"v{place}"
        groups_of = {f"{name}g{g}": [f"{name}g{g}m{m}" for m in range(members)] for g in range(groups)}
        trees[name] = Hierarchy.from_tree(groups_of)
        codes.append([code for inside in groups_of.values() for code in inside])
    shape = tuple(len(some) for some in codes)
    grid = np.indices(shape).reshape(len(shape), -1)
    columns = {name: np.array(codes[k])[grid[k]] for k, name in enumerate(trees)}
    frame = pd.DataFrame({**columns, "x": magnitudes(random, shape).ravel()})
    table = Table.from_frame(frame, by=list(trees), value="x", hierarchies=trees)
    return made_unsafe(table, share, random)


def made_unsafe(table: Table, share: float, random: np.random.Generator) -> tuple[Table, Need]:
    inner = np.flatnonzero(table.inner & (table.value > 0))
    small = inner[np.argsort(table.value[inner], kind="stable")][: len(inner) // 2]
    unsafe = np.zeros(table.n_cells, dtype=bool)
    unsafe[random.permutation(small)[: round(share * table.inner.sum())]] = True
    level = np.where(unsafe, np.ceil(0.15 * table.value), 0.0)
    # As in tau-ARGUS: a common upper bound, cells without value stay published, no cost below one.
    table = replace(
        table,
        upper=np.full(table.n_cells, 1.5 * table.value.max()),
        fixed=table.value == 0,
        cost=np.maximum(table.value, 1.0),
    )
    return table, Need(unsafe=unsafe, lower=np.minimum(level, table.value), upper=level)


def published() -> dict[str, dict[str, str]]:
    """What tau-ARGUS' optimal method found, by instance."""
    if not SHARED.is_dir():
        return {}
    with (SHARED / "results.csv").open(encoding="utf-8") as file:
        return {row["instance"]: row for row in csv.DictReader(file) if row["method"] == "optimal"}


def cases(only: set[str]) -> Iterator[tuple[str, Table, Need, dict[str, str]]]:
    for name, row in published().items():
        if name in only or not only:
            yield name, *read_jj(SHARED / f"{name}.jj.gz"), row
    for name, (side, share) in INVENTED.items():
        if name in only or not only:
            yield name, *invented((side, side), share, SEED + side), {}
    for place, (name, (shape, share)) in enumerate(CUBES.items()):
        if name in only or (not only and not name.startswith(("tune", "dense"))):
            yield name, *invented(shape, share, SEED + place), {}
    for name, (levels, share) in HIERARCHY.items():
        if name in only or not only:
            yield name, *hierarchical(levels, share), {}


def shuffled(path: Path, seed: int) -> tuple[Table, Need]:
    """Read a JJ file with its cells and relations in another order."""
    random = np.random.default_rng(seed)
    lines = path.read_text("utf-8").splitlines()
    n = int(lines[1])
    new = random.permutation(n)
    cells = [""] * n
    for line in lines[2 : 2 + n]:
        index, rest = line.split(maxsplit=1)
        cells[new[int(index)]] = f"{new[int(index)]} {rest}"

    def renumbered(line: str) -> str:
        head, body = line.split(":")
        return head + ":" + re.sub(r"(\d+) \(", lambda m: f"{new[int(m[1])]} (", body)

    relations = [renumbered(line) for line in lines[3 + n :] if line.strip()]
    order = random.permutation(len(relations))
    copy = path.with_suffix(f".{seed}.jj")
    copy.write_text("\n".join([*lines[:2], *cells, lines[2 + n], *(relations[k] for k in order)]) + "\n")
    return read_jj(copy)


def measure(name: str, table: Table, need: Need, known: dict[str, str], limit: float) -> dict[str, object]:
    marks = []
    begin = time.process_time()

    def progress(bound: float, best: float) -> None:
        if not marks and bound >= best - 1e-6:
            marks.append(time.process_time() - begin)

    protection = Optimal(cost="own", time_limit_s=limit).protect(table, need, progress)
    total = time.process_time() - begin
    row = {
        "case": name,
        "cells": table.n_cells,
        "unsafe": int(need.unsafe.sum()),
        "secondary": int(protection.secondary.sum()),
        "cost": protection.cost,
        "proven": protection.proven,
        "gap": round(protection.gap, 5),
        "proof_s": round(marks[0], 3) if marks else None,
        "total_s": round(total, 3),
    }
    if known:
        row["tau_argus_cost"] = float(known["objective_incl_primaries"])
        row["tau_argus_s"] = float(known["cpu_s"])
        if protection.proven and known["outcome"] == "proved optimal":
            assert protection.cost == row["tau_argus_cost"]
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each table")
    parser.add_argument("--copies", type=int, default=0, help="number of permuted copies of each table")
    arguments = parser.parse_args()
    for kernel in KERNELS:
        kernel.warm_up()
    folder = OUT / "optimal"
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, table, need, known in cases(set(arguments.only)):
        write_jj(folder / f"{name}.jj", table, need)
        row = measure(name, table, need, known, arguments.limit)
        copies = [
            measure(name, *shuffled(folder / f"{name}.jj", seed), known, arguments.limit)
            for seed in range(1, arguments.copies + 1)
        ]
        for what in ("cost", "gap", "proof_s", "total_s"):
            values = [copy[what] for copy in copies]
            if copies and None not in values:
                row[f"median_{what}"] = float(np.median(values))
        row["copies_proven"] = sum(bool(copy["proven"]) for copy in copies)
        rows.append(row)
        print(json.dumps(row), flush=True)
    keep("optimal", rows)


if __name__ == "__main__":
    main()
