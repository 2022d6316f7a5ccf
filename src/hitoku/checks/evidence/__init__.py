"""What the rules are computed from: collected once from the records, and enough to judge an output again."""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
