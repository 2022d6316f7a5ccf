"""Joint audit of several release folders, including ones made separately: what their publication reveals.

Cells of different folders are the same if they have the same names; if a variable of one is a level of a
variable of the other (its codes are nodes of the other's hierarchy, or group its codes in the records, and
the totals of these codes agree); or if they have the same records, according to the fingerprints in their
evidence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.errors import DataError, HierarchyError, ParameterError
from hitoku.evidence import Audit, DerivableGroups, audit, derivable_groups
from hitoku.io.release import read_fingerprints, read_hierarchies, read_nested
from hitoku.linking import LinkedTables
from hitoku.messages import Text
from hitoku.model import (
    Dimension,
    Finding,
    Hierarchy,
    Integers,
    Labels,
    Need,
    Release,
    Severity,
    Table,
    add_up,
)
from hitoku.pipeline.atom_pattern import not_in_sets
from hitoku.pipeline.attacked_folder import AttackedFolder
from hitoku.pipeline.recipe_links import alike_codes, link_groups
from hitoku.pipeline.release_atoms import records_of, tables_of, with_atoms
from hitoku.rules import require_groups
from hitoku.tabulation import Where


@dataclass(frozen=True, eq=False)
class AuditedTogether:
    """Result of a joint audit of several releases."""

    audit: Audit
    """Audit of all releases as one."""
    groups: DerivableGroups | None
    """Whether derivable sets of records have enough units; None if the rules are unknown."""
    undecided: str
    """Reason why sets of records were not examined; empty if they were."""
    remarks: tuple[Finding, ...]
    """Points that could not be audited, and how cells were matched."""

    @property
    def findings(self) -> list[Finding]:
        """Cells that are not safe, followed by the remarks."""
        return [*self.audit.findings, *self.remarks]


def audit_together(folders: Sequence[str | Path], *, data: str | Path | None = None) -> AuditedTogether:
    """Audit several release folders of the same records together.

    Every unsafe cell of every folder must be protected from an attacker with all of their public files.

    Parameters
    ----------
    folders
        Release folders written by hitoku.
    data
        File of records of all releases. Default: a file with the name and hash in the evidence, next to the
        folders or in the working directory.

    Returns
    -------
    AuditedTogether
        Audit of all cells, verdict on derivable sets of records, and remarks.

    Raises
    ------
    ParameterError
        If there is only one folder, or a folder is given twice.
    """
    if len(folders) < 2:
        raise ParameterError("single_folder", "one folder", where="folders", fix="audit it alone")
    opened = [AttackedFolder.read(folder) for folder in folders]
    read = [(folder.units, folder.need, folder.release) for folder in opened]
    names = _names(folders)
    records, undecided = records_of(opened, None if data is None else Path(data))
    tables = [table for table, _, _ in read]
    wider = (
        _add_possible_sums([Path(folder) for folder in folders], tables)
        if records is None
        else [(table, np.arange(table.n_cells)) for table in tables]
    )
    linked: list[LinkedTables] = []
    filters: dict[str, Where] = {}
    for folder, name, (table, _) in zip(folders, names, wider, strict=True):
        linked.append(LinkedTables(table=table, parts=_parts(Path(folder), name, table)))
        filters |= _filters(Path(folder), name, list(linked[-1].parts))
    levels = _levels(linked)
    prints = []
    for folder, (table, into) in zip(folders, wider, strict=True):
        own = np.full(table.n_cells, "", dtype=object)
        own[into] = read_fingerprints(Path(folder), len(into))
        prints.append(own.tolist())
    together, where = link_groups(linked, levels, filters, prints)
    places = [cells[into] for cells, (_, into) in zip(where, wider, strict=True)]
    needs = []
    with_them = None
    if records is not None:
        published_tables = [
            each
            for folder, name, cells in zip(opened, names, where, strict=True)
            for each in tables_of(folder, _parts(folder.path, name, folder.units), cells)
        ]
        with_them, undecided = with_atoms(together.table, published_tables, records)
    whole = together.table if with_them is None else with_them
    published = np.full(whole.n_cells, np.nan)
    for cells, (_, need, release) in zip(places, read, strict=True):
        shown = ~release.withheld
        published[cells[shown]] = release.published[shown]
        needs.append(_transfer_need(need, cells, whole.n_cells))
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
            reason=Text(
                "{levels} was taken for a level of it: codes and totals are the same",
                levels=", ".join(coarse),
            ),
        )
        for fine, coarse in levels.items()
    ]
    if any(len(need.attributions) for _, need, _ in read):
        reason = "requirements on groups were not examined together, only in each folder alone"
        remarks.append(Finding(severity=Severity.REVIEW, place="groups", reason=reason))
    if records is None:
        remarks += _not_widened([Path(folder) for folder in folders], linked, names)
    remarks += [one for one in together.remarks if with_them is None or one.severity is Severity.NOTE]
    need, groups = Need.merge(needs), None
    if with_them is not None:
        rules = list({repr(rule): rule for folder in opened for rule in folder.recipe.rules}.values())
        need, undecided = require_groups(whole, rules, need), not_in_sets(rules)
    found = audit(whole, need, release)
    if with_them is not None:
        groups = derivable_groups(whole, rules, release, own=found)
    return AuditedTogether(found, groups, undecided, tuple(remarks))


def _add_possible_sums(folders: Sequence[Path], tables: Sequence[Table]) -> list[tuple[Table, Integers]]:
    """Add to every table the sums that other folders publish; return the tables with their original cells.

    A column of the records that groups the codes of a variable becomes a grouping of it, if a table of
    another folder has that column as a variable.
    """
    names = [set(table.labels.names) for table in tables]
    found = []
    for place, (folder, table) in enumerate(zip(folders, tables, strict=True)):
        others = set().union(*(own for other, own in enumerate(names) if other != place)) - names[place]
        nested = read_nested(folder) if table.dimensions else {}
        wider = [
            _with_groupings(d, [entries for c, entries in nested.get(d.name, {}).items() if c in others])
            for d in table.dimensions
        ]
        if all(len(one) == len(d) for one, d in zip(wider, table.dimensions, strict=True)):
            found.append((table, np.arange(table.n_cells)))
        else:
            found.append(_spread(table, tuple(wider)))
    return found


def _with_groupings(dimension: Dimension, groupings: Sequence[Mapping[str, str]]) -> Dimension:
    """Add groupings of codes to a variable; one that would reuse a name is omitted."""
    for entries in groupings:
        # Codes that no record has belong to no group.
        parents = {leaf: entries.get(leaf, dimension.total) for leaf in dimension.leaves}
        groups = dict.fromkeys(entries[leaf] for leaf in dimension.leaves if leaf in entries)
        try:
            tree = Hierarchy.from_parents(
                parents | dict.fromkeys(groups, dimension.total), total=dimension.total
            )
            dimension = Dimension(dimension.name, (*dimension.hierarchies, tree))
        except HierarchyError:
            continue
    return dimension


def _spread(table: Table, dimensions: tuple[Dimension, ...]) -> tuple[Table, Integers]:
    """Return a table with more groups of the same leaves; new cells are hidden."""
    leaves = np.ix_(*(np.arange(len(d.leaves)) for d in dimensions))
    value = add_up(table.value.reshape(table.shape)[leaves], dimensions)
    shape = tuple(len(d) for d in dimensions)
    places = [
        [wide.position[code] for code in old.codes]
        for wide, old in zip(dimensions, table.dimensions, strict=True)
    ]
    into = np.ravel_multi_index(np.ix_(*places), shape).ravel().astype(np.int64)
    least = 0.0 if np.all(table.lower >= 0) else -np.inf
    lower, upper = np.full(len(value), least), np.full(len(value), np.inf)
    hidden = np.ones(len(value), dtype=bool)
    value[into], lower[into], upper[into], hidden[into] = table.value, table.lower, table.upper, ~table.shown
    return (
        Table(
            value=value,
            dimensions=dimensions,
            lower=lower,
            upper=upper,
            hidden=hidden,
            integer=table.integer,
            measure=table.measure,
            additive=table.additive,
        ),
        into,
    )


def _not_widened(
    folders: Sequence[Path], linked: Sequence[LinkedTables], names: Sequence[str]
) -> list[Finding]:
    """Return remarks on columns that group codes of linked tables, whose sums are not among their cells."""
    found = []
    variables = [{d.name for table, _ in one.parts.values() for d in table.dimensions} for one in linked]
    for place, (folder, one) in enumerate(zip(folders, linked, strict=True)):
        others = set().union(*(own for other, own in enumerate(variables) if other != place))
        for variable, columns in (read_nested(folder) if len(one.parts) > 1 else {}).items():
            found += [
                Finding(
                    severity=Severity.REVIEW,
                    place=names[place],
                    reason=Text(
                        "{column} groups codes of {variable} in the records; sums by it were not judged",
                        column=column,
                        variable=variable,
                    ),
                    advice="protect the tables together, from the same records",
                )
                for column in columns
                if column in others - variables[place]
            ]
    return found


def _names(folders: Sequence[str | Path]) -> list[str]:
    """Name folders by their last part, or by their whole path if that is ambiguous."""
    short = [Path(folder).name for folder in folders]
    if len({Path(folder).resolve() for folder in folders}) < len(folders):
        raise ParameterError(
            "folder_repeated", "a folder is named twice", where="folders", fix="name each folder once"
        )
    return short if len(set(short)) == len(short) else [str(folder) for folder in folders]


def _parts(folder: Path, name: str, table: Table) -> dict[str, tuple[Table, Integers]]:
    """Return the tables of a folder with the positions of their cells: one, or those that were linked."""
    if table.dimensions:
        return {name: (table, np.arange(table.n_cells))}
    file = folder / "checker" / "linked.json"
    trees = read_hierarchies(folder / "checker" / "hierarchies.json")
    measures = _summary(folder).get("measures", {})
    try:
        content = json.loads(file.read_text("utf-8"))
        found = {}
        for part, listed in content.items():
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
            "folder_without_cells",
            "the folder does not say which cells its tables show",
            where=str(file),
            fix="write the release again with this version of hitoku, or audit the folder alone",
        ) from None
    return found


def _filters(folder: Path, name: str, parts: Sequence[str]) -> dict[str, Where]:
    """Return the filter of every table of a folder."""
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


def _transfer_need(need: Need, cells: Integers, n_cells: int) -> Need:
    """Transfer a need to a larger table, without its requirements on groups."""
    unsafe = np.zeros(n_cells, dtype=bool)
    levels = np.zeros((3, n_cells))
    np.logical_or.at(unsafe, cells, need.unsafe)
    for level, asked in zip(levels, (need.lower, need.upper, need.width), strict=True):
        np.maximum.at(level, cells, asked)
    return Need(unsafe=unsafe, lower=levels[0], upper=levels[1], width=levels[2])
