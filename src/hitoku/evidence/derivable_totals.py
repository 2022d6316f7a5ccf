"""Whether rules on contributions hold in every group whose total can be derived from a release.

A group violates p%, (n,k) or a like rule if its total is below a weighted sum of its r largest
contributions. No derivable group does if every set of at most r inner cells can hold the weighted sum of
its own largest contributions (:mod:`hitoku.rules.group_size`). Most sets do so in the true table or in a
witness of an audit; the others are audited as further hidden cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.evidence.audit import audit
from hitoku.evidence.audit_result import Audit
from hitoku.model import (
    LEVEL,
    LIMIT,
    Floats,
    Integers,
    Labels,
    Need,
    Protection,
    Release,
    Table,
    counted_table,
)
from hitoku.rules import GroupTotals

# Limits: pairs of cells that are compared, sets of three or more cells, and sets that are audited.
MAX_PAIRS = 2 * 10**7
MAX_SETS = 20_000
MAX_AUDITED = 2_000

CellSet = tuple[int, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class TotalsFound:
    """Result for one rule."""

    n_sets: int = 0  # Number of sets whose own totals do not show that they keep the rule.
    audited: Audit | None = None  # Audit of the sets that no witness serves, as hidden cells.
    too_many: bool = False  # Whether the limit on sets was reached: then they are not decided.


def examine_totals(
    table: Table,
    asked: GroupTotals,
    release: Release,
    own: Audit | None,
    deviations: Sequence[Mapping[int, int]] = (),
) -> TotalsFound:
    """Examine the sets of cells that a rule on contributions is about.

    Parameters
    ----------
    table, release
        The true table, and its release.
    asked
        The rule, and the contributions to every cell.
    own
        Audit of the release, if there is one: its witnesses are tried first.
    deviations
        Deviations of the values that an audit tries first, if there is none yet.
    """
    inner = np.flatnonzero(table.inner)
    atoms = _Atoms(asked, inner)
    if len(atoms.lacking) * len(inner) > MAX_PAIRS:
        return TotalsFound(n_sets=len(atoms.lacking), too_many=True)
    withheld = release.withheld
    if len(atoms.lacking) == 0:
        return TotalsFound()
    measured = _measured(table, asked)
    if measured is not table or not isinstance(own, Audit):
        need = _need(table.n_cells, inner[atoms.lacking], atoms.own_lack[atoms.lacking])
        pattern = Release.of(measured, Protection.withhold(measured, withheld & table.shown))
        own = audit(measured, need, pattern, deviations=deviations if measured is table else ())
    unserved, n_sets = atoms.unserved(_worlds(own, inner))
    if len(unserved) > MAX_AUDITED:
        return TotalsFound(n_sets=n_sets, too_many=True)
    if not unserved:
        return TotalsFound(n_sets=n_sets)
    whole, need = with_sets(measured, [tuple(int(inner[a]) for a in one) for one in unserved], asked)
    hidden = np.append(withheld & table.shown, np.zeros(len(unserved), dtype=np.bool_))
    found = audit(whole, need, Release.of(whole, Protection.withhold(whole, hidden)))
    return TotalsFound(n_sets=n_sets, audited=found)


def with_sets(table: Table, sets: Sequence[CellSet], asked: GroupTotals) -> tuple[Table, Need]:
    """Return a table with sets of its cells as further hidden cells, and what is required of these.

    Parameters
    ----------
    table
        The contributions, which add up.
    sets
        Inner cells of each set.
    asked
        The rule, and the contributions to every cell.
    """
    n, k = table.n_cells, len(sets)
    sizes = np.array([len(one) for one in sets])
    rows = np.concatenate([np.repeat(np.arange(k), sizes), np.arange(k)])
    columns = np.concatenate([np.concatenate([np.array(one) for one in sets]), n + np.arange(k)])
    data = np.concatenate([np.ones(int(sizes.sum())), np.full(k, -1.0)])
    sums = sparse.csr_array((data, (rows, columns)), shape=(k, n + k))
    old = table.relations
    wider = sparse.csr_array((old.data, old.indices, old.indptr), shape=(old.shape[0], n + k))
    value = np.array([table.value[list(one)].sum() for one in sets])
    least = np.array([asked.form.least_total(asked.largest[list(one)].tolist()) for one in sets])
    total = np.array([asked.total[list(one)].sum() for one in sets])
    # Strictly more than a limit is required by a margin that solvers distinguish from the limit itself.
    lack = least - value + (LEVEL if asked.form.strict else -LIMIT) * total
    lack = np.where(lack > 0, np.maximum(lack, LEVEL * total), 0.0)
    no = np.zeros(k)
    whole = replace(
        table,
        value=np.append(table.value, value),
        relations=sparse.csr_array(sparse.vstack([wider, sums])),
        dimensions=(),
        labels=_labels(table.labels, sets),
        frequency=None,
        units=None,
        holdings=None,
        measures={},
        integer=False,
        lower=np.append(table.lower, no),
        upper=np.append(table.upper, np.full(k, np.inf)),
        cost=None,
        fixed=None if table.fixed is None else np.append(table.fixed, no > 0),
        hidden=np.append(~table.shown, np.ones(k, dtype=np.bool_)),
        linked=(),
    )
    return whole, _need(n + k, n + np.arange(k), lack)


class _Atoms:
    """Inner cells, and the sets of them that a rule is about."""

    def __init__(self, asked: GroupTotals, inner: Integers) -> None:
        self.form, self.total = asked.form, asked.total[inner]
        self.largest = asked.largest[inner][:, : len(asked.form.weights)]
        rounding = LIMIT * np.abs(self.total)
        self.enough = self.total - rounding if asked.form.strict else self.total + rounding
        self.own_lack = self.form.own(self.largest) - self.enough
        self.is_lacking = (self.own_lack > 0) & (self.largest[:, 0] > 0)
        self.lacking = np.flatnonzero(self.is_lacking)

    def unserved(self, worlds: sparse.csr_array) -> tuple[list[CellSet], int]:
        """Return the sets that neither truth nor a witness serves, and the number of all that truth does not.

        The list is longer than ``MAX_AUDITED`` if there are too many.

        Parameters
        ----------
        worlds
            Deviations of the inner cells, witnesses by cells.
        """
        by_cell = sparse.csc_array(worlds)
        if len(self.form.weights) > 2:
            sets = list(islice(self.form.sets(self.largest, self.total), MAX_SETS))
            # At the limit, others may follow.
            left = sets if len(sets) == MAX_SETS else [one for one in sets if not self._served(one, by_cell)]
            return left, len(sets)
        singles = [(cell,) for cell in self.lacking.tolist()]
        left, n_sets = [one for one in singles if not self._served(one, by_cell)], len(singles)
        for cell in self.lacking.tolist() if len(self.form.weights) == 2 else ():
            others = self._partners(cell)
            n_sets += len(others)
            for other in self._open(cell, others, worlds, by_cell).tolist():
                pair = (min(cell, other), max(cell, other))
                left += [] if self._served(pair, by_cell) else [pair]
            if len(left) > MAX_AUDITED:
                break
        return left, n_sets

    def _least(self, cell: int, others: Integers) -> Floats:
        """Return the least total of a cell with each of others; zero where one of them alone decides."""
        first, second = (float(w) for w in self.form.weights)
        own, theirs = self.largest[cell], self.largest[others]
        least = first * np.maximum(own[0], theirs[:, 0]) + second * np.minimum(own[0], theirs[:, 0])
        both = (theirs[:, 0] > own[1]) & (own[0] > theirs[:, 1])
        return np.asarray(np.where(both, least, 0.0))

    def _partners(self, cell: int) -> Integers:
        """Return the cells with which a lacking one makes a set that truth does not serve."""
        every = np.flatnonzero(self.largest[:, 0] > 0)
        lacks = self._least(cell, every) > self.enough[cell] + self.enough[every]
        # A pair of lacking cells is listed once.
        listed = lacks & (every != cell) & ((every > cell) | ~self.is_lacking[every])
        return np.asarray(every[listed])

    def _open(
        self, cell: int, others: Integers, worlds: sparse.csr_array, by_cell: sparse.csc_array
    ) -> Integers:
        """Return the cells that no witness which raises a cell serves together with it."""
        least = self._least(cell, others)
        row = np.zeros(len(self.total))
        for world, moved in zip(*_entries(by_cell, cell), strict=True):
            if len(others) == 0:
                break
            if moved <= 0:
                continue
            places, amounts = _entries(worlds, int(world))
            row[places] = amounts
            left = self.enough[cell] + moved + self.enough[others] + row[others] < least
            row[places] = 0.0
            others, least = others[left], least[left]
        return others

    def _served(self, cells: CellSet, by_cell: sparse.csc_array) -> bool:
        """Return whether a set holds its least total in some witness."""
        listed = list(cells)
        moved = np.zeros(by_cell.shape[0])
        for cell in listed:
            places, amounts = _entries(by_cell, cell)
            moved[places] += amounts
        least = self.form.least_total(self.largest[listed].tolist())
        return bool(self.enough[listed].sum() + moved.max(initial=0.0) >= least)


def _entries(matrix: Any, number: int) -> tuple[Integers, Floats]:
    """Return the positions and numbers of one row or column."""
    part = slice(matrix.indptr[number], matrix.indptr[number + 1])
    return matrix.indices[part], matrix.data[part]


def _worlds(own: Audit, inner: Integers) -> sparse.csr_array:
    """Return the deviations of the inner cells in every witness of an audit."""
    place = np.full(own.table.n_cells, -1)
    place[inner] = np.arange(len(inner))
    cells, numbers, rows = [], [], []
    for number, witness in enumerate(own.proof.witnesses):
        at = place[own.problem.cells[list(witness.differences)]]
        amounts = np.array(list(witness.differences.values()), dtype=np.float64) / witness.denominator
        cells.append(at[at >= 0])
        numbers.append(amounts[at >= 0])
        rows.append(np.full(len(cells[-1]), number))
    shape = (len(rows), len(inner))
    if not rows:
        return sparse.csr_array((1, len(inner)))
    data = np.concatenate(numbers), (np.concatenate(rows), np.concatenate(cells))
    return sparse.csr_array(sparse.coo_array(data, shape=shape))


def _measured(table: Table, asked: GroupTotals) -> Table:
    """Return the table of the contributions, which is the table itself if it publishes them."""
    if np.array_equal(asked.total, table.value) and not np.any(table.lower < 0):
        return table
    return replace(counted_table(table, asked.total), integer=False, frequency=None, measures={})


def _need(n_cells: int, cells: Integers, lack: Floats) -> Need:
    """Return the requirement that cells can hold more."""
    unsafe, upper = np.zeros(n_cells, dtype=np.bool_), np.zeros(n_cells)
    unsafe[cells], upper[cells] = True, lack
    return Need(unsafe=unsafe, upper=upper, rules={"groups": unsafe})


def _labels(labels: Labels, sets: Sequence[CellSet]) -> Labels:
    """Add sets to labels: for each variable the codes of their cells."""
    codes, positions = [], []
    for variable, known in enumerate(labels.codes):
        column = labels.column(variable)
        written = [" + ".join(dict.fromkeys(known[column[cell]] for cell in one)) for one in sets]
        listed = tuple(dict.fromkeys([*known, *written]))
        place = {code: number for number, code in enumerate(listed)}
        codes.append(listed)
        positions.append(np.append(column, [place[code] for code in written]))
    return Labels(labels.names, tuple(codes), np.stack(positions, axis=1))
