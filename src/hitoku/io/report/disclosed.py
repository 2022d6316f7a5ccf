"""What a release discloses, row by row of its verdict: the first cells as pictures, the others listed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from hitoku.evidence.disclosure import Disclosure, arithmetic, explain_recomputable
from hitoku.io.report.cells import Cells
from hitoku.io.report.waterfall import Waterfall, group_sum, waterfall
from hitoku.model.verdict import Row, Status

UNITS, ELSEWHERE = "number of units", "units of the group that may be elsewhere"
# Sums that are drawn for each row of the verdict, and findings that are listed after them.
MAX_PICTURES, MAX_LISTED = 3, 50


@dataclass(frozen=True, slots=True)
class SumPicture:
    """A cell or a group that is disclosed, and the sums that do it.

    Parameters
    ----------
    name
        The cell, or the group.
    places
        Cells that the picture is about, as findings name them.
    sums
        Sums of published cells that disclose it.
    rules, required
        Rules that a cell breaks, and how uncertain it must stay; for a group, what is counted.
    """

    name: str
    places: tuple[str, ...]
    sums: tuple[Waterfall, ...]
    rules: str = ""
    required: str = ""


@dataclass(frozen=True, slots=True)
class DisclosedRow:
    """What one attacker finds.

    Parameters
    ----------
    row
        The row of the verdict.
    pictures
        The first cells, with the sums that disclose them.
    listed
        Other findings: reason, advice, and the cells or groups that they are about.
    n_more
        Findings that are not listed.
    """

    row: Row
    pictures: tuple[SumPicture, ...]
    listed: tuple[tuple[str, str, tuple[str, ...]], ...]
    n_more: int


def disclosed(cells: Cells, rows: Iterable[Row]) -> list[DisclosedRow]:
    """Return what is disclosed, for every row that failed."""
    found = []
    for row in rows:
        if row.status is not Status.FAILED or not row.applies:
            continue
        pictures = _pictures(cells, row)
        drawn = {place for each in pictures for place in each.places}
        left = [each for each in row.findings if each.place not in drawn]
        alike: dict[tuple[str, str], list[str]] = {}
        for each in left[:MAX_LISTED]:
            alike.setdefault((each.reason, each.advice), []).append(each.place)
        listed = tuple((*about, tuple(places)) for about, places in alike.items())
        found.append(DisclosedRow(row, pictures, listed, max(len(left) - MAX_LISTED, 0)))
    return found


def _pictures(cells: Cells, row: Row) -> tuple[SumPicture, ...]:
    """Draw the sums behind the first findings of a row; only exact numbers are drawn."""
    if not cells.audit.additive or cells.adjusted is not None:
        return ()
    drawn = {"outsider": _of_cells, "groups": _of_units, "attributes": _of_attributes}.get(row.attacker)
    return () if drawn is None else tuple(islice(drawn(cells), MAX_PICTURES))


def _of_cells(cells: Cells) -> Iterable[SumPicture]:
    audit = cells.audit
    for place, reasons in audit.disclosures.items():
        cell = int(audit.problem.cells[place])
        sums = (arithmetic(audit.problem, audit.release, audit.grid, reason) for reason in reasons)
        drawn = tuple(waterfall(each, cells.codes) for each in sums)
        if any(each.bars for each in drawn):
            name, rules = cells.table.describe(cell), ", ".join(cells.need.why(cell))
            yield SumPicture(name, (name,), drawn, rules, cells.required(cell))


def _of_units(cells: Cells) -> Iterable[SumPicture]:
    """Draw groups of too few units: numbers are units, also where amounts are published."""
    drawn: set[tuple[int, ...]] = set()
    for audit in () if cells.groups is None else cells.groups.audits:
        for reasons in audit.disclosures.values():
            for reason in reasons:
                found, members = group_sum(arithmetic(audit.problem, audit.release, audit.grid, reason))
                if members in drawn or not found.terms:
                    continue
                drawn.add(members)
                together = " + ".join(map(cells.codes, members))

                def codes(cell: int, own: int = found.cell, together: str = together) -> str:
                    return together if cell == own else cells.codes(cell)

                places = tuple(map(cells.table.describe, members))
                yield SumPicture(together, places, (waterfall(found, codes),), UNITS)


def _of_attributes(cells: Cells) -> Iterable[SumPicture]:
    """Draw how many people of a group can be elsewhere than where the published values show them."""
    groups, labels = cells.audit.groups, cells.table.labels
    if groups is None:
        return
    exposed = explain_recomputable(groups.problem, groups.proof.exposed)
    reasons: dict[int, tuple[Disclosure, ...]] = dict(groups.proof.failed)
    reasons |= {place: (reason,) for place, reason in exposed.items()}
    n = len(labels)
    for place in sorted(reasons):
        number = int(groups.problem.cells[place]) - n
        sums = [
            arithmetic(groups.problem, groups.release, groups.grid, reason)
            for reason in reasons[place]
            if reason.linear or reason.up
        ]
        name = groups.learnt.describe(labels, number)

        def codes(cell: int, name: str = name) -> str:
            return name if cell >= n else cells.codes(cell)

        drawn = tuple(waterfall(each, codes) for each in sums)
        if any(each.bars for each in drawn):
            yield SumPicture(name, (name,), drawn, ELSEWHERE)
