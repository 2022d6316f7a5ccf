"""The number that a double stands for: 0.1 is a tenth, not the double nearest to it."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

# Required levels and outside bounds are formulas of values: a decimal of so many digits or a fraction of so
# small a denominator that is off by no more than rounding is what was meant.
LEVEL_DIGITS, LEVEL_DENOMINATOR, LEVEL_SHARE = 12, 1000, Fraction(1, 10**13)


@lru_cache(maxsize=100_000)
def rational(number: float) -> Fraction:
    """Read a level, bound or coefficient as the number that it stands for, rounding of doubles removed.

    Examples
    --------
    >>> rational(0.15 * 11401 - 422), rational(1.5 * 15 + 1 / 3)
    (Fraction(25763, 20), Fraction(137, 6))
    """
    if float(number).is_integer():
        return Fraction(int(number))
    double = Fraction(number)
    decimal = Fraction(f"{number:.{LEVEL_DIGITS}g}")
    for meant in (decimal, double.limit_denominator(LEVEL_DENOMINATOR)):
        if abs(meant - double) <= LEVEL_SHARE * abs(double):
            return meant
    return decimal
