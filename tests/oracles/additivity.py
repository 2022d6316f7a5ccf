"""What a table's cells and relations are, written out cell by cell with plain dictionaries."""

from __future__ import annotations

import itertools
from collections.abc import Sequence


def leaves_below(code: str, splits: Sequence[tuple[str, Sequence[str]]]) -> set[str]:
    """Leaves of a code, by following any one of its splits down."""
    for whole, parts in splits:
        if whole == code:
            return set().union(*(leaves_below(part, splits) for part in parts))
    return {code}


def every_cell(leaf_values, splits_per_variable, codes_per_variable):
    """Value of each combination of codes: the sum over the leaf cells below it."""
    cells = {}
    for combination in itertools.product(*codes_per_variable):
        below = [leaves_below(c, s) for c, s in zip(combination, splits_per_variable, strict=True)]
        cells[combination] = sum(leaf_values.get(leaf, 0) for leaf in itertools.product(*below))
    return cells


def every_relation(splits_per_variable, codes_per_variable):
    """Each sum along one variable, the others held: a set of {combination: sign}."""
    relations = set()
    for variable, splits in enumerate(splits_per_variable):
        others = [codes if v != variable else [None] for v, codes in enumerate(codes_per_variable)]
        for held in itertools.product(*others):
            for whole, parts in splits:
                row = {(*held[:variable], part, *held[variable + 1 :]): 1 for part in parts}
                row[(*held[:variable], whole, *held[variable + 1 :])] = -1
                relations.add(frozenset(row.items()))
    return relations
