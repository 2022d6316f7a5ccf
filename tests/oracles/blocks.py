"""The method of blocks straight from its definition, in plain Python: every table listed, every status found.

Nothing is imported from the package. Tables are tuples of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

Rows = tuple[tuple[int, ...], ...]
# How a rectangle is cut: its rows, its columns, its two parts (none for a leaf).
Node = tuple[tuple[int, ...], tuple[int, ...], tuple["Node", ...]]


@dataclass(frozen=True)
class Rule:
    """Counts from ``first`` to ``last`` are unsafe, and must be ``width`` wide."""

    first: int
    last: int
    width: int

    def unsafe(self, count: int) -> bool:
        return self.first <= count <= self.last


def parts_of(total: int, most: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """List the ways to write a total as a sum, no part larger than it may be."""
    if len(most) == 1:
        if total <= most[0]:
            yield (total,)
        return
    for head in range(min(total, most[0]) + 1):
        for tail in parts_of(total - head, most[1:]):
            yield (head, *tail)


def tables(rows: Sequence[int], columns: Sequence[int]) -> Iterator[Rows]:
    """List every table of non-negative whole numbers with these sums."""
    if len(rows) == 1:
        yield (tuple(columns),)
        return
    for line in parts_of(rows[0], columns):
        left = tuple(c - x for c, x in zip(columns, line, strict=True))
        for others in tables(rows[1:], left):
            yield (line, *others)


def sums(table: Rows) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(map(sum, table)), tuple(map(sum, zip(*table, strict=True)))


def reach(group: Sequence[Rows]) -> list[list[int]]:
    """Width of every cell over several tables; -1 where there is none."""
    if not group:
        return [[-1]]
    n_rows, n_columns = len(group[0]), len(group[0][0])
    return [
        [max(t[i][j] for t in group) - min(t[i][j] for t in group) for j in range(n_columns)]
        for i in range(n_rows)
    ]


def wide(group: Sequence[Rows], every: Sequence[Rows], rule: Rule) -> bool:
    """Tell whether the cells that are unsafe in any of all tables are wide over some of them."""
    widths = reach(group)
    for i, j in product(range(len(every[0])), range(len(every[0][0]))):
        if any(rule.unsafe(t[i][j]) for t in every) and (not group or widths[i][j] < rule.width):
            return False
    return True


def leaf_is_wide(rows: Sequence[int], columns: Sequence[int], rule: Rule) -> bool:
    """Judge a leaf by listing the tables with its sums that hold an unsafe cell."""
    every = list(tables(rows, columns))
    group = [t for t in every if any(rule.unsafe(x) for line in t for x in line)]
    return wide(group, every, rule)


def node_is_wide(rows: Sequence[int], columns: Sequence[int], axis: int, cut: int, rule: Rule) -> bool:
    """Judge an inner node by listing the tables in which a line of a part has a small sum."""
    every = list(tables(rows, columns))
    group = []
    for t in every:
        lines = t if axis == 1 else tuple(zip(*t, strict=True))
        small = [sum(half) for line in lines for half in (line[:cut], line[cut:])]
        if any(rule.first <= s <= min(rule.last, rule.width - 1) for s in small):
            group.append(t)
    return wide(group, every, rule)


def is_wide_beside_zeros(
    rows: Sequence[int],
    columns: Sequence[int],
    zeros: frozenset[tuple[int, int]],
    cut: tuple[int, int] | None,
    rule: Rule,
) -> bool:
    """Judge a rectangle some of whose cells are zero in every table: one family must do for each cell.

    ``cut`` is the axis and the place of an inner node's cut; None for a leaf.
    """
    every = [t for t in tables(rows, columns) if all(t[i][j] == 0 for i, j in zeros)]
    if cut is not None and cut[0] == 0:
        every = [tuple(zip(*t, strict=True)) for t in every]
        zeros = frozenset((j, i) for i, j in zeros)
    n_rows, n_columns = len(every[0]), len(every[0][0])
    halves = [[j] for j in range(n_columns)]
    most = rule.last
    if cut is not None:
        halves, most = [list(range(cut[1])), list(range(cut[1], n_columns))], min(rule.last, rule.width - 1)
    families = []
    for i, half in product(range(n_rows), halves):
        if any((i, j) not in zeros for j in half):
            found = [sum(t[i][j] for j in half) for t in every]
            least = min((s for s in found if rule.first <= s <= most), default=None)
            families.append([t for t, s in zip(every, found, strict=True) if s == least])
    widths = [reach(family) for family in families if family]
    return all(
        any(w[i][j] >= rule.width for w in widths)
        for i, j in product(range(n_rows), range(n_columns))
        if (i, j) not in zeros and any(rule.unsafe(t[i][j]) for t in every)
    )


def statuses(node: Node, table: Rows, rule: Rule, found: set[tuple[int, int]]) -> bool:
    """Withhold what a node and its parts ask for; tell whether it calls."""
    rows, columns, parts = node
    local = tuple(tuple(table[i][j] for j in columns) for i in rows)
    if parts:
        calls = [statuses(part, table, rule, found) for part in parts]
        if not any(calls):
            return False
        axis = 0 if parts[0][1] == columns else 1
        cut = len(parts[0][axis])
        enough = node_is_wide(*sums(local), axis, cut, rule)
    else:
        if not any(rule.unsafe(x) for line in local for x in line):
            return False
        enough = leaf_is_wide(*sums(local), rule)
    found.update(product(rows, columns))
    return not enough


def withheld(node: Node, table: Rows, rule: Rule) -> frozenset[tuple[int, int]]:
    """Withhold cells of a table by a tree of rectangles."""
    rows, columns, parts = node
    everything = frozenset(product(rows, columns))
    if parts:
        axis = 0 if parts[0][1] == columns else 1
        enough = node_is_wide(*sums(table), axis, len(parts[0][axis]), rule)
    else:
        enough = leaf_is_wide(*sums(table), rule)
    if not enough:
        return everything
    found: set[tuple[int, int]] = set()
    statuses(node, table, rule, found)
    return frozenset(found)
