"""Algorithm 1 of Minami and Abe (2019): complete the release in every way, suppress, compare."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hitoku.attacks.matching.attackers import Attacker
from hitoku.attacks.matching.candidates import Lattice
from hitoku.attacks.matching.matched import Matched, over_all, summed_up
from hitoku.attacks.matching.suppressor import Suppressor
from hitoku.errors import ParameterError
from hitoku.model import Bounds, Floats, Integers, Release
from hitoku.solver.work import Deadline


def enumerated(
    release: Release,
    suppressor: Suppressor,
    attacker: Attacker,
    limit: int,
    progress: Callable[[float, float], None] | None = None,
    deadline: Deadline | None = None,
) -> Matched:
    """Run the attack of the paper, with any method, on any relations.

    The paper updates the largest value only if the least was not updated, so that a single match never
    sets it; here the two are independent.
    """
    lattice = Lattice.of(release)
    solutions = lattice.tables(limit)
    if solutions is None:
        return unfinished(lattice.bounds, release, lattice.dimension, "enumerate")
    filled = lattice.filled(release, solutions)
    likelihood = suppressor.likelihoods(release, filled, progress, deadline)
    if np.isnan(likelihood).any():
        return unfinished(lattice.bounds, release, lattice.dimension, "enumerate")
    return judged(
        release,
        lattice.cells,
        solutions,
        likelihood,
        attacker,
        feasible=lattice.bounds,
        null_dimension=lattice.dimension,
        strategy="enumerate",
    )


def judged(
    release: Release,
    cells: Integers,
    solutions: Integers,
    likelihood: Floats,
    attacker: Attacker,
    *,
    feasible: Bounds,
    null_dimension: int,
    strategy: str,
) -> Matched:
    """Summarise an attacker's verdict on all candidates, given over the suppressed cells."""
    inner = np.ones(release.n_cells, dtype=np.bool_)
    inner[release.relations.indices[release.relations.data < 0]] = False
    weight = attacker.weights(solutions[:, inner[cells]], likelihood)
    keeps = attacker.keeps(likelihood) & (weight > 0)
    if not keeps.any():
        raise no_candidate()
    matched = solutions[keeps]
    values, posterior = summed_up(cells, matched, weight[keeps])
    least, most = matched.min(axis=0), matched.max(axis=0)
    exact = over_all(release.published, cells, least, most)
    return Matched(
        bounds=exact,
        met=exact,
        feasible=feasible,
        values=values,
        posterior=posterior,
        n_candidates=len(solutions),
        n_matched=len(matched),
        null_dimension=null_dimension,
        strategy=strategy,
    )


def unfinished(feasible: Bounds, release: Release, null_dimension: int, strategy: str) -> Matched:
    """Return the result for too many candidates: the intervals of an outsider."""
    return Matched(
        bounds=Bounds(lower=feasible.lower, upper=feasible.upper, unknown=release.withheld),
        met=None,
        feasible=feasible,
        null_dimension=null_dimension,
        strategy=strategy,
    )


def no_candidate() -> ParameterError:
    """Make the error for a release that no candidate reproduces: it was made differently."""
    return ParameterError(
        "no_table_leads_to_release",
        "no table leads to this release by this method, rules and width",
        where="Matching",
        fix="give the method, rules and width with which the release was made, fixed cells among its keep",
    )
