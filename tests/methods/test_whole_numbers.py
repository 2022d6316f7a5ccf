"""Counts beyond two dimensions: a pattern that is wide enough for real numbers need not be for whole ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitoku.attacks import derivable_cells
from hitoku.errors import NeedError, ScopeError
from hitoku.evidence import audit
from hitoku.methods import (
    METHODS,
    Promise,
    narrow_in_whole_numbers,
    shown_by_moves,
    traits_of,
    with_known_rules,
)
from hitoku.methods.gauss import Gauss
from hitoku.methods.greedy import Greedy
from hitoku.methods.optimal import Optimal
from hitoku.model import Deviations, Need, Protection, Reason, Release, Table
from hitoku.rules import MinFrequency, assess

CLOSING = Greedy(prefer="closing", tidy=True)


def counts(seed: int) -> tuple[Table, Need]:
    cells = np.random.default_rng(seed).integers(0, 3, (3, 3, 3))
    table = Table.from_array(cells, frequency=cells)
    return table, assess(table, [MinFrequency(2)], width=1, groups=False)


# Found by trying: what these methods decide without a look at whole numbers is refused by the audit.
CASES = [
    pytest.param(Greedy(), 4, id="greedy"),
    pytest.param(CLOSING, 12, id="greedy, closing"),
    pytest.param(Gauss(width=True), 3, id="gauss with widths"),
]


@pytest.mark.parametrize(("method", "seed"), CASES)
def test_method_continues_until_integer_audit_passes(method, seed):
    table, need = counts(seed)
    before = method.decide(table, need)
    assert not audit(table, need, Release.of(table, before)).safe
    found = method.protect(table, need)
    assert audit(table, need, Release.of(table, found)).safe
    assert np.all(found.withheld >= before.withheld)
    assert not found.proven
    new = np.flatnonzero(found.withheld & ~before.withheld).tolist()
    assert sorted(step.cell for step in found.steps if step.reason is Reason.WHOLE) == new


def test_additional_cells_keep_the_proven_bound():
    # Found by trying, too: the optimum over real numbers is no pattern for whole ones.
    table, need = counts(48)
    before = Optimal().decide(table, need)
    found = Optimal().protect(table, need)
    assert before.proven
    assert found.cost > before.cost
    assert not found.proven
    assert found.cost * (1 - found.gap) == pytest.approx(before.cost)
    # A method that proves nothing still knows nothing.
    assert np.isnan(Greedy().protect(*counts(4)).gap)


def test_unprotectable_integer_cell_raises_with_cells():
    table, need = counts(4)
    before = Greedy().decide(table, need)
    stuck = replace(table, fixed=~before.withheld)
    with pytest.raises(NeedError, match="whole numbers") as refused:
        Greedy().protect(stuck, need)
    assert "=" in refused.value.where


def test_method_without_interval_promise_is_unchanged():
    table, need = counts(4)
    plain = Gauss().decide(table, need)
    assert np.array_equal(Gauss().protect(table, need).withheld, plain.withheld)


def test_narrow_cells_match_audit():
    table, need = counts(14)
    before = Greedy().decide(table, need)
    verdict = audit(table, need, Release.of(table, before))
    failed = [cell for cell, outcome in verdict.outcomes.items() if outcome != "safe"]
    assert failed
    assert narrow_in_whole_numbers(table, need, before.withheld).tolist() == failed


@pytest.mark.parametrize(
    ("cells", "amounts", "scale", "shown"),
    [
        pytest.param([0, 1, 3, 4], [2, -2, -2, 2], 1, True, id="a box, forth and back"),
        pytest.param([0, 1, 3, 4], [1, -1, -1, 1], 1, False, id="not far enough"),
        pytest.param([0, 1, 3, 4], [2, -2, -2, 2], 2, False, id="halves"),
        pytest.param([0, 1, 3, 4], [9, -9, -9, 9], 1, False, id="below zero, both ways"),
        pytest.param([0, 1, 3, 4], [2, -2, 2, -2], 1, False, id="sums change"),
        pytest.param([0, 2, 6, 8], [2, -2, -2, 2], 1, False, id="published cells change"),
    ],
)
def test_given_deviations_count_only_if_feasible(cells, amounts, scale, shown):
    table = Table.from_array([[3, 5], [4, 6]])
    need = Need(unsafe=table.value == 3, lower=2.0, upper=2.0)
    deviations = Deviations(np.array([0, 4]), np.array(cells), np.array(amounts), scale)
    found = replace(Protection.withhold(table, table.inner, need), deviations=deviations)
    assert shown_by_moves(table, need, found) is shown


EVERY = {name: with_known_rules(method(), [MinFrequency(2)], 1) for name, method in METHODS.items()} | {
    "greedy, closing": CLOSING,
    "gauss with widths": Gauss(width=True),
}


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=6)
@given(cells=st.lists(st.integers(0, 2), min_size=27, max_size=27))
def test_method_result_passes_integer_audit(name, cells):
    counts = np.array(cells).reshape(3, 3, 3)
    table, method = Table.from_array(counts, frequency=counts), EVERY[name]
    need = assess(table, [MinFrequency(2)], width=1, groups=False)
    try:
        release = Release.of(table, method.protect(table, need))
    except ScopeError:
        assert traits_of(method).scope
        return
    except NeedError:
        everything = Protection.withhold(table, np.ones(table.n_cells, dtype=bool), need)
        assert not audit(table, need, Release.of(table, everything)).safe
        return
    if traits_of(method).promise is Promise.EXACT_ONLY and method.width is None:
        assert not np.any(derivable_cells(release) & need.unsafe)
    else:
        assert audit(table, need, release).safe
