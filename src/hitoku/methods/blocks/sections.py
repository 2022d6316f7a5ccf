"""Two-way sections of a larger table, one by one: every section is a table of its own.

A section is what is left of a table when the codes of all other variables are fixed. Sections keep their own
totals, so what one does tells nothing about another. A sum over sections is withheld when one of its parts
is: that follows from the pattern. Why it is enough is in docs/explanation/blocks.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import ParameterError, ScopeError, did_you_mean
from hitoku.methods.blocks.terms import of_counts
from hitoku.model import Integers, Mask, Need, Table
from hitoku.rules.assess import assess
from hitoku.rules.min_frequency import MinFrequency
from hitoku.rules.rule import Rule

# Protects a section, given with its place among the cells of the table, and tells what is withheld.
Treat = Callable[[Table, Need, Integers], Mask]


def by_sections(
    table: Table, need: Need, variables: Sequence[str], rules: Sequence[Rule], width: ArrayLike, treat: Treat
) -> Mask:
    """Protect every section by itself, and withhold the sums over sections that would tell; over all cells.

    Parameters
    ----------
    table, need
        A table of counts with more than two variables, and its need.
    variables
        All variables but two: each combination of their codes is a section.
    rules, width
        As given to :func:`hitoku.assess`.
    treat
        Protects one section.
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
    """List sections: places among the undivided codes of the other variables, and among all their codes."""
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
