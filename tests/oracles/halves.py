"""{0, 1/2} cuts by plain arrays: sums of whole rows made even by bounds, halved and rounded up."""

from __future__ import annotations

from itertools import product

import numpy as np


def cheapest_expense(odd_columns, odd, x):
    """Try every choice of bounds for the odd columns; the right-hand side must come out odd."""
    best = np.inf
    for down in product((False, True), repeat=len(odd_columns)):
        if odd != (sum(down) % 2 == 1):
            best = min(best, sum(1 - x[j] if d else x[j] for j, d in zip(odd_columns, down, strict=True)))
    return best


def halved(total, right, x, least):
    """Return the rows, and how far x violates them; None for sums that say nothing or are met.

    One sum of rows per line of ``total``, which are whole.
    """
    found = []
    for row, whole in zip(total, right, strict=True):
        uneven = row % 2 != 0
        down = uneven & (x > 0.5)
        even = (whole - down.sum()) % 2 == 0
        if even and not uneven.any():
            continue
        if even:
            down[np.where(uneven, np.abs(1 - 2 * x), np.inf).argmin()] ^= True
        even_row = row + np.where(uneven, np.where(down, -1.0, 1.0), 0.0)
        half = (whole - down.sum() + 1) // 2
        if half < 1:
            continue
        c = np.minimum(even_row / 2 / half, 1.0)
        if 1 - c @ x >= least / half:
            norm = np.sqrt(c @ c)
            found.append((c, (1 - c @ x) / norm if norm else np.inf))
    return found
