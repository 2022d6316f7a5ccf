"""Which groups several outputs single out: one linear program per combination of codes that occurs."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog


def exposed_units(outputs: list[np.ndarray], threshold: int) -> np.ndarray:
    """Units whose atom (combination of codes over all outputs) can hold fewer units than the threshold.

    ``outputs`` are cell numbers per unit, 0 for units that no published cell counts. A reader is assumed to
    know which combinations occur.
    """
    codes = np.stack(outputs, axis=1)
    atoms, which = np.unique(codes, axis=0, return_inverse=True)
    rows, sums = [], []
    for output in range(codes.shape[1]):
        for cell in range(1, codes[:, output].max(initial=0) + 1):
            rows.append((atoms[:, output] == cell).astype(float))
            sums.append(int(np.sum(codes[:, output] == cell)))
    small = np.zeros(len(atoms), dtype=bool)
    for atom, signature in enumerate(atoms):
        if signature.any():
            cost = np.zeros(len(atoms))
            cost[atom] = -1.0
            solved = linprog(cost, A_eq=np.array(rows), b_eq=sums, bounds=(0, None))
            small[atom] = -solved.fun < threshold - 1e-6
    return small[np.ravel(which)]
