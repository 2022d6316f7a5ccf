"""The rule of direct disclosure, for frequency tables.

k people who put together what they know about themselves can take themselves out of a row. If everybody
else in the row then stands in one cell, they know that cell's attribute for each of the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hitoku.errors import RuleError, did_you_mean
from hitoku.model.arrays import Mask
from hitoku.model.need import Need
from hitoku.model.table import Table
from hitoku.rules.levels import needed
from hitoku.rules.parameters import check_whole, codes_of, variables_of
from hitoku.rules.parts import Parts, parts_of, require_variables


@dataclass(frozen=True, slots=True)
class DirectDisclosure:
    """Flag cells that hold all but at most k of the people in their row of a sensitive variable.

    Parameters
    ----------
    k
        How many people share what they know; 0 stands for a reader who knows nobody.
    sensitive
        Variables whose codes must not be learnt about anybody; None means all of them. Flat ones only.
    unknown
        Codes that say nothing: ``{"injury": "Unknown"}``. To learn one of them is to learn nothing, and
        nobody can be placed by one, so cells that carry such a code are not flagged.

    Examples
    --------
    >>> table = Table.from_array([[0, 0, 17], [1, 0, 12], [3, 2, 2]], names=("group", "injury"))
    >>> DirectDisclosure(k=1, sensitive="injury").assess(table).unsafe.nonzero()[0].tolist()
    [2, 6]
    """

    name: ClassVar[str] = "direct_disclosure"
    # The levels below are the exact ones for a published row total; a width is somebody's own demand.
    yields_to_width: ClassVar[bool] = True

    k: int = 1
    sensitive: tuple[str, ...] | str | None = None
    unknown: tuple[tuple[str, str], ...] | Mapping[str, Any] = ()

    def __post_init__(self) -> None:
        check_whole(self.name, "k", self.k, least=0)
        if self.sensitive is not None:
            object.__setattr__(self, "sensitive", variables_of(self.name, "sensitive", self.sensitive))
        object.__setattr__(self, "unknown", codes_of(self.name, "unknown", self.unknown))

    def assess(self, table: Table) -> Need:
        """Flag cells with frequency(parent) - k <= frequency(cell), nobody's cells and unknowns aside."""
        frequency = table.frequency
        if frequency is None:
            raise RuleError(
                "the table does not say how many respondents are in its cells",
                where=f"rule {self.name}",
                fix="give from_array or from_frame frequency=..., or start from records with tabulate",
            )
        sensitive = table.labels.names if self.sensitive is None else self.sensitive
        sensitive = variables_of(self.name, "sensitive", sensitive)
        require_variables(table, sensitive, self.name)
        # A cell with nobody in it discloses nobody, even where the row is no larger than the coalition.
        candidate = (frequency > 0) & ~self._unknown(table)
        unsafe = np.zeros(table.n_cells, dtype=bool)
        lower = np.zeros(table.n_cells)
        for variable in sensitive:
            pairs = parts_of(table, [variable])
            self._refuse_hierarchy(variable, pairs)
            others = frequency[pairs.total] - frequency[pairs.part]
            hit = (others <= self.k) & candidate[pairs.part]
            unsafe[pairs.part[hit]] = True
            # One more person outside the cell than the coalition knows, and it cannot be sure.
            np.maximum.at(lower, pairs.part[hit], (self.k + 1 - others)[hit])
        if not np.array_equal(frequency, table.value):
            lower[:] = 0.0
        return needed(table, self.name, unsafe, lower)

    def _unknown(self, table: Table) -> Mask:
        found = np.zeros(table.n_cells, dtype=bool)
        for variable, code in codes_of(self.name, "unknown", self.unknown):
            require_variables(table, [variable], self.name)
            place = table.labels.names.index(variable)
            codes = table.labels.codes[place]
            if code not in codes:
                raise RuleError(
                    f"variable {variable!r} has no code {code!r}",
                    where=f"rule {self.name}, unknown",
                    fix=did_you_mean(code, codes),
                )
            found |= table.labels.column(place) == codes.index(code)
        return found

    def _refuse_hierarchy(self, variable: str, pairs: Parts) -> None:
        if np.isin(pairs.total, pairs.part).any():
            raise RuleError(
                f"sensitive variable {variable!r} is hierarchical, which is not supported yet",
                where=f"rule {self.name}",
                fix=f"tabulate {variable!r} on one level, or name flat variables in sensitive=",
            )
