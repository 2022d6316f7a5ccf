"""The audit of an adjusted release: nothing is withheld, so what is published must differ from the truth.

Published values must add up as the table does, and every unsafe cell must lie outside the interval that its
need draws around the true value. All of it is compared in exact numbers.
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
FRACTIONS, DECIMALS = "whole numbers became fractions", "there are more decimals than in the table"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AdjustedAudit(Audit):
    """The result of :func:`hitoku.audit` for a release that withholds nothing and changes values."""

    shown: Grid
    """Published values in exact numbers."""
    levels: Mapping[int, tuple[Fraction, Fraction]]
    """For each unsafe cell how far below or above its value it must be published; zero closes that way."""
    n_broken: int
    """Relations in which published values do not add up as the true ones do, beyond the rounding of doubles.
    """
    exact: bool
    """Published values and table add up to the last digit, so there is a certificate."""
    learnt: Attributions
    asked: Floats
    """Sums of cells that are too small in the true table, and what the published values must show instead."""

    @property
    def safe(self) -> bool:
        """Every unsafe cell is published with a value far enough from its own, and sums still hold.

        And no group that the need speaks of stands, in what is published, where it must not.
        """
        cells = all(outcome is CellOutcome.SAFE for outcome in self.outcomes.values())
        return self.n_broken == 0 and cells and not self.given_away.any()

    @cached_property
    def given_away(self) -> Mask:
        """Groups that, read as published, have too few people elsewhere."""
        rows = required_of(self.learnt, self.asked)
        return np.array([self._elsewhere(row) < Fraction(row["goal"]) for row in rows], dtype=np.bool_)

    def _elsewhere(self, row: Mapping[str, Any]) -> Fraction:
        pairs = zip(row["cells"], row["weights"], strict=True)
        return sum((weight * self.shown.value(cell) for cell, weight in pairs), Fraction(0))

    @cached_property
    def certificate(self) -> AdjustedCertificate | None:
        """The proof; None when the release is not safe, or does not add up to the last digit."""
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
        """The base to which the published values seem to be rounded; None where they do not.

        They do where all of them are multiples of a number of which the true values are not multiples.
        """
        shown, true = (Fraction(gcd(*grid.units), grid.scale) for grid in (self.shown, self.grid))
        return shown if shown > true > 0 else None

    @cached_property
    def deviation(self) -> Floats:
        """Published less true value of every cell; confidential."""
        return np.asarray(self.release.published - self.table.value)

    @cached_property
    def relative(self) -> Floats:
        """Deviation as a share of the true value; of a zero, the deviation itself; confidential."""
        size = np.abs(self.table.value)
        return np.asarray(self.deviation / np.where(size == 0, 1.0, size))

    @property
    def reached(self) -> Floats:
        """For each unsafe cell, how many times what was required it moved; 1 is just enough."""
        moved = self.deviation[list(self.levels)]
        levels = np.array([(float(down), float(up)) for down, up in self.levels.values()]).reshape(-1, 2)
        asked = np.where(moved < 0, levels[:, 0], levels[:, 1])
        # A side without a level protects nothing; without any level, every move is enough.
        free = np.where(levels.any(axis=1) | (moved == 0), 0.0, np.inf)
        return np.divide(np.abs(moved), asked, out=free, where=asked > 0)

    @property
    def utility(self) -> Mapping[str, float]:
        """What a reader loses: cells changed, and relative deviations, over all cells and the safe ones.

        ``largest`` may be published, and an attacker who reads it starts from there.
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
        """One row per unsafe cell: what was required, how far it moved, and whether that is enough."""
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
        """Return the reason why a cell is not safe; empty where it is."""
        outcome = self.outcomes[cell]
        return "" if outcome is CellOutcome.SAFE else REASONS[outcome][0]

    @property
    def findings(self) -> list[Finding]:
        """Remarks for the checker."""
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
                    reason="the values do not add up to the last digit, so there is no certificate",
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
            # Unsafe cells often stand at the edge of their interval, with as few decimals as the truth.
            whole = self.grid.scale == 1
            found.append(
                Finding(
                    severity=Severity.REVIEW,
                    place="published table",
                    reason=f"{FRACTIONS if whole else DECIMALS}: readers see which cells kept their form",
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
    """Audit a release that withholds nothing and shows other values; see :func:`hitoku.audit`."""
    if insiders is not None:
        raise ParameterError(
            "insiders_need_withheld_cells",
            "insiders subtract what they know from withheld cells, and nothing is withheld",
            where="insiders",
            fix="leave insiders out for an adjusted release; attack it with adjustment instead",
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
    """Distances below and above; both raised alike until they span the required width."""
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
    """Count relations that published values break; of a table that does not add up, its own errors apart."""
    if table.additive:
        return len(broken(release.relations, release.published))
    sizes = abs(release.relations) @ (np.abs(release.published) + np.abs(table.value))
    rest = release.relations @ (release.published - table.value)
    return int(np.count_nonzero(np.abs(rest) > ADDITIVITY * sizes))
