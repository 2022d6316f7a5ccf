"""Whether a release leaves open where the members of a group are: the answer for every group, with proof.

A sum of cells must be able to become large. As an additional, unpublished cell it is audited like
any other: a witness is a feasible table in which enough members of the group are elsewhere.
The group must not be empty there: an empty group reveals nothing about its members.

What an attack infers is compared with the requirements of the unsafe cells of the true table. Attacks receive
a release only and do not decide; here the true values are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np

from hitoku.attacks import Attack, Insider
from hitoku.coalitions import CoalitionSearch
from hitoku.evidence.disclosure import explain_recomputable, write_arithmetic
from hitoku.evidence.grid import Grid, exact_rows, text
from hitoku.evidence.problem import AuditProblem
from hitoku.evidence.prover import prove
from hitoku.evidence.witness_search import Proof
from hitoku.feasibility import fixed_columns
from hitoku.messages import Text, join
from hitoku.metrics import errors
from hitoku.model import (
    Attributions,
    Bounds,
    Estimates,
    Finding,
    Floats,
    Labels,
    Mask,
    Need,
    Release,
    Severity,
    Table,
    rational,
)


@singledispatch
def judge_attack(attack: Attack, table: Table, need: Need, release: Release) -> list[Finding]:
    """Run an attack on a release; return its own findings, and the unsafe cells to which it comes too close.

    Parameters
    ----------
    attack
        Attack that was run.
    table, need
        True values, and the required protection of each unsafe cell.
    release
        The release under attack.

    Examples
    --------
    >>> from hitoku.attacks import Interval
    >>> from hitoku.model import Protection
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> need = Need(unsafe=table.value == 1)
    >>> release = Release.of(table, Protection.withhold(table, need.unsafe))
    >>> [finding.place for finding in judge_attack(Interval(), table, need, release)]
    ['row=2, column=2']
    """
    inferred = attack.infer(release)
    found = list(inferred.findings)
    if inferred.bounds is not None:
        found += _narrow(attack.name, inferred.bounds, table, need, release)
    if inferred.estimates is not None:
        found += _recovered_findings(inferred.estimates, table, need, release)
    return found


@judge_attack.register
def _(attack: Insider, table: Table, need: Need, release: Release) -> list[Finding]:
    """Compare by coalition: prior knowledge of a coalition is not a disclosure by the release."""
    verdict = CoalitionSearch(table, need, release, attack).verdict()
    found = [_too_close(attack.name, release, cell) for cell in verdict.cells]
    return found + [one for one in verdict.findings(release.describe) if one.severity is Severity.REVIEW]


def _narrow(name: str, bounds: Bounds, table: Table, need: Need, release: Release) -> list[Finding]:
    unmet = ~need.met(table.value, bounds)
    found = [_too_close(name, release, int(cell)) for cell in np.flatnonzero(unmet & ~bounds.unknown)]
    n_unknown = int(np.count_nonzero(need.unsafe & bounds.unknown))
    if n_unknown:
        found.append(
            Finding(
                severity=Severity.REVIEW,
                place="unsafe cells",
                reason=Text("attack {name} did not decide {n} of them", name=name, n=n_unknown),
                advice="give it more time or a higher limit",
            )
        )
    return found


def _recovered_findings(estimates: Estimates, table: Table, need: Need, release: Release) -> list[Finding]:
    """Return findings for true values that are recovered in most replications."""
    found = errors(table, need, estimates)
    hits = np.count_nonzero(found.error <= 100 * found.tolerance, axis=0)
    draws = len(found.error)
    n_all = found.undecided + draws
    undecided = Finding(
        severity=Severity.REVIEW,
        place="unsafe cells",
        reason=Text(
            "attack adjustment did not decide {n} of {total} replications", n=found.undecided, total=n_all
        ),
        advice="give it a higher work_limit",
    )
    return [undecided] * (found.undecided > 0) + [
        Finding(
            severity=Severity.FAIL,
            place=release.describe(int(cell)),
            reason=Text("the true value is recovered in {n} of {draws} replications", n=n, draws=draws),
            advice="adjust further, or choose senses that cannot be guessed",
        )
        for cell, n in zip(np.flatnonzero(need.unsafe), hits.tolist(), strict=True)
        if 2 * n > draws
    ]


def _too_close(name: str, release: Release, cell: int) -> Finding:
    return Finding(
        severity=Severity.FAIL,
        place=release.describe(cell),
        reason=Text("attack {name} comes closer to the cell than required", name=name),
        advice="withhold more cells in its relations",
    )


REASON = "the published table shows where all but a few of the group are"
ADVICE = "withhold another cell of the group, so that more of its people could be elsewhere"


@dataclass(frozen=True, eq=False)
class Attributed:
    """Result for the groups about which the true table by itself would reveal too much."""

    learnt: Attributions
    """Sums that must be able to become large, one for each group."""
    asked: Floats
    """Required size of each of them."""
    release: Release
    grid: Grid
    problem: AuditProblem
    proof: Proof
    """The release with a cell for each sum, the same in exact numbers, and its proof."""
    safe: Mask
    """For each of them whether a witness shows that it can."""

    def __len__(self) -> int:
        return len(self.asked)

    @property
    def n_open(self) -> int:
        return int((~self.safe).sum())

    def findings(self, labels: Labels) -> list[Finding]:
        """Return a finding for every group about which too much can be inferred."""
        return [
            Finding(
                severity=Severity.FAIL,
                place=self.learnt.describe(labels, int(place)),
                reason=REASON,
                advice=ADVICE,
            )
            for place in np.flatnonzero(~self.safe)
        ]

    def rows(self, labels: Labels, *, additive: bool) -> list[dict[str, Any]]:
        """Return requirement, size in witnesses and reason of failure of each group; confidential."""
        n = len(labels)
        places = {int(cell) - n: place for place, cell in enumerate(self.problem.cells.tolist())}
        reasons = explain_recomputable(self.problem, self.proof.exposed)
        found = []
        for number in range(len(self)):
            place = places[number]
            why = [reasons[place]] if place in reasons else list(self.proof.failed.get(place, ()))
            why = [one for one in why if one.linear or one.up]
            attained = self.proof.attained[place].high
            arithmetic = (
                [write_arithmetic(self.problem, self.release, self.grid, one) for one in why]
                if additive
                else []
            )
            found.append(
                {
                    "group": labels.describe(int(self.learnt.group[number])),
                    "attribute": self.learnt.attribute(labels, number),
                    "elsewhere": float(self.grid.value(n + number)),
                    "required": float(self.asked[number]),
                    "possible": float(self.grid.value(n + number) + Fraction(attained)),
                    "met": bool(self.safe[number]),
                    "why": join(arithmetic),
                }
            )
        return found

    def written(self, first: int) -> dict[str, Any]:
        """Return the requirement of every group, and the witnesses, numbered from ``first``."""
        places = {int(cell): place for place, cell in enumerate(self.problem.cells.tolist())}
        n = self.release.n_cells - len(self)
        groups = []
        for number, required in enumerate(required_of(self.learnt, self.asked)):
            attained = self.proof.attained[places[n + number]]
            witness = None if attained.high_witness is None else first + attained.high_witness
            groups.append({**required, "witness": witness})
        cells = self.problem.cells.tolist()
        witnesses = []
        for witness_ in self.proof.witnesses:
            moved = {cells[place]: d for place, d in witness_.differences.items() if cells[place] < n}
            witnesses.append(
                {
                    "denominator": witness_.denominator,
                    "cells": list(moved),
                    "differences": list(moved.values()),
                }
            )
        return {"groups": groups, "witnesses": witnesses}


def required_of(learnt: Attributions, asked: Floats) -> list[dict[str, Any]]:
    """Return sums of cells with integer weights, the cell of the group, and the required size."""
    written = []
    rows = exact_rows(learnt.sums)
    for number, (cells, weights) in enumerate(rows):
        here = slice(learnt.sums.indptr[number], learnt.sums.indptr[number + 1])
        scale = Fraction(weights[0]) / rational(float(learnt.sums.data[here][0])) if weights else Fraction(1)
        goal = rational(float(asked[number])) * scale
        group = int(learnt.group[number])
        written.append({"group": group, "cells": cells, "weights": weights, "goal": text(goal)})
    return written


def open_groups(table: Table, need: Need, release: Release) -> tuple[Attributions, Floats]:
    """Return sums of cells that are too small in the true table, and the required size of each."""
    learnt = need.attributions.take(need.attributions.open(table.value, release.withheld))
    return learnt, learnt.asked(table.value, release.withheld)


def decide_groups(
    table: Table, need: Need, release: Release, proof: Proof, cells: list[int]
) -> Attributed | None:
    """Decide for every group of a need whether its members could be elsewhere; None without groups.

    Parameters
    ----------
    table, need, release
        Table, need and release under audit.
    proof, cells
        Known witnesses, and the cells of the table for their positions.
    """
    learnt, asked = open_groups(table, need, release)
    if not len(learnt):
        return None
    value, n, wider = table.value, table.n_cells, learnt.extend_release(release)
    sums = learnt.sums @ value
    grid = Grid.of(np.append(value, sums))
    unsafe = np.arange(n + len(learnt)) >= n
    required = Need(unsafe=unsafe, upper=np.append(np.zeros(n), asked - sums))
    problem = AuditProblem.of(grid, required, wider)
    deviations = [_with_sums(w.differences, cells, learnt) for w in proof.witnesses]
    found = prove(problem, np.flatnonzero(fixed_columns(problem.matrix)[0]).tolist(), deviations)
    place = {int(cell): number for number, cell in enumerate(problem.cells.tolist())}
    safe = [
        place[n + i] not in found.failed and place[n + i] not in found.undecided for i in range(len(learnt))
    ]
    return Attributed(learnt, asked, wider, grid, problem, found, np.array(safe, dtype=np.bool_))


def _with_sums(differences: Mapping[int, int], cells: list[int], learnt: Attributions) -> dict[int, int]:
    """Add to a deviation of cells its effect on the sums."""
    n = learnt.sums.shape[1]
    moved = {cells[place]: change for place, change in differences.items()}
    change = np.zeros(n)
    change[list(moved)] = [float(d) for d in moved.values()]
    sums = learnt.sums @ change
    whole = np.rint(sums)
    # With weights that are not integers the effect on the sum is not an integer, so it proves nothing.
    if not np.array_equal(sums, whole):
        return {}
    return moved | {n + int(i): int(whole[i]) for i in np.flatnonzero(whole)}
