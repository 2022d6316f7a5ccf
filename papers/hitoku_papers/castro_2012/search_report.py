"""The section of the page that says which reading gives the paper's tables, and whether it does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hitoku.errors import DataError, ParameterError
from hitoku_papers.castro_2012.instances import TableInstance
from hitoku_papers.castro_2012.multipliers import multiplier_table
from hitoku_papers.castro_2012.published import number, shares
from hitoku_papers.castro_2012.search import CHANGES, ReadingSearch, TriedReading, search, searchable
from hitoku_papers.page import Cell, PageTable, Words
from hitoku_papers.resumable import Progress


def searched_readings(
    instances: Sequence[TableInstance],
    folder: Path,
    *,
    replications: int,
    seed: int = 1,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[Words | PageTable]:
    """Search, and tell what was found; parameters as in :class:`ReadingSearch`.

    Raises
    ------
    HitokuError
        See :func:`refuse_search`.
    """
    refuse_search(instances, replications)
    lookup = ReadingSearch(
        instances, folder, replications=replications, seed=seed, jobs=jobs, progress=progress
    )
    rounds = search(lookup)
    return [readings_words(rounds), readings_table(rounds), multiplier_table(lookup.instances)]


def refuse_search(instances: Sequence[TableInstance], replications: int) -> None:
    """Raise when nothing can be searched: no instance of the paper, or too few draws to know chance.

    Told before anything is computed: the rest of the page takes its time.
    """
    if replications < 2:
        raise ParameterError(
            "single_draw",
            "from a single draw nobody can tell what chance does",
            where="--search",
            fix="give 2 draws or more; 5 take a few minutes on the small instances",
        )
    if not searchable(instances):
        raise DataError(
            "no_small_instance",
            "no instance of the paper that is small enough to search on",
            where="--search",
            fix="give --instances with JJ files named as in the paper, targus.jj or table8.jj among them",
        )


def readings_words(rounds: Sequence[Sequence[TriedReading]]) -> Words:
    """Say which reading comes closest, in which tables chance could make as much, and which not at all."""
    usual = rounds[0][0]
    single = min(rounds[0][1:], key=lambda tried: tried.mean)
    best = min((tried for some in rounds for tried in some), key=lambda tried: tried.mean)
    far = best.distances
    chance = {table: best.chance(*table) for table in far}
    fits = [f"Table {number(*table)}" for table in far if far[table] <= chance[table]]
    misses = [f"Table {number(*table)} ({far[table]:.0f} %)" for table in far if far[table] > chance[table]]
    names = sorted({key[2] for key in usual.counts})
    return Words.of(
        f"""
        {len(CHANGES)} changes to what is printed, one at a time, on {", ".join(names)}: the one that helps
        most is {single.reading}, which brings the mean distance over all tables from {usual.mean:.0f} to
        {single.mean:.0f} percent of the estimates. Going on from there, the closest reading is:
        {best.reading}; mean distance {best.mean:.0f} percent.

        Within what chance makes of ten replications (once in twenty times): {", ".join(fits) or "none"}.
        Beyond it: {", ".join(misses) or "none"}.

        {twins()}
        """,
        "Which reading gives the published tables?",
    )


def twins() -> str:
    """Compare two instances of the paper that are one problem: what differs there, no reading explains.

    Examples
    --------
    >>> twins()[:42]
    'table1 and table6 have the same dimensions'
    """
    far = {
        norm: float(
            np.mean(
                [
                    np.abs(np.subtract(lines["table1"], lines["table6"])).sum() / 2
                    for (_, n), lines in shares().items()
                    if n == norm
                ]
            )
        )
        for norm in ("l1", "l2")
    }
    return (
        "table1 and table6 have the same dimensions, and multipliers of 16.95 and 16.94, in Table 1: as far "
        "as print shows, one problem but for digits. Their published lines differ by "
        f"{far['l1']:.1f} percent of the estimates on average in L1 and by {far['l2']:.0f} in L2. So the L2 "
        "lines of that problem depend on how the solver ended, and no reading of the text gives them."
    )


def readings_table(rounds: Sequence[Sequence[TriedReading]]) -> PageTable:
    """List every reading that was tried, the closest first, with its distance to each published table."""
    tried = {one.reading: one for some in rounds for one in some}
    tables = list(rounds[0][0].distances)
    rows: list[tuple[Cell, ...]] = []
    for one in sorted(tried.values(), key=lambda t: t.mean):
        far = one.distances
        rows.append((str(one.reading), one.mean, *(far[table] for table in tables)))
    best = min(tried.values(), key=lambda t: t.mean)
    chance = [best.chance(*table) for table in tables]
    rows.append(("by chance, once in twenty times", float(np.mean(chance)), *chance))
    head = ("reading", "mean", *(f"{scenario} {norm.upper()}" for scenario, norm in tables))
    return PageTable(
        "",
        head,
        tuple(rows),
        "Percent of estimates that would have to change their interval to give the published lines; mean "
        "over instances. What is not named is as printed.",
        digits=0,
    )
