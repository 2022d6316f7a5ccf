"""Drawings of outputs, made by the worker from the evidence and read by the server as plain values.

Their texts are cell entries, layers, sentences about a cell, and changes between turns. Drawings are
confidential: they contain counts, shares and intervals of suppressed cells. They are stored with the check
results.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from hitoku.checks.evidence import CodedCells, Unreadable
from hitoku.checks.outputs import Output
from hitoku.checks.policies import Policy
from hitoku.checks.principles import PrincipleVerdict, SumTerm
from hitoku.checks.submission import Recheck, Rechecked
from hitoku.errors import HitokuError
from hitoku.io import (
    MAX_LISTED,
    LayoutSection,
    OutputCells,
    asked_for,
    bound,
    cross_codes,
    entry,
    interval,
    list_rows,
    number,
)

WITHHELD = "x"
LAYERS = {
    "leaving": "As released",
    "units": "Units",
    "share": "Largest share",
    "shared": "Share of row or column",
    "interval": "Interval",
}
# JSON has no infinity: this value represents it.
ENDLESS = 1e308
RULE_WORDS = {
    "min_frequency": "it has fewer units than the policy requires",
    "group_disclosure": "it holds nearly all of its row or column",
    "dominance": "its largest contributors hold too much of it",
    "p_percent": "a contributor can estimate another too closely",
    "withheld_counts": "its count is withheld",
}

Cells = Mapping[str, Any]


def layers_of(cells: Cells) -> dict[str, str]:
    """Return the available layers of an output."""
    there = {
        "leaving": True,
        "units": cells["units"] is not None,
        "share": cells["share"] is not None,
        "shared": cells["shared"] is not None,
        "interval": cells["low"] is not None and any(each is not None for each in cells["low"]),
    }
    return {name: words for name, words in LAYERS.items() if there[name]}


def layer_entry(cells: Cells, cell: int, layer: str) -> str:
    """Return the entry of a cell in a layer."""
    if layer == "units":
        return f"{cells['units'][cell]:,}"
    if layer in {"share", "shared"}:
        share = cells[layer][cell]
        return "" if share is None else f"{share:.0%}" if share >= 0.1 else f"{share:.1%}"
    if layer == "interval" and cells["low"][cell] is not None:
        return _interval(cells, cell)
    shown = cells["shown"][cell]
    return WITHHELD if shown is None else str(shown)


def mark(cells: Cells, cell: int) -> str:
    """Return the class of a cell: failing, primary, secondary, or empty."""
    if cells["failing"][cell]:
        return "bad"
    return {"primary": "prim", "secondary": "sec"}.get(cells["decision"][cell], "")


def sentences(cells: Cells, cell: int, verdicts: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return sentences about a cell, each with a CSS class."""
    found: list[tuple[str, str]] = []
    units = cells["units"][cell] if cells["units"] else None
    if units is not None:
        found.append(("", f"{units:,} unit{'s are' if units != 1 else ' is'} behind it."))
    if cells["share"] and cells["share"][cell] is not None:
        found.append(("", f"The largest contributor holds {cells['share'][cell]:.1%} of it."))
    if cells["shared"] and cells["shared"][cell]:
        found.append(("", f"It holds {cells['shared'][cell]:.1%} of its row or column, whichever is more."))
    found += _withheld(cells, cell)
    remedies = dict.fromkeys(each["remedy"] for each in verdicts if each["remedy"])
    if (cells["failing"][cell] or cells["decision"][cell] == "primary") and remedies:
        found.append(("way", f"Suggested fix: {'; or '.join(remedies)}."))
    return found


def _withheld(cells: Cells, cell: int) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    decision, rules = cells["decision"][cell], cells["rules"][cell]
    reasons = [RULE_WORDS.get(rule, f"the rule {rule} hits it") for rule in rules]
    if decision == "primary":
        found.append(
            ("", f"It is withheld because {' and '.join(reasons) or 'a rule of the policy hits it'}.")
        )
    elif decision == "secondary":
        found.append(("", "It is safe by itself, and withheld so that others cannot be worked out from it."))
    elif reasons and cells["failing"][cell]:
        found.append(("bad", f"It would be released although {' and '.join(reasons)}."))
    else:
        found.append(("", "It leaves as it is."))
    if cells["low"] and cells["low"][cell] is not None:
        found.append(_describe_interval(cells, cell))
    if cells["why"][cell]:
        found.append(("bad" if cells["failing"][cell] else "", f"{_capital(cells['why'][cell])}."))
    return found


