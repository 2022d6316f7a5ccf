"""Drawings of outputs, made once by the worker from the evidence and read by the server as plain values.

Confidential: counts, shares and intervals of withheld cells are in them. They stay beside the submission.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from hitoku.checks.evidence import CodedCells, GroupRows, TableEvidence, Unreadable
from hitoku.checks.outputs import Output, TableClaim
from hitoku.checks.policies import Policy
from hitoku.checks.principles import PrincipleVerdict, SumTerm, count_shares
from hitoku.checks.submission import Recheck, Rechecked
from hitoku.errors import HitokuError
from hitoku.evidence import audit
from hitoku.io import Cells, asked_for, sections
from hitoku.model import Protection
from hitoku.review.drawing import as_text

# Exact intervals take two linear programs for each withheld cell; beyond so many, the proof has them.
MOST_EXACT = 400
View = dict[str, Any]


def draw(each: Rechecked, policy: Policy) -> View:
    """Draw an output: its verdicts, its cells with everything that is known about them, and how they lie."""
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
        cells = _cells(output, policy)
        return view | cells | {"withheld": _withheld(output, len(cells["cells"]["shown"]))}
    except HitokuError as error:
        # What was tampered with may have any shape: it is listed as it came.
        return view | _listed(output) | {"findings": [*view["findings"], f"cannot be drawn: {error.what}"]}


def _withheld(output: Output, n_cells: int) -> dict[str, dict[str, str]]:
    """Return the codes of what is withheld, by its number in the drawing: a decision may let it leave."""
    cells = output.asked.cells(output.evidence)
    withheld = output.evidence.withheld
    if cells is None or len(cells.labels) != len(withheld) or not withheld.any():
        return {}
    width = n_cells // len(withheld)
    return {str(at * width): codes for at, codes in enumerate(cells.named()) if withheld[at]}


def _cells(output: Output, policy: Policy) -> View:
    evidence = output.evidence
    if isinstance(evidence, Unreadable):
        return _listed(output)
    claimed = output.asked.claim(evidence, policy)
    if claimed is not None:
        return _table(output, cast("TableEvidence", evidence), claimed)
    if evidence.by_group is not None:
        return _groups(output, evidence.by_group)
    facts, support = map(list, evidence.facts), map(list, evidence.supported_terms)
    return _listed(output) | {"facts": list(facts), "support": list(support)}


def _table(output: Output, evidence: TableEvidence, claimed: TableClaim) -> View:
    table, need, release = claimed
    exact = int(evidence.withheld.sum()) <= MOST_EXACT
    found = audit(table, need, release, intervals=exact)
    known = Cells(table, need, Protection.withhold(table, evidence.withheld, need), found)
    low, high = known.ends
    share = known.share
    labels = [table.describe(cell) for cell in range(table.n_cells)]
    column = list(output.published)[-1]
    return {
        "grid": [
            {
                "title": section.title,
                "stubs": list(section.stubs),
                "across": section.across,
                "columns": [_line(line) for line in section.columns],
                "rows": [
                    {"heads": [_line(line) for line in row.heads], "cells": list(row.cells)}
                    for row in section.rows
                ],
            }
            for section in sections(table)
        ],
        "cells": {
            "label": labels,
            "shown": [as_text(entry) for entry in output.published[column]],
            "units": evidence.n_units.tolist(),
            "share": None if share is None else _plain(share),
            "shared": _plain(count_shares(evidence)),
            "low": _plain(low),
            "high": _plain(high),
            "need": [_need(need, cell) for cell in range(table.n_cells)],
            "decision": known.decision,
            "failing": known.failing.tolist(),
            "why": [known.why(cell) for cell in range(table.n_cells)],
            "rules": [
                [name for name, hit in need.rules.items() if hit[cell]] if need.unsafe[cell] else []
                for cell in range(table.n_cells)
            ],
        },
    }


def _need(need: Any, cell: int) -> list[float] | None:
    """Return how far below and above, and how wide in all, a cell must be blurred; None for a safe one."""
    if not need.unsafe[cell]:
        return None
    return [
        _number(need.lower[cell]) or 0.0,
        _number(need.upper[cell]) or 0.0,
        _number(need.width[cell]) or 0.0,
    ]


def _groups(output: Output, groups: GroupRows) -> View:
    values = [name for name in output.published if name not in groups.by]
    wide, n = len(values), len(groups.labels)
    labels = [
        ", ".join(f"{name}={code}" for name, code in zip(groups.by, label, strict=True)) or "all"
        for label in groups.labels
    ]
    share = None if groups.largest_share is None else _plain(groups.largest_share)
    withheld = output.evidence.withheld.tolist()
    return {
        "grid": [
            {
                "title": "",
                "stubs": list(groups.by),
                "across": "",
                "columns": [{"code": name, "depth": 0, "sum": False} for name in values],
                "rows": [
                    {
                        "heads": [{"code": code, "depth": 0, "sum": False} for code in groups.labels[at]],
                        "cells": [at * wide + place for place in range(wide)],
                    }
                    for at in range(n)
                ],
            }
        ],
        "cells": {
            "label": [label for label in labels for _ in values],
            "shown": [as_text(output.published[name][at]) for at in range(n) for name in values],
            "units": [int(count) for count in groups.n_units for _ in values],
            "share": None if share is None else [each for each in share for _ in values],
            "shared": None,
            "low": None,
            "high": None,
            "need": None,
            "decision": ["primary" if gone else "published" for gone in withheld for _ in values],
            "failing": [False] * (n * wide),
            "why": [""] * (n * wide),
            "rules": [[] for _ in range(n * wide)],
        },
    }


def draw_released(published: Mapping[str, Sequence[Any]]) -> View:
    """Draw what has left, of which only the numbers are known: crosswise with two variables, or listed.

    Cells are numbered by the rows of the columns.
    """
    *variables, last = published
    if len(variables) != 2:
        return _rows(published, variables)
    rows, columns = (list(dict.fromkeys(map(str, published[name]))) for name in variables)
    place = {
        (str(row), str(column)): at
        for at, (row, column) in enumerate(zip(*(published[name] for name in variables), strict=True))
    }
    if len(place) != len(rows) * len(columns):
        return _rows(published, variables)
    grid = {
        "title": "",
        "stubs": variables[:1],
        "across": variables[1],
        "columns": [{"code": code, "depth": 0, "sum": False} for code in columns],
        "rows": [
            {
                "heads": [{"code": row, "depth": 0, "sum": False}],
                "cells": [place[row, column] for column in columns],
            }
            for row in rows
        ],
    }
    return {"grid": [grid], "cells": _unknown(published[last])}


def _rows(published: Mapping[str, Sequence[Any]], stubs: Sequence[str]) -> View:
    last = list(published)[-1]
    grid = {
        "title": "",
        "stubs": list(stubs),
        "across": "",
        "columns": [{"code": last, "depth": 0, "sum": False}],
        "rows": [
            {
                "heads": [{"code": str(published[name][at]), "depth": 0, "sum": False} for name in stubs],
                "cells": [at],
            }
            for at in range(len(published[last]))
        ],
    }
    return {"grid": [grid], "cells": _unknown(published[last])}


def _unknown(entries: Sequence[Any]) -> View:
    """Draw cells of which nothing is known but what is shown."""
    n = len(entries)
    nothing = dict.fromkeys(("units", "share", "shared", "low", "high", "need"))
    return {
        **nothing,
        "shown": [as_text(entry) for entry in entries],
        "decision": ["primary" if entry is None else "published" for entry in entries],
        "failing": [False] * n,
        "why": [""] * n,
        "rules": [[] for _ in range(n)],
    }


def _listed(output: Output) -> View:
    """Draw what would leave as it stands, one line after another."""
    names = list(output.published)
    rows = list(zip(*output.published.values(), strict=False))
    wide = len(names)
    return {
        "grid": [
            {
                "title": "",
                "stubs": [],
                "across": "",
                "columns": [{"code": name, "depth": 0, "sum": False} for name in names],
                "rows": [
                    {"heads": [], "cells": list(range(at * wide, (at + 1) * wide))} for at in range(len(rows))
                ],
            }
        ],
        "cells": {
            "label": [f"line {at + 1}, {name}" for at in range(len(rows)) for name in names],
            **_unknown([entry for row in rows for entry in row]),
        },
    }


def _line(line: Any) -> dict[str, Any]:
    return {"code": line.code, "depth": line.depth, "sum": line.is_sum}


def _plain(numbers: Iterable[float]) -> list[float | None]:
    return [_number(each) for each in numbers]


def _number(value: float) -> float | None:
    return (
        None
        if math.isnan(value)
        else (1e308 if value > 1e308 else -1e308 if value < -1e308 else float(value))
    )


DPI = 110


def draw_picture(output: Output) -> bytes:
    """Draw the chart of an output as PNG; nothing for what is read as numbers, or does not leave."""
    if not output.asked.picture:
        return b""
    # Most submissions have no pictures, and the package takes a second to load.
    from hitoku.plots import chart  # noqa: PLC0415

    try:
        figure = chart(output, output.asked.picture)
    except HitokuError:
        return b""
    content = io.BytesIO()
    # Without the name and version of the program: the same numbers are the same bytes.
    figure.savefig(content, format="png", dpi=DPI, metadata={"Software": None})
    return content.getvalue()


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
