"""Suppression of whole rectangles, each for its own reason: a method that attackers may know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import NeedError, ParameterError
from hitoku.methods.blocks.attainable_range import expectation
from hitoku.methods.blocks.levels import by_sections, level_by_level
from hitoku.methods.blocks.magnitudes import in_units, levels_of, magnitude_pattern
from hitoku.methods.blocks.rectangles import pattern, same_release, tree
from hitoku.methods.blocks.terms import (
    Terms,
    claim,
    of_counts,
    of_flat_counts,
    protection_of,
    refuse_hierarchies,
    refuse_other_kinds,
    refuse_other_needs,
    refuse_zeros,
    totals,
)
from hitoku.methods.method import Progress, Traits, rules_and_width
from hitoku.methods.run import run
from hitoku.methods.tuning import BLOCKS
from hitoku.model import WHOLE, Integers, Mask, Need, Protection, Table
from hitoku.parameters import check_parameters
from hitoku.rules import Rule

Split = Literal["count", "mass"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Blocks:
    """Suppress whole rectangles such that an attacker who knows the method is left with the required width.

    For two-way tables of counts of any size that publish all totals over rows and over columns. With
    hierarchies, each group of rows by each group of columns is a table of its own. Also for flat two-way
    tables of magnitudes, if attackers see neither contributions nor their number: then every unsafe cell
    keeps the levels that the rules require.

    A table is cut into a tree of rectangles, by its totals alone. A rectangle is suppressed whole, for a
    reason that depends on its own cells only, and joined with its neighbour if its own sums do not leave its
    cells wide enough. So every rectangle can be exchanged for others with the same sums without changing
    anything else: the tables that would have led to the same release leave every unsafe cell the width. The
    proof is in docs/explanation/blocks.md. No random numbers and no solver are used; the same table gives the
    same release.

    Parameters
    ----------
    rules, width
        As passed to :func:`hitoku.assess`. The rules must call small counts unsafe, or counts that are large
        for their totals, and depend on nothing else. :func:`hitoku.protect` fills them in. A width of
        one is treated as two. For magnitudes, rules assess a cell by its contributors, and need no width.
    split
        Position of cuts: "count" after two thirds of the lines, "mass" into halves of the expected sum.
    expected
        A *public* expectation of the inner cells, such as last year's release: rows by columns, or all cells
        in the order of ``table.cells``; NaN where unknown. Default: derived from the totals. The better it
        predicts small cells, the fewer cells are suppressed. It must not contain confidential information:
        the tree built from it is assumed to be known.
    sections
        For counts with more variables: the names of all but two of them. Every combination of their codes is
        then a two-way table of its own, and a sum over sections is suppressed if one of its parts is.

    Examples
    --------
    >>> from hitoku.rules import MinFrequency, assess
    >>> table = Table.from_array([[20, 3, 30, 40], [31, 25, 60, 70], [50, 40, 80, 90], [70, 60, 90, 99]])
    >>> rules = [MinFrequency(5)]
    >>> protection = Blocks(rules=rules, width=9).protect(table, assess(table, rules, width=9))
    >>> protection.withheld.reshape(5, 5).astype(int)
    array([[1, 1, 0, 0, 0],
           [1, 1, 0, 0, 0],
           [0, 0, 0, 0, 0],
           [0, 0, 0, 0, 0],
           [0, 0, 0, 0, 0]])
    """

    # A pattern that depends on more than the blocks would reveal more.
    traits: ClassVar[Traits] = Traits(
        scope="two-way tables with published totals: counts, flat or with hierarchies; flat magnitudes",
        secret=False,
        adds_cells=False,
        informed=True,
    )

    rules: Sequence[Rule] | None = None
    width: ArrayLike | None = None
    split: Split = "count"
    expected: ArrayLike | None = None
    sections: str | Sequence[str] = ()

    def __post_init__(self) -> None:
        check_parameters(self)

    def protect(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Suppress rectangles.

        Parameters
        ----------
        table, need
            Table and need; the need must follow from ``rules`` and ``width``.
        progress
            Not called.
        """
        return run(self, table, need, progress)

    def decide(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:  # noqa: ARG002 - over in a moment
        """Decide over the reals; :func:`hitoku.methods.run.run` does the rest."""
        magnitudes = not of_counts(table)
        rules, width = rules_and_width(self, without_width=magnitudes)
        if len(self.sections) and width is not None:
            return self._sections(table, need, rules, width)
        refuse_other_kinds(table)
        if magnitudes or width is None:
            refuse_zeros(table)
            return self._magnitudes(table, need, rules)
        if any(len(d.groups) > 1 for d in table.dimensions):
            refuse_zeros(table)
            chosen, terms = level_by_level(table, rules, width, self.split, self.expected)
            shape, unsafe_zeros = terms.width.shape, not terms.first.any()
            lowest = Terms.below(shape, terms.last.min() + 1, terms.width.min(), zeros=unsafe_zeros)
            counts = np.rint(table.value).astype(np.int64).reshape(shape)
            refuse_other_needs(table, need, lowest.width.ravel(), lowest.unsafe(counts).ravel())
            return protection_of(table, need, chosen.ravel(), None)
        terms, values = of_flat_counts(table, need, rules, width)
        plenty = BLOCKS.plenty * (int(terms.last.max()) + 1)
        expected = expectation(*totals(table, *values.shape), self.expected, plenty)
        if terms.free is not None:
            expected = expected * terms.free
        levels = tree(expected, self.split)
        withheld = np.zeros(np.add(values.shape, 1), dtype=np.bool_)
        withheld[:-1, :-1] = pattern(levels, values, terms)
        stated = claim(terms, None if self.expected is None else expected)
        if stated is None:
            return protection_of(table, need, withheld.ravel(), None)
        decided = protection_of(table, need, withheld.ravel(), stated | {"version": 1, "split": self.split})
        return replace(decided, deviations=same_release(levels, values, terms))

    def _sections(self, table: Table, need: Need, rules: Sequence[Rule], width: ArrayLike) -> Protection:
        """Protect the sections of a larger table separately."""
        asked = np.broadcast_to(np.asarray(width, dtype=np.float64), (table.n_cells,))
        known = None if self.expected is None else np.asarray(self.expected, dtype=np.float64).ravel()
        if known is not None and known.size != table.n_cells:
            raise ParameterError(
                "expected_not_per_cell",
                "expected does not have a number for every cell of the table",
                where="blocks, expected",
                fix="with sections, give all cells in the order of table.cells; NaN where nothing is known",
            )

        def treat(section: Table, own_need: Need, cells: Integers) -> Mask:
            expected = None if known is None else known[cells]
            own = replace(self, sections=(), width=asked[cells], expected=expected)
            return own.protect(section, own_need).withheld

        named = [self.sections] if isinstance(self.sections, str) else self.sections
        withheld = by_sections(table, need, named, rules, width, treat)
        return protection_of(table, need, withheld, None)

    def _magnitudes(self, table: Table, need: Need, rules: Sequence[Rule]) -> Protection:
        """Protect a flat table of magnitudes, with the levels of the need."""
        refuse_hierarchies(table)
        values, scale = in_units(table)
        asked = levels_of(table, need, rules, self.width, scale)
        rows, columns = values.sum(axis=1), values.sum(axis=0)
        # Products of totals must fit into 64 bits; the expectation need not be exact.
        less = 2 ** max(0, int(rows.sum()).bit_length() - BLOCKS.max_total.bit_length())
        given = (
            None if self.expected is None else np.asarray(self.expected, dtype=np.float64) * (scale / less)
        )
        expected = expectation(rows // less, columns // less, given)
        inner, lost = magnitude_pattern(tree(expected, self.split), values, asked)
        if lost.any():
            raise NeedError(
                "cell_nearly_fills_line",
                "an unsafe cell nearly fills its row or column: no withholding of inner cells can hide it",
                where="blocks",
                fix="merge codes such that its row and its column hold more; publish nothing before that",
            )
        withheld = np.zeros(np.add(values.shape, 1), dtype=np.bool_)
        withheld[:-1, :-1] = inner
        known_method = {
            "method": "blocks",
            "version": 2,
            "rows": values.shape[0],
            "columns": values.shape[1],
            "scale": scale,
            "sole": list(asked.sole),
            "split": self.split,
            "expected": None if self.expected is None else expected.tolist(),
        }
        whole = np.all(np.abs(table.value * scale - np.rint(table.value * scale)) <= WHOLE)
        return protection_of(table, need, withheld.ravel(), known_method if whole else None)
