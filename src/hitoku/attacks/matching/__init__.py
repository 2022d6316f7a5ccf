"""The matching attack: which tables would have led to exactly this release, for a known method.

:class:`Matching` lists or samples the tables that fit a release (:class:`Board` holds the candidates), runs
the method on each (:class:`Suppressor`) and keeps those with the published pattern. A decision rule
(:class:`Support`, :class:`Likelihood`, :class:`Bayes`) says which of them the attacker rules out. Where
candidates are too many, walks from one table to others with the same release give bounds that are proved. The
optimal method on small two-way counts has a fast way of its own.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
