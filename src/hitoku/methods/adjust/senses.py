"""Directions of unsafe cells that are not chosen by the optimiser.

A cell that appears in two tables must move the same way in both; otherwise two published values reveal the
number between them. So its direction may depend on its contributors, but not on the table around it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.errors import NeedError, ParameterError, ProtectionError, SolverError, did_you_mean, some
from hitoku.model import Floats, Mask, Need, Table
from hitoku.solver.integer import IntegerProgram, SolverStatus, solve
from hitoku.solver.solution import CountedWork


class Sense(IntEnum):
    """Direction in which an unsafe cell moves."""

    UP = 1
    DOWN = -1


UP, DOWN = Sense


@dataclass(frozen=True, slots=True)
class AllowedDeviations:
    """Allowed deviations, before directions are chosen."""

    unsafe: Mask  # Cells that must move.
    # down, up: how far each of them must fall or rise; zero elsewhere, and where that direction gives no
    # protection.
    down: Floats
    up: Floats
    # lower, upper: bounds of every deviation; both are zero for a kept cell.
    lower: Floats
    upper: Floats

    @classmethod
    def of(cls, table: Table, need: Need, kept: Mask) -> AllowedDeviations:
        """Derive them from a need: ``lower`` and ``upper``, raised equally until they span ``width``."""
        need.require_size(table.n_cells)
        unsafe = need.unsafe
        missing = np.maximum(need.width - need.lower - need.upper, 0.0) / 2
        down, up = need.lower + missing, need.upper + missing
        _refuse(
            table,
            unsafe & kept,
            "may not be changed",
            "take them out of keep or fixed, or merge their codes until they are safe",
        )
        _refuse(
            table,
            unsafe & (down == 0) & (up == 0),
            "come without a level, so the required deviation is unknown",
            "give a width with the rules, or levels with the rule given",
        )
        lower = np.where(kept, 0.0, table.lower - table.value)
        upper = np.where(kept, 0.0, table.upper - table.value)
        levels = cls(unsafe, down, up, lower, upper)
        _refuse(
            table,
            unsafe & ~levels.can(UP) & ~levels.can(DOWN),
            "can move far enough neither up nor down within their bounds",
            "widen lower or upper of the table, or require less",
        )
        return levels

    def can(self, sense: int) -> Mask:
        """Return which cells may move this way: they have a level, and their bounds allow it."""
        if sense == UP:
            return np.asarray((self.up > 0) & (self.up <= self.upper))
        return np.asarray((self.down > 0) & (-self.down >= self.lower))

    def within(self, sense: Floats) -> tuple[Floats, Floats]:
        """Return the bounds of the deviations for given directions: formula (5) of Castro (2012)."""
        lower = np.where(self.unsafe & (sense > 0), self.up, self.lower)
        upper = np.where(self.unsafe & (sense < 0), -self.down, self.upper)
        return lower, upper


def _refuse(table: Table, wrong: Mask, what: str, fix: str) -> None:
    places = np.flatnonzero(wrong)
    if len(places):
        cells = some((table.describe(int(p)) for p in places[:4]), 3)
        raise NeedError(
            "unsafe_cells_cannot_deviate",
            "{n} unsafe cell(s) {reason}",
            where="cells {cells}",
            fix=fix,
            n=len(places),
            reason=what,
            cells=cells,
        )


SENSES = ("up", "down", "hash", "optimal")


def senses(table: Table, levels: AllowedDeviations, chosen: Any, key: str) -> Floats:
    """Return 1 for an unsafe cell that rises, -1 for one that falls, 0 for the others.

    "down" and "hash" are reversed where a cell's own bounds do not allow the direction: a count of 1 cannot
    fall by 3. This too depends on the cell alone.

    Parameters
    ----------
    table
        Provides contributors and codes for "hash".
    levels
        Unsafe cells and their levels.
    chosen
        "up", "down", "hash", or one number per cell whose sign counts.
    key
        Secret key of the hash.
    """
    unsafe = levels.unsafe
    if isinstance(chosen, str):
        if chosen == "up":
            wanted = np.full(len(unsafe), UP)
        elif chosen == "down":
            wanted = np.full(len(unsafe), DOWN)
        elif chosen == "hash":
            wanted = hash_senses(table, np.flatnonzero(unsafe), key)
        else:
            raise ParameterError(
                "unknown_senses",
                "no senses named {senses!r}",
                where="senses",
                fix=did_you_mean(chosen, SENSES),
                senses=chosen,
            )
        # If only one direction has a level, it is used.
        wanted = np.where((wanted == UP) & (levels.up == 0) & (levels.down > 0), DOWN, wanted)
        if chosen != "up":
            wanted = np.where((wanted == UP) & ~levels.can(UP), DOWN, wanted)
            wanted = np.where((wanted == DOWN) & ~levels.can(DOWN), UP, wanted)
    else:
        wanted = validate_senses(chosen, len(unsafe))
        if np.any(unsafe & (wanted == 0)):
            raise ParameterError(
                "unsafe_cell_without_sense",
                "an unsafe cell has no sense",
                where="senses",
                fix="give 1 (up) or -1 (down) for each",
            )
    return np.where(unsafe, wanted, 0).astype(np.float64)


def validate_senses(chosen: Any, n_cells: int) -> Floats:
    """Validate directions given as an array."""
    try:
        array = np.sign(np.array(chosen, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise ParameterError(
            "senses_wrong_kind",
            "senses are neither a word nor numbers",
            where="senses",
            fix="use one of: {senses}",
            senses=", ".join(SENSES),
        ) from error
    if array.shape != (n_cells,) or np.isnan(array).any():
        raise ParameterError(
            "senses_shape",
            "senses have shape {shape}, the table {n_cells} cells",
            where="senses",
            fix="give 1 (up) or -1 (down) per cell in the order of table.cells; safe cells do not matter",
            shape=array.shape,
            n_cells=n_cells,
        )
    return np.asarray(array)


def hash_senses(table: Table, cells: Any, key: str) -> Floats:
    """Derive the direction of some cells from a keyed hash of what identifies them; zero elsewhere.

    If the table has contributors: their number and the largest contributions, which are the same in every
    table of the same records. Otherwise: the codes without totals, so that ``region=N`` and
    ``region=N, nace=Total`` agree.

    Examples
    --------
    >>> one = Table.from_array([3, 5], names=["region"])
    >>> two = Table.from_array([[1, 2], [4, 1]], names=["region", "nace"])
    >>> same = hash_senses(one, [0, 1], "secret")[:2] == hash_senses(two, [2, 5], "secret")[[2, 5]]
    >>> bool(same.all())
    True
    """
    drawn = np.zeros(table.n_cells)
    secret = blake2b(key.encode(), digest_size=32).digest()
    known = table.contributors
    totals = {d.name: d.total for d in table.dimensions}
    for cell in cells:
        if known is not None and known.largest.shape[1]:
            # Nine digits: another table may add the contributions in another order.
            largest = ",".join(f"{share:.9g}" for share in known.largest[cell])
            text = f"{table.measure}\x1e{known.count[cell]}\x1e{largest}"
        else:
            codes = zip(table.labels.names, table.labels.codes_of(int(cell)), strict=True)
            named = sorted(f"{name}={code}" for name, code in codes if totals.get(name) != code)
            text = "\x1f".join([table.measure, *named])
        digest = blake2b(text.encode(), digest_size=8, key=secret).digest()
        drawn[cell] = UP if digest[0] % 2 else DOWN
    return drawn


def fewest_changes(
    relations: Any,
    levels: AllowedDeviations,
    sense: Floats,
    *,
    time_limit_s: float | None = None,
    work: CountedWork | None = None,
) -> Floats:
    """Reverse as few directions as possible so that some table satisfies them all.

    The cost of the table is irrelevant here, so a deviation is one column, bounded by a choice ``y`` if the
    cell is unsafe: at least ``up``, or its lower bound; at most ``-down``, or its upper bound.

    Parameters
    ----------
    relations, levels
        Table, and its allowed deviations.
    sense
        1 and -1 for unsafe cells.
    time_limit_s
        Limit in seconds; then the fewest changes known so far are made.
    work
        Counts the steps; its limit has the same effect.

    Raises
    ------
    ProtectionError
        If no directions lead to a safe table.
    SolverError
        If none were found within a limit.

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
    # A choice needs finite bounds. For a cell without, use twice the sum of all required deviations: a
    # restriction, but a table that needs larger deviations would be useless.
    reach = 2 * float(up.sum() + down.sum())
    low, high = np.maximum(levels.lower[cells], -reach), np.minimum(levels.upper[cells], reach)
    own = sparse.csr_array((np.ones(k), (np.arange(k), cells)), shape=(k, n))
    still = np.zeros(matrix.shape[0])
    found = solve(
        IntegerProgram(
            # One for every reversed direction, up to a constant.
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
            fix="raise time_limit_s or work_limit, or set repair='elastic'",
            k=k,
        )
    if found.x is None:
        raise ProtectionError(
            "no_safe_senses",
            "no senses lead to a safe table",
            where="{k} unsafe cells",
            fix="free some of the cells that are kept, widen bounds, or set repair='elastic'",
            k=k,
        )
    turned = np.zeros(n)
    turned[cells] = np.where(found.x[n:] > 0.5, float(UP), float(DOWN))
    return turned
