"""Tabulation as its definition says: for every cell, look at all records below it. Exact, slow."""

from __future__ import annotations

import itertools
from fractions import Fraction


def exact(number):
    """The decimal as written, not the double nearest to it."""
    return Fraction(str(number))


def leaves_below(dimension, code):
    """Leaves of a code, by walking down its parts."""
    parts = dict(reversed([(group, below) for group, below in dimension.groups]))
    if code not in parts:
        return {code}
    return set().union(*(leaves_below(dimension, part) for part in parts[code]))


def contributor(record, number, level):
    """Who is behind a record: a holding, else its unit, else the record itself."""
    if level == "holdings" and record.get("h") is not None:
        return ("holding", record["h"])
    if record.get("u") is not None:
        return ("unit", record["u"])
    return ("record", number)


def ranks(pairs, top):
    """Mean amount of each unit of weight, the largest amounts first."""
    ordered = sorted((pair for pair in pairs if pair[0] > 0 and pair[1] > 0), reverse=True)
    found = []
    for rank in range(top):
        amount = position = Fraction(0)
        for x, w in ordered:
            overlap = min(position + w, Fraction(rank + 1)) - max(position, Fraction(rank))
            amount += max(overlap, Fraction(0)) * x
            position += w
        found.append(amount)
    return found


def cell_of(records, level, top, magnitude):
    """Statistics of the records of one cell: numbered records in, a dict of exact numbers out."""
    by_contributor = {}
    for number, record in records:
        by_contributor.setdefault(contributor(record, number, level), []).append(record)
    pairs = []
    for own in by_contributor.values():
        amounts = [exact(r["x"]) for r in own]
        weights = [exact(r.get("w", 1)) for r in own]
        size = sum(abs(x) for x in amounts)
        if size:
            weight = sum(w * abs(x) for w, x in zip(weights, amounts, strict=True)) / size
        else:
            weight = sum(weights) / len(weights)
        pairs.append((sum(amounts), weight))
    ranked = [(abs(x), w) for x, w in pairs] if magnitude == "abs" else pairs
    weighted = sum(exact(r["x"]) * exact(r.get("w", 1)) for _, r in records)
    return {
        "records": len(records),
        "sum": sum(exact(r["x"]) for _, r in records),
        "weighted_sum": weighted,
        "weighted_count": sum(exact(r.get("w", 1)) for _, r in records),
        "count": len(by_contributor),
        "largest": ranks(ranked, top),
        "squares": sum(w * x * x for x, w in pairs),
        "total": sum(x * w for x, w in ranked) if magnitude == "abs" else weighted,
    }


def tabulated(records, dimensions, level, top=3, magnitude=None):
    """Every cell in the order of the table: the full cross of codes, row-major."""
    cells = []
    for codes in itertools.product(*(d.codes for d in dimensions)):
        below = [leaves_below(d, code) for d, code in zip(dimensions, codes, strict=True)]
        chosen = [
            (number, record)
            for number, record in enumerate(records)
            if all(record[d.name] in allowed for d, allowed in zip(dimensions, below, strict=True))
        ]
        cells.append(cell_of(chosen, level, top, magnitude))
    return cells
