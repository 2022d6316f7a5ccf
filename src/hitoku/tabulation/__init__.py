"""From microdata to a table: DuckDB reads and recodes, a kernel ranks contributors."""
