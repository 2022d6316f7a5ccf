"""Audit of an adjusted release: no cell is suppressed, so published values must differ from the true ones.

Published values must add up as the table does, and every unsafe cell must lie outside the interval that its
need defines around the true value. All comparisons are in exact numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd
from types import MappingProxyType
from typing import Any

import narwhals as nw
import numpy as np

from hitoku.attacks import Insider
from hitoku.errors import ParameterError
from hitoku.evidence.attributed import required_of
from hitoku.evidence.audit_result import Audit, CellOutcome
from hitoku.evidence.certificate import AdjustedCertificate
from hitoku.evidence.grid import Grid
from hitoku.evidence.problem import AuditProblem
from hitoku.evidence.prover import prove
from hitoku.messages import Text
from hitoku.model import (
    ADDITIVITY,
    Attributions,
    Finding,
    Floats,
    Mask,
    Need,
    Release,
    Severity,
    Table,
    broken,
    rational,
)

REASONS = {
    CellOutcome.PUBLISHED: ("unsafe, and published with its true value", "adjust it, or withhold it"),
    CellOutcome.NARROW: (
        "its published value is closer to the true one than required",
        "move it further, or the other way: see moved in audit.cells",
    ),
}
LOOK_ROUNDED = "the values look rounded; the ranges that rounding leaves are not considered"
SHARES = (0.5, 0.9, 0.99)
FRACTIONS, DECIMALS = "integers became fractions", "there are more decimals than in the table"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AdjustedAudit(Audit):
    """Result of :func:`hitoku.audit` for a release that suppresses nothing and changes values."""

    shown: Grid
    """Published values in exact numbers."""
    levels: Mapping[int, tuple[Fraction, Fraction]]
    """For each unsafe cell the required distance below or above its value; zero excludes that direction."""
    n_broken: int
    """Number of relations in which published values do not add up as the true ones do, beyond rounding."""
    exact: bool
    """Whether published values and table add up to the last digit, so that there is a certificate."""
    learnt: Attributions
    asked: Floats
    """Sums of cells that are too small in the true table, and their required size in the published values."""

    @property
    def safe(self) -> bool:
        """Whether every unsafe cell is published far enough from its true value, and relations still hold.

        Includes the groups of the need: in the published values none is where it must not be.
        """
        cells = all(outcome is CellOutcome.SAFE for outcome in self.outcomes.values())
        return self.n_broken == 0 and cells and not self.given_away.any()

    @cached_property
    def given_away(self) -> Mask:
        """Groups that, in the published values, have too few people elsewhere."""
        rows = required_of(self.learnt, self.asked)
        return np.array([self._elsewhere(row) < Fraction(row["goal"]) for row in rows], dtype=np.bool_)

    def _elsewhere(self, row: Mapping[str, Any]) -> Fraction:
        pairs = zip(row["cells"], row["weights"], strict=True)
        return sum((weight * self.shown.value(cell) for cell, weight in pairs), Fraction(0))

    @cached_property
    def certificate(self) -> AdjustedCertificate | None:
        """The proof; None if the release is not safe, or does not add up to the last digit."""
        if not self.safe or not self.exact:
            return None
        return AdjustedCertificate(
            self.release,
            self.grid,
            self.problem,
            self.proof,
            shown=self.shown,
            levels=self.levels,
            required=tuple(required_of(self.learnt, self.asked)),
        )

    @property
    def rounding_base(self) -> Fraction | None:
        """Base to which the published values seem to be rounded; None if there is none.

        It is a number of which all published values are multiples, and the true values are not.
        """
        shown, true = (Fraction(gcd(*grid.units), grid.scale) for grid in (self.shown, self.grid))
        return shown if shown > true > 0 else None

    @cached_property
    def deviation(self) -> Floats:
        """Published minus true value of every cell; confidential."""
        return np.asarray(self.release.published - self.table.value)

    @cached_property
    def relative(self) -> Floats:
        """Deviation as a share of the true value; for a zero, the deviation itself; confidential."""
        size = np.abs(self.table.value)
        return np.asarray(self.deviation / np.where(size == 0, 1.0, size))

    @property
    def reached(self) -> Floats:
        """Movement of each unsafe cell, as a multiple of the requirement; 1 is just enough."""
        moved = self.deviation[list(self.levels)]
        levels = np.array([(float(down), float(up)) for down, up in self.levels.values()]).reshape(-1, 2)
        asked = np.where(moved < 0, levels[:, 0], levels[:, 1])
        # A direction without a level protects nothing; without any level, every movement is enough.
        free = np.where(levels.any(axis=1) | (moved == 0), 0.0, np.inf)
        return np.divide(np.abs(moved), asked, out=free, where=asked > 0)

    @property
    def utility(self) -> Mapping[str, float]:
        """Loss of utility: cells changed, and relative deviations, over all cells and the safe ones.

        ``largest`` may be published, but helps an attacker.
        """
        share, safe = np.abs(self.relative), ~self.need.unsafe
        found = {
            "cells": float(self.table.n_cells),
            "changed": float(np.count_nonzero(self.deviation)),
            "safe_changed": float(np.count_nonzero(self.deviation[safe])),
            "l1": float(share.sum()),
            "l2": float((share**2).sum()),
            "mean": float(share.mean()),
            "largest": float(share.max(initial=0.0)),
            "safe_mean": float(share[safe].mean()) if safe.any() else 0.0,
            "safe_largest": float(share[safe].max(initial=0.0)),
        }
        found |= {f"share_{round(100 * q)}": float(np.quantile(share, q)) for q in SHARES}
        return MappingProxyType(found)

    @cached_property
    def deviations(self) -> Any:
        """One row per cell: true and published value, deviation, relative deviation; confidential."""
        columns = self._codes(np.arange(self.table.n_cells))
        for name, array in (
            ("true", self.table.value),
            ("published", self.release.published),
            ("moved", self.deviation),
            ("relative", self.relative),
            ("unsafe", self.need.unsafe),
        ):
            columns[name if name not in columns else f"audit_{name}"] = array.tolist()
        backend: Any = self.table.backend
        return nw.from_dict(columns, backend=backend).to_native()

    @cached_property
    def cells(self) -> Any:
        """One row per unsafe cell: the requirement, its movement, and whether that is enough."""
        order = np.array(list(self.outcomes), dtype=np.int64)
        columns = self._codes(order)
        rows = [self._moved_row(int(cell)) for cell in order]
        for name in ROW:
            columns[name if name not in columns else f"audit_{name}"] = [row[name] for row in rows]
        backend: Any = self.table.backend
        return nw.from_dict(columns, backend=backend).to_native()

    def _codes(self, order: Any) -> dict[str, list[Any]]:
        labels = self.table.labels
        return {
            name: [labels.codes[v][int(position)] for position in labels.column(v)[order]]
            for v, name in enumerate(labels.names)
        }

    def _moved_row(self, cell: int) -> dict[str, Any]:
        down, up = self.levels[cell]
        outcome, moved = self.outcomes[cell], self.shown.value(cell) - self.grid.value(cell)
        ways = [way for level, way in ((down, -moved - down), (up, moved - up)) if level > 0]
        return {
            "rules": ", ".join(self.need.why(cell)),
            "required_lower": float(self.need.lower[cell]),
            "required_upper": float(self.need.upper[cell]),
            "required_width": float(self.need.width[cell]),
            "moved": float(moved),
            "relative": float(self.relative[cell]),
            "met": outcome is CellOutcome.SAFE,
            "outcome": str(outcome),
            "slack": float(max(ways, default=-moved if moved < 0 else moved)),
            "why": self.why(cell),
        }

    def why(self, cell: int) -> str:
        """Return the reason why a cell is not safe; empty if it is."""
        outcome = self.outcomes[cell]
        return "" if outcome is CellOutcome.SAFE else REASONS[outcome][0]

    @property
    def findings(self) -> list[Finding]:
        """Findings for the checker."""
        found = self.failing(REASONS)
        found += [
            Finding(
                severity=Severity.FAIL,
                place=self.learnt.describe(self.table.labels, int(place)),
                reason="the published values show all but a few of the group where they are",
                advice="adjust other cells of the group, too",
            )
            for place in np.flatnonzero(self.given_away)
        ]
        if self.n_broken:
            found.append(
                Finding(
                    severity=Severity.FAIL,
                    place="published table",
                    reason=Text(
                        "{n_broken} relation(s) of the published values do not add up", n_broken=self.n_broken
                    ),
                    advice="adjust the table as a whole, sums included",
                )
            )
        elif not self.exact:
            found.append(
                Finding(
                    severity=Severity.REVIEW,
                    place="published table",
                    reason="no certificate, because the values do not add up to the last digit",
                    advice="round the inner cells to at most six decimals and add them up again",
                )
            )
        if self.rounding_base is not None:
            found.append(
                Finding(
                    severity=Severity.REVIEW,
                    place="published table",
                    reason=LOOK_ROUNDED,
                    advice="withhold cells, or adjust them by another method",
                )
            )
        if self.shown.scale > self.grid.scale:
            # Unsafe cells are often at the edge of their interval, with as few decimals as the true value.
            whole = self.grid.scale == 1
            found.append(
                Finding(
                    severity=Severity.REVIEW,
                    place="published table",
                    reason=Text(
                        "{change}: the format shows which cells were not changed",
                        change=Text(FRACTIONS if whole else DECIMALS),
                    ),
                    advice="adjust with integer=True"
                    if whole
                    else "publish all cells with the same decimals",
                )
            )
        return found

    def __repr__(self) -> str:
        size = f"{int(self.need.unsafe.sum()):_} unsafe of {self.table.n_cells:_} cells"
        changed = f"{int(np.count_nonzero(self.deviation)):_} changed"
        if self.safe:
            return f"Audit(safe: {size}, {changed}{'' if self.exact else ', no certificate'})"
        open_ = sum(outcome is not CellOutcome.SAFE for outcome in self.outcomes.values())
        sums = f", {self.n_broken:_} sums broken" if self.n_broken else ""
        sums += f", {int(self.given_away.sum()):_} group(s) given away" if self.given_away.any() else ""
        return f"Audit(NOT safe: {open_:_} open{sums}, {size}, {changed})"


ROW = (
    "rules",
    "required_lower",
    "required_upper",
    "required_width",
    "moved",
    "relative",
    "met",
    "outcome",
    "slack",
    "why",
)


def audit_adjusted(
    table: Table, need: Need, release: Release, grid: Grid, insiders: Insider | None
) -> AdjustedAudit:
    """Audit a release that suppresses nothing and shows other values; see :func:`hitoku.audit`."""
    if insiders is not None:
        raise ParameterError(
            "insiders_need_withheld_cells",
            "insiders subtract what they know from withheld cells, and nothing is withheld",
            where="insiders",
            fix="omit insiders for an adjusted release; attack it with adjustment instead",
        )
    shown = Grid.of(release.published)
    levels = {cell: _levels(need, cell) for cell in np.flatnonzero(need.unsafe).tolist()}
    problem = AuditProblem.of(grid, need, release)
    nowhere = np.zeros(table.n_cells, dtype=np.bool_)
    learnt = need.attributions.take(need.attributions.open(table.value, ~nowhere))
    same = table.additive and grid.adds_up(release.relations) and shown.adds_up(release.relations)
    return AdjustedAudit(
        table=table,
        need=need,
        release=release,
        grid=grid,
        problem=problem,
        proof=prove(problem),
        outcomes={cell: _outcome(levels[cell], grid.value(cell), shown.value(cell)) for cell in levels},
        recomputable=0,
        null_dimension=0,
        additive=table.additive,
        shown=shown,
        levels=levels,
        n_broken=0 if same else _broken(table, release),
        exact=same,
        learnt=learnt,
        asked=learnt.asked(release.published, nowhere),
    )


def _levels(need: Need, cell: int) -> tuple[Fraction, Fraction]:
    """Return distances below and above, both raised equally until they span the required width."""
    lower, upper, width = (rational(float(level[cell])) for level in (need.lower, need.upper, need.width))
    missing = max(width - lower - upper, Fraction(0)) / 2
    return lower + missing, upper + missing


def _outcome(levels: tuple[Fraction, Fraction], value: Fraction, shown: Fraction) -> CellOutcome:
    down, up = levels
    if shown == value:
        return CellOutcome.PUBLISHED
    moved = shown - value
    far = (moved <= -down and down > 0) or (moved >= up > 0) or (down == 0 and up == 0)
    return CellOutcome.SAFE if far else CellOutcome.NARROW


def _broken(table: Table, release: Release) -> int:
    """Return the number of relations that published values break, apart from those broken in the table."""
    if table.additive:
        return len(broken(release.relations, release.published))
    sizes = abs(release.relations) @ (np.abs(release.published) + np.abs(table.value))
    rest = release.relations @ (release.published - table.value)
    return int(np.count_nonzero(np.abs(rest) > ADDITIVITY * sizes))
