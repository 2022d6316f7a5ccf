"""Summary of a run: counts for JSON, and text for the terminal."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from hitoku.evidence import Outcome
from hitoku.metrics import Comparison, loss
from hitoku.model import SYMBOLS, Colour, Dimension, Release, Verdict
from hitoku.pipeline import Run

# Colour and sign of a verdict. The sign has the same meaning without colour.
STYLES = {Colour.GREEN: "green", Colour.AMBER: "yellow", Colour.RED: "red"}
SIGNS = {Colour.GREEN: "✓", Colour.AMBER: "?", Colour.RED: "✗"}
WITHHELD = Text("c", style="bold reverse")
MAX_ROWS, MAX_COLUMNS = 8, 5


def counts(outcome: Outcome) -> dict[str, Any]:
    """Return the counts of an outcome. They contain no cell values."""
    table, need, protection = outcome.table, outcome.need, outcome.protection
    lost = loss(table, protection)
    # Rows of zeros are codes without records: publishing them does not count.
    held = table.shown & ((table.value != 0) | (False if table.frequency is None else table.frequency > 0))
    kept = float((held & ~protection.withheld).sum() / held.sum()) if held.any() else 1.0
    return {
        "cells": lost.n_cells,
        "relations": int(table.relations.shape[0]),
        "unsafe": int(need.unsafe.sum()),
        "rules": {name: int(hits.sum()) for name, hits in need.rules.items()},
        "secondary": int((protection.secondary & table.shown).sum()),
        "withheld": lost.n_withheld,
        "changed": lost.n_changed,
        "published_share_of_cells": round(kept, 4),
        "published_share_of_value": round(1 - lost.inner_value_share, 4),
        "published_share_with_totals": round(1 - lost.value_share, 4),
        "worked_out_exactly": int(((outcome.bounds.width == 0) & need.unsafe).sum()),
        "method": protection.method,
        "proven": protection.proven,
        "canonical": protection.canonical,
        "note": protection.note,
        "gap": None if np.isnan(protection.gap) else round(protection.gap, 6),
        "insiders": outcome.insiders,
        "warning": outcome.warning,
        "safe": outcome.audit.safe,
        "verdict": outcome.verdict.as_dict(),
        "certificate": outcome.audit.certificate is not None,
        "remarks": [str(remark) for remark in outcome.remarks],
    }


def excerpt(release: Release, dimensions: tuple[Dimension, ...]) -> Grid | None:
    """Return an excerpt of a release with published and suppressed cells, or None if there is none."""
    if len(dimensions) < 2:
        return None
    rows, columns = dimensions[:2]
    # The total is the last code of every variable.
    printed = release.published.reshape(len(rows), len(columns), -1)[:, :, -1]
    best, chosen = 0.0, None
    for row_group in rows.groups:
        for column_group in columns.groups:
            block = _block(printed, rows, columns, row_group, column_group)
            if block.shape[0] > MAX_ROWS or block.shape[1] > MAX_COLUMNS:
                continue
            hidden = float(np.isnan(block).mean())
            # Prefer excerpts in which about half of the cells are suppressed.
            if hidden * (1 - hidden) > best:
                best, chosen = hidden * (1 - hidden), (row_group, column_group)
    if chosen is None:
        return None
    (row_sum, row_parts), (column_sum, column_parts) = chosen
    grid = Grid(title=f"{release.measure}: {row_sum}, {column_sum}", title_style="bold")
    grid.add_column(rows.name)
    for code in (*column_parts, column_sum):
        grid.add_column(code, justify="right")
    block = _block(printed, rows, columns, *chosen)
    for code, line in zip((*row_parts, row_sum), block, strict=True):
        last = code == row_sum
        cells = [WITHHELD if np.isnan(x) else Text(f"{x:,.0f}") for x in line]
        grid.add_row(code, *cells, style="bold" if last else "", end_section=code == row_parts[-1])
    return grid


def _block(
    printed: np.ndarray[Any, np.dtype[np.float64]],
    rows: Dimension,
    columns: Dimension,
    row_group: tuple[str, tuple[str, ...]],
    column_group: tuple[str, tuple[str, ...]],
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the cells of two groups of codes, with the totals last."""
    i = [rows.position[code] for code in (*row_group[1], row_group[0])]
    j = [columns.position[code] for code in (*column_group[1], column_group[0])]
    return printed[np.ix_(i, j)]


