"""Submissions of researchers, and the checks that judge them again.

:class:`Submission` is a folder with outputs and their evidence. :func:`recheck` judges every output again
from its evidence and compares the outputs with each other and with the ledger; verdicts of the session are
not trusted. :func:`release` applies decisions and updates the ledger, receipts and files in one step. A
hand-suppressed table is judged by the same rules.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
