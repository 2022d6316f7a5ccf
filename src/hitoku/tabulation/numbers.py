"""The columns of numbers: refuse what cannot be added, and find the scale on which sums are exact."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hitoku.errors import DataError, ParameterError
from hitoku.tabulation.source import Source, infinite

MOST_DECIMALS = 4
EXACT = 2**53  # whole numbers up to here are doubles


@dataclass(frozen=True)
class Numbers:
    """What one look at the columns of numbers tells.

    Parameters
    ----------
    n_records
        Number of records.
    negative
        Some value is below zero.
    scale, weight_scale
        Powers of ten by which values and weights are multiplied before they are added. When all are
        decimals of few digits they become whole numbers, whose sums are exact in any order; one division
        at the end gives the double nearest to the decimal. Otherwise 1.
    smallest_weight
        Smallest weight above zero; 1 where there are no weights.
    rounded
        Every record's amount is rounded on the scale before it is added.
    """

    n_records: int
    negative: bool = False
    scale: float = 1.0
    weight_scale: float = 1.0
    smallest_weight: float = 1.0
    rounded: bool = False


def numbers_of(source: Source, decimals: int | None = None) -> Numbers:
    """Check values and weights in one scan; with ``decimals`` amounts are rounded to so many."""
    n_records = int(source.rows("SELECT count(*) FROM records")[0][0])
    if n_records == 0:
        raise DataError(
            "the data are empty", where=source.where, fix="check the file or the filter before it"
        )
    value, weight = "x" in source.types, "w" in source.types
    x = "CAST(x AS DOUBLE)" if value else "0.0::DOUBLE"
    w = "CAST(w AS DOUBLE)" if weight else "1.0::DOUBLE"
    found = source.rows(
        f"""
        SELECT count(*) FILTER (WHERE x IS NULL OR NOT isfinite(x)),
               count(*) FILTER (WHERE w IS NULL OR NOT isfinite(w)),
               count(*) FILTER (WHERE w < 0), min(x), min(w) FILTER (WHERE w > 0),
               max({_decimals("x")}), max({_decimals("w")}),
               {_size("abs(x)")}, {_size("w")}, {_size("abs(x) * w")}
        FROM (SELECT {x} AS x, {w} AS w FROM records)
        """
    )[0]
    bad_values, bad_weights, below, smallest, smallest_weight, digits, weight_digits, *sizes = found
    if bad_values:
        raise infinite(source.names["x"], bad_values, source.where)
    if bad_weights:
        raise DataError(
            f"column {source.names['w']!r} has {bad_weights} missing, NaN or infinite weight(s)",
            where=source.where,
            fix="fill or drop these records; a record that stands for itself has weight 1",
        )
    if below:
        raise DataError(
            f"column {source.names['w']!r} has {below} negative weight(s)",
            where=source.where,
            fix="a weight is the number of units that a record stands for; leave negative ones out",
        )
    size, weights, weighted = (part or 0.0 for part in sizes)
    if decimals is not None:
        _refuse_large(decimals, weighted if weight and value else size if value else weights, source.where)
        scale, weight_scale = 10.0**decimals, 1.0 if value else 10.0**decimals
        return Numbers(n_records, smallest < 0, scale, weight_scale, smallest_weight or 1.0, rounded=True)
    scale = _scale(digits, size)
    weight_scale = _scale(weight_digits, weights)
    if weight and value and scale * weight_scale * weighted >= EXACT:
        weight_scale = 1.0
    return Numbers(n_records, smallest < 0, scale, weight_scale, smallest_weight or 1.0)


def _refuse_large(decimals: int, size: float, where: str) -> None:
    if 10.0**decimals * size >= EXACT:
        most = max(math.floor(math.log10(EXACT / size)), 0)
        raise ParameterError(
            f"decimals={decimals} asks for more digits than sums of this size have",
            where=where,
            fix=f"decimals={most} is the most for these data, or give the values in thousands",
        )


def _decimals(column: str) -> str:
    """Write SQL for the fewest decimals that give a number exactly; 99 when there are too many.

    A double is the decimal r / 10**d when dividing gives it back, since division rounds correctly.
    """
    cases = "".join(
        f" WHEN abs({column}) * 1e{d} < {EXACT} AND round({column} * 1e{d}) / 1e{d} = {column} THEN {d}"
        for d in range(MOST_DECIMALS + 1)
    )
    return f"CASE {cases} ELSE 99 END"


def _size(amount: str) -> str:
    """Write SQL for a sum rounded up, cut off far above what matters.

    Whole numbers are added: a sum of doubles could differ from run to run, and with it the scale.
    """
    return f"sum(CAST(least(ceil({amount}), 1e20) AS HUGEINT))::DOUBLE"


def _scale(digits: int, size: float) -> float:
    scale = 10.0**digits if digits <= MOST_DECIMALS else math.inf
    return scale if scale * size < EXACT else 1.0
