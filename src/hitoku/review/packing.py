"""How the worker writes what is known of thousands of cells, so that a page reads it in no time.

Most cells say the same: the same rules, the same decision. Each different thing is written once, and a number
for every cell. Ten thousand lists instead would be walked through by the garbage collector again and again,
while everybody waits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

OF, ONCE = "of", "once"
# A column in which things differ this often is left as it is.
MOST_DIFFERENT = 0.5


def packed(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Write each different entry of a column once.

    Examples
    --------
    >>> packed({"rules": [[], ["units"], [], []], "units": [9, 1, 4, 4], "share": None})
    {'rules': {'once': [[], ['units']], 'of': [0, 1, 0, 0]}, 'units': [9, 1, 4, 4], 'share': None}
    """
    return {name: _once(column) for name, column in cells.items()}


def unpacked(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Return columns with an entry for every cell; lists that are equal are one tuple.

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
    if len(place) > MOST_DIFFERENT * len(column):
        return column
    return {ONCE: [json.loads(text) for text in place], OF: [place[text] for text in texts]}


def _spread(column: Mapping[str, Any]) -> list[Any]:
    once = [tuple(each) if isinstance(each, list) else each for each in column[ONCE]]
    return [once[number] for number in column[OF]]
