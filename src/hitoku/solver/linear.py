"""Linear programs, and programs that are re-solved for one objective after another.

Programs are arrays, results are :class:`Solution`. An attack needs two optima per suppressed cell of one
polyhedron. Only the objective changes between them, so the last basis stays feasible and the primal simplex
continues from it.

A linear program that grows: columns and rows are added, and the dual simplex restarts from the last basis.

For searches that begin with a few rows and add those that the last solution violated.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from hitoku.errors import ParameterError, SolverError
from hitoku.solver.highs import (
    FEASIBLE,
    FEASIBLE_AGAIN,
    GRANTED,
    NO_LIMIT,
    ROUNDING,
    Scale,
    Simplex,
    accept,
    basis_of,
    hand_over,
    power_of_two,
    run,
    simplex_engine,
)
from hitoku.solver.solution import (
    BASIC,
    FREE,
    LOWER,
    SET_UP,
    UPPER,
    Basis,
    CountedWork,
    Solution,
    SolverStatus,
)

__all__ = [
    "BASIC",
    "FREE",
    "LOWER",
    "UPPER",
    "Basis",
    "LinearProgram",
    "Solution",
    "SolverStatus",
    "Warm",
    "open_program",
    "solve",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class LinearProgram:
    """Minimise ``cost @ x`` subject to ``relations @ x == rhs`` and ``lower <= x <= upper``."""

    cost: Floats
    """One number per column; a scalar is repeated."""
    relations: Any
    """Rows by columns, dense or sparse."""
    rhs: Floats
    """Right-hand side of each row; with ``row_upper``, its least value, which may be minus infinity."""
    lower: Floats = 0.0  # type: ignore[assignment]  # a scalar is repeated
    upper: Floats = np.inf  # type: ignore[assignment]
    """Bounds of the columns; infinite for none."""
    row_upper: Floats | None = None
    """Largest value of each row; default: rows are equations."""

    def __post_init__(self) -> None:
        relations = sparse.csr_array(self.relations, dtype=np.float64)
        if not relations.has_canonical_format:
            relations = relations.copy()
            relations.sum_duplicates()
        n_rows, n_columns = relations.shape
        object.__setattr__(self, "relations", relations)
        for name, length in (
            ("cost", n_columns),
            ("rhs", n_rows),
            ("lower", n_columns),
            ("upper", n_columns),
        ):
            object.__setattr__(self, name, _array(name, getattr(self, name), length))
        if self.row_upper is not None:
            object.__setattr__(self, "row_upper", _array("row_upper", self.row_upper, n_rows))
        if not (np.isfinite(self.cost).all() and np.isfinite(relations.data).all()):
            raise ParameterError(
                "cost_or_coefficient_not_finite",
                "a cost or a coefficient is not finite",
                where="LinearProgram",
            )
        if self.row_upper is None and not np.isfinite(self.rhs).all():
            raise ParameterError(
                "right_hand_side_not_finite",
                "a right-hand side is not finite",
                where="LinearProgram",
                fix="give row_upper for ranges",
            )

    @property
    def row_ends(self) -> tuple[Floats, Floats]:
        """Least and largest value of every row."""
        return self.rhs, self.rhs if self.row_upper is None else self.row_upper


def _array(name: str, values: ArrayLike, length: int) -> Floats:
    array = np.array(values, dtype=np.float64)
    array = np.full(length, array) if array.ndim == 0 else array
    if array.shape != (length,):
        raise ParameterError(
            "vector_shape",
            "{name} has shape {shape}, expected ({n},)",
            where="LinearProgram",
            fix="one entry per column for cost and bounds, one per row for right-hand sides",
            name=name,
            shape=array.shape,
            n=length,
        )
    if np.isnan(array).any():
        raise ParameterError(
            "holds_nan",
            "{name} holds a NaN",
            where="LinearProgram",
            fix="use infinity for no bound",
            name=name,
        )
    array.setflags(write=False)
    return array


def _order_bounds(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Swap crossed bounds, which HiGHS would refuse; ``Warm.solve`` never uses them."""
    return np.minimum(low, high), np.maximum(low, high)


