"""What a researcher holds: a data set, and the outputs that were asked for."""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
