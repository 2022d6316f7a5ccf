"""Tables with hierarchies, protected from the top, one sub-table of siblings after another.

A group of rows and a group of columns span a sub-table: the parts of one by the parts of the other. Its
totals are cells of sub-tables above it. While all of them are published, it is protected as a table of its
own. If one is suppressed, the whole sub-table is suppressed: this follows from what is published above, and
its cells can adapt to any values of the cells above. The proof is in docs/explanation/blocks.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import ParameterError, ScopeError, did_you_mean, some
from hitoku.methods.blocks.attainable_range import FAR, expectation
from hitoku.methods.blocks.rectangles import pattern, tree
from hitoku.methods.blocks.terms import (
    MIN_WIDTH,
    PUBLIC,
    Terms,
    large_counts,
    of_counts,
    refuse_other_rules,
    small_counts,
)
from hitoku.methods.randomised import whole_width
from hitoku.methods.tuning import BLOCKS
from hitoku.model import Dimension, Floats, Integers, Mask, Need, Table
from hitoku.rules import MinFrequency, Rule, assess

# Groups of a variable, each before its parts: position of its code, and positions of the parts.
Groups = list[tuple[int, Integers]]


def level_by_level(
    table: Table, rules: Sequence[Rule], width: ArrayLike, split: str, expected: ArrayLike | None
) -> tuple[Mask, Terms]:
    """Suppress rectangles in every sub-table; return the suppressed cells and the terms that decided.

    Parameters
    ----------
    table
        A two-way table of counts, one hierarchy or none in either direction.
    rules, width, split, expected
        As for :class:`Blocks`; ``expected`` covers all cells of the table.
    """
    terms = one_rule(table, rules, width)
    shape = terms.width.shape
    values = np.rint(table.value).astype(np.int64).reshape(shape)
    refuse_groups_of_one(table)
    refuse_small_totals(table, values, terms)
    public = None if expected is None else np.asarray(expected, dtype=np.float64).reshape(shape)
    groups = [downwards(dimension) for dimension in table.dimensions]
    return patterns(values, terms, groups, split, public), terms


def patterns(
    values: Integers, terms: Terms, groups: Sequence[Groups], split: str, expected: Floats | None = None
) -> Mask:
    """Suppress rectangles in one sub-table after another; all arrays are codes by codes."""
    withheld = np.zeros(values.shape, dtype=np.bool_)
    for rows_of, rows in groups[0]:
        for columns_of, columns in groups[1]:
            at = np.ix_(rows, columns)
            totals = withheld[rows, columns_of].any() or withheld[rows_of, columns].any()
            if totals or withheld[rows_of, columns_of]:
                withheld[at] = True
                continue
            local = None if expected is None else expected[at]
            plenty = BLOCKS.plenty * (int(terms.last[at].max()) + 1)
            plan = expectation(values[rows, columns_of], values[rows_of, columns], local, plenty)
            parts = (part[at] for part in (terms.first, terms.last, terms.large, terms.width))
            withheld[at] = pattern(tree(plan, split), values[at], Terms(*parts))
    return withheld


def downwards(dimension: Dimension) -> Groups:
    """List the groups of a variable, the total first, each with the positions of its parts."""
    return [
        (dimension.position[code], np.array([dimension.position[part] for part in parts]))
        for code, parts in reversed(dimension.groups)
    ]


def one_rule(table: Table, rules: Sequence[Rule], width: ArrayLike) -> Terms:
    """Determine which counts are unsafe, uniformly; sums of several cells must be larger.

    A sum is suppressed if it is unsafe or too small to protect its parts: below the width plus the largest
    unsafe count. As a suppressed sum can then be raised at least to that, its parts can be, too.
    """
    shape = tuple(len(d) for d in table.dimensions)
    places = np.arange(table.n_cells).reshape(shape)[:-1, :-1].ravel()
    most = np.full(len(places), int(table.value.max()))
    first, last = small_counts(table, places, most, rules)
    large = large_counts(table, places, most, last, rules)
    asked = np.maximum(whole_width(width, table)[places], MIN_WIDTH)
    alike = all(len(np.unique(part)) == 1 for part in (first, last, asked))
    if not alike or np.any(large < FAR) or last[0] < first[0]:
        raise ScopeError(
            "rules_not_uniform_in_hierarchy",
            "with hierarchies, every cell must be judged in the same way: small counts are unsafe, one width",
            where="blocks, rules and width",
            fix="use MinFrequency and one width for all cells",
        )
    plain = Terms(*(part.reshape(np.subtract(shape, 1)) for part in (first, last, large, asked)))
    refuse_other_rules(table, places, most, plain, rules)
    return raised(~table.inner.reshape(shape), int(first[0]), int(last[0]), int(asked[0]))


def raised(sums: Mask, first: int, last: int, width: int) -> Terms:
    """Make the terms of all cells; those of sums are stricter."""
    return Terms(
        np.full(sums.shape, first),
        np.where(sums, width + last - 1, last),
        np.full(sums.shape, FAR),
        np.where(sums, width + last, width),
    )


def refuse_groups_of_one(table: Table) -> None:
    for dimension in table.dimensions:
        alone = [code for code, parts in dimension.groups if len(parts) < 2]
        if alone:
            raise ScopeError(
                "single_part_groups",
                "{n} group(s) of {variable!r} have a single part, which nothing can hide",
                where="codes {codes}",
                fix="leave the part out, or merge it with another",
                n=len(alone),
                variable=dimension.name,
                codes=some(alone),
            )


def refuse_small_totals(table: Table, values: Integers, terms: Terms) -> None:
    """Raise if a total over all rows or all columns is too small to protect its parts."""
    small = (values >= terms.first) & (values <= terms.last)
    small[:-1, :-1] = False
    places = np.flatnonzero(small)
    if len(places):
        raise ScopeError(
            "overall_totals_too_small",
            "{n} total(s) over all codes are too small to be published with the cells they hide",
            where="cells {cells}",
            fix="merge their codes with others, or require a smaller width; {public}",
            n=len(places),
            cells=some((table.describe(int(p)) for p in places[:4]), 3),
            public=PUBLIC,
        )


# Protects a section, given with the positions of its cells in the table; returns the suppressed cells.
Treat = Callable[[Table, Need, Integers], Mask]


def by_sections(
    table: Table, need: Need, variables: Sequence[str], rules: Sequence[Rule], width: ArrayLike, treat: Treat
) -> Mask:
    """Protect every section separately, and suppress the sums over sections that would disclose; all cells.

    Parameters
    ----------
    table, need
        Table of counts with more than two variables, and its need.
    variables
        All variables except two: each combination of their codes is a section.
    rules, width
        As passed to :func:`hitoku.assess`.
    treat
        Function that protects one section.
    """
    refuse_sections(table, variables, rules)
    others = [place for place, d in enumerate(table.dimensions) if d.name in variables]
    plane = [place for place, d in enumerate(table.dimensions) if d.name not in variables]
    cells = np.moveaxis(
        np.arange(table.n_cells).reshape(table.shape), [*others, *plane], range(len(table.shape))
    )
    hidden = np.zeros(
        [len(table.dimensions[d].leaves) for d in others] + [len(table.dimensions[d]) for d in plane]
    )
    asked = np.broadcast_to(np.asarray(width, dtype=np.float64), (table.n_cells,))
    for place, at in sections(table, others):
        own = cells[at]
        part = Table(
            value=table.value[own.ravel()],
            dimensions=tuple(table.dimensions[d] for d in plane),
            integer=True,
            measure=table.measure,
            frequency=None if table.frequency is None else table.frequency[own.ravel()],
        )
        need_of_it = assess(part, rules, width=asked[own.ravel()], groups=False)
        if not np.array_equal(need_of_it.unsafe, need.unsafe[own.ravel()]):
            raise ScopeError(
                "need_not_of_rules_by_section",
                "the need marks other cells as unsafe than the rules do, section by section",
                where="blocks, rules",
                fix="assess the whole table with the same rules; each must judge a cell by its count alone",
            )
        hidden[place] = treat(part, need_of_it, own.ravel()).reshape(own.shape)
    for axis, dimension in enumerate(others):
        summed = np.tensordot(table.dimensions[dimension].closure.toarray(), hidden, axes=(1, axis))
        hidden = np.moveaxis(summed, 0, axis)
    withheld = np.zeros(table.n_cells, dtype=np.bool_)
    withheld[cells.ravel()] = (hidden > 0).ravel()
    return withheld


def sections(table: Table, others: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """List sections: positions among the leaf codes of the other variables, and among all their codes."""
    leaves = [table.dimensions[d].leaves for d in others]
    for place in product(*(range(len(codes)) for codes in leaves)):
        chosen = zip(others, leaves, place, strict=True)
        yield place, tuple(table.dimensions[d].position[codes[k]] for d, codes, k in chosen)


def refuse_sections(table: Table, variables: Sequence[str], rules: Sequence[Rule]) -> None:
    """Raise unless sections are two-way tables of counts, and a sum is unsafe only if a part is."""
    names = [d.name for d in table.dimensions]
    for name in variables:
        if name not in names:
            raise ParameterError(
                "variable_not_in_table",
                "the table has no variable {variable!r}",
                where="blocks, sections",
                fix=did_you_mean(name, names),
                variable=name,
            )
    if len(names) != len(set(variables)) + 2:
        raise ParameterError(
            "section_variables",
            "{n} variable(s) are left within a section; it is to have two",
            where="blocks, sections",
            fix="name all variables but two",
            n=len(names) - len(set(variables)),
        )
    plain = all(
        isinstance(rule, MinFrequency) and not rule.weighted and rule.percent is None for rule in rules
    )
    if not plain or not of_counts(table) or table.fixed is not None:
        raise ScopeError(
            "sections_need_counts",
            "sections are treated of counts without fixed cells, with rules that call small counts unsafe",
            where="blocks, sections",
            fix="use MinFrequency, or protect two-way tables",
        )
