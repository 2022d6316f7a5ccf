"""Columns of numbers: reject those that cannot be added, and find the scale on which sums are exact."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from hitoku.errors import DataError, ParameterError
from hitoku.model import LARGEST_WHOLE, infinite

MAX_DECIMALS = 4
MAX_BITS = 122  # bits of the largest sums, as integers
SPREAD_BITS = 30


@dataclass(frozen=True)
class Fine:
    """Powers of two by which numbers are multiplied before they are truncated and added as integers.

    One if all of them are integers with a sum below 2**53. See :mod:`hitoku.kernels.fixed_point`.
    """

    sums: Mapping[str, float]
    """For every measure that is a sum."""
    ranks: tuple[float, ...]
    """For statistics of contributors, in the order of :mod:`hitoku.kernels.topk`."""


@dataclass(frozen=True)
class Numbers:
    """Properties of the columns of numbers."""

    n_records: int
    """Number of records."""
    fine: Fine
    """Resolution of sums."""
    negative: bool = False
    """Whether some value is negative."""
    scale: float = 1.0
    weight_scale: float = 1.0
    """Powers of ten by which values and weights are multiplied before they are added. If all are decimals
    of few digits they become integers, whose sums are exact; one division at the end gives the double
    nearest to the decimal. Otherwise 1."""
    smallest_weight: float = 1.0
    """Smallest positive weight; 1 without weights."""
    rounded: bool = False
    """Whether every record's contribution is rounded on the scale before it is added."""


class Measured(Protocol):
    """Provider of the numbers of records; see :class:`hitoku.tabulation.engines.engine.Engine`."""

    @property
    def names(self) -> Mapping[str, str]: ...

    @property
    def where(self) -> str: ...

    def facts(self) -> NumberFacts: ...

    def spread(self, fine: float) -> int: ...


@dataclass(frozen=True)
class NumberFacts:
    """Counts, extremes and sums over all records; x is 0 and w is 1 without such a column."""

    n_records: int = 0
    bad_values: int = 0
    bad_weights: int = 0
    below: int = 0
    """Records; those whose value or weight is missing or not finite, and those with negative weight."""
    smallest: float = 0.0
    largest: float = 0.0
    smallest_weight: float | None = None
    largest_weight: float = 0.0
    """Smallest value, largest by size; smallest positive weight, largest."""
    digits: int = 0
    weight_digits: int = 0
    """The fewest decimals that represent all of them exactly; 99 if there are too many."""
    size: float = 0.0
    weights: float = 0.0
    weighted: float = 0.0
    """Sums of sizes of values, of weights, and of their products, each rounded up to an integer."""


def numbers_of(engine: Measured, decimals: int | None = None) -> Numbers:
    """Check values and weights in one scan; with ``decimals``, contributions are rounded to as many."""
    facts = engine.facts()
    if facts.n_records == 0:
        raise DataError(
            "data_empty",
            "the data are empty",
            where=engine.where,
            fix="check the file or the filter before it",
        )
    _refuse_numbers(facts, engine)
    value, weight = "x" in engine.names, "w" in engine.names
    if decimals is not None:
        amount = facts.weighted if weight and value else facts.size if value else facts.weights
        _refuse_large(decimals, amount, engine.where)
        scale, weight_scale = 10.0**decimals, 1.0 if value else 10.0**decimals
        rounding = facts.n_records * (facts.largest_weight + 1.0)  # for rounding upward
        whole = {
            "sum": scale * facts.size + rounding < LARGEST_WHOLE,
            "weighted_sum": scale * facts.weighted + rounding < LARGEST_WHOLE,
            "weighted_count": not value or (facts.weight_digits == 0 and facts.weights < LARGEST_WHOLE),
        }
    else:
        scale = _scale(facts.digits, facts.size)
        weight_scale = _scale(facts.weight_digits, facts.weights)
        if weight and value and scale * weight_scale * facts.weighted >= LARGEST_WHOLE:
            weight_scale = 1.0
        whole = {
            "sum": facts.digits <= MAX_DECIMALS and 10.0**facts.digits * facts.size < LARGEST_WHOLE,
            "weighted_count": 10.0**facts.weight_digits == weight_scale and facts.weights < LARGEST_WHOLE,
        }
        whole["weighted_sum"] = all(whole.values()) and scale * weight_scale * facts.weighted < LARGEST_WHOLE
    return Numbers(
        facts.n_records,
        _fine(facts, engine, whole, (scale, weight_scale), weighted=weight),
        negative=facts.smallest < 0,
        scale=scale,
        weight_scale=weight_scale,
        smallest_weight=facts.smallest_weight or 1.0,
        rounded=decimals is not None,
    )


