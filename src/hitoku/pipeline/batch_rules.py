"""The rules of a τ-ARGUS batch applied to a table, with manual marks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from hitoku.io.argus import BY_HAND, ArgusStatus, Judged, Marks, Safety
from hitoku.model import Floats, Integers, Mask, Need, Table
from hitoku.rules import (
    Dominance,
    FewContributors,
    Level,
    MinFrequency,
    PPercent,
    PriorPosterior,
    Request,
    Rule,
    Zero,
    name_of,
)

# The first rule that flags a cell determines its status, in this order.
ORDER = ("dominance", "p_percent", "prior_posterior", "request", "min_frequency", "few_contributors", "zero")
STATUS_OF = {
    "request": ArgusStatus.REQUEST,
    "min_frequency": ArgusStatus.FREQUENCY,
    "few_contributors": ArgusStatus.FREQUENCY,
    "zero": ArgusStatus.ZERO,
}


def judge(
    table: Table,
    safety: Safety,
    *,
    decimals: int = 0,
    marks: Marks | None = None,
    missing: Mask | None = None,
    shares: Mapping[int, Floats] | None = None,
    empty: Mask | None = None,
) -> Judged:
    """Apply the rules of a batch to a table.

    Levels are the largest of all rules, limited by known bounds, and at least one unit of
    the last decimal. Empty cells stay published.

    Parameters
    ----------
    table
        The table, with contributors if rules need them.
    safety
        The rules.
    decimals
        Number of decimals of the values.
    marks
        Manual marks of cells, which apply in addition to the rules.
    missing
        Cells with a missing code, which ``MIS(1)`` declares safe.
    shares
        For request codes 1 and 2: the largest contribution of requesters, as a share of the total.
    empty
        Empty cells. Default: those with frequency and value zero.

    Examples
    --------
    >>> from hitoku.io.argus import parse_safety
    >>> from hitoku.testing import one_cell
    >>> judged = judge(one_cell(80, 15, 5), parse_safety("P(10,1)|FREQ(5,20)", print))
    >>> int(judged.status[0]), judged.need.why(0), float(judged.need.upper[0])
    (3, ('p_percent', 'min_frequency'), 20.0)
    """
    n = table.n_cells
    if empty is None:
        no_respondents = np.zeros(n, dtype=bool) if table.frequency is None else table.frequency == 0
        empty = no_respondents & (table.value == 0)
    blank = Judged(
        table=table,
        need=Need(unsafe=np.zeros(n, dtype=bool)),
        status=np.full(n, int(ArgusStatus.SAFE)),
        safety=safety,
        decimals=decimals,
    )
    exempt = empty.copy()
    if missing is not None and safety.missing_safe:
        exempt |= missing
    needs = [
        _levelled(blank, name, rule.assess(table), percent, exempt)
        for name, rule, percent in _rules(safety, shares or {}, weighted_counts=safety.weighted)
    ]
    if marks is not None and marks.unsafe.any():
        needs.append(_levelled(blank, BY_HAND, _marked_need(blank, marks), None, empty))
    need = Need.merge(needs) if needs else blank.need
    stay = np.zeros(n, dtype=bool) if table.fixed is None else table.fixed & ~need.unsafe
    if marks is not None:
        stay = stay | (marks.protected & ~need.unsafe)
    status = _statuses(need, safety, marks)
    status[stay] = ArgusStatus.PROTECTED
    status[empty] = ArgusStatus.EMPTY
    fixed = empty | stay
    table = replace(table, fixed=fixed if fixed.any() else None)
    return Judged(table=table, need=need, status=status, safety=safety, decimals=decimals)


def _marked_need(judged: Judged, marks: Marks) -> Need:
    """Return manually given levels; a cell marked without levels gets the range of manual marks."""
    lower, upper = (np.where(marks.unsafe, level, 0.0) for level in (marks.lower, marks.upper))
    bare = (lower == 0) & (upper == 0)
    asked = np.where(bare & marks.unsafe, judged.range_of(judged.safety.manual), 0.0)
    return Need(unsafe=marks.unsafe, lower=np.maximum(lower, asked), upper=np.maximum(upper, asked))


def _statuses(need: Need, safety: Safety, marks: Marks | None) -> Integers:
    """Return the status number of every cell in τ-ARGUS: of several rules the first in its order."""
    # Without rules every status comes from a file, including those of safe cells.
    by_file = marks is not None and not safety.by_rule
    status = np.full(len(need), int(ArgusStatus.SAFE_BY_HAND if by_file else ArgusStatus.SAFE))
    if BY_HAND in need.rules:
        status[need.rules[BY_HAND]] = ArgusStatus.BY_HAND
    for kind in reversed(ORDER):
        for name, hits in need.rules.items():
            if name.split(" ")[0] == kind:
                status[hits] = STATUS_OF.get(kind, ArgusStatus.RULE)
    if marks is not None:
        status[marks.withheld & ~need.unsafe] = ArgusStatus.SECONDARY_BY_HAND
    return status


def _rules(
    safety: Safety, shares: Mapping[int, Floats], *, weighted_counts: bool
) -> list[tuple[str, Rule, float | None]]:
    """Return hitoku's rules with the name of each in a need, and the range of those that only flag."""

    def level(holding: bool) -> Level:
        return "holding" if holding else "unit"

    rules: list[tuple[Rule, float | None]] = [
        (Dominance(rule.n, rule.k, level(rule.holding)), None) for rule in safety.nk
    ]
    for one in safety.p:
        if one.q == 100:
            rules.append((PPercent(one.p, one.n, level(one.holding)), None))
        else:
            rules.append((PriorPosterior(one.p, one.q, one.n, level(one.holding)), None))
    for asked in safety.req:
        rules += [
            (Request(p=percent, n=asked.least, share=shares[code], level=level(asked.holding)), asked.percent)
            for code, percent in ((1, asked.first), (2, asked.second))
            if percent and code in shares
        ]
    for few in safety.freq:
        if few.holding:
            rules.append((FewContributors(few.least, "holding"), few.percent))
        else:
            rules.append((MinFrequency(few.least, weighted=weighted_counts), few.percent))
    if safety.zero is not None:
        rules.append((Zero(upper=safety.zero, level="unit"), None))
    named: list[tuple[str, Rule, float | None]] = []
    for rule, percent in rules:
        name = name_of(rule)
        times = sum(known.split(" ")[0] == name for known, _, _ in named)
        named.append((f"{name} {times + 1}" if times else name, rule, percent))
    return named


def _levelled(judged: Judged, name: str, need: Need, percent: float | None, exempt: Mask) -> Need:
    """Set the levels of a rule's cells, without those that are exempt."""
    table, unsafe = judged.table, need.unsafe & ~exempt
    lower, upper = (need.lower, need.upper) if percent is None else (judged.range_of(percent),) * 2
    # A cell of zeros is protected upwards only.
    zeros = name == "zero"
    return Need(
        unsafe=unsafe,
        lower=np.where(unsafe, _within(lower, table.value - table.lower, 0.0 if zeros else judged.step), 0.0),
        upper=np.where(unsafe, _within(upper, table.upper - table.value, judged.step), 0.0),
        rules={name: unsafe},
    )


def _within(level: Floats, room: Floats, least: float) -> Floats:
    return np.minimum(np.maximum(level, least), room)
