"""A method made of whole rectangles, which a reader may know."""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
