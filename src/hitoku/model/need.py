"""Protection requirements: unsafe cells, their protection levels, and the rules behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from hitoku.errors import NeedError
from hitoku.model.arrays import Floats, Integers, Mask, frozen
from hitoku.model.attribution import Attributions
from hitoku.model.bounds import Bounds
from hitoku.model.frames import small_table
from hitoku.model.tolerance import BOUND, slack


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Need:
    """Protection requirements: unsafe cells and their protection levels.

    An unsafe cell is protected in a release if its feasibility interval reaches at least ``lower`` below its
    value and ``upper`` above it, and is at least ``width`` wide.

    Parameters
    ----------
    unsafe
        Unsafe cells, which must not be published (primary suppressions).
    lower, upper
        Lower and upper protection levels: required distance of the bounds from the value. Zero for safe
        cells.
    width
        Required width of the feasibility interval (sliding protection level).
    rules
        Cells marked as unsafe by each rule.
    attributions
        Requirements on groups of cells, against attribute disclosure. Default: none.

    Examples
    --------
    >>> need = Need(unsafe=[True, False], lower=[2, 0], upper=[3, 0], rules={"p_percent": [True, False]})
    >>> need, need.why(0)
    (Need(1 of 2 cells unsafe: p_percent 1), ('p_percent',))
    """

    unsafe: Mask
    lower: Floats = 0.0  # type: ignore[assignment]  # a scalar is repeated
    upper: Floats = 0.0  # type: ignore[assignment]
    width: Floats = 0.0  # type: ignore[assignment]
    rules: Mapping[str, Mask] = field(default_factory=dict)
    attributions: Attributions = None  # type: ignore[assignment]  # none where left out

    def __post_init__(self) -> None:
        n = len(np.atleast_1d(self.unsafe))
        unsafe = frozen(self.unsafe, np.bool_, shape=(n,), what="unsafe")
        object.__setattr__(self, "unsafe", unsafe)
        for name in ("lower", "upper", "width"):
            level: Any = getattr(self, name)
            level = np.where(unsafe, level, 0.0) if np.ndim(level) == 0 else level
            level = frozen(level, np.float64, shape=(n,), what=f"required {name}")
            if not np.isfinite(level).all() or np.any(level < 0):
                raise NeedError(
                    "requirement_not_finite",
                    "a required {requirement} is negative or not finite",
                    where=name,
                    fix="levels start at 0",
                    requirement=name,
                )
            if np.any(level[~unsafe] > 0):
                raise NeedError(
                    "requirement_of_safe_cell",
                    "a safe cell has a required {requirement}",
                    where=name,
                    fix="mark the cell unsafe, or give it zero",
                    requirement=name,
                )
            object.__setattr__(self, name, level)
        rules = {name: frozen(hits, np.bool_, shape=(n,), what=name) for name, hits in self.rules.items()}
        if any(np.any(hits & ~unsafe) for hits in rules.values()):
            raise NeedError(
                "rule_hits_safe_cell", "a rule hits a cell that is not marked unsafe", where="rules"
            )
        object.__setattr__(self, "rules", MappingProxyType(rules))
        if self.attributions is None:
            object.__setattr__(self, "attributions", Attributions.none(n))
        elif self.attributions.sums.shape[1] != n:
            raise NeedError(
                "attributions_of_other_table",
                "the attributions belong to another table",
                where="attributions",
            )

    @classmethod
    def merge(cls, needs: Sequence[Need]) -> Need:
        """Combine several needs. Unsafe cells and rules are united, levels are maxima."""
        if not needs:
            raise NeedError("no_needs", "no needs to merge", fix="give at least one rule")
        rules: dict[str, Mask] = {}
        for need in needs:
            for name, hits in need.rules.items():
                rules[name] = rules[name] | hits if name in rules else hits
        return cls(
            unsafe=np.logical_or.reduce([need.unsafe for need in needs]),
            lower=np.maximum.reduce([need.lower for need in needs]),
            upper=np.maximum.reduce([need.upper for need in needs]),
            width=np.maximum.reduce([need.width for need in needs]),
            rules=rules,
            attributions=Attributions.merge([need.attributions for need in needs]),
        )

    def met(self, value: Floats, bounds: Bounds, *, tolerance: float = BOUND) -> Mask:
        """Return for every cell whether its feasibility interval meets its requirements, up to rounding.

        All floating-point decisions are made here. Proofs use exact numbers and the same definition
        (:class:`hitoku.evidence.problem.Demand`). A safe cell has no requirements. An unsafe cell that is
        known exactly never meets them, even if all its levels are zero; neither does a cell whose bounds are
        ``unknown``.

        Parameters
        ----------
        value
            True value of every cell.
        bounds
            Feasibility intervals found by an attack.
        tolerance
            Largest rounding error, as a share of the value, or of one for smaller values.

        Examples
        --------
        >>> need = Need(unsafe=[True, True, True, False], lower=[2, 0, 0, 0])
        >>> value = np.array([20.0, 5.0, 5.0, 9.0])
        >>> need.met(value, Bounds(lower=[18, 5, 4, 9], upper=[20, 5, 5, 9])).tolist()
        [True, False, True, True]
        """
        with np.errstate(invalid="ignore"):
            far = self.met_by(value - bounds.lower, bounds.upper - value, slack(value, tolerance))
        return np.asarray(~self.unsafe | (far & ~bounds.unknown))

    def met_by(self, below: Floats, above: Floats, rounding: Floats, cells: Any = slice(None)) -> Mask:
        """Return whether the attained decrease and increase of cells meet their requirements.

        The same condition as :meth:`met`, for searches that know how far cells can move.

        Parameters
        ----------
        below, above
            Attained decrease and increase of each cell.
        rounding
            Largest rounding error of each cell: see :func:`hitoku.model.tolerance.slack`.
        cells
            Cells, as indices, a mask or a single index. Default: all.
        """
        return reaches(below, above, self.lower[cells], self.upper[cells], self.width[cells], rounding)

    def only(self, cells: Mask) -> Need:
        """Return the requirements of some cells only. Attributions do not change."""
        return Need(
            unsafe=self.unsafe & cells,
            lower=np.where(cells, self.lower, 0.0),
            upper=np.where(cells, self.upper, 0.0),
            width=np.where(cells, self.width, 0.0),
            rules={name: hits & cells for name, hits in self.rules.items()},
            attributions=self.attributions,
        )

    def placed(self, cells: Integers, n_cells: int) -> Need:
        """Return the same requirements for a larger table, in which the cells have other indices.

        Examples
        --------
        >>> need = Need(unsafe=[True, False], lower=[2, 0]).placed(np.array([3, 1]), 4)
        >>> need.unsafe.tolist(), need.lower.tolist()
        ([False, False, False, True], [0.0, 0.0, 0.0, 2.0])
        """

        def spread(part: Floats) -> Floats:
            whole = np.zeros(n_cells)
            np.maximum.at(whole, cells, part)
            return whole

        return Need(
            unsafe=spread(self.unsafe.astype(np.float64)) > 0,
            lower=spread(self.lower),
            upper=spread(self.upper),
            width=spread(self.width),
            rules={name: spread(hits.astype(np.float64)) > 0 for name, hits in self.rules.items()},
            attributions=self.attributions.placed(cells, n_cells),
        )

    def require_size(self, n_cells: int) -> None:
        """Raise if the need belongs to a table with another number of cells."""
        if len(self) != n_cells:
            raise NeedError(
                "need_of_other_table",
                "need has {n_need} cells, table has {n_table}",
                fix="assess this table",
                n_need=len(self),
                n_table=n_cells,
            )

    def why(self, cell: int) -> tuple[str, ...]:
        """Return the names of the rules that mark a cell as unsafe."""
        return tuple(name for name, hits in self.rules.items() if hits[cell])

    def __len__(self) -> int:
        return len(self.unsafe)

    def _tally(self) -> str:
        return ", ".join(f"{name} {int(hits.sum()):_}" for name, hits in self.rules.items())

    def __repr__(self) -> str:
        tally = self._tally()
        return f"Need({int(self.unsafe.sum()):_} of {len(self):_} cells unsafe{': ' if tally else ''}{tally})"

    def _repr_html_(self) -> str:
        body = small_table(["rule", "cells"], [(name, int(hits.sum())) for name, hits in self.rules.items()])
        return f"<div><b>Need</b>: {int(self.unsafe.sum()):,} of {len(self):,} cells are unsafe{body}</div>"


def reaches(
    below: Floats, above: Floats, lower: Floats, upper: Floats, width: Floats, rounding: Floats
) -> Mask:
    """Return where the attained decrease and increase meet levels and width.

    A cell that cannot move never meets them.

    Examples
    --------
    >>> bool(reaches(2.0, 0.0, 1.0, 0.0, 2.0, 1e-7)), bool(reaches(0.0, 0.0, 0.0, 0.0, 0.0, 1e-7))
    (True, False)
    """
    moved = below + above
    far = (below >= lower - rounding) & (above >= upper - rounding)
    return np.asarray(far & (moved >= width - rounding) & (moved > rounding))
