"""Run a recipe: from the files it names to a release with its evidence."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.errors import HitokuError, OutputError
from hitoku.evidence import Outcome, combine
from hitoku.files import new_folder, refuse_occupied, refuse_unwritable
from hitoku.io import ENGLISH, PublicationPlan, speaker
from hitoku.io.recipe import OF_RUNNING, Recipe
from hitoku.io.release import OverviewGroup, write_publication, write_release
from hitoku.messages import Text, join
from hitoku.methods import METHODS, Method, Progress, kept_cells, prices_of, requires_groups
from hitoku.model import Finding, Floats, Integers, Mask, Protection, Release, Table, Verdict
from hitoku.pipeline.atom_pattern import SharedCells, not_in_sets
from hitoku.pipeline.compare import recomputable
from hitoku.pipeline.fan_out import Jobs, parse_jobs
from hitoku.pipeline.magnitude_tables import WIDTH_SHARE
from hitoku.pipeline.protect import STAGES
from hitoku.pipeline.recipe_cells import (
    cells_for,
    cost_factors,
    rules_for,
    sums_beside_counts,
    withheld_empty_cells,
)
from hitoku.pipeline.recipe_tables import Built, build
from hitoku.pipeline.recipe_tasks import GroupTask, run_tasks
from hitoku.rules import Rule
from hitoku.tabulation import Nested, allowed_memory, limited_memory

# Stages in order, described for the user.
STEPS = {"build": "tabulating", **STAGES, "write": "writing the release"}

# Parameters by which methods take the cells of each key; the first that a method has is used.
TAKEN_AS = {
    "keep": ("keep",),
    "withhold": ("withhold", "start", "hidden"),
    "forced": ("forced",),
}
VERBS = {"keep": "keep", "withhold": "withhold", "forced": "publish in any case"}


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """Result of a recipe.

    Tables that share nothing are protected separately, and each such group has an outcome. Its key is
    its location in the folder: "table" for the only one, which fills the folder; else the name of the
    group. If counts are protected with magnitudes, "counts" and "magnitudes" follow it.
    """

    outcomes: Mapping[str, Outcome]
    """Outcomes by key, with table, need, protection, release, bounds and audit."""
    parts: Mapping[str, Mapping[str, Release]]
    """By key: linked tables by name, each as published."""
    left_blank: Mapping[str, int]
    """By key: number of unsafe cells that can be derived without secondary suppression."""
    folder: Path | None
    """The release folder; None if nothing was written."""
    places: Mapping[str, Mapping[str, Integers]] = field(default_factory=dict)
    """By key: linked tables by name, with the position of each of their cells in the outcome's table."""

    @property
    def remarks(self) -> tuple[Finding, ...]:
        """Remarks on how linked tables share their records."""
        return tuple(dict.fromkeys(each for outcome in self.outcomes.values() for each in outcome.remarks))

    @property
    def safe(self) -> bool:
        """Whether every release passed its audit."""
        return all(outcome.audit.safe for outcome in self.outcomes.values())

    @cached_property
    def verdict(self) -> Verdict:
        """One row per attacker; for several releases each row has the worst result."""
        return combine({key: outcome.verdict for key, outcome in self.outcomes.items()})

    @property
    def several(self) -> bool:
        """Whether there are groups of tables that share nothing."""
        return not set(self.outcomes) <= {"table", "counts", "magnitudes"}

    @property
    def outcome(self) -> Outcome:
        """The outcome of the table; that of the magnitudes if counts were protected with them.

        Of several groups the last one; ``outcomes`` has them all.
        """
        return list(self.outcomes.values())[-1]

    def __repr__(self) -> str:
        outcomes = ", ".join(f"{kind} {outcome!r}" for kind, outcome in self.outcomes.items())
        return f"Run({outcomes}, {'nothing written' if self.folder is None else f'written to {self.folder}'})"


