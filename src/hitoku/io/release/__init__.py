"""Release folders: ``public/`` is what is published, ``checker/`` is the evidence for the person who signs.

:func:`write_release` writes both, whole or not at all; :func:`read_release` reads them back for another
audit, :func:`convert` writes what a release shows in another format, :func:`write_publication` sums up
the releases of several groups of tables.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
