"""What a researcher hands over, and how a checker judges it again."""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
