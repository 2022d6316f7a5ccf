"""``checker/report.html``: all the evidence on one page, for the person who signs a release.

``report`` fills the template, ``findings`` puts the verdict and the steps of the audit into words,
``pictures`` draws intervals and sums that disclose a cell.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
