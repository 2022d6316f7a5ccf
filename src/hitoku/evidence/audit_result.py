"""Result of an audit: the verdict, its reasons cell by cell, and the proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any

import narwhals as nw
import numpy as np

from hitoku.coalitions import InsiderVerdict
from hitoku.evidence.attributed import Attributed
from hitoku.evidence.certificate import Certificate
from hitoku.evidence.counts_beside import Beside
from hitoku.evidence.disclosure import (
    Disclosure,
    explain_recomputable,
    shorten,
    write_arithmetic,
    write_combination,
)
from hitoku.evidence.grid import Grid
from hitoku.evidence.problem import AuditProblem
from hitoku.evidence.verify import Refuted, prove
from hitoku.evidence.witness_search import Proof
from hitoku.messages import Text, join
from hitoku.model import Bounds, Finding, Need, Release, Severity, Table, small_table


class CellOutcome(StrEnum):
    """Result for one unsafe cell."""

    SAFE = "safe"
    PUBLISHED = "published"
    RECOMPUTABLE = "recomputable"
    NARROW = "narrow"
    UNDECIDED = "undecided"


# The shortest reason is searched for this many cells; for the others the first one found is shown.
SHORT_REASONS = 50
# Maximum number of findings in a notebook and in the messages of a batch.
SHOWN_FINDINGS = 10
REASONS = {
    CellOutcome.PUBLISHED: ("unsafe, and published", "withhold it"),
    CellOutcome.RECOMPUTABLE: (
        "recomputable from published cells by adding and subtracting",
        "suppress another cell in each relation that discloses it; the arithmetic shows which",
    ),
    CellOutcome.NARROW: (
        "an outsider can infer it more closely than required",
        "withhold more, or larger, cells in its relations; the arithmetic shows which",
    ),
    CellOutcome.UNDECIDED: (
        "safety could neither be proved nor refuted exactly",
        "round the values to fewer digits, or audit a smaller part",
    ),
}


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """Result of :func:`audit`. The repr shows counts only.

    Parameters
    ----------
    table, need, release
        Audited objects.
    grid, problem, proof
        The same in exact numbers, and the proof.
    outcomes
        Result for each unsafe cell.
    additive
        Whether the table adds up exactly.
    intervals
        Bounds of all cells, if requested.
    groups
        Result for groups, if the need names any.
    insiders
        Result for contributors who know their own contributions; None if not requested.
    known_method
        Claim of the method about an attacker who knows it, which the certificate repeats and the verifier
        checks.
    beside
        The other published measure, if bounds of cells take it into account.
    """

    table: Table
    need: Need
    release: Release
    grid: Grid
    problem: AuditProblem
    proof: Proof
    outcomes: Mapping[int, CellOutcome]
    recomputable: int
    null_dimension: int
    additive: bool
    intervals: Bounds | None = None
    groups: Attributed | None = None
    insiders: InsiderVerdict | None = None
    known_method: Mapping[str, Any] | None = None
    beside: Beside | None = None

    @property
    def safe(self) -> bool:
        """Whether every unsafe cell and group meets its requirement, against insiders too if audited."""
        open_groups = self.groups is not None and self.groups.n_open > 0
        inside = self.insiders is not None and (self.insiders.cells or self.insiders.undecided)
        return not (open_groups or inside) and all(
            outcome is CellOutcome.SAFE for outcome in self.outcomes.values()
        )

    @cached_property
    def certificate(self) -> Certificate | None:
        """The proof; None if the release is not safe, or the table does not add up exactly."""
        if not self.safe or not self.additive:
            return None
        return Certificate(
            self.release,
            self.grid,
            self.problem,
            self.proof,
            known_method=self.known_method,
            groups=self.groups,
            hidden=tuple(np.flatnonzero(~self.table.shown).tolist()),
            beside=self.beside,
        )

    @cached_property
    def withstands_known_method(self) -> bool | None:
        """Whether the claim about an attacker who knows the method is verified; None without a claim."""
        if self.known_method is None or self.certificate is None:
            return None
        try:
            prove(dict(self.certificate.content))
        except Refuted:
            return False
        return True

    @property
    def summary(self) -> Mapping[str, int]:
        """Counts that reveal no value.

        ``recomputable`` counts cells that follow by addition and subtraction, ``narrow`` cells for which
        known bounds are needed. A small ``null_dimension`` of the suppressed cells is a risk in itself. Cells
        that no table shows count only as unsafe, and also as ``unsafe_hidden``.
        """
        tally = {outcome: list(self.outcomes.values()).count(outcome) for outcome in CellOutcome}
        shown, unsafe = self.table.shown, self.need.unsafe
        withheld = self.release.withheld & shown
        inside = self.insiders and {
            "insiders_tried": self.insiders.tried,
            "open_to_insiders": len(self.insiders.cells),
            **({"insiders_undecided": self.insiders.undecided} if self.insiders.undecided else {}),
        }
        groups = self.groups
        of_groups = {} if groups is None else {"groups": len(groups), "open_groups": groups.n_open}
        return MappingProxyType(
            {
                "cells": int(shown.sum()),
                "unsafe": int(unsafe.sum()),
                "withheld": int(withheld.sum()),
                "secondary": int((withheld & ~unsafe).sum()),
                "open": len(self.outcomes) - tally[CellOutcome.SAFE],
                "published": tally[CellOutcome.PUBLISHED],
                "recomputable": tally[CellOutcome.RECOMPUTABLE],
                "narrow": tally[CellOutcome.NARROW],
                "undecided": tally[CellOutcome.UNDECIDED],
                "withheld_recomputable": self.recomputable,
                "null_dimension": self.null_dimension,
                "programs": self.proof.n_programs,
                "witnesses": len(self.proof.witnesses) + (len(groups.proof.witnesses) if groups else 0),
                **of_groups,
                **(inside or {}),
                **({} if shown.all() else {"unsafe_hidden": int((unsafe & ~shown).sum())}),
            }
        )

    def failing(self, reasons: Mapping[CellOutcome, tuple[str, str]]) -> list[Finding]:
        """Return a finding for every cell that is not safe: the problem and a remedy."""
        return [
            Finding(
                severity=Severity.FAIL,
                place=self.table.describe(cell),
                reason=reasons[outcome][0],
                advice=reasons[outcome][1],
            )
            for cell, outcome in self.outcomes.items()
            if outcome is not CellOutcome.SAFE
        ]

    @property
    def findings(self) -> list[Finding]:
        """Findings for the checker: every cell that is not safe, and other points for review."""
        found = self.failing(REASONS)
        if self.groups is not None:
            found += self.groups.findings(self.table.labels)
        if self.insiders is not None:
            found += self.insiders.findings(self.table.describe)
        hidden = self.recomputable - list(self.outcomes.values()).count(CellOutcome.RECOMPUTABLE)
        if hidden > 0:
            found.append(
                Finding(
                    severity=Severity.NOTE,
                    place="withheld cells",
                    reason=Text(
                        "{hidden} secondary cell(s) can be recomputed: withholding them protects nothing",
                        hidden=hidden,
                    ),
                    advice="publish them, if no other cell relies on them",
                )
            )
        if not self.additive:
            found.append(
                Finding(
                    severity=Severity.REVIEW,
                    place="table",
                    reason="no certificate, because the values do not add up exactly",
                    advice="round the inner cells to at most six decimals and add them up again",
                )
            )
        return found

    @cached_property
    def cells(self) -> Any:
        """One row per unsafe cell: the requirement, the interval of an outsider, and the reason of failure.

        ``low`` and ``high`` are attained if the cell is safe, bounds on the side where it is
        not, and exact with ``intervals=True``. Confidential.
        """
        labels, order = self.table.labels, list(self.outcomes)
        columns: dict[str, list[Any]] = {
            name: [labels.codes[v][int(position)] for position in labels.column(v)[order]]
            for v, name in enumerate(labels.names)
        }
        rows = [self._row(cell) for cell in order]
        for name in ROW:
            key = name if name not in columns else f"audit_{name}"
            columns[key] = [row[name] for row in rows]
        backend: Any = self.table.backend
        return nw.from_dict(columns, backend=backend).to_native()

    def _row(self, cell: int) -> dict[str, Any]:
        need, value, outcome = self.need, float(self.table.value[cell]), self.outcomes[cell]
        low, high, why = value, value, "published"
        place = self._places.get(cell)
        if place is not None:
            attained = self.proof.attained[place]
            down, up = attained.low, attained.high
            for reason in self.disclosures.get(place, ()):
                down = reason.difference if reason.linear or not reason.up else down
                up = reason.difference if reason.linear or reason.up else up
            low, high = (float(self.grid.value(cell) + Fraction(end)) for end in (down, up))
            why = self.why(cell)
        if self.intervals is not None and not self.intervals.unknown[cell]:
            low, high = float(self.intervals.lower[cell]), float(self.intervals.upper[cell])
        lower, upper, width = float(need.lower[cell]), float(need.upper[cell]), float(need.width[cell])
        return {
            "rules": ", ".join(need.why(cell)),
            "required_lower": lower,
            "required_upper": upper,
            "required_width": width,
            "low": low,
            "high": high,
            "met": outcome is CellOutcome.SAFE,
            "outcome": str(outcome),
            "slack": min(value - lower - low, high - value - upper, high - low - width),
            "why": why,
        }

    @cached_property
    def _places(self) -> dict[int, int]:
        return {int(cell): place for place, cell in enumerate(self.problem.cells.tolist())}

    @cached_property
    def disclosures(self) -> Mapping[int, tuple[Disclosure, ...]]:
        """Reasons of each failing unsafe cell, by position among the suppressed.

        Computed on demand, because the shortest reasons take time that a verdict alone does not need.
        """
        problem = self.problem
        found = dict(self.proof.failed)
        found |= {
            place: (reason,) for place, reason in explain_recomputable(problem, self.proof.exposed).items()
        }
        first = dict(list(found.items())[:SHORT_REASONS])
        found |= {place: tuple(shorten(problem, r) for r in reasons) for place, reasons in first.items()}
        return MappingProxyType(dict(sorted(found.items())))

    def why(self, cell: int) -> str:
        """Return the arithmetic that discloses an unsafe cell; empty if it is safe. Confidential."""
        place = self._places.get(cell)
        return "published" if place is None else self._why(place)

    def combination(self, cell: int) -> str:
        """Return the published cells whose sum or difference discloses an unsafe cell, by their codes.

        Without values; empty if the cell is safe, published, or not disclosed in this way.
        """
        reasons = self.disclosures.get(self._places.get(cell, -1), ()) if self.additive else ()
        return next(
            filter(None, (write_combination(self.problem, self.release, self.grid, one) for one in reasons)),
            "",
        )

    def _why(self, place: int) -> str:
        """Return the sum that discloses a cell; empty for a safe one."""
        reasons = self.disclosures.get(place, ())
        if not self.additive:
            return REASONS[CellOutcome.NARROW][0] if reasons else ""
        return join(write_arithmetic(self.problem, self.release, self.grid, reason) for reason in reasons)

    def __repr__(self) -> str:
        s = self.summary
        size = f"{s['unsafe']:_} unsafe of {s['cells']:_} cells, {s['withheld']:_} withheld"
        if self.safe:
            proof = f"{s['witnesses']} witnesses" if self.additive else "no certificate"
            return f"Audit(safe: {size}, {proof})"
        inside = f", {s['open_to_insiders']:_} open to insiders" if s.get("open_to_insiders") else ""
        inside += f", {s['insiders_undecided']:_} insiders not decided" if "insiders_undecided" in s else ""
        inside += f", {s['open_groups']:_} group(s) given away" if s.get("open_groups") else ""
        return f"Audit(NOT safe: {s['open']:_} open{inside}, {size})"

    def _repr_html_(self) -> str:
        verdict = "&#10003; safe" if self.safe else "&#10007; not safe"
        counts = [(name.replace("_", " "), count) for name, count in self.summary.items()]
        rows = [(f.place, f.reason, f.advice) for f in self.findings[:SHOWN_FINDINGS]]
        found = small_table(["where", "what", "what to do"], rows)
        rest = len(self.findings) - len(rows)
        more = f"<p>and {rest:,} more: see <code>.findings</code></p>" if rest else ""
        tally = small_table(["", "cells"], counts)
        return f"<div><b>Audit</b>: <b>{verdict}</b>{found}{more}{tally}</div>"


ROW = (
    "rules",
    "required_lower",
    "required_upper",
    "required_width",
    "low",
    "high",
    "met",
    "outcome",
    "slack",
    "why",
)
