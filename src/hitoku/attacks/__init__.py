"""Attacks on a release: what an attacker can infer from published information alone.

An attack has a few validated parameters, a statement of the attacker's knowledge, and the method
``bounds(release)`` (:class:`Attack`, :class:`Inference`). :class:`Interval` knows the release only,
:class:`Insider` its own contributions, :class:`Group` the pooled knowledge of several people,
:class:`~hitoku.attacks.matching.Matching` the method that made the release, and
:class:`~hitoku.attacks.adjustment.Adjustment` how a table was adjusted. ``ATTACKS`` lists them by name; a new
attack is a line there. :mod:`hitoku.attacks.differencing` compares outputs about the same units. An attack
never receives the true table; one that needs the method gets it as a parameter.
"""

from __future__ import annotations

from collections.abc import Mapping

from hitoku.attacks.adjustment import Adjustment
from hitoku.attacks.attack import Attack
from hitoku.attacks.group import Group
from hitoku.attacks.insider import Insider
from hitoku.attacks.interval import Interval
from hitoku.attacks.matching import Matching
from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)

ATTACKS: Mapping[str, type[Attack]] = {
    "interval": Interval,
    "insider": Insider,
    "group": Group,
    "matching": Matching,
    "adjustment": Adjustment,
}
