"""Undoing controlled tabular adjustment: what an outsider estimates who knows how it was done."""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
