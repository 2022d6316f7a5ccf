"""The contributions that a table shows by itself, for insiders who know their own amounts."""

from __future__ import annotations

from typing import Any

import numpy as np

from hitoku.attacks.contribution import Contribution
from hitoku.attacks.insider import Insider
from hitoku.errors import NeedError
from hitoku.model.arrays import Integers, Mask
from hitoku.model.table import Table


def insiders_of(table: Table, given: Any) -> Insider | None:
    """Read what a caller says about insiders: nothing, those the table shows, an attack, contributions.

    Parameters
    ----------
    table
        The table, which knows the largest contributions of its cells.
    given
        False or None: nobody. True: the contributors that the table shows, see :func:`contributions_in`. Or
        an :class:`Insider`, or what it takes as contributions.
    """
    if given is None or given is False:
        return None
    if given is True:
        return Insider(contributions_in(table))
    return given if isinstance(given, Insider) else Insider(given)


def contributions_in(table: Table) -> tuple[Contribution, ...]:
    """Return the contributions that a table shows by itself: sole contributors, and the largest of each cell.

    A table knows amounts, not names. Whoever is alone in a total is alone in its parts: that is one
    contributor. Otherwise each cell's largest contributor counts as somebody else; a firm behind several
    cells that are not each other's parts takes records to find.

    Examples
    --------
    >>> from hitoku.testing import one_cell
    >>> contributions_in(one_cell(80, 15, 5)), contributions_in(one_cell(7))
    ((Contribution(cell 0),), (Contribution(cell 0, sole),))
    """
    contributors = table.contributors
    if contributors is None:
        raise NeedError(
            "the table does not say who contributes to its cells",
            where="insiders",
            fix="start from records with tabulate(..., value=..., unit=...), or say insiders=False",
        )
    sole = contributors.count == 1
    owner = _owners(table, sole)
    found = [
        Contribution(("sole", int(owner[cell])), int(cell), float(table.value[cell]), sole=True)
        for cell in np.flatnonzero(sole)
    ]
    # Contributions below zero bound nothing, and those of another variable say nothing about this one.
    comparable = not contributors.negative and np.array_equal(contributors.total, table.value)
    if comparable and contributors.largest.shape[1]:
        largest = np.minimum(contributors.largest[:, 0], table.value)
        found += [
            Contribution(("largest", int(cell)), int(cell), float(largest[cell]))
            for cell in np.flatnonzero(~sole & (largest > 0))
        ]
    return tuple(found)


def _owners(table: Table, sole: Mask) -> Integers:
    """Return a number for each sole contributor: a total and its parts that are not empty have the same."""
    owner = np.arange(table.n_cells)
    relations = table.relations
    totals = relations.data < 0
    row = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
    alone = np.zeros(relations.shape[0], dtype=np.bool_)
    alone[row[totals & sole[relations.indices]]] = True
    keep = alone[row] & sole[relations.indices]
    changed = True
    while changed:
        first = np.full(relations.shape[0], table.n_cells)
        np.minimum.at(first, row[keep], owner[relations.indices[keep]])
        lower = owner.copy()
        np.minimum.at(lower, relations.indices[keep], first[row[keep]])
        changed = not np.array_equal(lower, owner)
        owner = lower
    return owner
