"""Figures of the papers; each function returns a matplotlib figure."""
