"""τ-ARGUS statuses and levels of one cell, straight from the definitions; slow and plain."""

from __future__ import annotations

from collections.abc import Sequence


def cell_status(
    contributions: Sequence[float], *, p: float = 0, nk: tuple[int, float] | None = None, least: int = 0
) -> int:
    """Return the status of a cell: empty, dominance, p%, frequency, in this order; the first hit counts."""
    ranked, total = sorted(contributions, reverse=True), sum(contributions)
    if not ranked:
        return 14
    if nk is not None and sum(ranked[: nk[0]]) > nk[1] / 100 * total:
        return 3
    if p and total - sum(ranked[:2]) < p / 100 * ranked[0]:
        return 3
    return 5 if len(ranked) < least else 1


def cell_level(
    contributions: Sequence[float],
    *,
    p: float = 0,
    nk: tuple[int, float] | None = None,
    least: int = 0,
    percent: float = 0,
    step: float = 1,
) -> float:
    """Return the upper level of a cell: the largest that any rule that hits asks for, one step at least."""
    ranked, total = sorted(contributions, reverse=True), sum(contributions)
    levels = []
    if ranked and nk is not None and sum(ranked[: nk[0]]) > nk[1] / 100 * total:
        levels.append(100 / nk[1] * sum(ranked[: nk[0]]) - total)
    if ranked and p and total - sum(ranked[:2]) < p / 100 * ranked[0]:
        levels.append(p / 100 * ranked[0] + sum(ranked[:2]) - total)
    if 0 < len(ranked) < least:
        levels.append(percent / 100 * total)
    return max([*levels, step]) if levels else 0.0
