"""Texts for drawings of outputs: cell entries, layers, sentences about a cell, changes between turns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hitoku.io import bound, interval, number
from hitoku.io import entry as print_entry

WITHHELD = "x"
LAYERS = {
    "leaving": "As it would leave",
    "units": "Units",
    "share": "Largest share",
    "shared": "Share of row or column",
    "interval": "Interval",
}
# JSON has no infinity: this value represents it.
ENDLESS = 1e308
RULE_WORDS = {
    "min_frequency": "it has fewer units than the policy asks for",
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


def entry(cells: Cells, cell: int, layer: str) -> str:
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
        found.append(("bad", f"It would leave although {' and '.join(reasons)}."))
    else:
        found.append(("", "It leaves as it is."))
    if cells["low"] and cells["low"][cell] is not None:
        found.append(_inferred(cells, cell))
    if cells["why"][cell]:
        found.append(("bad" if cells["failing"][cell] else "", f"{_capital(cells['why'][cell])}."))
    return found


def _inferred(cells: Cells, cell: int) -> tuple[str, str]:
    low, high = cells["low"][cell], cells["high"][cell]
    text = f"From what leaves, a reader can tell that it lies in {_ends(low, high)}"
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
    return f"[{interval(_finite(low), _finite(high))}]"


def _finite(value: float) -> float:
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


def _side(entry: Any) -> str:
    return "not there" if entry is ... else "withheld" if entry is None else print_entry(entry)


def _by_key(columns: Mapping[str, Sequence[Any]]) -> dict[tuple[Any, ...], Any]:
    rows = list(zip(*columns.values(), strict=False))
    return {tuple(row[:-1]): row[-1] for row in rows}


# Most entries of a large table repeat, so the worker writes each distinct entry of a column once, and an
# index per cell. Ten thousand separate lists would slow down garbage collection.
OF, ONCE = "of", "once"


def packed(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Pack columns: each distinct entry once, and an index per cell.

    Examples
    --------
    >>> packed({"rules": [[], ["units"], [], []], "units": [9, 1, 4, 4], "share": None})
    {'rules': {'once': [[], ['units']], 'of': [0, 1, 0, 0]}, 'units': [9, 1, 4, 4], 'share': None}
    """
    return {name: _once(column) for name, column in cells.items()}


def unpacked(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Unpack columns; equal lists become one shared tuple.

    Examples
    --------
    >>> unpacked({"rules": {"once": [[], ["units"]], "of": [0, 1, 0]}, "units": [9, 1, 4], "share": None})
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
