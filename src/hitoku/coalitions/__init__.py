"""Contributors as attackers: who they are, and what they can infer. For callers that hold the true table.

A contributor, or a coalition of a few, subtracts their own contributions from published sums.
:func:`choose_insiders` selects the coalitions to consider, :class:`Knowledge` computes what they know without
any release, and :class:`CoalitionSearch` finds, among thousands, those that can infer an unsafe cell more
closely than its levels allow. Feasible tables are witnesses for many coalitions at once; a linear program is
solved only if there is no witness. The result is an :class:`InsiderVerdict`.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
