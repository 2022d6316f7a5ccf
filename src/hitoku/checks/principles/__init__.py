"""What a principle says about evidence: masks of what is unsafe, and verdicts on what leaves."""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
