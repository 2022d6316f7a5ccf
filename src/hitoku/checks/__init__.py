"""Output checking: whether a research output is fit to leave the secure centre."""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
