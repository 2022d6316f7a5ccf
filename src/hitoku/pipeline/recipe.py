"""Run a recipe: from the files it names to a release with its evidence."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.errors import HitokuError
from hitoku.evidence.outcome import Outcome
from hitoku.files import new_folder, refuse_occupied
from hitoku.io.publication import PublicationPlan
from hitoku.io.recipe.keys import UNLESS_UNSAFE
from hitoku.io.recipe.recipe import Recipe
from hitoku.io.release.write import write_release
from hitoku.methods import METHODS
from hitoku.methods.costs import costs
from hitoku.methods.keep import kept
from hitoku.methods.method import Method, Progress
from hitoku.model.arrays import Integers, Mask
from hitoku.model.finding import Finding
from hitoku.model.protection import Protection
from hitoku.model.release import Release
from hitoku.model.table import Table
from hitoku.pipeline.compare import recomputable
from hitoku.pipeline.magnitude import WIDTH_SHARE, counts_of, suppress_magnitude
from hitoku.pipeline.protect import STAGES, protect_table
from hitoku.pipeline.recipe_tables import Built, Parts, build, chosen, with_codes
from hitoku.pipeline.rest import judge_rest
from hitoku.rules.assess import assess
from hitoku.rules.given import Given
from hitoku.rules.rule import Rule

# What is done, in this order, in words for a person who waits.
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
    """What came of a recipe.

    Parameters
    ----------
    outcomes
        Table, need, protection, release, bounds and audit: of the one "table", or of "counts" and
        "magnitudes" where both are protected.
    parts
        The same keys; linked tables by name, each as its readers see it.
    left_blank
        The same keys; how many unsafe cells adding and subtracting gives away if nothing else is withheld.
    folder
        What was written; None when nothing was.
    places
        Linked tables by name, for each of their cells its position in the outcomes' table.
    """

    outcomes: Mapping[str, Outcome]
    parts: Mapping[str, Mapping[str, Release]]
    left_blank: Mapping[str, int]
    folder: Path | None
    places: Mapping[str, Integers] = field(default_factory=dict)

    @property
    def remarks(self) -> tuple[Finding, ...]:
        """What a person should know about how linked tables share their records."""
        return self.outcome.remarks

    @property
    def safe(self) -> bool:
        """Every release passed its audit."""
        return all(outcome.audit.safe for outcome in self.outcomes.values())

    @property
    def outcome(self) -> Outcome:
        """The outcome of the table; that of the magnitudes where counts were protected with them."""
        return list(self.outcomes.values())[-1]

    def __repr__(self) -> str:
        told = ", ".join(f"{kind} {outcome!r}" for kind, outcome in self.outcomes.items())
        return f"Run({told}, {'nothing written' if self.folder is None else f'written to {self.folder}'})"


def run_recipe(
    recipe: str | Path | Recipe,
    out: str | Path | None = None,
    *,
    force: bool = False,
    report: Callable[[str], None] | None = None,
    progress: Progress | None = None,
) -> Run:
    """Run a recipe: tabulate, assess, protect, attack, audit, and write the release.

    The same recipe and data give the same bytes. Nothing is written when the audit fails.

    Parameters
    ----------
    recipe
        A TOML file, or a :class:`Recipe`.
    out
        Folder to write, instead of the recipe's own. Without either nothing is written.
    force
        Write a release whose audit fails, marked as not safe.
    report, progress
        Called with the name of each stage as it begins (see ``STEPS``), and within the method.
    """
    tell = report or (lambda _stage: None)
    asked = recipe if isinstance(recipe, Recipe) else Recipe.read(recipe)
    folder = _folder(asked, out)
    tell("build")
    built = build(asked)
    try:
        outcomes = _protect(asked, built, tell, progress)
    except HitokuError as error:
        raise type(error)(error.what, where=error.where, fix=asked.origin.spoken(error.fix)) from error
    parts = {
        kind: {
            name: Release.of(table, _part(outcome.protection, cells))
            for name, (table, cells) in built.parts.items()
        }
        for kind, outcome in outcomes.items()
    }
    left_blank = {kind: recomputable(outcome.table, outcome.need) for kind, outcome in outcomes.items()}
    places = {name: cells for name, (_, cells) in built.parts.items()}
    run = Run(outcomes, parts, left_blank, folder, places)
    if folder is None or not (run.safe or force):
        return replace(run, folder=None)
    tell("write")
    asked_for = asked.keys.model_dump(exclude_unset=True, exclude={"out"}) | {"sha256": dict(built.sha256)}
    if asked.counts is None:
        _write(folder, run, "table", asked, asked_for)
    else:
        with new_folder(folder) as draft:
            for kind in outcomes:
                _write(draft / kind, run, kind, asked, {**asked_for, "kind": kind})
    return run


def _write(folder: Path, run: Run, kind: str, recipe: Recipe, asked_for: Mapping[str, Any]) -> None:
    keys = recipe.keys
    plan = PublicationPlan(
        title=keys.title,
        source=keys.source,
        footnotes=keys.footnotes,
        formats=keys.formats,
        parts=run.parts[kind],
        places=run.places,
        recipe=asked_for,
        recipe_text=recipe.text,
    )
    write_release(folder, run.outcomes[kind], plan)


def _folder(recipe: Recipe, out: str | Path | None) -> Path | None:
    """Return the folder to write, which must be free; an answer before any work."""
    if out is not None:
        folder = Path(out)
    elif recipe.keys.out is not None:
        folder = recipe.path(recipe.keys.out)
    else:
        return None
    refuse_occupied(folder)
    return folder


def _protect(
    recipe: Recipe, built: Built, tell: Callable[[str], None], progress: Progress | None
) -> dict[str, Outcome]:
    table, keys = built.table, recipe.keys
    cells = cells_for(recipe, table, built.parts)
    cells["withhold"] |= built.by_hand | ~table.shown
    _refuse_overlap(recipe, table, cells)
    rules = rules_for(recipe, table, built.parts)
    method = equip(recipe, recipe.method, table, cells, built.parts)
    counts = recipe.counts
    if counts is None:
        outcome = protect_table(
            table,
            [*rules, *judge_rest(table, built.rest, recipe.rules, lambda _: keys.width)],
            method=method,
            width=keys.width,
            insiders=keys.insiders,
            report=tell,
            progress=progress,
        )
        return {"table": replace(outcome, remarks=built.remarks)}
    share = WIDTH_SHARE if keys.width_share is None else keys.width_share
    rest = [(counts_of(one), places) for one, places in built.rest]
    both = suppress_magnitude(
        table,
        [*rules, *judge_rest(table, built.rest, recipe.rules, lambda one: share * np.abs(one.value))],
        method=method,
        frequency_rules=[*counts.rules, *judge_rest(table, rest, counts.rules, lambda _: counts.width)],
        frequency_method=None
        if counts.method is None
        else equip(recipe, counts.method, table, cells, built.parts),
        frequency_width=counts.width,
        width_share=share,
        insiders=keys.insiders,
        report=tell,
        progress=progress,
    )
    found = {"counts": both.frequency, "magnitudes": both.magnitude}
    return {kind: replace(outcome, remarks=built.remarks) for kind, outcome in found.items()}


def cells_for(recipe: Recipe, table: Table, parts: Parts | None = None) -> dict[str, Mask]:
    """Find the cells that a recipe names for the method; nobody names those that no table shows."""
    keys = recipe.keys
    keep = np.zeros(table.n_cells, dtype=bool)
    for place, selection in enumerate(keys.keep):
        codes = {name: listed for name, listed in selection.items() if name != UNLESS_UNSAFE}
        cells = with_codes(table.labels, codes, ("keep", place), recipe.origin, parts)
        if UNLESS_UNSAFE in selection:
            cells &= ~assess(table, rules_for(recipe, table, parts), width=keys.width).unsafe
        keep |= cells
    others = {
        name: chosen(table.labels, getattr(keys, name), name, recipe.origin, parts) & table.shown
        for name in TAKEN_AS
        if name != "keep"
    }
    return {"keep": keep & table.shown, **others}


def rules_for(recipe: Recipe, table: Table, parts: Parts | None = None) -> list[Rule]:
    """Return the rules of a recipe, with the cells of a table that it calls unsafe itself."""
    unsafe = chosen(table.labels, recipe.keys.unsafe, "unsafe", recipe.origin, parts) & table.shown
    return [*recipe.rules, *([Given(unsafe)] if unsafe.any() else [])]


def _refuse_overlap(recipe: Recipe, table: Table, cells: Mapping[str, Mask]) -> None:
    stay = cells["keep"] | cells["forced"] | kept(table, getattr(recipe.method, "keep", None))
    both = np.flatnonzero(cells["withhold"] & stay)
    if len(both):
        raise recipe.origin.error(
            ("withhold",) if recipe.keys.withhold else ("start",),
            f"{len(both)} cell(s), such as {table.describe(int(both[0]))}, are both withheld and kept",
            "name each cell once",
        )


def equip(
    recipe: Recipe, method: Any, table: Table, masks: Mapping[str, Mask], parts: Parts | None = None
) -> Method:
    """Return a method of a recipe, told which cells to keep, withhold or publish in any case."""
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
                f"method {type(method).__name__.lower()} cannot be told which cells to {VERBS[key]}",
                f"use method {' or '.join(able)}, or leave the cells out"
                + ("" if table.shown.all() else ": linked tables have some that none of them shows"),
            )
        # What the word of the method says holds as well: keep=margins, and these.
        given[parameter] = mask | kept(table, method.keep) if key == "keep" else mask
    if recipe.keys.costs:
        given |= _price(recipe, method, table, takes, parts)
    told: Method = replace(method, **given) if given else method
    return told


def _price(recipe: Recipe, method: Any, table: Table, takes: set[str], parts: Parts | None) -> dict[str, Any]:
    """Multiply the costs of a method, cell by cell."""
    if "cost" not in takes:
        able = [name for name, kind in METHODS.items() if _takes(kind, ["cost"])]
        raise recipe.origin.error(
            ("costs",),
            f"method {type(method).__name__.lower()} knows no costs",
            f"use method {' or '.join(able)}, or leave costs out",
        )
    price = np.array(costs(table, method.cost, getattr(method, "power", None)))
    for place, entry in enumerate(recipe.keys.costs):
        dear = with_codes(table.labels, entry.cells, ("costs", place, "cells"), recipe.origin, parts)
        price[dear] *= entry.times
    # The power is in the price already.
    return {"cost": price} | ({"power": None} if "power" in takes else {})


def _takes(kind: type[Method], parameters: Sequence[str]) -> bool:
    return bool(set(parameters) & set(inspect.signature(kind).parameters))


def _part(whole: Protection, cells: Integers) -> Protection:
    """Take a decision over to one of the linked tables."""
    return replace(
        whole,
        withheld=whole.withheld[cells],
        value=whole.value[cells],
        secondary=whole.secondary[cells],
        steps=(),
    )
