"""Number formatting, identical on every machine, for people and for files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.files import write_csv
from hitoku.messages import Text
from hitoku.model import DIGITS, Floats, Integers, Labels

MINUS = "\N{MINUS SIGN}"
INFINITY = "\N{INFINITY}"
# Dash between the ends of an interval, with no-break spaces.
TO = "\N{NO-BREAK SPACE}\N{EN DASH}\N{NO-BREAK SPACE}"


def number(value: float) -> str:
    """Format a number with thousands separators, without floating-point residue.

    Examples
    --------
    >>> number(327.40000000000003), number(-1234567.125), number(0.00123456), number(math.inf)
    ('327.4', '\N{MINUS SIGN}1,234,567.125', '0.00123456', '\N{INFINITY}')
    """
    if math.isnan(value):
        return ""
    sign, size = MINUS if value < 0 else "", abs(value)
    if math.isinf(size):
        return sign + INFINITY
    return _format_size(sign, size, DIGITS - 1 - _magnitude(size))


def entry(value: object) -> str:
    """Format an entry of an output table: a number with thousands separators, or a text unchanged.

    Examples
    --------
    >>> entry(1234567), entry(1200.0), entry(0.25), entry("N1")
    ('1,234,567', '1,200', '0.25', 'N1')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    whole = isinstance(value, float) and value.is_integer()
    return f"{value:,.0f}" if whole else f"{value:,}"


def bound(value: float) -> str:
    """Format a computed bound with two decimals, or more for numbers below one.

    Examples
    --------
    >>> bound(52.9999999), bound(-0.00123456)
    ('53', '\N{MINUS SIGN}0.001235')
    """
    if not math.isfinite(value):
        return number(value)
    return _format_size(MINUS if value < 0 else "", abs(value), max(2, 3 - _magnitude(value)))


def _magnitude(size: float) -> int:
    """Return the decimal exponent of a number: 0 for numbers from one to ten."""
    return math.floor(math.log10(abs(size))) if size else 0


def _format_size(sign: str, size: float, decimals: int) -> str:
    text = f"{size:,.{min(max(decimals, 0), 15)}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return sign + text if text != "0" else text


def interval(low: float, high: float) -> str:
    """Format an interval; empty if unknown.

    Examples
    --------
    >>> interval(3, 12) == f"3{TO}12", interval(3, 3), interval(math.nan, math.nan)
    (True, 'exactly 3', '')
    """
    if math.isnan(low):
        return ""
    return f"{bound(low)}{TO}{bound(high)}" if high > low else Text("exactly {number}", number=bound(low))


def percent(share: float) -> str:
    """Format a share as a percentage; empty if unknown.

    Examples
    --------
    >>> percent(0.4328), percent(math.nan)
    ('43.3%', '')
    """
    return "" if math.isnan(share) else f"{100 * share:.1f}%"


def times(quotient: float) -> str:
    """Format how many times a requirement is met; never rounded up to one.

    Examples
    --------
    >>> times(1.2345), times(0.9999), times(math.inf)
    ('1.23\N{MULTIPLICATION SIGN}', '0.99\N{MULTIPLICATION SIGN}', '')
    """
    if not math.isfinite(quotient):
        return ""
    shown = quotient if quotient >= 1 else math.floor(quotient * 100) / 100
    return f"{shown:,.2f}\N{MULTIPLICATION SIGN}"


def format_numbers(value: Floats, *, integer: bool) -> list[str]:
    """Format numbers so that they are read back unchanged; NaN is empty.

    Examples
    --------
    >>> format_numbers(np.array([3.0, np.nan, np.inf]), integer=True)
    ['3', '', 'inf']
    >>> format_numbers(np.array([0.1]), integer=False)
    ['0.1']
    """
    return [_exact(float(v), integer=integer) for v in value]


def write_cells(
    path: Path,
    labels: Labels,
    columns: Mapping[str, Sequence[Any]],
    cells: Integers | None = None,
    *,
    disarmed: bool = True,
) -> None:
    """Write the codes of all or some cells, and further columns.

    For ``disarmed`` see :func:`hitoku.files.write_csv`.
    """
    chosen: Any = slice(None) if cells is None else cells
    codes = [np.array(c, dtype=object)[labels.column(v)[chosen]].tolist() for v, c in enumerate(labels.codes)]
    rows = zip(*codes, *columns.values(), strict=True)
    write_csv(path, chain([[*labels.names, *columns]], rows), disarmed=disarmed)


def _exact(value: float, *, integer: bool) -> str:
    if np.isnan(value):
        return ""
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    return str(int(value)) if integer and value == int(value) else repr(value)