def run_recipe(
    recipe: str | Path | Recipe,
    out: str | Path | None = None,
    *,
    force: bool = False,
    report: Callable[[str], None] | None = None,
    progress: Progress | None = None,
    n_jobs: Jobs = None,
    memory_limit: str | None = None,
    lang: str = ENGLISH,
) -> Run:
    """Run a recipe: tabulate, assess, protect, attack, audit, and write the release.

    The same recipe and data give the same bytes. Nothing is written if the verdict refuses the release.

    Parameters
    ----------
    recipe
        A TOML file, or a :class:`Recipe`.
    out
        Folder to write, replacing the recipe's own. Without either nothing is written.
    force
        Write a release that the verdict refuses, marked as not safe.
    report, progress
        Called with the name of each stage as it begins (see ``STEPS``), and within the method; for several
        groups of tables that share nothing, with the number of them that are done.
    n_jobs
        Backend for such groups: a number of processes (-1 for all processors), "dask" or "spark",
        also with an address, "spark:spark://host:7077". Default: the recipe's ``jobs``, or
        ``joblib.parallel_config``. The written bytes do not depend on it.
    memory_limit
        Memory for reading and adding up records, such as "4GB"; replaces the recipe's. Larger data are
        written to a temporary folder. The written bytes do not depend on it.
    lang
        Language of ``checker/report.html``: "en" or "ja". All other files are the same.

    Returns
    -------
    Run
        Outcome of each group of tables, their verdict, and the release folder, if one was written.

    Raises
    ------
    HitokuError
        If the recipe, its files or an argument are invalid, or a cell cannot be protected; errors in a recipe
        name the file, the line and the key.
    OutputError
        If the folder cannot be written, or the verdict refuses the release.
    """
    speaker(lang)  # before any work
    tell = report or (lambda _stage: None)
    asked = recipe if isinstance(recipe, Recipe) else Recipe.read(recipe)
    folder = _folder(asked, out)
    jobs = n_jobs if n_jobs is not None else asked.keys.jobs
    try:
        parse_jobs(jobs)  # before any work
    except HitokuError as error:
        raise asked.origin.blamed(error, ("jobs",)) if n_jobs is None else error from None
    limit = memory_limit or asked.keys.memory_limit
    try:
        if limit is not None:
            allowed_memory(limit)  # the same
    except HitokuError as error:
        raise asked.origin.blamed(error, ("memory_limit",)) if memory_limit is None else error from None
    with limited_memory(limit):
        return _run(asked, folder, tell, progress, jobs, force=force, lang=lang)


def _run(
    asked: Recipe,
    folder: Path | None,
    tell: Callable[[str], None],
    progress: Progress | None,
    jobs: Jobs,
    *,
    force: bool,
    lang: str,
) -> Run:
    tell("build")
    groups, hashes = build(asked, compare=folder is not None)
    try:
        done = _run_groups(asked, groups, tell, progress, jobs)
    except HitokuError as error:
        raise error.copy_as(fix=asked.origin.spoken(error.fix)) from error
    run = _gather(groups, done, folder)
    if folder is None or (run.verdict.refused and not force):
        return replace(run, folder=None)
    tell("write")
    prints = [(group.fingerprints, group.nested) for group in groups]
    asked_for = asked.keys.model_dump(exclude_unset=True, exclude={"out", *OF_RUNNING}) | {"sha256": hashes}
    if list(run.outcomes) == ["table"]:
        _write(folder, run, "table", asked, asked_for, prints[0], lang)
        return run
    names = [group.name for group in groups]
    with new_folder(folder) as draft:
        for key in run.outcomes:
            kind = key.rpartition("/")[2]
            kind_key = {"kind": kind} if asked.counts is not None else {}
            own = prints[0] if not run.several else prints[names.index(key.partition("/")[0])]
            _write(draft / key, run, key, asked, {**asked_for, **kind_key}, own, lang)
        if run.several:
            overview = [
                OverviewGroup.of(key, f"../{key}", outcome, run.parts[key], run.places[key])
                for key, outcome in run.outcomes.items()
            ]
            write_publication(draft / "checker", overview, asked.keys.title)
    return run


def _run_groups(
    recipe: Recipe,
    groups: Sequence[Built],
    tell: Callable[[str], None],
    progress: Progress | None,
    jobs: Jobs,
) -> list[Mapping[str, Outcome]]:
    """Protect all groups; sums of the same records after the counts, which restrict them."""
    tasks = _tasks(recipe, groups)
    waits = sums_beside_counts(recipe, groups) & (recipe.counts is None)
    first, later = np.flatnonzero(~waits).tolist(), np.flatnonzero(waits).tolist()
    done: dict[int, Mapping[str, Outcome]] = dict(
        zip(first, run_tasks([tasks[place] for place in first], tell, progress, jobs), strict=True)
    )
    if later:
        asked = [
            replace(tasks[i], rules=[*tasks[i].rules, *withheld_empty_cells(recipe, groups, done, groups[i])])
            for i in later
        ]
        done |= dict(zip(later, run_tasks(asked, tell, progress, jobs), strict=True))
    return [done[place] for place in range(len(groups))]


