"""Counts of a few units beside numbers of 10**15, and large numbers with decimals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitoku.errors import NeedError, ScopeError
from hitoku.evidence import audit
from hitoku.methods import METHODS, Gauss, Greedy, Promise, traits_of, with_known_rules
from hitoku.methods.circulation import Circulation
from hitoku.methods.optimal import Optimal
from hitoku.model import Need, Protection, Release, Table
from hitoku.rules import MinFrequency, assess


def uneven(shape: tuple[int, ...]) -> tuple[Table, Need]:
    values = np.full(shape, float(10**15 // 7))
    values.flat[[0, 1, 4, 5]] = 3, 2, 5, 10**15
    table = Table.from_array(values)
    unsafe = table.inner & (table.value < 4)
    return table, Need(unsafe=unsafe, lower=1.0 * unsafe, upper=2.0 * unsafe)


@pytest.mark.parametrize("shape", [(3, 3), (3, 3, 2)])
def test_solver_failure_names_the_scale(shape):
    table, need = uneven(shape)
    with pytest.raises(NeedError, match="15 orders of magnitude"):
        Optimal(cost="value").protect(table, need)


def test_circulation_protects_large_values_by_hypercubes():
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


RULES = [MinFrequency(4)]
EVERY = {name: with_known_rules(method(), RULES, 5) for name, method in METHODS.items()} | {
    "greedy, closing": Greedy(prefer="closing", tidy=True),
    "gauss with widths": Gauss(width=True),
}


@st.composite
def far_apart(draw) -> tuple[Table, Need]:
    """Draw counts of a few units beside numbers of 15 digits, and levels of one size or of many."""
    shape = draw(st.sampled_from([(3, 3), (4, 3), (3, 2, 2)]))
    n = int(np.prod(shape))
    large = st.integers(0, 14).flatmap(lambda digits: st.integers(10**digits, 9 * 10**digits))
    cells = draw(st.lists(st.one_of(st.integers(0, 11), large), min_size=n, max_size=n))
    table = Table.from_array(np.array(cells).reshape(shape), frequency=np.array(cells).reshape(shape))
    if draw(st.booleans()):
        return table, assess(table, RULES, width=5)
    unsafe = table.inner & np.array(
        draw(st.lists(st.booleans(), min_size=table.n_cells, max_size=table.n_cells))
    )
    level = np.where(unsafe, np.ceil(table.value / 10) + 1, 0.0)
    return table, Need(unsafe=unsafe, lower=np.minimum(level, table.value), upper=level)


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=8)
@given(asked=far_apart())
def test_method_solves_or_names_the_scale(name, asked):
    (table, need), method = asked, EVERY[name]
    try:
        release = Release.of(table, method.protect(table, need))
    except ScopeError:
        assert traits_of(method).scope
    except NeedError as refused:
        if "orders of magnitude apart" not in refused.what:
            everything = Protection.withhold(table, np.ones(table.n_cells, dtype=bool), need)
            assert not audit(table, need, Release.of(table, everything)).safe
    else:
        answers = traits_of(method).promise is not Promise.EXACT_ONLY or method.width is not None
        assert not answers or audit(table, need, release).safe


@pytest.mark.parametrize("method", [Greedy(), Greedy(prefer="closing", tidy=True)], ids=repr)
@pytest.mark.parametrize("large", [10**6, 10**9])
def test_slightly_movable_million_is_not_redundant(method, large):
    """It was published again, as if everybody could tell it; and the count of three with it."""
    table = Table.from_array(
        [[3, large, 40 * large], [2, 2 * large, 30 * large], [70 * large, 80 * large, 5]]
    )
    need = Need(unsafe=table.inner & (table.value < 4), width=3.0)
    found = method.protect(table, need)
    assert audit(table, need, Release.of(table, found)).safe
