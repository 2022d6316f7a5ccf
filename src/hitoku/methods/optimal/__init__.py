"""Secondary suppression at the least cost, proven: a branch and cut over attackers' problems."""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
