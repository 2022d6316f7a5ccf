"""Outputs known by their definitions and counts only: what any attacker can subtract.

Filters, bands, hierarchies and nested variables are used as the definitions state them. Relations between two
variables in the data are not known here; they require the records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from hitoku.attacks.differencing.atoms import MAX_ATOMS, Atoms, Disclosed, number_of_atoms
from hitoku.attacks.differencing.disclosure_basis import (
    covered_by,
    merge_axes,
    points_of,
    possible_combinations,
)
from hitoku.attacks.differencing.output_definition import Definition, Nested, cut_alike
from hitoku.attacks.differencing.partition import COUNTS
from hitoku.errors import DataError


@dataclass(frozen=True, eq=False, repr=False)
class Defined:
    """An output whose cells are described."""

    name: str
    """Name of the output."""
    definition: Definition
    """Definition of its cells."""
    sizes: tuple[tuple[int, ...], ...]
    """For each of its partitions the number of units in each cell, in the order of the definition."""
    publishes: frozenset[str] = COUNTS
    """Quantities published for each cell; see :class:`Partition`."""

    def __post_init__(self) -> None:
        if list(map(len, self.sizes)) != list(map(len, self.definition.parts)):
            raise DataError(
                "counts_not_per_cell",
                "not one count for each cell",
                where="output {output}",
                fix="count the units of every cell",
                output=self.name,
            )

    def __repr__(self) -> str:
        return f"Defined({self.name!r}, {self.definition})"


def defined_differences(
    outputs: Sequence[Defined],
    *,
    threshold: float = 10,
    nested: Sequence[Nested] = (),
    most: int = MAX_ATOMS,
) -> list[Disclosed]:
    """Find groups that several outputs single out together, considering all of them at once.

    Parameters
    ----------
    outputs
        Outputs about the same units.
    threshold
        Minimum size of a group; smaller ones must not be singled out.
    nested
        Variables nested in others, in addition to those that definitions name.
    most
        Limit on combinations of codes, above which an error is raised.

    Examples
    --------
    All people by age, and those who work: 3 people of 19 to 25 do not.

    >>> def by_age(counts, **kept):
    ...     codes = ["0-18", "19-25", "26+"]
    ...     return Defined("", Definition.ungrouped({"age": codes}, [[[c] for c in codes]], kept), (counts,))
    >>> for one in defined_differences([by_age((18, 19, 20)), by_age((18, 16, 20), works=["yes"])]):
    ...     print(one)
    age=19-25, works=any other: 19 - 16 = 3, from output 1 and output 2
    """
    known = cut_alike([each.definition for each in outputs])
    within = [*nested, *(each for definition in known for each in definition.nested)]
    axes = merge_axes(known, within)
    shape = [axis.n for axis in axes]
    number_of_atoms(shape, most)
    there = np.flatnonzero(possible_combinations(axes, within).ravel())
    column = np.full(int(np.prod(shape)), -1)
    column[there] = np.arange(len(there))
    rows, values, cells, labels = [], [], [], []
    for place, (output, definition) in enumerate(zip(outputs, known, strict=True)):
        listed = [(part, cell) for part, own in enumerate(definition.parts) for cell in range(len(own))]
        for number, (part, cell) in enumerate(listed):
            inside = covered_by(definition, part, cell + 1, axes)
            atoms = np.ravel_multi_index(np.ix_(*inside), shape).ravel() if axes else np.zeros(1, dtype=int)
            rows.append(column[atoms][column[atoms] >= 0])
            values.append(output.sizes[part][cell])
            cells.append((place, number))
            groups = zip(definition.variables, definition.parts[part][cell], strict=True)
            labels.append(", ".join(f"{name}={group}" for name, group in groups if group is not None))
    ends = np.cumsum([0, *map(len, rows)])
    indices = np.concatenate([*rows, np.zeros(0, dtype=np.int64)]).astype(np.int64)
    sums = sparse.csr_array((np.ones(len(indices)), indices, ends), shape=(len(rows), len(there)))
    sums.sort_indices()
    return Atoms(
        names=[axis.name for axis in axes],
        points=[points_of(axis) for axis in axes],
        possible=there,
        sums=sums,
        value=np.array(values, dtype=np.float64),
        cells=cells,
        labels=labels,
    ).disclosed(threshold)
