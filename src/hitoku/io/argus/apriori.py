"""A priori files (``.hst``): decisions about single cells before a method runs.

A line names the codes of a cell, an action, and its numbers: ``N1;B;u`` or ``South;B;c;1``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csgraph, csr_array

from hitoku.errors import DataError, OutputError, did_you_mean
from hitoku.io.argus.columns import BY_HAND, UNSAFE, ArgusStatus, Judged
from hitoku.io.argus.text import lines_of, quote, read_text, write_text
from hitoku.messages import Text
from hitoku.model import Integers, Need, Table

MARKS = {
    "s": ArgusStatus.SAFE_BY_HAND,
    "u": ArgusStatus.BY_HAND,
    "p": ArgusStatus.PROTECTED,
    "m": ArgusStatus.SECONDARY_BY_HAND,
    "ml": ArgusStatus.SECONDARY,
}
# Number of values of each action.
ACTIONS = {**dict.fromkeys(MARKS, 0), "c": 1, "w": 1, "pl": 2, "ab": 2}


class AprioriEntry(NamedTuple):
    """Line of the file: codes of a cell, action, and values."""

    codes: tuple[str, ...]
    action: str
    numbers: tuple[float, ...] = ()
    line: int = 0


class Applied(NamedTuple):
    """Cells after applying an a priori file, and skipped lines with reasons."""

    judged: Judged
    passed_over: tuple[str, ...]


class _RefusedError(DataError):
    """Error for a line that cannot be applied."""

    def __init__(self, code: str, template: str, fix: str = "", /, **fields: Any) -> None:
        super().__init__(code, template, fix=fix, **fields)


def read_apriori(
    path: str | Path, n_variables: int, separator: str = ";", *, ignore: bool = False
) -> tuple[tuple[AprioriEntry, ...], tuple[str, ...]]:
    """Read an a priori file.

    Parameters
    ----------
    path
        Path of the file.
    n_variables
        Number of codes in every line.
    separator
        Separator of a line. Default: semicolon.
    ignore
        Whether to skip unreadable lines, as τ-ARGUS does by default, instead of raising an error.

    Returns
    -------
    tuple
        The entries, and the lines passed over with their reasons.
    """
    name = Path(path).name
    entries: list[AprioriEntry] = []
    passed_over: list[str] = []
    for line in lines_of(read_text(path, "a priori file")):
        parts = [part.strip().strip('"').strip() for part in line.text.split(separator)]
        try:
            entries.append(_entry(parts, n_variables, line.number))
        except _RefusedError as refused:
            place = Text("{file}, line {line}", file=name, line=line.number)
            if not ignore:
                raise refused.copy_as(DataError, where=place) from None
            passed_over.append(Text("{place}: {what}", place=place, what=refused.what))
    return tuple(entries), tuple(passed_over)


def _entry(parts: Sequence[str], n_variables: int, line: int) -> AprioriEntry:
    if len(parts) <= n_variables:
        raise _RefusedError(
            "apriori_line_short",
            "{n} part(s) in a line; expected {n_variables} codes and an action",
            "check the separator, and give a code for every variable",
            n=len(parts),
            n_variables=n_variables,
        )
    codes, action, rest = tuple(parts[:n_variables]), parts[n_variables].lower(), parts[n_variables + 1 :]
    if action not in ACTIONS:
        raise _RefusedError(
            "apriori_action_unknown",
            "{action!r} is not an action",
            did_you_mean(action, ACTIONS),
            action=action,
        )
    try:
        # An empty field at the end of a line is ignored.
        numbers = tuple(float(word.replace(",", ".")) for word in rest if word)
    except ValueError:
        numbers = ()
    if len(numbers) != ACTIONS[action] or not np.isfinite(numbers).all():
        raise _RefusedError(
            "apriori_action_numbers",
            "action {action} takes {n} number(s)",
            "c takes a cost, pl and ab a lower and an upper number, the others none",
            action=action,
            n=ACTIONS[action],
        )
    return AprioriEntry(codes, action, numbers, line)


def write_apriori(path: str | Path, entries: Iterable[AprioriEntry], separator: str = ";") -> None:
    """Write an a priori file, without blanks around codes, as τ-ARGUS does."""
    lines = []
    for entry in entries:
        codes = [code.strip() for code in entry.codes]
        for code in codes:
            if separator in quote(code, "code") or code.startswith("//"):
                raise OutputError(
                    "code_not_for_apriori_file",
                    "code {code!r} cannot stand in an a priori file",
                    where=Path(path).name,
                    fix="codes there neither hold {separator!r} nor start with '//': rename it",
                    code=code,
                    separator=separator,
                )
        lines.append(separator.join([*codes, entry.action, *(f"{n:.15g}" for n in entry.numbers)]))
    write_text(path, lines, "a priori file")


def apply_apriori(
    judged: Judged,
    entries: Sequence[AprioriEntry],
    *,
    ignore: bool = False,
    expand: bool = False,
    where: str = "",
) -> Applied:
    """Apply an a priori file to cells.

    Actions: ``s`` safe; ``u`` unsafe, with the manual safety range; ``p`` never suppressed; ``m`` and ``ml``
    always suppressed; ``c`` or ``w`` cost; ``pl`` protection levels of an unsafe cell; ``ab`` a priori
    bounds. Marks are set before everything else, regardless of the order of lines.

    Parameters
    ----------
    judged
        Cells with their status.
    entries
        Entries of the file.
    ignore
        Whether to skip and report inapplicable lines instead of raising an error.
    expand
        Whether to apply a line also to cells that are equal by definition: codes with a single child.
    where
        Name of the file, used in messages.
    """
    cells = _Cells(judged)
    alike = _alike(judged.table) if expand else None
    passed_over: list[str] = []
    for entry in sorted(entries, key=lambda entry: ACTIONS[entry.action] > 0):
        try:
            cell = _position(judged.table, entry.codes)
            same = [cell] if alike is None else np.flatnonzero(alike == alike[cell]).tolist()
            for one in same:
                cells.take(one, entry)
        except _RefusedError as refused:
            place = Text("{file}, line {line}", file=where, line=entry.line) if entry.line else where
            if not ignore:
                raise refused.copy_as(DataError, where=place) from None
            passed_over.append(Text("{place}: {what}", place=place, what=refused.what))
    return Applied(cells.judged(), tuple(passed_over))


def _position(table: Table, codes: Sequence[str]) -> int:
    """Return the index of a cell by its codes, ignoring blanks; an empty code is the total, the last one."""
    places = []
    for dimension, code in zip(table.dimensions, codes, strict=True):
        place = dimension.position.get(code, None if code.strip() else len(dimension) - 1)
        if place is None:
            same = [p for known, p in dimension.position.items() if known.strip() == code.strip()]
            if len(same) != 1:
                fix = did_you_mean(code, dimension.codes)
                raise _RefusedError(
                    "apriori_code_unknown",
                    "variable {variable} has no code {code!r}",
                    fix,
                    variable=dimension.name,
                    code=code,
                )
            place = same[0]
        places.append(place)
    return int(np.ravel_multi_index(places, table.shape))


def _alike(table: Table) -> Integers:
    """Return a group number for each cell; cells set equal by a relation of two terms share one."""
    relations = table.relations
    pairs = np.flatnonzero(np.diff(relations.indptr) == 2)
    first, second = relations.indices[relations.indptr[pairs]], relations.indices[relations.indptr[pairs] + 1]
    graph = csr_array((np.ones(len(pairs)), (first, second)), shape=(table.n_cells, table.n_cells))
    return np.asarray(csgraph.connected_components(graph, directed=False)[1], dtype=np.int64)


class _Cells:
    """Mutable copies of everything that lines may change."""

    def __init__(self, judged: Judged) -> None:
        table, need = judged.table, judged.need
        self.before = judged
        self.status = np.array(judged.status)
        self.low, self.high = np.array(need.lower), np.array(need.upper)
        self.known_low, self.known_high = np.array(table.lower), np.array(table.upper)
        self.cost: Any = None if table.cost is None else np.array(table.cost)
        self.manual = judged.range_of(judged.safety.manual)

    def take(self, cell: int, entry: AprioriEntry) -> None:
        status, action = self.status[cell], entry.action
        if status == ArgusStatus.PROTECTED and action in {"u", "m", "ml"}:
            raise _RefusedError(
                "apriori_action_on_protected_cell",
                "action {action} on a protected cell",
                "a cell is protected or withheld, not both",
                action=action,
            )
        if status in UNSAFE and action in {"p", "m", "ml"}:
            raise _RefusedError(
                "apriori_action_on_unsafe_cell",
                "action {action} on an unsafe cell",
                "declare it safe first, in a file of its own",
                action=action,
            )
        if action in MARKS:
            # An empty cell stays empty unless it is suppressed; an unsafe one keeps its rule.
            idle = status in UNSAFE if action == "u" else status == ArgusStatus.EMPTY and action in {"s", "p"}
            if not idle:
                self.status[cell] = MARKS[action]
                self.low[cell] = self.high[cell] = self.manual[cell] if action == "u" else 0.0
        elif action in {"c", "w"}:
            self.price(cell, *entry.numbers)
        elif action == "pl":
            self.level(cell, *entry.numbers)
        else:
            self.bound(cell, *entry.numbers)

    def price(self, cell: int, cost: float) -> None:
        if not cost > 0:
            raise _RefusedError(
                "apriori_cost_not_positive",
                "a cost that is not above zero",
                "to keep a cell published, use action p",
            )
        if self.cost is None:
            self.cost = np.abs(self.before.table.value)
        self.cost[cell] = cost

    def level(self, cell: int, low: float, high: float) -> None:
        if self.status[cell] not in UNSAFE:
            raise _RefusedError(
                "apriori_levels_of_safe_cell",
                "levels for a cell that is not unsafe",
                "mark it unsafe (u) as well",
            )
        if min(low, high) < 0:
            raise _RefusedError(
                "apriori_level_negative", "a level below zero", "levels are distances from the value"
            )
        self.low[cell], self.high[cell] = low, high

    def bound(self, cell: int, low: float, high: float) -> None:
        if not low <= self.before.table.value[cell] <= high:
            raise _RefusedError(
                "apriori_bounds_exclude_value", "bounds that do not hold the cell's value", "widen them"
            )
        self.known_low[cell], self.known_high[cell] = low, high

    def judged(self) -> Judged:
        before = self.before
        unsafe = np.isin(self.status, UNSAFE)
        rules = {name: hits & unsafe for name, hits in before.need.rules.items()}
        marked = self.status == ArgusStatus.BY_HAND
        if marked.any():
            rules[BY_HAND] = rules.get(BY_HAND, marked) | marked
        table = before.table
        fixed = np.isin(self.status, (ArgusStatus.PROTECTED, ArgusStatus.EMPTY))
        return replace(
            before,
            table=replace(
                table,
                fixed=fixed if fixed.any() else None,
                cost=self.cost,
                lower=self.known_low,
                upper=self.known_high,
            ),
            need=Need(
                unsafe=unsafe,
                # Levels end at the bounds, because these are public.
                lower=np.where(unsafe, np.minimum(self.low, table.value - self.known_low), 0.0),
                upper=np.where(unsafe, np.minimum(self.high, self.known_high - table.value), 0.0),
                width=np.where(unsafe, before.need.width, 0.0),
                rules=rules,
            ),
            status=self.status,
        )
