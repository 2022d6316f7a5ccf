"""Facts about every cell of a release: true value, requirement, decision, feasibility interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np

from hitoku.evidence import AdjustedAudit, Audit, CellOutcome, DerivableGroups, Outcome
from hitoku.io.number_texts import MINUS, bound, format_numbers
from hitoku.io.report import Bar, adjusted_bar, interval_bar
from hitoku.messages import Text, join
from hitoku.metrics import protection_ratio
from hitoku.model import BOUND, Bounds, Finding, Floats, Integers, Mask, Need, Protection, Table

# Sign and text of each verdict, so that colour is not the only difference.
VERDICTS = {
    CellOutcome.SAFE: ("✓", "safe"),
    CellOutcome.PUBLISHED: ("✗", "published"),
    CellOutcome.RECOMPUTABLE: ("✗", "recomputable"),
    CellOutcome.NARROW: ("✗", "too close"),
    CellOutcome.UNDECIDED: ("?", "undecided"),
}
INSIDERS = ("✗", "open to insiders")
TO_INSIDERS = "a contributor who knows their own amounts can infer it more closely than required"


@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """Confidential evidence of a release, cell by cell."""

    # table, need, protection, audit: table, requirements, protection and audit of the release.
    table: Table
    need: Need
    protection: Protection
    audit: Audit
    # Intervals from an attack. Default: those of the proof, which are only as wide as the proof requires.
    attacked: Bounds | None = None
    remarks: tuple[Finding, ...] = ()  # Remarks about the table itself.
    groups: DerivableGroups | None = None  # Groups of units that can be derived; None if not examined.

    @classmethod
    def of(cls, outcome: Outcome) -> Cells:
        """Return the evidence of an outcome."""
        return cls(
            outcome.table,
            outcome.need,
            outcome.protection,
            outcome.audit,
            outcome.bounds,
            outcome.remarks,
            outcome.groups,
        )

    @property
    def adjusted(self) -> AdjustedAudit | None:
        """Audit of a release with adjusted values; None for suppression."""
        return self.audit if isinstance(self.audit, AdjustedAudit) else None

    @cached_property
    def decision(self) -> list[str]:
        """Decision per cell: primary, secondary, adjusted or published; hidden if no table shows it."""
        withheld = self.protection.withheld
        changed = ~withheld & (self.protection.value != self.table.value)
        # As the audit counts them: a pattern made elsewhere does not say which cells are unsafe.
        words = np.where(withheld, np.where(self.need.unsafe, "primary", "secondary"), "published")
        words = np.where(self.table.shown, np.where(changed, "adjusted", words), "hidden")
        return list(words.tolist())

    @cached_property
    def listed(self) -> list[int]:
        """Suppressed or unsafe cells, least protected first.

        Unsafe cells come first, by how far their requirement is exceeded; then the others.
        """
        cells = np.flatnonzero((self.protection.withheld & self.table.shown) | self.need.unsafe)
        return sorted(cells.tolist(), key=self._danger)

    def _danger(self, cell: int) -> tuple[bool, bool, float, int]:
        return not self.failing[cell], not self.need.unsafe[cell], float(self.reached[cell]), cell

    @cached_property
    def failing(self) -> Mask:
        """Mask of unsafe cells that do not meet their requirement."""
        found = np.zeros(self.table.n_cells, dtype=bool)
        found[[cell for cell, outcome in self.audit.outcomes.items() if outcome is not CellOutcome.SAFE]] = (
            True
        )
        if self.audit.insiders is not None:
            found[list(self.audit.insiders.cells)] = True
        return found

    def verdict(self, cell: int) -> tuple[str, str]:
        """Return sign and text for a cell; both empty if nothing is required of it."""
        outcome = self.audit.outcomes.get(cell)
        if outcome is None:
            return "", ""
        return INSIDERS if outcome is CellOutcome.SAFE and self.failing[cell] else VERDICTS[outcome]

    @cached_property
    def inferable(self) -> Bounds | None:
        """Intervals of all cells from an attack; None if no attack was run."""
        found = self.audit.intervals or self.attacked
        if found is None or self.adjusted is not None:
            return None
        if not self.table.integer:
            return found
        # Counts are integers, so that ends can be rounded inwards.
        value = self.table.value
        low, high = (np.where(np.isfinite(end), end, value) for end in (found.lower, found.upper))
        inner = np.ceil(low - BOUND * (1 + np.abs(low))), np.floor(high + BOUND * (1 + np.abs(high)))
        return Bounds(
            lower=np.where(np.isfinite(found.lower), np.minimum(inner[0], value), found.lower),
            upper=np.where(np.isfinite(found.upper), np.maximum(inner[1], value), found.upper),
            unknown=found.unknown,
        )

    @cached_property
    def computed(self) -> Mask:
        """Mask of cells whose interval was computed; ranges of the others are shown by witnesses alone."""
        if self.adjusted is not None or not self.protection.withheld.any():
            return np.ones(self.table.n_cells, dtype=bool)
        if self.inferable is None:
            return ~self.protection.withheld
        return ~(self.protection.withheld & self.inferable.unknown)

    @cached_property
    def ends(self) -> tuple[Floats, Floats]:
        """Lower and upper ends of the feasibility intervals of suppressed cells; NaN if unknown."""
        withheld = self.protection.withheld
        low, high = np.full((2, self.table.n_cells), np.nan)
        if self.inferable is not None:
            known = withheld & ~self.inferable.unknown
            low[known], high[known] = self.inferable.lower[known], self.inferable.upper[known]
        else:
            known = np.zeros_like(withheld)
        if self.adjusted is None and not known[withheld & self.need.unsafe].all():
            # Lower bounds on the range, from witnesses.
            for cell, row in self._audit_rows.items():
                if withheld[cell] and not known[cell]:
                    low[cell], high[cell] = row["low"], row["high"]
        return low, high

    @cached_property
    def reached(self) -> Floats:
        """Ratio of achieved to required protection for each unsafe cell; infinite for others."""
        unsafe, found = self.need.unsafe, np.full(self.table.n_cells, np.inf)
        if self.adjusted is not None:
            found[list(self.adjusted.levels)] = self.adjusted.reached
        else:
            low, high = self.ends
            known, value = ~np.isnan(low), self.table.value
            bounds = Bounds(lower=np.where(known, low, value), upper=np.where(known, high, value))
            found[unsafe] = protection_ratio(self.table, self.need, bounds)
        # Rounding must not take a cell that the audit proved safe below one.
        barely = unsafe & ~self.failing & (found >= 1 - BOUND)
        return np.where(barely, np.maximum(np.round(found, 9), 1.0), found)

    @cached_property
    def _audit_rows(self) -> dict[int, dict[str, Any]]:
        """Rows of the audit by cell. Codes come first, so other columns are counted from the right."""
        frame = nw.from_native(self.audit.cells, eager_only=True)
        n_codes = len(self.table.labels.names)
        names = [name.removeprefix("audit_") for name in frame.columns[n_codes:]]
        rows = (dict(zip(names, row[n_codes:], strict=True)) for row in frame.iter_rows())
        return dict(zip(self.audit.outcomes, rows, strict=True))

    @cached_property
    def _steps(self) -> dict[int, str]:
        """Reason for suppressing each cell, for methods that decide cell by cell."""
        derivations: dict[int, str] = {}
        for step in self.protection.steps:
            whom = step.protects
            reason = Text(step.reason)
            derivations[step.cell] = (
                Text("For [{cell}]: {reason}", cell=self.table.describe(whom), reason=reason)
                if whom >= 0
                else reason
            )
        return derivations

    def codes(self, cell: int) -> str:
        """Return the displayed codes of a cell."""
        return " \N{MIDDLE DOT} ".join(self.table.labels.codes_of(cell))

    def why(self, cell: int) -> str:
        """Return what discloses a cell, or which cell it was suppressed to protect."""
        if not self.failing[cell]:
            return self._steps.get(cell, "")
        return self.audit.why(cell) or TO_INSIDERS

    @cached_property
    def count(self) -> list[int] | None:
        """Contributors per cell, or respondents if contributors are unknown."""
        who = self.table.contributors
        if who is not None:
            return list(who.count.tolist())
        return None if self.table.frequency is None else list(self.table.frequency.tolist())

    @cached_property
    def share(self) -> Floats | None:
        """Share of the largest contributor; NaN for empty cells."""
        who = self.table.contributors
        if who is None or not who.largest.shape[1]:
            return None
        total = np.where(who.total > 0, who.total, np.nan)
        return np.asarray(who.largest[:, 0] / total)

    def levels(self, cell: int) -> tuple[float, float]:
        """Return the required lower and upper deviation of a cell."""
        if self.adjusted is not None and cell in self.adjusted.levels:
            down, up = self.adjusted.levels[cell]
            return float(down), float(up)
        return float(self.need.lower[cell]), float(self.need.upper[cell])

    def required(self, cell: int) -> str:
        """Describe the requirement of a cell."""
        lower, upper = self.levels(cell)
        width = float(self.need.width[cell])
        said = []
        if lower or upper:
            said.append(f"±{bound(lower)}" if lower == upper else f"{MINUS}{bound(lower)} / +{bound(upper)}")
        if width > lower + upper:
            said.append(Text("width {width}", width=bound(width)))
        return join(said, "{first}, {second}") or Text("not exact")

    def bar(self, cell: int) -> Bar | None:
        """Return the picture of a cell; None if there is nothing to draw."""
        value = float(self.table.value[cell])
        lower, upper = self.levels(cell)
        if self.adjusted is not None:
            return adjusted_bar(value, float(self.protection.value[cell]), down=lower, up=upper)
        low, high = float(self.ends[0][cell]), float(self.ends[1][cell])
        if math.isnan(low) and not self.need.unsafe[cell]:
            return None
        if not self.protection.withheld[cell]:
            low = high = value
        return interval_bar(value, low, high, lower=lower, upper=upper, width=float(self.need.width[cell]))

    def columns(self) -> dict[str, Any]:
        """Return the columns of ``cells.csv``."""
        table, need, who = self.table, self.need, self.table.contributors
        columns: dict[str, Any] = {"value": self._format_number(table.value)}
        if table.frequency is not None:
            columns["respondents"] = table.frequency.tolist()
        if who is not None and self.share is not None:
            columns["contributors"] = who.count.tolist()
            columns["largest_share"] = ["" if np.isnan(s) else f"{s:.4f}" for s in self.share]
            if not who.negative and np.array_equal(who.total, table.value):
                # Contributors know that the cell is at least their own contribution.
                for name, rank in zip(("largest", "second"), who.largest.T, strict=False):
                    columns[name] = self._format_number(rank)
        columns["rules"] = [
            "; ".join(need.why(cell)) if need.unsafe[cell] else "" for cell in range(len(need))
        ]
        return {**columns, **self._format_levels(slice(None)), "decision": self.decision}

    def interval_columns(self, bounds: Bounds) -> tuple[dict[str, Any], Integers]:
        """Return the columns of ``intervals.csv``, and the suppressed cells they describe."""
        cells = np.flatnonzero(self.protection.withheld)
        low, high = (np.where(bounds.unknown, np.nan, end)[cells] for end in (bounds.lower, bounds.upper))
        columns: dict[str, Any] = {
            "value": self._format_number(self.table.value[cells]),
            "low": self._format_number(low),
            "high": self._format_number(high),
            "width": self._format_number(high - low),
            "decision": [self.decision[cell] for cell in cells],
        }
        return columns | self._format_levels(cells), cells

    def _format_levels(self, cells: Any) -> dict[str, list[str]]:
        """Return the required levels of some cells, formatted for files."""
        return {
            f"required_{name}": self._format_number(getattr(self.need, name)[cells])
            for name in ("lower", "upper", "width")
        }

    def _format_number(self, value: Floats) -> list[str]:
        return format_numbers(value, integer=self.table.integer)
