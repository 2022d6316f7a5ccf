"""The code trees of a release's tables, kept beside the evidence so that a folder can be read back whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hitoku.errors import DataError, HitokuError
from hitoku.model.dimension import Dimension
from hitoku.model.hierarchy import Hierarchy

Trees = Mapping[str, tuple[Dimension, ...]]


def write_hierarchies(path: Path, tables: Trees) -> None:
    """Write the trees of every table: by variable a list of groupings, each the parent of every code."""
    told = {
        name: {d.name: [_parents(tree) for tree in d.hierarchies] for d in dimensions}
        for name, dimensions in tables.items()
        if dimensions
    }
    # Not sorted: codes stand in the order in which they are printed.
    path.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_hierarchies(path: Path) -> dict[str, tuple[Dimension, ...]]:
    """Read the trees back; a folder without the file has none."""
    if not path.is_file():
        return {}
    try:
        told = json.loads(path.read_text("utf-8"))
        return {
            name: tuple(
                Dimension(variable, tuple(Hierarchy.from_parents(t["parents"], t["total"]) for t in trees))
                for variable, trees in variables.items()
            )
            for name, variables in told.items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError, HitokuError) as error:
        raise DataError(
            "cannot read the code trees", where=str(path), fix="take the file from the release again"
        ) from error


def _parents(tree: Hierarchy) -> dict[str, Any]:
    above = zip(tree.codes[1:], tree.parents[1:].tolist(), strict=True)
    return {"total": tree.total, "parents": {code: tree.codes[parent] for code, parent in above}}
