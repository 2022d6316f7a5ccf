"""Principles applied to evidence: masks of what is unsafe, and verdicts on what leaves.

There is a module for tables, for groups, for models, and for what a single value, a square, a perfect fit,
groups in a test, or several statistics together reveal; contributors who know their own amounts have one,
too. Every verdict says what it compared with which number of the policy. Numbers come from policies, never
from here.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
