"""A method of small groups of cells, which a reader may know: its refusals depend on the cells."""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
