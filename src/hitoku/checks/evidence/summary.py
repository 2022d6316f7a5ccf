"""Summary and test statistics as evidence: what they are computed from, and which groups enter them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from pydantic import dataclasses as validated

from hitoku.checks.evidence.evidence import STRICT, CountRows, Counts, Numbers, Texts, Wholes
from hitoku.checks.evidence.groups import ValuesEvidence, compare_values
from hitoku.model import ADDITIVITY

# A statistic, or None where it is not defined; of tests the p value is beside it.
Statistic = Annotated[float, Field(strict=True, allow_inf_nan=False)] | None


@validated.dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class SummaryEvidence(ValuesEvidence):
    """A summary or test statistic of each group.

    Parameters
    ----------
    other_values, other_holders
        Of the second variable the same as ``n_values`` and ``holders`` of the first.
    categories, entering, parts, wholes
        Of a test the codes and the units of every group that enters it, 0 for one that does not occur here,
        and of what it tells within them; see :class:`Entering`.
    fit
        Of a correlation its square, of chi square that of Cramér's V.
    value
        The statistic, None where it is not defined; of a test the p value as well.
    freedom
        Units minus the parameters estimated on the way.
    alike
        Of an extreme the units that have it; else all units where they are all alike, and 0.
    squares
        The largest share that one unit has of what the statistic adds up: squares for a deviation, higher
        powers for skewness and kurtosis. None where nothing is added up.
    """

    at_most_units: ClassVar[tuple[str, ...]] = ("alike", "freedom")
    not_by_group: ClassVar[tuple[str, ...]] = (*ValuesEvidence.not_by_group, "categories")

    other_values: Counts | None = None
    other_holders: CountRows | None = None
    categories: Texts | None = None
    entering: CountRows | None = None
    parts: CountRows | None = None
    wholes: CountRows | None = None
    fit: Numbers | None = None
    value: tuple[tuple[Statistic, ...], ...]
    freedom: Wholes
    alike: Counts
    squares: Numbers | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        sides = (0 if self.categories is None else len(self.categories), 0)
        if self.entering is not None:
            sides = (sides[0], self.entering.shape[1])
        self.require(sides[0] == sides[1], "entering: not one number for each category")
        widths = {len(row) for row in self.value}
        self.require(widths <= {1} or widths == {2}, "value: not a statistic for each group")

    def contradictions(self) -> Iterator[str]:
        """Name what cannot be true together in the counts of groups."""
        yield from super().contradictions()
        yield from compare_values(self.n_units, self.n_records, self.other_values, self.other_holders)
        if self.fit is not None and np.any((self.fit < 0) | (self.fit > 1 + ADDITIVITY)):
            yield "fit: not the square of a correlation"
        if self.entering is not None and np.any(self.n_units < self.entering.T):
            yield "entering: more units than the group has"
        if self.parts is not None and (self.wholes is None or np.any(self.parts > self.wholes)):
            yield "parts: more units than the group has"
        if self.squares is not None and np.any((self.squares < 0) | (self.squares > 1)):
            yield "squares: not a share"
