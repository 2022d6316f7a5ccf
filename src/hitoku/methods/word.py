"""A method written as one word, for command lines and recipes: ``optimal:cost=value,time_limit_s=60``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hitoku.methods.costs import COSTS
from hitoku.methods.method import Method
from hitoku.rules import from_word, made

# Words for parameters whose type does not list them; every method understands the same ones.
CHOICES = {"cost": COSTS}


def method_from_word(word: str, registry: Mapping[str, type[Method]]) -> Method:
    """Make the method that a word describes.

    Parameters
    ----------
    word
        Name of the method, a colon, and parameters as ``name=value`` with commas between them.
    registry
        Methods by name, such as ``METHODS``.

    Examples
    --------
    >>> from hitoku.methods import METHODS
    >>> method_from_word("greedy:tidy=true,prefer=closing", METHODS)
    Greedy(tidy=True, prefer='closing')
    """
    method: Method = from_word(word, registry, "method", CHOICES)
    return method


def method_from_parts(
    name: str, given: Mapping[str, Any], registry: Mapping[str, type[Method]], *, where: str
) -> Method:
    """Make a method from its name and parameters that were given one by one."""
    method: Method = made(name, given, registry, "method", CHOICES, where=where)
    return method
