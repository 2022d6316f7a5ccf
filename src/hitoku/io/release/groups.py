"""What a release must not tell about whole groups, kept beside its evidence for another audit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.errors import DataError, HitokuError
from hitoku.files import write_csv
from hitoku.model.attribution import Attributions


def write_groups(path: Path, learnt: Attributions) -> None:
    """Write sums of cells, by their positions in the table, and what each must be able to reach."""
    sums = learnt.sums
    told: dict[str, Any] = {
        "cells": np.split(sums.indices, sums.indptr[1:-1]),
        "weights": np.split(sums.data, sums.indptr[1:-1]),
        "goal": learnt.goal.tolist(),
        "group": learnt.group.tolist(),
    }
    told = {name: [x if np.ndim(x) == 0 else x.tolist() for x in part] for name, part in told.items()}
    path.write_text(json.dumps(told, separators=(",", ":")) + "\n", encoding="utf-8")


def write_judged_groups(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write what an audit found out about groups, one row each."""
    with path.open("w", newline="", encoding="utf-8") as file:
        write_csv(file, [rows[0], *(row.values() for row in rows)])


def read_groups(path: Path, n_cells: int) -> Attributions:
    """Read them back; a folder without the file asks for nothing of the kind."""
    if not path.is_file():
        return Attributions.none(n_cells)
    try:
        told = json.loads(path.read_text("utf-8"))
        cells, weights = told["cells"], told["weights"]
        ends = np.cumsum([0, *(len(part) for part in cells)])
        flat = [np.array([x for part in parts for x in part]) for parts in (weights, cells)]
        sums = sparse.csr_array((flat[0], flat[1], ends), shape=(len(cells), n_cells))
        return Attributions(sums, told["goal"], told["group"])
    except (OSError, ValueError, TypeError, KeyError, HitokuError) as error:
        raise DataError(
            "cannot read what is asked for groups",
            where=str(path),
            fix="take the file from the release again",
        ) from error
