"""What can be inferred about a cell, drawn against what was required.

A picture is a few coordinates on a strip of fixed size; the template draws them. Each cell has its own scale,
chosen so that the requirement fills about half of the strip: what matters is whether it is covered.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

WIDTH, EDGE = 200.0, 6.0
# So many times the requirement is shown on either side of the value; what reaches further gets an arrow.
REACH = 2.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """Positions on the strip, in tenths of what is visible; a part that is not there is None.

    Parameters
    ----------
    value
        The true value.
    have
        What can be inferred: both ends. An end that is cut off has an arrow.
    cut_low, cut_high
        It goes on beyond the strip.
    need
        From the required lower to the required upper level.
    missing
        Stretches of the requirement that are not covered.
    ruler
        The required width, laid out from the lower end of what can be inferred.
    shown
        What is published instead, where values were adjusted.
    """

    value: float
    have: tuple[float, float] | None = None
    cut_low: bool = False
    cut_high: bool = False
    need: tuple[float, float] | None = None
    missing: tuple[tuple[float, float], ...] = ()
    ruler: tuple[float, float] | None = None
    shown: float | None = None


@dataclass(frozen=True, slots=True)
class _Scale:
    left: float
    right: float

    def __call__(self, number: float) -> float:
        share = (number - self.left) / (self.right - self.left)
        return round(EDGE + (WIDTH - 2 * EDGE) * min(max(share, 0.0), 1.0), 1)


def _scale(value: float, ends: tuple[float, ...], span: float) -> _Scale:
    """Show the ends, and of those far away as much as is needed to see that they are far."""
    far = REACH * span if span > 0 else math.inf
    seen = [min(max(end, value - far), value + far) for end in (*ends, value)]
    known = [end for end in seen if math.isfinite(end)]
    left, right = min(known), max(known)
    room = (right - left) or abs(value) or 1.0
    # An end at infinity and nothing required: as much again as is known.
    left = left - room if -math.inf in seen else left
    right = right + room if math.inf in seen else right
    return _Scale(left, right) if right > left else _Scale(left - room, right + room)


def interval_bar(
    value: float, low: float, high: float, *, lower: float = 0.0, upper: float = 0.0, width: float = 0.0
) -> Bar:
    """Draw an interval against the levels and the width that were required.

    Examples
    --------
    A value of 50 must be blurred by 10 either way. It can be inferred to lie between 45 and 200: above that
    is more than enough, below it is not.

    >>> bar = interval_bar(50, 45, 200, lower=10, upper=10)
    >>> bar.cut_high, bar.need, bar.missing
    (True, (6.0, 113.4), ((6.0, 32.9),))
    """
    need = (value - lower, value + upper) if lower or upper else None
    span = max(lower, upper, width)
    known = not math.isnan(low)
    ends = ((low, high) if known else ()) + (need or ())
    if width > 0:
        start = low if known and math.isfinite(low) else value - width / 2
        start = max(start, value - REACH * span)
        ends += (start, start + width)
    scale = _scale(value, ends, span)
    missing: list[tuple[float, float]] = []
    if need and known:
        missing += [(need[0], min(low, need[1]))] if low > need[0] else []
        missing += [(max(high, need[0]), need[1])] if high < need[1] else []
    return Bar(
        value=scale(value),
        have=(scale(low), scale(high)) if known else None,
        cut_low=known and low < scale.left,
        cut_high=known and high > scale.right,
        need=(scale(need[0]), scale(need[1])) if need else None,
        # Less than a tenth of a unit is rounding of the solver, and would not be seen.
        missing=tuple((scale(a), scale(b)) for a, b in missing if scale(b) > scale(a)),
        ruler=(scale(start), scale(start + width)) if width > 0 else None,
    )


def adjusted_bar(value: float, shown: float, *, down: float, up: float) -> Bar:
    """Draw what is published against the stretch around the true value that it must keep out of.

    Examples
    --------
    >>> bar = adjusted_bar(50, 62, down=10, up=10)
    >>> bar.value, bar.need, bar.shown
    (91.5, (6.0, 176.9), 194.0)
    """
    scale = _scale(value, (value - down, value + up, shown), max(down, up))
    need = (scale(value - down), scale(value + up)) if down or up else None
    return Bar(value=scale(value), need=need, shown=scale(shown))
