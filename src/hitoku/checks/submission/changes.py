"""What is different from the last submission: outputs that are new, gone, or say something else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hitoku.checks.outputs.output import Output


def changes(now: Sequence[Output], before: Sequence[Output]) -> dict[str, str]:
    """Compare the outputs of two submissions by their names; say about each what is different.

    Parameters
    ----------
    now, before
        Their outputs; what is gone is named, too.
    """
    known = {each.name: each for each in before}
    told = {each.name: _compared(each, known.pop(each.name, None)) for each in now}
    return told | dict.fromkeys(known, "gone: it was in the last submission")


def _compared(now: Output, before: Output | None) -> str:
    if before is None:
        return "new"
    asked = (now.kind, dict(now.definition), dict(now.where))
    if asked != (before.kind, dict(before.definition), dict(before.where)):
        return "asked otherwise"
    different = count_different(now.published, before.published)
    if different is None:
        return "other rows or columns leave"
    told = [f"{different} entr{'y' if different == 1 else 'ies'} of what leaves differ"] if different else []
    if now.evidence.to_dict() != before.evidence.to_dict():
        told.append("other evidence")
    return "; ".join(told) or "the same"


def count_different(one: Mapping[str, Sequence[Any]], other: Mapping[str, Sequence[Any]]) -> int | None:
    """Count the entries that differ between two tables; None when rows or columns are not the same."""
    same_rows = {len(column) for column in (*one.values(), *other.values())}
    if list(one) != list(other) or len(same_rows) > 1:
        return None
    return sum(bool(a != b) for name in one for a, b in zip(one[name], other[name], strict=True))
