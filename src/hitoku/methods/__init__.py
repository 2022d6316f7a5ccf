"""Methods that protect a table."""
