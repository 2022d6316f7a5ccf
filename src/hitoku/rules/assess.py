"""Combination of rules on one table: unsafe cells, and their required protection.

Cells of a magnitude table are unsafe, too, if their count is suppressed and the magnitude would reveal it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import NeedError, ParameterError, RuleError, must_not_be_a_class, some
from hitoku.model import Floats, Mask, Need, Table
from hitoku.rules.given import Given
from hitoku.rules.group_size import require_groups
from hitoku.rules.levels import DEFAULT_PERCENT, percent_of_value
from hitoku.rules.rule import Rule

# Reason recorded in a need.
FROM_COUNTS = "frequency_table"


def merge_withheld(table: Table, need: Need, withheld: Mask, share: ArrayLike) -> Need:
    """Add the cells whose count is suppressed to a need; the required width is a share of their size.

    Examples
    --------
    >>> table = Table.from_array([[30.5, 8.0], [4.0, 61.0]])
    >>> merged = merge_withheld(table, Need(unsafe=table.value < 0), table.value == 8.0, 0.5)
    >>> int(merged.unsafe.sum()), float(merged.width.max())
    (1, 4.0)
    """
    width = np.where(withheld, np.asarray(share) * np.abs(table.value), 0.0)
    return Need.merge([need, Need(unsafe=withheld, width=width, rules={FROM_COUNTS: withheld})])


def assess(
    table: Table, rules: Sequence[Rule], width: ArrayLike | None = None, *, groups: bool = True
) -> Need:
    """Apply rules to a table: a cell is unsafe if one of them flags it; its levels are the largest.

    Adding a rule never lowers the requirements of the others. Rules about groups (direct, group and
    k-disclosure) assess linked tables (:func:`hitoku.link`) together, and each of them separately.

    Parameters
    ----------
    table
        Table to assess.
    rules
        One rule or more, such as ``[MinFrequency(5), PPercent(10)]``.
    width
        Required length of the inferable interval of every unsafe cell, one number or one per cell, in
        addition to the levels of rules. Default: a cell for which a rule sets no levels gets a range of 20
        percent of its value in either direction, at least one unit, within known bounds.
    groups
        Whether counts that :class:`MinFrequency` or :class:`FewContributors` flags must also be able to hold
        n units, so that no group that can be derived from published cells has fewer.

    Returns
    -------
    Need
        Unsafe cells and their levels, with the rules of each cell by name; a second rule of a kind is called
        "p_percent 2".

    Raises
    ------
    ParameterError
        If the rules are not a list, or the width is invalid.
    RuleError
        If an object is not a rule, or a rule does not suit the table.
    NeedError
        If an unsafe cell must stay published (``table.fixed``).

    Examples
    --------
    >>> from hitoku.rules import MinFrequency
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> need = assess(table, [MinFrequency(5)], width=9)
    >>> need, float(need.upper[4]), float(need.width[4])
    (Need(1 of 9 cells unsafe: min_frequency 1), 0.0, 9.0)
    """
    _refuse_strangers(rules)
    needs: list[Need] = []
    names: dict[str, int] = {}
    for rule in rules:
        need = _in_every_table(table, rule)
        if table.hidden is not None and not isinstance(rule, Given):
            need = need.only(table.shown)
        if len(need) != table.n_cells:
            raise RuleError(
                "rule_size",
                "the rule judged {n_judged} cells of a table of {n_cells}",
                where="rule {rule}",
                fix="a rule returns one verdict per cell",
                n_judged=len(need),
                n_cells=table.n_cells,
                rule=name_of(rule),
            )
        name = name_of(rule)
        names[name] = names.get(name, 0) + 1
        if names[name] > 1:
            name = f"{name} {names[name]}"
        if width is not None and getattr(rule, "yields_to_width", False):
            need = Need(unsafe=need.unsafe)
        if width is None:
            # Before merging: a small level of one rule must not replace the default range of another.
            need = _with_default_range(table, need)
        needs.append(replace(need, rules={name: need.unsafe}))
    merged = Need.merge(needs)
    _refuse_fixed(table, merged)
    need = merged if width is None else _with_width(table, merged, width)
    return require_groups(table, rules, need) if groups else need


def name_of(rule: Rule) -> str:
    """Return the name of a rule in reports: its own, or its class name in snake case.

    It does not contain parameters: a published report names the rule, not its p.

    Examples
    --------
    >>> from hitoku.rules import PPercent
    >>> name_of(PPercent(10))
    'p_percent'
    """
    named = getattr(rule, "name", None)
    if isinstance(named, str) and named:
        return named
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(rule).__name__).lower()


def _in_every_table(table: Table, rule: Rule) -> Need:
    """Return the need of a rule for a table and, if it is about groups, for each of its linked tables.

    Groups follow from the hierarchies of a table's own variables. A cell of linked tables has the labels of
    one of them, and some sums are in none of them, so some groups are not visible in the whole.
    """
    whole = rule.assess(table)
    if not table.linked or not getattr(rule, "about_groups", False):
        return whole
    needs = [whole]
    for part, cells in table.linked_tables():
        try:
            own = rule.assess(part)
        except RuleError:
            # The rule names variables and codes of the whole that this table does not have.
            continue
        needs.append(own.placed(cells, table.n_cells))
    return Need.merge(needs)


def _refuse_strangers(rules: object) -> None:
    if isinstance(rules, Rule):
        raise ParameterError(
            "rules_is_one_rule", "rules is one rule, not a list", where="rules", fix="write [rule]"
        )
    if not isinstance(rules, Sequence) or isinstance(rules, str):
        raise ParameterError(
            "rules_not_a_list",
            "rules is of type {kind}, not a list of rules",
            where="rules",
            fix="write [MinFrequency(5)]",
            kind=type(rules).__name__,
        )
    if not rules:
        raise RuleError(
            "no_rules", "no rules to apply", where="rules", fix="give at least one, such as MinFrequency(5)"
        )
    for place, rule in enumerate(rules, start=1):
        must_not_be_a_class(rule, f"rule {place}")
        if not isinstance(rule, Rule):
            raise ParameterError(
                "not_a_rule",
                "an object of type {kind} is not a rule",
                where="rule {rule}",
                fix="a rule has a method assess(table) that returns a Need",
                kind=type(rule).__name__,
                rule=place,
            )


def _refuse_fixed(table: Table, need: Need) -> None:
    if table.fixed is None:
        return
    places = np.flatnonzero(table.fixed & need.unsafe)
    if len(places):
        raise NeedError(
            "unsafe_cells_must_be_kept",
            "{n} unsafe cell(s) may not be withheld",
            where="; ".join(f"cell {table.describe(int(p))} ({some(need.why(int(p)))})" for p in places[:3]),
            fix="free these cells in the table (fixed), or leave them out of what is published",
            n=len(places),
        )


def _with_default_range(table: Table, need: Need) -> Need:
    bare: Mask = need.unsafe & (need.lower == 0) & (need.upper == 0) & (need.width == 0)
    level = np.where(bare, percent_of_value(table, DEFAULT_PERCENT), 0.0)
    return replace(
        need,
        lower=np.maximum(need.lower, np.minimum(level, table.value - table.lower)),
        upper=np.maximum(need.upper, np.minimum(level, table.upper - table.value)),
    )


def _with_width(table: Table, need: Need, width: ArrayLike) -> Need:
    try:
        asked: Floats = np.asarray(width, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            "width_not_a_number",
            "width is not a number",
            where="width",
            fix="give one number, or one per cell",
        ) from error
    if asked.ndim and asked.shape != (table.n_cells,):
        raise ParameterError(
            "width_shape",
            "width has shape {shape}, the table {n_cells} cells",
            where="width",
            fix="give one number, or one per cell in the order of table.cells",
            shape=asked.shape,
            n_cells=table.n_cells,
        )
    if not np.isfinite(asked).all() or np.any(asked < 0):
        raise ParameterError(
            "width_not_finite",
            "a width is negative or not finite",
            where="width",
            fix="widths are lengths and start at 0",
        )
    return replace(need, width=np.maximum(need.width, np.where(need.unsafe, asked, 0.0)))
