"""Figures 3 to 5 and Appendix E: suppressFT, the procedure for magnitudes, and files of τ-ARGUS.

The paper prints what these do and no numbers of theirs, so each promise is put to made-up tables.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator

import numpy as np

from hitoku.attacks import Interval
from hitoku.errors import TableError
from hitoku.evidence import Outcome
from hitoku.files import spill_folder
from hitoku.io.argus import parse_metadata, read_metadata, read_table, write_table
from hitoku.io.release import write_release
from hitoku.methods.greedy import Greedy
from hitoku.model import LIMIT, Release, Table
from hitoku.pipeline import protect_table, suppress_magnitude
from hitoku.rules import Dominance, GroupDisclosure, MinFrequency, assess
from hitoku.tabulation import tabulate
from hitoku_papers.kikuchi_minami_2017.published import (
    COUNT_WIDTH,
    GROUP,
    SHARE_WIDTH,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    TABLE_5,
    TABLE_6,
    TABLE_7,
    UNITS,
)
from hitoku_papers.kikuchi_minami_2017.records import records
from hitoku_papers.page import Cell, PageTable
from hitoku_papers.reproduction import Reproduction, same

# Made up: a small cell, one above 90 % of its row, one above 90 % of its column.
COUNTS = ((7, 41, 60, 25), (30, 1900, 55, 48), (35, 52, 2, 44), (28, 61, 1200, 39), (33, 900, 800, 2000))
ROW_SHARE = COLUMN_SHARE = GROUP / 100


def stages() -> PageTable:
    """Run suppressFT on a made-up table, a line for each step of Figure 4."""
    table, rules = Table.from_array(COUNTS), _rules()
    withheld = np.zeros(table.n_cells, dtype=bool)
    rows: list[tuple[Cell, ...]] = []
    for name, rule in rules.items():
        unsafe = np.asarray(rule.assess(table).unsafe)
        rows.append((name, int((unsafe & ~withheld).sum()), int((unsafe | withheld).sum()), None))
        withheld |= unsafe
    outcome = _suppress_ft(table)
    found = outcome.protection.withheld
    narrow = int((_widths(outcome)[found] < COUNT_WIDTH - LIMIT).sum())
    rows.append(("secondary suppression", int(outcome.protection.secondary.sum()), int(found.sum()), narrow))
    return PageTable(
        "Figure 4: suppressFT step by step, on a made-up table of 5 by 4",
        ("step", "cells added", "withheld so far", "intervals too narrow"),
        tuple(rows),
        f"Thresholds: {UNITS} units, {ROW_SHARE:.0%} of the row, {COLUMN_SHARE:.0%} of the column, intervals "
        f"of {COUNT_WIDTH}. Intervals are those of all withheld cells, in the end.",
    )


def _rules() -> dict[str, MinFrequency | GroupDisclosure]:
    return {
        "frequency checking": MinFrequency(UNITS),
        "row sum dominance checking": GroupDisclosure(ROW_SHARE, by="column"),
        "column sum dominance checking": GroupDisclosure(COLUMN_SHARE, by="row"),
    }


def _suppress_ft(table: Table, method: Greedy | None = None) -> Outcome:
    return protect_table(
        table, [*_rules().values()], method=method or Greedy(every="withheld"), width=COUNT_WIDTH
    )


def _widths(outcome: Outcome) -> np.ndarray:
    return np.asarray(Interval().bounds(outcome.release).width)


def results() -> tuple[Reproduction, ...]:
    """Compare Figures 3 to 5, section 4 and Appendix E."""
    return (*_frequency(), *_random(), *_magnitude(), *_appendix_e())


def _frequency() -> Iterator[Reproduction]:
    table = Table.from_array(COUNTS)
    outcome = _suppress_ft(table)
    yield same("Figures 3 and 4", "the suppressed table, audited", "safe", _verdict(outcome))
    with spill_folder() as folder:
        written = write_release(folder / "release", outcome)
        with (written / "checker" / "intervals.csv").open(encoding="utf-8", newline="") as file:
            intervals = list(csv.DictReader(file))
        public = (written / "public" / "table.csv").exists()
    n_withheld = int(outcome.release.withheld.sum())
    yield same(
        "Figure 3",
        f"exported for the checker: the table, and intervals of the {n_withheld} suppressed cells",
        "all",
        "all" if public and len(intervals) == n_withheld else f"{len(intervals)} of {n_withheld}",
        "public/table.csv and checker/intervals.csv of a release folder",
    )
    need = outcome.need
    by_hand = np.asarray(need.unsafe) | (table.value == table.value.reshape(6, 5)[4, 1])
    kept = _suppress_ft(table, Greedy(every="withheld", start=by_hand))
    yield same(
        "section 4.3",
        "a table suppressed by hand: marks kept, and safe in the end",
        "yes",
        "yes" if bool(np.all(kept.protection.withheld >= by_hand)) and kept.audit.safe else "no",
    )


def _random(n_tables: int = 40) -> Iterator[Reproduction]:
    """Count, on random tables, intervals of withheld cells below the threshold."""
    random = np.random.default_rng(2017)
    tables = [Table.from_array(random.poisson(random.uniform(8, 40), (6, 5))) for _ in range(n_tables)]
    cells: dict[str, int] = {}
    for every in ("withheld", "unsafe"):
        narrow = withheld = 0
        for table in tables:
            need = assess(table, [*_rules().values()], width=COUNT_WIDTH)
            protection = Greedy(record="cells", every=every).protect(table, need)
            width = Interval().bounds(Release.of(table, protection)).width
            narrow += int(((width < COUNT_WIDTH - LIMIT) & protection.withheld).sum())
            withheld += int(protection.withheld.sum())
        cells[every] = withheld
        fewer = cells["withheld"] - withheld
        what = (
            f"Greedy(every={every!r}) on {n_tables} random tables: too narrow, of {withheld} suppressed cells"
        )
        yield Reproduction(
            place="section 4.3",
            what=what,
            published="0",
            ours=str(narrow),
            agrees=narrow == 0 if every == "withheld" else None,
            distance=f"{narrow} of {withheld} cells" if narrow else "none",
            why=""
            if every == "withheld"
            else f"the default: {f'{fewer} cells fewer' if fewer else 'as many cells on these tables'}; a "
            "secondary cell is no secret, only worth nothing if exact",
        )


def _magnitude() -> Iterator[Reproduction]:
    random, n = np.random.default_rng(5), 700
    firms = {
        "region": random.choice(list("ABCDE"), n, p=[0.35, 0.25, 0.2, 0.17, 0.03]),
        "trade": random.choice(["t1", "t2", "t3", "t4"], n),
        "turnover": np.round(random.lognormal(3, 1.4, n), 1),
    }
    with records(firms) as path:
        table = tabulate(path, by=["region", "trade"], value="turnover")
    rules = [Dominance(1, 50)]
    outcome = suppress_magnitude(
        table,
        rules,
        method=Greedy(record="cells"),
        frequency_rules=[MinFrequency(UNITS), GroupDisclosure(GROUP / 100)],
        frequency_width=COUNT_WIDTH,
        width_share=SHARE_WIDTH,
        insiders=False,
    )
    counts, amounts = outcome.frequency, outcome.magnitude
    dominated = np.asarray(rules[0].assess(table).unsafe)
    merged = dominated | counts.release.withheld
    n_primary, n_counts = int(dominated.sum()), int(counts.release.withheld.sum())
    yield same(
        "Figure 5",
        f"withheld for dominance ({n_primary}) or in the counts ({n_counts}), and not in the magnitudes",
        "0",
        str(int((merged & ~amounts.release.withheld).sum())),
    )
    wide = _widths(amounts) >= SHARE_WIDTH * np.abs(table.value) * (1 - LIMIT)
    yield same(
        "Figure 5",
        f"of those {int(merged.sum())}, intervals below 30 % of the value",
        "0",
        str(int((merged & ~wide).sum())),
    )
    yield same("Figure 5", "both tables, audited", "safe", "safe" if outcome.safe else "NOT safe")


def _appendix_e() -> Iterator[Reproduction]:
    printed = np.array(TABLE_2)
    with spill_folder() as folder:
        (folder / "paper.tab").write_text(TABLE_6, encoding="utf-8")
        metadata = parse_metadata(TABLE_7)
        try:
            read_table(folder / "paper.tab", metadata)
            found = "read"
        except TableError as error:
            found = error.what
        yield Reproduction(
            place="Appendix E, Table 6",
            what="the file as printed",
            published="an example of τ-ARGUS's input",
            ours=f"refused: {found}" if found != "read" else found,
            agrees=False,
            distance="two totals",
            why="misprints: 280 where the parts give 140, and 90 in the file where Table 2 has 60",
        )
        table = read_table(folder / "paper.tab", metadata, additivity="recompute").table
        largest = np.asarray(table.largest)
        for place, what, grid, ours in (
            ("Table 2", "magnitudes", printed, table.value),
            ("Table 3", "frequencies", np.array(TABLE_3), np.asarray(table.frequency)),
            ("Table 4", "largest contributor", np.array(TABLE_4), largest[:, 0]),
            ("Table 5", "second largest contributor", np.array(TABLE_5), largest[:, 1]),
        ):
            apart = int((ours.reshape(3, 3) != grid).sum())
            yield Reproduction(
                place=f"Appendix E, {place}",
                what=f"{what}, from the file with its totals recomputed",
                published=_grid(grid),
                ours=_grid(ours.reshape(3, 3)),
                agrees=apart == 0,
                distance=f"{apart} of 9 cells" if apart else "",
                why="the printed grand total is no sum of its parts" if apart else "",
            )
        write_table(folder / "ours.tab", table)
        again = read_table(folder / "ours.tab", read_metadata(folder / "ours.rda", kind="table")).table
        equal = np.array_equal(again.value, table.value) and np.array_equal(
            np.asarray(again.largest), largest
        )
        yield same(
            "Appendix E", "written for τ-ARGUS and read back: the same table", "yes", "yes" if equal else "no"
        )


def _grid(cells: np.ndarray) -> str:
    return " / ".join(" ".join(f"{cell:g}" for cell in row) for row in cells)


def _verdict(outcome: Outcome) -> str:
    return "safe" if outcome.audit.safe else "NOT safe"
