"""Senses that contradict each other, turned around where it takes the fewest changes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from hitoku.errors import ProtectionError, SolverError
from hitoku.methods.adjust.allowed_deviations import DOWN, UP, AllowedDeviations
from hitoku.model import Floats
from hitoku.solver.integer import IntegerProgram, SolverStatus, solve
from hitoku.solver.work import CountedWork


def fewest_changes(
    relations: Any,
    levels: AllowedDeviations,
    sense: Floats,
    *,
    time_limit_s: float | None = None,
    work: CountedWork | None = None,
) -> Floats:
    """Turn as few senses around as possible so that some table keeps them all.

    What a table costs does not matter here, so a deviation is one column, bounded by a choice ``y`` where the
    cell is unsafe: at least ``up``, or else its lower bound; at most ``-down``, or else its upper bound.

    Parameters
    ----------
    relations, levels
        The table and what it must keep.
    sense
        1 and -1 for unsafe cells.
    time_limit_s
        Seconds; when they are over, the fewest changes known by then are made.
    work
        Counts the steps; at its limit, likewise.

    Raises
    ------
    ProtectionError
        When no senses lead to a safe table.
    SolverError
        When none were found within a limit.

    Examples
    --------
    Three parts of a kept total cannot all rise by two.

    >>> levels = AllowedDeviations(
    ...     unsafe=np.array([True, True, True, False]),
    ...     down=np.array([2.0, 2, 2, 0]),
    ...     up=np.array([2.0, 2, 2, 0]),
    ...     lower=np.array([-10.0, -20, -3, 0]),
    ...     upper=np.array([10.0, 20, 30, 0]),
    ... )
    >>> int(fewest_changes([[1, 1, 1, -1]], levels, np.array([1.0, 1, 1, 0])).sum())
    1
    """
    matrix, cells = sparse.csr_array(relations, dtype=np.float64), np.flatnonzero(levels.unsafe)
    n, k = matrix.shape[1], len(cells)
    up, down = levels.up[cells], levels.down[cells]
    # A choice needs ends. Where a cell has none, twice all moves required is one: a restriction, but a
    # table that needs more to settle them would be worthless.
    reach = 2 * float(up.sum() + down.sum())
    low, high = np.maximum(levels.lower[cells], -reach), np.minimum(levels.upper[cells], reach)
    own = sparse.csr_array((np.ones(k), (np.arange(k), cells)), shape=(k, n))
    still = np.zeros(matrix.shape[0])
    found = solve(
        IntegerProgram(
            # One for every sense that is turned around, up to a constant.
            cost=np.concatenate([np.zeros(n), -np.sign(sense[cells])]),
            relations=sparse.block_array(
                [
                    [matrix, None],
                    [own, -sparse.diags_array(up - low)],
                    [own, -sparse.diags_array(high + down)],
                ],
                format="csr",
            ),
            rhs=np.concatenate([still, low, np.full(k, -np.inf)]),
            lower=np.concatenate([levels.lower, np.where(levels.can(DOWN)[cells], 0.0, 1.0)]),
            upper=np.concatenate([levels.upper, np.where(levels.can(UP)[cells], 1.0, 0.0)]),
            row_upper=np.concatenate([still, np.full(k, np.inf), -down]),
            integer=np.repeat([False, True], [n, k]),
        ),
        time_limit_s=time_limit_s,
        work=work,
    )
    if found.x is None and found.status is SolverStatus.LIMIT:
        raise SolverError(
            "no_senses_within_limits",
            "not decided: no senses were found within the limits of time and work",
            where="method adjust, {k} unsafe cells",
            fix="raise time_limit_s or work_limit, or ask for repair='elastic'",
            k=k,
        )
    if found.x is None:
        raise ProtectionError(
            "no_safe_senses",
            "no senses lead to a safe table",
            where="{k} unsafe cells",
            fix="free some of the cells that are kept, widen bounds, or ask for repair='elastic'",
            k=k,
        )
    turned = np.zeros(n)
    turned[cells] = np.where(found.x[n:] > 0.5, float(UP), float(DOWN))
    return turned
