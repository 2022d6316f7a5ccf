"""Attacks on a release folder, and the verdict on its current state, alone or with others."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.attacks import ATTACKS, Attack
from hitoku.attacks.adjustment import DELTA, AttackerKnowledge
from hitoku.coalitions import contributions_in
from hitoku.errors import DataError, HitokuError, ParameterError
from hitoku.evidence import UNKNOWN_METHOD, Audit, DerivableGroups, derivable_groups, judge, judge_attack
from hitoku.io.recipe import Counts, Recipe
from hitoku.io.release import read_numbers, read_release
from hitoku.messages import Text
from hitoku.methods import traits_of, with_known_rules
from hitoku.metrics import attacker_knowledge
from hitoku.model import Contributors, Finding, Need, Protection, Release, Row, Table, Verdict, parse_scope
from hitoku.pipeline.known_method import Made, known_method_row
from hitoku.pipeline.recipe_cells import Whole, cells_for, cost_factors, rules_for
from hitoku.pipeline.recipe_run import equip
from hitoku.rules import Rule, from_spec, parse_spec
from hitoku.solver.closest import Norm

# The evidence is written with the full precision of doubles.
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
        """Read a folder with its current public table."""
        return cls(Path(path), *read_release(path))

    @property
    def adjusted(self) -> bool:
        """Whether nothing is suppressed, and the values differ from the true ones."""
        shown = self.release.published
        return not self.release.withheld.any() and not np.allclose(shown, self.table.value, rtol=SAME, atol=0)

    def contributions(self) -> Any:
        """Return the knowledge of the largest contributors of each cell: their own contributions."""
        labels = self.release.labels
        count = read_numbers(self.path, labels, "contributors")
        if count is None:
            raise DataError(
                "release_without_contributors",
                "the release does not say who contributes to its cells",
                where=str(self.path / "checker" / "cells.csv"),
                fix="attack a release of magnitudes, made from records",
            )
        # Without contributions only sole contributors are known: theirs is the whole cell.
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
        """Distance by which the values were adjusted."""
        norm: Norm = getattr(self.made.method, "norm", "l1")
        return norm

    @cached_property
    def units(self) -> Table:
        """The table with the respondents and contributors of its cells, if the evidence has them."""
        table, labels = self.table, self.release.labels
        if not (self.path / "checker" / "cells.csv").is_file():
            return table
        counted = {name: read_numbers(self.path, labels, name) for name in ("respondents", "contributors")}
        known = {
            name: Contributors(
                count=count.astype(np.int64), largest=np.zeros((table.n_cells, 0)), total=table.value
            )
            for name, count in counted.items()
            if count is not None
        }
        units, behind = known.get("respondents"), known.get("contributors")
        if units is not None:
            table = replace(table, frequency=units.count)
        if behind is None:
            return table
        # Contributors are the holdings if several respondents belong to one.
        same = units is None or np.array_equal(units.count, behind.count)
        return replace(table, units=behind) if same else replace(table, units=units, holdings=behind)

    @cached_property
    def summary(self) -> Mapping[str, Any]:
        """Counts and verdict when the release was written."""
        return dict(json.loads((self.path / "checker" / "summary.json").read_text("utf-8")))

    @cached_property
    def recipe(self) -> Recipe:
        """The recipe by which the release was made."""
        file = self.path / "checker" / "recipe.toml"
        if not file.is_file():
            raise DataError(
                "release_without_method",
                "the release does not say how it was made",
                where="{relative_to} is missing",
                fix="attack a folder that hitoku protect wrote",
                relative_to=file.relative_to(self.path),
            )
        return Recipe.read(file)

    @property
    def rules(self) -> list[Rule]:
        """Rules by which cells of the release are unsafe."""
        counts = self._counts
        return rules_for(self.recipe, [(self.table, {})])[0] if counts is None else list(counts.rules)

    @property
    def _counts(self) -> Counts | None:
        """Protection of the counts, if these are the counts of a magnitude table."""
        return self.recipe.counts if self.summary.get("recipe", {}).get("kind") == "counts" else None

    @cached_property
    def made(self) -> Made:
        """How the release was made, for an attacker who knows it."""
        recipe, counts, rules = self.recipe, self._counts, self.rules
        whole: list[Whole] = [(self.table, {})]
        cells = cells_for(recipe, whole)[0]
        method, width = recipe.method, recipe.keys.width
        if counts is not None:
            method, width = counts.method or method, counts.width
        elif (
            recipe.counts is not None
            or not self.summary.get("insiders", "none").startswith("none")
            or any(table.start or table.mark for table in recipe.tables.values())
        ):
            raise ParameterError(
                "pattern_not_of_method",
                "the pattern does not follow from this table, its rules and the method alone",
                where="checker/recipe.toml: counts, insiders or cells withheld by hand",
                fix="these are needed to run the method again; attack another release",
            )
        equipped = equip(recipe, method, self.table, cells, cost_factors(recipe, whole)[0])
        # A method that compares tables must know how each would have been assessed.
        equipped = with_known_rules(equipped, rules, width)
        return Made(rules, equipped, width, recipe.keys.groups)


Given = Mapping[str, Any]


def _known_facts(folder: AttackedFolder, given: Given) -> AttackerKnowledge:
    """Return the facts about an adjustment that can be known; a scenario uses those that it grants."""
    return attacker_knowledge(
        folder.table,
        folder.need,
        folder.release,
        norm=given.get("norm") or folder.norm,
        delta=given.get("delta", DELTA),
    )


# Inputs of attacks other than the release, by parameter; the second argument has the parameters of the spec.
SUPPLIED: Mapping[str, Callable[[AttackedFolder, Given], Any]] = {
    "contributions": lambda folder, _: folder.contributions(),
    "method": lambda folder, _: folder.made.method,
    "rules": lambda folder, _: folder.made.rules,
    "width": lambda folder, _: folder.made.width,
    "groups": lambda folder, _: folder.made.groups,
    "norm": lambda folder, _: folder.norm,
    "known": _known_facts,
}


def attack_folder(folder: AttackedFolder, spec: str) -> list[Finding]:
    """Run one attack on a release folder; return its findings.

    Parameters
    ----------
    folder
        Release to attack.
    spec
        Name of the attack and its parameters, such as ``group:k=2,sensitive=injury``.
    """
    name, given = parse_spec(spec, "attack")
    if name in ATTACKS and folder.adjusted != ATTACKS[name].adjusted:
        raise ParameterError(
            "attack_not_for_adjusted",
            "attack {attack} says nothing about values that were {how}adjusted",
            where=str(folder.path),
            fix="use {kind}",
            attack=name,
            how="" if folder.adjusted else "not ",
            kind=Text("--attack adjustment") if folder.adjusted else Text("another attack, such as interval"),
        )
    supplied = {parameter: partial(supply, folder, given) for parameter, supply in SUPPLIED.items()}
    attack: Attack = from_spec(spec, ATTACKS, "attack", supplied=supplied)
    return judge_attack(attack, folder.table, folder.need, folder.release)


NOT_TRIED, BY_ATTACK = "not tried by this command", "hitoku attack RELEASE --attack insider"
TOGETHER = (
    "cells that are the same by their names or records were judged together, other combinations of cells "
    "were not"
)
LINKED = "the folder has several tables: sums that they share were audited, other combinations were not"
BESIDE = "it was made together with other tables, which are not in this folder"


def judge_folder(folder: AttackedFolder, audit: Audit) -> Verdict:
    """Return the verdict on a release folder, as far as its evidence allows.

    Parameters
    ----------
    folder
        Release folder.
    audit
        Audit of its public table against its evidence.
    """
    recipe = folder.summary.get("recipe", {})
    linked = len(folder.summary.get("protected_together", ())) > 1
    beside = len(recipe.get("tables", ())) > 1 or "kind" in recipe
    decided = linked and bool(folder.summary.get("atoms"))
    verdict = judge(
        audit,
        parse_scope(recipe.get("against"), secret="method" not in _scope_then(folder)),
        groups=_groups(folder, audit),
        method=_method(folder, audit),
        atoms=decided,
        tables="" if decided else LINKED if linked else BESIDE if beside else "",
    )
    return name_attacks(verdict)


def judge_cells(audit: Audit, rules: Sequence[Rule] | None, *, groups: bool = True) -> Verdict:
    """Return the verdict on manually marked cells; ``rules`` is None if they are not known."""
    found = None
    if rules is not None:
        found = derivable_groups(audit.table, rules, audit.release, own=audit, groups=groups)
    return name_attacks(judge(audit, parse_scope(None), groups=found))


def judge_together(audit: Audit, groups: DerivableGroups | None = None, undecided: str = TOGETHER) -> Verdict:
    """Return the verdict on several release folders that were audited as one.

    Parameters
    ----------
    audit, groups
        Joint audit, and the verdict on derivable sets of records.
    undecided
        Reason why sets of records were not examined; empty if they were.
    """
    return name_attacks(judge(audit, parse_scope(None), groups=groups, tables=undecided, atoms=not undecided))


def name_attacks(verdict: Verdict) -> Verdict:
    """Name the command that tries contributors, which an audit of files does not."""
    return replace(
        verdict,
        rows=tuple(
            replace(row, reason=NOT_TRIED, fix=BY_ATTACK)
            if row.attacker in {"singletons", "contributors"} and row.applies
            else row
            for row in verdict.rows
        ),
    )


def _scope_then(folder: AttackedFolder) -> set[str]:
    """Return the attackers in the scope of the verdict that was written with the release."""
    written = folder.summary.get("verdict")
    rows = written.get("rows", ()) if isinstance(written, dict) else ()
    return {row["attacker"] for row in rows if row.get("in_scope")}


def _groups(folder: AttackedFolder, audit: Audit) -> DerivableGroups | None:
    try:
        rules, groups = folder.rules, folder.recipe.keys.groups
    except HitokuError:
        return None
    return derivable_groups(folder.units, rules, folder.release, own=audit, groups=groups)


def _method(folder: AttackedFolder, audit: Audit) -> Row:
    """Return the row of an attacker who knows the method, if the folder names it."""
    try:
        made = folder.made
    except HitokuError:
        return UNKNOWN_METHOD
    if not traits_of(made.method).secret:
        return replace(UNKNOWN_METHOD, reason="not checked by this command", fix="hitoku verify RELEASE")
    pattern = Protection(
        withheld=audit.release.withheld,
        value=audit.table.value,
        secondary=audit.release.withheld & ~audit.need.unsafe,
    )
    return known_method_row(audit, pattern, made, secret=True)
