"""Ways to change withheld cells that keep every sum, held in arrays: a method's gift to the audit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from hitoku.model.arrays import Integers


@dataclass(frozen=True, eq=False, repr=False)
class Moves(Sequence[Mapping[int, int]]):
    """Changes one after the other, each a mapping from cells to whole numbers.

    Parameters
    ----------
    begins
        Where each change begins in the other two, and where the last one ends.
    cells
        The cells it changes.
    amounts
        By how much.
    scale
        How many of these are one unit of the table's values. The table changed by just so much is a witness.

    Examples
    --------
    >>> moves = Moves(np.array([0, 2]), np.array([4, 7]), np.array([1, -1]), scale=1)
    >>> moves, dict(moves[0])
    (Moves(1 changes of 2 cells), {4: 1, 7: -1})
    """

    begins: Integers
    cells: Integers
    amounts: Integers
    scale: int

    @classmethod
    def of(cls, changes: Sequence[tuple[Integers, Integers]], scale: int) -> Moves:
        """Write changes, each given by its cells and amounts, one after the other."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(
            np.cumsum([0, *(len(cells) for cells, _ in changes)]).astype(np.int64),
            np.concatenate([nothing, *(cells for cells, _ in changes)]),
            np.concatenate([nothing, *(amounts for _, amounts in changes)]),
            scale,
        )

    def and_then(self, others: Moves) -> Moves:
        """Return these changes and others of the same scale after them."""
        return Moves(
            np.concatenate([self.begins, self.begins[-1] + others.begins[1:]]),
            np.concatenate([self.cells, others.cells]),
            np.concatenate([self.amounts, others.amounts]),
            self.scale,
        )

    def __len__(self) -> int:
        return len(self.begins) - 1

    @overload
    def __getitem__(self, number: int) -> Mapping[int, int]: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Mapping[int, int]]: ...
    def __getitem__(self, number: int | slice) -> Mapping[int, int] | Sequence[Mapping[int, int]]:
        if isinstance(number, slice):
            return [self[place] for place in range(*number.indices(len(self)))]
        if not -len(self) <= number < len(self):
            raise IndexError(number)
        place = number % len(self)
        part = slice(self.begins[place], self.begins[place + 1])
        return dict(zip(self.cells[part].tolist(), self.amounts[part].tolist(), strict=True))

    def __iter__(self) -> Iterator[Mapping[int, int]]:
        return (self[number] for number in range(len(self)))

    def __repr__(self) -> str:
        return f"Moves({len(self)} changes of {len(np.unique(self.cells)):_} cells)"
