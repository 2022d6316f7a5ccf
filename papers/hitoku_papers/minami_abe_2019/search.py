"""Every combination of readings, on small tables, compared with the published results.

Tables 2 and 4 together say how the unsafe cells of 50 tables fall: the numbers with width 0, 1, ..., 7, the
others wide enough. Two such distributions are compared by the share of cells that would have to move to turn
one into the other. What chance does is measured on own tables: the distance between two sets drawn from
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hitoku.attacks.matching import Lattice, Matching, Suppressor
from hitoku.model import Floats, Integers, Release
from hitoku_papers.minami_abe_2019.published import TABLES, UNSAFE, WIDTH, WIDTHS
from hitoku_papers.minami_abe_2019.reading import NEGATIVES, Reading, Ties, drawn
from hitoku_papers.minami_abe_2019.ties import method_of
from hitoku_papers.page import Cell, PageTable, Words
from hitoku_papers.resumable import Facts, Progress, Store, Task, run_all

Update = Literal["both", "else if"]
# How Algorithm 1 keeps least and largest values: as it must be meant, and as it is printed.
UPDATES: dict[Update, str] = {"both": "min and max", "else if": "else if"}
SIDES = (4, 5)
RESAMPLES = 400


@dataclass(frozen=True, slots=True)
class Combination:
    """One reading, and how the algorithm updates."""

    reading: Reading
    update: Update


@dataclass(frozen=True, slots=True)
class Widths:
    """Widths of the effective intervals of the unsafe cells of one table; None when it was left out."""

    side: int
    widths: tuple[float, ...] | None


USUAL = Combination(Reading(), "both")


def combinations() -> list[Combination]:
    """List all readings in which ties are broken by a rule that the attacker can apply, too.

    Examples
    --------
    >>> len(combinations())
    72
    """
    fixed: tuple[Ties, ...] = ("codes", "other-codes", "values")
    choices = product(NEGATIVES, (True, False), (True, False), fixed, UPDATES)
    return [
        Combination(Reading(negatives=negatives, zeros=zeros, wider=wider, ties=ties), update)
        for negatives, zeros, wider, ties, update in choices
    ]


def as_printed(matched: Integers) -> tuple[Integers, Integers]:
    """Keep least and largest value as Algorithm 1 is printed: a new minimum is never a new maximum.

    Parameters
    ----------
    matched
        Candidates that match, in the order in which they are looked at, by cells.

    Examples
    --------
    A single match leaves the maximum at zero; so does a falling sequence.

    >>> least, most = as_printed(np.array([[3, 3], [4, 2]]))
    >>> least.tolist(), most.tolist()
    ([3, 2], [4, 0])
    """
    before = np.minimum.accumulate(matched, axis=0)
    new_minimum = np.vstack([np.ones(matched.shape[1], dtype=bool), matched[1:] < before[:-1]])
    return matched.min(axis=0), np.where(new_minimum, 0, matched).max(axis=0)


def widths_of(
    reading: dict[str, Any], update: Update, side: int, number: int, seed: int, limit: int
) -> Facts:
    """Draw one table, suppress it, attack it; facts for the store."""
    read = Reading(**reading)
    table, method = drawn(read, side, number, seed), method_of(read)
    need = read.need(table)
    release = Release.of(table, method.protect(table, need))
    if update == "both":
        # Without a limit of its own the attack need not look at every candidate, where it knows the method.
        most = limit if read.ties == "values" else None
        bounds = Matching(method=method, rules=read.rules, width=read.width, limit=most).bounds(release)
        unknown = bool(bounds.unknown[need.unsafe].any())
        return {"widths": None if unknown else bounds.width[need.unsafe].tolist()}
    lattice = Lattice.of(release)
    solutions = lattice.tables(limit)
    if solutions is None:
        return {"widths": None}
    suppressor = Suppressor(method, read.rules, read.width)
    matched = solutions[suppressor.likelihoods(release, lattice.filled(release, solutions)) > 0]
    least, largest = as_printed(matched)
    return {"widths": (largest - least)[need.unsafe[lattice.cells]].tolist()}


def search(
    folder: Path,
    *,
    tables: int,
    sides: Sequence[int] = SIDES,
    tried: Sequence[Combination] | None = None,
    seed: int = 1,
    limit: int = 500,
    jobs: int = 1,
    progress: Progress | None = None,
) -> dict[Combination, tuple[Widths, ...]]:
    """Attack every table under every reading; answers are kept in a folder.

    Parameters
    ----------
    folder
        Where answers are kept.
    tables
        Of each size.
    sides
        Sides of the tables.
    tried
        Readings; left out, all combinations.
    seed
        Of the draws.
    limit
        Most candidates where each has to be suppressed in turn; tables with more are left out.
    jobs, progress
        As in :func:`hitoku_papers.minami_abe_2019.run`.
    """
    wanted = combinations() if tried is None else tried
    asked = [(one, side, number) for one in wanted for side in sides for number in range(tables)]
    tasks = []
    for one, side, number in asked:
        given = (asdict(one.reading), one.update, side, number, seed, limit)
        tasks.append(Task(widths_of, given, ("search", *given), f"readings, {side} x {side}"))
    answers = run_all(tasks, Store(folder), jobs=jobs, progress=progress)
    found: dict[Combination, list[Widths]] = {}
    for (one, side, _), facts in zip(asked, answers, strict=True):
        widths = None if facts["widths"] is None else tuple(facts["widths"])
        found.setdefault(one, []).append(Widths(side, widths))
    return {one: tuple(rows) for one, rows in found.items()}


def shares(rows: Sequence[Widths], side: int) -> Floats:
    """Shares of unsafe cells by width, 0 to 7, and of the wide ones; a negative width counts as 0.

    Examples
    --------
    >>> shares([Widths(4, (-3.0, 0.0, 7.0, 12.0))], 4).tolist()
    [0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.25, 0.25]
    """
    widths = [width for row in rows if row.side == side for width in row.widths or ()]
    counted = np.bincount(np.clip(widths, 0, WIDTH).astype(np.int64), minlength=WIDTH + 1)
    return np.asarray(counted / max(len(widths), 1))


def printed_shares(side: int) -> Floats:
    """Return the published shares, from Tables 2 and 4.

    Examples
    --------
    >>> round(float(printed_shares(4)[-1]), 3)  # 56 of 104 were wide enough
    0.538
    """
    unsafe, primary = UNSAFE[side]
    return np.array([*WIDTHS[side], primary - unsafe]) / primary


def apart(one: Floats, other: Floats) -> float:
    """Percent of cells that would have to move to turn one distribution into the other."""
    return float(50 * np.abs(one - other).sum())


def by_chance(rows: Sequence[Widths], side: int) -> float:
    """Distance that two sets of 50 own tables exceed once in twenty times."""
    mine = [row for row in rows if row.side == side and row.widths is not None]
    random = np.random.default_rng(side)
    if not mine:
        return float("nan")
    found = []
    for _ in range(RESAMPLES):
        one, other = ([mine[place] for place in random.integers(len(mine), size=TABLES)] for _ in range(2))
        found.append(apart(shares(one, side), shares(other, side)))
    return float(np.quantile(found, 0.95))


def distances(
    found: Mapping[Combination, Sequence[Widths]], sides: Sequence[int]
) -> dict[Combination, tuple[float, ...]]:
    """Measure every reading against print, by side; the closest on average comes first."""
    measured = {
        tried: tuple(apart(shares(rows, side), printed_shares(side)) for side in sides)
        for tried, rows in found.items()
    }
    return dict(sorted(measured.items(), key=lambda item: float(np.mean(item[1]))))


def changes(tried: Combination) -> list[str]:
    """Name what is read otherwise than on the rest of the page.

    Examples
    --------
    >>> changes(Combination(Reading(zeros=False), "else if"))
    ['zeros=False', "update='else if'"]
    """
    usual = {**asdict(USUAL.reading), "update": USUAL.update}
    words = {**asdict(tried.reading), "update": tried.update}
    return [f"{name}={word!r}" for name, word in words.items() if word != usual[name]]


def search_table(
    found: Mapping[Combination, Sequence[Widths]], sides: Sequence[int], shown: int = 12
) -> PageTable:
    """List the closest readings and those that are used elsewhere on the page."""
    measured = distances(found, sides)
    usual = {USUAL, Combination(Reading(zeros=False), "both"), Combination(Reading(), "else if")}
    rows: list[tuple[Cell, ...]] = []
    for rank, (tried, far) in enumerate(measured.items(), start=1):
        if rank <= shown or tried in usual:
            r = tried.reading
            left = sum(row.widths is None for row in found[tried])
            words = (
                r.negatives,
                "unsafe" if r.zeros else "safe",
                "> 8" if r.wider else "\N{GREATER-THAN OR EQUAL TO} 8",
            )
            rows.append((str(rank), *words, r.ties, UPDATES[tried.update], float(np.mean(far)), *far, left))
    columns = ("negatives", "zeros", "width", "ties", "update")
    return PageTable(
        "Tables 2 and 4 under every combination of readings",
        ("rank", *columns, "mean distance", *(f"{side * side} cells" for side in sides), "left out"),
        tuple(rows),
        f"Distance: percent of unsafe cells that would have to change their width to turn ours into the "
        f"published distribution. {len(measured)} combinations; the {shown} closest, and those used above. "
        "Tables with more candidates than the limit are left out.",
        words=6,
    )


def search_words(found: Mapping[Combination, Sequence[Widths]], sides: Sequence[int]) -> Words:
    """Say which reading fits best, and whether it fits."""
    measured = distances(found, sides)
    best, far = next(iter(measured.items()))
    usual = measured[USUAL]
    chance = [by_chance(found[best], side) for side in sides]
    fits = [d <= c for d, c in zip(far, chance, strict=True)]
    verdict = "Chance could make as much: " if all(fits) else "No reading fits; of the closest, "
    sizes = "; ".join(
        f"{side * side} cells {d:.0f} %, by chance up to {c:.0f} %"
        for side, d, c in zip(sides, far, chance, strict=True)
    )
    changed = [one for one in measured if len(changes(one)) == 1]
    single = min(changed, key=lambda one: float(np.mean(measured[one])))
    return Words.of(
        f"""
        Closest of {len(measured)}: {best.reading.text}; {UPDATES[best.update]} in Algorithm 1. {verdict}the
        distance is {sizes} (what two sets of 50 tables of ours differ by, once in twenty times; and the
        closest of many is closer than it deserves). As read on the rest of this page it is
        {", ".join(f"{d:.0f} %" for d in usual)}.

        Of single changes the one that helps most: {", ".join(changes(single))}; mean distance
        {np.mean(measured[single]):.0f} % instead of {np.mean(usual):.0f} %.
        """,
        "Which reading fits the published widths?",
    )
