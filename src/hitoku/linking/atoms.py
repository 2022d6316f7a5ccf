"""Atoms of a publication: classes of records that lie in the same published cells.

An attacker can add and subtract published sets of records. Every set that can be derived in this way is a
union of atoms, even if no table, filter or grouping defines it. The cells of all tables are therefore
expressed as sums of atoms, which become hidden cells of the linked table. If every atom with fewer units than
a rule requires can have the required number in a table that agrees with everything published, then so can
every derivable set of records (proof in docs/explanation/atoms.md). No search for sums of cells is needed.

Combinations of codes without records are atoms, too, because an attacker does not know that they are empty,
unless the codes belong to one classification: see :func:`possible_pairs`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hitoku.linking.classifications import finest, possible_pairs
from hitoku.messages import Text
from hitoku.model import TABLE, Contributors, Integers, Labels, Table, leaf_cells
from hitoku.tabulation import Coded, RecordAtoms, TableSpec

# Limits of memory and time: combinations of codes, atoms, and cells of the cross table of the finest columns.
MAX_COMBINATIONS, MAX_ATOMS, MAX_TABULATED = 1_000_000, 50_000, 100_000
ATOMS = "combinations"
MISSING = "missing"

TOO_MANY = Text("there are too many combinations of their codes")


@dataclass(frozen=True, eq=False)
class PublicationAtoms:
    """Atoms of a publication."""

    # Combination of codes and number of records of each atom; 0 for combinations that cannot be excluded.
    codes: RecordAtoms
    leaves: tuple[Integers, ...]  # For each table, the leaf cell of every atom; -1 if the atom is in none.
    # Whether an atom consists of all records of its class. Otherwise, each combination of codes is an atom;
    # several of them may be in the same cells, because dividing atoms does not change results.
    merged: bool

    def __len__(self) -> int:
        return len(self.codes.records)

    def and_in(self, tables: Sequence[Table], specs: Sequence[TableSpec]) -> PublicationAtoms:
        """Add leaf cells in further tables, whose cells must be sums of these atoms."""
        if not tables:
            return self
        further = _leaves(self.codes, tables, specs).T.astype(np.int64)
        return replace(self, leaves=(*self.leaves, *further))


def atoms_of(
    records: RecordAtoms,
    tables: Sequence[Table],
    specs: Sequence[TableSpec],
    *,
    merged: bool,
    finer: RecordAtoms | None = None,
) -> PublicationAtoms | None:
    """Find the atoms of some tables of the same records.

    Parameters
    ----------
    records
        Combinations of codes in all columns of the tables and their filters.
    tables, specs
        Published tables and their specifications.
    merged
        Whether to merge combinations of codes that no table distinguishes.
    finer
        Combinations with further columns that determine several of these, and so limit possible combinations.

    Returns
    -------
    PublicationAtoms | None
        Atoms that lie in at least one table; None if there are more than ``MAX_ATOMS``.
    """
    combined = _combinations(records if finer is None else finer, tables, specs)
    if combined is None:
        return None
    combined = RecordAtoms({name: combined.columns[name] for name in records.columns}, combined.records)
    leaves = _leaves(combined, tables, specs)
    if merged:
        # The first of each class represents it: one with records if there is any.
        order = np.argsort(combined.records == 0, kind="stable")
        signatures, first, number = np.unique(leaves[order], axis=0, return_index=True, return_inverse=True)
        counts = np.zeros(len(signatures), dtype=np.int64)
        np.add.at(counts, number.ravel(), combined.records[order])
        chosen, leaves = order[first], signatures
        codes = _taken(combined, chosen, counts)
    else:
        own = _leaves(records, tables, specs)
        empty = np.flatnonzero(combined.records == 0)
        both = np.concatenate([own, leaves[empty]])
        _, first = np.unique(both, axis=0, return_index=True)
        chosen = empty[np.sort(first[first >= len(own)]) - len(own)]
        codes = _concatenate(records, _taken(combined, chosen, np.zeros(len(chosen), dtype=np.int64)))
        leaves = np.concatenate([own, leaves[chosen]])
    inside = np.flatnonzero(np.any(leaves >= 0, axis=1))
    if len(inside) > MAX_ATOMS:
        return None
    codes = _taken(codes, inside, codes.records[inside])
    return PublicationAtoms(codes, tuple(leaves[inside].T.astype(np.int64)), merged)


def _leaves(atoms: RecordAtoms, tables: Sequence[Table], specs: Sequence[TableSpec]) -> Integers:
    """Return the leaf cell of every combination in each table, as combinations by tables."""
    columns = []
    for table, spec in zip(tables, specs, strict=True):
        placement = atoms.place(table, spec.where, spec.outside)
        inside = placement.inside
        leaf = np.full(len(inside), -1, dtype=np.int64)
        shape = tuple(len(d.leaves) for d in table.dimensions)
        leaf[inside] = np.ravel_multi_index(tuple(placement.leaves[inside].T), shape)
        columns.append(leaf)
    return np.stack(columns, axis=1)


def _taken(atoms: RecordAtoms, chosen: Integers, counts: Integers) -> RecordAtoms:
    """Return some combinations with other numbers of records."""
    return RecordAtoms(
        {name: replace(column, number=column.number[chosen]) for name, column in atoms.columns.items()},
        counts,
    )


def _concatenate(one: RecordAtoms, other: RecordAtoms) -> RecordAtoms:
    """Return the combinations of two lists; all codes of the second one are in the first."""
    columns = {}
    for name, column in one.columns.items():
        place = {raw: number for number, raw in enumerate(column.raw)}
        there = other.columns[name]
        number = np.array([place[raw] for raw in there.raw], dtype=np.int64)[there.number]
        columns[name] = replace(column, number=np.concatenate([column.number, number]))
    return RecordAtoms(columns, np.concatenate([one.records, other.records]))


def _combinations(
    records: RecordAtoms, tables: Sequence[Table], specs: Sequence[TableSpec]
) -> RecordAtoms | None:
    """List the combinations of codes that an attacker cannot exclude, with indistinct codes merged.

    Return None if there are more than ``MAX_COMBINATIONS``.
    """
    names = finest(list(records.columns), records)
    distinguished = _distinctions(records, tables, specs)
    classes: dict[str, Integers] = {}
    example: dict[str, Integers] = {}
    for name in names:
        below = [other for other in records.columns if records.determines(name, other)]
        features = np.stack(
            [
                np.zeros(len(records.records), dtype=np.int64),
                *(f for other in below for f in distinguished[other]),
            ]
        )
        _, first, number = np.unique(features, axis=1, return_index=True, return_inverse=True)
        classes[name], example[name] = number.ravel(), first
    chosen: dict[str, Integers] = {}
    for name in names:
        size = len(next(iter(chosen.values()))) if chosen else 1
        n_codes = len(example[name])
        if size * n_codes > MAX_COMBINATIONS:
            return None
        new = np.tile(np.arange(n_codes), size)
        chosen = {other: np.repeat(codes, n_codes) for other, codes in chosen.items()}
        allowed = np.ones(len(new), dtype=bool)
        for other, codes in chosen.items():
            pairs = possible_pairs(records, (other, name), (classes[other], classes[name]))
            allowed &= pairs[codes, new]
        chosen = {other: codes[allowed] for other, codes in (chosen | {name: new}).items()}
    shape = tuple(len(example[name]) for name in names)
    keys = np.ravel_multi_index(tuple(chosen.values()), shape)
    own = np.ravel_multi_index(tuple(classes[name] for name in names), shape)
    # Keys are sorted.
    counts = np.zeros(len(keys), dtype=np.int64)
    np.add.at(counts, np.searchsorted(keys, own), records.records)
    owner = {
        other: name
        for name in reversed(names)
        for other in records.columns
        if records.determines(name, other)
    }
    columns: dict[str, Coded] = {}
    for name, column in records.columns.items():
        by = owner[name]
        columns[name] = replace(column, number=column.number[example[by][chosen[by]]])
    return RecordAtoms(columns, counts)


def _distinctions(
    records: RecordAtoms, tables: Sequence[Table], specs: Sequence[TableSpec]
) -> dict[str, list[Integers]]:
    """Return for each column the classes that tables and filters distinguish, as numbers per combination."""
    found: dict[str, list[Integers]] = {name: [] for name in records.columns}
    for table, spec in zip(tables, specs, strict=True):
        for dimension in table.dimensions:
            found[dimension.name].append(records.columns[dimension.name].leaves(dimension))
        for name, codes in (spec.where or {}).items():
            found[name].append(records.columns[name].kept(codes).astype(np.int64))
    return found


def among_atoms(
    table: Table,
    cells: Sequence[Integers],
    tables: Sequence[Table],
    atoms: PublicationAtoms,
    tabulate: Callable[[], Table],
) -> Table:
    """Add atoms to a linked table, as hidden cells after its own cells.

    An atom that is alone in a published cell is identified with that cell.

    Parameters
    ----------
    table
        Linked table.
    cells
        For each table, the indices of its cells in ``table``.
    tables
        Tables that are linked.
    atoms
        Atoms of these tables.
    tabulate
        Function that makes the cross table of the finest columns; not called for counts of records.

    Returns
    -------
    Table
        Table with the relations between cells and atoms.
    """
    whole = [numbers[leaf_cells(one.dimensions)] for numbers, one in zip(cells, tables, strict=True)]
    place = np.full(len(atoms), -1, dtype=np.int64)
    for numbers, leaf in zip(whole, atoms.leaves, strict=True):
        inside = np.flatnonzero(leaf >= 0)
        alone = inside[np.bincount(leaf[inside], minlength=len(numbers))[leaf[inside]] == 1]
        place[alone] = np.where(place[alone] < 0, numbers[leaf[alone]], place[alone])
    new = np.flatnonzero(place < 0)
    place[new] = table.n_cells + np.arange(len(new))
    n_cells = table.n_cells + len(new)
    blocks = [
        sparse.csr_array(
            (table.relations.data, table.relations.indices, table.relations.indptr),
            shape=(table.relations.shape[0], n_cells),
        )
    ]
    for numbers, leaf in zip(whole, atoms.leaves, strict=True):
        inside = np.flatnonzero(leaf >= 0)
        rows = np.concatenate([leaf[inside], np.arange(len(numbers))])
        columns = np.concatenate([place[inside], numbers])
        data = np.concatenate([np.ones(len(inside)), np.full(len(numbers), -1.0)])
        sums = sparse.coo_array((data, (rows, columns)), shape=(len(numbers), n_cells)).tocsr()
        sums.sum_duplicates()
        sums.eliminate_zeros()
        blocks.append(sums[np.diff(sums.indptr) > 0])
    if not len(new):
        return replace(table, relations=sparse.csr_array(sparse.vstack(blocks)))
    return _add_atoms(table, sparse.csr_array(sparse.vstack(blocks)), atoms, new, tabulate)


def _add_atoms(
    table: Table, relations: Any, atoms: PublicationAtoms, new: Integers, tabulate: Callable[[], Table]
) -> Table:
    """Add atoms to the cells of a table."""
    numbers = _numbers(table, atoms, new, tabulate)
    least = 0.0 if np.all(table.lower >= 0) else -np.inf
    n_new = len(new)
    return replace(
        table,
        relations=relations,
        dimensions=(),
        labels=_labels(table.labels, atoms, new),
        lower=np.append(table.lower, np.full(n_new, least)),
        upper=np.append(table.upper, np.full(n_new, np.inf)),
        cost=None if table.cost is None else np.append(table.cost, np.zeros(n_new)),
        fixed=None if table.fixed is None else np.append(table.fixed, np.zeros(n_new, dtype=bool)),
        hidden=np.append(~table.shown, np.ones(n_new, dtype=bool)),
        **numbers,
    )


def _numbers(
    table: Table, atoms: PublicationAtoms, new: Integers, tabulate: Callable[[], Table]
) -> dict[str, Any]:
    """Return the values and contributors of a table with its atoms."""
    if atoms.merged and table.frequency is not None:
        counts = atoms.codes.records[new]
        return {
            "value": np.append(table.value, counts.astype(np.float64)),
            "frequency": np.append(table.frequency, counts),
            "measures": {name: np.append(own, counts) for name, own in table.measures.items()},
        }
    cross = tabulate()
    shape = tuple(len(d.leaves) for d in cross.dimensions)
    leaf = np.ravel_multi_index(tuple(atoms.codes.place(cross).leaves[new].T), shape)
    cell = leaf_cells(cross.dimensions)[leaf]
    there = atoms.codes.records[new] > 0

    def spread(own: NDArray[Any]) -> NDArray[Any]:
        return np.where(there if own.ndim == 1 else there[:, None], own[cell], 0)

    def with_new(own: Contributors | None, others: Contributors | None) -> Contributors | None:
        if own is None or others is None:
            return None
        top = min(own.largest.shape[1], others.largest.shape[1])
        return replace(
            own,
            count=np.append(own.count, spread(others.count)),
            largest=np.concatenate([own.largest[:, :top], spread(others.largest)[:, :top]]),
            total=np.append(own.total, spread(others.total)),
            negative=own.negative or others.negative,
        )

    return {
        "measures": {
            name: np.append(own, spread(cross.measures[name]))
            for name, own in table.measures.items()
            if name in cross.measures
        },
        "value": np.append(table.value, spread(cross.value)),
        "frequency": None
        if table.frequency is None or cross.frequency is None
        else np.append(table.frequency, spread(cross.frequency)),
        "units": with_new(table.units, cross.units),
        "holdings": with_new(table.holdings, cross.holdings),
    }


def _labels(labels: Labels, atoms: PublicationAtoms, new: Integers) -> Labels:
    """Add the codes of atoms to labels; a cell has the total of every column that its table lacks."""
    names, codes, positions = [], [], []
    every = [*labels.names, *(name for name in atoms.codes.columns if name not in labels.names)]
    for name in every:
        own = labels.codes[labels.names.index(name)] if name in labels.names else ("Total",)
        column = atoms.codes.columns.get(name)
        if column is None:
            written = [ATOMS if name == TABLE else own[-1]] * len(new)
        else:
            written = [MISSING if (code := column.codes[n]) is None else code for n in column.number[new]]
        # The total remains the last code.
        listed = (*dict.fromkeys([*own[:-1], *(code for code in written if code != own[-1])]), own[-1])
        known = {code: number for number, code in enumerate(listed)}
        before = (
            np.array([known[code] for code in own])[labels.column(labels.names.index(name))]
            if name in labels.names
            else np.zeros(len(labels), dtype=np.int64) + len(listed) - 1
        )
        names.append(name)
        codes.append(listed)
        positions.append(np.append(before, [known[code] for code in written]))
    stacked = np.stack(positions, axis=1).astype(np.int32)
    if TABLE not in names and len(np.unique(stacked, axis=0)) < len(stacked):
        names.append(TABLE)
        codes.append((ATOMS, ""))
        kind = np.append(np.ones(len(labels)), np.zeros(len(new))).astype(np.int32)
        stacked = np.column_stack([stacked, kind])
    return Labels(tuple(names), tuple(codes), stacked)
