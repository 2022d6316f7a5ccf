"""From microdata to a table: an engine (DuckDB, Spark) reads and recodes, kernels rank contributors."""
