"""Small groups of cells with flags, proved by tables with the same release.

Groups and further cells follow from flags and public facts. Whether all cells of flagged groups are
wide is determined from the publication and the flags alone, by the module ``witness_walk``, so every table
with the same release and flags has the same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import NeedError, ScopeError
from hitoku.methods.blocks import (
    FAR,
    PARTS,
    Cell,
    Terms,
    claim,
    expectation,
    of_counts,
    of_flat_counts,
    protection_of,
    refuse_other_kinds,
    totals,
)
from hitoku.methods.flagged_groups.flags import closure, flag_groups, groups_of
from hitoku.methods.flagged_groups.witness_walk import FlaggedRelease, WitnessWalk
from hitoku.methods.method import Progress, Traits, rules_and_width
from hitoku.methods.run import run
from hitoku.model import Integers, Mask, Need, Protection, Table
from hitoku.parameters import Count, check_parameters, whole
from hitoku.rules import Rule

# Change from one table to the next: cells, and amounts.
Step = dict[Cell, int]


@dataclass(frozen=True, eq=False, kw_only=True)
class FlaggedGroups:
    """Suppress small groups of cells such that an attacker who knows the method is left with a width.

    For flat two-way tables of counts in which small counts are unsafe. Cells are suppressed in small groups,
    anywhere in the table, and further ones are chosen by which groups are suppressed; then tables are
    searched that have the same release and leave every cell of these groups wide. The certificate contains
    them. Fewer cells are suppressed than by :class:`hitoku.methods.blocks.Blocks`, but if no such tables are
    found an error is raised, and that depends on the cells of the table: publish nothing of it then, and do
    not try again with other parameters. No random numbers and no solver are used; the same table gives the
    same release.

    Parameters
    ----------
    rules, width
        As passed to :func:`hitoku.assess`. The rules must call small counts unsafe, and depend on nothing
        else. :func:`hitoku.protect` fills them in. A width of one is treated as two.
    expected
        A *public* expectation of the inner cells, as for :class:`hitoku.methods.blocks.Blocks`.
    group, closure
        Cells per group, at least two; and the number of further cells, preferably large ones, added to each
        row or column with suppressed cells. Larger values fail less often.

    Examples
    --------
    >>> from hitoku.rules import MinFrequency, assess
    >>> table = Table.from_array([[20, 3, 30, 40], [31, 25, 60, 70], [50, 40, 80, 90], [70, 60, 90, 99]])
    >>> rules = [MinFrequency(5)]
    >>> method = FlaggedGroups(rules=rules, width=9, closure=1)
    >>> int(method.protect(table, assess(table, rules, width=9)).withheld.sum())
    6
    """

    # A pattern that depends on more than the groups would reveal more.
    traits: ClassVar[Traits] = Traits(
        scope="flat two-way tables of counts with published totals",
        secret=False,
        adds_cells=False,
        may_refuse=True,
        informed=True,
    )

    rules: Sequence[Rule] | None = None
    width: ArrayLike | None = None
    expected: ArrayLike | None = None
    group: Annotated[int, whole(2)] = 2
    closure: Count = 2

    def __post_init__(self) -> None:
        check_parameters(self)

    def protect(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Suppress groups of cells.

        Parameters
        ----------
        table, need
            Table and need; the need must follow from ``rules`` and ``width``.
        progress
            Not called.
        """
        return run(self, table, need, progress)

    def decide(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:  # noqa: ARG002 - over in a moment
        """Suppress groups of cells."""
        refuse_other_kinds(table)
        refuse_other_tables(table)
        rules, width = rules_and_width(self)
        terms, values = of_flat_counts(table, need, rules, width)
        rows, columns = values.shape
        expected = expectation(*totals(table, rows, columns), self.expected, None)
        withheld = np.zeros((rows + 1, columns + 1), dtype=np.bool_)
        withheld[:-1, :-1], steps = suppress_with_witnesses(values, terms, expected, self.group, self.closure)
        stated = claim(terms, None if self.expected is None else expected)
        if stated is not None:
            stated |= {"version": 3, "group": self.group, "closure": self.closure}
            stated["steps"] = [_step_between(step, columns + 1) for step in steps]
        return protection_of(table, need, withheld.ravel(), stated, method="flagged_groups")


def suppress_with_witnesses(
    values: Integers, terms: Terms, expected: Integers, size: int, count: int
) -> tuple[Mask, list[Step]]:
    """Suppress flagged groups and cells that let them move; return also steps through tables of one release.

    The first step leads from the table itself to another one, each of the others to the next.

    Examples
    --------
    >>> from hitoku.methods.blocks import expectation
    >>> values = np.array([[20, 3, 30, 40], [31, 25, 60, 70], [50, 40, 80, 90], [70, 60, 90, 99]])
    >>> expected = expectation(values.sum(axis=1), values.sum(axis=0), None)
    >>> withheld, steps = suppress_with_witnesses(values, Terms.below((4, 4), 5, 9), expected, 2, 1)
    >>> withheld.astype(int)
    array([[1, 1, 0, 1],
           [0, 0, 0, 0],
           [0, 0, 0, 0],
           [1, 1, 0, 1]])
    """
    if terms.free is not None or np.any(terms.large < FAR):
        raise ScopeError(
            "witnesses_need_small_counts",
            "tables have no structural zeros here, and only small counts are unsafe",
            where="flagged_groups",
            fix="use the method blocks",
        )
    group = groups_of(expected, size)
    marked = flag_groups(group, terms.unsafe(values))
    if not marked.any():
        return marked, []
    hidden = closure(marked, expected, int(terms.width.max()), count)
    inside = np.where(hidden, values, 0)
    # From here on only these sums of the values are used.
    sums = inside.sum(axis=1), inside.sum(axis=0)
    walk = WitnessWalk.begin(FlaggedRelease(*sums, hidden, marked, group, expected // PARTS, terms))
    if walk is None or not walk.widen():
        raise NeedError(
            "no_witnesses_found",
            "no tables were found that show the same and leave every cell wide enough",
            where="flagged_groups",
            fix="publish nothing of this table, and do not try other parameters on it: that it was refused "
            "depends on its cells; for the next table require a larger group, or use the method blocks",
        )
    first, *others = walk.steps
    away = {cell: there - int(values[cell]) for cell, there in first.items() if there != values[cell]}
    return hidden, [away, *others]


def refuse_other_tables(table: Table) -> None:
    """Raise unless a table is a flat table of counts."""
    if not of_counts(table) or any(len(d.groups) > 1 for d in table.dimensions):
        raise ScopeError(
            "witnesses_need_flat_counts",
            "flagged groups are for flat tables of counts",
            where="flagged_groups",
            fix="use the method blocks",
        )


def _step_between(step: Step, across: int) -> list[list[int]]:
    """Return a step between tables: positions among all cells of the table, and changes."""
    return [[row * across + column for row, column in step], [*step.values()]]
