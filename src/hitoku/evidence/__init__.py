"""Does a release meet its need, and the proof."""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
