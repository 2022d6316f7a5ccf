"""Published cells of the units, by which the ledger compares outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.checks.evidence import FittedModel, GroupEvidence, TableEvidence, design, layers
from hitoku.checks.ledger import implied_tables
from hitoku.checks.unit_records import Groups, Records
from hitoku.model import Floats, Integers

# The cell of each unit, the codes of the cells, and the period of the partition, such as "year=2020".
Part = tuple[NDArray[np.int32], tuple[tuple[str | None, ...], ...], str]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Membership:
    """Partitions of the units by the published cells of an output.

    These are microdata: they are not part of a submission.
    """

    # For each partition, the cell number of each unit from 1; 0 for units in no published cell.
    codes: tuple[NDArray[np.int32], ...]
    # For each partition, the codes of its cells in order; None where a cell sums over a variable.
    cells: tuple[tuple[tuple[str | None, ...], ...], ...]
    # For each partition, the period it is about, such as "year=2020", or an empty string. Default: none.
    within: tuple[str, ...] = ()
    # Number of leading partitions whose cells are defined by their codes. Default: all.
    n_described: int | None = None

    def __repr__(self) -> str:
        return f"Membership({len(self.codes)} partitions)"


def table_membership(records: Records, evidence: TableEvidence, missing: str) -> Membership | None:
    """Partition the units by the inner cells of a table, and by each kind of total.

    In panel data, the cells of each period are a partition of their own. Returns None if a unit has records
    in several cells of a partition, as in totals over periods.
    """
    dimensions = evidence.dimensions
    groups = records.groups(evidence.by, missing)
    # Position of the codes of each group of records; records inherit the cell of their group.
    leaf = [
        np.array([d.position[label[at]] for label in groups.labels], dtype=np.int64)
        for at, d in enumerate(dimensions)
    ]
    shape = [len(d) for d in dimensions]
    published = ~evidence.withheld
    parts: list[Part | None] = []
    for chosen in product(*(list(layers(d)) for d in dimensions)):
        at = [layer[place] for layer, place in zip(chosen, leaf, strict=True)]
        inside = np.logical_and.reduce([each >= 0 for each in at])
        cell = np.ravel_multi_index([np.where(inside, each, 0) for each in at], shape)
        present = np.unique(cell[inside & published[cell]])
        number = np.zeros(len(published), dtype=np.int32)
        number[present] = np.arange(1, len(present) + 1)
        places = np.transpose(np.unravel_index(present, shape)).tolist()
        names = [
            tuple(
                None if place == len(d) - 1 else d.codes[place]
                for d, place in zip(dimensions, own, strict=True)
            )
            for own in places
        ]
        parts += _partition_units(records, np.where(inside, number[cell], 0), names, groups)
    return _join_parts(parts)


def group_membership(records: Records, evidence: GroupEvidence, missing: str) -> Membership | None:
    """Partition the units by the groups of a statistic."""
    groups = records.groups(evidence.by, missing)
    published = ~evidence.withheld
    number = np.where(published, np.cumsum(published), 0).astype(np.int32)
    names = [label for label, kept in zip(groups.labels, published, strict=True) if kept]
    return _join_parts(_partition_units(records, number, names, groups))


def with_largest(
    records: Records, member: Membership | None, groups: Groups, amounts: Floats, who: Integers, n: float
) -> Membership | None:
    """Add a partition of the units into the largest contributors of each group.

    Parameters
    ----------
    records
        Records of the output.
    member
        Partition of the units by group; None if it is not known.
    groups, amounts, who
        Group, amount and contributor of each record.
    n
        Number of largest contributors.
    """
    if member is None or len(member.codes) > 1:
        return None
    width = int(who.max(initial=0)) + 1
    keys, place = np.unique(groups.codes * width + who, return_inverse=True)
    group, amount = keys // width, np.bincount(place, weights=amounts, minlength=len(keys))
    order = np.lexsort((-amount, group))
    rank = np.arange(len(order)) - np.searchsorted(group[order], group[order])
    largest = np.zeros(len(keys), dtype=np.bool_)
    largest[order[rank < n]] = True
    inside = np.zeros(records.n_units, dtype=np.bool_)
    inside[records.unit[largest[place]]] = True
    codes = np.where(inside, member.codes[0], 0).astype(np.int32)
    return Membership(codes=(*member.codes, codes), cells=(*member.cells, member.cells[0]), n_described=1)


def model_membership(records: Records, fitted: FittedModel, *, formula: bool) -> Membership | None:
    """Partition the units by the dummies of a model, from which sums of the outcome follow.

    Returns None if the units behind the rows of the design are not known, or have several records.

    Parameters
    ----------
    records
        Records available to the model.
    fitted
        Fitted model.
    formula
        Whether hitoku fitted the model from a formula.
    """
    who = fitted.who(records, formula=formula)
    if who is None or records.repeated:
        return None
    exog = fitted.exog
    sample = np.zeros(records.n_units, dtype=np.bool_)
    sample[who] = True
    dummies = []
    for factor in design.factors(exog):
        codes = np.zeros(records.n_units, dtype=np.int64)
        codes[who] = design.categories(exog, factor)
        dummies.append(codes)
    tables = implied_tables("regression", dummies, sample)
    cells = tuple(tuple((str(cell),) for cell in range(1, len(table) + 1)) for table in tables)
    return Membership(codes=tuple(table.codes for table in tables), cells=cells)


def _partition_units(
    records: Records, cell: NDArray[Any], names: Sequence[tuple[str | None, ...]], groups: Groups
) -> list[Part | None]:
    """Partition the units by cell, or, if units are in several cells, by the cells of each period.

    The period is the first variable within whose codes each unit is in one cell only.

    Parameters
    ----------
    records
        Records of the output.
    cell
        Cell of each group of records, from 1; 0 for none.
    names
        Codes of the cells.
    groups
        Groups of the records by their codes.
    """
    number = cell[groups.codes]
    whole = _part(records, number, names)
    if whole is not None:
        return [whole]
    for at, name in enumerate(groups.names):
        codes, place = np.unique([label[at] for label in groups.labels], return_inverse=True)
        column = place[groups.codes]
        periods: list[Part | None] = []
        for code in np.unique(column[number > 0]).tolist():
            own = np.where(column == code, number, 0)
            if np.bincount(records.unit[own > 0]).max() > 1:
                periods.append(None)  # a unit has several records, so the cells do not count units
                break
            present = np.unique(own[own > 0])
            order = np.zeros(len(names) + 1, dtype=np.int32)
            order[present] = np.arange(1, len(present) + 1)
            cells = [names[at - 1] for at in present.tolist()]
            periods.append(_part(records, order[own], cells, f"{name}={codes[code]}"))
            if periods[-1] is None:
                break
        # A cell over several periods would be split, which is not what is published.
        apart = sum(len(part[1]) for part in periods if part is not None) == len(names)
        if None not in periods and apart:
            return periods
    return [None]


def _part(
    records: Records, number: NDArray[Any], names: Sequence[tuple[str | None, ...]], within: str = ""
) -> Part | None:
    """Return the cell of each unit from the cells of its records; None if a unit is in several cells."""
    codes = np.zeros(records.n_units, dtype=np.int32)
    if not records.repeated:
        codes[records.unit] = number
        return codes, tuple(names), within
    inside = number > 0
    codes[records.unit[inside]] = number[inside]
    if np.any(codes[records.unit[inside]] != number[inside]):
        return None
    return codes, tuple(names), within


def _join_parts(parts: list[Part | None]) -> Membership | None:
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    codes, cells, within = zip(*found, strict=True)
    return Membership(codes=codes, cells=cells, within=within)
