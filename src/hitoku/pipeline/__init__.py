"""Assess, protect, attack, audit, in order: from a table to a release with its evidence."""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
