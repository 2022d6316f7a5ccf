"""A method that draws lots, so that knowing it helps an attacker little."""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
