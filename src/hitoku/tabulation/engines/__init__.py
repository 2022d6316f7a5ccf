"""Engines that read and recode records: DuckDB on this machine, Spark on a cluster, Ibis in a warehouse."""
