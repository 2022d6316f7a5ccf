"""Check the claim of a certificate about an attacker who knows the method: run the method again.

verify.py loads this file if a certificate makes such a claim. It needs only Python's standard library,
computes with integers only, and was written independently of the method's own code.

The method of blocks is run again on the true table. It must suppress exactly the suppressed cells, and the
totals must allow what is required; the rest follows from the theorems of docs/explanation/blocks.md. A claim
of version 1 is about counts, one of version 2 about magnitudes. One of version 3 is also about counts, made
by the method flagged_groups: it contains the tables that prove it, and verify_witnesses.py checks them.

For counts the method is also run on the witnesses. Those for which it would have published the same stay
possible for an attacker who knows it, without a theorem; the answer reports for how many cells they suffice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

Demand = Callable[..., None]
Grid = list[list[int]]
# For every cell its least and largest value, or None.
Spans = list[list[tuple[int, int] | None]]
# Rows and columns of a rectangle, whether it is cut across rows (0) or columns (1), the position, its parts.
Node = tuple[list[int], list[int], int, int, list[Any]]
PARTS = 1024
MILLIONTH = Fraction(1, 10**6)
# Limit on cells of witnesses on which the method is run again: all of small tables, a few of large ones.
MAX_RERUN = 100_000


def middle(sums: list[int], split: str) -> int:
    """Return where lines with these expected sums are cut."""
    size, total, place, so_far = len(sums), sum(sums), 0, 0
    for line in sums:
        so_far += line
        place += 2 * so_far < total
    place = place if split == "mass" else 2 * size // 3
    return min(max(place - place % 2, 2), size - 2 - size % 2)


def rectangles(expected: Grid, rows: list[int], columns: list[int], split: str) -> Node:
    """Cut a rectangle in two, across the lines whose parts have the larger least sum, down to leaves."""
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


def spans(rho: list[int], gamma: list[int], taken_by: list[tuple[set[int], list[tuple[int, int]]]]) -> Spans:
    """Return least and largest values over tables with these sums in which part of some row has some sum.

    ``taken_by`` lists sets of columns, each with the range of sums that the part of every row in these
    columns may have: the closed forms.
    """
    total = sum(rho)
    reach: list[list[list[int]]] = [[[] for _ in gamma] for _ in rho]
    for inside, allowed in taken_by:
        here = sum(gamma[j] for j in inside)
        there = total - here
        ranges = [(max(a, r - there), min(b, r, here)) for r, (a, b) in zip(rho, allowed, strict=True)]
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
    return [[(min(found), max(found)) if found else None for found in line] for line in reach]


def sums_of(node: Node, values: Grid) -> tuple[list[int], list[int], list[set[int]]]:
    """Return sums of a rectangle and the columns of its parts; transposed if it is cut across rows."""
    rows, columns, axis, cut, parts = node
    rho = [sum(values[i][j] for j in columns) for i in rows]
    gamma = [sum(values[i][j] for i in rows) for j in columns]
    if axis == 0:
        rho, gamma = gamma, rho
    every = range(len(gamma))
    return rho, gamma, [set(every[:cut]), set(every[cut:])] if parts else [{j} for j in every]


class SmallCounts(NamedTuple):
    """Counts from ``first`` to ``last`` are unsafe, and require the width ``width``."""

    first: int
    last: int
    width: int

    def marks(self, _: int, __: int, count: int) -> bool:
        return self.first <= count <= self.last

    def enough(self, node: Node, values: Grid) -> bool:
        """Return whether the sums of a rectangle leave every cell that may be unsafe wide enough."""
        rho, gamma, parts = sums_of(node, values)
        allowed = (self.first, min(self.last, self.width - 1) if node[4] else self.last)
        reach, total = spans(rho, gamma, [(part, [allowed] * len(rho)) for part in parts]), sum(rho)
        for row, line in zip(rho, reach, strict=True):
            for column, span in zip(gamma, line, strict=True):
                unsafe = max(0, row + column - total) <= self.last and min(row, column) >= self.first
                if unsafe and (span is None or span[1] - span[0] < self.width):
                    return False
        return True


class UnsafeMagnitudes(NamedTuple):
    """Unsafe cells with required levels below, above and width; and those of a unit of one contributor."""

    needs: dict[tuple[int, int], tuple[int, int, int]]
    sole: tuple[int, int, int]

    def marks(self, i: int, j: int, value: int) -> bool:
        return (i, j) in self.needs or value == 1

    def reach(self, node: Node, values: Grid) -> Spans:
        """Return the ranges of the cells over the tables with these sums that have their reason."""
        rho, gamma, parts = sums_of(node, values)
        kept = [[(1, 1)] * len(rho) for _ in parts]
        found = spans(rho, gamma, [*zip(parts, kept, strict=True)])
        for _ in range(3 if node[4] else 0):
            fewer = [
                [
                    one if all(self.fits(found[i][j], rho[i], gamma[j]) for j in part) else (1, 0)
                    for i, one in enumerate(lines)
                ]
                for part, lines in zip(parts, kept, strict=True)
            ]
            if fewer == kept:
                return found
            kept = fewer
            found = spans(rho, gamma, [*zip(parts, kept, strict=True)])
        return [[None for _ in gamma] for _ in rho] if node[4] else found

    def fits(self, span: tuple[int, int] | None, row: int, column: int) -> bool:
        """Return whether a unit of a single contributor is protected as required."""
        if row == 0 or column == 0:
            return True
        below, above, width = self.sole
        return (
            span is not None and span[0] <= 1 - below and span[1] >= 1 + above and span[1] - span[0] >= width
        )

    def enough(self, node: Node, values: Grid) -> bool:
        """Return whether the unsafe cells of a rectangle can move as far as required."""
        rows, columns, axis, *_ = node
        reach = self.reach(node, values)
        for p, i in enumerate(rows):
            for q, j in enumerate(columns):
                if (i, j) in self.needs:
                    span = reach[q][p] if axis == 0 else reach[p][q]
                    below, above, width = self.needs[i, j]
                    if span is None or span[1] - span[0] < width:
                        return False
                    if values[i][j] - span[0] < below or span[1] - values[i][j] < above:
                        return False
        return True


def calls(
    node: Node, values: Grid, rule: SmallCounts | UnsafeMagnitudes, found: set[tuple[int, int]]
) -> bool:
    """Suppress a rectangle and its parts if there is a reason; return whether it calls for more."""
    rows, columns, _, _, parts = node
    if parts:
        reason = any([calls(part, values, rule, found) for part in parts])  # noqa: C419 - all must be called
    else:
        reason = any(rule.marks(i, j, values[i][j]) for i in rows for j in columns)
    if reason:
        found.update((i, j) for i in rows for j in columns)
    return reason and not rule.enough(node, values)


def blocks(tree: Node, values: Grid, rule: SmallCounts) -> set[tuple[int, int]]:
    """Run the method of blocks on counts."""
    found: set[tuple[int, int]] = set()
    if calls(tree, values, rule, found) or not rule.enough(tree, values):
        found.update((i, j) for i in tree[0] for j in tree[1])
    return found


def check_plain_table(table: Any, rows: int, columns: int, demand: Demand) -> list[list[Fraction]]:
    """Check that a claim is about a plain two-way table with its totals, and return its values."""
    across = columns + 1
    demand(table.size == (rows + 1) * across, "the claim is about another table")
    demand(all(low == 0 for low in table.lower), "other bounds")
    demand(all(high is None for high in table.upper), "the claim is about tables without known upper bounds")
    lines = [[i * across + j for j in range(across)] for i in range(rows + 1)]
    lines += [[i * across + j for i in range(rows + 1)] for j in range(across)]
    one = Fraction(1)
    wanted = sorted(sorted([*((cell, one) for cell in line[:-1]), (line[-1], -one)]) for line in lines)
    listed = sorted(sorted(zip(*relation, strict=True)) for relation in table.relations)
    demand(wanted == listed, "the claim is about other sums")
    return [[table.value[cell] for cell in line] for line in lines[: rows + 1]]


def expectation(claim: dict[str, Any], values: Grid, demand: Demand) -> Grid:
    """Return the expectation of the claim, or that of the totals."""
    ends, sums = [sum(line) for line in values], [sum(line) for line in zip(*values, strict=True)]
    total, expected = sum(ends), claim["expected"]
    if expected is None:
        less = 2 ** max(0, total.bit_length() - 32)
        ends, sums = [r // less for r in ends], [c // less for c in sums]
        total = max(sum(ends), 1)
        shares = [[divmod(r * c, total) for c in sums] for r in ends]
        expected = [[q * PARTS + rest * PARTS // total for q, rest in line] for line in shares]
    right = len(expected) == len(ends) and all(len(line) == len(sums) for line in expected)
    demand(right and all(type(x) is int and x >= 0 for line in expected for x in line), "no expectation", 2)
    return list(expected)


def withstood(
    content: dict[str, Any], table: Any, withheld: set[int], demand: Demand, beside: Callable[[str], Any]
) -> str:
    """Check the claim about an attacker who knows the method; return what is proved.

    ``table`` is the certified table, ``demand(condition, otherwise, code)`` refutes the claim, and
    ``beside(name)`` loads another file of plain Python.
    """
    claim = content["known_method"]
    known: dict[int, Any] = {1: counts, 2: magnitudes, 3: None}
    right = claim["method"] == "blocks" and type(claim["version"]) is int and claim["version"] in known
    demand(right, "a claim about an unknown method", 2)
    rows, columns = claim["rows"], claim["columns"]
    demand(type(rows) is type(columns) is int, "a claim without numbers", 2)
    demand(min(rows, columns) >= 2, "an empty claim", 2)
    shown = check_plain_table(table, rows, columns, demand)
    if claim["version"] == 3:
        values, rule = small_counts(claim, content, shown, table.whole, demand)
        expected = expectation(claim, values, demand)
        chosen, answer = beside("verify_witnesses.py").shown_by(claim, values, rule, expected, demand)
    else:
        chosen, answer = known[claim["version"]](claim, content, shown, table.whole, demand)
    same = {i * (columns + 1) + j for i, j in chosen} == withheld
    demand(same, "the method of blocks withholds other cells of this table")
    return f"an attacker who knows the method of blocks is left with {answer}"


Found = tuple[set[tuple[int, int]], str]


def small_counts(
    claim: dict[str, Any], content: dict[str, Any], exact: list[list[Fraction]], whole: bool, demand: Demand
) -> tuple[Grid, SmallCounts]:
    """Check the common parts of claims about counts; return inner cells, and which of them are unsafe."""
    numbers = [claim[name] for name in ("first", "last", "width")]
    demand(all(type(n) is int for n in numbers), "a claim without numbers", 2)
    rule = SmallCounts(*numbers)
    demand(rule.first in (0, 1) and rule.last >= rule.first and rule.width >= 2, "an empty claim", 2)
    demand(whole, "the claim is about another table")
    shown = [[int(x) for x in line] for line in exact]
    values, ends = [line[:-1] for line in shown[:-1]], [line[-1] for line in shown[:-1]]
    *sums, total = shown[-1]
    cells = {i * len(shown[0]) + j: x for i, line in enumerate(shown) for j, x in enumerate(line)}
    small = {cell for cell, x in cells.items() if rule.marks(0, 0, x)}
    demand(small == {need["cell"] for need in content["unsafe"]}, "other cells are unsafe than the rule says")
    for need in content["unsafe"]:
        plain = Fraction(need["lower"]) == Fraction(need["upper"]) == 0
        demand(plain and Fraction(need["width"]) <= rule.width, "a cell requires more than the claim says")
    for r in ends:
        for c in sums:
            possible = max(0, r + c - total) <= rule.last and min(r, c) >= rule.first
            enough = min(r, c, total - r, total - c) >= rule.width
            demand(not possible or enough, "the totals alone tell too much")
    return values, rule


def counts(
    claim: dict[str, Any], content: dict[str, Any], exact: list[list[Fraction]], whole: bool, demand: Demand
) -> Found:
    """Check a claim about counts; return the cells that the method suppresses, and the guarantee."""
    values, rule = small_counts(claim, content, exact, whole, demand)
    ends, sums = values, values[0]
    expected = expectation(claim, values, demand)
    every, split = ([*range(len(ends))], [*range(len(sums))]), claim["split"]
    demand(split in ("count", "mass"), "a claim about an unknown split", 2)
    tree = rectangles(expected, *every, split)
    chosen = blocks(tree, values, rule)
    shown_wide = without_theorem(content, tree, values, rule, chosen)
    basis = f"by theorem; without it, by witnesses, for {shown_wide} of {len(content['unsafe'])}"
    return chosen, f"a width of {rule.width} for each of them ({basis})"


def without_theorem(
    content: dict[str, Any], tree: Node, values: Grid, rule: SmallCounts, chosen: set[tuple[int, int]]
) -> int:
    """Count unsafe cells that are wide over the witnesses with the same release."""
    across = len(values[0]) + 1
    ends = {
        need["cell"]: {values[need["cell"] // across][need["cell"] % across]} for need in content["unsafe"]
    }
    most = max(1, MAX_RERUN // (len(values) * across))
    for witness in content["witnesses"][:most]:
        moved = [list(line) for line in values]
        if witness["denominator"] != 1:
            continue
        for cell, difference in zip(witness["cells"], witness["differences"], strict=True):
            moved[cell // across][cell % across] += int(difference)
        if blocks(tree, moved, rule) == chosen:
            for cell, seen in ends.items():
                seen.add(moved[cell // across][cell % across])
    return sum(max(seen) - min(seen) >= rule.width for seen in ends.values())


def magnitudes(
    claim: dict[str, Any], content: dict[str, Any], exact: list[list[Fraction]], whole: bool, demand: Demand
) -> Found:
    """Check a claim about magnitudes, for attackers who see neither contributions nor their number."""
    scale, sole, split = claim["scale"], claim["sole"], claim["split"]
    right = type(scale) is int and scale >= 1 and len(sole) == 3 and all(type(n) is int for n in sole)
    demand(right and 0 <= sole[0] <= 1 <= sole[1] and sole[2] >= 0, "a claim without numbers", 2)
    demand(split in ("count", "mass"), "a claim about an unknown split", 2)
    units = [[x * scale for x in line] for line in exact]
    demand(all(x.denominator == 1 for line in units for x in line), "a value is not a whole number of units")
    values, across = [[int(x) for x in line[:-1]] for line in units[:-1]], len(units[0])
    rows, columns = len(values), across - 1
    needs = {}
    for need in content["unsafe"]:
        i, j = divmod(need["cell"], across)
        demand(i < rows and j < columns, "a total is unsafe")
        levels = [Fraction(need[name]) * scale for name in ("lower", "upper", "width")]
        # In integer units, up to a millionth; real numbers get one more.
        low, high, wide = (math.ceil(x - MILLIONTH) + (x > 0 and not whole) for x in levels)
        needs[i, j] = (low, max(high, 1), wide)
    tree = rectangles(expectation(claim, values, demand), [*range(rows)], [*range(columns)], split)
    found: set[tuple[int, int]] = set()
    lost = calls(tree, values, UnsafeMagnitudes(needs, (sole[0], sole[1], sole[2])), found)
    demand(not lost, "no rectangle is large enough for an unsafe cell")
    return found, "the levels of each of them, as long as contributions and their numbers are not known"
