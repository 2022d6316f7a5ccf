"""Large tables: time, memory and suppressed cells by size, compared with the greedy method on smaller tables.

Registers from ``hitoku.samples`` with trees of rising size, turnover under a p% rule and a least number of
contributors; a flat two-way table; three linked two-way tables. Times are CPU seconds of one process, one
run, compiled kernels loaded before; every case runs in a process of its own, and memory is the peak of that
process, the making of the table included.
``value`` is the sum of the secondary cells over the grand total: margins count again, so it can exceed one.
Results go to .bench/large.json.

    python -m bench.large --only demo_1 h3_95k
    python -m bench.large --others h3_95k     audits without the witnesses, and of a pattern with gaps
    python -m bench.large --picture           docs/images/growth.png from .bench/large.json, the exponent
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import hitoku as ht
from bench import OUT, keep
from hitoku.cli import circulate_a_little
from hitoku.io.argus import read_metadata, read_suppressed_table, write_table

RULES = [ht.PPercent(p=10), ht.FewContributors(n=3)]
BY = ["region", "activity", "size"]

# Name: records, seed, children of the region tree, of the activity tree; None for the trees of the demo.
REGISTERS = {
    **{f"demo_{seed}": (50_000, seed, None, None) for seed in (1, 2, 3, 4, 5)},
    "h3_1k": (5_000, 1, (3, 4), (3, 4)),
    "h3_3k": (15_000, 1, (4, 5), (4, 5)),
    "h3_30k": (150_000, 1, (6, 11), (7, 10)),
    "h3_95k": (500_000, 1, (9, 14), (9, 15)),
    "h3_319k": (700_000, 1, (13, 18), (14, 18)),
    "h3_1M": (1_500_000, 1, (18, 23), (19, 24)),
}
FLAT = {"flat_100": 100, "flat_316": 316}
LINKED = {"linked_20k": 80}
# Maximum number of cells for the greedy method, which is slow.
GREEDY_CELLS = 12_000
# Above this number of cells every search has the same effort, and time grows linearly.
SWEPT = 30_000
# Codes of two levels: pytauargus 0.6 ends in a segmentation fault where they hold a dot.
DOTTED, DOTLESS = re.compile(r"([AR]\d+)\.(\d+)"), re.compile(r"([AR]\d+)x(\d+)")
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "growth.png"


def tables(name: str) -> ht.Table:
    if name in REGISTERS:
        n, seed, regions, activities = REGISTERS[name]
        firms = ht.samples.register(n, seed, regions=regions, activities=activities)
        return ht.tabulate(
            firms.records, by=BY, value="turnover", unit="enterprise", holding="holding",
            hierarchies=firms.hierarchies,
        )  # fmt: skip
    random = np.random.default_rng(1)
    if name in FLAT:
        side = FLAT[name]
        counts = np.floor(np.exp(random.normal(2.6, 1.3, (side, side))))
        return ht.Table.from_array(counts.astype(int))
    side = LINKED[name]
    counts = random.poisson(np.exp(random.normal(-4.0, 1.0, (side, side, side))))
    parts = []
    for left_out in range(3):
        names = [v for k, v in enumerate("xyz") if k != left_out]
        parts.append(
            ht.Table.from_array(
                counts.sum(axis=left_out),
                names=names,
                codes=[[f"{v}{i}" for i in range(side)] for v in names],
            )
        )
    return ht.Table.link(parts)


def needs(name: str, table: ht.Table) -> ht.Need:
    if name in REGISTERS:
        return ht.assess(table, RULES)
    return ht.assess(table, [ht.MinFrequency(3)], width=5)


def timed(run):
    began = time.process_time()
    answer = run()
    return answer, round(time.process_time() - began, 2)


def summary_of(table: ht.Table, protection: ht.Protection) -> dict[str, object]:
    grand = float(np.abs(table.value).max())
    return {
        "withheld": int(protection.withheld.sum()),
        "value": round(float(np.abs(table.value[protection.secondary]).sum()) / grand, 3),
    }


def peak_mb() -> int:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)


def certify(table: ht.Table, need: ht.Need, path: Path) -> dict[str, object]:
    """Protect, audit and write the certificate; all but the file is let go."""
    row: dict[str, object] = {}
    protection, row["cpu_s"] = timed(lambda: ht.Circulation().protect(table, need))
    row |= summary_of(table, protection)
    release = ht.Release.of(table, protection)
    audit, row["audit_cpu_s"] = timed(
        lambda: ht.audit(table, need, release, deviations=protection.deviations)
    )
    row |= {
        "safe": audit.safe,
        "programs": audit.summary["programs"],
        "witnesses": audit.summary["witnesses"],
    }
    _, row["certificate_cpu_s"] = timed(lambda: audit.certificate.write(path))
    return row | {"certificate_mb": round(path.stat().st_size / 1e6, 2), "peak_mb": peak_mb()}


def measure(name: str, *, greedy: bool) -> dict[str, object]:
    table = tables(name)
    need = needs(name, table)
    circulate_a_little()
    row: dict[str, object] = {"case": name, "cells": table.n_cells, "unsafe": int(need.unsafe.sum())}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json.gz"
        row |= certify(table, need, path)
        answer, row["verify_cpu_s"] = timed(lambda: ht.verify(path))
        row["verified"] = answer.ok
    row["peak_mb_with_verify"] = peak_mb()
    if greedy and table.n_cells <= GREEDY_CELLS:
        other, row["greedy_cpu_s"] = timed(lambda: ht.Greedy(prefer="closing").protect(table, need))
        row |= {f"greedy_{key}": number for key, number in summary_of(table, other).items()}
    return row


def judge_others(name: str) -> dict[str, object]:
    """Audit a pattern without its proof, and the pattern with two percent of it published."""
    table = tables(name)
    need = needs(name, table)
    circulate_a_little()
    protection = ht.Circulation().protect(table, need)
    gaps = protection.secondary & (np.random.default_rng(2).random(table.n_cells) < 0.02)
    row: dict[str, object] = {
        "case": name,
        "cells": table.n_cells,
        "withheld": int(protection.withheld.sum()),
    }
    for word, withheld in (("safe", protection.withheld), ("gaps", protection.withheld & ~gaps)):
        release = ht.Release.of(table, ht.Protection.withhold(table, withheld, need))
        audit, row[f"{word}_audit_cpu_s"] = timed(lambda release=release: ht.audit(table, need, release))
        row |= {f"{word}_open": audit.summary["open"], f"{word}_programs": audit.summary["programs"]}
        print(json.dumps(row), flush=True)
    return row


def write_for_argus(name: str, folder: Path) -> None:
    """Write a table with its unsafe cells and levels, and a batch by the modular method of τ-ARGUS."""
    table = tables(name)
    for path in write_table(folder / "table.tab", table, needs(name, table)):
        path.write_text(DOTTED.sub(r"\1x\2", path.read_text("utf-8")), encoding="utf-8")
    value = read_metadata(folder / "table.rda").of_part("value")[0].name
    by = "".join(f'"{dimension.name}"' for dimension in table.dimensions)
    lines = [
        '<OPENTABLEDATA> "table.tab"',
        '<OPENMETADATA> "table.rda"',
        f'<SPECIFYTABLE> {by}|"{value}"||"{value}"',
        "<SAFETYRULE> MAN(20)",
        "<READTABLE> 0",
        "<SUPPRESS> MOD(1,1,0,0,0)",
        '<WRITETABLE> (1,3,AS+,"modular.csv")',
    ]
    (folder / "modular.arb").write_text("\n".join(lines) + "\n", encoding="ascii")


def judge_argus(name: str, folder: Path) -> dict[str, object]:
    """Audit the pattern that τ-ARGUS wrote."""
    table = tables(name)
    need = needs(name, table)
    answer = folder / "modular.csv"
    answer.write_text(DOTLESS.sub(r"\1.\2", answer.read_text("utf-8")), encoding="utf-8")
    withheld, _ = read_suppressed_table(answer, table)
    audit = ht.audit(table, need, ht.Release.of(table, ht.Protection.withhold(table, withheld, need)))
    secondary = withheld & ~need.unsafe
    return {
        "case": name,
        "cells": table.n_cells,
        "unsafe": int(need.unsafe.sum()),
        "withheld": int(withheld.sum()),
        "value": round(float(np.abs(table.value[secondary]).sum() / np.abs(table.value).max()), 3),
        "open": audit.summary["open"],
    }


def draw_growth(rows: dict[str, dict[str, float]]) -> None:
    """Draw CPU seconds by cells, and say how fast they grow."""
    trees = [row for name, row in rows.items() if name in REGISTERS]
    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.subplots()
    lines = {"circulation": "cpu_s", "its audit": "audit_cpu_s", "greedy, closing": "greedy_cpu_s"}
    for label, key in lines.items():
        points = sorted((row["cells"], row[key]) for row in trees if key in row)
        if points:
            axes.plot(*zip(*points, strict=True), marker="o", label=label)
    axes.set(xscale="log", yscale="log", xlabel="cells", ylabel="CPU seconds")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(PICTURE, dpi=110, metadata={"Software": None})
    large = sorted((row["cells"], row["cpu_s"]) for row in trees if row["cells"] > SWEPT)
    if len(large) > 1:
        exponent = np.polyfit(*(np.log(np.array(large)).T), 1)[0]
        print(f"boxes alone, {len(large)} tables: time grows with cells to the power {exponent:.2f}")


def main() -> None:
    names = [*REGISTERS, *FLAT, *LINKED]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=names, default=names)
    parser.add_argument("--no-greedy", action="store_true")
    parser.add_argument("--here", action="store_true", help="run the first case in this process and print it")
    parser.add_argument("--others", choices=names, help="audit the pattern of this case without its proof")
    parser.add_argument("--argus", type=Path, help="write the first case into this folder, for τ-ARGUS")
    parser.add_argument("--judge", type=Path, help="audit what τ-ARGUS made of the first case there")
    parser.add_argument("--picture", action="store_true", help="draw what was measured")
    given = parser.parse_args()
    if given.others:
        judge_others(given.others)
        return
    if given.argus:
        write_for_argus(given.only[0], given.argus)
        return
    if given.judge:
        print(json.dumps(judge_argus(given.only[0], given.judge)), flush=True)
        return
    if given.picture:
        draw_growth(json.loads((OUT / "large.json").read_text("utf-8")))
        return
    if given.here:
        print(json.dumps(measure(given.only[0], greedy=not given.no_greedy)), flush=True)
        return
    path = OUT / "large.json"
    rows = json.loads(path.read_text("utf-8")) if path.exists() else {}
    for name in given.only:
        words = [sys.executable, "-m", "bench.large", "--here", "--only", name]
        words += ["--no-greedy"] if given.no_greedy else []
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        print(done.stdout.strip() or done.stderr.strip().splitlines()[-1], flush=True)
        if done.returncode == 0:
            rows[name] = json.loads(done.stdout)
            keep("large", rows)


if __name__ == "__main__":
    main()
