"""The ledger: every output of a data set that was released, and what a new one reveals together with them.

:class:`Ledger` is an append-only log in SQLite, every line chained to all before it. It stores the units of
each output under a keyed hash and tests a new output against all of them by differencing, for counts, sums of
amounts and regressions on dummies; :class:`DifferencingFinding` says what it finds and how to avoid it.
:class:`Settings` are fixed when a ledger is created (:func:`init`), and a :class:`Receipt` records what left.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
