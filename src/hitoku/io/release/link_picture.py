"""A small picture of which tables share cells: a circle of tables, a line for every pair."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# A table by name, with its size and the cells that it shares with others.
Node = tuple[str, int, Mapping[str, int]]

LABEL = 8.0  # of a letter
LEAST, MOST = 5.0, 15.0  # radius of a table
# With more tables than this in a group, pairs that share no more than a grand total have no line.
MANY = 12


@dataclass(frozen=True)
class TableSpot:
    """A table in the picture: where, how large, and its name beside it."""

    name: str
    x: float
    y: float
    radius: float
    label_x: float
    label_y: float
    anchor: str
    told: str


@dataclass(frozen=True)
class LinkLine:
    """Two tables that share cells."""

    x1: float
    y1: float
    x2: float
    y2: float
    width: float
    told: str


@dataclass(frozen=True)
class LinkPicture:
    """Spots and lines within a box of ``width`` by ``height``."""

    width: float
    height: float
    spots: tuple[TableSpot, ...]
    lines: tuple[LinkLine, ...]


def link_picture(group: Sequence[Node]) -> LinkPicture:
    """Lay out the tables of a group on a circle.

    Examples
    --------
    >>> picture = link_picture([("a", 9, {"b": 3}), ("b", 12, {"a": 3})])
    >>> [spot.name for spot in picture.spots], [line.told for line in picture.lines]
    (['a', 'b'], ['a and b share 3 cells'])
    """
    radius = 0.0 if len(group) == 1 else max(34.0, len(group) * 2 * MOST / (2 * math.pi) * 1.15)
    margin = MOST + 12.0 + LABEL * max(len(name) for name, _, _ in group)
    middle = radius + margin, radius + MOST + 18.0
    own = {node[0]: _spot(node, place, len(group), middle, radius) for place, node in enumerate(group)}
    wide, high = (round(2 * half, 1) for half in middle)
    return LinkPicture(wide, high, tuple(own.values()), tuple(_lines(group, own)))


def _spot(node: Node, place: int, n: int, middle: tuple[float, float], radius: float) -> TableSpot:
    name, size, _ = node
    angle = 2 * math.pi * place / n - math.pi / 2
    across, down = math.cos(angle), math.sin(angle)
    own = min(MOST, LEAST + 1.6 * math.log10(max(size, 1)) ** 1.4)
    x, y = middle[0] + radius * across, middle[1] + radius * down
    aside = n > 1 and abs(across) > 0.2
    anchor = "middle" if not aside else "start" if across > 0 else "end"
    label_x = x + (math.copysign(own + 5, across) if aside else 0.0)
    label_y = y + (4.0 if aside else -own - 5 if n > 1 and down < 0 else own + 14)
    shown = f"{name}: {size:,} cells"
    x, y, own, label_x, label_y = (round(number, 1) for number in (x, y, own, label_x, label_y))
    return TableSpot(name, x, y, own, label_x, label_y, anchor, shown)


def _lines(group: Sequence[Node], spots: Mapping[str, TableSpot]) -> list[LinkLine]:
    found: list[LinkLine] = []
    for place, (name, _, shares) in enumerate(group):
        for other, *_ in group[place + 1 :]:
            n = shares.get(other, 0)
            if n == 0 or (n == 1 and len(group) > MANY):
                continue
            one, two = spots[name], spots[other]
            width = round(min(7.0, 0.7 + 0.9 * math.log2(n)), 1)
            told = f"{name} and {other} share {n:,} cell{'' if n == 1 else 's'}"
            found.append(LinkLine(one.x, one.y, two.x, two.y, width, told))
    return found
