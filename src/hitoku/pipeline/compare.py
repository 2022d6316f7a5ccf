"""Several methods on one table: what each costs, and the verdict of the audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hitoku.attacks.exposure import exposed
from hitoku.evidence.audit import audit
from hitoku.methods.method import Method
from hitoku.model.need import Need
from hitoku.model.protection import Protection
from hitoku.model.release import Release
from hitoku.model.table import Table


def recomputable(table: Table, need: Need) -> int:
    """Count the unsafe cells that adding and subtracting gives away when nothing else is withheld."""
    naive = Release.of(table, Protection.withhold(table, need.unsafe, need))
    return int(np.count_nonzero(exposed(naive) & need.unsafe))


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What one method came to: its price, and the verdict of the audit."""

    method: str
    secondary: int
    cost: float
    proven: bool
    safe: bool
    recomputable: int


def compare(table: Table, need: Need, methods: Sequence[Method]) -> tuple[Compared, ...]:
    """Protect the same table with several methods and audit each; cost is the value that they withhold.

    Examples
    --------
    >>> from hitoku.methods.greedy import Greedy
    >>> table = Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 3]])
    >>> need = Need(unsafe=table.value == 3, width=9)
    >>> [row.safe for row in compare(table, need, [Greedy(tidy=True)])]
    [True]
    """
    rows = []
    for method in methods:
        protection = method.protect(table, need)
        found = audit(table, need, Release.of(table, protection))
        rows.append(
            Compared(
                method=protection.method,
                secondary=int(protection.secondary.sum()),
                cost=float(np.abs(table.value[protection.withheld]).sum()),
                proven=protection.proven,
                safe=found.safe,
                recomputable=found.summary["recomputable"],
            )
        )
    return tuple(rows)
