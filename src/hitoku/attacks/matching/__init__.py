"""The matching attack on releases whose method is known."""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
