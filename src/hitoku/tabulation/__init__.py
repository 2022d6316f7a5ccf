"""From microdata to a table: an engine (DuckDB, Spark, Ibis) reads and recodes, kernels rank contributors."""
