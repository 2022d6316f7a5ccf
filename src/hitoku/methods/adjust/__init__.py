"""Controlled tabular adjustment: publish the closest safe table instead of the true one."""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
