"""The matching attack: which tables would have led to exactly this release, for a known method.

:class:`Matching` lists or samples the tables consistent with a release (:class:`Board` holds the candidates),
runs the method on each (:class:`Suppressor`) and keeps those with the published pattern. A decision rule
(:class:`Support`, :class:`Likelihood`, :class:`Bayes`) determines which of them the attacker rules out. If
there are too many candidates, walks between tables with the same release give proved bounds. The optimal
method on small two-way counts has a specialised, faster search.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
