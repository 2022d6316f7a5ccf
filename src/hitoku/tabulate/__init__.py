"""Microdata to tables."""
