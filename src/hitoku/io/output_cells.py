"""Facts about every cell of an output for checkers: counts, contributors, shares, intervals.

The check report and the review application select columns of this description. It is confidential: suppressed
numbers are included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from hitoku.attacks import Interval
from hitoku.checks.evidence import CodedCells, TableEvidence, Unreadable
from hitoku.checks.outputs import Output, TableClaim, own_name
from hitoku.checks.policies import Policy
from hitoku.checks.principles import count_shares
from hitoku.evidence import audit
from hitoku.io.layout import LayoutSection, list_rows, sections
from hitoku.io.pages import MAX_CELLS
from hitoku.io.release_cells import Cells
from hitoku.messages import Text, join
from hitoku.model import Floats, Protection, Table
from hitoku.solver.solution import MINUTES

# Recipe, by parameter.
PARTS = {
    "by": "by {value}",
    "value": "value {value}",
    "percent": "percent {value}",
    "statistic": "statistic {value}",
    "edges": "edges {value}",
    "formula": "formula {value}",
    "model": "model {value}",
    "missing": "missing {value}",
}

# One entry per cell; None if unknown.
Column = list[Any]


@dataclass(frozen=True, eq=False)
class OutputCells:
    """Cells or groups of an output, column by column."""

    output: Output  # The output as it would be released.
    policy: Policy  # Policy with the required intervals.
    coded: CodedCells  # Cells with their codes.

    @classmethod
    def of(cls, output: Output, policy: Policy) -> OutputCells | None:
        """Return the facts about the cells of an output.

        None for a model, for unreadable evidence, and if published rows do not correspond to cells of the
        evidence, such as merged steps of a curve.
        """
        coded = None if isinstance(output.evidence, Unreadable) else output.evidence.cells
        found = None if coded is None else cls(output, policy, coded)
        return found if found is not None and found.shown else None

    def __len__(self) -> int:
        return len(self.coded.labels)

    @property
    def variables(self) -> tuple[str, ...]:
        """Variables of the codes."""
        return tuple(self.coded.codes)

    @cached_property
    def table(self) -> Table | None:
        """The table, rebuilt; None for groups."""
        evidence = self.output.evidence
        return evidence.table if isinstance(evidence, TableEvidence) else None

    @cached_property
    def codes(self) -> list[tuple[str, ...]]:
        """Displayed codes of each cell."""
        if self.table is not None:
            return [self.table.labels.codes_of(cell) for cell in range(len(self))]
        return [tuple("all" if code is None else code for code in label) for label in self.coded.labels]

    @cached_property
    def numbers(self) -> dict[str, Column]:
        """Published columns of numbers (for a table, the last one); None for suppressed cells."""
        return self._by_cell(self.output.published)

    @cached_property
    def value(self) -> Column:
        """Last number of each cell, including suppressed ones."""
        evidence = self.output.evidence
        whole = replace(evidence, withheld=np.zeros(evidence.n_parts, dtype=np.bool_))
        return list(self._by_cell(self.output.asked.publish(whole)).values())[-1]

    def _by_cell(self, columns: Mapping[str, Sequence[Any]]) -> dict[str, Column]:
        names = list(columns)[-1:]
        if self.table is None:
            names = [name for name in columns if name not in self.variables] or names
        # Tampered columns may have any length.
        least = min(map(len, columns.values()), default=0)
        rows = [None if row is None or row >= least else row for row in self._rows(columns)]
        return {name: [None if row is None else columns[name][row] for row in rows] for name in names}

    def _rows(self, columns: Mapping[str, Sequence[Any]]) -> list[int | None]:
        """Return the row of each cell; published tables may lack totals, and curves have merged steps."""
        if {len(column) for column in columns.values()} == {len(self)}:
            return list(range(len(self)))
        codes = [list(map(str, columns.get(name, ()))) for name in self.variables]
        row = {label: at for at, label in enumerate(zip(*codes, strict=False))}
        return [row.get(label) for label in self.codes]

    @cached_property
    def shown(self) -> list[int]:
        """Cells that are part of the published output, including suppressed ones."""
        return [at for at, row in enumerate(self._rows(self.output.published)) if row is not None]

    @cached_property
    def sections(self) -> tuple[LayoutSection, ...]:
        """Layout of the published output; a cell with several numbers occurs several times."""
        if self.table is None:
            return (list_rows(self.variables, {at: self.codes[at] for at in self.shown}, list(self.numbers)),)
        return tuple(part for each in sections(self.table) if (part := each.only(set(self.shown))).rows)

    @cached_property
    def known(self) -> Cells | None:
        """Result of the audit of a table; None for groups."""
        claimed: TableClaim | None = self.output.asked.claim(self.output.evidence, self.policy)
        if claimed is None:
            return None
        table, need, release = claimed
        withheld = self.output.evidence.withheld
        bounds = None
        if withheld.any() and len(self) <= MAX_CELLS:
            bounds = Interval(integer=release.integer, work_limit=MINUTES).bounds(release)
        found = audit(table, need, release, intervals=bounds or False)
        return Cells(table, need, Protection.withhold(table, withheld, need), found)

    @cached_property
    def contributions(self) -> tuple[Column, Column, Column]:
        """Largest and second largest contribution of each cell, and share of the largest; for amounts."""
        evidence: Any = self.output.evidence
        largest, size = getattr(evidence, "largest", None), getattr(evidence, "size", None)
        if (
            not isinstance(largest, np.ndarray)
            or not isinstance(size, np.ndarray)
            or len(largest) != len(self)
        ):
            nothing: Column = [None] * len(self)
            return nothing, nothing, nothing
        second = largest[:, 1] if largest.shape[1] > 1 else np.full(len(self), np.nan)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(size > 0, np.abs(largest[:, 0]) / size, np.nan)
        return _plain(largest[:, 0]), _plain(second), _plain(share)

    @cached_property
    def line_share(self) -> Column:
        """Largest share of each cell's units in a line: row, column, or group of a hierarchy."""
        evidence = self.output.evidence
        return _plain(count_shares(evidence)) if isinstance(evidence, TableEvidence) else [None] * len(self)

    @cached_property
    def ends(self) -> tuple[Column, Column]:
        """Ends of the feasibility interval of each suppressed cell."""
        if self.known is None:
            return [None] * len(self), [None] * len(self)
        low, high = self.known.ends
        return _plain(low), _plain(high)

    @cached_property
    def required(self) -> list[tuple[float, float, float] | None]:
        """Required lower level, upper level and width of each unsafe cell."""
        if self.known is None:
            return [None] * len(self)
        need = self.known.need
        levels = zip(need.lower.tolist(), need.upper.tolist(), need.width.tolist(), strict=True)
        return [each if hit else None for each, hit in zip(levels, need.unsafe.tolist(), strict=True)]

    @property
    def decision(self) -> list[str]:
        """Decision for each cell: published, primary or secondary."""
        if self.known is not None:
            return self.known.decision
        return ["primary" if gone else "published" for gone in self.output.evidence.withheld.tolist()]

    def columns(self) -> dict[str, Column]:
        """Return the columns of a file, codes first; None where unknown."""
        first, second, share = self.contributions
        low, high = self.ends
        found = {name: [each[at] for each in self.codes] for at, name in enumerate(self.variables)}
        facts: dict[str, Column] = {
            "value": self.value,
            "n_units": self.coded.n_units.tolist(),
            "n_records": self.coded.n_records.tolist(),
            "first": first,
            "second": second,
            "share": share,
            "line_share": self.line_share,
            "low": low,
            "high": high,
            "required_width": [each and max(each[2], each[0] + each[1]) for each in self.required],
            "decision": ["withheld" if gone else "published" for gone in self.output.evidence.withheld],
        }
        for name, column in facts.items():
            found[own_name(name, found)] = column
        return found


def asked_for(output: Output) -> str:
    """Describe an output by its parameters, except defaults, and its filter."""
    given = {name: value for name, value in output.definition.items() if value and name != "hierarchies"}
    if given.get("missing") == "error":
        del given["missing"]
    said = [
        Text(PARTS.get(name, "{name} {value}"), name=name, value=_words(each)) for name, each in given.items()
    ]
    said += [
        Text("where {name} is {words}", name=name, words=_words(values))
        for name, values in output.where.items()
    ]
    kind = Text(output.kind.replace("_", " "))
    return Text("{kind}: {parameters}", kind=kind, parameters=join(said)) if said else kind


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _plain(numbers: Floats) -> Column:
    # Adding zero turns -0.0 into 0.0.
    return [None if np.isnan(number) else number + 0.0 for number in numbers.astype(float).tolist()]
