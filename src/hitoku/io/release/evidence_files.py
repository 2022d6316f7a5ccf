"""Files of ``checker/`` that are read back: fingerprints, groups, hierarchies; and steps of a method."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.errors import DataError, HitokuError
from hitoku.files import write_csv
from hitoku.io.number_texts import format_numbers
from hitoku.model import Attributions, Dimension, Hierarchy, Protection, Table

FILE, NESTED = "fingerprints.json", "nested.json"
Nested = Mapping[str, Mapping[str, Mapping[str, str]]]


def write_fingerprints(checker: Path, cells: Sequence[str]) -> None:
    """Write the fingerprint of every cell, in the order of the table; empty if there is none."""
    (checker / FILE).write_text(json.dumps(list(cells), indent=0) + "\n", encoding="utf-8")


def read_fingerprints(folder: Path, n_cells: int) -> list[str]:
    """Read the fingerprints of all cells; empty if the file does not exist."""
    path = folder / "checker" / FILE
    if not path.is_file():
        return [""] * n_cells
    try:
        cells = json.loads(path.read_text("utf-8"))
        fits = isinstance(cells, list) and len(cells) == n_cells and all(isinstance(c, str) for c in cells)
    except (OSError, ValueError):
        fits = False
    if not fits:
        raise DataError(
            "fingerprints_of_other_table",
            "the fingerprints are not those of this table",
            where=str(path),
            fix="take the folder as hitoku wrote it, or remove the file: then names, codes and totals decide",
        )
    return list(cells)


def write_nested(checker: Path, nested: Nested) -> None:
    """Write the columns that group the codes of each variable, with the entry of each code."""
    content = json.dumps(nested, indent=0, ensure_ascii=False, sort_keys=True)
    (checker / NESTED).write_text(content + "\n", encoding="utf-8")


def read_nested(folder: Path) -> Nested:
    """Read the columns that group codes; empty if the file does not exist."""
    path = folder / "checker" / NESTED
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text("utf-8"))
        return {
            str(name): {
                str(column): {str(code): str(entry) for code, entry in entries.items()}
                for column, entries in columns.items()
            }
            for name, columns in content.items()
        }
    except (OSError, ValueError, AttributeError):
        raise DataError(
            "grouping_columns_unknown",
            "the file does not say which columns group the codes of a variable",
            where=str(path),
            fix="take the folder as hitoku wrote it, or remove the file: then such columns are not known",
        ) from None


def write_groups(path: Path, learnt: Attributions) -> None:
    """Write requirements for groups: sums of cells by index, and the range each must be able to reach."""
    sums = learnt.sums
    content: dict[str, Any] = {
        "cells": np.split(sums.indices, sums.indptr[1:-1]),
        "weights": np.split(sums.data, sums.indptr[1:-1]),
        "goal": learnt.goal.tolist(),
        "group": learnt.group.tolist(),
    }
    content = {name: [x if np.ndim(x) == 0 else x.tolist() for x in part] for name, part in content.items()}
    path.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")


def write_judged_groups(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the results of an audit about groups, one row each."""
    write_csv(path, [rows[0], *(row.values() for row in rows)])


def read_groups(path: Path, n_cells: int) -> Attributions:
    """Read the requirements for groups; none if the file does not exist."""
    if not path.is_file():
        return Attributions.none(n_cells)
    try:
        content = json.loads(path.read_text("utf-8"))
        cells, weights = content["cells"], content["weights"]
        ends = np.cumsum([0, *(len(part) for part in cells)])
        flat = [np.array([x for part in parts for x in part]) for parts in (weights, cells)]
        sums = sparse.csr_array((flat[0], flat[1], ends), shape=(len(cells), n_cells))
        return Attributions(sums, content["goal"], content["group"])
    except (OSError, ValueError, TypeError, KeyError, HitokuError) as error:
        raise DataError(
            "groups_request_unreadable",
            "cannot read the requirements on groups",
            where=str(path),
            fix="take the file from the release again",
        ) from error


Trees = Mapping[str, tuple[Dimension, ...]]


def write_hierarchies(path: Path, tables: Trees) -> None:
    """Write the hierarchies of every table: by variable a list of hierarchies, as parents of codes."""
    content = {
        name: {d.name: [_parents(tree) for tree in d.hierarchies] for d in dimensions}
        for name, dimensions in tables.items()
        if dimensions
    }
    # Not sorted: codes are in display order.
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_hierarchies(path: Path) -> dict[str, tuple[Dimension, ...]]:
    """Read the hierarchies; empty if the file does not exist."""
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text("utf-8"))
        return {
            name: tuple(
                Dimension(variable, tuple(Hierarchy.from_parents(t["parents"], t["total"]) for t in trees))
                for variable, trees in variables.items()
            )
            for name, variables in content.items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError, HitokuError) as error:
        raise DataError(
            "code_trees_unreadable",
            "cannot read the code trees",
            where=str(path),
            fix="take the file from the release again",
        ) from error


def _parents(tree: Hierarchy) -> dict[str, Any]:
    above = zip(tree.codes[1:], tree.parents[1:].tolist(), strict=True)
    return {"total": tree.total, "parents": {code: tree.codes[parent] for code, parent in above}}


STEP_COLUMNS = ("step", "cell", "reason", "protects", "low_before", "high_before", "low_after", "high_after")


def write_steps(path: Path, table: Table, protection: Protection) -> None:
    """Write the steps of a method: suppressed cell, reason, protected cell, and intervals if recorded."""
    rows: list[Sequence[Any]] = [STEP_COLUMNS]
    for number, step in enumerate(protection.steps, 1):
        ends = format_numbers(np.array([*step.before, *step.after]), integer=table.integer)
        whom = table.describe(step.protects) if step.protects >= 0 else ""
        rows.append([number, table.describe(step.cell), step.reason, whom, *ends])
    write_csv(path, rows)


EVIDENCE = "checker/table.jj.gz"


def release_folders(path: str | Path) -> list[Path]:
    """Return the releases in a folder: the folder itself, or those of the groups of a publication."""
    folder = Path(path)
    if not folder.is_dir() or (folder / EVIDENCE).is_file():
        return [folder]
    inside = sorted(file.parents[1] for depth in ("*", "*/*") for file in folder.glob(f"{depth}/{EVIDENCE}"))
    return inside or [folder]
