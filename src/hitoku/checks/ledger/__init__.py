"""Ledger of released outputs, and differencing checks of new outputs against them.

:class:`Ledger` is an append-only log in SQLite whose lines are chained by hashes. It stores the units of each
output under a keyed hash and tests a new output against all of them by differencing, for counts, sums of
amounts and regressions on dummies; :class:`DifferencingFinding` describes a disclosure and a fix.
:class:`Settings` are fixed when a ledger is created (:func:`init`), and a :class:`Receipt` records a release.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
