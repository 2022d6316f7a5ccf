"""Risk per record: the records behind a table, compared with its release."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.attacks import Interval
from hitoku.errors import DataError, OutputError, ScopeError
from hitoku.files import new_file, refuse_existing, write_csv
from hitoku.io.recipe import Recipe
from hitoku.metrics import RecordRisk, risk_per_record
from hitoku.model import Release, Table
from hitoku.pipeline.attacked_folder import SAME, AttackedFolder
from hitoku.tabulation import FileFormat, Where, shares_in


def record_risk(
    data: Any,
    table: Table,
    release: Release,
    *,
    value: str | None = None,
    unit: str | None = None,
    holding: str | None = None,
    where: Where | None = None,
    decimals: int | None = None,
    file: FileFormat | None = None,
) -> RecordRisk:
    """Return for every contributor how closely they can be inferred from a release. Confidential.

    Magnitudes: by how many percent an estimate exceeds the truth, for an outsider and for the largest other
    contributor of the cell, where it is closest; 0 means that the contribution is known. Counts: the number
    of people in the smallest group with a known size, and the codes that can be inferred. Cells are
    considered one at a time, through their intervals; inference by contributors from several cells and their
    own contributions is the attack :class:`hitoku.Insider`.

    Parameters
    ----------
    data
        Records from which the table was made.
    table, release
        Table, and its release.
    value, unit, holding, where, decimals, file
        Arguments with which the table was made, as for :func:`hitoku.tabulate`.

    Returns
    -------
    RecordRisk
        Measures of every contributor. Its frame names them, and is confidential.

    Raises
    ------
    DataError
        If the records do not add up to the table.
    ScopeError
        If the table consists of several linked tables, or contributions are negative.

    Examples
    --------
    >>> import pandas as pd
    >>> import hitoku as ht
    >>> firms = pd.DataFrame({"region": ["N", "N", "S"], "firm": ["a", "b", "c"], "sales": [90, 10, 50]})
    >>> outcome = ht.protect(firms, by=["region"], value="sales", unit="firm", rules=[ht.Given([False] * 3)])
    >>> risk = ht.record_risk(firms, outcome.table, outcome.release, value="sales", unit="firm")
    >>> risk.frame[["contributor", "outsider_percent", "insider_percent"]].values.tolist()
    [['a', 11.1111, 0.0], ['b', 900.0, 0.0], ['c', 0.0, 0.0]]
    """
    if _is_adjusted(table, release):
        raise ScopeError(
            "record_risk_release_differs",
            "the release shows other values than the table has: intervals say nothing about it",
            where="risk per record",
            fix="use the attack adjustment",
        )
    options: dict[str, Any] = {"value": value, "unit": unit, "holding": holding, "where": where}
    leaves = shares_in(data, table.dimensions, decimals=decimals, file=file, **options)
    return risk_per_record(table, Interval().bounds(release), leaves, counts=value is None)


def _is_adjusted(table: Table, release: Release) -> bool:
    shown = ~release.withheld
    return not np.allclose(release.published[shown], table.value[shown], rtol=SAME, atol=0)


def record_risk_of_folder(folder: str | Path, data: str | Path) -> RecordRisk:
    """Do the same for a release folder; its recipe says how the table was made from the records."""
    read = AttackedFolder.read(folder)
    checker = Path(folder) / "checker"
    if not (checker / "recipe.toml").is_file():
        raise DataError(
            "record_risk_origin_unknown",
            "the release does not say how it was made from records",
            where="{checker}/recipe.toml is missing",
            fix="give a folder that hitoku protect wrote; from Python, use hitoku.record_risk",
            checker=checker.name,
        )
    recipe = Recipe.read(checker / "recipe.toml")
    keys = next(iter(recipe.tables.values()))
    if len(recipe.tables) != 1 or keys.data is None or keys.weight is not None or keys.engine != "duckdb":
        raise ScopeError(
            "record_risk_needs_own_table",
            "risk per record is worked out for a single table made here from records without weights",
            where=str(checker / "recipe.toml"),
            fix="protect the table alone, from records; weights stand for people who are not in the data",
        )
    summary = json.loads((checker / "summary.json").read_text("utf-8"))
    counted = summary.get("recipe", {}).get("kind") == "counts"
    return record_risk(
        Path(data),
        read.table,
        read.release,
        value=None if counted else keys.value,
        unit=keys.unit,
        holding=keys.holding,
        where=keys.where,
        decimals=keys.decimals,
        file=keys.file_format,
    )


def write_record_risk(path: str | Path, risk: RecordRisk) -> None:
    """Write a new CSV file, which must not be in a public folder."""
    file = Path(path)
    if "public" in file.resolve().parts[-3:]:
        raise OutputError(
            "record_risk_not_public",
            "risk per record names contributors, and must not stand in a public folder",
            where=str(file),
            fix="write it into the folder checker, or elsewhere",
        )
    refuse_existing(file)
    columns = risk.columns
    with new_file(file) as draft:
        write_csv(draft, chain([columns], zip(*columns.values(), strict=True)))
