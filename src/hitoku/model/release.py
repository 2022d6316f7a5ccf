"""Published table: what an outsider sees and may assume, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import ProtectionError, TableError, must_be
from hitoku.model.arrays import Floats, Mask, frozen, frozen_relations
from hitoku.model.dimension import Dimension, Labels
from hitoku.model.frames import release_markup
from hitoku.model.protection import Protection
from hitoku.model.table import Table

# Maximum number of cells displayed in notebooks.
MAX_IN_A_NOTEBOOK = 2_000
NOTEBOOK_STYLE = (
    "<style>.hitoku td.withheld { font-style: italic; background: "
    "repeating-linear-gradient(135deg, #8883 0 6px, #8886 6px 8px); }</style>"
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Release:
    """A published table.

    Attacks use only this object. It contains no confidential values.

    Parameters
    ----------
    published
        Value of every cell; NaN if it is suppressed.
    relations
        Relations between cells, which are public.
    labels
        Codes of the cells.
    dimensions
        Variables if the table is a cross of them; otherwise empty.
    lower, upper
        Bounds of each cell known in advance.
    integer
        Whether it is known that values are whole numbers.
    measure, backend
        As in :class:`Table`.

    Examples
    --------
    >>> from hitoku.model import Protection
    >>> from hitoku.model import Table
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> release = Release.of(table, Protection.withhold(table, table.value == 1))
    >>> release, int(release.withheld.sum())
    (Release(9 cells, 1 withheld), 1)
    """

    published: Floats
    relations: Any
    labels: Labels
    dimensions: tuple[Dimension, ...] = ()
    lower: Floats = 0.0  # type: ignore[assignment]  # a scalar is repeated
    upper: Floats = np.inf  # type: ignore[assignment]
    integer: bool = False
    measure: str = "value"
    backend: str = "pandas"

    def __post_init__(self) -> None:
        n = len(np.atleast_1d(self.published))
        published = frozen(self.published, np.float64, shape=(n,), what="published values")
        if np.isinf(published).any():
            raise TableError("published_value_infinite", "a published value is infinite")
        if len(self.labels) != n:
            raise TableError(
                "labels_size",
                "{n_labels} labels for {n_cells} cells",
                where="labels",
                n_labels=len(self.labels),
                n_cells=n,
            )
        object.__setattr__(self, "published", published)
        object.__setattr__(self, "relations", frozen_relations(self.relations, n))
        for name in ("lower", "upper"):
            bound = frozen(getattr(self, name), np.float64, shape=(n,), what=f"{name} bounds")
            if np.isnan(bound).any():
                raise TableError(
                    "bound_not_a_number",
                    "a {bound} bound is not a number",
                    fix="write infinity where nothing is known",
                    bound=name,
                )
            object.__setattr__(self, name, bound)

    @classmethod
    def of(cls, table: Table, protection: Protection) -> Release:
        """Return the release of a table with a protection."""
        must_be(Table, table, "table")
        must_be(Protection, protection, "protection")
        if len(protection.withheld) != table.n_cells:
            raise ProtectionError(
                "protection_of_other_table",
                "protection has {n_protection} cells, table has {n_table}",
                fix="use the protection computed for this table",
                n_protection=len(protection.withheld),
                n_table=table.n_cells,
            )
        return cls(
            published=np.where(protection.withheld | ~table.shown, np.nan, protection.value),
            relations=table.relations,
            labels=table.labels,
            dimensions=table.dimensions,
            lower=table.lower,
            upper=table.upper,
            integer=table.integer,
            measure=table.measure,
            backend=table.backend,
        )

    def only(self, cells: Mask) -> Release:
        """Return the release of some of the cells, with the relations between them."""
        strange = abs(self.relations) @ ~cells
        return replace(
            self,
            published=self.published[cells],
            relations=self.relations[strange == 0][:, np.flatnonzero(cells)],
            labels=self.labels.only(cells),
            dimensions=(),
            lower=self.lower[cells],
            upper=self.upper[cells],
        )

    @property
    def n_cells(self) -> int:
        return len(self.published)

    @property
    def withheld(self) -> Mask:
        return np.asarray(np.isnan(self.published))

    @property
    def cells(self) -> Any:
        """Codes of every cell as a data frame, one row per cell."""
        return self.labels.frame(self.backend)

    @property
    def frame(self) -> Any:
        """Data frame with one row per cell: codes, ``value`` (missing if suppressed) and ``status``.

        It is of the same kind as the data. Like the public files it does not distinguish primary and
        secondary suppressions.
        """
        return self.framed(self.published)

    def framed(self, published: Floats, shown: str = "published") -> Any:
        """Return the frame with other values, and another status for published cells."""
        hidden = self.withheld
        kept = published[~hidden]
        whole = self.integer and bool(np.all(kept == np.rint(kept)))
        numbers = [None if np.isnan(x) else int(x) if whole else x for x in published.tolist()]
        status = np.where(hidden, "withheld", shown).tolist()
        return self.labels.frame(self.backend, {"value": numbers, "status": status})

    def completed(self, values: ArrayLike) -> Table:
        """Return the table with these values of all cells, as an attacker would reconstruct it.

        Non-negative whole numbers are treated as counts, as in :meth:`Table.from_array`. The table has no
        contributors, costs or fixed cells, because a release does not contain them.

        Examples
        --------
        >>> from hitoku.model import Protection
        >>> from hitoku.model import Table
        >>> table = Table.from_array([[20, 15], [72, 1]])
        >>> release = Release.of(table, Protection.withhold(table, table.inner))
        >>> release.completed([21, 14, 35, 71, 2, 73, 92, 16, 108]).frequency[:2]
        array([21, 14])
        """
        from hitoku.model.table import Table  # noqa: PLC0415 - tables import releases

        counts = np.asarray(values, dtype=np.float64)
        return Table(
            value=counts,
            relations=self.relations,
            labels=self.labels,
            dimensions=self.dimensions,
            frequency=np.rint(counts).astype(np.int64) if self.integer and counts.min() >= 0 else None,
            lower=self.lower,
            upper=self.upper,
            integer=self.integer,
            measure=self.measure,
            backend=self.backend,
        )

    def describe(self, cell: int) -> str:
        """Return a readable name of a cell."""
        return self.labels.describe(cell)

    def __repr__(self) -> str:
        return f"Release({self.n_cells:_} cells, {int(self.withheld.sum()):_} withheld)"

    def _repr_html_(self) -> str:
        shown = release_markup(self) if self.n_cells <= MAX_IN_A_NOTEBOOK else ""
        return (
            f"<div class=hitoku>{NOTEBOOK_STYLE}<b>Release of {escape(self.measure)}</b>: "
            f"{self.n_cells:,} cells, {int(self.withheld.sum()):,} withheld ({self.withheld.mean():.1%})"
            f"{shown}</div>"
        )
