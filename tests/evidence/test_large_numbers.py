"""Numbers of very different size, with decimals: what can be proved is proved, rounding decides nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hitoku.evidence import audit
from hitoku.methods import Optimal
from hitoku.model import Hierarchy, Protection, Release, Table
from hitoku.rules import MinFrequency, assess

TREE = {f"g{i}": {f"h{i}{j}": [f"l{6 * i + 2 * j + k}" for k in (0, 1)] for j in range(3)} for i in range(5)}


def wide_table(seed: int) -> Table:
    """Make four decimals beside billions; some cells have a single respondent who reports nothing."""
    rng = np.random.default_rng(seed)
    value, count = np.round(np.exp(rng.normal(11, 4, (30, 4))), 4), rng.integers(3, 40, (30, 4))
    idle = rng.random((30, 4)) < 0.08
    value[idle], count[idle] = 0.0, 1
    cells = [
        {"a": f"l{i}", "b": f"b{j}", "v": value[i, j], "n": int(count[i, j])}
        for i in range(30)
        for j in range(4)
    ]
    trees = {"a": Hierarchy.from_tree(TREE)}
    return Table.from_frame(pd.DataFrame(cells), ["a", "b"], "v", frequency="n", hierarchies=trees)


SEEDS = [0, 1, 2, 5, 8]


@pytest.mark.parametrize("seed", SEEDS)
def test_fully_suppressed_release_is_safe(seed):
    """Cells of value zero, of which nothing is asked but not to be known: two were called undecided."""
    table = wide_table(seed)
    need = assess(table, [MinFrequency(3)])
    assert (need.unsafe & (table.value == 0)).any()
    everything = Protection.withhold(table, np.ones(table.n_cells, dtype=bool), need)
    found = audit(table, need, Release.of(table, everything))
    assert found.summary["undecided"] == 0
    assert found.safe


@pytest.mark.parametrize("seed", SEEDS)
def test_interrupted_optimal_returns_a_safe_pattern(seed):
    """It returned patterns in which cells of value zero could be worked out, or broke down."""
    table = wide_table(seed)
    need = assess(table, [MinFrequency(3)])
    found = Optimal(cost="value", work_limit=3).protect(table, need)
    assert not found.proven
    assert audit(table, need, Release.of(table, found)).safe
