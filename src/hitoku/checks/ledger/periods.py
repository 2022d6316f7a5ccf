"""What outputs tell about a period of a panel, in which the same units come back."""

from __future__ import annotations

from collections.abc import Iterable

from hitoku.attacks.differencing.partition import COUNT

WITHIN = " within "


def told_within(what: str, period: str) -> str:
    """Say that something is told about the units of a period.

    Examples
    --------
    >>> told_within("count", "year=2020")
    'count within year=2020'
    """
    return f"{what}{WITHIN}{period}"


def counts_told(tells: Iterable[str]) -> bool:
    """Tell whether counts are among what is told, of everybody or of a period.

    Examples
    --------
    >>> counts_told({"income", "count within year=2020"}), counts_told({"income", "counts"})
    (True, False)
    """
    return any(each == COUNT or each.startswith(f"{COUNT}{WITHIN}") for each in tells)