def _gather(groups: Sequence[Built], done: Sequence[Mapping[str, Outcome]], folder: Path | None) -> Run:
    """Combine the outcomes of the groups."""
    outcomes: dict[str, Outcome] = {}
    parts: dict[str, dict[str, Release]] = {}
    places: dict[str, dict[str, Integers]] = {}
    for group, found in zip(groups, done, strict=True):
        for kind, outcome in found.items():
            key = kind if len(groups) == 1 else group.name if kind == "table" else f"{group.name}/{kind}"
            outcomes[key] = outcome
            parts[key] = {
                name: Release.of(table, _part(outcome.protection, cells))
                for name, (table, cells) in group.parts.items()
            }
            places[key] = {name: cells for name, (_, cells) in group.parts.items()}
    left_blank = {key: recomputable(outcome.table, outcome.need) for key, outcome in outcomes.items()}
    return Run(outcomes, parts, left_blank, folder, places)


def _write(
    folder: Path,
    run: Run,
    kind: str,
    recipe: Recipe,
    asked_for: Mapping[str, Any],
    compared: tuple[Sequence[str], Nested],
    lang: str,
) -> None:
    keys = recipe.keys
    n_atoms = run.outcomes[kind].table.n_cells - len(compared[0])
    plan = PublicationPlan(
        title=keys.title,
        source=keys.source,
        footnotes=keys.footnotes,
        formats=keys.formats,
        parts=run.parts[kind],
        places=run.places[kind],
        # Atoms have none: their records are those of cells.
        fingerprints=[*compared[0], *[""] * n_atoms] if compared[0] else [],
        nested=compared[1],
        recipe=asked_for,
        recipe_text=recipe.text,
        lang=lang,
    )
    write_release(folder, run.outcomes[kind], plan)


def _folder(recipe: Recipe, out: str | Path | None) -> Path | None:
    """Return the folder to write, which must be free; checked before any work."""
    if out is not None:
        folder = Path(out)
    elif recipe.keys.out is not None:
        folder = recipe.path(recipe.keys.out)
        # A recipe may be untrusted, so only the caller can allow writing elsewhere.
        if not folder.resolve().is_relative_to(recipe.folder.resolve()):
            raise OutputError(
                "recipe_writes_outside_folder",
                "the recipe writes to {folder!r}, outside the folder it stands in",
                where=str(recipe.folder),
                fix="choose a folder below, or say so yourself: --out FOLDER",
                folder=recipe.keys.out,
            )
    else:
        return None
    refuse_occupied(folder)
    refuse_unwritable(folder)
    return folder


def _tasks(recipe: Recipe, groups: Sequence[Built]) -> list[GroupTask]:
    """Return the task of every group of tables."""
    keys, counts = recipe.keys, recipe.counts
    whole = [_table_to_judge(recipe, group) for group in groups]
    shared = _requests_by_group(recipe, groups, [group.table for group in groups])
    tasks = []
    for group, table, own, (cells, rules, factor) in zip(
        groups, whole, shared, _requests_by_group(recipe, groups, whole), strict=True
    ):
        _refuse_overlap(recipe, table, cells)
        asked: dict[str, Any] | None = None
        if counts is not None:
            by = counts.method and equip(recipe, counts.method, table, cells, factor)
            asked = {
                "frequency_rules": counts.rules,
                "frequency_method": by,
                "frequency_width": counts.width,
                "width_share": WIDTH_SHARE if keys.width_share is None else keys.width_share,
            }
        tasks.append(
            GroupTask(
                table=table,
                shared=None
                if table is group.table
                else SharedCells(
                    table=group.table,
                    rules=own[1],
                    method=equip(recipe, recipe.method, group.table, own[0], own[2]),
                ),
                rest=group.rest,
                remarks=group.remarks,
                rules=rules,
                judges=recipe.rules,
                method=equip(recipe, recipe.method, table, cells, factor),
                width=keys.width,
                insiders=keys.insiders,
                groups=keys.groups,
                counts=asked,
                against=keys.against,
                tables=_undecided_reason(recipe, group, groups),
                atoms=table is not group.table,
                by_hand=bool(group.by_hand.any()),
            )
        )
    return tasks


def _table_to_judge(recipe: Recipe, group: Built) -> Table:
    """Return the linked tables with their atoms, where these are known and the method can protect them."""
    decides = group.atoms is not None and recipe.counts is None and requires_groups(recipe.method)
    return group.atoms if group.atoms is not None and decides and recipe.keys.groups else group.table


