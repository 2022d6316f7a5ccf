"""Recipe: all settings of a release, read from a file and checked.

Reading a recipe touches no data: keys, rules and the method are checked first, and an error names the line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hitoku.errors import DataError, HitokuError, did_you_mean
from hitoku.io.recipe.keys import UNLESS_UNSAFE, CountsKeys, RecipeKeys, RecipeOrigin, TableKeys
from hitoku.messages import Text
from hitoku.methods import METHODS, Method, method_from_parts
from hitoku.rules import RULES, Rule, build_from_spec, parse_spec
from hitoku.toml import load_toml, toml_text, validate_keys

# Keys for only one of the two kinds of data.
OF_RECORDS = ("weight", "unit", "holding", "where", "magnitude", "missing", "unseen", "top", "decimals")
# Keys for records that are not passed to tabulate.
OF_MAKING = ("empty", "engine", "spark")
# Keys that affect how the work is done, not its result.
OF_RUNNING = ("jobs", "memory_limit")
OF_CELLS = ("frequency", "largest", "cost", "fixed", "totals")
# What to write for a key, whatever was wrong with it.
# Reserved table names, with reasons.
RESERVED = {
    "table": "so all of them are called together",
    "public": "so a folder of every release is called",
    "checker": "so a folder of every release is called",
}


@dataclass(frozen=True, eq=False)
class Counts:
    """Protection of the counts behind a magnitude table."""

    rules: tuple[Rule, ...]
    method: Method | None
    width: float


@dataclass(frozen=True, eq=False, repr=False)
class Recipe:
    """Checked recipe.

    Parameters
    ----------
    keys
        Keys of the recipe.
    tables
        Keys of each table, including shared keys.
    rules, method
        Rules and method; the method does not have its cells yet.
    counts
        Protection of the counts behind a magnitude table; None if not required.
    folder
        Folder to which paths are relative.
    origin
        Origin of every key.
    text
        The recipe as TOML.
    """

    keys: RecipeKeys
    tables: Mapping[str, TableKeys]
    rules: tuple[Rule, ...]
    method: Method
    counts: Counts | None
    folder: Path
    origin: RecipeOrigin
    text: str

    @classmethod
    def read(cls, path: str | Path) -> Recipe:
        """Read a recipe from a TOML file; its paths are relative to the file."""
        path = Path(path)
        try:
            text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
        except OSError as error:
            raise DataError(
                "cannot_read_recipe",
                "cannot read the recipe {file!r}: {reason}",
                where=str(path),
                fix="check the path; hitoku init writes a recipe for a data file",
                file=path.name,
                reason=error.strerror,
            ) from None
        except UnicodeDecodeError:
            raise DataError(
                "recipe_not_utf8",
                "the recipe {file!r} is not UTF-8 text",
                where=str(path),
                fix="save it as UTF-8",
                file=path.name,
            ) from None
        given, origin = load_toml(text, path.name, "recipe")
        return cls._from_keys(given, path.parent, RecipeOrigin(origin.name, origin.lines), text)

    @classmethod
    def of(cls, given: Mapping[str, Any], folder: str | Path = ".") -> Recipe:
        """Create a recipe from keys, such as options of a command.

        Examples
        --------
        >>> recipe = Recipe.of({"data": "firms.csv", "by": ["region"], "rules": ["min_frequency:n=3"]})
        >>> recipe, recipe.method
        (Recipe(firms.csv by region: min_frequency, auto), Auto())
        """
        kept = {name: value for name, value in given.items() if value is not None}
        return cls._from_keys(kept, Path(folder), RecipeOrigin(), toml_text(kept))

    @classmethod
    def _from_keys(cls, given: dict[str, Any], folder: Path, origin: RecipeOrigin, text: str) -> Recipe:
        keys = validate_keys(RecipeKeys, given, origin)
        if not keys.rules and not keys.unsafe:
            raise origin.error(
                ("rules",),
                "recipe_rules_missing",
                "no rules: nothing says which cells are unsafe",
                'add rules = ["p_percent:p=10"]'
                if origin.name
                else "give at least one, such as --rule p_percent:p=10",
            )
        _refuse_circles(keys.classifications, origin)
        if keys.counts is None and keys.width_share is not None:
            raise origin.error(
                ("width_share",),
                "recipe_width_share_without_counts",
                "width_share goes with counts",
                "add [counts], or give width instead",
            )
        if keys.counts is not None and keys.width is not None:
            raise origin.error(
                ("width",),
                "recipe_width_beside_counts",
                "with counts, the width of magnitudes is a share of their value",
                "give width_share = 0.3; the width of counts stands in [counts]",
            )
        if keys.counts is not None and any(UNLESS_UNSAFE in selection for selection in keys.keep):
            raise origin.error(
                ("keep",),
                "recipe_unsafe_cells_beside_counts",
                "with counts, unsafe cells are not known in advance",
                "leave {unless_unsafe} or counts out",
                unless_unsafe=UNLESS_UNSAFE,
            )
        return cls(
            keys=keys,
            tables=_tables(keys, origin),
            rules=_rules(keys.rules, origin, ("rules",)),
            method=_method(keys.method, origin, ("method",)),
            counts=None if keys.counts is None else _counts(keys.counts, origin),
            folder=folder,
            origin=origin,
            text=text,
        )

    def path(self, name: str) -> Path:
        """Return the path of a file that the recipe names."""
        return self.folder / name

    def __repr__(self) -> str:
        names = {(table.data or table.cells or ""): None for table in self.tables.values()}
        by = " and ".join(", ".join(table.by or []) for table in self.tables.values())
        rules = ", ".join(_name(word) for word in self.keys.rules)
        return f"Recipe({', '.join(names)} by {by}: {rules or 'given cells'}, {_name(self.keys.method)})"


def _name(word: Any) -> str:
    return str(word["name"] if isinstance(word, dict) else word.partition(":")[0])


def _parts(word: Any, kind: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(word, dict):
        return str(word["name"]), {name: value for name, value in word.items() if name != "name"}
    return parse_spec(word, kind, RULES if kind == "rule" else METHODS)


def _rules(words: Sequence[Any], origin: RecipeOrigin, at: tuple[str, ...]) -> tuple[Rule, ...]:
    rules: list[Rule] = []
    for place, word in enumerate(words):
        try:
            name, given = _parts(word, "rule")
            rules.append(build_from_spec(name, given, RULES, "rule"))
        except HitokuError as error:
            raise origin.blamed(error, (*at, place)) from None
    return tuple(rules)


def _method(word: Any, origin: RecipeOrigin, at: tuple[str, ...]) -> Method:
    try:
        name, given = _parts(word, "method")
        return method_from_parts(name, given, METHODS, where="")
    except HitokuError as error:
        raise origin.blamed(error, at) from None


def _counts(keys: CountsKeys, origin: RecipeOrigin) -> Counts:
    method = None if keys.method is None else _method(keys.method, origin, ("counts", "method"))
    return Counts(_rules(keys.rules, origin, ("counts", "rules")), method, keys.width)


def _tables(keys: RecipeKeys, origin: RecipeOrigin) -> dict[str, TableKeys]:
    """Merge shared keys into each table, and raise an error for contradictions."""
    shared = {name: getattr(keys, name) for name in TableKeys.model_fields if name in keys.model_fields_set}
    if not keys.tables:
        _refuse_unclear(keys, (), origin)
        return {"table": keys}
    found: dict[str, TableKeys] = {}
    for place, entry in enumerate(keys.tables):
        # Each table has its own files, also on file systems that ignore case.
        taken = entry.name.lower() in map(str.lower, found)
        if taken or entry.name.lower() in RESERVED:
            why = RESERVED.get(entry.name.lower(), "another one is")
            raise origin.error(
                ("tables", place, "name"),
                "recipe_table_name",
                "a table cannot be called {name!r}: {reason}",
                "give every table a unique name; upper and lower case do not count",
                name=entry.name,
                reason=why,
            )
        own = {name: getattr(entry, name) for name in entry.model_fields_set if name != "name"}
        if "hierarchies" in own:
            own["hierarchies"] = {**keys.hierarchies, **own["hierarchies"]}
        # One kind of data replaces the other, with its keys.
        other = {"data": ("cells", *OF_CELLS), "cells": ("data", "start", *OF_RECORDS, *OF_MAKING)}
        replaced = {name for kind in own for name in other.get(kind, ())}
        merged = {name: value for name, value in shared.items() if name not in replaced} | own
        by = merged.get("by") or []
        # A shared hierarchy applies to the tables that have the variable.
        mine = keys.tables[place].hierarchies
        trees = {n: v for n, v in merged.get("hierarchies", {}).items() if n in by or n in mine}
        table = TableKeys.model_validate({**merged, "hierarchies": trees})
        _refuse_unclear(table, ("tables", place), origin)
        found[entry.name] = table
    return found


def _refuse_circles(levels: Mapping[str, Sequence[str]], origin: RecipeOrigin) -> None:
    """Raise an error if a variable is, directly or indirectly, a level of itself."""
    for name in levels:
        ways: list[tuple[str, ...]] = [(name, level) for level in levels[name]]
        seen: set[str] = set()
        for way in ways:
            if way[-1] == name:
                raise origin.error(
                    ("classifications", name),
                    "recipe_levels_circular",
                    "variables are levels of each other: {variables}",
                    "list coarser variables under the finest one, and that one under none",
                    variables=", ".join(way),
                )
            if way[-1] not in seen:
                seen.add(way[-1])
                ways += [(*way, level) for level in levels.get(way[-1], ())]


def _refuse_reading(table: TableKeys, path: tuple[str | int, ...], origin: RecipeOrigin) -> None:
    try:
        _ = table.file_format
    except HitokuError as error:
        raise origin.blamed(error, (*path, error.argument)) from None
    if table.spark and table.engine != "spark":
        raise origin.error(
            (*path, "spark"),
            "spark_without_engine",
            "spark must be the address of an engine",
            'add engine = "spark"',
        )


def _refuse_source(table: TableKeys, path: tuple[str | int, ...], origin: RecipeOrigin) -> None:
    fix = "give one of them: data names a file of records, cells a file with one row per cell"
    if table.data is not None and table.cells is not None:
        raise origin.error((*path, "cells"), "recipe_data_and_cells", "both data and cells are given", fix)
    if table.data is None and table.cells is None:
        raise origin.error((*path, "data"), "recipe_data_missing", "nothing says where the data are", fix)


def _refuse_unclear(table: TableKeys, path: tuple[str | int, ...], origin: RecipeOrigin) -> None:
    _refuse_source(table, path, origin)
    _refuse_reading(table, path, origin)
    if not table.by:
        raise origin.error(
            (*path, "by"),
            "no_variables",
            "no variables to tabulate by",
            'name columns of codes: by = ["region", "size"]',
        )
    if table.cells is not None and table.value is None:
        raise origin.error(
            (*path, "value"),
            "recipe_cell_values_missing",
            "no column holds the cell values",
            'add value = "..."',
        )
    strange = (*OF_RECORDS, *OF_MAKING) if table.cells else OF_CELLS
    for name in strange:
        if name in table.model_fields_set:
            raise origin.error(
                (*path, name),
                "recipe_key_belongs_elsewhere",
                "{key} goes with {owner}",
                "leave it out: {kind}",
                key=name,
                owner="data" if table.cells else "cells",
                kind=Text("the file has one row per cell") if table.cells else Text("the file has records"),
            )
    if table.cells and table.start:
        raise origin.error(
            (*path, "start"),
            "recipe_start_without_data",
            "start goes with data",
            "mark withheld cells in the file of cells, and name mark",
        )
    if table.mark and not (table.start or table.cells):
        raise origin.error(
            (*path, "mark"),
            "recipe_mark_without_file",
            "mark names a column of no file",
            'add start = "...", the file that has it',
        )
    for name in table.hierarchies:
        if name not in table.by:
            misplaced = "move it above [hierarchies]: below that line, keys are names of variables"
            raise origin.error(
                (*path, "hierarchies", name),
                "recipe_hierarchy_unknown",
                "hierarchy for unknown variable {variable!r}",
                misplaced if name in RecipeKeys.model_fields else did_you_mean(name, table.by),
                variable=name,
            )