class Warm:
    """A program kept open in the solver; created by :func:`open_program`."""

    def __init__(
        self,
        program: LinearProgram,
        *,
        threads: int = 1,
        time_limit_s: float | None = None,
        work_limit: int | None = None,
        work: CountedWork | None = None,
        dual: bool = False,
    ) -> None:
        self._relations = program.relations
        self._work = CountedWork() if work is None else work
        # Work of one simplex step.
        self._per_step = program.relations.nnz + sum(program.relations.shape)
        self._steps = NO_LIMIT if work_limit is None else work_limit
        self._absolute = abs(program.relations)
        self._rows = program.row_ends
        self._lower, self._upper = program.lower, program.upper
        self._threads, self._time_limit_s = threads, time_limit_s
        sizes = np.concatenate([*self._rows, self._lower, self._upper])
        self._scale = Scale.of(program.relations, sizes)
        self._cost = np.zeros(len(program.cost))
        self._strategy = Simplex.DUAL if dual else Simplex.PRIMAL
        self._highs: Any = None
        if len(program.cost):
            self._highs = simplex_engine(
                threads=threads, simplex_strategy=self._strategy, simplex_iteration_limit=self._steps
            )
            column, row = self._scale.column, self._scale.row
            hand_over(
                self._highs,
                program.relations,
                self._scale.matrix(program.relations),
                np.zeros(len(column)),
                _order_bounds(self._lower / column, self._upper / column),
                _order_bounds(self._rows[0] * row, self._rows[1] * row),
            )

    def bounds(self, lower: ArrayLike, upper: ArrayLike) -> None:
        """Replace the bounds of all columns; the basis is kept."""
        n, before = len(self._cost), (self._lower, self._upper)
        self._lower, self._upper = _array("lower", lower, n), _array("upper", upper, n)
        changed = np.flatnonzero((self._lower != before[0]) | (self._upper != before[1])).astype(np.int32)
        if len(changed):
            column = self._scale.column[changed]
            ends = _order_bounds(self._lower[changed] / column, self._upper[changed] / column)
            accept(self._highs.changeColsBounds(len(changed), changed, *ends), "changing bounds")

    def forget(self) -> None:
        """Drop the basis, so that the next solve starts cold."""
        if self._highs is not None:
            accept(self._highs.clearSolver(), "dropping the basis")

    def minimise(self, cell: int, *, details: bool = True) -> Solution:
        """Push one column down."""
        return self._one(cell, maximise=False, details=details)

    def maximise(self, cell: int, *, details: bool = True) -> Solution:
        """Push one column up."""
        return self._one(cell, maximise=True, details=details)

    def _one(self, cell: int, *, maximise: bool, details: bool) -> Solution:
        cost = np.zeros(len(self._cost))
        cost[cell] = 1.0
        return self.solve(cost, maximise=maximise, details=details)

    def solve(self, cost: ArrayLike, *, maximise: bool = False, details: bool = True) -> Solution:
        """Optimise another objective, starting from the last basis.

        Parameters
        ----------
        cost
            The objective, one number per column.
        maximise
            Maximise instead of minimise; duals refer to the objective as given.
        details
            Also return basis, duals and reduced costs.
        """
        cost = _array("cost", cost, len(self._cost))
        sense = -1.0 if maximise else 1.0
        if np.any(self._lower > self._upper) or np.any(self._rows[0] > self._rows[1]):
            return Solution(SolverStatus.INFEASIBLE)
        if self._highs is None or self._work.over:
            return Solution(SolverStatus.LIMIT) if self._work.over else self._without_columns()
        unit = self._price(sense * cost)
        status = self._run()
        x = self._point()
        if status is None or (status is SolverStatus.OPTIMAL and x is None):
            status, x = self._again()
        if status is SolverStatus.INFEASIBLE:
            return Solution(status)
        # Not cost @ x: from 10,000 columns on that starts a BLAS thread, which spins during the next program.
        value = float("nan") if x is None else float((cost * x).sum())
        if status is SolverStatus.UNBOUNDED:
            value = -sense * np.inf
        if status is not SolverStatus.OPTIMAL or x is None:
            return Solution(status, value, x)
        if not details:
            return Solution(status, value, x, bound=value, gap=0.0)
        duals = sense * unit * self._scale.row * np.asarray(self._highs.getSolution().row_dual)
        reduced = cost - self._relations.T @ duals
        return Solution(status, value, x, basis_of(self._highs), duals, reduced, bound=value, gap=0.0)

    def _without_columns(self) -> Solution:
        low, high = self._rows
        if np.all(low <= 0) and np.all(high >= 0):
            nothing, rows = np.zeros(0), np.zeros(len(low))
            basis = Basis(np.zeros(0, dtype=np.int8), np.zeros(len(low), dtype=np.int8))
            return Solution(SolverStatus.OPTIMAL, 0.0, nothing, basis, rows, nothing, bound=0.0, gap=0.0)
        return Solution(SolverStatus.INFEASIBLE)

    def _price(self, cost: Floats) -> float:
        """Pass changed entries of the objective; return the unit by which it was divided."""
        scaled = cost * self._scale.column
        unit = float(power_of_two(np.abs(scaled).max(initial=0.0)))
        scaled = scaled / unit
        changed = np.flatnonzero(scaled != self._cost).astype(np.int32)
        if len(changed):
            accept(self._highs.changeColsCost(len(changed), changed, scaled[changed]), "changing costs")
        self._cost = scaled
        return unit

    def _run(self) -> SolverStatus | None:
        if self._time_limit_s is not None:
            # HiGHS compares the limit with the time of all runs of this object, as intended here.
            self._highs.setOptionValue("time_limit", float(self._time_limit_s))
        if np.isfinite(self._work.limit):
            # Every solve may use what remains, and at least one step.
            steps = min(self._steps, int(self._work.left // self._per_step) + 1)
            self._highs.setOptionValue("simplex_iteration_limit", steps)
        status = run(self._highs, self._threads)
        self._work.add(self._per_step * (SET_UP + max(0, self._highs.getInfo().simplex_iteration_count)))
        return status

    def _again(self) -> tuple[SolverStatus, Floats | None]:
        """Solve again from a cold start, by the dual simplex with tighter tolerances, or raise."""
        self._highs.clearSolver()
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            self._highs.setOptionValue(name, FEASIBLE_AGAIN)
        self._highs.setOptionValue("simplex_strategy", Simplex.DUAL)
        status = self._run()
        x = self._point()
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            self._highs.setOptionValue(name, FEASIBLE)
        self._highs.setOptionValue("simplex_strategy", self._strategy)
        if status is None or (status is SolverStatus.OPTIMAL and x is None):
            n_rows, n_columns = self._relations.shape
            raise SolverError(
                "linear_program_untrusted",
                "a linear program of {n_columns} columns and {n_rows} rows has no trustworthy answer",
                where="solver",
                fix="look for values of very different size in one table, or split it",
                n_columns=n_columns,
                n_rows=n_rows,
            )
        return status, x

    def _point(self) -> Floats | None:
        """Return the point in original units, or None if it violates rows or bounds."""
        solution = self._highs.getSolution()
        if not solution.value_valid:
            return None
        x = np.asarray(solution.col_value) * self._scale.column
        return x if self._meets(x) else None

    def _meets(self, x: Floats) -> bool:
        slack = GRANTED * self._scale.column + ROUNDING * np.abs(x)
        if np.any(x < self._lower - slack) or np.any(x > self._upper + slack):
            return False
        activity = self._relations @ x
        slack = GRANTED / self._scale.row + ROUNDING * (self._absolute @ np.abs(x))
        return bool(np.all(activity >= self._rows[0] - slack) and np.all(activity <= self._rows[1] + slack))


@contextmanager
def open_program(
    program: LinearProgram,
    *,
    threads: int = 1,
    time_limit_s: float | None = None,
    work_limit: int | None = None,
    work: CountedWork | None = None,
    dual: bool = False,
) -> Iterator[Warm]:
    """Keep a program open in the solver, to optimise many objectives over the same polyhedron.

    Parameters
    ----------
    program
        Program to solve; its cost is used by :func:`solve` only.
    threads
        Number of threads; does not change solutions.
    time_limit_s
        Seconds for all solves while open; the only use of the clock. At the limit the status is
        ``SolverStatus.LIMIT``.
    work_limit
        Maximum number of simplex steps of each solve: a limit that is the same on every computer.
    work
        Counts the work of all solves, together with other steps of the same search; at its limit the status
        is ``SolverStatus.LIMIT``.
    dual
        Use the dual simplex: faster for a single objective without a known point.

    Examples
    --------
    Two parts of a total of 10, the first at most 4.

    >>> program = LinearProgram(cost=0, relations=[[1, 1]], rhs=[10], lower=0, upper=[4, np.inf])
    >>> with open_program(program) as warm:
    ...     [warm.minimise(1).value, warm.maximise(1).value]
    [6.0, 10.0]
    """
    warm = Warm(
        program, threads=threads, time_limit_s=time_limit_s, work_limit=work_limit, work=work, dual=dual
    )
    try:
        yield warm
    finally:
        warm._highs = None  # noqa: SLF001 - frees the solver's memory now, not at the next collection


def solve(program: LinearProgram, **limits: Any) -> Solution:
    """Minimise the program's own cost once; limits as in :func:`open_program`."""
    with open_program(program, **limits) as warm:
        return warm.solve(program.cost)


Integers = NDArray[np.int64]


class GrowingProgram:
    """Minimise ``cost @ x`` over ``rows @ x == 0`` and ``0 <= x <= upper``, with a growing number of rows.

    Zero is feasible and every column is bounded, so there is always an optimum. Nothing is scaled: numbers
    other than costs should be near one.

    Examples
    --------
    Two columns must be equal; then the second must also be twice a third one, which is at most one half.

    >>> program = GrowingProgram()
    >>> program.add_columns(np.array([-1.0, 0.0]), np.array([4.0, 3.0]))
    >>> program.add_rows(np.array([0, 2]), np.array([0, 1]), np.array([1.0, -1.0]))
    >>> program.solve().tolist()
    [3.0, 3.0]
    >>> program.add_columns(np.array([0.0]), np.array([0.5]))
    >>> program.add_rows(np.array([0, 2]), np.array([1, 2]), np.array([1.0, -2.0]))
    >>> program.solve().tolist()
    [1.0, 1.0, 0.5]
    """

    def __init__(self) -> None:
        self._highs = simplex_engine(simplex_strategy=Simplex.DUAL)
        self._upper = np.zeros(0)
        # Row, column and coefficient of every entry, to check solutions.
        self._entries: list[tuple[Integers, Integers, Floats]] = []
        self._n_rows = 0

    def add_columns(self, cost: Floats, upper: Floats) -> None:
        """Add columns that are in no row yet; all bounds are finite."""
        n, nothing = len(cost), np.zeros(0, dtype=np.int32)
        begins = np.zeros(n, dtype=np.int32)
        added = self._highs.addCols(n, cost, np.zeros(n), upper, 0, begins, nothing, np.zeros(0))
        accept(added, "adding columns")
        self._upper = np.concatenate([self._upper, upper])

    def add_rows(self, begins: Integers, columns: Integers, coefficients: Floats) -> None:
        """Add rows that must be zero, as CSR arrays."""
        n, ends = len(begins) - 1, np.zeros(len(begins) - 1)
        places = begins[:-1].astype(np.int32), columns.astype(np.int32)
        accept(self._highs.addRows(n, ends, ends, len(columns), *places, coefficients), "adding rows")
        row = np.repeat(np.arange(self._n_rows, self._n_rows + n), np.diff(begins))
        self._entries.append((row, columns, coefficients))
        self._n_rows += n

    def solve(self) -> Floats | None:
        """Return an optimal point; None if the solver finds none within rows and bounds."""
        for again in (False, True):
            if again:
                self._highs.clearSolver()
            status = run(self._highs, 1)
            point: Any = self._highs.getSolution()
            if status is SolverStatus.OPTIMAL and point.value_valid:
                x = np.asarray(point.col_value)
                if self._meets(x):
                    return np.asarray(np.clip(x, 0.0, self._upper))
        return None

    def _meets(self, x: Floats) -> bool:
        slack = GRANTED + ROUNDING * self._upper
        if np.any(x < -slack) or np.any(x > self._upper + slack):
            return False
        off, size = np.zeros(self._n_rows), np.zeros(self._n_rows)
        for row, column, coefficient in self._entries:
            terms = coefficient * x[column]
            off += np.bincount(row, terms, self._n_rows)
            size += np.bincount(row, np.abs(terms), self._n_rows)
        return bool(np.all(np.abs(off) <= GRANTED + ROUNDING * size))
