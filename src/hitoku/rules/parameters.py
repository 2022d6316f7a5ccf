"""Parameters of rules: what is allowed, and what to write instead."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Literal, get_args

from hitoku.errors import RuleError

Level = Literal["holding", "unit"]


def check_percent(rule: str, name: str, given: Any) -> None:
    """Refuse anything outside (0, 100]."""
    if not _is_number(given) or not 0 < given <= 100:
        raise RuleError(
            "percent_parameter_range",
            "{name} must lie in (0, 100], got {given!r}",
            where="rule {rule}",
            fix="give {name} in percent: 10 for ten percent, not 0.1",
            name=name,
            given=given,
            rule=rule,
        )


def check_positive(rule: str, name: str, given: Any, fix: str) -> None:
    """Refuse anything but a positive finite number."""
    if not _is_number(given) or not 0 < given < math.inf:
        raise RuleError(
            "parameter_not_positive",
            "{name} must be a positive number, got {given!r}",
            where="rule {rule}",
            fix=fix,
            name=name,
            given=given,
            rule=rule,
        )


def check_range(rule: str, given: Any) -> None:
    """Refuse a protection range in percent that is not positive; None and above 100 are allowed."""
    if given is not None:
        fix = "give percent of the cell value, such as 20; None leaves the range to assess"
        check_positive(rule, "percent", given, fix)


def check_share(rule: str, name: str, given: Any) -> None:
    """Refuse anything outside (0, 1]."""
    if not _is_number(given) or not 0 < given <= 1:
        raise RuleError(
            "share_parameter_range",
            "{name} must lie in (0, 1], got {given!r}",
            where="rule {rule}",
            fix="give {name} as a fraction: 0.9 for ninety percent",
            name=name,
            given=given,
            rule=rule,
        )


def check_whole(rule: str, name: str, given: Any, least: int) -> None:
    """Refuse anything but a whole number from ``least`` on."""
    if isinstance(given, bool) or not isinstance(given, Integral) or int(given) < least:
        raise RuleError(
            "parameter_not_whole",
            "{name} must be a whole number, at least {least}, got {given!r}",
            where="rule {rule}",
            fix="give {name} as {least}, {least_2}, ...",
            name=name,
            least=least,
            given=given,
            rule=rule,
            least_2=least + 1,
        )


def check_level(rule: str, given: Any) -> None:
    """Refuse anything but the two levels at which contributors are counted."""
    if given not in get_args(Level):
        raise RuleError(
            "level_invalid",
            "level must be 'holding' or 'unit', got {given!r}",
            where="rule {rule}",
            fix="'holding' takes holdings where they are known and units elsewhere; 'unit' takes units",
            given=given,
            rule=rule,
        )


def variables_of(rule: str, name: str, given: Any) -> tuple[str, ...]:
    """Read one variable or several as a tuple of names."""
    names = (given,) if isinstance(given, str) else given
    if (
        not isinstance(names, Sequence)
        or not names
        or not all(isinstance(one, str) and one for one in names)
        or len(set(names)) != len(names)
    ):
        raise RuleError(
            "variables_parameter_invalid",
            "{name} must name one variable or several different ones, got {given!r}",
            where="rule {rule}",
            fix='write {name}="status" or {name}=("status", "income")',
            name=name,
            given=given,
            rule=rule,
        )
    return tuple(names)


def codes_of(rule: str, name: str, given: Any) -> tuple[tuple[str, str], ...]:
    """Read codes by variable, ``{"injury": "Unknown"}`` or pairs of them, as pairs (variable, code)."""
    entries = given.items() if isinstance(given, Mapping) else given
    pairs: dict[tuple[str, str], None] = {}
    try:
        for variable, codes in entries:
            for code in (codes,) if isinstance(codes, str) else tuple(codes):
                pairs[str(variable), str(code)] = None
    except (TypeError, ValueError):
        pairs = {}
        readable = False
    else:
        readable = not isinstance(given, str)
    if not readable:
        raise RuleError(
            "codes_parameter_invalid",
            "{name} must say which code of which variable",
            where="rule {rule}",
            fix='write {name}={"injury": "Unknown"}',
            name=name,
            rule=rule,
        )
    return tuple(pairs)


def _is_number(given: Any) -> bool:
    return isinstance(given, Real) and not isinstance(given, bool)
