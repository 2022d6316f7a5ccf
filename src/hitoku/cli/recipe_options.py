"""Options of a command as the keys of a recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hitoku.errors import ParameterError

if TYPE_CHECKING:
    from hitoku.io.recipe import Recipe

RECIPE = ".toml"


def read_recipe(data: Path, options: Mapping[str, Any], out: Path | None) -> Recipe:
    """Return the recipe in a file, or the one that options make up; one of them says where to write.

    Parameters
    ----------
    data
        A recipe, or records.
    options
        Keys of a recipe by their names; None where an option was not given.
    out
        Where to write, if the command says so.
    """
    # A command loads what it needs.
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
            "nothing says where to write the release",
            where=data.name if data.suffix.lower() == RECIPE else "--out",
            fix='give --out release, or add out = "release" to the recipe',
        )
    return recipe


def _refuse_options(given: Sequence[str]) -> None:
    """Raise when a recipe is given and options besides: one of them would be ignored."""
    if given:
        names = {"rules": "rule", "hierarchies": "hierarchy", "formats": "format", "groups": "no-groups"}
        option = names.get(given[0], given[0])
        raise ParameterError(
            "option_contradicts_recipe",
            "a recipe says everything itself, an option for the table would contradict it",
            where="--{option}",
            fix="write {given} into the recipe; only --out, --jobs, --memory-limit, --force, "
            "--lang and --json go with one",
            option=option,
            given=given[0],
        )


def parse_trees(words: Sequence[str] | None) -> dict[str, list[str]] | None:
    """Gather files by column: region=regions.csv; a column may have several groupings."""
    trees: dict[str, list[str]] = {}
    for name, file in _pairs("--hierarchy", words, "region=regions.csv"):
        trees.setdefault(name, []).append(file)
    return trees or None


def parse_cells(option: str, words: Sequence[str] | None) -> list[dict[str, list[str]]] | None:
    """Read cells by their codes: region=North,size=1+2."""
    if not words:
        return None
    example = "region=North,size=1+2"
    return [
        {name: codes.split("+") for name, codes in _pairs(option, word.split(","), example)} for word in words
    ]


def _pairs(option: str, words: Sequence[str] | None, example: str) -> list[tuple[str, str]]:
    """Split words of the form name=text."""
    pairs = []
    for word in words or ():
        name, equals, text = (part.strip() for part in word.partition("="))
        if not equals or not name or not text:
            what = "names no column and file" if option == "--hierarchy" else "names no variable and code"
            raise ParameterError(
                "argument_invalid",
                "{argument!r} {problem}",
                where=option,
                fix="write {option} {example}",
                argument=word,
                problem=what,
                option=option,
                example=example,
            )
        pairs.append((name, text))
    return pairs
