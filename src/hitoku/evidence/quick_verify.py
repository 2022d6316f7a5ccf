"""The verifier's checks in arrays, for the impatient: same file, same verdict.

All numbers become 64-bit whole numbers over common denominators, after it was made sure that no sum can
leave that range; so this is as exact as ``verify.py``. What it does not accept, and what it cannot hold in
arrays, is left to ``verify.py`` itself, which then gives the answer and its reason. Whoever must not trust
numpy runs that one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import lcm
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.evidence import verify as plain
from hitoku.model.arrays import Integers, Mask

# Products and sums stay below this, far inside 64 bits.
LARGEST = 2**60


class NotInArrays(Exception):  # noqa: N818 - no failure: verify.py decides
    """Something is refused, or does not fit into arrays."""


def quick_verify(path: str | Path) -> plain.Verdict:
    """Check a certificate, or a release folder that holds one, several times as fast as ``verify``.

    Parameters
    ----------
    path
        As for :func:`hitoku.verify`; the verdict is the same, its reason included.
    """
    return plain.verify(path, prove)


def prove(content: dict[str, Any]) -> str:
    """Go through checks 1 to 4; where anything is amiss, in plain Python."""
    try:
        return _proved(content)
    except (NotInArrays, plain.Refuted, *plain.MALFORMED):
        return plain.prove(content)


def _proved(content: dict[str, Any]) -> str:
    _insist(content["format"] == plain.FORMAT and not content.get("groups"))
    _insist(content["sha256"] == plain.fingerprint(content))
    table = ArrayTable.of(content)
    withheld = np.zeros(table.size, dtype=np.bool_)
    withheld[_positions(content["withheld"], table.size)] = True
    witnesses = [table.witness(parts, withheld) for parts in content["witnesses"]]
    unsafe = content["unsafe"]
    cells = _positions([need["cell"] for need in unsafe], table.size)
    _insist(bool(withheld[cells].all()))
    _far_enough(unsafe, cells, witnesses)
    return f"{len(unsafe)} unsafe cells are safe, {len(witnesses)} witnesses prove it"


@dataclass(frozen=True, eq=False)
class ArrayWitness:
    """Cells, sorted, and by how many parts of a unit they change."""

    below: int
    cells: Integers
    moves: Integers


@dataclass(frozen=True, eq=False)
class ArrayTable:
    """The true table, what an outsider knows of it, and its relations.

    Parameters
    ----------
    scale
        Parts of a unit in which values and bounds are counted.
    whole
        Values are whole units.
    value, lower, upper
        In parts; a bound counts where the mask says so.
    below, above
        Where there is a lower bound, where an upper one.
    columns
        The relations, by cell.
    widest
        Largest sum of coefficients of a relation.
    """

    scale: int
    whole: bool
    value: Integers
    lower: Integers
    upper: Integers
    below: Mask
    above: Mask
    columns: Any
    widest: int

    @classmethod
    def of(cls, content: dict[str, Any]) -> ArrayTable:
        """Read the table, and check that it adds up within its bounds."""
        codes = content["codes"]
        for each in codes:
            " / ".join(each)  # names of cells are text
        n = len(codes)
        ends = [content[side][:n] for side in ("lower", "upper")]
        _insist(len(content["values"]) == n and all(len(end) == n for end in ends))
        below, above = (np.array([x is not None for x in end], dtype=np.bool_) for end in ends)
        listed = [content["values"], *([0 if x is None else x for x in end] for end in ends)]
        scale, (value, lower, upper) = _over_one(listed)
        relations, widest = _relations(content["relations"], n)
        table = cls(scale, content["integer"], value, lower, upper, below, above, relations.tocsc(), widest)
        table._insist_allowed(np.arange(n), np.zeros(n, dtype=np.int64), 1)
        _insist(widest * int(np.abs(value).max(initial=0)) < LARGEST)
        _insist(not np.any(relations @ value))
        return table

    @property
    def size(self) -> int:
        return len(self.value)

    def _insist_allowed(self, cells: Integers, moves: Integers, below: int) -> None:
        """Refuse changes that an outsider can rule out."""
        largest = max(int(np.abs(a).max(initial=0)) for a in (self.value, self.lower, self.upper))
        _insist(largest * below + int(np.abs(moves).max(initial=0)) * self.scale < LARGEST)
        x = self.value[cells] * below + moves * self.scale
        _insist(not np.any(self.below[cells] & (x < self.lower[cells] * below)))
        _insist(not np.any(self.above[cells] & (x > self.upper[cells] * below)))
        _insist(not (self.whole and np.any(x % (self.scale * below))))

    def witness(self, parts: dict[str, Any], withheld: Mask) -> ArrayWitness:
        """Check that a witness is a table that fits the release."""
        denominator = parts["denominator"]
        _insist(type(denominator) is int and denominator > 0)
        cells = _positions(parts["cells"], self.size)
        scale, (moves,) = _over_one([parts["differences"]])
        below = denominator * scale
        _insist(len(moves) == len(cells) and below < LARGEST and bool(withheld[cells].all()))
        self._insist_allowed(cells, moves, below)
        _insist(self.widest * int(np.abs(moves).max(initial=0)) < LARGEST)
        _insist(not np.any(self.columns[:, cells] @ moves))
        order = np.argsort(cells)
        return ArrayWitness(below, cells[order], moves[order])


def _far_enough(unsafe: list[dict[str, Any]], cells: Integers, witnesses: list[ArrayWitness]) -> None:
    """Check that the witnesses of every unsafe cell go as far as it requires."""
    scale, levels = _over_one([[need[name] for need in unsafe] for name in ("lower", "upper", "width")])
    common = lcm(scale, *{each.below for each in witnesses})
    farthest = max((int(np.abs(w.moves).max(initial=0)) * (common // w.below) for w in witnesses), default=0)
    _insist(2 * farthest < LARGEST and common < LARGEST)
    _insist(all(int(np.abs(level).max(initial=0)) * (common // scale) < LARGEST for level in levels))
    lower, upper, width = (level * (common // scale) for level in levels)
    _insist(all(int(level.min(initial=0)) >= 0 for level in levels))
    reached = []
    for side in ("low", "high"):
        chosen = [need[side] for need in unsafe]
        number = _whole([-1 if each is None else each for each in chosen])
        named = np.array([each is not None for each in chosen], dtype=np.bool_)
        _insist(bool(np.all(~named | ((number >= 0) & (number < len(witnesses))))))
        far = np.zeros(len(cells), dtype=np.int64)
        order = np.argsort(number, kind="stable")
        ends = np.searchsorted(number[order], np.arange(len(witnesses) + 1))
        for place, each in enumerate(witnesses):
            mine = order[ends[place] : ends[place + 1]]
            if len(mine) and len(each.cells):
                at = np.minimum(np.searchsorted(each.cells, cells[mine]), len(each.cells) - 1)
                there = each.cells[at] == cells[mine]
                far[mine] = np.where(there, each.moves[at], 0) * (common // each.below)
        reached.append(far)
    low, high = reached
    _insist(bool(np.all((low <= -lower) & (high >= upper) & (high - low >= width) & (high > low))))


def _relations(rows: list[Any], n: int) -> tuple[Any, int]:
    """Read the relations; also the largest sum of their coefficients."""
    _insist(all(type(row) is list and len(row) == 2 and type(row[0]) is type(row[1]) is list for row in rows))
    sizes = np.array([len(cells) for cells, _ in rows], dtype=np.int64)
    _insist([len(coefficients) for _, coefficients in rows] == sizes.tolist())
    cells = _whole([*chain.from_iterable(cells for cells, _ in rows)])
    _insist(bool(np.all((cells >= 0) & (cells < n))))
    coefficients = _whole([*chain.from_iterable(coefficients for _, coefficients in rows)])
    owner = np.repeat(np.arange(len(rows)), sizes)
    _insist(len(np.unique(owner * n + cells)) == len(cells))
    _insist(int(np.abs(coefficients).max(initial=0)) * max(int(sizes.max(initial=0)), 1) < LARGEST)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    relations = sparse.csr_array((coefficients, cells, ends), shape=(len(rows), n))
    return relations, int(abs(relations).sum(axis=1).max(initial=0))


def _positions(things: list[Any], limit: int) -> Integers:
    found = _whole(things)
    _insist(bool(np.all((found >= 0) & (found < limit))) and len(np.unique(found)) == len(found))
    return found


def _whole(things: list[Any]) -> Integers:
    """Read whole numbers; nothing else is one, neither true nor 1.0."""
    _insist(type(things) is list and set(map(type, things)) <= {int})
    _insist(min(things, default=0) > -LARGEST and max(things, default=0) < LARGEST)
    return np.array(things, dtype=np.int64)


def _over_one(lists: Sequence[list[Any]]) -> tuple[int, list[Integers]]:
    """Read exact numbers over their common denominator, and return that."""
    if all(set(map(type, things)) <= {int} for things in lists):
        return 1, [_whole(things) for things in lists]
    exact = [[Fraction(plain.number(thing, "a number")) for thing in things] for things in lists]
    scale = lcm(*{number.denominator for numbers in exact for number in numbers})
    _insist(scale < LARGEST)
    return scale, [_whole([int(number * scale) for number in numbers]) for numbers in exact]


def _insist(holds: bool) -> None:
    if not holds:
        raise NotInArrays
