"""Several release folders judged together, also such as were made apart: what do their readers know.

Cells of different folders are the same by their names; because a variable of one is a level of a variable of
the other (its codes are nodes of the other's tree, and the totals of these codes agree); or because they have
the same records behind them, which the fingerprints in their evidence tell.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.errors import DataError, ParameterError
from hitoku.evidence.audit import audit
from hitoku.evidence.audit_result import Audit
from hitoku.io.release.fingerprints import read_fingerprints
from hitoku.io.release.hierarchies import read_hierarchies
from hitoku.io.release.read import read_release
from hitoku.model.arrays import Integers
from hitoku.model.finding import Finding, Severity
from hitoku.model.labels import Labels
from hitoku.model.need import Need
from hitoku.model.release import Release
from hitoku.model.table import Table
from hitoku.pipeline.recipe_links import alike_codes, link_groups
from hitoku.tabulation.linked import LinkedTables
from hitoku.tabulation.source import Where


@dataclass(frozen=True, eq=False)
class AuditedTogether:
    """What several releases give away together.

    Parameters
    ----------
    audit
        The verdict on all of them as one.
    remarks
        What could not be judged, and how cells were found to be the same.
    """

    audit: Audit
    remarks: tuple[Finding, ...]

    @property
    def findings(self) -> list[Finding]:
        """Cells that are not safe, then the remarks."""
        return [*self.audit.findings, *self.remarks]


def audit_together(folders: Sequence[str | Path]) -> AuditedTogether:
    """Judge several release folders of the same records together.

    Every unsafe cell of every folder must be blurred for somebody who has all of their public files.

    Parameters
    ----------
    folders
        Release folders as hitoku wrote them.
    """
    if len(folders) < 2:
        raise ParameterError("one folder", where="folders", fix="audit it alone")
    read = [read_release(folder) for folder in folders]
    names = _names(folders)
    linked: list[LinkedTables] = []
    filters: dict[str, Where] = {}
    for folder, name, (table, _, _) in zip(folders, names, read, strict=True):
        linked.append(LinkedTables(table=table, parts=_parts(Path(folder), name, table)))
        filters |= _filters(Path(folder), name, list(linked[-1].parts))
    levels = _levels(linked)
    prints = [
        read_fingerprints(Path(folder), table.n_cells)
        for folder, (table, _, _) in zip(folders, read, strict=True)
    ]
    together, places = link_groups(linked, levels, filters, prints)
    whole = together.table
    published, needs = np.full(whole.n_cells, np.nan), []
    for cells, (_, need, release) in zip(places, read, strict=True):
        shown = ~release.withheld
        published[cells[shown]] = release.published[shown]
        needs.append(_moved(need, cells, whole.n_cells))
    release = Release(
        published=published,
        relations=whole.relations,
        labels=whole.labels,
        lower=whole.lower,
        upper=whole.upper,
        integer=whole.integer,
        measure=whole.measure,
    )
    remarks = [
        Finding(
            severity=Severity.NOTE,
            place=fine,
            reason=f"{', '.join(coarse)} was taken for a level of it: codes and totals are the same",
        )
        for fine, coarse in levels.items()
    ]
    if any(len(need.attributions) for _, need, _ in read):
        told = "what must not be learnt about groups was not judged together, only in each folder alone"
        remarks.append(Finding(severity=Severity.LOOK, place="groups", reason=told))
    return AuditedTogether(audit(whole, Need.merge(needs), release), (*remarks, *together.remarks))


def _names(folders: Sequence[str | Path]) -> list[str]:
    """Name folders by their last part, by their whole path where that is not enough."""
    short = [Path(folder).name for folder in folders]
    if len({Path(folder).resolve() for folder in folders}) < len(folders):
        raise ParameterError("a folder is named twice", where="folders", fix="name each folder once")
    return short if len(set(short)) == len(short) else [str(folder) for folder in folders]


def _parts(folder: Path, name: str, table: Table) -> dict[str, tuple[Table, Integers]]:
    """Return the tables of a folder with the positions of their cells: one, or those that were linked."""
    if table.dimensions:
        return {name: (table, np.arange(table.n_cells))}
    file = folder / "checker" / "linked.json"
    trees = read_hierarchies(folder / "checker" / "hierarchies.json")
    measures = _summary(folder).get("measures", {})
    try:
        told = json.loads(file.read_text("utf-8"))
        found = {}
        for part, listed in told.items():
            cells, dimensions = np.array(listed, dtype=np.int64), trees[part]
            one = Table(
                value=table.value[cells],
                dimensions=dimensions,
                labels=Labels.cross(dimensions),
                measure=str(measures.get(part, table.measure)),
                additive=False,
            )
            found[f"{name}/{part}"] = (one, cells)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise DataError(
            "the folder does not say which cells its tables show",
            where=str(file),
            fix="write the release again with this version of hitoku, or audit the folder alone",
        ) from None
    return found


def _filters(folder: Path, name: str, parts: Sequence[str]) -> dict[str, Where]:
    """Read which records every table of a folder counts."""
    recipe = _summary(folder).get("recipe", {})
    own = {one.get("name"): one.get("where") for one in recipe.get("tables", [])}
    every = recipe.get("where") or {}
    return {part: own.get(part.removeprefix(f"{name}/")) or every for part in parts}


def _summary(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "checker" / "summary.json").read_text("utf-8")))


def _levels(linked: Sequence[LinkedTables]) -> dict[str, list[str]]:
    """Find variables whose codes are nodes of a variable of another folder, with the same totals."""
    found: dict[str, list[str]] = {}
    for one, other in permutations(linked, 2):
        for fine_table, _ in one.parts.values():
            for coarse_table, _ in other.parts.values():
                for name, level in _pairs(fine_table, coarse_table):
                    taken = {each for listed in found.values() for each in listed}
                    if level not in taken and level not in found and name not in taken:
                        found.setdefault(name, []).append(level)
    return found


def _pairs(fine_table: Table, coarse_table: Table) -> list[tuple[str, str]]:
    names = {d.name for d in fine_table.dimensions}, {d.name for d in coarse_table.dimensions}
    return [
        (fine.name, coarse.name)
        for fine in fine_table.dimensions
        for coarse in coarse_table.dimensions
        if fine.name not in names[1]
        and coarse.name not in names[0]
        and fine_table.measure == coarse_table.measure
        and len(alike_codes(fine_table, fine, coarse_table, coarse)) == len(coarse) - 1
    ]


def _moved(need: Need, cells: Integers, n_cells: int) -> Need:
    """Take a need over to a larger table; what it says of groups stays behind."""
    unsafe = np.zeros(n_cells, dtype=bool)
    levels = np.zeros((3, n_cells))
    np.logical_or.at(unsafe, cells, need.unsafe)
    for level, asked in zip(levels, (need.lower, need.upper, need.width), strict=True):
        np.maximum.at(level, cells, asked)
    return Need(unsafe=unsafe, lower=levels[0], upper=levels[1], width=levels[2])
