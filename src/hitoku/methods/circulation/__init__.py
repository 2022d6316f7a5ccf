"""Large tables: a pattern built from its own witnesses."""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
