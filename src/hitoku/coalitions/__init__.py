"""Contributors as attackers, for those who hold the true table: who they are, and what they can infer."""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
