"""Recipes: all settings of a release in one TOML file.

:class:`Recipe` reads and checks a file without touching data; ``keys`` defines every key with its type;
:func:`write_draft` drafts a recipe from a data file. :mod:`hitoku.pipeline.recipe_run` runs recipes.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
