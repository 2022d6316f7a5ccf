"""Publications: several tables of one register put together, protected and audited as one.

``four``: four tables of about 500 cells; ``twenty``: twenty, those of the finest level of about 5,000 cells.
``crossed``: four tables of about 430 cells built like those of rtauargus' vignette: activities (three levels)
and regions (two), each by size and by legal form, aggregated and linked by their codes. Two of its four
tables are not to be had, so the numbers are made up.
Registers from ``hitoku.samples``, turnover under a p% rule and a least number of contributors; tables at
different levels of the trees, some under a filter. Times are CPU seconds of one process, one run, compiled
kernels loaded before; memory is the peak of the process. Results go to .bench/publications.json.

    python -m bench.publications --only four
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

import hitoku as ht
from bench import keep
from hitoku.cli import circulate_a_little
from hitoku.pipeline import assess_filter_remainder

RULES = [ht.PPercent(p=10), ht.FewContributors(n=3)]
# Records, children of the region tree and of the activity tree.
REGISTERS = {
    "crossed": (90_000, (13, 7), (10, 2, 4)),
    "four": (8_000, (4, 6), (4, 4)),
    "twenty": (200_000, (8, 9), (7, 9)),
}


def publication(name: str) -> tuple[Any, dict[str, dict[str, Any]]]:
    """Return the records and the tables of a case."""
    n, regions, activities = REGISTERS[name]
    firms = ht.samples.register(n, 1, regions=regions, activities=activities)
    records = firms.records.assign(
        county=firms.records["region"].str[:3], section=firms.records["activity"].str[:3]
    )
    sizes = sorted(records["size"].unique())
    fine = {"by": ["region", "activity"], "hierarchies": firms.hierarchies}
    if name == "four":
        return records, {
            "towns": fine,
            "counties": {"by": ["county", "activity", "size"]},
            "sections": {"by": ["region", "section", "size"]},
            "small": {"by": ["region", "activity"], "where": {"size": sizes[:2]}},
        }
    tables: dict[str, dict[str, Any]] = {"all": fine}
    levels = product(["region", "county"], ["activity", "section"])
    for number, by in enumerate(levels):
        tables[f"plain_{number}"] = {"by": list(by)}
        tables[f"sizes_{number}"] = {
            "by": [by[0], "section", "size"] if number else ["county", "activity", "size"]
        }
        tables[f"small_{number}"] = {"by": list(by), "where": {"size": sizes[:2]}}
        tables[f"large_{number}"] = {"by": list(by), "where": {"size": sizes[2:]}}
    tables |= {name: {"by": [name, "size"]} for name in ("region", "activity", "county")}
    return records, tables


def crossed() -> dict[str, Any]:
    """Measure four aggregated tables that go round in a ring; they are linked by their codes."""
    n, regions, activities = REGISTERS["crossed"]
    firms = ht.samples.register(n, 1, regions=regions, activities=activities)
    forms = np.random.default_rng(1).choice(["company", "sole trader", "other"], n, p=[0.6, 0.3, 0.1])
    records = firms.records.assign(form=forms)
    pairs = product(["activity", "region"], ["size", "form"])
    tables = [
        ht.tabulate(records, list(by), value="turnover", hierarchies={by[0]: firms.hierarchies[by[0]]})
        for by in pairs
    ]
    marks = [time.process_time()]
    whole = ht.Table.link(tables)
    marks.append(time.process_time())
    need = ht.assess(whole, [ht.FewContributors(3), ht.Dominance(n=1, k=85)])
    found = ht.Auto().protect(whole, need)
    return _told(tables, whole, need, found, marks)


def run(name: str) -> dict[str, Any]:
    """Measure one case."""
    if name == "crossed":
        return crossed()
    records, tables = publication(name)
    marks = [time.process_time()]
    linked = ht.link(records, tables, value="turnover", unit="enterprise", holding="holding")
    marks.append(time.process_time())
    whole = linked.table
    need = ht.assess(whole, [*RULES, *assess_filter_remainder(whole, linked.rest, RULES, lambda _: None)])
    found = ht.Auto(start=~whole.shown).protect(whole, need)
    parts = [table for table, _ in linked.parts.values()]
    return {"complete": linked.complete, **_told(parts, whole, need, found, marks)}


def _told(
    tables: Sequence[ht.Table],
    whole: ht.Table,
    need: ht.Need,
    found: ht.Protection,
    marks: list[float],
) -> dict[str, Any]:
    """Audit a pattern that was just found, and list what came out."""
    marks.append(time.process_time())
    verdict = ht.audit(whole, need, ht.Release.of(whole, found), deviations=found.deviations)
    marks.append(time.process_time())
    link_s, protect_s, audit_s = np.diff(marks).round(2).tolist()
    return {
        "tables": len(tables),
        "cells": sum(table.n_cells for table in tables),
        "distinct": int(whole.shown.sum()),
        "hidden": int((~whole.shown).sum()),
        "unsafe": int((need.unsafe & whole.shown).sum()),
        "secondary": int((found.secondary & whole.shown).sum()),
        "safe": verdict.safe,
        "method": found.method,
        "link_s": link_s,
        "protect_s": protect_s,
        "audit_s": audit_s,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def main() -> None:
    """Run the requested cases; print and store their times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=REGISTERS, default=list(REGISTERS))
    circulate_a_little()
    results = {name: run(name) for name in parser.parse_args().only}
    keep("publications", results)
    for name, row in results.items():
        print(name, *(f"{key}={value}" for key, value in row.items()))


if __name__ == "__main__":
    main()
