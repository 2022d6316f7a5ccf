"""Metrics of a release: information lost, protection reached, closeness to records and to true values.

They measure what was decided and proved elsewhere, and decide nothing themselves.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
