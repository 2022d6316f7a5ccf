"""Engines that read and recode records: DuckDB on this machine, Spark on a cluster, Ibis in a warehouse.

An engine answers four questions about records (columns, codes, counts with exact sums, largest contributors);
everything else is done once, outside. ``engine`` has the protocol and chooses the engine by the kind of data.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
