"""A protected table in the order and spelling of τ-ARGUS files."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hitoku.errors import OutputError
from hitoku.io.argus.judged import Judged
from hitoku.io.argus.text import quoted
from hitoku.model.arrays import Floats, Integers, Mask
from hitoku.model.bounds import Bounds
from hitoku.model.dimension import Dimension
from hitoku.model.protection import Protection


@dataclass(frozen=True, eq=False, kw_only=True)
class SafeTable:
    """A table that a method has protected, ready to be written.

    Parameters
    ----------
    judged
        The cells and what is unsafe among them.
    protection
        What the method decided; None before it ran: unsafe cells are withheld, nothing else.
    bounds
        What an attack proves about every cell, for the audit columns of an intermediate file.
    """

    judged: Judged
    protection: Protection | None = None
    bounds: Bounds | None = None

    @property
    def status(self) -> Integers:
        """Statuses after suppression."""
        return self.judged.after(self.protection)

    @property
    def withheld(self) -> Mask:
        """Cells that are not published."""
        if self.protection is not None:
            return self.protection.withheld
        return self.judged.need.unsafe | self.judged.withheld

    @property
    def value(self) -> Floats:
        """Published values; those of withheld cells are the true ones."""
        own = self.judged.table.value if self.judged.shown is None else self.judged.shown
        if self.protection is None or np.array_equal(self.protection.value, self.judged.table.value):
            return own
        return self.protection.value

    @property
    def order(self) -> Integers:
        """Cells in the order of the program: totals before their parts, the first variable slowest."""
        table = self.judged.table
        if not table.dimensions:
            raise OutputError(
                "a table without variables cannot be written as a safe file",
                fix="write a JJ file (type 6), which needs no codes",
            )
        places = [[d.position[code] for code in ordered_codes(d)] for d in table.dimensions]
        grid = np.arange(table.n_cells).reshape(table.shape)
        return np.asarray(grid[np.ix_(*places)].ravel())

    def text(self, number: float) -> str:
        """Print a number with the decimals of the table."""
        return f"{number + 0.0:.{self.judged.decimals}f}"


def ordered_codes(dimension: Dimension) -> tuple[str, ...]:
    """Codes of a variable as τ-ARGUS lists them: the total, then each group before its parts.

    Examples
    --------
    >>> from hitoku.model.hierarchy import Hierarchy
    >>> ordered_codes(Dimension.of("region", Hierarchy.from_tree({"North": ["N1", "N2"], "South": None})))
    ('Total', 'North', 'N1', 'N2', 'South')
    """
    return tuple(dict.fromkeys(code for tree in dimension.hierarchies for code in tree.codes))


def coded(code: str, options: frozenset[str], separator: str = ",") -> str:
    if "QU" in options:
        return quoted(code, "code")
    if separator in code or '"' in code:
        raise OutputError(
            f"code {code!r} cannot be written without quotes", where="option QU-", fix="write QU+"
        )
    return code


def codes_of(table: SafeTable, cell: int, options: frozenset[str], separator: str = ",") -> list[str]:
    return [coded(code, options, separator) for code in table.judged.table.labels.codes_of(cell)]
