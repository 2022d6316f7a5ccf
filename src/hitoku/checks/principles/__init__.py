"""Principles applied to evidence: masks of unsafe parts, and verdicts on outputs.

There are modules for tables, groups and models, and for disclosures by single values, squares, a perfect fit,
groups in a test, or several statistics together; contributors who know their own amounts are covered as well.
A verdict states what it compared with which number of the policy. All numbers come from policies.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
