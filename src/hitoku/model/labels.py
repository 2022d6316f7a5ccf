"""The names of cells: which codes stand for the cell at each position."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from hitoku.errors import TableError
from hitoku.model.arrays import Mask, Positions
from hitoku.model.dimension import Dimension


@dataclass(frozen=True, eq=False, repr=False)
class Labels:
    """Codes of every cell, one column per variable.

    Parameters
    ----------
    names
        The variables.
    codes
        For each variable its codes.
    positions
        Cells by variables, a position in the codes; None means the full cross of all codes, row-major.
    """

    names: tuple[str, ...]
    codes: tuple[tuple[str, ...], ...]
    positions: Positions | None = None

    def __post_init__(self) -> None:
        if len(self.names) != len(self.codes):
            raise TableError("labels need one list of codes per variable")
        if len(set(self.names)) != len(self.names):
            raise TableError(
                f"a variable is named twice: {', '.join(self.names)}", fix="name each variable once"
            )
        if self.positions is not None:
            positions = np.array(self.positions, dtype=np.int32)
            positions.setflags(write=False)
            object.__setattr__(self, "positions", positions)

    @classmethod
    def cross(cls, dimensions: Sequence[Dimension]) -> Labels:
        """Every combination of codes."""
        return cls(tuple(d.name for d in dimensions), tuple(d.codes for d in dimensions))

    @classmethod
    def numbered(cls, n_cells: int, name: str = "cell") -> Labels:
        """Cells known by their number only, as in a JJ file."""
        return cls((name,), (tuple(str(i) for i in range(n_cells)),))

    @property
    def shape(self) -> tuple[int, ...]:
        """Codes per variable."""
        return tuple(len(codes) for codes in self.codes)

    def __len__(self) -> int:
        if self.positions is not None:
            return len(self.positions)
        return int(np.prod(self.shape, dtype=np.int64))

    def column(self, variable: int) -> Positions:
        """Position of each cell's code for one variable."""
        if self.positions is not None:
            return self.positions[:, variable]
        before = int(np.prod(self.shape[:variable], dtype=np.int64))
        after = int(np.prod(self.shape[variable + 1 :], dtype=np.int64))
        own = np.repeat(np.arange(self.shape[variable], dtype=np.int32), after)
        return np.tile(own, before)

    def only(self, cells: Mask) -> Labels:
        """Name some of the cells; the codes stay as they are."""
        columns = [self.column(variable)[cells] for variable in range(len(self.names))]
        return Labels(self.names, self.codes, np.stack(columns, axis=1))

    def codes_of(self, cell: int) -> tuple[str, ...]:
        """Return the codes of one cell."""
        if self.positions is not None:
            places: Iterable[Any] = self.positions[cell]
        else:
            places = np.unravel_index(cell, self.shape)
        return tuple(codes[int(place)] for codes, place in zip(self.codes, places, strict=True))

    def describe(self, cell: int) -> str:
        """Name one cell for a human: ``region=R03, nace=B``."""
        pairs = zip(self.names, self.codes_of(cell), strict=True)
        return ", ".join(f"{name}={code}" for name, code in pairs)

    def frame(self, backend: str = "pandas", further: Mapping[str, list[Any]] | None = None) -> Any:
        """Codes as a data frame of the caller's kind, one row per cell; further columns after them.

        A further column lists one entry per cell, None where there is nothing. One that is called like a
        variable gets an underscore, so that no codes are lost.
        """
        columns = {f"{name}_" if name in self.names else name: data for name, data in (further or {}).items()}
        if backend == "pandas":
            import pandas as pd  # noqa: PLC0415 - polars users need not load it

            codes = {
                name: pd.Categorical.from_codes(self.column(v), categories=pd.Index(codes, dtype=str))
                for v, (name, codes) in enumerate(zip(self.names, self.codes, strict=True))
            }
            # An extension array keeps whole numbers whole beside missing ones.
            return pd.DataFrame(codes | {name: pd.array(data) for name, data in columns.items()})
        texts = {
            name: np.array(codes)[self.column(v)].tolist()
            for v, (name, codes) in enumerate(zip(self.names, self.codes, strict=True))
        }
        chosen: Any = backend
        return nw.from_dict(texts | columns, backend=chosen).to_native()
