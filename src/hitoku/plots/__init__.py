"""One figure per file."""
