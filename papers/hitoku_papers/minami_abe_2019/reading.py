"""How the paper's experiment is read where its text leaves a choice, and the tables drawn accordingly.

Section 4.1 draws cells from a Gaussian distribution and does not say what becomes of negative numbers,
whether an empty cell is below the threshold, which of several cheapest patterns is taken, nor (Definition 3
against equation (31)) whether a width of exactly the threshold is enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from hitoku.errors import NeedError, ParameterError
from hitoku.methods.optimal import Optimal
from hitoku.model import Integers, Need, Table
from hitoku.rules import MinFrequency, assess
from hitoku_papers.minami_abe_2019.published import DEVIATION, MEAN, THRESHOLD, WIDTH

Negatives = Literal["abs", "zero", "redraw"]
Ties = Literal["codes", "other-codes", "values", "any"]
# The words, and what they mean on the page.
NEGATIVES: dict[Negatives, str] = {
    "abs": "negative draws lose their sign",
    "zero": "negative draws become zero",
    "redraw": "negative draws are drawn again",
}
TIES: dict[Ties, str] = {
    "codes": "ties are broken by hitoku's fixed rule",
    "other-codes": "ties are broken by the same rule on other codes",
    "values": "ties are broken by a hash of the values",
    "any": "any cheapest pattern, the attacker is not told which",
}
ZEROS = {True: "empty cells are below the threshold too", False: "empty cells are safe"}
WIDER = {True: "the width must exceed 8", False: "a width of 8 is enough"}
# More draws than this without a table that has an unsafe cell and can be protected mean a wrong parameter.
DRAWS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One way to read the experiment.

    Parameters
    ----------
    negatives
        A negative draw loses its sign ("abs"), becomes zero ("zero"), or is drawn again ("redraw").
    zeros
        An empty cell is below the threshold too.
    wider
        The width must exceed 8, as Definition 3 has it; else 8 is enough, as in (31).
    ties
        Which cheapest pattern is published: the one that hitoku takes ("codes"); the same with other codes,
        so another fixed order ("other-codes"); one that changes with the values, as from a solver left to
        itself ("values"); or any of them, and the attacker is not told which ("any").
    """

    negatives: Negatives = "abs"
    zeros: bool = True
    wider: bool = True
    ties: Ties = "codes"

    def __post_init__(self) -> None:
        known: dict[str, tuple[str, ...]] = {"negatives": tuple(NEGATIVES), "ties": tuple(TIES)}
        for name, words in known.items():
            if getattr(self, name) not in words:
                raise ParameterError(
                    "unknown_word",
                    "unknown word {word!r}",
                    where=name,
                    fix="use one of: {words}",
                    word=getattr(self, name),
                    words=", ".join(words),
                )

    @property
    def text(self) -> str:
        """The choices in words."""
        parts = NEGATIVES[self.negatives], ZEROS[self.zeros], WIDER[self.wider], TIES[self.ties]
        return "; ".join(parts)

    @property
    def rules(self) -> list[MinFrequency]:
        return [MinFrequency(THRESHOLD, zeros=self.zeros)]

    @property
    def width(self) -> int:
        """Least width that is accepted; the reported threshold stays 8."""
        return WIDTH + self.wider

    def need(self, table: Table) -> Need:
        """Tell what a table of this experiment requires."""
        return assess(table, self.rules, width=self.width)

    def table(self, cells: Integers) -> Table:
        """Add the margins to inner cells."""
        codes = [
            [f"{letter}{i}" for i in range(side)] for letter, side in zip("ab", cells.shape, strict=True)
        ]
        return Table.from_array(cells, codes=codes if self.ties == "other-codes" else None)


def drawn(reading: Reading, side: int, number: int, seed: int) -> Table:
    """Draw a square table; the same for the same arguments, regardless of other draws.

    Tables without an unsafe cell, and tables in which not even withholding every inner cell is enough, are
    drawn again: there is nothing to attack.

    Examples
    --------
    >>> drawn(Reading(), side=4, number=0, seed=1).n_cells
    25
    """
    random = np.random.default_rng([seed, side, number])
    for _ in range(DRAWS):
        table = reading.table(_cells(random, reading.negatives, side))
        need = reading.need(table)
        if need.unsafe.any() and _protectable(table, need):
            return table
    raise ParameterError(
        "no_table_protected",
        "no table could be protected",
        where="tables of {side} x {side}",
        fix="take larger tables",
        side=side,
    )


def _cells(random: np.random.Generator, negatives: Negatives, side: int) -> Integers:
    cells = np.rint(random.normal(MEAN, DEVIATION, (side, side)))
    if negatives == "zero":
        cells = np.maximum(cells, 0)
    while negatives == "redraw" and (cells < 0).any():
        cells[cells < 0] = np.rint(random.normal(MEAN, DEVIATION, int((cells < 0).sum())))
    return np.abs(cells).astype(np.int64)


def _protectable(table: Table, need: Need) -> bool:
    try:
        Optimal(cost="unit", keep="margins").protect(table, need)
    except NeedError:
        return False
    return True