def show(console: Console, outcome: Outcome, *, naive: int) -> None:
    """Print the result of a run.

    Parameters
    ----------
    console
        Terminal to print on.
    outcome
        Result of the run.
    naive
        Number of unsafe cells that could be recomputed if only unsafe cells were suppressed.
    """
    n = counts(outcome)
    cells, value = n["published_share_of_cells"], n["published_share_of_value"]
    hit = ", ".join(f"{name} {times:,}" for name, times in n["rules"].items())
    lines = [
        ("table", f"{n['cells']:,} cells, {n['relations']:,} relations"),
        ("unsafe", f"{n['unsafe']:,} cells must not be published ({hit})"),
        (
            "left blank",
            f"{naive:,} of them could be recomputed from the published cells",
        ),
        ("protected", f"{n['secondary']:,} further cells are suppressed (secondary), {_by(n)}"),
        (
            "published",
            (
                f"{cells:.1%} of filled cells, {value:.1%} of the {outcome.table.measure} in single cells"
                f" and {n['published_share_with_totals']:.1%} with their totals"
            ),
        ),
        *((str(remark.severity), f"{remark.place}: {remark.reason}") for remark in outcome.remarks),
    ]
    if n["changed"]:
        replaced = {
            "protected": f"{n['changed']:,} cells are published with adjusted values, by {n['method']}"
        }
        lines = [(name, replaced.get(name, text)) for name, text in lines]
    grid = Grid.grid(padding=(0, 2))
    grid.add_column(style="bold cyan", justify="right", no_wrap=True)
    for name, text in lines:
        grid.add_row(name, text)
    console.print(grid)
    console.print()
    show_verdict(console, outcome.verdict)
    if n["warning"]:
        console.print(f"WARNING: {n['warning']}", style="bold red", soft_wrap=True)
    corner = excerpt(outcome.release, outcome.table.dimensions)
    if corner is not None:
        console.print()
        console.print(corner)
        console.print("Excerpt of the release; [bold reverse]c[/] is a suppressed cell.", style="dim")


def show_verdict(console: Console, verdict: Verdict) -> None:
    """Print the headline of a verdict, and a row for every attacker that applies to the release."""
    style = STYLES[verdict.colour]
    console.print(Text(f"{SIGNS[verdict.colour]} {verdict}", style=f"bold {style}"), soft_wrap=True)
    # Terminals with fewer columns show the reason of a verdict below the attacker instead of next to it.
    beside = console.width >= 120
    grid = Grid.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    for _ in range(1 + beside):
        grid.add_column(overflow="fold")
    for row in verdict.rows:
        if row.applies:
            basis = Text("; ".join(filter(None, (row.reason, row.fix))), style="" if beside else "dim")
            label = Text(row.label)
            cells = (label, basis) if beside else (Text("\n").join([label, basis] if basis else [label]),)
            result = Text(f"{SYMBOLS[row.status]} {row.status}")
            grid.add_row(result, *cells, style="" if row.in_scope else "dim")
    console.print(grid)


def show_groups(console: Console, run: Run) -> None:
    """Print one line for each independent group of tables."""
    grid = Grid(title="Independent groups of tables", title_style="bold")
    for name in ("group", "tables", "cells", "unsafe", "suppressed", "value published", "verdict"):
        # Fold long names: cut off, groups could look the same.
        grid.add_column(name, justify="left" if name in {"group", "verdict"} else "right", overflow="fold")
    for key, outcome in run.outcomes.items():
        n = counts(outcome)
        # Records excluded by filters are judged, too, but are not cells of these tables.
        n_unsafe = int((outcome.need.unsafe & outcome.table.shown).sum())
        numbers = (max(len(run.places[key]), 1), n["cells"], n_unsafe, n["withheld"])
        value = f"{n['published_share_of_value']:.0%}"
        grid.add_row(key, *(f"{number:,}" for number in numbers), value, outcome.verdict.colour)
    console.print(grid)
    show_verdict(console, run.verdict)
    for key, outcome in run.outcomes.items():
        for remark in outcome.remarks:
            console.print(f"{key}: {remark}", soft_wrap=True, markup=False, highlight=False)
        if outcome.warning:
            console.print(f"WARNING, {key}: {outcome.warning}", style="bold red", soft_wrap=True)


def _by(n: dict[str, Any]) -> str:
    """Return the method and what is proved about its cost. A stopped search is never called optimal."""
    if n["note"]:
        return f"by {n['note']}"
    if n["proven"]:
        equals = "" if n["canonical"] else "; stopped before choosing among patterns of the same cost"
        return f"by {n['method']}: no cheaper pattern is safe{equals}"
    return f"by {n['method']}" + (
        f", stopped early: a pattern up to {n['gap']:.1%} cheaper may exist" if n["gap"] else ""
    )


def show_compared(console: Console, rows: Comparison, *, title: str) -> None:
    """Print a comparison of methods, with the cost relative to the most expensive one."""
    highest = max(row.cost for row in rows)
    grid = Grid(title=title, title_style="bold")
    for name in ("method", "secondary", "value suppressed", "audit"):
        grid.add_column(name, justify="left" if name in {"method", "audit"} else "right")
    for row in sorted(rows, key=lambda row: row.cost):
        price = f"{row.cost / highest:.0%}" + (", lowest cost that is safe" if row.proven else "")
        hidden = "not safe: some intervals are too narrow"
        grid.add_row(
            row.method,
            f"{row.secondary:,} cells",
            price,
            "safe" if row.safe else hidden if not row.recomputable else "not safe",
        )
    console.print(grid)
