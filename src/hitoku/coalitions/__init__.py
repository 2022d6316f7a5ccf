"""Contributors as attackers, for those who hold the true table: who they are, and what they can infer.

A contributor, or a few who pool what they know, subtracts own amounts from published sums.
:func:`choose_insiders` says which coalitions are considered, :class:`Knowledge` what they know without any
release, and :class:`CoalitionSearch` which of thousands infer an unsafe cell more closely than its need
allows. Feasible tables serve as witnesses for many coalitions at once; only where none fits is a linear
program solved. :class:`InsiderVerdict` is the answer.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
