"""What the paper's figures are drawn from, and the counts they share with its tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from hitoku_papers.minami_abe_2019.published import WIDTH, WIDTHS
from hitoku_papers.minami_abe_2019.study import PAPER, Attacked, Case, StudyPlan, methods

Found = Mapping[Case, Sequence[Attacked]]
NAN = float("nan")


def share(rows: Iterable[Attacked]) -> tuple[float, float]:
    """Share of unsafe cells that the attack compromised, and its standard error over tables.

    Examples
    --------
    >>> one = Attacked(4, 1, (3.0, 9.0), (12.0, 12.0), 4, 10, 0.0, finished=True)
    >>> share([one, one])
    (0.5, 0.0)
    """
    counted = [row for row in rows if row.finished]
    unsafe = np.array([row.unsafe for row in counted], dtype=float)
    primary = np.array([len(row.widths) for row in counted], dtype=float)
    if not counted:
        return NAN, NAN
    ratio = unsafe.sum() / primary.sum()
    n = len(counted)
    # Cells of one table stand or fall together: the error is that of a ratio of totals over tables.
    error = np.sqrt(n * np.sum((unsafe - ratio * primary) ** 2) / (n - 1)) / primary.sum() if n > 1 else NAN
    return float(ratio), float(error)


def of_side(rows: Iterable[Attacked], side: int) -> list[Attacked]:
    return [row for row in rows if row.side == side]


def cells_of(side: int) -> str:
    return f"{side * side} cells"


def histogram(rows: Iterable[Attacked], side: int) -> list[float]:
    """Count compromised cells by the width of their interval, from 0."""
    widths = Counter(int(width) for row in of_side(rows, side) for width in row.widths if width < WIDTH)
    return [widths[width] for width in range(WIDTH)]


def figure_6(plan: StudyPlan, found: Found) -> tuple[list[str], dict[str, list[int]]]:
    """Count by size, for groups of bars: compromised cells and all unsafe ones."""
    paper = found[Case(PAPER, plan.reading)]
    rows = [[row for row in of_side(paper, side) if row.finished] for side in plan.sides]
    series = {
        "compromised": [sum(row.unsafe for row in mine) for mine in rows],
        "unsafe cells": [sum(len(row.widths) for row in mine) for mine in rows],
    }
    return [cells_of(side) for side in plan.sides], series


def figure_7(plan: StudyPlan, found: Found) -> dict[str, dict[int, list[int]]]:
    """List the candidates of every table by size and dimension, without those that were not counted."""
    panels: dict[str, dict[int, list[int]]] = {}
    for row in found[Case(PAPER, plan.reading)]:
        if row.candidates is not None:
            panels.setdefault(cells_of(row.side), {}).setdefault(row.dimension, []).append(row.candidates)
    return panels


def figure_8(plan: StudyPlan, found: Found) -> dict[str, dict[str, Sequence[float]]]:
    """Give histograms by size: the published one, where there is one, and ours."""
    paper = found[Case(PAPER, plan.reading)]
    panels: dict[str, dict[str, Sequence[float]]] = {}
    for side in plan.sides:
        printed: dict[str, Sequence[float]] = {"published": WIDTHS[side]} if side in WIDTHS else {}
        panels[f"tables of {cells_of(side)}"] = {**printed, "ours": histogram(paper, side)}
    return panels


def by_method(plan: StudyPlan, found: Found) -> tuple[list[str], dict[str, list[float]]]:
    """Give the share compromised by size and method; NaN where nothing was, or could be, attacked."""
    bars = {
        name: [round(share(of_side(found[case], side))[0], 2) for side in plan.small]
        for name, case in methods(plan).items()
    }
    return [cells_of(side) for side in plan.small], bars
