"""Whole rectangles, each withheld for a reason of its own: a method that may be known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import NeedError, ParameterError, ScopeError, did_you_mean, must_be_numbers
from hitoku.methods.blocks.contributions import ROUNDING, in_units, levels_of
from hitoku.methods.blocks.expectation import PLENTY, SPLITS, expectation, tree_of
from hitoku.methods.blocks.levels import level_by_level
from hitoku.methods.blocks.magnitudes import magnitude_pattern
from hitoku.methods.blocks.pattern import pattern
from hitoku.methods.blocks.reach import FAR
from hitoku.methods.blocks.sections import by_sections
from hitoku.methods.blocks.terms import (
    LARGEST_TOTAL,
    Terms,
    of_counts,
    refuse_hierarchies,
    refuse_other_kinds,
    refuse_witnesses,
    refuse_zeros,
    terms_of,
    totals,
)
from hitoku.methods.blocks.tree import tree
from hitoku.methods.blocks.witnessed import Step, witnessed
from hitoku.methods.blocks.witnesses import same_release
from hitoku.methods.method import Progress, Traits
from hitoku.methods.run import run
from hitoku.model import Integers, Mask, Need, Protection, Table
from hitoku.rules.rule import Rule

Split = Literal["auto", "count", "mass"]
Proof = Literal["theorem", "witnesses"]
PROOFS = ("theorem", "witnesses")


@dataclass(frozen=True, eq=False, kw_only=True)
class Blocks:
    """Withhold whole rectangles such that a reader who knows the method is left with the width asked for.

    Two-way tables of counts of any size, all totals over rows and over columns published; with a hierarchy in
    either direction, each group of rows by each group of columns is a table of its own. Flat two-way tables
    of magnitudes, too, for readers who see neither contributions nor how many there are: then every unsafe
    cell keeps the levels that the rules ask for. A table is cut into a
    tree of rectangles, by its totals alone. A rectangle is withheld whole, for a reason that depends on its
    own cells only, and joined with its neighbour when its own sums do not leave its cells wide enough. So
    every rectangle can be exchanged for others with the same sums without anything else changing: the tables
    that would have led to the same release leave every unsafe cell the width. The proof is in
    docs/explanation/blocks.md. There is no chance and no solver; the same table gives the same release.

    Parameters
    ----------
    rules, width
        As given to :func:`hitoku.assess`. The rules must call small counts unsafe, or counts that are large
        for their totals, and look at nothing else. :func:`hitoku.protect` fills them in. A width of
        one is treated as two. For magnitudes, rules judge a cell by its contributors, and need no width.
    split
        Where rectangles are cut: "count" after two thirds of their lines, "mass" into halves by what is
        expected; "auto" tries both on tables drawn from what is expected, never on the table itself.
    expected
        A *public* expectation of the inner cells, such as last year's release: rows by columns, or all cells
        in the order of ``table.cells``; NaN where nothing is known. None: what the totals give. The better it
        predicts small cells, the fewer cells are withheld. Nothing confidential may enter: the tree made from
        it counts as known.
    proof
        "theorem": rectangles, as above; only totals can lead to a refusal. "witnesses": for flat tables of
        counts, 20 to 60 percent fewer cells. Cells are withheld in small groups, anywhere in the table, and
        further ones are chosen by which groups are withheld; then tables are looked for that show the same
        and leave every cell of these groups wide. Where none are found the table is refused, and that
        depends on its cells: publish nothing of it then, and do not try again with other parameters.
    group, closure
        With "witnesses": cells per group, at least two; and how many further cells, large ones as far as one
        can expect, a row or column with withheld cells gets. More of either is refused more seldom.
    sections
        For counts with more variables: the names of all but two of them. Every combination of their codes is
        then a two-way table of its own, and a sum over sections is withheld where one of its parts is.

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

    # A pattern that depends on more than the blocks would tell more.
    traits: ClassVar[Traits] = Traits(
        scope="two-way tables with published totals: counts, flat or with hierarchies; flat magnitudes",
        secret=False,
        adds_cells=False,
        informed=True,
    )

    rules: Sequence[Rule] | None = None
    width: ArrayLike | None = None
    split: Split = "auto"
    expected: ArrayLike | None = None
    proof: Proof = "theorem"
    group: int = 2
    closure: int = 2
    sections: str | Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.proof not in PROOFS:
            raise ParameterError(
                "unknown_proof",
                "no proof named {proof!r}",
                where="blocks, proof",
                fix=did_you_mean(self.proof, PROOFS),
                proof=self.proof,
            )
        must_be_numbers(self, "group", "closure")
        for name, least in (("group", 2), ("closure", 1)):
            if getattr(self, name) < least:
                raise ParameterError(
                    "below_minimum",
                    "{name} is less than {least}",
                    where="blocks, {name}",
                    fix="leave it out for the default",
                    name=name,
                    least=least,
                )
        if self.split not in {"auto", *SPLITS}:
            raise ParameterError(
                "unknown_split",
                "no split named {split!r}",
                where="blocks, split",
                fix=did_you_mean(self.split, ("auto", *SPLITS)),
                split=self.split,
            )

    def informed(self, rules: Sequence[Rule], width: ArrayLike | None) -> Blocks:
        """Return the same method with these rules and this width where it has none."""
        return replace(
            self,
            rules=rules if self.rules is None else self.rules,
            width=width if self.width is None else self.width,
        )

    def protect(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Withhold rectangles.

        Parameters
        ----------
        table, need
            What to protect; the need is the one that ``rules`` and ``width`` give.
        progress
            Not called.
        """
        return run(self, table, need, progress)

    def decide(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:  # noqa: ARG002 - over in a moment
        """Decide over real numbers; :func:`hitoku.methods.run.run` does the rest."""
        magnitudes = not of_counts(table)
        if self.rules is None or (self.width is None and not magnitudes):
            raise ParameterError(
                "method_lacks_rules_and_width",
                "the method must know how unsafe cells are found, and how wide their intervals must be",
                where="blocks, {kind}",
                fix="write Blocks(rules=[MinFrequency(5)], width=9), as for assess, or --width 9",
                kind="rules" if self.rules is None else "width",
            )
        if len(self.sections) and self.width is not None:
            return self._sections(table, need, self.rules, self.width)
        refuse_other_kinds(table)
        if self.proof == "witnesses":
            refuse_witnesses(table)
        if magnitudes or self.width is None:
            refuse_zeros(table)
            return self._magnitudes(table, need, self.rules)
        if any(len(d.groups) > 1 for d in table.dimensions):
            refuse_zeros(table)
            # Sub-tables are many and small: drawing tables to choose between splits would not pay.
            split = "count" if self.split == "auto" else self.split
            chosen, terms = level_by_level(table, self.rules, self.width, split, self.expected)
            shape, unsafe_zeros = terms.width.shape, not terms.first.any()
            lowest = Terms.below(shape, terms.last.min() + 1, terms.width.min(), zeros=unsafe_zeros)
            counts = np.rint(table.value).astype(np.int64).reshape(shape)
            refuse_other_needs(table, need, lowest.width.ravel(), lowest.unsafe(counts).ravel())
            return protection_of(table, need, chosen.ravel(), None)
        terms = terms_of(table, self.rules, self.width)
        rows, columns = terms.width.shape
        values = np.rint(table.value).astype(np.int64).reshape(rows + 1, columns + 1)[:-1, :-1]
        unsafe, width = (np.zeros((rows + 1, columns + 1), dtype=kind) for kind in (np.bool_, np.int64))
        unsafe[:-1, :-1], width[:-1, :-1] = terms.unsafe(values), terms.width
        refuse_other_needs(table, need, width.ravel(), unsafe.ravel())
        by_witnesses = self.proof == "witnesses"
        plenty = None if by_witnesses else PLENTY * (int(terms.last.max()) + 1)
        expected = expectation(*totals(table, rows, columns), self.expected, plenty)
        if terms.free is not None:
            expected = expected * terms.free
        withheld = np.zeros((rows + 1, columns + 1), dtype=np.bool_)
        public = None if self.expected is None else expected
        stated = claim(terms, public)
        if by_witnesses:
            withheld[:-1, :-1], steps = witnessed(values, terms, expected, self.group, self.closure)
            if stated is not None:
                stated |= {"version": 3, "group": self.group, "closure": self.closure}
                stated["steps"] = [written(step, columns + 1) for step in steps]
            return protection_of(table, need, withheld.ravel(), stated)
        levels = tree_of(expected, terms, self.split)
        withheld[:-1, :-1] = pattern(levels, values, terms)
        if stated is None:
            return protection_of(table, need, withheld.ravel(), None)
        decided = protection_of(table, need, withheld.ravel(), stated | {"version": 1, "split": self.split})
        return replace(decided, moves=same_release(levels, values, terms))

    def _sections(self, table: Table, need: Need, rules: Sequence[Rule], width: ArrayLike) -> Protection:
        """Treat the sections of a larger table one by one."""
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
        """Treat a flat table of magnitudes: levels as the need has them."""
        refuse_hierarchies(table)
        values, scale = in_units(table)
        asked = levels_of(table, need, rules, self.width, scale)
        rows, columns = values.sum(axis=1), values.sum(axis=0)
        # Products of totals must fit 64 bits; what is expected need not be exact.
        less = 2 ** max(0, int(rows.sum()).bit_length() - LARGEST_TOTAL.bit_length())
        given = (
            None if self.expected is None else np.asarray(self.expected, dtype=np.float64) * (scale / less)
        )
        expected = expectation(rows // less, columns // less, given)
        split = "count" if self.split == "auto" else self.split
        inner, lost = magnitude_pattern(tree(expected, split), values, asked)
        if lost.any():
            raise NeedError(
                "cell_nearly_fills_line",
                "an unsafe cell nearly fills its row or column: no withholding of inner cells can hide it",
                where="blocks",
                fix="merge codes such that its row and its column hold more; publish nothing before that",
            )
        withheld = np.zeros(np.add(values.shape, 1), dtype=np.bool_)
        withheld[:-1, :-1] = inner
        reader = {
            "method": "blocks",
            "version": 2,
            "rows": values.shape[0],
            "columns": values.shape[1],
            "scale": scale,
            "sole": list(asked.sole),
            "split": split,
            "expected": None if self.expected is None else expected.tolist(),
        }
        whole = np.all(np.abs(table.value * scale - np.rint(table.value * scale)) <= ROUNDING)
        return protection_of(table, need, withheld.ravel(), reader if whole else None)


def protection_of(table: Table, need: Need, withheld: Mask, reader: dict[str, Any] | None) -> Protection:
    return Protection(
        withheld=withheld,
        value=table.value,
        secondary=withheld & ~need.unsafe,
        cost=float(withheld.sum()),
        method="blocks",
        reader=reader,
    )


def written(step: Step, across: int) -> list[list[int]]:
    """Write a step from table to table: positions among all cells of the table, and changes."""
    return [[row * across + column for row, column in step], [*step.values()]]


def claim(terms: Terms, expected: Integers | None) -> dict[str, Any] | None:
    """State for a certificate what the reader who knows the method is left with.

    None where its cells are not all judged in the same way: the verifier does not go that far.
    """
    first, last, width = (np.unique(part).tolist() for part in (terms.first, terms.last, terms.width))
    if max(len(first), len(last), len(width)) > 1 or last[0] < first[0] or np.any(terms.large < FAR):
        return None
    if terms.free is not None:
        return None
    return {
        "method": "blocks",
        "rows": terms.width.shape[0],
        "columns": terms.width.shape[1],
        "first": first[0],
        "last": last[0],
        "width": width[0],
        "expected": None if expected is None else expected.tolist(),
    }


def refuse_other_needs(table: Table, need: Need, width: Integers, unsafe: Mask) -> None:
    """Raise when a need is not the one that the rules and the width give."""
    if len(need) != table.n_cells:
        raise NeedError(
            "need_of_other_table",
            "a need of {n_need} cells for a table of {n_table}",
            fix="assess this very table",
            n_need=len(need),
            n_table=table.n_cells,
        )
    if not np.array_equal(need.unsafe, unsafe):
        raise ScopeError(
            "need_not_of_rules_by_cell",
            "the need marks other cells as unsafe than the rules do, cell by cell",
            where="blocks, rules",
            fix="assess with the same rules; each must judge a cell by its count and the totals alone",
        )
    if np.any(need.lower > 0) or np.any(need.upper > 0) or np.any(need.width > width):
        raise ScopeError(
            "need_wider_than_method",
            "the need asks for more than the width that the method was given",
            where="blocks, width",
            fix="give assess the same width and groups=False, and rules no levels of their own",
        )
