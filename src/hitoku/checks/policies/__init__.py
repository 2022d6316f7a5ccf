"""Policies, one TOML file each: the numbers behind the principles, with a name and a version."""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
