"""Recipes: everything that goes into a release, in one TOML file that can be kept, checked and run again.

:class:`Recipe` reads and checks a file without touching data; ``keys`` lists every key with its type;
:func:`write_draft` guesses a first recipe from a data file. :mod:`hitoku.pipeline.recipe_run` runs them.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
