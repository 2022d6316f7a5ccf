"""What a coalition knows is written down where it knows more than everybody, and nowhere else."""

from __future__ import annotations

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st
from tests.strategies import magnitude_tables

from hitoku.coalitions import Knowledge
from hitoku.feasibility import Incidence, Propagation
from hitoku.model import Protection, Release, slack


@given(table=magnitude_tables(), seed=st.integers(0, 2**16))
def test_cached_knowledge_matches_full_propagation(table, seed):
    random = np.random.default_rng(seed)
    knowledge = Knowledge(table, Release.of(table, Protection.withhold(table, table.inner)))
    chains = Propagation(Incidence.of(table.relations), slack(table.value))
    for _ in range(2):  # What one knew is forgotten when the next one is asked.
        cells = np.flatnonzero(random.random(table.n_cells) < 0.2)
        sole = random.random(len(cells)) < 0.5
        share = np.where(sole, 1.0, 0.5) * table.value[cells]
        own = {int(c): (float(a), bool(s), None) for c, a, s in zip(cells, share, sole, strict=True)}
        lower, upper = (side.copy() for side in knowledge.public)
        lower[cells] = np.where(sole | (lower[cells] >= 0), np.maximum(lower[cells], share), lower[cells])
        upper[cells[sole]] = table.value[cells[sole]]
        chains.tighten(lower, upper)
        known = knowledge.of([own])
        event(f"more than was told: {len(known.cells) > len(cells)}")
        near = 1e-6 * max(1.0, np.abs(table.value).max())
        np.testing.assert_allclose(known.of_all()[0], np.minimum(lower, table.value), atol=near)
        np.testing.assert_allclose(known.of_all()[1], np.maximum(upper, table.value), atol=near)
        some = random.permutation(table.n_cells)[:5]
        np.testing.assert_array_equal(known.of(some), [side[some] for side in known.of_all()])
    assert str(table.n_cells) in repr(known)
