"""Metrics of a release: information loss, achieved protection, risk per record, and recovery of true values.

:func:`loss` measures the cells and values that are suppressed or changed, :class:`Comparison` compares
several methods on one table, :func:`recovery` measures how close an attacker's estimates come to the true
values, and
:func:`risk_per_record` measures what a release reveals about each contributor. Metrics describe a release;
whether it is safe is decided by :mod:`hitoku.evidence`.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
