"""Submissions: what a researcher hands over, and how a checker judges it again.

:class:`Submission` is a folder with the outputs and beside them their evidence. :func:`recheck` judges every
output again from its evidence, compares the outputs with each other and with the ledger, and believes no
verdict of the session. Decisions are applied, then :func:`release` remembers, writes receipts and files in
one step. A table that was suppressed by hand is judged by the same rules.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
