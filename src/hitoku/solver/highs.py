"""Interface to HiGHS: create, scale, run and read models.

Tolerances of HiGHS are absolute, so models are scaled by powers of two, which is exact in doubles. All HiGHS
objects in a process share one scheduler and therefore one thread count. A failed run keeps the old model
status, so every return code is checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hitoku.errors import SolverError
from hitoku.solver.solution import BASIC, FREE, LOWER, UPPER, Basis, SolverStatus

Floats = NDArray[np.float64]

# Required of HiGHS, on scaled data. Its own default (1e-7) would let a cell of a large table drift visibly.
FEASIBLE = 1e-9
FEASIBLE_AGAIN = FEASIBLE / 10
# Accepted by hitoku's check: ten times the requirement, plus the rounding of a long sum of doubles.
GRANTED, ROUNDING = 10 * FEASIBLE, 1e-12
# A bound recomputed from multipliers is proven up to this: the gap of an optimum as a share of its terms, and
# how much the combination of rows that shows infeasibility must exceed what columns can supply.
PROOF = 1e-7
# The largest iteration limit that HiGHS accepts.
NO_LIMIT = int(np.iinfo(np.int32).max)

STATUSES = {
    highspy.HighsModelStatus.kOptimal: SolverStatus.OPTIMAL,
    highspy.HighsModelStatus.kInfeasible: SolverStatus.INFEASIBLE,
    highspy.HighsModelStatus.kUnbounded: SolverStatus.UNBOUNDED,
    highspy.HighsModelStatus.kTimeLimit: SolverStatus.LIMIT,
    highspy.HighsModelStatus.kIterationLimit: SolverStatus.LIMIT,
    highspy.HighsModelStatus.kSolutionLimit: SolverStatus.LIMIT,
    highspy.HighsModelStatus.kInterrupt: SolverStatus.LIMIT,
}
PLACES = {
    highspy.HighsBasisStatus.kBasic: BASIC,
    highspy.HighsBasisStatus.kLower: LOWER,
    highspy.HighsBasisStatus.kUpper: UPPER,
    highspy.HighsBasisStatus.kZero: FREE,
    highspy.HighsBasisStatus.kNonbasic: LOWER,
}


class Simplex(IntEnum):
    """Simplex algorithms, by their codes in HiGHS."""

    DUAL = 1
    PRIMAL = 4


class _Scheduler:
    """Thread count of the process-wide scheduler of HiGHS."""

    threads: int | None = None


def power_of_two(size: Floats | float) -> Any:
    """Return the nearest power of two, elementwise; one if the size is zero or not finite."""
    size = np.abs(np.asarray(size, dtype=np.float64))
    usable = np.isfinite(size) & (size > 0)
    return np.where(usable, np.exp2(np.round(np.log2(np.where(usable, size, 1.0)))), 1.0)


@dataclass(frozen=True, slots=True)
class Scale:
    """Scaling ``x = column * y``, with row i times ``row[i]``: powers of two, so nothing is rounded."""

    column: Floats
    row: Floats

    @classmethod
    def of(cls, relations: sparse.csr_array, sizes: Floats, fixed: NDArray[np.bool_] | None = None) -> Scale:
        """Choose one unit for all columns from the sizes in the data; ``fixed`` columns are not scaled.

        One common unit keeps the coefficients of a table at plus and minus one.
        """
        sizes = np.abs(sizes[np.isfinite(sizes) & (sizes != 0)])
        unit = 1.0
        if len(sizes):
            # Scaled numbers stay below 2**30, or the absolute tolerance would fall under their rounding.
            unit = float(power_of_two(max(float(np.median(sizes)), float(sizes.max()) / 2.0**30)))
        column = np.full(relations.shape[1], unit)
        if fixed is not None:
            column[fixed] = 1.0
        weight = np.abs(relations.data) * column[relations.indices]
        largest = np.zeros(relations.shape[0])
        np.maximum.at(largest, np.repeat(np.arange(len(largest)), np.diff(relations.indptr)), weight)
        return cls(column, 1.0 / power_of_two(largest))

    def matrix(self, relations: sparse.csr_array) -> Floats:
        """Return the scaled coefficients, in the order of the matrix' own data."""
        per_row = np.repeat(self.row, np.diff(relations.indptr))
        return np.asarray(relations.data * per_row * self.column[relations.indices])


def engine(options: dict[str, Any]) -> Any:
    """Return a silent HiGHS object with these options."""
    highs = highspy.Highs()
    # HiGHS drops smaller coefficients, with a warning; this is the smallest value that it allows. A small
    # cell may have a share of its default, 1e-9, in a large total.
    for name, setting in {"output_flag": False, "small_matrix_value": ROUNDING, **options}.items():
        accept(highs.setOptionValue(name, setting), f"setting option {name}")
    return highs


def simplex_engine(**options: Any) -> Any:
    """Return a HiGHS object for a linear program that is re-solved from its last basis."""
    return engine(
        {
            "threads": 1,
            "solver": "simplex",
            "presolve": "off",
            "primal_feasibility_tolerance": FEASIBLE,
            "dual_feasibility_tolerance": FEASIBLE,
            **options,
        }
    )


def hand_over(
    highs: Any,
    relations: sparse.csr_array,
    scaled: Floats,
    cost: Floats,
    bounds: tuple[Floats, Floats],
    rows: tuple[Floats, Floats],
    integer: NDArray[np.bool_] | None = None,
) -> None:
    """Pass a scaled model to HiGHS."""
    n_rows, n_columns = relations.shape
    kinds = np.zeros(n_columns, dtype=np.int32) if integer is None else integer.astype(np.int32)
    rowwise, minimise = 2, 1  # codes of HiGHS
    passed = highs.passModel(
        *(n_columns, n_rows, relations.nnz, rowwise, minimise, 0.0, cost, *bounds, *rows),
        *(relations.indptr.astype(np.int32), relations.indices.astype(np.int32), scaled, kinds),
    )
    accept(passed, "passing the model")


def run(highs: Any, threads: int) -> SolverStatus | None:
    """Run HiGHS and translate the status; None if it is unknown."""
    if _Scheduler.threads != threads:
        # Otherwise HiGHS returns kError for every object with another thread count than the first.
        highspy.Highs.resetGlobalScheduler(True)
        _Scheduler.threads = threads
    returned = highs.run()
    if returned == highspy.HighsStatus.kError:
        return None
    return STATUSES.get(highs.getModelStatus())


def accept(returned: Any, doing: str) -> None:
    """Raise SolverError unless HiGHS returned success; a warning counts as a failure."""
    if returned != highspy.HighsStatus.kOk:
        raise SolverError(
            "highs_refused",
            "HiGHS refused: {action}",
            where="solver",
            fix="report this together with the size of the table",
            action=doing,
        )


def basis_of(highs: Any) -> Basis | None:
    """Return the current basis, None if it is invalid."""
    basis = highs.getBasis()
    if not basis.valid:
        return None
    return Basis(
        np.array([PLACES[status] for status in basis.col_status], dtype=np.int8),
        np.array([PLACES[status] for status in basis.row_status], dtype=np.int8),
    )
