"""The rule of group disclosure.

If nearly all people of a row are in one cell, knowing that a person is in the row reveals the cell.
No contributor is needed for that, and the cell need not be small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hitoku.model import LIMIT, Attributions, Need, Table, rational
from hitoku.parameters import Names, Share, as_names
from hitoku.rules.levels import need_of_rule, tells_of_people
from hitoku.rules.parts import parts_of, require_variables
from hitoku.rules.rule import check_rule


@dataclass(frozen=True, slots=True)
class GroupDisclosure:
    """Flag cells that contain more than a share of the total of one of their relations.

    Shares are those of the frequency, or of the value if the table has no frequency.

    Parameters
    ----------
    share
        Maximum share of a part, as a fraction of the total; exactly the share is safe.
    by
        Use relations along these variables only: ``by="column"`` compares each cell with the total over all
        columns, the share of its row. Default: all variables.
    inner
        Use only cells that are not totals. False: a margin that contains nearly everyone is unsafe too.
    yields_to_width
        If a width is required, use it instead of levels, as in the paper: the share may then still be known
        to be exceeded. False: the larger of both applies.

    Examples
    --------
    >>> table = Table.from_array([[95, 5], [40, 60]])
    >>> GroupDisclosure(share=0.9).assess(table).unsafe.nonzero()[0].tolist()
    [0, 4]
    >>> GroupDisclosure(share=0.9, by="column").assess(table).unsafe.nonzero()[0].tolist()
    [0]
    """

    name: ClassVar[str] = "group_disclosure"
    about_groups: ClassVar[bool] = True

    share: Share = 0.9
    by: Names | None = None
    inner: bool = False
    yields_to_width: bool = False

    def __post_init__(self) -> None:
        check_rule(self)

    def assess(self, table: Table) -> Need:
        """Flag parts above ``share`` of their total; for counts, require levels that end that."""
        by = None if self.by is None else as_names(self.by)
        if by is not None:
            require_variables(table, by, self.name)
        counts = table.value if table.frequency is None else table.frequency
        pairs = parts_of(table, by)
        part, total = pairs.weight * counts[pairs.part], counts[pairs.total]
        # Not >=: the paper forbids more than the share.
        above = (total > 0) & (part - self.share * total > LIMIT * total)
        if self.inner:
            above &= table.inner[pairs.part]
        unsafe = np.zeros(table.n_cells, dtype=bool)
        unsafe[pairs.part[above]] = True
        lower = np.zeros(table.n_cells)
        learnt = Attributions.none(table.n_cells)
        if table.frequency is None or np.array_equal(table.frequency, table.value):
            # With a published total, nothing is disclosed if the part may be as low as `share` of it.
            allowed = self.share * total / pairs.weight
            if table.integer:
                allowed = np.floor(allowed * (1 + LIMIT))
            np.maximum.at(lower, pairs.part[above], (counts[pairs.part] - allowed)[above])
        if tells_of_people(table):
            # With a suppressed total, too, some feasible table must have no more than the share in the part.
            share = rational(self.share)
            weight = np.stack([np.full(len(part), share.numerator), share.denominator * pairs.weight], axis=1)
            # A suppressed total is not known to be zero.
            asked = above | ((total == 0) & (self.share < 1))
            learnt = Attributions.within(
                table.n_cells, pairs.total[asked], pairs.part[asked], 0.0, weight[asked]
            )
        return need_of_rule(table, self.name, unsafe, lower, attributions=learnt)
