"""Histograms: counts of a numeric variable between edges.

A histogram is a frequency table of one variable, the bar. The first and the last bar are open, so that
minimum and maximum are not published.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from hitoku.attacks.differencing import COUNTS
from hitoku.checks.evidence import Evidence, TableEvidence
from hitoku.checks.outputs.frequency_table import CodedTable
from hitoku.checks.outputs.membership import Membership
from hitoku.checks.unit_records import COMPLETE, Records
from hitoku.errors import ParameterError
from hitoku.model import Floats

MAX_EDGES = 200


@dataclass(frozen=True)
class Histogram(CodedTable[TableEvidence]):
    """Counts of records between edges."""

    kind: ClassVar[str] = "histogram"
    evidence: ClassVar[type[Evidence]] = TableEvidence

    value: str  # Column of numbers.
    # Limits of the bars, in ascending order. A value on an edge belongs to the bar above it.
    edges: tuple[float, ...]
    # "complete" leaves out records without a number and counts them, "error" refuses them.
    missing: str = COMPLETE

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", read_edges(self.edges, 1, self.kind))
        super().__post_init__()

    @property
    def by(self) -> tuple[str, ...]:  # type: ignore[override]
        """The variable whose codes are the bars."""
        return (f"{self.value} between",)

    @property
    def needs(self) -> tuple[str, ...]:
        """The column of numbers, unless missing numbers are refused."""
        return (self.value,) if self.missing == COMPLETE else ()

    @property
    def publishes(self) -> frozenset[str]:
        """Counts."""
        return COUNTS

    @property
    def picture(self) -> str:
        """A bar chart."""
        return "bar"

    @property
    def labels(self) -> list[str]:
        """Codes of the bars, numbered so that they sort in order."""
        texts = [f"{edge:.12g}" for edge in self.edges]
        inner = [f"{low} to {high}" for low, high in pairwise(texts)]
        every = [f"below {texts[0]}", *inner, f"{texts[-1]} and more"]
        width = len(str(len(every)))
        return [f"{place:0{width}}: {text}" for place, text in enumerate(every, start=1)]

    def _with_bars(self, records: Records) -> Records:
        place = np.searchsorted(np.array(self.edges), records.numbers(self.value), side="right")
        return records.with_codes(self.by[0], self.labels, place)

    def collect(self, records: Records) -> TableEvidence:
        """Count the records in each bar."""
        return super().collect(self._with_bars(records))

    def contradictions(self, evidence: TableEvidence) -> Iterator[str]:
        """Yield contradictions within the evidence."""
        yield from super().contradictions(evidence)
        if evidence.by != self.by or not set(evidence.codes[0]) <= set(self.labels):
            yield "bars other than those between the edges"

    def membership(self, records: Records, evidence: TableEvidence) -> Membership | None:
        """Return the published bar of each unit."""
        return super().membership(self._with_bars(records), evidence)


def round_edges(values: Floats, bins: int) -> tuple[float, ...]:
    """Choose round edges that cover the 5th to the 95th percentile.

    Examples
    --------
    >>> round_edges(np.arange(1000.0), 4)
    (0.0, 250.0, 500.0, 750.0, 1000.0)
    """
    low, high = np.percentile(values, (5, 95))
    step = max(float(high - low), np.finfo(float).tiny) / max(bins, 1)
    power = 10.0 ** np.floor(np.log10(step))
    nice = next(each * power for each in (1, 2, 2.5, 5, 10) if each * power >= step * (1 - 1e-9))
    first, last = np.floor(low / nice), np.ceil(high / nice)
    return tuple(float(round(place * nice, 12)) for place in np.arange(first, last + 1))


def edges_of(bins: int | Sequence[float], values: Floats) -> tuple[float, ...]:
    """Return the given edges, or round edges of about ``bins`` bars."""
    if isinstance(bins, Sequence | np.ndarray):
        return read_edges(bins, 1, Histogram.kind)
    if not isinstance(bins, int | np.integer) or isinstance(bins, bool) or not 1 <= bins <= MAX_EDGES:
        raise ParameterError(
            "histogram_bars_range",
            "a histogram has 1 to {most} bars",
            where="bins",
            fix="pass the approximate number, such as 10, or the edges, such as [0, 1000, 2000]",
            most=MAX_EDGES,
        )
    return round_edges(values, int(bins))


def read_edges(given: object, least: int, kind: str) -> tuple[float, ...]:
    """Return edges as a tuple of floats; raise ParameterError unless they are finite and ascending."""
    try:
        edges = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        edges = np.zeros(0)
    fits = edges.ndim == 1 and least <= len(edges) <= MAX_EDGES and np.isfinite(edges).all()
    if not fits or (np.diff(edges) <= 0).any():
        raise ParameterError(
            "edges_not_ordered",
            "the edges of a {kind} must be finite and ascending",
            where="edges",
            fix="pass {least} to {most_edges} edges, such as [0, 12, 24, 36]",
            kind=kind.replace("_", " "),
            least=least,
            most_edges=MAX_EDGES,
        )
    return tuple(edges.tolist())
