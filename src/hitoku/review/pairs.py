"""Outputs that single somebody out together, side by side, with the cells to add and subtract.

Nothing is found here: verdicts on differencing name the cells of their sum, and these are looked up in what
would leave and in what the ledger says has left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hitoku.checks.evidence.cells import CodedCells
from hitoku.checks.principles.verdict import PrincipleVerdict, SumTerm
from hitoku.checks.submission.rechecked import Recheck, Rechecked
from hitoku.review.views import draw_released

# So many sums are drawn; the verdicts name all.
MOST_SUMS = 50
# A sum of more cells than this is no picture.
MOST_TERMS = 200


def sums(found: Recheck, n_cells: Sequence[int]) -> list[dict[str, Any]]:
    """Return each sum of cells that singles a group out: the outputs that publish them, and which cells.

    Parameters
    ----------
    found
        What a check found.
    n_cells
        How many cells the drawing of each output has: a group may have several numbers, the last of which is
        marked.
    """
    drawn: list[dict[str, Any]] = []
    for place, each in enumerate(found.outputs):
        for verdict in each.verdicts:
            if 0 < len(verdict.terms) <= MOST_TERMS and len(drawn) < MOST_SUMS:
                sides = _sides(found, n_cells, place, verdict)
                if sides is not None:
                    drawn.append(_sum(each, verdict, sides))
    return drawn


def _sum(each: Rechecked, verdict: PrincipleVerdict, sides: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "output": each.output.name,
        "status": str(verdict.status),
        "text": verdict.text,
        "remedy": verdict.remedy,
        "units": verdict.numbers.get("units", 0),
        "sides": sides,
    }


def _sides(
    found: Recheck, n_cells: Sequence[int], place: int, verdict: PrincipleVerdict
) -> list[dict[str, Any]] | None:
    """Look up every output of a sum; None where one of them is not to be found."""
    places = {each.output.name: at for at, each in enumerate(found.outputs)}
    sides = []
    for name in dict.fromkeys(term.output for term in verdict.terms):
        terms = [term for term in verdict.terms if term.output == name]
        if terms[0].own or (name in places and name not in found.released):
            at = place if terms[0].own else places[name]
            output = found.outputs[at].output
            cells = output.asked.cells(output.evidence)
            located = None if cells is None else _in_cells(cells, terms)
            side: dict[str, Any] = {"place": at, "name": output.name}
            width = 1 if not cells or not cells.labels else max(n_cells[at] // len(cells.labels), 1)
        elif name in found.released:
            published = found.released[name]
            located, width = _in_columns(published, terms), 1
            side = {"place": None, "name": name, **draw_released(published)}
        else:
            return None
        if located is None:
            return None
        marked = zip(located, terms, strict=True)
        side["terms"] = {str(at * width + width - 1): _term(term) for at, term in marked}
        sides.append(side)
    # What was there first stands on the left.
    return sorted(sides, key=lambda side: (side["place"] is not None, side["place"] == place))


def _term(term: SumTerm) -> dict[str, Any]:
    return {"times": term.times, "units": term.units}


def _in_cells(cells: CodedCells, terms: Sequence[SumTerm]) -> list[int] | None:
    wanted = [tuple(term.codes.get(name) for name in cells.codes) for term in terms]
    known = {label: at for at, label in enumerate(cells.labels)}
    return [known[each] for each in wanted] if all(each in known for each in wanted) else None


def _in_columns(published: Mapping[str, Sequence[Any]], terms: Sequence[SumTerm]) -> list[int] | None:
    """Find the rows of some cells in what has left; a sum over a variable has the code of the last row."""
    columns = list(published)[:-1]
    if not columns or not all(published[name] for name in columns):
        return None
    rows = list(zip(*(map(str, published[name]) for name in columns), strict=True))
    totals = dict(zip(columns, rows[-1], strict=True))
    found = []
    for term in terms:
        wanted = tuple(term.codes.get(name, totals[name]) for name in columns)
        if wanted not in rows:
            return None
        found.append(rows.index(wanted))
    return found
