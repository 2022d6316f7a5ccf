"""What filters leave out, judged: nobody publishes it, but a reader of two tables can subtract."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from hitoku.model import Attributions, Floats, Integers, Mask, Need, Table
from hitoku.rules import Given, Rule, assess


class Rest(Given):
    """Cells of what filters leave out that rules call unsafe, and what must not be learnt of groups there."""

    __slots__ = ("learnt",)
    name: ClassVar[str] = "rest"
    learnt: Attributions

    def __init__(self, unsafe: Mask, levels: Floats, learnt: Attributions) -> None:
        super().__init__(unsafe, *levels)
        object.__setattr__(self, "learnt", learnt)

    def assess(self, table: Table) -> Need:
        """Flag the cells, and ask what their own table asks for its groups."""
        return replace(super().assess(table), attributions=self.learnt)


def judge_rest(
    table: Table,
    rest: Sequence[tuple[Table, Integers]],
    rules: Sequence[Rule],
    width: Callable[[Table], Any],
    *,
    groups: bool = True,
) -> list[Rule]:
    """Return a rule that flags the hidden cells of a table as other rules judge them; none where none is hit.

    Parameters
    ----------
    table
        Several tables as one.
    rest
        Tables of what filters leave out, each with the positions of its cells in ``table``.
    rules
        The rules; such as are about cells of ``table`` itself cannot be among them.
    width
        What :func:`hitoku.assess` is told for a table.
    groups
        As given to :func:`hitoku.assess`.
    """
    unsafe = np.zeros(table.n_cells, dtype=bool)
    levels = np.zeros((3, table.n_cells))
    learnt = [Attributions.none(table.n_cells)]
    for one, cells in rest if rules else ():
        need = assess(one, rules, width=width(one), groups=groups)
        learnt.append(need.attributions.placed(cells, table.n_cells))
        hidden = ~table.shown[cells]
        unsafe[cells[hidden & need.unsafe]] = True
        for level, asked in zip(levels, (need.lower, need.upper, need.width), strict=True):
            np.maximum.at(level, cells[hidden], asked[hidden])
    every = Attributions.merge(learnt)
    return [Rest(unsafe, levels, every)] if unsafe.any() or len(every) else []
