"""From records to a table with exact contributor statistics at every marginal.

:func:`tabulate` makes one table, :func:`link` several of the same records. Files and frames become
``records`` of a private database (``text_files``, ``records``, ``source``), an engine counts codes and ranks
contributors (``engines``: DuckDB on this machine, Spark on a cluster, Ibis in a warehouse), ``cube`` numbers
the cells, ``exact_sums`` finds the scale on which sums are exact, ``contributor_sums`` adds up.
``placement``, ``divisions`` and ``linked`` find what several tables of the same records have in common;
``fingerprints`` compares releases made at different times. Names are loaded on first use, because numba
and DuckDB load slowly.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
