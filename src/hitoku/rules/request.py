"""The request rule, for statistics in which a cell is protected only if one of its contributors requests it.

Foreign trade is the usual case: a firm that may be identified can request protection, and firms that did
not are published.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import RuleError, did_you_mean
from hitoku.model import LIMIT, Floats, Need, Table, frozen
from hitoku.parameters import Percent, Whole
from hitoku.rules.levels import contributors_at, need_of_rule, percent_of_value
from hitoku.rules.rule import Level, Range, check_rule

REQUEST_SHARE = "request_share"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Request:
    """Flag cells in which a contributor requested protection and is large, or one of few.

    A table does not record requests, so they are passed as shares: for every cell the largest contribution
    among those who requested protection, as a fraction of the total of all contributions, and zero without
    requests. Contributors of zero who requested protection are therefore not protected.

    Parameters
    ----------
    p
        Share above which the contribution of a requester makes a cell unsafe, in percent.
    n
        A cell with a request is also unsafe if it has fewer than n contributors; 0 disables this.
    share
        Name of the measure of the table that holds the shares, or the shares themselves, one per cell.
    level
        "holding" counts holdings where the table knows them and units elsewhere; "unit" counts units.
    percent
        Range that protects a cell, in percent of its value, at least one unit. Default: set by
        :func:`hitoku.rules.assess`.

    Examples
    --------
    >>> from hitoku.testing import one_cell
    >>> [bool(Request(p=50, share=[s]).assess(one_cell(60, 30, 10)).unsafe[0]) for s in (0, 0.3, 0.6)]
    [False, False, True]
    """

    name: ClassVar[str] = "request"

    p: Percent
    n: Whole = 0
    share: str | ArrayLike = REQUEST_SHARE
    level: Level = "holding"
    percent: Range | None = None

    def __post_init__(self) -> None:
        check_rule(self)
        if not isinstance(self.share, str):
            # Copied: the caller may change its array later.
            array = np.array(self.share)
            object.__setattr__(self, "share", frozen(array, None, shape=array.shape, what="share"))

    def assess(self, table: Table) -> Need:
        """Flag cells where share > p%, or share > 0 and contributors < n."""
        share = self._share(table)
        # Not >=: exactly p percent is safe.
        unsafe = share - self.p / 100 > LIMIT
        if self.n:
            unsafe |= (share > 0) & (contributors_at(table, self.level, self.name).count < self.n)
        level = 0.0 if self.percent is None else percent_of_value(table, self.percent)
        return need_of_rule(table, self.name, unsafe, level, level)

    def _share(self, table: Table) -> Floats:
        given = self.share
        if isinstance(given, str):
            if given not in table.measures:
                raise RuleError(
                    "request_measure_missing",
                    "the table has no measure {measure!r} with requests for protection",
                    where="rule {rule}",
                    fix=did_you_mean(
                        given,
                        table.measures,
                        otherwise="give share= as an array over cells: the largest contribution among "
                        "those who asked, as a fraction of the total",
                    ),
                    measure=given,
                    rule=self.name,
                )
            given = table.measures[given]
        share = frozen(given, np.float64, shape=(table.n_cells,), what="share of those who asked")
        if not np.isfinite(share).all() or np.any(share < 0) or np.any(share > 1):
            raise RuleError(
                "request_share_range",
                "a share of a requesting contributor lies outside [0, 1]",
                where="rule {rule}",
                fix="give fractions of the total: 0 without a request, 0.5 for half of it",
                rule=self.name,
            )
        return share

    def __repr__(self) -> str:
        share = repr(self.share) if isinstance(self.share, str) else "given per cell"
        return (
            f"Request(p={self.p!r}, n={self.n!r}, share={share}, level={self.level!r}, "
            f"percent={self.percent!r})"
        )
