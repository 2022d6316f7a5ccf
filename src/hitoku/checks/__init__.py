"""Output checking: decide whether research outputs may be released from a secure environment.

A researcher works in a :mod:`~hitoku.checks.session`, which protects and judges every output. Output types
are in :mod:`~hitoku.checks.outputs`; each collects :mod:`~hitoku.checks.evidence` from the records, to which
:mod:`~hitoku.checks.principles` are applied with the numbers of one of the :mod:`~hitoku.checks.policies`. A
:mod:`~hitoku.checks.submission` carries outputs with their evidence to a checker, who judges them again. The
:mod:`~hitoku.checks.ledger` remembers what was released, so that outputs are compared with all before them.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
