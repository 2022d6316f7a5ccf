"""Counts of a few units beside numbers of 10**15, and large numbers with decimals."""

from __future__ import annotations

import numpy as np
import pytest

from hitoku.errors import NeedError
from hitoku.evidence.audit import audit
from hitoku.methods.circulation import Circulation
from hitoku.methods.optimal import Optimal
from hitoku.model.need import Need
from hitoku.model.protection import Protection
from hitoku.model.release import Release
from hitoku.model.table import Table


def uneven(shape: tuple[int, ...]) -> tuple[Table, Need]:
    values = np.full(shape, float(10**15 // 7))
    values.flat[[0, 1, 4, 5]] = 3, 2, 5, 10**15
    table = Table.from_array(values)
    unsafe = table.inner & (table.value < 4)
    return table, Need(unsafe=unsafe, lower=1.0 * unsafe, upper=2.0 * unsafe)


@pytest.mark.parametrize("shape", [(3, 3), (3, 3, 2)])
def test_where_the_solver_gives_up_the_scale_is_named(shape):
    table, need = uneven(shape)
    with pytest.raises(NeedError, match="15 orders of magnitude"):
        Optimal(cost="value").protect(table, need)


def test_circulation_protects_them_where_boxes_reach():
    table, need = uneven((3, 3))
    found = Circulation().protect(table, need)
    assert audit(table, need, Release.of(table, found)).safe


@pytest.mark.parametrize("seed", range(10))
def test_large_numbers_with_decimals_are_decided(seed):
    """Every cell withheld: whatever is asked, nothing is left to doubt."""
    rng = np.random.default_rng(seed)
    table = Table.from_array(np.round(rng.lognormal(11, 2.5, (4, 4, 3)), 4))
    unsafe = table.inner & (rng.random(table.n_cells) < 0.5)
    level = np.where(unsafe, np.round(table.value * 0.07, 7), 0.0)
    everything = Protection.withhold(table, np.ones(table.n_cells, dtype=bool))
    verdict = audit(table, Need(unsafe=unsafe, lower=level, upper=level), Release.of(table, everything))
    assert verdict.summary["undecided"] == 0
    assert verdict.safe
