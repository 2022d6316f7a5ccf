"""Attack a release folder: what it shows against what its evidence says must not be inferred.

Any registered attack runs from a folder. What its reader knows beside the release is filled in from the
evidence, by the name of its parameter (``SUPPLIED``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.attacks import ATTACKS, Attack
from hitoku.attacks.adjustment.adjustment import DELTA
from hitoku.attacks.adjustment.scenario import Known
from hitoku.errors import DataError, ParameterError
from hitoku.evidence.attacked import judge_attack
from hitoku.evidence.recovery import known
from hitoku.insiders.contributions import contributions_in
from hitoku.io.recipe.recipe import Recipe
from hitoku.io.release.read import read_numbers, read_release
from hitoku.methods.method import Method
from hitoku.model.contributors import Contributors
from hitoku.model.finding import Finding
from hitoku.model.need import Need
from hitoku.model.release import Release
from hitoku.model.table import Table
from hitoku.pipeline.recipe import equip
from hitoku.pipeline.recipe_cells import Whole, cells_for, cost_factors, rules_for
from hitoku.rules.rule import Rule
from hitoku.rules.word import from_word, parsed
from hitoku.solver.closest import Norm

# The evidence is written with as many digits as doubles have.
SAME = 1e-12


@dataclass(frozen=True, eq=False)
class AttackedFolder:
    """A release folder that was read."""

    path: Path
    table: Table
    need: Need
    release: Release

    @classmethod
    def read(cls, path: str | Path) -> AttackedFolder:
        """Read a folder as its public table is now."""
        return cls(Path(path), *read_release(path))

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

    @property
    def norm(self) -> Norm:
        """Return the distance by which the values were adjusted."""
        norm: Norm = getattr(self.made.method, "norm", "l1")
        return norm

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
        whole: list[Whole] = [(self.table, {})]
        rules, cells = rules_for(recipe, whole)[0], cells_for(recipe, whole)[0]
        method, width = recipe.method, recipe.keys.width
        summary = json.loads((self.path / "checker" / "summary.json").read_text("utf-8"))
        counts = recipe.counts if summary.get("recipe", {}).get("kind") == "counts" else None
        if counts is not None:
            rules, method, width = list(counts.rules), counts.method or method, counts.width
        elif (
            recipe.counts is not None
            or not summary.get("insiders", "none").startswith("none")
            or any(table.start or table.mark for table in recipe.tables.values())
        ):
            raise ParameterError(
                "the pattern does not follow from this table, its rules and the method alone",
                where=f"{file.relative_to(self.path)}: counts, insiders or cells withheld by hand",
                fix="nobody can run the method again without knowing those; attack another release",
            )
        told = equip(recipe, method, self.table, cells, cost_factors(recipe, whole)[0])
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


Given = Mapping[str, Any]


def _known(folder: AttackedFolder, given: Given) -> Known:
    """Return what can be known about an adjustment; a scenario uses as much of it as it grants."""
    return known(
        folder.table,
        folder.need,
        folder.release,
        norm=given.get("norm") or folder.norm,
        delta=given.get("delta", DELTA),
    )


# What an attack may ask for beside the release, by the name of its parameter; what the word gives is at hand.
SUPPLIED: Mapping[str, Callable[[AttackedFolder, Given], Any]] = {
    "contributions": lambda folder, _: folder.contributions(),
    "method": lambda folder, _: folder.made.method,
    "rules": lambda folder, _: folder.made.rules,
    "width": lambda folder, _: folder.made.width,
    "norm": lambda folder, _: folder.norm,
    "known": _known,
}


def attack_folder(folder: AttackedFolder, word: str) -> list[Finding]:
    """Run one attack on a release folder; say what it finds.

    Parameters
    ----------
    folder
        The release.
    word
        Name of the attack and its parameters, such as ``group:k=2,sensitive=injury``.
    """
    name, given = parsed(word, "attack")
    if name in ATTACKS and folder.adjusted != ATTACKS[name].adjusted:
        raise ParameterError(
            f"attack {name} says nothing about values that were {'' if folder.adjusted else 'not '}adjusted",
            where=str(folder.path),
            fix=f"use {'--attack adjustment' if folder.adjusted else 'another attack, such as interval'}",
        )
    supplied = {parameter: partial(supply, folder, given) for parameter, supply in SUPPLIED.items()}
    attack: Attack = from_word(word, ATTACKS, "attack", supplied=supplied)
    return judge_attack(attack, folder.table, folder.need, folder.release)
