"""What several outputs about the same units give away together."""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
