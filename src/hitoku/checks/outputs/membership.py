"""In which published cell each unit is: what the ledger compares outputs by."""

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

# The cell of every unit, the codes of the cells, and the period they are within, such as "year=2020".
Part = tuple[NDArray[np.int32], tuple[tuple[str | None, ...], ...], str]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Membership:
    """In which published cell each unit is; it stays beside the data and is no part of a submission.

    Parameters
    ----------
    codes
        For each way in which the output divides the units: per unit the number of its cell from 1, 0 for
        none or a withheld one.
    cells
        For each of them the codes of the cells, in order; None where a cell sums over a variable.
    within
        For each of them the period it is within, such as "year=2020", empty for none; left out, none is.
    n_described
        In how many of them, from the first, codes say who is in a cell; None for all.
    """

    codes: tuple[NDArray[np.int32], ...]
    cells: tuple[tuple[tuple[str | None, ...], ...], ...]
    within: tuple[str, ...] = ()
    n_described: int | None = None

    def __repr__(self) -> str:
        return f"Membership({len(self.codes)} partitions)"


def table_membership(records: Records, evidence: TableEvidence, missing: str) -> Membership | None:
    """Divide the units by the cells of a table: inner cells, and every kind of total.

    Of a panel the cells of each period are one way to divide them. None when some unit has records in several
    cells even so, such as those that add periods up: then cells do not divide the units.
    """
    dimensions = evidence.dimensions
    groups = records.groups(evidence.by, missing)
    # The leaves of every group of records; records follow by their group.
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
        parts += _divided(records, np.where(inside, number[cell], 0), names, groups)
    return _joined(parts)


def group_membership(records: Records, evidence: GroupEvidence, missing: str) -> Membership | None:
    """Divide the units by the groups of a statistic."""
    groups = records.groups(evidence.by, missing)
    published = ~evidence.withheld
    number = np.where(published, np.cumsum(published), 0).astype(np.int32)
    names = [label for label, kept in zip(groups.labels, published, strict=True) if kept]
    return _joined(_divided(records, number, names, groups))


def with_largest(
    records: Records, member: Membership | None, groups: Groups, amounts: Floats, who: Integers, n: float
) -> Membership | None:
    """Divide the units of every cell also into its largest contributors and the others.

    Parameters
    ----------
    records
        The records.
    member
        In which group each unit is; None when nobody can say.
    groups, amounts, who
        Per record its group, its amount and its contributor.
    n
        How many are the largest.
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
    """Divide the units by the dummies of a model, for it is a table of them; None when nobody can tell.

    Parameters
    ----------
    records
        The records that the model was offered.
    fitted
        The model.
    formula
        It was fitted here, from a formula.
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


def _divided(
    records: Records, cell: NDArray[Any], names: Sequence[tuple[str | None, ...]], groups: Groups
) -> list[Part | None]:
    """Divide the units by their cells; where some are in several, by the cells of each code of a variable.

    Parameters
    ----------
    records
        The records.
    cell
        The cell of every group of records, from 1; 0 for none.
    names
        The codes of the cells.
    groups
        The records by their codes: one variable may be a period, in which every unit is in one cell only.
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
                periods.append(None)  # several records of a unit: what is counted is not units
                break
            present = np.unique(own[own > 0])
            order = np.zeros(len(names) + 1, dtype=np.int32)
            order[present] = np.arange(1, len(present) + 1)
            cells = [names[at - 1] for at in present.tolist()]
            periods.append(_part(records, order[own], cells, f"{name}={codes[code]}"))
            if periods[-1] is None:
                break
        # A cell that adds up several codes would be told in pieces, which is not what is published.
        apart = sum(len(part[1]) for part in periods if part is not None) == len(names)
        if None not in periods and apart:
            return periods
    return [None]


def _part(
    records: Records, number: NDArray[Any], names: Sequence[tuple[str | None, ...]], within: str = ""
) -> Part | None:
    """Turn the cell of every record, from 1, into that of every unit; None when some unit is in several."""
    codes = np.zeros(records.n_units, dtype=np.int32)
    if not records.repeated:
        codes[records.unit] = number
        return codes, tuple(names), within
    inside = number > 0
    codes[records.unit[inside]] = number[inside]
    if np.any(codes[records.unit[inside]] != number[inside]):
        return None
    return codes, tuple(names), within


def _joined(parts: list[Part | None]) -> Membership | None:
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    codes, cells, within = zip(*found, strict=True)
    return Membership(codes=codes, cells=cells, within=within)
