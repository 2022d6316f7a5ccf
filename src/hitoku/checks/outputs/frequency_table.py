"""Frequency tables: units per cell, no cell that holds nearly all of its row or column, wide intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hitoku.checks.evidence import Evidence, TableEvidence, plain_trees
from hitoku.checks.outputs.coded_table import CodedTable
from hitoku.checks.records import COMPLETE


@dataclass(frozen=True)
class FrequencyTable(CodedTable[TableEvidence]):
    """Counts of records in every combination of codes, with totals.

    Parameters
    ----------
    by
        The variables.
    missing
        "complete": records without a code are left out, and counted. "error", or "code": they go under
        "missing".
    hierarchies
        Code trees by variable, as in :func:`hitoku.tabulate`: their groups are cells of the table as well.
    period
        One of the variables whose codes are periods in which the same units come back: shares are judged
        within each. A session that knows its period says so itself.
    """

    kind: ClassVar[str] = "frequency_table"
    evidence: ClassVar[type[Evidence]] = TableEvidence

    by: tuple[str, ...]
    missing: str = COMPLETE
    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    period: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "hierarchies", plain_trees(self.hierarchies, self.by))
