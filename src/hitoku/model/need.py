"""How far each unsafe cell must be blurred, and which rule said so."""

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
from hitoku.model.markup import small_table
from hitoku.model.tolerance import BOUND, slack


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Need:
    """Which cells are unsafe and what protects them.

    An unsafe cell is safe in a release when what an outsider can infer about it reaches at least ``lower``
    below its value, ``upper`` above it, and is at least ``width`` wide.

    Parameters
    ----------
    unsafe
        Cells that must not be published.
    lower, upper
        Required distance of the inferable bounds from the value; zero where a cell is safe.
    width
        Required length of the inferable interval.
    rules
        For every rule that was applied, the cells it hit.
    attributions
        What must not be learnt about whole groups, whatever becomes of single cells; nothing where left out.

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
                "the attributions are about another table",
                where="attributions",
            )

    @classmethod
    def merge(cls, needs: Sequence[Need]) -> Need:
        """Unsafe where any is; levels are the largest; every rule is remembered."""
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
        """Tell for every cell whether some bounds leave as much of it open as it needs, up to rounding.

        The one place where that is decided in floating point; proofs decide it in exact numbers, by the same
        definition (:class:`hitoku.evidence.problem.Demand`). A safe cell needs nothing. An unsafe cell that
        can be told exactly is never protected, even where all its levels are zero; nor is one that an attack
        left ``unknown``: nothing is known to protect it.

        Parameters
        ----------
        value
            True value of every cell.
        bounds
            What an attack proves about every cell.
        tolerance
            What counts as rounding, as a share of the value (of one, where that is larger).

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
        """Tell of some cells whether moves below and above their value are as far as they need.

        What :meth:`met` asks, for a search that knows how far cells can move.

        Parameters
        ----------
        below, above
            How far each of the cells can move.
        rounding
            What counts as rounding in each of them: see :func:`hitoku.model.tolerance.slack`.
        cells
            Which cells: positions, a mask, or one position; left out, all.
        """
        return reaches(below, above, self.lower[cells], self.upper[cells], self.width[cells], rounding)

    def only(self, cells: Mask) -> Need:
        """Ask for nothing of other cells than these; what must not be learnt about groups stays."""
        return Need(
            unsafe=self.unsafe & cells,
            lower=np.where(cells, self.lower, 0.0),
            upper=np.where(cells, self.upper, 0.0),
            width=np.where(cells, self.width, 0.0),
            rules={name: hits & cells for name, hits in self.rules.items()},
            attributions=self.attributions,
        )

    def placed(self, cells: Integers, n_cells: int) -> Need:
        """Ask the same of a larger table, in which the cells have other positions.

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

    def why(self, cell: int) -> tuple[str, ...]:
        """Name the rules that hit a cell."""
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
    """Tell whether moves below and above a value are as far as levels and a width ask; a point never is.

    Examples
    --------
    >>> bool(reaches(2.0, 0.0, 1.0, 0.0, 2.0, 1e-7)), bool(reaches(0.0, 0.0, 0.0, 0.0, 0.0, 1e-7))
    (True, False)
    """
    moved = below + above
    far = (below >= lower - rounding) & (above >= upper - rounding)
    return np.asarray(far & (moved >= width - rounding) & (moved > rounding))
