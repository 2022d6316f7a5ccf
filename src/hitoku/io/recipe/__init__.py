"""Recipes: everything that goes into a release, in one file."""
