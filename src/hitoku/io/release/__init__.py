"""Release folders: ``public/`` contains the published files, ``checker/`` the evidence for approval.

:func:`write_release` writes both atomically; :func:`read_release` reads them for another audit,
:func:`convert` writes the published table in another format, :func:`write_publication` summarises releases of
several groups of tables.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
