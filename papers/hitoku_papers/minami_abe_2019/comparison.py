"""The paper's Tables 2 to 5, a line each and size: published, ours, how far apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

import numpy as np

from hitoku_papers.minami_abe_2019.figures import Found, cells_of, of_side, share
from hitoku_papers.minami_abe_2019.published import BY_DIMENSION, SECONDS, TABLES, UNSAFE
from hitoku_papers.minami_abe_2019.search import Widths, apart, by_chance, printed_shares, shares
from hitoku_papers.minami_abe_2019.study import PAPER, Attacked, Case, StudyPlan
from hitoku_papers.reproduction import Reproduction

WHY = (
    "the paper leaves open whether an empty cell is unsafe; if it is not (--no-zeros), the widths come closer"
)


def comparisons(plan: StudyPlan, found: Found) -> tuple[Reproduction, ...]:
    """Compare the tables of the paper's suppressor, for the sizes that the paper has."""
    paper = found[Case(PAPER, plan.reading)]
    return tuple(
        line
        for side in plan.sides
        if side in UNSAFE
        for line in _of_size(side, [row for row in of_side(paper, side) if row.finished], plan.tables)
    )


def _of_size(side: int, rows: Sequence[Attacked], n_tables: int) -> Iterator[Reproduction]:
    size = f"tables of {cells_of(side)}"
    unsafe, primary = UNSAFE[side]
    ratio, error = share(rows)
    printed = unsafe / primary
    # Both shares have an error; the paper's tables are taken to vary as ours do.
    expected = 2 * error * np.sqrt(1 + n_tables / TABLES)
    yield Reproduction(
        place="Table 2",
        what=f"share of unsafe cells compromised, {size}",
        published=f"{printed:.2f}",
        ours=f"{ratio:.2f} ± {error:.2f}",
        agrees=bool(abs(ratio - printed) <= expected),
        distance=f"{100 * abs(ratio - printed):.0f} points",
        why="other tables, drawn in the same way",
    )
    dimensions = BY_DIMENSION[side]
    own = {d: share(row for row in rows if row.dimension == d)[0] for d in dimensions}
    known = {d: value for d, value in own.items() if not np.isnan(value)}
    off = fmean(abs(known[d] - dimensions[d]) for d in known) if known else float("nan")
    yield Reproduction(
        place="Table 3",
        what=f"share compromised by dimension {', '.join(map(str, dimensions))}, {size}",
        published=", ".join(f"{value:.2f}" for value in dimensions.values()),
        ours=", ".join(f"{value:.2f}" for value in own.values()),
        agrees=None,
        distance=f"{100 * off:.0f} points on average",
        why="some of these shares rest on a handful of tables; the paper does not say on how many",
    )
    mine = [Widths(row.side, row.widths) for row in rows]
    far, chance = apart(shares(mine, side), printed_shares(side)), by_chance(mine, side)
    yield Reproduction(
        place="Tables 2 and 4",
        what=f"percent of unsafe cells by width, 0 to 7, and wide enough, {size}",
        published=_percent(printed_shares(side)),
        ours=_percent(shares(mine, side)),
        agrees=bool(far <= chance),
        distance=f"{far:.0f} % of the cells; chance makes up to {chance:.0f} %",
        why=WHY if far > chance else "",
    )
    if side in SECONDS:
        mean = fmean(row.seconds for row in rows)
        yield Reproduction(
            place="Table 5",
            what=f"seconds per table, {size}",
            published=f"{SECONDS[side]:g}",
            ours=f"{mean:.4f}",
            agrees=None,
            distance=f"{SECONDS[side] / mean:,.0f} times faster",
            why="another machine and an interpreted language; the attack does not look at every candidate",
        )


def _percent(parts: Sequence[float] | np.ndarray) -> str:
    return " ".join(f"{100 * part:.0f}" for part in parts)
