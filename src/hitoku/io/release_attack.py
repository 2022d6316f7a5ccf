"""Attack a release folder: what it shows against what its evidence says must not be inferred.

Any registered attack runs from a folder. What it cannot know from the release alone is filled in from the
evidence, by the name of its parameter (``SUPPLIED``). How it answers is up to the attack: with findings
(``report(release)``), as somebody who watches out for insiders (``watch(...)``), with estimates behind
adjusted values (``estimate(...)``), or with intervals (``bounds(release)``), which are held against what each
unsafe cell needs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.attacks import ATTACKS, Insider
from hitoku.errors import DataError, ParameterError
from hitoku.evidence.recovery import recovery
from hitoku.insiders.coalition_search import CoalitionSearch
from hitoku.io.recipe.recipe import Recipe
from hitoku.io.recipe.run import cells_for, equipped, rules_for
from hitoku.io.release_reader import read_numbers, read_release_folder
from hitoku.methods.method import Method
from hitoku.model.arrays import Mask
from hitoku.model.bounds import Bounds
from hitoku.model.contributors import Contributors
from hitoku.model.finding import Finding, Severity
from hitoku.model.need import Need
from hitoku.model.release import Release
from hitoku.model.table import Table
from hitoku.pipeline import contributions_in
from hitoku.rules.rule import Rule
from hitoku.rules.word import from_word, parsed

# The evidence is written with as many digits as doubles have.
SAME = 1e-12


@dataclass(frozen=True, eq=False)
class Folder:
    """A release folder that was read."""

    path: Path
    table: Table
    need: Need
    release: Release

    @classmethod
    def read(cls, path: str | Path) -> Folder:
        """Read a folder as its public table is now."""
        return cls(Path(path), *read_release_folder(path))

    @property
    def adjusted(self) -> bool:
        """Nothing is withheld, and what is shown is not the truth."""
        shown = self.release.published
        return not self.release.withheld.any() and not np.allclose(shown, self.table.value, rtol=SAME, atol=0)

    def contributions(self) -> Any:
        """Return what the largest contributors of each cell know: their own amounts."""
        labels = self.release.labels
        count = read_numbers(self.path, labels, "contributors")
        if count is None:
            raise DataError(
                "the release does not say who contributes to its cells",
                where=str(self.path / "checker" / "cells.csv"),
                fix="attack a release of magnitudes, made from records",
            )
        # Without amounts only those are known who are alone in a cell: theirs is all of it.
        largest = read_numbers(self.path, labels, "largest")
        units = Contributors(
            count=count.astype(np.int64),
            largest=(np.zeros(self.table.n_cells) if largest is None else largest)[:, None],
            total=self.table.value,
            negative=False,
        )
        return contributions_in(replace(self.table, units=units))

    @cached_property
    def made(self) -> Made:
        """Return how the release was made, for a reader who knows it."""
        file = self.path / "checker" / "recipe.toml"
        if not file.is_file():
            raise DataError(
                "the release does not say how it was made",
                where=f"{file.relative_to(self.path)} is missing",
                fix="attack a folder that hitoku protect wrote",
            )
        recipe = Recipe.read(file)
        cells = cells_for(recipe, self.table)
        rules, method, width = rules_for(recipe, self.table), recipe.method, recipe.keys.width
        summary = json.loads((self.path / "checker" / "summary.json").read_text("utf-8"))
        counts = recipe.counts if summary.get("recipe", {}).get("kind") == "counts" else None
        if counts is not None:
            rules, method, width = list(counts.rules), counts.method or method, counts.width
        elif (
            recipe.counts is not None
            or recipe.keys.insiders
            or any(table.start or table.mark for table in recipe.tables.values())
        ):
            raise ParameterError(
                "the pattern does not follow from this table, its rules and the method alone",
                where=f"{file.relative_to(self.path)}: counts, insiders or cells withheld by hand",
                fix="nobody can run the method again without knowing those; attack another release",
            )
        told = equipped(recipe, method, self.table, cells)
        # A method that weighs tables against each other has to know how each would have been judged.
        if hasattr(told, "informed"):
            told = told.informed(rules, width)
        return Made(rules, told, width)


@dataclass(frozen=True, eq=False)
class Made:
    """Rules, method and width of a release."""

    rules: list[Rule]
    method: Method
    width: float | None


# What an attack may ask for beside the release, by the name of its parameter.
SUPPLIED: Mapping[str, Callable[[Folder], Any]] = {
    "contributions": Folder.contributions,
    "method": lambda folder: folder.made.method,
    "rules": lambda folder: folder.made.rules,
    "width": lambda folder: folder.made.width,
    "norm": lambda folder: getattr(folder.made.method, "norm", "l1"),
}


def attack_folder(folder: Folder, word: str) -> list[Finding]:
    """Run one attack on a release folder; say what it finds.

    Parameters
    ----------
    folder
        The release.
    word
        Name of the attack and its parameters, such as ``group:k=2,sensitive=injury``.
    """
    name, _ = parsed(word, "attack")
    supplied = {parameter: partial(supply, folder) for parameter, supply in SUPPLIED.items()}
    attack = from_word(word, ATTACKS, "attack", supplied=supplied)
    release = folder.release
    if folder.adjusted != hasattr(attack, "estimate"):
        raise ParameterError(
            f"attack {name} says nothing about values that were {'' if folder.adjusted else 'not '}adjusted",
            where=str(folder.path),
            fix=f"use {'--attack adjustment' if folder.adjusted else 'another attack, such as interval'}",
        )
    if hasattr(attack, "report"):
        return list(attack.report(release))
    if isinstance(attack, Insider):
        close = CoalitionSearch(folder.table, folder.need, release, attack).too_close()
        cells = sorted({int(cell) for found in close for cell in found.cells})
        return [_finding(folder, name, cell) for cell in cells]
    if hasattr(attack, "estimate"):
        return _recovered(folder, attack)
    if not hasattr(attack, "bounds"):
        raise ParameterError(
            f"attack {name} cannot run from a release folder",
            where=f"word {word!r}",
            fix="run it in Python; its page in the reference shows how",
        )
    bounds = attack.bounds(release)
    near = np.flatnonzero(short(bounds, folder.table, folder.need))
    found = [_finding(folder, name, int(cell)) for cell in near]
    if np.any(bounds.unknown & folder.need.unsafe):
        n_unknown = int(np.count_nonzero(bounds.unknown & folder.need.unsafe))
        found.append(
            Finding(
                severity=Severity.LOOK,
                place="unsafe cells",
                reason=f"attack {name} did not get through with {n_unknown} of them",
                advice="give it more time or a higher limit",
            )
        )
    return found


def short(bounds: Bounds, table: Table, need: Need) -> Mask:
    """Tell which unsafe cells an attack infers more closely than they need; none that it left open."""
    return np.asarray(~need.met(table.value, bounds) & ~bounds.unknown)


def _recovered(folder: Folder, attack: Any) -> list[Finding]:
    """Tell which true values an attacker arrives at, in most replications, behind adjusted ones."""
    found = recovery(folder.table, folder.need, folder.release, attack)
    hits = np.count_nonzero(found.error <= 100 * found.tolerance, axis=0)
    draws = len(found.error)
    return [
        Finding(
            severity=Severity.FAIL,
            place=folder.release.describe(int(cell)),
            reason=f"the true value is recovered in {n} of {draws} replications",
            advice="adjust further, or choose senses that nobody can guess",
        )
        for cell, n in zip(np.flatnonzero(folder.need.unsafe), hits.tolist(), strict=True)
        if 2 * n > draws
    ]


def _finding(folder: Folder, name: str, cell: int) -> Finding:
    return Finding(
        severity=Severity.FAIL,
        place=folder.release.describe(cell),
        reason=f"attack {name} comes closer to the cell than it needs",
        advice="withhold more cells in its relations",
    )
