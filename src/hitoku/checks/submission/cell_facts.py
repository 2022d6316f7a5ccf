"""What a checker needs to know about every cell of an output: counts, contributors, shares, intervals.

Confidential: numbers that are withheld are among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hitoku.attacks import Interval
from hitoku.checks.evidence import TableEvidence, Unreadable
from hitoku.checks.outputs import Output
from hitoku.checks.policies import Policy
from hitoku.checks.principles import count_shares
from hitoku.model import Floats

# Beyond so many cells the intervals of a table are left to the file of its certificate.
MOST_CELLS = 20_000
TIME_LIMIT_S = 60.0


@dataclass(frozen=True, kw_only=True)
class CellFacts:
    """One cell or group of an output.

    Parameters
    ----------
    codes
        Its code in each variable.
    value
        The number, withheld or not; None where there is none, or several.
    n_units, n_records
        How many are in it.
    first, second
        The largest contribution and the next; None for counts.
    share
        The first as a share of all contributions.
    line_share
        The largest share of its units in a line: row, column, group of a hierarchy; None outside tables.
    withheld
        It does not leave.
    low, high
        What a reader must hold possible for it; None where it is published, or nobody has computed it.
    required
        How wide that must be; None where no rule asks.
    """

    codes: tuple[str, ...]
    value: Any
    n_units: int
    n_records: int
    first: float | None = None
    second: float | None = None
    share: float | None = None
    line_share: float | None = None
    withheld: bool = False
    low: float | None = None
    high: float | None = None
    required: float | None = None


def cell_facts(output: Output, policy: Policy) -> tuple[tuple[str, ...], list[CellFacts]]:
    """Return the variables of an output and what is known of each of its cells; nothing for a model.

    Parameters
    ----------
    output
        As it would leave.
    policy
        By which intervals are required.
    """
    evidence: Any = output.evidence
    if isinstance(evidence, Unreadable):
        return (), []
    cells = output.asked.cells(evidence)
    if cells is None:
        return (), []
    n_cells = len(cells.labels)
    values = _values(output, n_cells)
    first, second, share = _contributions(evidence, n_cells)
    table = isinstance(evidence, TableEvidence)
    lines = _plain(count_shares(evidence)) if table else [None] * n_cells
    low, high, required = _intervals(output, policy, n_cells)
    found = [
        CellFacts(
            codes=tuple("all" if code is None else code for code in cells.labels[at]),
            value=values[at],
            n_units=int(cells.n_units[at]),
            n_records=int(cells.n_records[at]),
            first=first[at],
            second=second[at],
            share=share[at],
            line_share=lines[at],
            withheld=bool(evidence.withheld[at]),
            low=low[at],
            high=high[at],
            required=required[at],
        )
        for at in range(n_cells)
    ]
    return tuple(cells.codes), found


def columns(variables: Sequence[str], facts: Sequence[CellFacts]) -> dict[str, list[Any]]:
    """Lay facts out as columns, for a file; None where there is nothing to say."""
    laid: dict[str, list[Any]] = {
        name: [each.codes[place] for each in facts] for place, name in enumerate(variables)
    }
    laid["value"] = [each.value for each in facts]
    for name in ("n_units", "n_records", "first", "second", "share", "line_share", "low", "high"):
        laid[name] = [getattr(each, name) for each in facts]
    laid["required_width"] = [each.required for each in facts]
    laid["decision"] = ["withheld" if each.withheld else "published" for each in facts]
    return laid


def _values(output: Output, n_cells: int) -> list[Any]:
    """Return the numbers as they would be published if nothing were withheld."""
    evidence = replace(output.evidence, withheld=np.zeros(output.evidence.n_parts, dtype=np.bool_))
    last = list(output.asked.publish(evidence).values())[-1:]
    return last[0] if last and len(last[0]) == n_cells else [None] * n_cells


def _contributions(evidence: Any, n_cells: int) -> tuple[list[Any], list[Any], list[Any]]:
    largest, size = getattr(evidence, "largest", None), getattr(evidence, "size", None)
    if not isinstance(largest, np.ndarray) or not isinstance(size, np.ndarray) or len(largest) != n_cells:
        return [None] * n_cells, [None] * n_cells, [None] * n_cells
    second = largest[:, 1] if largest.shape[1] > 1 else np.full(n_cells, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(size > 0, largest[:, 0] / size, np.nan)
    return _plain(largest[:, 0]), _plain(second), _plain(share)


def _intervals(output: Output, policy: Policy, n_cells: int) -> tuple[list[Any], list[Any], list[Any]]:
    """Return what a reader must hold possible for every withheld cell of a table, and what is required."""
    nothing: list[Any] = [None] * n_cells
    claimed = output.asked.claim(output.evidence, policy)
    if claimed is None or not output.evidence.withheld.any() or n_cells > MOST_CELLS:
        return nothing, nothing, nothing
    bounds = Interval(time_limit_s=TIME_LIMIT_S).bounds(claimed.release)
    known = output.evidence.withheld & ~bounds.unknown
    low = np.where(known, bounds.lower, np.nan)
    high = np.where(known, bounds.upper, np.nan)
    need = claimed.need
    wide = np.maximum(need.width, need.lower + need.upper)
    return _plain(low), _plain(high), _plain(np.where(need.unsafe, wide, np.nan))


def _plain(numbers: Floats) -> list[Any]:
    return [None if np.isnan(number) else number for number in np.asarray(numbers, dtype=float).tolist()]
