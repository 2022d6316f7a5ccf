"""Counts and magnitudes of one breakdown that are published together: consistent tables of both.

An attacker with both tables knows that a cell without contributors has no magnitude. So a table of magnitudes
that agrees with the published ones is feasible only together with a table of counts that agrees with the
published counts and has contributors wherever there is a magnitude; and vice versa. Each release
therefore names one table of the other measure, its companion, which is consistent with every witness of the
release. Consistency is expressed by bounds of cells: with a fixed companion these suffice.

The companion of the counts is the true table of magnitudes. That of the magnitudes is a table of counts in
which as many of the empty cells have contributors as the published counts allow. See
``docs/explanation/derivable-groups.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse

from hitoku.errors import ParameterError
from hitoku.evidence.grid import Grid, text
from hitoku.model import LIMIT, Floats, Mask, Release, Table
from hitoku.solver import integer

# Nodes of the search for a companion; cells that it has not decided by then are empty.
COMPANION_NODES = 1_000
# Default public bounds of one contribution to a cell: any nonnegative number.
ANY_CONTRIBUTION = (0.0, np.inf)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Beside:
    """The other measure of a release."""

    kind: Literal["counts", "amounts"]  # Kind of the other measure.
    table: Table  # Its true values.
    withheld: Mask  # Its cells that are not published.
    companion: Floats  # Values of it that agree with its release, and with every witness of this one.
    contribution: tuple[float, float] = ANY_CONTRIBUTION  # Publicly known bounds of a single contribution.

    def written(self) -> dict[str, Any]:
        """Return it for a certificate, in exact numbers."""
        grid, world = Grid.of(self.table.value), Grid.of(self.companion)
        moved = np.flatnonzero(self.companion != self.table.value).tolist()
        low, high = (
            None if np.isinf(end) else text(Grid.of(np.array([end])).value(0)) for end in self.contribution
        )
        return {
            "kind": self.kind,
            "values": list(grid.texts),
            "withheld": np.flatnonzero(self.withheld).tolist(),
            "companion": {
                "cells": moved,
                "differences": [text(world.value(cell) - grid.value(cell)) for cell in moved],
            },
            "contribution": [low, high],
        }


def counts_that_fit(counts: Table, amounts: Table, contribution: tuple[float, float]) -> Table:
    """Return a table of counts with the bounds that follow from the true magnitudes.

    Examples
    --------
    >>> amounts = Table.from_array([[30.5, 0.0], [4.0, 61.0]], frequency=[[5, 1], [2, 9]])
    >>> counts = Table.from_array([[5, 1], [2, 9]])
    >>> counts_that_fit(counts, amounts, ANY_CONTRIBUTION).lower.tolist()[:5]
    [1.0, 0.0, 1.0, 1.0, 1.0]
    """
    low, high = contribution
    value, rounding = np.abs(amounts.value), LIMIT * np.abs(amounts.value)
    least = np.where(value > 0, np.maximum(np.ceil((value - rounding) / high), 1.0), 0.0)
    most = np.floor((value + rounding) / low) if low > 0 else np.inf
    return replace(counts, lower=np.maximum(counts.lower, least), upper=np.minimum(counts.upper, most))


def amounts_that_fit(amounts: Table, companion: Floats, contribution: tuple[float, float]) -> Table:
    """Return a table of magnitudes with the bounds that follow from a table of counts.

    Examples
    --------
    >>> amounts = Table.from_array([[30.5, 0.0], [4.0, 61.0]], frequency=[[5, 0], [2, 9]])
    >>> amounts_that_fit(amounts, amounts.frequency, ANY_CONTRIBUTION).upper.tolist()[:3]
    [inf, 0.0, inf]
    """
    low, high = contribution
    empty = companion == 0
    with np.errstate(invalid="ignore"):
        least = np.where(empty, 0.0, low * companion) if low > 0 else np.where(empty, 0.0, -np.inf)
        most = np.where(empty, 0.0, high * companion)
    # A bound that equals the value up to rounding is the value.
    return replace(
        amounts,
        lower=np.minimum(np.maximum(amounts.lower, least), amounts.value),
        upper=np.maximum(np.minimum(amounts.upper, most), amounts.value),
    )


def checked_contribution(amounts: Table, counts: Table, given: tuple[float, float]) -> tuple[float, float]:
    """Return the given bounds of a contribution, if the true table satisfies them."""
    low, high = (float(end) for end in given)
    if not 0 <= low <= high or np.isinf(low) or high == 0:
        raise ParameterError(
            "contribution_bounds_invalid",
            "bounds of a contribution must be 0 <= lower <= upper",
            where="contribution_bounds",
            fix="write (0, inf) if attackers know nothing about single contributions",
        )
    if (low, high) == ANY_CONTRIBUTION:
        return low, high
    rounding = LIMIT * np.abs(amounts.value)
    with np.errstate(invalid="ignore"):
        most = np.where(counts.value > 0, high * counts.value, 0.0)
    beyond = (amounts.value < low * counts.value - rounding) | (amounts.value > most + rounding)
    if np.any(beyond) or np.any(amounts.lower < 0):
        raise ParameterError(
            "contribution_bounds_do_not_fit",
            "{n} cell(s) have amounts beyond what their contributors could add up to",
            where="contribution_bounds",
            fix="use bounds that hold for every contribution; for negative amounts there are none",
            n=int(np.sum(beyond)),
        )
    return low, high


def companion_of(counts: Table, release: Release) -> Floats:
    """Return a table of counts that agrees with the published ones and has few empty cells.

    Cells that are not empty stay so. Empty ones may have contributors if their count is suppressed and
    no relation of published counts excludes it.

    Parameters
    ----------
    counts
        True counts.
    release
        Release of the counts.

    Examples
    --------
    >>> from hitoku.model import Protection
    >>> table = Table.from_array([[3, 0, 5], [2, 4, 9]])
    >>> release = Release.of(table, Protection.withhold(table, np.isin(np.arange(12), [0, 1, 4, 5])))
    >>> companion_of(table, release).tolist()[:6]
    [2.0, 1.0, 5.0, 8.0, 3.0, 3.0]
    """
    truth = counts.value
    withheld = np.flatnonzero(release.withheld)
    open_cells = np.flatnonzero((truth[withheld] == 0) & (release.upper[withheld] > 0))
    if len(open_cells) == 0:
        return np.array(truth)
    n, k = len(withheld), len(open_cells)
    # One for each empty cell that gets a contributor, which is a lower bound of its count.
    upper = np.concatenate([release.upper[withheld] - truth[withheld], np.ones(k), np.full(k, np.inf)])
    lower = np.zeros(n + 2 * k)
    lower[:n] = np.maximum(release.lower[withheld], np.minimum(truth[withheld], 1.0)) - truth[withheld]
    restricted = sparse.csr_array(release.relations[:, withheld])
    restricted = restricted[np.diff(restricted.indptr) > 0]
    picked = sparse.csr_array((np.ones(k), (np.arange(k), open_cells)), shape=(k, n))
    above = sparse.hstack([picked, -sparse.eye_array(k), -sparse.eye_array(k)])
    rows = sparse.vstack(
        [sparse.hstack([restricted, sparse.csr_array((restricted.shape[0], 2 * k))]), above], format="csr"
    )
    cost = np.concatenate([np.zeros(n), -np.ones(k), np.zeros(k)])
    program = integer.IntegerProgram(cost, rows, np.zeros(rows.shape[0]), lower, upper)
    found = integer.solve(program, start=np.zeros(n + 2 * k), work_limit=COMPANION_NODES)
    if found.x is None:
        return np.array(truth)
    world = np.array(truth)
    world[withheld] += np.rint(found.x[:n])
    keeps = np.all(world >= release.lower) and np.all(world <= release.upper)
    return world if keeps and not np.any(release.relations @ world) else np.array(truth)
