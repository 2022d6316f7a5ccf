"""The matching attack on releases whose method is known."""

from hitoku.attacks.matching.attackers import Attacker, Bayes, Likelihood, Support
from hitoku.attacks.matching.matched import Matched
from hitoku.attacks.matching.matching import Matching
from hitoku.attacks.matching.unknown import less_informed, possible_parameters

__all__ = [
    "Attacker",
    "Bayes",
    "Likelihood",
    "Matched",
    "Matching",
    "Support",
    "less_informed",
    "possible_parameters",
]
