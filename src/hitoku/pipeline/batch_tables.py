"""The tables of a batch, made from records or read from a file, with their costs and unsafe cells.

The rules of a τ-ARGUS batch applied to a table, with manual marks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.errors import DataError, HitokuError, TableError
from hitoku.io.argus import (
    BY_HAND,
    COUNT,
    EMPTY,
    FREQUENCY_COST,
    PROTECTED,
    SECONDARY,
    UNIT_COST,
    UNSAFE,
    Additivity,
    ArgusStatus,
    GivenTable,
    GroupRecode,
    Judged,
    Marks,
    Ready,
    Safety,
    TreeRecode,
    Variable,
    apply_apriori,
    read_apriori,
    read_microdata,
    read_recode,
    read_table,
    tree_of,
)
from hitoku.messages import Text
from hitoku.model import Contributors, Floats, Hierarchy, Integers, Mask, Need, Table
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
from hitoku.tabulation import tabulate

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
        Rules of the batch.
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
        _set_levels(blank, name, rule.assess(table), percent, exempt)
        for name, rule, percent in _rules(safety, shares or {}, weighted_counts=safety.weighted)
    ]
    if marks is not None and marks.unsafe.any():
        needs.append(_set_levels(blank, BY_HAND, _marked_need(blank, marks), None, empty))
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


def _set_levels(judged: Judged, name: str, need: Need, percent: float | None, exempt: Mask) -> Need:
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


def _within(level: Floats, slack: Floats, least: float) -> Floats:
    return np.minimum(np.maximum(level, least), slack)


# Names each record, so that it is a separate contributor even if holdings are known.
RECORD = "\0record"
ADDITIVITY: dict[str, Additivity] = {"0": "check", "1": "recompute", "1T": "recompute", "2": "open"}
# Words in the place of a variable that do not name one.
NO_VARIABLE = ("", COUNT, FREQUENCY_COST, UNIT_COST)


@dataclass(slots=True)
class Sources:
    """Files of records that were already read: several tables may use one file."""

    frames: dict[tuple[Path, tuple[str, ...]], Any] = field(default_factory=dict)

    def records(self, ready: Ready) -> Any:
        """Return the records of a table with the variables that it uses, so that others may be missing."""
        asked, safety = ready.asked, ready.asked.safety
        roles = {"weight": safety.weighted, "holding": safety.holdings, "request": bool(safety.req)}
        quantities = (asked.response, asked.shadow, asked.cost)
        names = {*asked.by, *(name for name in quantities if name not in NO_VARIABLE)}
        names |= {v.name for role, used in roles.items() if used and (v := ready.variable(role)) is not None}
        key = ready.data, tuple(v.name for v in ready.metadata.variables if v.name in names)
        if key not in self.frames:
            self.frames[key] = read_microdata(ready.data, ready.metadata, variables=key[1])
        return self.frames[key]


def build(ready: Ready, sources: Sources) -> tuple[Judged, list[str]]:
    """Make one table and assess its cells; return also lines for the logbook."""
    notes: list[str] = []
    with _blaming(f"table {ready.asked.number} (line {ready.asked.line} of the batch)"):
        judged = _from_records(ready, sources, notes) if ready.asked.records else _from_file(ready, notes)
    for one in ready.asked.apriori:
        path = ready.files[one.file]
        entries, unread = read_apriori(path, len(ready.asked.by), one.separator, ignore=one.ignore)
        judged, passed_over = apply_apriori(
            judged, entries, ignore=one.ignore, expand=one.expand, where=path.name
        )
        if entries and len(passed_over) == len(entries):
            raise DataError(
                "apriori_lines_not_applied",
                "none of the {n} lines can be applied; the first: {first}",
                where="a priori file {file}",
                fix="check that its codes, and their order, are those of the table",
                n=len(entries),
                first=passed_over[0],
                file=path.name,
            )
        notes.append(f"a priori file {path.name}: {len(entries) - len(passed_over)} lines applied")
        notes += [f"passed over: {line}" for line in (*unread, *passed_over)]
    return judged, notes


def _from_file(ready: Ready, notes: list[str]) -> Judged:
    asked = ready.asked
    given = _read_given(ready, ADDITIVITY[asked.additivity])
    shown = None
    if not given.table.additive:
        # Readers assume that the table adds up, apart from rounding: it is protected as if it did.
        shown = given.table.value
        given = _read_given(ready, "recompute")
        notes.append("the table does not add up: it is protected as if its totals were those of its parts")
    table, status = given.table, given.status
    nowhere, nothing = np.zeros(table.n_cells, dtype=bool), np.zeros(table.n_cells)
    empty = nowhere if table.fixed is None else table.fixed & (table.value == 0)
    marks = None
    if status is not None:
        empty = status == EMPTY
        marks = Marks(
            unsafe=status == UNSAFE,
            protected=status == PROTECTED,
            withheld=status == SECONDARY,
            lower=nothing if given.lower is None else given.lower,
            upper=nothing if given.upper is None else given.upper,
        )
        if asked.safety.by_rule and marks.unsafe.any():
            notes.append("cells that the file marks as unsafe are unsafe, whatever the rules say")
    own = None if asked.cost in NO_VARIABLE else table.cost
    # Counts are known to be integers; for a quantity without decimals attackers are not assumed to use that.
    table = replace(
        table,
        cost=_cost(asked.cost, table, own, 10.0**-ready.decimals),
        integer=asked.response == COUNT,
        units=table.units
        if table.frequency is None
        else table.units or _count_contributors(table.frequency, table),
    )
    missing = _missing(table, {v.name: {code.strip() for code in v.missing} for v in ready.metadata.spanning})
    judged = judge(table, asked.safety, decimals=ready.decimals, marks=marks, missing=missing, empty=empty)
    if marks is not None and np.any(marks.protected & judged.need.unsafe):
        both = int(np.sum(marks.protected & judged.need.unsafe))
        notes.append(f"{both} cell(s) are marked as protected but unsafe by a rule: they are withheld")
    return replace(judged, shown=shown)


def _read_given(ready: Ready, additivity: Additivity) -> GivenTable:
    asked = ready.asked
    try:
        return read_table(
            ready.data,
            ready.metadata,
            by=asked.by,
            value=asked.response,
            additivity=additivity,
            keep_status=asked.additivity != "1",
        )
    except TableError as error:
        fix = "correct these totals or their parts, or write <READTABLE> 1, which adds the totals up again"
        raise error.copy_as(fix=fix) from error


def _count_contributors(frequency: Integers, table: Table) -> Contributors:
    """Return contributors with only their number: enough to identify sole contributors."""
    return Contributors(count=frequency, largest=np.zeros((table.n_cells, 0)), total=table.value)


def _missing(table: Table, codes: Mapping[str, set[str]]) -> Mask:
    """Return which cells have a missing code."""
    missing = np.zeros(table.n_cells, dtype=bool)
    for place, dimension in enumerate(table.dimensions):
        unknown = [code.strip() in codes[dimension.name] for code in dimension.codes]
        missing |= np.array(unknown)[table.labels.column(place)]
    return missing


@dataclass(frozen=True, slots=True)
class _Recoded:
    """Records with the codes that a table requires."""

    frame: Any
    trees: dict[str, Hierarchy]
    missing: dict[str, set[str]]


def _from_records(ready: Ready, sources: Sources, notes: list[str]) -> Judged:
    asked, safety = ready.asked, ready.asked.safety
    recoded = _apply_recodings(ready, sources.records(ready), notes)
    options: dict[str, Any] = {"hierarchies": recoded.trees, "magnitude": "abs", "top": max(safety.top, 2)}
    weight, holding = ready.variable("weight"), ready.variable("holding")
    if safety.weighted and weight is not None:
        options["weight"] = weight.name
    if safety.holdings and holding is not None:
        options |= {"holding": holding.name, "unit": RECORD}
    frame = recoded.frame.assign(**{RECORD: np.arange(len(recoded.frame))})

    def added(variable: str, records: Any = frame) -> Table:
        return tabulate(records, asked.by, value=variable, **options)

    if asked.response == COUNT:
        table = tabulate(frame, asked.by, measure="count", **options)
    else:
        table = replace(added(asked.response), integer=False)
    if asked.shadow:
        other = added(asked.shadow)
        table = replace(table, units=other.units, holdings=other.holdings)
    if table.contributors is not None and table.contributors.negative:
        notes.append("some contributions are below zero: rules rank all by size")
    step = 10.0**-ready.decimals
    own = None if asked.cost in NO_VARIABLE else added(asked.cost).value
    table = replace(table, cost=_cost(asked.cost, table, own, step))
    shares = {}
    request = ready.variable("request")
    if safety.req and request is not None:
        for number, code in enumerate(request.request, 1):
            asking = frame[frame[request.name].astype(str).str.strip() == code.strip()]
            if len(asking):
                shares[number] = _share(table, added(asked.shadow or asked.response, asking))
    missing = _missing(table, recoded.missing)
    return judge(table, safety, decimals=ready.decimals, missing=missing, shares=shares)


def _apply_recodings(ready: Ready, frame: Any, notes: list[str]) -> _Recoded:
    """Apply the recodings of a table, and determine the hierarchy of every variable."""
    trees: dict[str, Hierarchy] = {}
    missing: dict[str, set[str]] = {}
    for name in ready.asked.by:
        variable = ready.metadata.variable(name)
        # The program lists missing codes whether they occur or not.
        absent = [code.rjust(variable.length or 0) for code in variable.missing]
        missing[name] = {code.strip() for code in variable.missing}
        recodings = [one for one in ready.asked.recodings if one.variable == name]
        if not recodings:
            trees[name] = tree_of(variable, ready.metadata, [*frame[name].unique(), *absent])
        for one in recodings:
            with _blaming(f"line {one.line} of the batch"):
                frame, trees[name] = _recode(ready, variable, frame, one, missing)
            notes.append(f"{name} recoded: {len(trees[name].leaves)} categories are left")
    return _Recoded(frame, trees, missing)


def _recode(
    ready: Ready, variable: Variable, frame: Any, one: Any, missing: dict[str, set[str]]
) -> tuple[Any, Hierarchy]:
    name = variable.name
    absent = [code.rjust(variable.length or 0) for code in variable.missing]
    recode = None if one.level is not None else read_recode(ready.files[one.file])
    if isinstance(recode, GroupRecode):
        if variable.hierarchical:
            raise DataError(
                "tree_not_recoded",
                "{variable} has a tree: its codes are not put together by rules",
                where=one.file,
                fix="close branches: <TREERECODE> and the codes to close, or a level",
                variable=name,
            )
        known = list(dict.fromkeys([*frame[name], *absent]))
        new = recode.recoded(known, missing=variable.missing, length=variable.length)
        missing[name] = {code.strip() for code in recode.missing} or missing[name]
        tree = Hierarchy.flat(sorted(set(new.values())), variable.total)
    else:
        whole = tree_of(variable, ready.metadata, [*frame[name].unique(), *absent])
        closing = TreeRecode.below(whole, one.level) if recode is None else recode
        new, tree = closing.recoded(whole), closing.pruned(whole)
    return frame.assign(**{name: frame[name].map(new)}), tree


def _cost(asked: str, table: Table, own: Floats | None, step: float) -> Floats:
    """Return the cost of suppressing each cell; a zero costs the last decimal, not zero."""
    if asked == UNIT_COST:
        return np.ones(table.n_cells)
    if asked == FREQUENCY_COST and table.frequency is not None:
        return table.frequency.astype(np.float64)
    return np.maximum(np.abs(table.value if own is None else own), step)


def _share(table: Table, asking: Table) -> Floats:
    """Return the largest contribution of those who requested protection, as a share of the total."""
    who, all_of_them = asking.contributors, table.contributors
    if who is None or all_of_them is None:
        return np.zeros(table.n_cells)
    largest, total = who.largest[:, 0], all_of_them.total
    share = np.divide(largest, total, out=np.zeros(table.n_cells), where=total > 0)
    return np.minimum(share, 1.0)


@contextmanager
def _blaming(place: str) -> Iterator[None]:
    """Add a location to errors."""
    try:
        yield
    except HitokuError as error:
        where = Text("{place}, {where}", place=place, where=error.where) if error.where else place
        raise error.copy_as(where=where) from error
