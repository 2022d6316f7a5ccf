"""Everything released about a data set, and what a new output would give away together with it."""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
