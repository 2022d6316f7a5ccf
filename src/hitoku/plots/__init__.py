"""One figure per file; every function returns a matplotlib figure and shows or saves nothing itself."""
