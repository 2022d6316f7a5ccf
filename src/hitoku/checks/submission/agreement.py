"""Whether outputs about the same groups say the same about them.

Outputs of one submission are about one data set. Whoever has forged the units behind a mean has left those of
the table beside it as they were; to get through, every output about the group must be changed alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from hitoku.checks.outputs.output import Output
from hitoku.checks.principles import tables
from hitoku.checks.records import MISSING
from hitoku.errors import some
from hitoku.model.tolerance import ADDITIVITY

# Variables and their codes; under a filter also the codes it keeps.
Group = frozenset[tuple[str, str | tuple[str, ...]]]
# More than this many are counted, not named.
SHOWN = 3


class Fact(NamedTuple):
    """What an output says about a group: of which kind, the number, and how large its terms are."""

    group: Group
    kind: tuple[str | None, ...]
    amount: float
    scale: float = 1.0


def disagreements(outputs: Sequence[Output]) -> list[list[str]]:
    """Compare what outputs say about the same groups; for each output what others contradict.

    Parameters
    ----------
    outputs
        Outputs whose evidence does not contradict itself.
    """
    first: dict[tuple[Group, tuple[str | None, ...]], tuple[Fact, int]] = {}
    found: list[dict[tuple[int, str], list[str]]] = [{} for _ in outputs]
    for place, output in enumerate(outputs):
        for fact in _facts(output):
            other, before = first.setdefault((fact.group, fact.kind), (fact, place))
            slack = ADDITIVITY * max(1.0, fact.scale, other.scale)
            if before != place and abs(fact.amount - other.amount) > slack:
                for one, two in ((place, before), (before, place)):
                    found[one].setdefault((two, str(fact.kind[0])), []).append(_named(fact.group))
    return [
        [
            f"it contradicts {outputs[other].name} about the {what} in {some(groups, SHOWN)}"
            for (other, what), groups in own.items()
        ]
        for own in found
    ]


def _facts(output: Output) -> Iterator[Fact]:
    evidence = output.evidence
    if output.kind == "regression":
        if evidence["sample"] == "all records":
            whole = _group({}, output.where)
            yield Fact(whole, ("records",), evidence["n_records"])
            yield Fact(whole, ("units",), evidence["n_units"])
        return
    tabular = "codes" in evidence
    listed = list(_cells(output) if tabular else _groups(output))
    # Of a concentration ratio, units of one holding are counted once.
    counted = output.kind != "concentration" or output.definition.get("holding") is None
    for place, codes in enumerate(listed):
        group = _group(codes, output.where)
        if _clear(group):
            if counted:
                yield Fact(group, ("units",), evidence["n_units"][place])
            if tabular:
                yield Fact(group, ("records",), evidence["records"][place])
            yield from _contributions(output, place, group)
    if not tabular:
        yield from _added_up(output, listed)


def _contributions(output: Output, place: int, group: Group) -> Iterator[Fact]:
    evidence, definition = output.evidence, output.definition
    if "largest" not in evidence or definition.get("weight") is not None:
        return
    who = (definition["value"], definition.get("holding"))
    size = evidence["size"][place]
    yield Fact(group, ("contributions", *who), size, size)
    for rank, amount in enumerate(evidence["largest"][place], start=1):
        yield Fact(group, ("largest contributions", str(rank), *who), amount, size)
    if output.kind == "magnitude_table":
        yield Fact(group, ("sum", definition["value"]), evidence["value"][place], size)


def _clear(group: Group) -> bool:
    """Tell whether a group is what it says: no code and the code "missing" cannot be told apart."""
    return not any(MISSING in pair for pair in group)


def _added_up(output: Output, listed: Sequence[Mapping[str, str]]) -> Iterator[Fact]:
    """Add records, and sums, up over every choice of variables: groups are all there is."""
    evidence, definition = output.evidence, output.definition
    terms: dict[tuple[str | None, ...], list[float]] = {("records",): evidence["n_records"]}
    sizes: Sequence[float] = evidence["size"] if "size" in evidence else evidence["n_records"]
    if output.kind == "average" and definition.get("weight") is None:
        times = evidence["n_records"] if definition["statistic"] == "mean" else [1] * len(listed)
        terms["sum", definition["value"]] = [x * n for x, n in zip(evidence["value"], times, strict=True)]
    names = list(evidence["by"])
    for chosen in (kept for n in range(len(names) + 1) for kept in combinations(names, n)):
        for kind, amounts in terms.items():
            total: dict[Group, tuple[float, float]] = {}
            for codes, amount, size in zip(listed, amounts, sizes, strict=True):
                group = _group({name: codes[name] for name in chosen}, output.where)
                before, scale = total.get(group, (0.0, 0.0))
                total[group] = before + amount, scale + size
            for group, (amount, scale) in total.items():
                if _clear(group):
                    yield Fact(group, kind, amount, scale if kind[0] == "sum" else 1.0)


def _cells(output: Output) -> Iterator[dict[str, str]]:
    """Codes of the cells of a table, without the variables that a cell sums over."""
    table = tables.table_of(output.evidence)
    totals = {dimension.name: dimension.total for dimension in table.dimensions}
    for cell in range(table.n_cells):
        codes = zip(table.labels.names, table.labels.codes_of(cell), strict=True)
        yield {name: code for name, code in codes if code != totals[name]}


def _groups(output: Output) -> Iterator[dict[str, str]]:
    for label in output.evidence["labels"]:
        yield dict(zip(output.evidence["by"], label, strict=True))


def _group(codes: Mapping[str, str], where: Mapping[str, Any]) -> Group:
    """Put a group and the filter it is under into one; a filter that keeps one code is that code."""
    pairs: dict[str, str | tuple[str, ...]] = dict(codes)
    for name, values in where.items():
        kept = tuple(sorted(MISSING if value is None else str(value) for value in values))
        pairs.setdefault(name, kept[0] if len(kept) == 1 else kept)
    return frozenset(pairs.items())


def _named(group: Group) -> str:
    told = (
        f"{name}={code if isinstance(code, str) else '/'.join(code)}" for name, code in sorted(group, key=str)
    )
    return ", ".join(told) or "all"
