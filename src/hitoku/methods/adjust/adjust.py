"""Controlled tabular adjustment: publish the closest table in which every unsafe cell has moved enough."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import (
    NeedError,
    ParameterError,
    ProtectionError,
    SolverError,
    did_you_mean,
)
from hitoku.methods.adjust.choice import AdjustmentProblem, Chosen, both_ways, cheapest, conflict, not_decided
from hitoku.methods.adjust.rounding import RoundingGrid, finest, round_and_add_up, round_controlled
from hitoku.methods.adjust.senses import AllowedDeviations, senses
from hitoku.methods.keep import Keep, kept_cells
from hitoku.methods.method import Progress, Promise, Traits
from hitoku.methods.run import run
from hitoku.methods.tuning import ADJUST
from hitoku.model import ADDITIVITY, Attributions, Floats, Integers, Need, Protection, Table
from hitoku.parameters import Gap, Limit, LimitOrZero, Positive, check_parameters
from hitoku.solver.closest import PENALTY, Closest, DeviationProgram, Norm, closest, reciprocal
from hitoku.solver.solution import MINUTES, CountedWork, SolverStatus

STOPPED = "stopped at its work limit: a closer table may be safe"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Adjusted:
    """Adjusted table, with the results of the optimiser. Confidential."""

    protection: Protection  # Published values.
    sense: Floats  # Direction of each unsafe cell: 1 up, -1 down, 0 for safe cells.
    # Lagrange multipliers of the bounds of the deviations, before rounding to the grid. See
    # :class:`hitoku.solver.closest.Closest`.
    multiplier: Floats
    turned: Integers  # Unsafe cells whose direction was reversed by ``repair="senses"``.
    # Unsafe cells that ``repair="elastic"`` moved by less than their level: they are not safe.
    short: Integers

    def __repr__(self) -> str:
        words = [f"{int(np.count_nonzero(self.sense)):_} unsafe cells moved"]
        if len(self.turned):
            words.append(f"{len(self.turned):_} of them the other way")
        if len(self.short):
            words.append(f"{len(self.short):_} of them not far enough")
        return f"Adjusted({', '.join(words)})"


@dataclass(frozen=True, eq=False, kw_only=True)
class Adjust:
    """Publish the closest additive table in which every unsafe cell moves by at least its level.

    No cell is suppressed. A cell is safe if its published value lies outside the interval from
    ``value - lower`` to ``value + upper`` of its need. If the need requires a width, both levels are raised
    by the same amount until they span it. This protects values, not intervals: the attack ``adjustment``
    measures what an attacker who knows the method can reverse.

    Parameters
    ----------
    norm
        "l1": as few and as small deviations as possible; "l2": deviations spread over many cells; "linf": the
        largest deviation as small as possible and, among those tables, the least L1 distance.
    senses
        Direction of unsafe cells: "up", "down", "hash" (by a keyed hash of the cell's contributors, so that
        it is the same in every table), "optimal" (whichever is closest), or 1 and -1 for every cell.
    weights
        "reciprocal": relative deviations, ``1/a``, in L2 ``1/a**2``, 1 for a zero; or one positive
        number per cell.
    keep
        Cells that do not move, in addition to the table's fixed ones: a mask, or "margins".
    zeros
        "move": a zero may become positive, at weight 1; "keep": zeros that are not unsafe stay zero.
    integer
        Publish integers; otherwise decimals, up to six.
    repair
        What to do if the directions contradict each other: None raises and names the cells; "senses" reverses
        as few as possible; "elastic" allows levels to be missed at a price, and the audit reports which.
    penalty
        Price of ``repair="elastic"`` for each unit of relative shortfall.
    key
        Secret key of "hash"; an attacker who knows it knows the directions.
    time_limit_s, gap
        For "optimal" and repairs: stop after this many seconds, or when no table can be closer by more than
        this share.
    work_limit
        Limit on the numbers that all programs may process, the same on every computer. The closest table
        known by then is published, and ``note`` reports it; without one an error is raised. None: no limit.

    Examples
    --------
    The 3 must not be published within 2 of its value.

    >>> table = Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 3]])
    >>> need = Need(unsafe=table.value == 3, lower=2.0, upper=2.0)
    >>> adjusted = Adjust(norm="l1").protect(table, need)
    >>> adjusted, round(adjusted.cost, 4)
    (Protection(0 of 16 cells withheld, 0 of them secondary, by adjust), 0.7733)
    >>> (adjusted.value - table.value).reshape(4, 4)[2:]
    array([[0., 0., 2., 2.],
           [0., 0., 2., 2.]])
    """

    norm: Norm = "l1"
    senses: str | ArrayLike = "up"
    weights: str | ArrayLike = "reciprocal"
    keep: Keep | ArrayLike | None = None
    zeros: Literal["move", "keep"] = "move"
    integer: bool = False
    repair: Literal["senses", "elastic"] | None = None
    penalty: Positive = PENALTY
    key: str = field(default="", repr=False)
    time_limit_s: Limit | None = None
    gap: Gap = 0.0
    work_limit: LimitOrZero | None = MINUTES

    traits: ClassVar[Traits] = Traits(promise=Promise.ADJUSTED, decides_again=True, keeps=("keep",))

    def __post_init__(self) -> None:
        check_parameters(self)

    def protect(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Adjust a table.

        Parameters
        ----------
        table, need
            Table, and its requirements.
        progress
            With ``senses="optimal"``: called with the bound and the least known distance.
        """
        return run(self, table, need, progress)

    def decide(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Adjust over the reals; :func:`hitoku.methods.run.run` does the rest."""
        return self.adjust(table, need, progress).protection

    def with_sums(self, table: Table, learnt: Attributions) -> Adjust:
        """Return the method for a table with additional cells, which must rise and may move at no cost."""
        ones = np.ones(len(learnt))
        weight = self._weight(table)
        senses = self.senses
        if not isinstance(senses, str):
            senses = np.append(np.asarray(senses, dtype=np.float64), ones)
        return replace(
            self,
            weights=np.append(weight, ADJUST.unprinted_weight * float(weight.min()) * ones),
            senses=senses,
            keep=np.append(kept_cells(table, self.keep), ones == 0),
        )

    def adjust(self, table: Table, need: Need, progress: Progress | None = None) -> Adjusted:
        """Adjust a table; return also directions, multipliers and repairs of the optimiser."""
        stay = kept_cells(table, self.keep)
        if self.zeros == "keep":
            stay = stay | ((table.value == 0) & ~need.unsafe)
        grid = self._grid(table)
        levels = _on_grid(AllowedDeviations.of(table, need, stay), grid)
        work = CountedWork(np.inf if self.work_limit is None else self.work_limit)
        task = AdjustmentProblem(
            table.relations, levels, self._weight(table), self.norm, self.time_limit_s, self.gap, work
        )
        wanted, chosen, problem = self._solve(task, table, progress)
        found = chosen.found
        deviation, bounds = _deviation_of(found), _bounds(problem, found)
        printed = None if grid is None else self._round_to_grid(problem, deviation, bounds, grid, work)
        value = table.value + deviation
        if printed is not None and grid is not None:
            deviation = printed
            value = np.rint((table.value + printed) * grid.scale) / grid.scale
        _refuse_broken(table, deviation, bounds)
        cost = problem.cost(deviation, self.norm)
        gap = max(cost - chosen.bound, 0.0) / cost if cost > 0 else 0.0
        # In L2 the cost may be right to seven digits although the table is not the closest.
        proven = gap <= ADJUST.gap and (self.norm != "l2" or found.exact)
        nowhere = np.zeros(table.n_cells, dtype=bool)
        protection = Protection(
            withheld=nowhere,
            value=value,
            secondary=nowhere,
            cost=cost,
            proven=proven,
            gap=0.0 if proven else gap,
            method="adjust",
            note=STOPPED if work.over and not proven else "",
        )
        return Adjusted(
            protection=protection,
            sense=chosen.sense,
            multiplier=np.zeros(0) if found.multiplier is None else found.multiplier,
            turned=np.flatnonzero(chosen.sense != wanted),
            short=np.flatnonzero(found.excess) if found.excess is not None else np.zeros(0, dtype=np.int64),
        )

    def _grid(self, table: Table) -> RoundingGrid | None:
        if not self.integer:
            return finest(table.value)
        if not RoundingGrid(1).holds(table.value):
            raise ProtectionError(
                "table_not_whole",
                "integers are required, but the table has other values",
                where="integer",
                fix="leave integer=False, or round the table first",
            )
        return RoundingGrid(1)

    def _weight(self, table: Table) -> Floats:
        if isinstance(self.weights, str):
            if self.weights != "reciprocal":
                raise ParameterError(
                    "unknown_weights",
                    "no weights named {weights!r}",
                    where="weights",
                    fix=did_you_mean(self.weights, ["reciprocal"]),
                    weights=self.weights,
                )
            return reciprocal(table.value, self.norm)
        try:
            weight = np.array(self.weights, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ParameterError(
                "weights_wrong_kind",
                "weights are neither a word nor numbers",
                where="weights",
                fix="use 'reciprocal' or an array",
            ) from error
        if weight.shape != (table.n_cells,) or not np.all((weight > 0) & np.isfinite(weight)):
            raise ParameterError(
                "weights_invalid",
                "weights are not {n} positive numbers",
                where="weights",
                fix="give one per cell in the order of table.cells; hold cells by keep, not by weight",
                n=table.n_cells,
            )
        return weight

    def _round_to_grid(
        self,
        problem: DeviationProgram,
        deviation: Floats,
        bounds: tuple[Floats, Floats],
        grid: RoundingGrid,
        work: CountedWork,
    ) -> Floats | None:
        """Round the result to the grid. None: keep it, additive up to rounding errors of doubles."""

        def again(lower: Floats, upper: Floats) -> Floats | None:
            tighter = DeviationProgram(
                relations=problem.relations, weight=problem.weight, lower=lower, upper=upper, rhs=problem.rhs
            )
            return closest(tighter, self.norm, work=work).deviation

        if not self.integer:
            return round_and_add_up(problem.relations, deviation, bounds, grid, again)
        found = round_controlled(
            problem.relations, deviation, bounds, grid, time_limit_s=self.time_limit_s, work=work
        )
        if found is None and work.over:
            raise not_decided(len(deviation))
        if found is None:
            raise ProtectionError(
                "no_whole_table_nearby",
                "no whole numbers near the closest table add up and are safe",
                where="{n_deviation} cells",
                fix="leave integer=False, free cells that are kept, or give a longer time limit",
                n_deviation=len(deviation),
            )
        return found

    def _solve(
        self, task: AdjustmentProblem, table: Table, progress: Progress | None
    ) -> tuple[Floats, Chosen, DeviationProgram]:
        """Return the requested directions, the chosen ones with their optimum, and the problem solved."""
        if isinstance(self.senses, str) and self.senses == "optimal":
            chosen = cheapest(task, both_ways(task.levels), progress)
            return chosen.sense, chosen, task.within(chosen.sense)
        wanted = senses(table, task.levels, self.senses, self.key)
        problem = task.within(wanted)
        found = closest(problem, self.norm, work=task.work)
        sense = wanted
        if found.status is SolverStatus.INFEASIBLE:
            if self.repair is None:
                raise _contradiction(task, table, wanted)
            if self.repair == "senses":
                sense = task.repair_senses(wanted)
                problem = task.within(sense)
            else:
                problem = replace(
                    problem,
                    lower=task.levels.lower,
                    upper=task.levels.upper,
                    soft_lower=np.where(wanted > 0, task.levels.up, -np.inf),
                    soft_upper=np.where(wanted < 0, -task.levels.down, np.inf),
                    penalty=np.full(table.n_cells, self.penalty),
                )
            found = closest(problem, self.norm, work=task.work)
        if found.status is SolverStatus.LIMIT:
            raise not_decided(int(np.count_nonzero(sense)))
        if not found.optimal:
            raise _contradiction(task, table, sense)
        return wanted, Chosen(sense, found, found.bound - found.paid), problem


def _on_grid(levels: AllowedDeviations, grid: RoundingGrid | None) -> AllowedDeviations:
    """Raise levels and narrow bounds to the next points of the grid."""
    if grid is None:
        return levels
    parts: dict[str, Any] = {
        "up": grid.up(levels.up) / grid.scale,
        "down": grid.up(levels.down) / grid.scale,
        "lower": grid.up(levels.lower) / grid.scale,
        "upper": grid.down(levels.upper) / grid.scale,
    }
    return replace(levels, **parts)


def _deviation_of(found: Closest) -> Floats:
    if found.deviation is None:
        raise SolverError(
            "optimum_without_point", "an optimum without a point", where="adjust", fix="report this"
        )
    return found.deviation


def _bounds(problem: DeviationProgram, found: Closest) -> tuple[Floats, Floats]:
    """Return the bounds of the published table; soft bounds apply where they were not broken."""
    if found.excess is None or not found.excess.any():
        return np.maximum(problem.lower, problem.soft_lower), np.minimum(problem.upper, problem.soft_upper)
    broken = found.excess != 0
    lower = np.where(broken, problem.lower, np.maximum(problem.lower, problem.soft_lower))
    return lower, np.where(broken, problem.upper, np.minimum(problem.upper, problem.soft_upper))


def _contradiction(task: AdjustmentProblem, table: Table, sense: Floats) -> NeedError:
    found = conflict(task, sense)
    if found is None:
        return NeedError(
            "senses_contradictory",
            "the senses contradict each other",
            where="{n_sense} unsafe cells",
            n_sense=int(np.count_nonzero(sense)),
        )
    return NeedError(
        "senses_leave_cells_short",
        "the senses contradict each other: {n} unsafe cell(s) cannot reach their level",
        where=found.describe(table.labels),
        fix="use senses='optimal', repair='senses' or repair='elastic', or free some of the cells named",
        n=len(found.short),
    )


def _refuse_broken(table: Table, deviation: Floats, bounds: tuple[Floats, Floats]) -> None:
    """Check the result independently: solver output is never trusted."""
    size = np.abs(table.value) + np.abs(deviation)
    slack = ADDITIVITY * np.maximum(np.abs(deviation), 1.0)
    outside = (deviation < bounds[0] - slack) | (deviation > bounds[1] + slack)
    left = np.abs(table.relations @ deviation) > ADDITIVITY * (abs(table.relations) @ size)
    if np.any(outside) or np.any(left):
        raise SolverError(
            "adjusted_table_invalid",
            "the table found breaks {n_bounds} bound(s) and {n_sums} sum(s)",
            where="adjust",
            fix="look for values of very different size in one table; report it if there are none",
            n_bounds=int(outside.sum()),
            n_sums=int(left.sum()),
        )
