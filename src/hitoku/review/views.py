"""Drawings of outputs, made by the worker from the evidence and read by the server as plain values.

Drawings are confidential: they contain counts, shares and intervals of suppressed cells. They are stored with
the check results.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from hitoku.checks.evidence import CodedCells, Unreadable
from hitoku.checks.outputs import Output
from hitoku.checks.policies import Policy
from hitoku.checks.principles import PrincipleVerdict, SumTerm
from hitoku.checks.submission import Recheck, Rechecked
from hitoku.errors import HitokuError
from hitoku.io import MAX_LISTED, LayoutSection, OutputCells, asked_for, cross_codes, entry, list_rows
from hitoku.review.drawing import ENDLESS

# Optional columns, omitted if empty.
OPTIONAL = ("share", "shared", "low", "high")
View = dict[str, Any]


def draw(each: Rechecked, policy: Policy) -> View:
    """Draw an output: verdicts, facts about its cells, and their layout."""
    output = each.output
    view: View = {
        "name": output.name,
        "kind": output.kind,
        "status": each.status,
        "asked": asked_for(output),
        "verdicts": [verdict.to_dict() for verdict in each.verdicts],
        "findings": [str(finding) for finding in each.findings],
        "published": {name: list(column) for name, column in output.published.items()},
        "facts": [],
        "support": [],
    }
    try:
        found = OutputCells.of(output, policy)
        if found is not None:
            return view | _draw_cells(found)
        if not isinstance(output.evidence, Unreadable):
            view["facts"] = [list(fact) for fact in output.evidence.facts]
            view["support"] = [list(term) for term in output.evidence.supported_terms]
        return view | _draw_rows(output) | {"withheld": {}}
    except HitokuError as error:
        # A tampered output may have any shape: its rows are listed unchanged.
        return view | _draw_rows(output) | {"findings": [*view["findings"], f"cannot be drawn: {error.what}"]}


def _draw_cells(found: OutputCells) -> View:
    """Draw cells; if groups have several numbers, each has the facts of its group."""
    output, known, n = found.output, found.known, len(found)
    numbers = list(found.numbers.values())
    low, high = found.ends
    columns: dict[str, list[Any]] = {
        "label": [
            ", ".join(f"{name}={code}" for name, code in zip(found.variables, codes, strict=True)) or "all"
            for codes in found.codes
        ],
        "units": found.coded.n_units.tolist(),
        "share": found.contributions[2],
        "shared": found.line_share,
        "low": [_finite(value) for value in low],
        "high": [_finite(value) for value in high],
        "need": [each and [_finite(level) for level in each] for each in found.required],
        "decision": found.decision,
        "failing": [False] * n if known is None else known.failing.tolist(),
        "why": [""] * n if known is None else [known.why(cell) for cell in range(n)],
        "rules": [[]] * n if known is None else [list(known.need.why(cell)) for cell in range(n)],
    }
    for name in OPTIONAL:
        if all(value is None for value in columns[name]):
            del columns[name]
    cells: dict[str, Any] = dict.fromkeys(OPTIONAL) | {
        name: [value for value in column for _ in numbers] for name, column in columns.items()
    }
    cells["shown"] = [_shown(column[cell]) for cell in range(n) for column in numbers]
    # Codes of suppressed cells by their first number: a decision may release them.
    coded, withheld = output.asked.cells(output.evidence), output.evidence.withheld
    named = [] if coded is None else list(coded.named())
    opened = [at for at in found.shown if named and withheld[at]]
    return {
        "grid": [section.to_dict() for section in found.sections],
        "cells": cells,
        "withheld": {str(at * len(numbers)): named[at] for at in opened},
    }


def draw_released(published: Mapping[str, Sequence[Any]]) -> View:
    """Draw a released output, of which only the numbers are known.

    Two variables are crossed, otherwise rows are listed. Cells are numbered by the rows of the columns.
    """
    *variables, last = published
    labels = list(zip(*(map(str, published[name]) for name in variables), strict=True))
    section = cross_codes(variables, labels) or list_rows(variables, dict(enumerate(labels)), [last])
    return _unknown(section, published[last])


def _draw_rows(output: Output) -> View:
    """Draw the published rows one after another."""
    names, rows = list(output.published), list(zip(*output.published.values(), strict=False))
    view = _unknown(
        list_rows((), dict.fromkeys(range(len(rows)), ()), names), [value for row in rows for value in row]
    )
    view["cells"]["label"] = [f"line {at + 1}, {name}" for at in range(len(rows)) for name in names]
    return view


def _unknown(section: LayoutSection, values: Sequence[Any]) -> View:
    """Draw cells with unknown facts."""
    n = len(values)
    cells: View = {
        **dict.fromkeys(("units", *OPTIONAL, "need")),
        "shown": [_shown(value) for value in values],
        "decision": ["primary" if value is None else "published" for value in values],
        "failing": [False] * n,
        "why": [""] * n,
        "rules": [[]] * n,
    }
    return {"grid": [section.to_dict()], "cells": cells}


def _shown(value: Any) -> str | None:
    return None if value is None else entry(value)


def _finite(value: float | None) -> float | None:
    return None if value is None else min(max(value, -ENDLESS), ENDLESS)


def draw_picture(output: Output) -> bytes:
    """Return the chart of an output as PNG; empty if it has none or is suppressed."""
    if not output.asked.picture:
        return b""
    # Deferred import: most submissions have no pictures, and it takes a second.
    from hitoku.plots import chart  # noqa: PLC0415

    try:
        figure = chart(output, output.asked.picture)
    except HitokuError:
        return b""
    content = io.BytesIO()
    # Without metadata, equal numbers give equal bytes.
    figure.savefig(content, format="png", dpi=110, metadata={"Software": None})
    return content.getvalue()


# Maximum number of cells in a drawn sum.
MAX_TERMS = 200


def sums(found: Recheck, n_cells: Sequence[int]) -> list[dict[str, Any]]:
    """Return the sums of cells that single out a group: the outputs that publish them, and their cells.

    Parameters
    ----------
    found
        Result of a check.
    n_cells
        Number of cells in each output's drawing. If a group has several numbers, the last one is marked.
    """
    drawn: list[dict[str, Any]] = []
    for place, each in enumerate(found.outputs):
        for verdict in each.verdicts:
            if 0 < len(verdict.terms) <= MAX_TERMS and len(drawn) < MAX_LISTED:
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
    """Return the outputs of a sum; None if one cannot be found."""
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
    # Earlier outputs are shown on the left.
    return sorted(sides, key=lambda side: (side["place"] is not None, side["place"] == place))


def _term(term: SumTerm) -> dict[str, Any]:
    return {"times": term.times, "units": term.units}


def _in_cells(cells: CodedCells, terms: Sequence[SumTerm]) -> list[int] | None:
    wanted = [tuple(term.codes.get(name) for name in cells.codes) for term in terms]
    known = {label: at for at, label in enumerate(cells.labels)}
    return [known[each] for each in wanted] if all(each in known for each in wanted) else None


def _in_columns(published: Mapping[str, Sequence[Any]], terms: Sequence[SumTerm]) -> list[int] | None:
    """Return the rows of cells in a released output; a sum over a variable has the code of the last row."""
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
