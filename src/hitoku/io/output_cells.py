"""What a checker needs to know about every cell of an output: counts, contributors, shares, intervals.

The check report and the review application choose columns of the same description. Confidential: numbers that
are withheld are among them.
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
from hitoku.io.release_cells import Cells
from hitoku.messages import Text
from hitoku.model import Floats, Protection, Table

# Beyond this many cells the intervals of a table are left to the file of its certificate.
MOST_CELLS = 20_000
# Numbers that flows and linear programs may look at for the intervals of a table: about a minute.
WORK = 1e10

# One entry for each cell; None where it is not known.
Column = list[Any]


@dataclass(frozen=True, eq=False)
class OutputCells:
    """The cells or groups of an output, column by column.

    Parameters
    ----------
    output
        As it would leave.
    policy
        The policy by which intervals are required.
    coded
        Its cells with their codes.
    """

    output: Output
    policy: Policy
    coded: CodedCells

    @classmethod
    def of(cls, output: Output, policy: Policy) -> OutputCells | None:
        """Describe the cells of an output.

        None for a model, for evidence that cannot be read, and where rows that leave are not those of the
        evidence: the steps of a curve, say, of which several leave as one.
        """
        coded = None if isinstance(output.evidence, Unreadable) else output.evidence.cells
        found = None if coded is None else cls(output, policy, coded)
        return found if found is not None and found.shown else None

    def __len__(self) -> int:
        return len(self.coded.labels)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that the codes belong to."""
        return tuple(self.coded.codes)

    @cached_property
    def table(self) -> Table | None:
        """The table again; None for groups."""
        evidence = self.output.evidence
        return evidence.table if isinstance(evidence, TableEvidence) else None

    @cached_property
    def codes(self) -> list[tuple[str, ...]]:
        """The codes of each cell, as they are printed."""
        if self.table is not None:
            return [self.table.labels.codes_of(cell) for cell in range(len(self))]
        return [tuple("all" if code is None else code for code in label) for label in self.coded.labels]

    @cached_property
    def numbers(self) -> dict[str, Column]:
        """The columns of numbers that leave, of a table the last; None also where a cell does not leave."""
        return self._by_cell(self.output.published)

    @cached_property
    def value(self) -> Column:
        """The last number of each cell, withheld or not."""
        evidence = self.output.evidence
        whole = replace(evidence, withheld=np.zeros(evidence.n_parts, dtype=np.bool_))
        return list(self._by_cell(self.output.asked.publish(whole)).values())[-1]

    def _by_cell(self, columns: Mapping[str, Sequence[Any]]) -> dict[str, Column]:
        names = list(columns)[-1:]
        if self.table is None:
            names = [name for name in columns if name not in self.variables] or names
        # What was tampered with may have columns of any length.
        least = min(map(len, columns.values()), default=0)
        rows = [None if row is None or row >= least else row for row in self._rows(columns)]
        return {name: [None if row is None else columns[name][row] for row in rows] for name in names}

    def _rows(self, columns: Mapping[str, Sequence[Any]]) -> list[int | None]:
        """Return the row of each cell; a table may leave without its totals, a curve with fewer steps."""
        if {len(column) for column in columns.values()} == {len(self)}:
            return list(range(len(self)))
        codes = [list(map(str, columns.get(name, ()))) for name in self.variables]
        row = {label: at for at, label in enumerate(zip(*codes, strict=False))}
        return [row.get(label) for label in self.codes]

    @cached_property
    def shown(self) -> list[int]:
        """The cells that are part of what leaves, withheld or not."""
        return [at for at, row in enumerate(self._rows(self.output.published)) if row is not None]

    @cached_property
    def sections(self) -> tuple[LayoutSection, ...]:
        """The layout of what leaves; a cell that has several numbers has as many places."""
        if self.table is None:
            return (list_rows(self.variables, {at: self.codes[at] for at in self.shown}, list(self.numbers)),)
        return tuple(part for each in sections(self.table) if (part := each.only(set(self.shown))).rows)

    @cached_property
    def known(self) -> Cells | None:
        """What the audit finds about a table; None for groups, from which nothing follows."""
        claimed: TableClaim | None = self.output.asked.claim(self.output.evidence, self.policy)
        if claimed is None:
            return None
        table, need, release = claimed
        withheld = self.output.evidence.withheld
        bounds = None
        if withheld.any() and len(self) <= MOST_CELLS:
            bounds = Interval(integer=release.integer, work_limit=WORK).bounds(release)
        found = audit(table, need, release, intervals=bounds or False)
        return Cells(table, need, Protection.withhold(table, withheld, need), found)

    @cached_property
    def contributions(self) -> tuple[Column, Column, Column]:
        """The largest contribution of each cell, the next, and the first as a share of all; for amounts."""
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
        """The largest share of each cell's units in a line: row, column, group of a hierarchy."""
        evidence = self.output.evidence
        return _plain(count_shares(evidence)) if isinstance(evidence, TableEvidence) else [None] * len(self)

    @cached_property
    def ends(self) -> tuple[Column, Column]:
        """The least and largest value that a reader must hold possible for each withheld cell."""
        if self.known is None:
            return [None] * len(self), [None] * len(self)
        low, high = self.known.ends
        return _plain(low), _plain(high)

    @cached_property
    def required(self) -> list[tuple[float, float, float] | None]:
        """How far below and above, and how wide in all, each unsafe cell must be uncertain."""
        if self.known is None:
            return [None] * len(self)
        need = self.known.need
        levels = zip(need.lower.tolist(), need.upper.tolist(), need.width.tolist(), strict=True)
        return [each if hit else None for each, hit in zip(levels, need.unsafe.tolist(), strict=True)]

    @property
    def decision(self) -> list[str]:
        """What becomes of each cell: published, or withheld for itself or for others."""
        if self.known is not None:
            return self.known.decision
        return ["primary" if gone else "published" for gone in self.output.evidence.withheld.tolist()]

    def columns(self) -> dict[str, Column]:
        """Return the columns of a file, the codes first; None where nothing is known."""
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
    """Say what was asked for: parameters that are not the usual ones, and the filter."""
    given = {name: value for name, value in output.definition.items() if value and name != "hierarchies"}
    if given.get("missing") == "error":
        del given["missing"]
    said = [f"{name} {_words(value)}" for name, value in given.items()]
    said += [
        Text("where {name} is {words}", name=name, words=_words(values))
        for name, values in output.where.items()
    ]
    return output.kind.replace("_", " ") + (f": {'; '.join(said)}" if said else "")


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _plain(numbers: Floats) -> Column:
    # Adding zero turns -0.0 into 0.0.
    return [None if np.isnan(number) else number + 0.0 for number in numbers.astype(float).tolist()]
