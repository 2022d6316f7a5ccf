"""The paper's Tables 2 to 5 and Figures 6 to 8 compared with own results, and additional results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np

from hitoku_papers.minami_abe_2019.figures import NAN, Found, cells_of, histogram, of_side, share
from hitoku_papers.minami_abe_2019.price import price
from hitoku_papers.minami_abe_2019.published import (
    BY_DIMENSION,
    BY_DIMENSION_ALL,
    DEVIATION,
    DIMENSIONS,
    MEAN,
    SECONDS,
    TABLES,
    THRESHOLD,
    UNSAFE,
    WIDTH,
    WIDTHS,
)
from hitoku_papers.minami_abe_2019.search import (
    Combination,
    Widths,
    apart,
    printed_shares,
    search_table,
    search_words,
    shares,
)
from hitoku_papers.minami_abe_2019.study import PAPER, Attacked, Case, StudyPlan, methods, variants
from hitoku_papers.page import Cell, Drawable, Page, PageTable, Picture, Words, side_by_side

CAPTIONS = {
    "figure-6": "Figure 6: unsafe cells, and those that the attack compromised",
    "figure-7": "Figure 7: tables that fit a release, by the dimension of the null space",
    "figure-8": "Figure 8: widths of the effective intervals of compromised cells",
    "methods": "Share of unsafe cells compromised, by method",
}
METHODS = (
    "Every method that always decides the same about the same table can be attacked in this way. Randomised "
    "draws lots: its second line is the stricter attacker, who also rules out what is much less likely than "
    "something else."
)


def page(
    plan: StudyPlan,
    found: Found,
    figures: Mapping[str, Drawable] | None = None,
    searched: Mapping[Combination, Sequence[Widths]] | None = None,
) -> Page:
    """Tell everything about a run.

    Parameters
    ----------
    plan, found
        What was run, and what came out.
    figures
        Pictures drawn from what :mod:`hitoku_papers.minami_abe_2019.figures` gives, by the names of
        ``CAPTIONS``.
    searched
        What a search over all combinations of readings found, where there was one.
    """
    drawn = figures or {}
    paper = found[Case(PAPER, plan.reading)]
    blocks: list[Words | PageTable | Picture] = [_opening(plan, paper), _table_2(plan, paper)]
    blocks += _picture("figure-6", drawn)
    blocks += [_table_3(plan, paper), *_picture("figure-7", drawn)]
    blocks += [_table_4(plan, paper), *_picture("figure-8", drawn), _table_5(plan, paper)]
    small = plan.small
    if small:
        readings = {"as read here": Case(PAPER, plan.reading), **variants(plan)}
        blocks += [_choices(found, readings, small), _methods(found, methods(plan), small)]
        blocks += [*_picture("methods", drawn), Words((METHODS,))]
    if searched:
        sides = sorted({row.side for rows in searched.values() for row in rows} & set(WIDTHS))
        blocks += [search_words(searched, sides), search_table(searched, sides)]
    blocks.append(price(plan.seed))
    return Page("Minami and Abe (2019), computed again", tuple(blocks))


def _picture(name: str, drawn: Mapping[str, Drawable]) -> list[Picture]:
    return [Picture(name, drawn[name], CAPTIONS[name])] if name in drawn else []


def summary(plan: StudyPlan, found: Found) -> dict[str, dict[str, int]]:
    """Count unsafe and compromised cells of the paper's suppressor, by size."""
    paper = found[Case(PAPER, plan.reading)]
    counted = {side: [row for row in of_side(paper, side) if row.finished] for side in plan.sides}
    return {
        cells_of(side): {
            "compromised": sum(row.unsafe for row in rows),
            "unsafe": sum(len(row.widths) for row in rows),
        }
        for side, rows in counted.items()
    }


def _opening(plan: StudyPlan, paper: Sequence[Attacked]) -> Words:
    unfinished = sum(not row.finished for row in paper)
    text = [
        (
            f"{plan.tables} tables of each size, seed {plan.seed}, drawn from a Gaussian distribution of "
            f"mean {MEAN} and standard deviation {DEVIATION}, rounded. Cells below {THRESHOLD} are unsafe. "
            f"Where the paper leaves a choice: {plan.reading.text}. As in the paper, an unsafe cell is "
            f"compromised when its effective interval is narrower than {WIDTH}."
        ),
        (
            "The tables of the paper are not public: others were drawn in the same way, so differences of "
            "one or two standard errors are expected. Standard errors count tables, not cells."
        ),
        "The attack is exact: it gives what Algorithm 1 gives, without looking at every candidate.",
    ]
    if plan.tables != TABLES:
        text.append(f"Published counts are those of {TABLES} tables of each size, not of {plan.tables}.")
    if unfinished:
        text.append(f"The attack was not finished on {unfinished} table(s); they are left out.")
    return Words(tuple(text))


