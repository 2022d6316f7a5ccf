"""Which sum of Lagrange multipliers is the ‖μ‖₁ of Table 1: several sums, compared with the printed ones.

In L2 the point of an optimum is unique and with it the multipliers of all bounds that hold a cell; in L1, and
for cells whose bounds are equal, there may be several.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hitoku.solver.closest import Norm, closest
from hitoku_papers.castro_2012.instances import TableInstance
from hitoku_papers.castro_2012.published import NORMS, dimensions, printed_name
from hitoku_papers.castro_2012.search import protection_problem
from hitoku_papers.page import Cell, PageTable

SUMS = {
    "moving": "bounds of cells that can move",
    "half": "the same, half of it: the convention ½ zᵀQz",
    "fixed": "cells with equal bounds alone",
    "both": "all cells",
    "relative": "bounds of cells that can move, times their values",
}
# A sum agrees when it rounds to the printed number, or is off by a hundredth of it.
HALF_A_DIGIT, SHARE = 0.005, 0.01


def sums(instance: TableInstance, norm: Norm) -> dict[str, float]:
    """Add up multipliers of the protector's problem in every way of ``SUMS``; empty without an answer."""
    problem = protection_problem(instance, norm)
    found = closest(problem, norm)
    if found.multiplier is None or found.duals is None:
        return {}
    held = problem.lower == problem.upper
    moving = float(np.abs(found.multiplier).sum())
    fixed = float(np.abs(problem.relations.T @ found.duals)[held].sum())
    return {
        "moving": moving,
        "half": moving / 2,
        "fixed": fixed,
        "both": moving + fixed,
        "relative": float(np.abs(found.multiplier * instance.value).sum()),
    }


def agrees(ours: float, printed: float) -> bool:
    """Tell whether a sum is the printed number.

    Examples
    --------
    >>> agrees(0.0144, 0.01), agrees(24.06, 24.19), agrees(0.65, 0.46)
    (True, True, False)
    """
    return abs(ours - printed) <= max(HALF_A_DIGIT, SHARE * printed)


def multiplier_table(instances: Sequence[TableInstance]) -> PageTable:
    """List printed and computed sums of instances of the paper, and count where they agree."""
    rows: list[tuple[Cell, ...]] = []
    named = [instance for instance in instances if printed_name(instance.name) in dimensions()]
    for norm in NORMS:
        agreed = dict.fromkeys(SUMS, 0)
        for instance in named:
            printed = dimensions()[printed_name(instance.name)].multipliers[norm]
            own = sums(instance, norm)  # type: ignore[arg-type]  # the paper's norms are ours
            rows.append((norm.upper(), instance.name, printed, *(own.get(name) for name in SUMS)))
            for name, total in own.items():
                agreed[name] += agrees(total, printed)
        rows.append((norm.upper(), "agree", len(named), *agreed.values()))
    return PageTable(
        "‖μ‖₁ of Table 1: which multipliers were added up?",
        ("norm", "instance", "printed", *SUMS),
        tuple(rows),
        "; ".join(f"{name}: {words}" for name, words in SUMS.items()) + ".",
        digits=3,
        words=2,
    )
