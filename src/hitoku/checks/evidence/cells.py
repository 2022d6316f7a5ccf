"""What a reader knows of the cells of an output: variables, codes, and how many are in each cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hitoku.model import Integers


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CodedCells:
    """Cells or groups with their codes.

    Parameters
    ----------
    codes
        For each variable its codes.
    above
        For variables with a hierarchy the codes above these, each with those in it.
    labels
        For each cell its code in every variable; None where it sums over the variable.
    n_units, n_records
        Per cell.
    """

    codes: Mapping[str, tuple[str, ...]]
    above: Mapping[str, Mapping[str, list[str]]]
    labels: tuple[tuple[str | None, ...], ...]
    n_units: Integers
    n_records: Integers

    def named(self) -> Iterator[dict[str, str]]:
        """Yield the codes of each cell by variable, without those it sums over."""
        for label in self.labels:
            pairs = zip(self.codes, label, strict=True)
            yield {name: code for name, code in pairs if code is not None}

    def __repr__(self) -> str:
        return f"CodedCells({len(self.labels):_} cells by {', '.join(self.codes) or 'nothing'})"