def _describe_interval(cells: Cells, cell: int) -> tuple[str, str]:
    low, high = cells["low"][cell], cells["high"][cell]
    text = f"From the output, an attacker can infer that it lies in {_ends(low, high)}"
    need = cells["need"][cell]
    if need is None:
        return "", f"{text}."
    wide = float("inf") if max(abs(low), abs(high)) >= ENDLESS else high - low
    asked = need[2] or need[0] + need[1]
    bad = cells["failing"][cell]
    verb = "which is too close" if bad else "as wide as it must be"
    return ("bad" if bad else "good"), f"{text}: {bound(wide)} wide, {bound(asked)} needed, {verb}."


def _interval(cells: Cells, cell: int) -> str:
    text = _ends(cells["low"][cell], cells["high"][cell])
    need = cells["need"][cell]
    return text if need is None or not need[2] else f"{text} ≥ {number(need[2])}"


def _ends(low: float, high: float) -> str:
    return f"[{interval(_endless(low), _endless(high))}]"


def _endless(value: float) -> float:
    return float("inf") if value >= ENDLESS else float("-inf") if value <= -ENDLESS else value


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".")


def changes(before: Mapping[str, Sequence[Any]], after: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the cells that differ between two versions of an output.

    Parameters
    ----------
    before, after
        Columns; all but the last identify a cell.
    """
    old, new = (_by_key(columns) for columns in (before, after))
    found = []
    for key in dict.fromkeys([*old, *new]):
        was, now = old.get(key, ...), new.get(key, ...)
        if was != now:
            found.append(
                {
                    "cell": ", ".join(map(str, key)) or "the value",
                    "before": _side(was),
                    "after": _side(now),
                }
            )
    return found


def _side(given: Any) -> str:
    return "not there" if given is ... else "withheld" if given is None else entry(given)


def _by_key(columns: Mapping[str, Sequence[Any]]) -> dict[tuple[Any, ...], Any]:
    rows = list(zip(*columns.values(), strict=False))
    return {tuple(row[:-1]): row[-1] for row in rows}


# Most entries of a large table repeat, so the worker writes each distinct entry of a column once, and an
# index per cell. Ten thousand separate lists would slow down garbage collection.
OF, ONCE = "of", "once"


def pack_columns(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Pack columns: each distinct entry once, and an index per cell.

    Examples
    --------
    >>> pack_columns({"rules": [[], ["units"], [], []], "units": [9, 1, 4, 4], "share": None})
    {'rules': {'once': [[], ['units']], 'of': [0, 1, 0, 0]}, 'units': [9, 1, 4, 4], 'share': None}
    """
    return {name: _once(column) for name, column in cells.items()}


def unpack_columns(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Unpack columns; equal lists become one shared tuple.

    Examples
    --------
    >>> rules = {"once": [[], ["units"]], "of": [0, 1, 0]}
    >>> unpack_columns({"rules": rules, "units": [9, 1, 4], "share": None})
    {'rules': [(), ('units',), ()], 'units': [9, 1, 4], 'share': None}
    """
    return {name: _spread(column) if isinstance(column, dict) else column for name, column in cells.items()}


def _once(column: Any) -> Any:
    if not column or not any(isinstance(each, str | list | tuple) for each in column):
        return column
    texts = [json.dumps(each) for each in column]
    place = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    if 2 * len(place) > len(column):
        return column
    return {ONCE: [json.loads(text) for text in place], OF: [place[text] for text in texts]}


def _spread(column: Mapping[str, Any]) -> list[Any]:
    once = [tuple(each) if isinstance(each, list) else each for each in column[ONCE]]
    return [once[number] for number in column[OF]]


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
    cells["shown"] = [_show_entry(column[cell]) for cell in range(n) for column in numbers]
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
        "shown": [_show_entry(value) for value in values],
        "decision": ["primary" if value is None else "published" for value in values],
        "failing": [False] * n,
        "why": [""] * n,
        "rules": [[]] * n,
    }
    return {"grid": [section.to_dict()], "cells": cells}


def _show_entry(value: Any) -> str | None:
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
