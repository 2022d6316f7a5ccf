"""Re-check the claim of a certificate about a reader who knows the method: run the method again.

verify.py loads this file when a certificate makes such a claim. It needs nothing but Python itself, computes
with whole numbers only, and was written apart from the method's own code.

The method of blocks is run again on the true table. It must withhold just the cells that are withheld, and
the totals must allow the width; the theorem of docs/explanation/blocks.md does the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

Demand = Callable[..., None]
Grid = list[list[int]]
# Rows and columns of a rectangle, whether it is cut across rows (0) or columns (1), where, and its parts.
Node = tuple[list[int], list[int], int, int, list[Any]]
SPREAD = (6, 8, 9, 10, 11, 12, 13, 15, 16, 17, 19, 21, 24, 28, 33, 46)
PARTS, DRAWN, LARGE = 1024, 3, 250_000


def middle(sums: list[int], split: str) -> int:
    """Where lines with these expected sums are cut."""
    size, total, place, so_far = len(sums), sum(sums), 0, 0
    for line in sums:
        so_far += line
        place += 2 * so_far < total
    place = place if split == "mass" else 2 * size // 3
    return min(max(place - place % 2, 2), size - 2 - size % 2)


def rectangles(expected: Grid, rows: list[int], columns: list[int], split: str) -> Node:
    """Cut a rectangle in two, across the lines whose parts have the larger least sum, until it is a leaf."""
    of_row = {i: sum(expected[i][j] for j in columns) for i in rows}
    of_column = {j: sum(expected[i][j] for i in rows) for j in columns}
    rows, columns = sorted(rows, key=of_row.__getitem__), sorted(columns, key=of_column.__getitem__)
    ways = []
    if len(rows) >= 4:
        cut = middle([of_row[i] for i in rows], split)
        upper = [sum(expected[i][j] for i in rows[:cut]) for j in columns]
        ways.append((min(min(u, of_column[j] - u) for u, j in zip(upper, columns, strict=True)), 0, cut))
    if len(columns) >= 4:
        cut = middle([of_column[j] for j in columns], split)
        left = [sum(expected[i][j] for j in columns[:cut]) for i in rows]
        ways.append((min(min(u, of_row[i] - u) for u, i in zip(left, rows, strict=True)), 1, cut))
    if not ways:
        return rows, columns, -1, -1, []
    if len(ways) == 2 and ways[0][0] == ways[1][0]:
        ways = ways[:1] if len(rows) >= len(columns) else ways[1:]
    _, axis, cut = max(ways)
    halves = [(rows[:cut], columns), (rows[cut:], columns)]
    if axis == 1:
        halves = [(rows, columns[:cut]), (rows, columns[cut:])]
    return rows, columns, axis, cut, [rectangles(expected, *half, split) for half in halves]


def wide(node: Node, values: Grid, first: int, last: int, width: int) -> bool:
    """Whether the sums of a rectangle leave every cell that may be unsafe wide enough: the closed forms."""
    rows, columns, axis, cut, parts = node
    rho = [sum(values[i][j] for j in columns) for i in rows]
    gamma = [sum(values[i][j] for i in rows) for j in columns]
    if axis == 0:
        rho, gamma = gamma, rho
    total = sum(rho)
    halves = [set(range(cut)), set(range(cut, len(gamma)))] if parts else [{j} for j in range(len(gamma))]
    most_taken = min(last, width - 1) if parts else last
    reach: list[list[list[int]]] = [[[] for _ in gamma] for _ in rho]
    for inside in halves:
        here = sum(gamma[j] for j in inside)
        there = total - here
        ranges = [(max(first, r - there), min(most_taken, r, here)) for r in rho]
        able = [p for p, (low, high) in enumerate(ranges) if low <= high]
        for i, row in enumerate(rho):
            others = [p for p in able if p != i]
            taken = min((ranges[p][0] for p in others), default=0)
            left = min((rho[p] - ranges[p][1] for p in others), default=0)
            low, high = ranges[i]
            for j, column in enumerate(gamma):
                found, within = reach[i][j], j in inside
                if others:
                    found.append(max(0, row + column - total + (left if within else taken)))
                    found.append(min(row, column, here - taken if within else there - left))
                if low <= high:
                    found.append(max(0, column + (low - here if within else row - high - there)))
                    found.append(min(high if within else row - low, column))
    for i, row in enumerate(rho):
        for j, column in enumerate(gamma):
            unsafe = max(0, row + column - total) <= last and min(row, column) >= first
            if unsafe and max(reach[i][j], default=0) - min(reach[i][j], default=0) < width:
                return False
    return True


def calls(node: Node, values: Grid, rule: tuple[int, int, int], found: set[tuple[int, int]]) -> bool:
    """Withhold what a rectangle and its parts give reason for; tell whether it calls for more."""
    rows, columns, _, _, parts = node
    if parts:
        reason = any([calls(part, values, rule, found) for part in parts])  # noqa: C419 - all are to be asked
    else:
        reason = any(rule[0] <= values[i][j] <= rule[1] for i in rows for j in columns)
    if reason:
        found.update((i, j) for i in rows for j in columns)
    return reason and not wide(node, values, *rule)


def blocks(tree: Node, values: Grid, rule: tuple[int, int, int]) -> set[tuple[int, int]]:
    """Run the method of blocks."""
    found: set[tuple[int, int]] = set()
    if calls(tree, values, rule, found) or not wide(tree, values, *rule):
        found.update((i, j) for i in tree[0] for j in tree[1])
    return found


def drawn(expected: Grid, draw: int) -> Grid:
    """Draw the table that the choice of a split is made on; always the same one."""
    columns, low = len(expected[0]), (1 << 64) - 1
    table = []
    for i, line in enumerate(expected):
        counts = []
        for j, part in enumerate(line):
            x = (draw * len(expected) * columns + i * columns + j + 1) * 0x9E3779B97F4A7C15 & low
            x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & low
            x = (x ^ (x >> 27)) * 0x94D049BB133111EB & low
            x ^= x >> 31
            counts.append((part // 16 * SPREAD[x & 15] + ((x >> 8) & (PARTS - 1))) // PARTS)
        table.append(counts)
    return table


def printed(table: Any, rows: int, columns: int, demand: Demand) -> Grid:
    """Check that a claim is about a plain two-way table with its totals, and print it."""
    across = columns + 1
    demand(table.size == (rows + 1) * across and table.whole, "the claim is about another table")
    demand(all(low == 0 for low in table.lower.values()) and len(table.lower) == table.size, "other bounds")
    demand(not table.upper, "the claim is about tables without known upper bounds")
    lines = [[i * across + j for j in range(across)] for i in range(rows + 1)]
    lines += [[i * across + j for i in range(rows + 1)] for j in range(across)]
    one = Fraction(1)
    wanted = sorted(sorted([*((cell, one) for cell in line[:-1]), (line[-1], -one)]) for line in lines)
    demand(wanted == sorted(sorted(r.items()) for r in table.relations), "the claim is about other sums")
    return [[int(table.value[cell]) for cell in line] for line in lines[: rows + 1]]


def withstood(content: dict[str, Any], table: Any, withheld: set[int], demand: Demand) -> str:
    """Check the claim about the reader who knows the method; say what is proved.

    ``table`` is the certified table, ``demand(condition, otherwise, code)`` refutes the claim.
    """
    claim = content["reader"]
    demand(claim["method"] == "blocks" and claim["version"] == 1, "a claim about an unknown method", 2)
    numbers = [claim[name] for name in ("rows", "columns", "first", "last", "width")]
    demand(all(type(n) is int for n in numbers), "a claim without numbers", 2)
    rows, columns, first, last, width = numbers
    demand(first in (0, 1) and last >= first and width >= 2 and min(rows, columns) >= 2, "an empty claim", 2)
    shown, across = printed(table, rows, columns, demand), columns + 1
    values, ends = [line[:-1] for line in shown[:-1]], [line[-1] for line in shown[:-1]]
    *sums, total = shown[-1]
    cells = {i * across + j: x for i, line in enumerate(shown) for j, x in enumerate(line)}
    small = {cell for cell, x in cells.items() if first <= x <= last}
    demand(small == {need["cell"] for need in content["unsafe"]}, "other cells are unsafe than the rule says")
    for need in content["unsafe"]:
        plain = Fraction(need["lower"]) == Fraction(need["upper"]) == 0
        demand(plain and Fraction(need["width"]) <= width, "a cell requires more than the claim says")
    for r in ends:
        for c in sums:
            possible = max(0, r + c - total) <= last and min(r, c) >= first
            demand(not possible or min(r, c, total - r, total - c) >= width, "the totals alone tell too much")
    expected = claim["expected"]
    if expected is None:
        shares = [[divmod(r * c, max(total, 1)) for c in sums] for r in ends]
        expected = [[q * PARTS + rest * PARTS // max(total, 1) for q, rest in line] for line in shares]
    right = len(expected) == rows and all(len(line) == columns for line in expected)
    demand(right and all(type(x) is int and x >= 0 for line in expected for x in line), "no expectation", 2)
    every, rule, split = ([*range(rows)], [*range(columns)]), (first, last, width), claim["split"]
    if split == "auto":
        tables = [drawn(expected, draw) for draw in range(DRAWN if rows * columns <= LARGE else 1)]
        trees = {way: rectangles(expected, *every, way) for way in ("count", "mass")}
        cost = {way: sum(len(blocks(tree, each, rule)) for each in tables) for way, tree in trees.items()}
        split = min(cost, key=cost.__getitem__)
    demand(split in ("count", "mass"), "a claim about an unknown split", 2)
    chosen = blocks(rectangles(expected, *every, split), values, rule)
    same = {i * across + j for i, j in chosen} == withheld
    demand(same, "the method of blocks withholds other cells of this table")
    return f"a reader who knows the method of blocks is left with a width of {width} for each of them"
