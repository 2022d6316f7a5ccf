"""The report ``checker/report.html``: all evidence on one page, for the person who approves a release.

``report`` renders the template, ``findings`` describes the verdict and the steps of the audit, ``pictures``
draws intervals and sums that disclose a cell.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