def _fine(
    facts: NumberFacts,
    engine: Measured,
    whole: Mapping[str, bool],
    scales: tuple[float, float],
    *,
    weighted: bool,
) -> Fine:
    """Choose powers of two with enough range for the largest sums; they follow from the records alone."""
    n_bits = facts.n_records.bit_length()
    weight = math.frexp(facts.largest_weight)[1]
    if whole["sum"]:
        size = math.frexp(scales[0] * facts.size + facts.n_records)[1]
    else:
        # Half a billionth of the largest value, compared with that of the sum, to within a factor of two.
        largest = math.frexp(facts.largest)[1]
        size = largest - SPREAD_BITS + engine.spread(2.0 ** _within(SPREAD_BITS - largest, 900)).bit_length()
        size = max(size + math.frexp(scales[0])[1], n_bits) + 1
    product = size + weight
    plain = whole["sum"] and not weighted
    amount = 1.0 if whole["sum"] else _grid(size)
    sums = {
        "sum": amount,
        "weighted_sum": 1.0 if whole["weighted_sum"] else _grid(product + math.frexp(scales[1])[1]),
        "weighted_count": 1.0
        if whole["weighted_count"]
        else _grid(n_bits + weight + math.frexp(scales[1])[1]),
    }
    root = 0.0 if plain else 2.0 ** _within((MAX_BITS - 2 * size - weight) // 2, 500)
    sizes = 1.0 if plain else _grid(product)
    return Fine(sums, (amount, _grid(product), amount, _grid(n_bits + weight), root, sizes))


def _grid(bits: int) -> float:
    """Return the power of two that scales numbers below 2**bits to integers within the available bits."""
    return 2.0 ** _within(MAX_BITS - bits, 900)


def _within(exponent: int, most: int) -> int:
    return max(-most, min(most, exponent))


def _refuse_numbers(facts: NumberFacts, engine: Measured) -> None:
    if facts.bad_values:
        raise infinite(engine.names["x"], facts.bad_values, engine.where)
    if facts.bad_weights:
        raise DataError(
            "weights_not_finite",
            "column {column!r} has {n} missing, NaN or infinite weight(s)",
            column=engine.names["w"],
            where=engine.where,
            fix="fill or drop these records; a record that stands for itself has weight 1",
            n=facts.bad_weights,
        )
    if facts.below:
        raise DataError(
            "weights_negative",
            "column {column!r} has {n} negative weight(s)",
            column=engine.names["w"],
            where=engine.where,
            fix="a weight is the number of units that a record stands for; leave negative ones out",
            n=facts.below,
        )


def _refuse_large(decimals: int, size: float, where: str) -> None:
    if 10.0**decimals * size >= LARGEST_WHOLE:
        most = max(math.floor(math.log10(LARGEST_WHOLE / size)), 0)
        raise ParameterError(
            "too_many_decimals",
            "decimals={decimals} requires more digits than sums of this size have",
            where=where,
            fix="decimals={most} is the most for these data, or give the values in thousands",
            decimals=decimals,
            most=most,
        )


def decimals_sql(column: str, nearest: str) -> str:
    """Return SQL for the fewest decimals that represent a number exactly; 99 if there are too many.

    A double is the decimal r / 10**d if the division gives it back, because division rounds correctly.
    ``nearest`` is the rounding function; ties do not matter.
    """
    cases = "".join(
        f" WHEN abs({column}) * 1e{d} < {LARGEST_WHOLE}"
        f" AND {nearest}({column} * 1e{d}) / 1e{d} = {column} THEN {d}"
        for d in range(MAX_DECIMALS + 1)
    )
    return f"CASE {cases} ELSE 99 END"


def _scale(digits: int, size: float) -> float:
    scale = 10.0**digits if digits <= MAX_DECIMALS else math.inf
    return scale if scale * size < LARGEST_WHOLE else 1.0
