"""Conversion of command-line options to a recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hitoku.errors import ParameterError

if TYPE_CHECKING:
    from hitoku.io.recipe import Recipe

RECIPE = ".toml"


def read_recipe(data: Path, options: Mapping[str, Any], out: Path | None) -> Recipe:
    """Return the recipe in a file, or build one from options.

    Parameters
    ----------
    data
        Path of a recipe or of records.
    options
        Recipe keys with their values; None for options that were not given.
    out
        Output folder given on the command line, or None.

    Raises
    ------
    ParameterError
        If options contradict a recipe, or there is no output folder.
    """
    # Deferred imports keep --help fast.
    from hitoku.files import require_path
    from hitoku.io.recipe import Recipe

    require_path(data)
    if data.suffix.lower() == RECIPE:
        _refuse_options(
            [name for name, given in options.items() if (given or given is False) and name != "data"]
        )
        recipe = Recipe.read(data)
    else:
        recipe = Recipe.of(options)
    if out is None and recipe.keys.out is None:
        raise ParameterError(
            "output_folder_missing",
            "no output folder",
            where=data.name if data.suffix.lower() == RECIPE else "--out",
            fix='pass --out release, or add out = "release" to the recipe',
        )
    return recipe


def _refuse_options(given: Sequence[str]) -> None:
    """Raise if table options are given together with a recipe."""
    if given:
        names = {"rules": "rule", "hierarchies": "hierarchy", "formats": "format", "groups": "no-groups"}
        option = names.get(given[0], given[0])
        raise ParameterError(
            "option_contradicts_recipe",
            "options of the table cannot be combined with a recipe",
            where="--{option}",
            fix="write {given} into the recipe; only --out, --jobs, --memory-limit, --force, "
            "--lang and --json go with one",
            option=option,
            given=given[0],
        )


def parse_markers(words: str | None) -> list[str] | None:
    """Split markers of missing values, such as x,-."""
    return [word for word in (words or "").split(",") if word] or None


def parse_trees(words: Sequence[str] | None) -> dict[str, list[str]] | None:
    """Parse hierarchy options such as region=regions.csv. A column may have several hierarchies."""
    trees: dict[str, list[str]] = {}
    for name, file in _pairs("--hierarchy", words, "region=regions.csv"):
        trees.setdefault(name, []).append(file)
    return trees or None


def parse_cells(option: str, words: Sequence[str] | None) -> list[dict[str, list[str]]] | None:
    """Parse cells given by their codes, such as region=North,size=1+2."""
    if not words:
        return None
    example = "region=North,size=1+2"
    return [
        {name: codes.split("+") for name, codes in _pairs(option, word.split(","), example)} for word in words
    ]


def _pairs(option: str, words: Sequence[str] | None, example: str) -> list[tuple[str, str]]:
    """Split arguments of the form name=text."""
    pairs = []
    for word in words or ():
        name, equals, text = (part.strip() for part in word.partition("="))
        if not equals or not name or not text:
            raise ParameterError(
                "argument_invalid",
                "{argument!r} names no column and file"
                if option == "--hierarchy"
                else "{argument!r} names no variable and code",
                where=option,
                fix="write {option} {example}",
                argument=word,
                option=option,
                example=example,
            )
        pairs.append((name, text))
    return pairs
