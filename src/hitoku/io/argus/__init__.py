"""τ-ARGUS files: metadata, microdata, tables, hierarchies, recodings, batches, safe files.

``read_*`` and ``write_*`` take one kind of file each. A batch is read as a request (``batch``), compared
with the files that it names (``batch_check``), run by :mod:`hitoku.pipeline.batch_run`, and its results are
written by ``batch_write``. :func:`export_release` writes a release as files that τ-ARGUS reads.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
