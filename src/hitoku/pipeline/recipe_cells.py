"""Cells that a recipe names by their codes, and empty cells that it suppresses in its counts.

If no value is negative, a sum of zero reveals that the cell has no records, or only records of
zero. Suppressing an empty cell in the counts, so that members of a group could be in it, is then pointless.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from hitoku.errors import did_you_mean, some
from hitoku.evidence import Outcome
from hitoku.io.recipe import UNLESS_UNSAFE, Recipe
from hitoku.model import Floats, Integers, Labels, Mask, Table
from hitoku.pipeline.recipe_tables import Built, Parts
from hitoku.rules import FROM_COUNTS, Given, Rule, assess
from hitoku.toml import KeyPath, Origin

# Table to be protected, with the tables that it consists of.
Whole = tuple[Table, Parts]
Selection = Mapping[str, Sequence[str]]


def cells_for(recipe: Recipe, wholes: Sequence[Whole]) -> list[dict[str, Mask]]:
    """Return the cells that a recipe names for the method; never those that no table shows."""
    keys = recipe.keys
    yielding = [UNLESS_UNSAFE in selection for selection in keys.keep]
    named = [
        {name: codes for name, codes in selection.items() if name != UNLESS_UNSAFE} for selection in keys.keep
    ]
    keep = [select(wholes, codes, ("keep", place), recipe.origin) for place, codes in enumerate(named)]
    if any(yielding):
        rules = rules_for(recipe, wholes)
        unsafe = [
            assess(table, asked, width=keys.width, groups=False).unsafe
            for (table, _), asked in zip(wholes, rules, strict=True)
        ]
        keep = [
            [mask & ~hit for mask, hit in zip(masks, unsafe, strict=True)] if yields else masks
            for masks, yields in zip(keep, yielding, strict=True)
        ]
    others = {
        name: [
            select(wholes, selection, (name, place), recipe.origin)
            for place, selection in enumerate(getattr(keys, name))
        ]
        for name in ("withhold", "forced")
    }
    return [
        {name: _any_of(masks, number, table) for name, masks in ({"keep": keep} | others).items()}
        for number, (table, _) in enumerate(wholes)
    ]


def rules_for(recipe: Recipe, wholes: Sequence[Whole]) -> list[list[Rule]]:
    """Return the rules of a recipe for each group, with the cells that it marks unsafe itself."""
    found = [
        select(wholes, selection, ("unsafe", place), recipe.origin)
        for place, selection in enumerate(recipe.keys.unsafe)
    ]
    unsafe = [_any_of(found, number, table) for number, (table, _) in enumerate(wholes)]
    return [[*recipe.rules, *([Given(mask)] if mask.any() else [])] for mask in unsafe]


def _any_of(found: Sequence[Sequence[Mask]], number: int, table: Table) -> Mask:
    """Return the shown cells of one group that are in one of several selections."""
    every = np.zeros(table.n_cells, dtype=bool)
    for masks in found:
        every |= masks[number]
    return every & table.shown


def cost_factors(recipe: Recipe, wholes: Sequence[Whole]) -> list[Floats]:
    """Return the factors on the costs of cells, for each group."""
    factors = [np.ones(table.n_cells) for table, _ in wholes]
    for place, entry in enumerate(recipe.keys.costs):
        for factor, cells in zip(
            factors, select(wholes, entry.cells, ("costs", place, "cells"), recipe.origin), strict=True
        ):
            factor[cells] *= entry.times
    return factors


def select(wholes: Sequence[Whole], selection: Selection, at: KeyPath, origin: Origin) -> list[Mask]:
    """Return the cells with certain codes in each group; at least one group has one.

    A variable that is not named may have any code. A cell of several linked tables has the codes of each of
    them, and in a table without a variable cells are at its total.

    Examples
    --------
    >>> table = Table.from_array([[1, 2], [3, 1]], names=["region", "size"], codes=[["N", "S"], ["1", "2"]])
    >>> select([(table, {})], {"region": ["N"], "size": ["1", "2"]}, ("keep", 0), Origin())[0].nonzero()[0]
    array([0, 1])
    """
    totals: dict[str, str] = {}
    for name, wanted in selection.items():
        having = [table.labels for table, _ in wholes if name in table.labels.names]
        listed = [labels.codes[labels.names.index(name)] for labels in having]
        if not having:
            names = dict.fromkeys(name for table, _ in wholes for name in table.labels.names)
            fix = did_you_mean(name, list(names))
            raise origin.error(
                (*at, name),
                "variable_not_in_table",
                "the table has no variable {variable!r}",
                fix,
                variable=name,
            )
        known = dict.fromkeys(code for codes in listed for code in codes)
        for code in wanted:
            if code not in known:
                fix = did_you_mean(code, list(known))
                raise origin.error(
                    (*at, name),
                    "variable_without_code",
                    "{variable} has no code {code!r}",
                    fix,
                    variable=name,
                    code=code,
                )
        totals[name] = listed[0][-1]
    found = []
    for table, parts in wholes:
        mask = _with_codes(table.labels, selection, totals)
        for part, cells in parts.values():
            mask[cells[_with_codes(part.labels, selection, totals)]] = True
        found.append(mask)
    if not any(mask.any() for mask in found):
        named = some(f"{name}={'|'.join(codes)}" for name, codes in selection.items())
        raise origin.error(
            at,
            "no_cell_with_codes",
            "no cell has the codes {codes}",
            "choose codes of one table",
            codes=named,
        )
    return found


def _with_codes(labels: Labels, selection: Selection, totals: Mapping[str, str]) -> Mask:
    """Return the cells of one table with certain codes."""
    found = np.ones(len(labels), dtype=bool)
    for name, wanted in selection.items():
        if name in labels.names:
            variable = labels.names.index(name)
            places = [place for place, code in enumerate(labels.codes[variable]) if code in wanted]
            found &= np.isin(labels.column(variable), places)
        else:
            found &= totals[name] in wanted
    return found


# The file and the filter of a table, and the codes of a cell that are not totals.
Key = tuple[Any, ...]


class EmptyInCounts(Given):
    """Empty cells that are suppressed in the counts: they must not be derivable from the sums either."""

    __slots__ = ()
    name: ClassVar[str] = FROM_COUNTS


def sums_beside_counts(recipe: Recipe, groups: Sequence[Built]) -> Mask:
    """Return which groups of tables are sums of records that other groups count: these come later."""
    every = [list(_tables(group)) for group in groups]
    counted = {_records(recipe, name) for names in every for name in names if _counts(recipe, name)}
    waits = [
        not any(_counts(recipe, name) for name in names)
        and any(_records(recipe, name) in counted for name in names)
        for names in every
    ]
    return np.array(waits, dtype=np.bool_)


def withheld_empty_cells(
    recipe: Recipe, groups: Sequence[Built], done: Mapping[int, Mapping[str, Outcome]], sums: Built
) -> list[EmptyInCounts]:
    """Return a rule for cells of a group of sums that are empty and suppressed in counts; empty without any.

    Parameters
    ----------
    recipe, groups
        The recipe and its groups of tables.
    done
        Outcomes of the groups of counts, by position.
    sums
        Group of sums.
    """
    withheld: set[Key] = set()
    for place, outcomes in done.items():
        release = outcomes["table"].release
        for name, (table, cells) in _tables(groups[place]).items():
            if _counts(recipe, name) and table.frequency is not None:
                empty = (table.frequency == 0) & release.withheld[cells]
                withheld |= set(_keys(recipe, name, table, np.flatnonzero(empty)))
    marked = np.zeros(sums.table.n_cells, dtype=np.bool_)
    for name, (table, cells) in _tables(sums).items():
        possible = np.flatnonzero((table.value == 0) & (table.lower >= 0))
        for cell, key in zip(possible, _keys(recipe, name, table, possible), strict=True):
            marked[cells[cell]] |= key in withheld
    return [EmptyInCounts(marked, percent=None)] if marked.any() else []


def _tables(group: Built) -> Mapping[str, tuple[Table, Integers]]:
    return group.parts or {group.name: (group.table, np.arange(group.table.n_cells))}


def _counts(recipe: Recipe, name: str) -> bool:
    keys = recipe.tables[name]
    return keys.data is not None and keys.value is None


def _records(recipe: Recipe, name: str) -> Key:
    keys = recipe.tables[name]
    kept = tuple(sorted((column, *sorted(codes)) for column, codes in (keys.where or {}).items()))
    return keys.data, kept


def _keys(recipe: Recipe, name: str, table: Table, cells: Integers) -> Iterator[Key]:
    totals = {dimension.name: dimension.total for dimension in table.dimensions}
    for cell in cells.tolist():
        codes = zip(table.labels.names, table.labels.codes_of(cell), strict=True)
        yield *_records(recipe, name), frozenset((v, code) for v, code in codes if code != totals.get(v))
