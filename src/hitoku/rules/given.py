"""Cells marked unsafe by the caller, for reasons that the table does not show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import RuleError, did_you_mean
from hitoku.model import Floats, Mask, Need, Table, frozen
from hitoku.rules.levels import DEFAULT_PERCENT, percent_of_value
from hitoku.rules.rule import Range, check_rule


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Given:
    """Flag the cells of a mask, with given levels or a range in percent.

    Parameters
    ----------
    unsafe
        One boolean per cell, or the name of a measure of the table with them.
    lower, upper, width
        Levels, one number for all flagged cells or one per cell of the table (those of other cells are
        ignored). If one of them is given, the others default to zero.
    percent
        Without levels: range that protects a cell, in percent of its value, at least one unit. None: set
        by :func:`hitoku.rules.assess`.

    Examples
    --------
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> need = Given(table.value == 20).assess(table)
    >>> need, float(need.lower[0]), float(need.upper[0])
    (Need(1 of 9 cells unsafe: given 1), 4.0, 4.0)
    """

    name: ClassVar[str] = "given"

    unsafe: ArrayLike | str
    lower: ArrayLike | None = None
    upper: ArrayLike | None = None
    width: ArrayLike | None = None
    percent: Range | None = DEFAULT_PERCENT

    def __post_init__(self) -> None:
        check_rule(self)
        # Arrays are copied: the caller may change its own later.
        for part in ("unsafe", "lower", "upper", "width"):
            given = getattr(self, part)
            if given is not None and not isinstance(given, str):
                array = np.array(given)
                object.__setattr__(self, part, frozen(array, None, shape=array.shape, what=part))

    def assess(self, table: Table) -> Need:
        """Flag the marked cells."""
        unsafe = self._mask(table)
        levels = [self._level(table, part) for part in ("lower", "upper", "width")]
        if all(level is None for level in levels) and self.percent is not None:
            levels[0] = levels[1] = percent_of_value(table, self.percent)
        lower, upper, width = (
            np.zeros(table.n_cells) if level is None else np.where(unsafe, level, 0.0) for level in levels
        )
        return Need(
            unsafe=unsafe,
            lower=np.minimum(lower, table.value - table.lower),
            upper=np.minimum(upper, table.upper - table.value),
            width=width,
            rules={self.name: unsafe},
        )

    def _mask(self, table: Table) -> Mask:
        given: Any = self.unsafe
        if isinstance(given, str):
            if given not in table.measures:
                raise RuleError(
                    "marks_measure_missing",
                    "the table has no measure {measure!r} that marks unsafe cells",
                    where="rule {rule}",
                    fix=did_you_mean(given, table.measures, otherwise="give an array with one mark per cell"),
                    measure=given,
                    rule=self.name,
                )
            given = table.measures[given]
        marks = np.asarray(given)
        if marks.shape != (table.n_cells,):
            raise RuleError(
                "marks_size",
                "{n_marks} marks for {n_cells} cells",
                where="rule {rule}, unsafe",
                fix="give one truth value per cell, in the order of table.cells",
                n_marks=marks.size,
                n_cells=table.n_cells,
                rule=self.name,
            )
        if not np.isin(marks, (0, 1)).all():
            raise RuleError(
                "mark_not_boolean",
                "a mark is neither true nor false",
                where="rule {rule}, unsafe",
                fix="give truth values, or 1 for an unsafe cell and 0 for another",
                rule=self.name,
            )
        return marks.astype(np.bool_)

    def _level(self, table: Table, part: str) -> Floats | None:
        given = getattr(self, part)
        if given is None:
            return None
        level = frozen(given, np.float64, shape=(table.n_cells,), what=f"given {part}")
        if not np.isfinite(level).all() or np.any(level < 0):
            raise RuleError(
                "given_levels_invalid",
                "a given {part} is negative or not finite",
                where="rule {rule}, {part}",
                fix="levels are distances and start at 0",
                part=part,
                rule=self.name,
            )
        return level

    def __repr__(self) -> str:
        if isinstance(self.unsafe, str):
            marked = repr(self.unsafe)
        else:
            marked = f"{np.count_nonzero(np.asarray(self.unsafe))} cells"
        own = [part for part in ("lower", "upper", "width") if getattr(self, part) is not None]
        levels = f"own {', '.join(own)}" if own else f"percent={self.percent!r}"
        return f"Given({marked}, {levels})"
