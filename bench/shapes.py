"""Time and memory of ``hitoku.protect`` by the shape of the table, with a limit for every row.

    python -m bench.shapes                        all rows, up to 60 CPU s each
    python -m bench.shapes s15/1000 nd/20x20x20/10/mag
    python -m bench.shapes --limit 30 --out .bench/other.json s15/2000

A row is words joined by "/":

    flat/ROWSxCOLUMNS/UNSAFE/mag[/values]   magnitudes, p% = 10 and few_contributors 3; UNSAFE in percent;
                                            values: whole dec tiny neg zeros giant e10 e14 (10**14 times)
    flat/ROWSxCOLUMNS/UNSAFE/cntN[/zeros]   counts, min_frequency n=N
    nd/AxBxC/UNSAFE/mag|cntN                more variables
    grav/ROWSxCOLUMNS/PERCELL/mag|cntN      effects of rows and columns, heavy tails, as in a register
    s15/CODES                               codes by six size classes
    tree/LEVELS/LEVELS/mag|cntN/PERCELL     two trees, LEVELS such as 2.2.2
    unbalanced[/3]                          a chain of depth 6; /3 adds a variable
    twotrees/CODES/COLUMNS                  one variable under two trees, linked
    link/TABLES/RECORDS                     linked tables of hitoku.samples.register
    rec/RECORDS/CODES                       tabulated from records, codes by three classes

Each row runs in a process of its own, which is ended at the limit of CPU seconds or at 3 GB. CPU seconds are
those of ``hitoku.protect`` alone, compiled kernels loaded before; memory is the peak of the process. Seed 1.
Results go to .bench/shapes.json; dated figures are in bench/RESULTS.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import hitoku as ht

OUT = Path(__file__).resolve().parents[1] / ".bench" / "shapes.json"
LIMIT_S, LIMIT_BYTES = 60, 3 * 2**30
SEED = 1
MAGNITUDES = [ht.PPercent(10), ht.FewContributors(3)]
ROWS = (
    *(f"flat/100x100/{share}/mag" for share in (1, 10, 40, 80)),
    *(f"flat/1000x10/{share}/mag" for share in (1, 10, 40, 80)),
    *(f"flat/3162x3/{share}/mag" for share in (1, 10, 40, 80)),
    "flat/3162x3/40/cnt5",
    *(f"flat/{shape}/40/mag" for shape in ("55x55", "173x17", "500x3", "1000x3", "2000x3")),
    *(f"flat/548x5/{share}/mag" for share in (10, 40, 80)),
    *(f"s15/{codes}" for codes in (250, 500, 1000, 2000)),
    "grav/1000x6/6/mag",
    "grav/1000x6/6/cnt5",
    *(f"flat/{shape}/{share}/mag" for shape in ("173x173", "548x55", "1732x17") for share in (10, 40)),
    "flat/5477x5/10/mag",
    "flat/5477x5/40/mag",
    *(f"flat/{shape}/10/mag" for shape in ("316x316", "1000x100", "3162x32", "10000x10")),
    "flat/316x316/40/mag",
    "flat/1000x100/80/cnt10",
    "flat/14000x3/5/cnt5",
    "flat/40000x3/5/cnt5",
    *(f"nd/20x20x20/{share}/mag" for share in (10, 40)),
    "nd/20x20x20/40/cnt3",
    "nd/27x27x27/10/mag",
    *(f"nd/1000x3x3/{share}/mag" for share in (10, 40)),
    *(f"nd/9x9x9x9/{share}/mag" for share in (10, 40)),
    "nd/6x6x6x6x6/10/mag",
    "nd/6x6x6x6x6/40/cnt5",
    "tree/2.2.2.2.2.2/4.5/mag/6",
    "unbalanced",
    "unbalanced/3",
    "tree/500/4.5/mag/6",
    "tree/500/4.5/cnt5/6",
    "twotrees/100/5",
    *(f"link/{tables}/20000" for tables in (3, 10, 15, 16, 17, 20)),
    *(f"flat/100x30/20/mag/{values}" for values in ("dec", "e10", "e14", "tiny", "neg", "giant")),
    "flat/173x173/10/mag/zeros",
    "flat/50x50/100/mag",
    "rec/1000000/100000",
)

Case = tuple[ht.Table, list[object]]


def records(shape: tuple[int, ...], share: float, values: str) -> pd.DataFrame:
    """Draw records such that about this share (percent) of the inner cells have one or two contributors."""
    random, n = np.random.default_rng(SEED), int(np.prod(shape))
    few = random.random(n) < share / 100
    count = np.where(few, random.integers(1, 3, n), 5 + random.poisson(4, n))
    if values == "zeros":
        count = np.where(random.random(n) < 0.95, 0, count)
    cell = np.repeat(np.arange(n), count)
    frame = pd.DataFrame(
        {f"v{k}": [f"{k}-{code:05d}" for code in at] for k, at in enumerate(np.unravel_index(cell, shape))}
    )
    if values == "whole":
        # Contributions of one cell are alike, so that p% adds few unsafe cells.
        frame["v"] = np.round(random.lognormal(3, 0.8, n))[cell] + np.round(random.uniform(5, 40, len(cell)))
    else:
        frame["v"] = drawn(values, random, len(cell))
    return frame


def drawn(values: str, random: np.random.Generator, n: int) -> np.ndarray:
    """Draw contributions of one kind."""
    value = np.round(random.lognormal(3, 1.0, n)) + 1
    if values == "dec":
        return np.round(value * random.uniform(0.5, 1.5, n), 2)
    if values == "tiny":
        return value * 1e-6
    if values == "neg":
        return value * random.choice([-1, 1], n, p=[0.3, 0.7])
    if values == "giant":
        value[0] = 1e9
    if values.startswith("e"):
        return value * 10.0 ** int(values[1:])
    return value


def crossed(dims: str, share: str, what: str, values: str = "whole") -> Case:
    shape = tuple(map(int, dims.split("x")))
    if what == "mag":
        frame = records(shape, float(share), values)
        extra = {"magnitude": "abs"} if values == "neg" else {}
        return ht.tabulate(frame, by=list(frame.columns[:-1]), value="v", **extra), MAGNITUDES
    random, size, n = np.random.default_rng(SEED), int(np.prod(shape)), int(what[3:])
    large = n + np.floor(np.exp(random.normal(2.6, 1.3, size))).astype(int)
    counts = np.where(random.random(size) < float(share) / 100, random.integers(1, n, size), large)
    if values == "zeros":
        counts = np.where(random.random(size) < 0.95, 0, counts)
    return ht.Table.from_array(counts.reshape(shape)), [ht.MinFrequency(n)]


def gravity(dims: str, per_cell: str, what: str) -> Case:
    shape, random = tuple(map(int, dims.split("x"))), np.random.default_rng(SEED)
    weight = np.ones(())
    for side in shape:
        weight = np.multiply.outer(weight, random.permutation(np.arange(1, side + 1) ** -0.8))
    weight = (weight * random.lognormal(0, 0.9, shape)).ravel()
    n = int(float(per_cell) * weight.size)
    at = np.unravel_index(random.choice(weight.size, n, p=weight / weight.sum()), shape)
    frame = pd.DataFrame({f"v{k}": codes.astype(str) for k, codes in enumerate(at)})
    return tabulated(frame, random, what)


def tabulated(frame: pd.DataFrame, random: np.random.Generator, what: str, **extra: object) -> Case:
    by = list(frame.columns)
    if what != "mag":
        return ht.tabulate(frame, by=by, **extra), [ht.MinFrequency(int(what[3:]))]
    frame["v"] = np.round(random.lognormal(3, 1.5, len(frame))) + 1
    return ht.tabulate(frame, by=by, value="v", **extra), MAGNITUDES


def thin(codes: str) -> Case:
    random, n = np.random.default_rng(SEED), 20 * int(codes)
    frame = pd.DataFrame(
        {
            "code": random.integers(0, int(codes), n).astype(str),
            "size": random.choice(list("abcdef"), n, p=[0.4, 0.25, 0.15, 0.1, 0.06, 0.04]),
            "v": np.round(random.lognormal(3, 1.5, n)) + 1,
        }
    )
    return ht.tabulate(frame, by=["code", "size"], value="v"), MAGNITUDES


def grown(stem: str, levels: str) -> list[tuple[str, str]]:
    """List the codes of a tree with their parents."""
    pairs, above = [], ["Total"]
    for depth, size in enumerate(map(int, levels.split("."))):
        below = [(f"{up}-{k}" if depth else f"{stem}{k}", up) for up in above for k in range(size)]
        pairs += below
        above = [code for code, _ in below]
    return pairs


def chain() -> list[tuple[str, str]]:
    """List the codes of a tree of depth 6 with one branch at each level, and forty leaves at the end."""
    pairs, up = [], "Total"
    for depth in range(6):
        pairs += [(f"A{depth}", up), *((f"A{depth}leaf{k}", up) for k in range(1 + 3 * depth))]
        up = f"A{depth}"
    return pairs + [(f"Z{k}", up) for k in range(40)]


def trees(first: list[tuple[str, str]], second: str, what: str, per_cell: str, third: bool = False) -> Case:
    random, pairs = np.random.default_rng(SEED), [first, grown("B", second)]
    leaves = [[code for code, _ in tree if code not in {up for _, up in tree}] for tree in pairs]
    weights = [random.permutation(np.arange(1, len(codes) + 1) ** -0.8) for codes in leaves]
    shape = len(leaves[0]), len(leaves[1])
    n = int(float(per_cell) * shape[0] * shape[1]) * (4 if third else 1)
    weight = (np.outer(*weights) * random.lognormal(0, 0.9, shape)).ravel()
    at = np.unravel_index(random.choice(weight.size, n, p=weight / weight.sum()), shape)
    frame = pd.DataFrame(
        {name: np.array(codes, dtype=object)[i] for name, codes, i in zip("ab", leaves, at, strict=True)}
    )
    if third:
        frame["c"] = random.choice(list("wxyz"), n, p=[0.5, 0.25, 0.15, 0.1])
    known = {name: ht.Hierarchy.from_pairs(tree) for name, tree in zip("ab", pairs, strict=True)}
    return tabulated(frame, random, what, hierarchies=known)


def two_trees(codes: str, columns: str) -> Case:
    random, n_codes, n_columns = np.random.default_rng(SEED), int(codes), int(columns)
    n, weight = 8 * n_codes * n_columns, np.arange(1, n_codes + 1) ** -0.7
    frame = pd.DataFrame(
        {
            "id": np.arange(n),
            "town": [f"t{k}" for k in random.choice(n_codes, n, p=weight / weight.sum())],
            "c": [f"c{k}" for k in random.integers(0, n_columns, n)],
            "v": np.round(random.lognormal(3, 1.5, n)) + 1,
        }
    )

    def tree(stem: str, many: int) -> ht.Hierarchy:
        up = random.integers(0, many, n_codes).tolist()
        groups = [(f"{stem}{k}", "Total") for k in sorted(set(up))]
        return ht.Hierarchy.from_pairs([*groups, *((f"t{j}", f"{stem}{k}") for j, k in enumerate(up))])

    both = tree("county", max(2, n_codes // 12)), tree("health", max(2, n_codes // 9))
    tables = {
        name: {"by": ["town", "c"], "hierarchies": {"town": one}}
        for name, one in zip("xy", both, strict=True)
    }
    return ht.link(frame, tables, value="v", unit="id").table, MAGNITUDES


def linked(tables: str, n_records: str) -> Case:
    register, random, n = (
        ht.samples.register(int(n_records), SEED),
        np.random.default_rng(SEED),
        int(n_records),
    )
    frame = register.records.copy()
    frame["legal"] = random.choice(list("PQRS"), n, p=[0.6, 0.25, 0.1, 0.05])
    frame["age"] = random.choice(list("12345"), n)
    frame["export"] = random.choice(["no", "yes"], n, p=[0.8, 0.2])
    names = ["region", "activity", "size", "legal", "age", "export"]
    pairs = [list(by) for k in (2, 3) for by in itertools.combinations(names, k)][: int(tables)]
    trees = register.hierarchies
    asked = {
        f"t{k}": {"by": by, "hierarchies": {name: trees[name] for name in by if name in trees}}
        for k, by in enumerate(pairs)
    }
    return ht.link(frame, asked, value="turnover", unit="enterprise").table, MAGNITUDES


def from_records(n_records: str, codes: str) -> Case:
    random, n, n_codes = np.random.default_rng(SEED), int(n_records), int(codes)
    weight = np.arange(1, n_codes + 1) ** -0.7
    frame = pd.DataFrame(
        {
            "code": random.choice(n_codes, n, p=weight / weight.sum()).astype(str),
            "size": random.choice(list("abc"), n),
        }
    )
    return tabulated(frame, random, "mag")


MAKERS: dict[str, Callable[..., Case]] = {
    "flat": crossed,
    "nd": crossed,
    "grav": gravity,
    "s15": thin,
    "tree": lambda first, *others: trees(grown("A", first), *others),
    "unbalanced": lambda *third: trees(chain(), "4.5", "mag", "6", bool(third)),
    "twotrees": two_trees,
    "link": linked,
    "rec": from_records,
}


def measured(row: str, limit_s: float) -> dict[str, object]:
    """Protect the table of one row in this process."""
    warnings.simplefilter("ignore")
    tiny = ht.Table.from_array(np.array([[20, 15, 9], [72, 1, 30]]))
    ht.protect(tiny, rules=["min_frequency:n=3"], width=3)
    kind, *words = row.split("/")
    table, rules = MAKERS[kind](*words)
    start = {"row": row, "cells": table.n_cells}
    print(json.dumps(start), flush=True)
    began = time.process_time()
    # Address space, not memory: a gigabyte of it is libraries.
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES + 2**30, LIMIT_BYTES + 2**30))
    resource.setrlimit(resource.RLIMIT_CPU, (int(began + limit_s) + 1, int(began + limit_s) + 1))
    out = ht.protect(table, rules=rules)
    counted = out.audit.summary
    return start | {
        "cpu_s": round(time.process_time() - began, 1),
        "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "unsafe": int(out.audit.need.unsafe.sum()),
        "withheld": int(out.protection.withheld.sum()),
        "safe": bool(out.audit.safe),
        "undecided": int(counted.get("undecided", 0)),
        "proven": bool(out.protection.proven),
        "method": out.protection.method,
        "note": out.protection.note,
    }


def limited(row: str, limit_s: float) -> dict[str, object]:
    """Measure a row in a process of its own, which is ended at the limit."""
    command = [sys.executable, "-m", "bench.shapes", "--here", row, "--limit", str(limit_s)]
    child = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in child.stdout.splitlines() if line.startswith("{")]
    found: dict[str, object] = lines[-1] if lines else {"row": row}
    if child.returncode:
        # Of an error of hitoku the first line, of others the last.
        lines = child.stderr.strip().splitlines() or [f"ended by code {child.returncode}"]
        last = next((line for line in lines if line.startswith("hitoku.errors.")), lines[-1])
        found["failed"] = f"not finished in {limit_s:g} s" if child.returncode < 0 else last[:160]
    return found


def line(found: dict[str, object]) -> str:
    """Write one row of the table of RESULTS.md."""
    if "failed" in found:
        return f"| {found['row']} | {found.get('cells', '')} | | | {found['failed']} | | |"
    left = f"{found['undecided']} not decided" if found["undecided"] else "NOT safe"
    verdict = "safe" if found["safe"] else left
    keys = ("row", "cells", "unsafe", "withheld", "cpu_s", "mb")
    return "| " + " | ".join([*(str(found[key]) for key in keys), verdict]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("rows", nargs="*", help="rows to measure; all of the sweep where none is given")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="CPU seconds for each row")
    parser.add_argument("--out", type=Path, default=OUT, help="where results are added")
    parser.add_argument("--here", action="store_true", help="measure one row in this process")
    options = parser.parse_args()
    if options.here:
        print(json.dumps(measured(options.rows[0], options.limit)), flush=True)
        return
    known = {row["row"]: row for row in json.loads(options.out.read_text())} if options.out.exists() else {}
    for row in options.rows or ROWS:
        known[row] = limited(row, options.limit)
        print(line(known[row]), flush=True)
        options.out.parent.mkdir(exist_ok=True)
        options.out.write_text(json.dumps(list(known.values()), indent=1))


if __name__ == "__main__":
    main()
