"""Pairs of parts and totals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hitoku.errors import RuleError, did_you_mean
from hitoku.model import Floats, Integers, Mask, Table, only_categories, variable_of_relation


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Pairs of a part and its total, one for each part of each relation.

    ``weight`` is the coefficient of the part in the total: one in every ordinary table. ``own`` marks the
    pairs of relations that belong to the hierarchy of one variable: their cells differ in that one alone.
    Sums that linked tables add, because the same records are in both, mostly differ in several.
    """

    part: Integers
    total: Integers
    weight: Floats
    own: Mask

    def of_totals(self, totals: Mask) -> Parts:
        """Return the pairs with one of these totals."""
        return self.take(totals[self.total])

    def take(self, chosen: Mask) -> Parts:
        """Return some of the pairs."""
        return Parts(self.part[chosen], self.total[chosen], self.weight[chosen], self.own[chosen])

    def groups(self) -> Integers:
        """Return the cells that are totals in the hierarchy of a variable."""
        return self.total[self.own]


def parts_of(table: Table, variables: Sequence[str] | None = None) -> Parts:
    """Pair every part with its total, for all relations or those along some variables.

    A relation is along a variable if its cells differ in that variable's code: the relation of a row and
    its total is along the variable of the columns. A total is the only cell on its side of a relation.
    Relations with a single part are omitted, because the part equals its total; but not if
    the part is the only category of a variable, as with a filter: see :func:`only_categories`.

    Examples
    --------
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> pairs = parts_of(table, ["column"])
    >>> list(zip(pairs.part.tolist(), pairs.total.tolist()))
    [(0, 2), (1, 2), (3, 5), (4, 5), (6, 8), (7, 8)]
    """
    relations = table.relations
    n_rows = relations.shape[0]
    cell, coefficient = relations.indices, relations.data
    row = np.repeat(np.arange(n_rows), np.diff(relations.indptr))
    below = np.bincount(row, weights=coefficient < 0, minlength=n_rows)
    above = np.bincount(row, weights=coefficient > 0, minlength=n_rows)
    sign = np.where(below == 1, -1.0, np.where(above == 1, 1.0, 0.0))
    tree = variable_of_relation(relations, table.labels)
    kept = (sign != 0) & ((below + above > 2) | only_categories(relations, tree))
    if variables is not None:
        kept &= _along(table, variables, row)
    is_total = np.sign(coefficient) == sign[row]
    total_cell = np.zeros(n_rows, dtype=np.int64)
    total_weight = np.ones(n_rows)
    total_cell[row[is_total]] = cell[is_total]
    total_weight[row[is_total]] = np.abs(coefficient[is_total])
    chosen = kept[row] & ~is_total & (coefficient != 0)
    return Parts(
        part=cell[chosen].astype(np.int64),
        total=total_cell[row[chosen]],
        weight=np.abs(coefficient[chosen]) / total_weight[row[chosen]],
        own=tree[row[chosen]] >= 0,
    )


def line_shares(table: Table, variables: Sequence[str] | None = None) -> Floats:
    """Return the largest share of each cell in one of its totals, by units.

    Parameters
    ----------
    table
        The table. Its frequencies are counted, or its values if it has none.
    variables
        Use the relations along these variables only.

    Returns
    -------
    Floats
        One share per cell; NaN for a cell that is part of no total above zero.

    Examples
    --------
    >>> line_shares(Table.from_array([[9, 1], [9, 21]])).tolist()[:6]
    [0.9, 0.1, 0.25, 0.5, 0.9545454545454546, 0.75]
    """
    pairs = parts_of(table, variables)
    counts = table.value if table.frequency is None else table.frequency
    part, total = pairs.weight * counts[pairs.part], counts[pairs.total]
    above = total > 0
    shares = np.full(table.n_cells, np.nan)
    np.fmax.at(shares, pairs.part[above], part[above] / total[above])
    return shares


def _along(table: Table, variables: Sequence[str], row: Integers) -> Mask:
    """Return which relations have cells that differ in one of these variables."""
    relations = table.relations
    found = np.zeros(relations.shape[0], dtype=bool)
    for variable in variables:
        code = table.labels.column(table.labels.names.index(variable))[relations.indices]
        differs = code != code[relations.indptr[row]]
        found |= np.bincount(row, weights=differs, minlength=relations.shape[0]) > 0
    return found


def require_variables(table: Table, variables: Sequence[str], rule: str) -> None:
    """Raise for names that are not variables of the table."""
    for variable in variables:
        if variable not in table.labels.names:
            raise RuleError(
                "variable_not_in_table",
                "the table has no variable {variable!r}",
                where="rule {rule}",
                fix=did_you_mean(variable, table.labels.names),
                variable=variable,
                rule=rule,
            )
