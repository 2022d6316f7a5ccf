"""Whether outputs about the same groups say the same about them.

Outputs of one submission are about one data set. Whoever has forged the units behind a mean has left those of
the table beside it as they were; to get through, every output about the group must be changed alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hitoku.checks.evidence.left_out import KNOWN, LeftOut, known_of
from hitoku.checks.outputs.facts import Fact, Kind
from hitoku.checks.outputs.output import Output
from hitoku.checks.records import MISSING
from hitoku.errors import some
from hitoku.model import ADDITIVITY

# Variables and their codes; under a filter also the codes it keeps.
Group = frozenset[tuple[str, str | tuple[str, ...]]]
# More than this many are counted, not named.
SHOWN = 3


def disagreements(outputs: Sequence[Output]) -> list[list[str]]:
    """Compare what outputs say about the same groups; for each output what others contradict.

    Parameters
    ----------
    outputs
        Outputs whose evidence does not contradict itself.
    """
    first: dict[tuple[Group, Kind], tuple[Fact, int]] = {}
    found: list[dict[tuple[int, str], list[str]]] = [{} for _ in outputs]
    for place, output in enumerate(outputs):
        for fact in output.asked.facts(output.evidence):
            group = group_of(fact.codes, output.where, output.evidence.left_out)
            if not _clear(group):
                continue
            other, before = first.setdefault((group, fact.kind), (fact, place))
            slack = ADDITIVITY * max(1.0, fact.scale, other.scale)
            if before != place and abs(fact.amount - other.amount) > slack:
                for one, two in ((place, before), (before, place)):
                    found[one].setdefault((two, str(fact.kind[0])), []).append(_named(group))
    told = [
        [
            f"it contradicts {outputs[other].name} about the {what} in {some(groups, SHOWN)}"
            for (other, what), groups in own.items()
        ]
        for own in found
    ]
    return [texts + more for texts, more in zip(told, _gaps(outputs), strict=True)]


def _gaps(outputs: Sequence[Output]) -> list[list[str]]:
    """Compare how many values are missing in a column, under the same filter: all outputs count them alike.

    An output that names another column than it is about mostly has other gaps, or none.
    """
    first: dict[tuple[Group, str], tuple[int, int]] = {}
    found: list[dict[int, list[str]]] = [{} for _ in outputs]
    for place, output in enumerate(outputs):
        gone, kept = output.evidence.left_out, group_of({}, output.where, None)
        for column in output.asked.needs if _clear(kept) else ():
            n = 0 if gone is None else gone.columns.get(column, 0)
            other, before = first.setdefault((kept, column), (n, place))
            if n != other:
                for one, two in ((place, before), (before, place)):
                    found[one].setdefault(two, []).append(column)
    return [
        [
            f"it contradicts {outputs[other].name} about the missing values of {some(columns, SHOWN)}"
            for other, columns in own.items()
        ]
        for own in found
    ]


def _clear(group: Group) -> bool:
    """Tell whether a group is what it says: no code and the code "missing" cannot be told apart."""
    return not any(MISSING in pair for pair in group)


def group_of(codes: Mapping[str, str], where: Mapping[str, Any], left_out: LeftOut | None) -> Group:
    """Put a group and the filter it is under into one; a filter that keeps one code is that code."""
    pairs: dict[str, str | tuple[str, ...]] = dict(codes)
    if left_out is not None:
        # Those whose values are known are another group; of a model nobody can say which.
        pairs |= dict.fromkeys(map(known_of, left_out.columns or ["all"]), KNOWN)
    for name, values in where.items():
        kept = tuple(sorted(MISSING if value is None else str(value) for value in values))
        pairs.setdefault(name, kept[0] if len(kept) == 1 else kept)
    return frozenset(pairs.items())


def _named(group: Group) -> str:
    told = (
        f"{name}={code if isinstance(code, str) else '/'.join(code)}" for name, code in sorted(group, key=str)
    )
    return ", ".join(told) or "all"
