"""What a file format of published tables is: a name, a suffix, and a function that writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hitoku.io.publication import Publication


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write a publication.

    Parameters
    ----------
    name
        As in a recipe and on the command line; its file in this folder has that name, with ``_`` for ``-``.
    suffix
        What follows the name of the table in the name of the file.
    about
        What it is, in a few words.
    write
        Writes one file.
    """

    name: str
    suffix: str
    about: str
    write: Callable[[Path, Publication], None]