def _requests_by_group(
    recipe: Recipe, groups: Sequence[Built], tables: Sequence[Table]
) -> list[tuple[dict[str, Mask], list[Rule], Floats]]:
    """Return for every group the cells that the recipe names, its rules, and factors of costs."""
    wholes = [(table, group.parts) for table, group in zip(tables, groups, strict=True)]
    every = cells_for(recipe, wholes)
    for cells, group, table in zip(every, groups, tables, strict=True):
        # Atoms are withheld by starting from the pattern of the other cells.
        n_shared = group.table.n_cells
        cells["withhold"][:n_shared] |= group.by_hand | ~table.shown[:n_shared]
    return list(zip(every, rules_for(recipe, wholes), cost_factors(recipe, wholes), strict=True))


def _undecided_reason(recipe: Recipe, group: Built, groups: Sequence[Built]) -> str:
    """Return the reason why the tables of a recipe were not examined together; empty if they were."""
    if len(recipe.tables) < 2:
        return ""
    reasons = [
        group.undecided,
        Text("counts and magnitudes are published together") if recipe.counts is not None else "",
        Text("groups=False") if not recipe.keys.groups else "",
        "" if requires_groups(recipe.method) else Text("the method has a guarantee of its own"),
        Text("tables of several quantities were judged separately")
        if len({one.table.measure for one in groups}) > 1
        else "",
        not_in_sets(recipe.rules),
    ]
    why = join([reason for reason in reasons if reason])
    return Text("{n} tables: {why}", n=len(recipe.tables), why=why) if why else ""


def _refuse_overlap(recipe: Recipe, table: Table, cells: Mapping[str, Mask]) -> None:
    stay = cells["keep"] | cells["forced"] | kept_cells(table, getattr(recipe.method, "keep", None))
    both = np.flatnonzero(cells["withhold"] & stay)
    if len(both):
        raise recipe.origin.error(
            ("withhold",) if recipe.keys.withhold else ("start",),
            "cells_withheld_and_kept",
            "{n} cell(s), such as {example}, are both withheld and kept",
            "name each cell once",
            n=len(both),
            example=table.describe(int(both[0])),
        )


def equip(
    recipe: Recipe, method: Any, table: Table, masks: Mapping[str, Mask], factor: Floats | None = None
) -> Method:
    """Return the recipe's method with its keep, withhold and publish masks set.

    ``factor`` multiplies the costs of cells.
    """
    takes = {field.name for field in fields(method)} if is_dataclass(method) else set()
    given: dict[str, Any] = {}
    for key, mask in masks.items():
        if not mask.any():
            continue
        parameter = next((name for name in TAKEN_AS[key] if name in takes), None)
        if parameter is None:
            able = [name for name, kind in METHODS.items() if _takes(kind, TAKEN_AS[key])]
            raise recipe.origin.error(
                (key if getattr(recipe.keys, key) else "tables" if not table.shown.all() else "start",),
                "method_cannot_choose_cells",
                "method {method} has no option for cells to {verbs}",
                "use method {method_2}, or leave the cells out"
                if table.shown.all()
                else "use method {method_2}, or leave the cells out: linked tables have some that none shows",
                method=type(method).__name__.lower(),
                verbs=VERBS[key],
                method_2=" or ".join(able),
            )
        # The spec of the method applies as well: keep=margins, and these.
        given[parameter] = mask | kept_cells(table, method.keep) if key == "keep" else mask
    if recipe.keys.costs and factor is not None:
        given |= _price(recipe, method, table, takes, factor)
    configured: Method = replace(method, **given) if given else method
    return configured


def _price(recipe: Recipe, method: Any, table: Table, takes: set[str], factor: Floats) -> dict[str, Any]:
    """Multiply the costs of a method, cell by cell."""
    if "cost" not in takes:
        able = [name for name, kind in METHODS.items() if _takes(kind, ["cost"])]
        raise recipe.origin.error(
            ("costs",),
            "method_without_costs",
            "method {method} knows no costs",
            "use method {method_2}, or leave costs out",
            method=type(method).__name__.lower(),
            method_2=" or ".join(able),
        )
    price = factor * prices_of(table, method)
    # The price includes the power already.
    return {"cost": price} | ({"power": None} if "power" in takes else {})


def _takes(kind: type[Method], parameters: Sequence[str]) -> bool:
    return bool(set(parameters) & set(inspect.signature(kind).parameters))


def _part(whole: Protection, cells: Integers) -> Protection:
    """Return a protection restricted to one of the linked tables."""
    return replace(
        whole,
        withheld=whole.withheld[cells],
        value=whole.value[cells],
        secondary=whole.secondary[cells],
        steps=(),
    )
