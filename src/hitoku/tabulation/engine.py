"""The four questions that an engine answers about records; the rest of a table is made from the answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from hitoku.tabulation.cube import Cube
from hitoku.tabulation.numbers import NumberFacts, Numbers

if TYPE_CHECKING:  # they bring numba
    from hitoku.tabulation.contributors import Ranking, State
    from hitoku.tabulation.sums import LeafSums


class Engine(Protocol):
    """Records somewhere.

    Columns are known by short names: ``c0``, ``c1``, ... for codes, ``x`` for values, ``w`` for weights,
    ``u`` for units, ``h`` for holdings.
    """

    @property
    def names(self) -> Mapping[str, str]:
        """The caller's name of each column."""

    @property
    def where(self) -> str:
        """What to call the data in a message."""

    @property
    def backend(self) -> str:
        """Kind of frame in which answers are handed back."""

    @property
    def memory(self) -> int:
        """Bytes that the state of a table may take."""

    def is_integer(self, column: str) -> bool:
        """Tell whether a column has an integer type."""

    def facts(self) -> NumberFacts:
        """Numbers: look at values and weights once."""

    def spread(self, fine: float) -> int:
        r"""Numbers: add up \|x\| times ``fine``, cut off behind the point, plus one for every record."""

    def codes(self, column: str) -> tuple[Mapping[str | None, int], str]:
        """Codes: count the records of each code of a column, as DuckDB writes it; and DuckDB's type of it."""

    def place(self, column: str, leaf_of: Mapping[str | None, int], n_leaves: int) -> None:
        """Codes: be told the leaf of each code; called for one variable after the other."""

    def identify(self, level: str) -> Any:
        """Identity: tell who is behind a record, of "units" or of "holdings"; for :meth:`rank`."""

    def rank(self, cube: Cube, who: Any, ranking: Ranking, numbers: Numbers, sums: LeafSums | None) -> State:
        """Contributors: collect them in a state, and, if asked for, sums of records."""