def _table_2(plan: StudyPlan, paper: Sequence[Attacked]) -> PageTable:
    ours: dict[str, list[float]] = {}
    for side in plan.sides:
        rows = [row for row in of_side(paper, side) if row.finished]
        ratio, error = share(rows)
        unsafe, primary = sum(row.unsafe for row in rows), sum(len(row.widths) for row in rows)
        ours[cells_of(side)] = [unsafe, primary, ratio, error]
    printed = {cells_of(s): [u, p, u / p, NAN] for s, (u, p) in UNSAFE.items()}
    return side_by_side(
        "Table 2: unsafe cells compromised by the attack",
        ["compromised", "unsafe cells", "share", "standard error"],
        printed,
        ours,
        what="tables of",
        digits=2,
    )


def _table_3(plan: StudyPlan, paper: Sequence[Attacked]) -> PageTable:
    dimensions = sorted({*DIMENSIONS, *(row.dimension for row in paper)})

    def line(rows: Sequence[Attacked]) -> list[float]:
        return [share(row for row in rows if row.dimension == d)[0] for d in dimensions]

    ours = {cells_of(side): line(of_side(paper, side)) for side in plan.sides}
    ours["all"] = line(paper)
    printed = {cells_of(s): [row.get(d, NAN) for d in dimensions] for s, row in BY_DIMENSION.items()}
    printed["all"] = [BY_DIMENSION_ALL.get(d, NAN) for d in dimensions]
    return side_by_side(
        "Table 3: share compromised, by the dimension of the null space",
        [str(d) for d in dimensions],
        printed,
        ours,
        what="tables of",
        digits=2,
        note="The dimension is the number of independent ways in which the withheld cells can move. The "
        "paper stops at 4. Some cells of this table rest on a handful of releases.",
    )


def _table_4(plan: StudyPlan, paper: Sequence[Attacked]) -> PageTable:
    return side_by_side(
        "Table 4: compromised cells by the width of their effective interval",
        [str(width) for width in range(WIDTH)],
        {cells_of(side): list(map(float, row)) for side, row in WIDTHS.items()},
        {cells_of(side): histogram(paper, side) for side in plan.sides},
        what="tables of",
        digits=0,
        note="Width 0: the value is known exactly. How many there are depends on how ties are broken.",
    )


def _table_5(plan: StudyPlan, paper: Sequence[Attacked]) -> PageTable:
    rows: list[tuple[Cell, ...]] = []
    for side in plan.sides:
        seconds = [row.seconds for row in of_side(paper, side)]
        mean, printed = fmean(seconds), SECONDS.get(side)
        ratio = None if printed is None or not mean else round(printed / mean)
        rows.append((cells_of(side), printed, mean, max(seconds), ratio))
    return PageTable(
        "Table 5: seconds per table",
        ("tables of", "published", "mean here", "longest here", "times faster"),
        tuple(rows),
        "Processor time of the attack alone, one core, compiled code loaded. The published times are those "
        "of another machine and an interpreted language: an order of magnitude, no more.",
        digits=5,
    )


def _choices(found: Found, readings: Mapping[str, Case], sides: Sequence[int]) -> PageTable:
    rows: list[tuple[Cell, ...]] = []
    for text, case in readings.items():
        line: list[Cell] = [text]
        for side in sides:
            mine = of_side(found[case], side)
            ratio, error = share(mine)
            exact = sum(width == 0 for row in mine for width in row.widths)
            left = sum(not row.finished for row in mine)
            far = _distance(mine, side)
            line += [f"{ratio:.2f} ± {error:.2f}", exact, far, left]
        rows.append(tuple(line))
    return PageTable(
        "What the paper leaves open, and what it changes",
        ("choice", *(name for side in sides for name in (cells_of(side), "exact", "distance", "left out"))),
        tuple(rows),
        "One choice is changed at a time. Share compromised with its standard error; cells whose value is "
        "known exactly; distance, percent of cells that would have to change their width to give the "
        "published Tables 2 and 4; tables left out because they have more candidates than the limit (they "
        "tend to be the safer ones, so the share is somewhat too high).",
    )


def _distance(rows: Sequence[Attacked], side: int) -> int | None:
    """How far a reading is from the published widths, in percent; None for a size that was not published."""
    if side not in WIDTHS:
        return None
    return round(
        apart(shares([Widths(row.side, row.widths or None) for row in rows], side), printed_shares(side))
    )


def _methods(found: Found, cases: Mapping[str, Case], sides: Sequence[int]) -> PageTable:
    rows: list[tuple[Cell, ...]] = []
    for name, case in cases.items():
        for side in filter(case.tried, sides):
            mine = of_side(found[case], side)
            ratio, error = share(mine)
            before = fmean(width < WIDTH for row in mine for width in row.before)
            exact = sum(width == 0 for row in mine for width in row.widths)
            left = sum(not row.finished for row in mine)
            withheld = fmean(row.withheld for row in mine)
            first = name if side == sides[0] else ""
            text = None if np.isnan(ratio) else f"{ratio:.2f} ± {error:.2f}"
            rows.append((first, cells_of(side), withheld, before, text, exact, left))
    return PageTable(
        "Other methods",
        ("method", "tables of", "cells withheld", "narrow before", "compromised", "exact", "left out"),
        tuple(rows),
        f"Mean number of inner cells withheld; share of unsafe cells whose interval is narrower than {WIDTH} "
        "before the attack (Gauss asks for no width); share compromised by it, with its standard error; "
        "tables left out because more candidates fit than could be looked at.",
        digits=2,
        words=2,
    )
