"""From a recipe to its table: files read, tables linked, cells found by their codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.errors import HitokuError, did_you_mean, some
from hitoku.files import require_path, sha256
from hitoku.io.marked_cells import marked_cells, read_cell_file, read_marked_cells
from hitoku.io.recipe.code_tree import read_code_tree
from hitoku.io.recipe.keys import TableKeys
from hitoku.io.recipe.lines import Path as KeyPath
from hitoku.io.recipe.origin import Origin
from hitoku.io.recipe.recipe import OF_CELLS, OF_RECORDS, Recipe
from hitoku.model.arrays import Integers, Mask
from hitoku.model.hierarchy import Hierarchy
from hitoku.model.labels import Labels
from hitoku.model.link import MEASURE
from hitoku.model.table import Table
from hitoku.tabulation.tabulate import tabulate

MARK = "status"  # the column of marks, where a recipe names none


@dataclass(frozen=True, eq=False)
class Built:
    """The table of a recipe, and what else its files say.

    Parameters
    ----------
    table
        What is to be protected; linked where there are several.
    parts
        The linked tables by name, each with the positions of its cells in ``table``; empty for a single one.
    by_hand
        Cells that somebody withheld by hand.
    sha256
        Fingerprints of the files that were read, by name.
    """

    table: Table
    parts: Mapping[str, tuple[Table, Integers]]
    by_hand: Mask
    sha256: Mapping[str, str]


def build(recipe: Recipe) -> Built:
    """Read the files that a recipe names, and make its table."""
    hashes: dict[str, str] = {}
    made = [_one(recipe, place, keys, hashes) for place, keys in enumerate(recipe.tables.values())]
    if not recipe.keys.tables:
        table, by_hand = made[0]
        return Built(table, {}, by_hand, hashes)
    with _blaming(recipe.origin, ("tables",)):
        whole = Table.link([table for table, _ in made])
    by_hand = np.zeros(whole.n_cells, dtype=bool)
    parts: dict[str, tuple[Table, Integers]] = {}
    for name, (table, marked) in zip(recipe.tables, made, strict=True):
        cells = positions(table, whole)
        parts[name] = (table, cells)
        by_hand[cells[marked]] = True
    return Built(whole, parts, by_hand, hashes)


def _one(recipe: Recipe, place: int, keys: TableKeys, hashes: dict[str, str]) -> tuple[Table, Mask]:
    by = keys.by or []

    def where(name: str) -> KeyPath:
        own = bool(recipe.keys.tables) and name in recipe.keys.tables[place].model_fields_set
        return ("tables", place, name) if own else (name,)

    def file(name: str, at: KeyPath) -> Path:
        with _blaming(recipe.origin, at):
            path = require_path(recipe.path(name))
        if path.is_file() and name not in hashes:
            hashes[name] = sha256(path)
        return path

    trees: dict[str, Hierarchy | Sequence[Hierarchy]] = {}
    for variable, files in keys.hierarchies.items():
        at = (*where("hierarchies"), variable)
        with _blaming(recipe.origin, at):
            trees[variable] = [read_code_tree(file(name, at), keys.total) for name in files]
    if keys.cells is not None:
        path = file(keys.cells, where("cells"))
        columns = {name: getattr(keys, name) for name in (*OF_CELLS, "total", "measure")}
        with _blaming(recipe.origin, where("cells"), keys, where):
            return read_marked_cells(path, by, str(keys.value), keys.mark, hierarchies=trees, **columns)
    options: dict[str, Any] = {
        name: getattr(keys, name) for name in (*OF_RECORDS, "value", "total", "measure")
    }
    path = file(str(keys.data), where("data"))
    with _blaming(recipe.origin, where("data"), keys, where):
        table = tabulate(path, by, hierarchies=trees, **options)
    if keys.start is None:
        return table, np.zeros(table.n_cells, dtype=bool)
    mark = keys.mark or MARK
    path = file(keys.start, where("start"))
    with _blaming(recipe.origin, where("start"), keys, where):
        return table, marked_cells(read_cell_file(path, [*by, mark]), table.labels, mark, path.name)


@contextmanager
def _blaming(origin: Origin, at: KeyPath, keys: TableKeys | None = None, where: Any = None) -> Iterator[None]:
    """Add to an error the key whose word it quotes, else the key at hand."""
    try:
        yield
    except HitokuError as error:
        if origin.name and origin.name in error.where:
            raise
        for name in TableKeys.model_fields if keys else ():
            given = getattr(keys, name)
            if isinstance(given, str) and repr(given) in error.what and name != "total":
                at = where(name)
            elif isinstance(given, list):
                found = [i for i, word in enumerate(given) if repr(word) in error.what]
                at = (*where(name), found[0]) if found else at
        raise origin.blamed(error, at) from error


def positions(part: Table, whole: Table) -> Integers:
    """Find the cells of one of the linked tables in the whole.

    Examples
    --------
    >>> codes = [["N", "S"], ["1", "2"]]
    >>> region = Table.from_array([3, 4], names=["region"], codes=codes[:1], measure="n")
    >>> both = Table.from_array([[1, 2], [3, 1]], names=["region", "size"], codes=codes, measure="n")
    >>> positions(region, Table.link([both, region])).tolist()
    [2, 5, 8]
    """
    labels, own = whole.labels, {name: place for place, name in enumerate(part.labels.names)}
    columns = []
    for name, codes in zip(labels.names, labels.codes, strict=True):
        rank = {code: place for place, code in enumerate(codes)}
        if name in own:
            translate = np.array([rank[code] for code in part.labels.codes[own[name]]])
            columns.append(translate[part.labels.column(own[name])])
        else:
            # A variable that the part lacks stands at its total, which comes last.
            code = part.measure if name == MEASURE and part.measure in rank else codes[-1]
            columns.append(np.full(part.n_cells, rank[code]))
    here = np.ravel_multi_index(columns, labels.shape)
    there = np.ravel_multi_index([labels.column(v) for v in range(len(labels.names))], labels.shape)
    order = np.argsort(there, kind="stable")
    return np.asarray(order[np.searchsorted(there[order], here)], dtype=np.int64)


def chosen(labels: Labels, cells: Sequence[Mapping[str, Sequence[str]]], key: str, origin: Origin) -> Mask:
    """Return the cells with certain codes; a variable that is not named may have any code.

    Examples
    --------
    >>> labels = Labels(("region", "size"), (("N", "S", "Total"), ("1", "2", "Total")))
    >>> chosen(labels, [{"region": ["N"], "size": ["1", "2"]}], "keep", Origin()).nonzero()[0].tolist()
    [0, 1]
    """
    mask = np.zeros(len(labels), dtype=bool)
    for place, selection in enumerate(cells):
        mask |= with_codes(labels, selection, (key, place), origin)
    return mask


def with_codes(labels: Labels, selection: Mapping[str, Sequence[str]], at: KeyPath, origin: Origin) -> Mask:
    """Return the cells of one selection; there is at least one."""
    found = np.ones(len(labels), dtype=bool)
    for name, wanted in selection.items():
        if name not in labels.names:
            fix = did_you_mean(name, labels.names)
            raise origin.error((*at, name), f"the table has no variable {name!r}", fix)
        variable = labels.names.index(name)
        codes = labels.codes[variable]
        for code in wanted:
            if code not in codes:
                raise origin.error((*at, name), f"{name} has no code {code!r}", did_you_mean(code, codes))
        found &= np.isin(labels.column(variable), [codes.index(code) for code in wanted])
    if not found.any():
        named = some(f"{name}={'|'.join(codes)}" for name, codes in selection.items())
        raise origin.error(at, f"no cell has the codes {named}", "choose codes of one table")
    return found
