"""What is different between two turns of an output, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def as_text(entry: object) -> str | None:
    """Write an entry of a table; None where it is withheld."""
    if entry is None:
        return None
    if isinstance(entry, bool) or not isinstance(entry, int | float):
        return str(entry)
    whole = isinstance(entry, float) and entry.is_integer()
    return f"{entry:,.0f}" if whole else f"{entry:,}"


def changes(before: Mapping[str, Sequence[Any]], after: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Compare what would leave, cell by cell; what is in one only is said to be new or gone.

    Parameters
    ----------
    before, after
        Columns; all but the last tell cells apart.
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
    return "not there" if entry is ... else "withheld" if entry is None else as_text(entry) or ""


def _by_key(columns: Mapping[str, Sequence[Any]]) -> dict[tuple[Any, ...], Any]:
    rows = list(zip(*columns.values(), strict=False))
    return {tuple(row[:-1]): row[-1] for row in rows}
