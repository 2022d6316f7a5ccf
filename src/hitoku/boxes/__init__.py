"""Exact changes of a cross table, found without linear programs, for those who hold the true table."""
