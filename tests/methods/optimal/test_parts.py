"""Attackers of large tables part by part, against one linear program over all cells."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hitoku.methods.optimal import (
    Budget,
    LinearSubproblems,
    PartedSubproblems,
    capacity_cuts,
    levels_met,
    presolve,
    pushes_for,
)
from hitoku.model import Hierarchy, Need, Table


def two_hierarchies(seed: int, *, width: bool):
    rng = np.random.default_rng(seed)
    trees = {
        name: Hierarchy.from_tree({f"{name}{g}": [f"{name}{g}{m}" for m in range(4)] for g in range(3)})
        for name in ("a", "b")
    }
    codes = [[f"{name}{g}{m}" for g in range(3) for m in range(4)] for name in trees]
    grid = np.indices((12, 12)).reshape(2, -1)
    columns = {name: np.array(codes[k])[grid[k]] for k, name in enumerate(trees)}
    frame = pd.DataFrame({**columns, "x": rng.integers(1, 60, 144)})
    table = Table.from_frame(frame, by=list(trees), value="x", hierarchies=trees)
    unsafe = np.zeros(table.n_cells, dtype=bool)
    unsafe[rng.choice(np.flatnonzero(table.inner), 14, replace=False)] = True
    level = np.where(unsafe, np.ceil(0.3 * table.value), 0.0)
    need = Need(unsafe=unsafe, width=2 * level) if width else Need(unsafe=unsafe, lower=level, upper=level)
    nothing = np.zeros(table.n_cells, dtype=bool)
    return presolve(table, need, np.ones(table.n_cells), keep=nothing, withhold=nothing), rng


@pytest.mark.parametrize("width", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_part_ranges_equal_whole_ranges_with_proof(seed, width):
    instance, rng = two_hierarchies(seed, width=width)
    pushes = pushes_for(instance, np.arange(len(instance.levels)))
    n_short = n_flat = 0
    for share in (0.05, 0.15, 0.3, 0.6):
        for exact in (True, False):
            x = np.where(rng.random(len(instance)) < share, rng.choice([0.5, 1.0], len(instance)), 0.0)
            x = np.where(instance.forced, 1.0, np.rint(x) if exact else x)
            one, other = (
                engine(instance, Budget()).push(x, *pushes, exact=exact)
                for engine in (LinearSubproblems, PartedSubproblems)
            )
            if exact:
                np.testing.assert_allclose(other.reach, one.reach, atol=1e-6)
            else:
                # One program's point may serve a push with another level, whose rooms are cut down elsewhere.
                assert np.all(other.reach <= one.reach + 1e-6)
            short = ~levels_met(instance, other)
            n_short += int(short.sum())
            cuts = capacity_cuts(instance, other, short)
            violated = [float(c @ x[cells]) for cells, c in cuts]
            if exact:
                # A whole pattern violates the cut of every level that it does not reach.
                assert max(violated, default=0.0) < 1 - 1e-9
                assert len(violated) >= short.sum()
            n_flat += int((other.reach == 0).sum())
    assert n_short > 30
    assert n_flat > 10


def test_part_deviations_satisfy_every_relation():
    instance, rng = two_hierarchies(5, width=False)
    pushes = pushes_for(instance, np.arange(len(instance.levels)))
    x = np.where(instance.forced | (rng.random(len(instance)) < 0.3), 1.0, 0.0)
    pushed = PartedSubproblems(instance, Budget()).push(x, *pushes, exact=True, flows=True)
    assert pushed.flows is not None
    np.testing.assert_allclose(pushed.flows @ instance.relations.T, 0.0, atol=1e-6)
    own = pushed.flows[np.arange(len(pushed.level)), instance.levels.cell[pushed.level]]
    assert np.all(own * pushed.sense >= pushed.reach - 1e-6)
    assert np.all(np.abs(pushed.flows[:, x == 0]) < 1e-9)
    assert np.any(pushed.reach > 0)
