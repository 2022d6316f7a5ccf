"""Engines that read and recode records: DuckDB on this machine, Spark on a cluster, Ibis in a warehouse."""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
