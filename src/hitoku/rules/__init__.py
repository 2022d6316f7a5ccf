"""Primary rules: which cells must not be published, and how uncertain they must stay.

A :class:`Rule` has a few validated parameters and the method ``assess(table)``, which returns a need. Rules
for counts (:class:`MinFrequency`, :class:`KDisclosure`, :class:`GroupDisclosure`, :class:`DirectDisclosure`),
for magnitudes (:class:`Dominance`, :class:`PPercent`, :class:`PriorPosterior`, :class:`FewContributors`) and
for cells that are given or requested are one file each. ``RULES`` lists them by name; a new rule is a line
there. :func:`assess` combines several on one table, and :func:`rule_from_spec` reads one from a string such
as ``p_percent:p=10``.
"""

from __future__ import annotations

from hitoku.lazy import facade
from hitoku.rules.direct_disclosure import DirectDisclosure
from hitoku.rules.dominance import Dominance
from hitoku.rules.few_contributors import FewContributors
from hitoku.rules.given import Given
from hitoku.rules.group_disclosure import GroupDisclosure
from hitoku.rules.k_disclosure import KDisclosure
from hitoku.rules.min_frequency import MinFrequency
from hitoku.rules.p_percent import PPercent
from hitoku.rules.prior_posterior import PriorPosterior
from hitoku.rules.request import Request
from hitoku.rules.rule import Rule
from hitoku.rules.zero import Zero

__getattr__, __dir__, __all__ = facade(__name__)

RULES: dict[str, type[Rule]] = {
    "min_frequency": MinFrequency,
    "few_contributors": FewContributors,
    "dominance": Dominance,
    "p_percent": PPercent,
    "prior_posterior": PriorPosterior,
    "group_disclosure": GroupDisclosure,
    "direct_disclosure": DirectDisclosure,
    "k_disclosure": KDisclosure,
    "zero": Zero,
    "request": Request,
    "given": Given,
}
