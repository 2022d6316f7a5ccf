"""Publish again what turned out unnecessary."""

from __future__ import annotations

import logging

import numpy as np

from hitoku.methods.greedy.incremental_audit import IncrementalAudit
from hitoku.methods.method import Progress
from hitoku.model import Floats, Integers, Mask, Need, Table
from hitoku.solver.work import CountedWork

LOGGER = logging.getLogger(__name__)


def unnecessary(
    table: Table,
    need: Need,
    withheld: Mask,
    *,
    removable: Mask,
    cost: Floats,
    progress: Progress | None = None,
    work: CountedWork | None = None,
) -> Integers:
    """Return cells that can be published together, every need staying met, in the order they were tried.

    The most expensive cell is tried first, then by position; each is published when every unsafe cell
    still has its interval without it. What is left has no such cell: withholding less never widens an
    interval, so a cell that could not be spared once cannot be spared later. Ctrl-C ends the trials; the
    pattern is safe at any time.

    Parameters
    ----------
    table, need
        What is protected; the pattern must meet the need.
    withheld
        The pattern.
    removable
        Cells that may be published: no unsafe one among them.
    cost
        Cost of withholding each cell.
    progress
        Told how many cells have been tried, of how many.
    work
        Counts what flows and programs look at. Once it is over, the other cells stay withheld.

    Examples
    --------
    >>> table = Table.from_array([[1, 9, 9], [9, 9, 9], [9, 9, 9]])
    >>> need = Need(unsafe=table.value == 1, upper=1)
    >>> extra = table.inner & (table.value == 9)
    >>> unnecessary(table, need, table.inner, removable=extra, cost=table.value).tolist()
    [1, 4, 5, 6, 9]
    """
    work = work or CountedWork()
    audit = IncrementalAudit(table, need, withheld, shrinking=True)
    unsafe = np.flatnonzero(need.unsafe)
    audit.show(unsafe)
    for cell in unsafe:
        audit.met(int(cell))
    tried = np.flatnonzero(removable & withheld)
    tried = tried[np.lexsort((tried, -cost[tried]))]
    spared: list[int] = []
    try:
        for place, cell in enumerate(tried):
            work.done = audit.work.done
            if work.over:
                break
            if audit.publish_if_met(int(cell)):
                spared.append(int(cell))
            if progress is not None:
                progress(place + 1, len(tried))
    except KeyboardInterrupt:
        # What was tried so far may be published, and the rest of the pattern is safe as it is.
        LOGGER.warning("interrupted: %s of %s cells were tried, the others stay withheld", place, len(tried))
    return np.array(spared, dtype=np.int64)
