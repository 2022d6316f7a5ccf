"""Metrics of a release: information lost, protection reached, closeness to records and to true values.

:func:`loss` counts what was withheld or changed, :class:`Comparison` puts several methods side by side,
:func:`recovery` says how close an attacker's estimates come, :func:`risk_per_record` what a release reveals
about each record. They measure what was decided and proved elsewhere, and decide nothing themselves.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
