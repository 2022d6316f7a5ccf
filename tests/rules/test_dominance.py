from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import (
    contributions,
    dimension_tuples,
    magnitude_tables,
    record_lists,
    table_from_records,
)

from hitoku.errors import RuleError
from hitoku.model import Contributors, Table
from hitoku.rules import Dominance
from hitoku.tabulation import tabulate
from hitoku.testing import one_cell

SIZES = st.lists(st.integers(0, 1000), max_size=8)


@pytest.mark.parametrize(
    ("n", "k", "contributed", "unsafe", "level"),
    [
        pytest.param(1, 75, (90, 6, 4), True, 20.0, id="90 of 100; of 120 it would be 75%"),
        pytest.param(1, 75, (75, 15, 10), False, 0.0, id="exactly k percent is safe"),
        pytest.param(1, 75, (75.1, 24.9), True, 7.51 / 0.075 - 100, id="a tenth of a percent more"),
        pytest.param(2, 80, (60, 30, 10), True, 12.5, id="two together hold 90%"),
        pytest.param(2, 80, (50, 30, 20), False, 0.0, id="two together hold exactly 80%"),
        pytest.param(1, 50, (40,), True, 40.0, id="single contributor"),
        pytest.param(1, 100, (40,), False, 0.0, id="nobody holds more than everything"),
        pytest.param(2, 60, (), False, 0.0, id="empty cell has nothing to hide"),
        pytest.param(2, 60, (0, 0), False, 0.0, id="zeros dominate nothing"),
    ],
)
def test_dominance_rule_matches_definition(n, k, contributed, unsafe, level):
    need = Dominance(n, k).assess(one_cell(*contributed))
    assert bool(need.unsafe[0]) is unsafe
    assert need.upper[0] == pytest.approx(level)
    assert need.lower[0] == need.upper[0], "symmetric, as long as zero is far enough"


@given(data=st.data(), n=st.integers(1, 3), k=st.integers(1, 100))
def test_rule_matches_sum_of_contributions(data, n, k):
    dimensions = data.draw(dimension_tuples(hierarchical=data.draw(st.booleans())))
    records = data.draw(record_lists(dimensions))
    need = Dominance(n, k).assess(table_from_records(dimensions, records))
    for cell, behind in enumerate(contributions(dimensions, records, "unit")):
        sizes = sorted((Fraction(size) for size in behind.values()), reverse=True)
        assert bool(need.unsafe[cell]) is (100 * sum(sizes[:n]) > k * sum(sizes))


@given(sizes=SIZES, n=st.integers(1, 3), k=st.integers(1, 100))
def test_level_is_the_shortfall_of_the_total(sizes, n, k):
    table = one_cell(*sizes)
    need = Dominance(n, k).assess(table)
    if need.unsafe[0]:
        top = sum(sorted(sizes, reverse=True)[:n])
        assert 100 * top == pytest.approx(k * (table.value[0] + need.upper[0]))


@given(sizes=SIZES, n=st.integers(1, 2), k=st.integers(2, 100))
def test_stricter_parameters_never_free_a_cell(sizes, n, k):
    table = one_cell(*sizes)
    mild = Dominance(n, k).assess(table)
    for strict in (Dominance(n + 1, k), Dominance(n, k - 1)):
        need = strict.assess(table)
        assert need.unsafe[0] >= mild.unsafe[0]
        assert need.upper[0] >= mild.upper[0] - 1e-9


@given(one=SIZES, other=SIZES, n=st.integers(1, 3), k=st.integers(1, 100))
def test_sum_of_safe_cells_is_safe(one, other, n, k):
    rule = Dominance(n, k)
    if not (rule.assess(one_cell(*one)).unsafe[0] or rule.assess(one_cell(*other)).unsafe[0]):
        assert not rule.assess(one_cell(*one, *other)).unsafe[0]


@given(sizes=SIZES, n=st.integers(1, 3), k=st.integers(1, 100), scale=st.sampled_from([0.01, 0.3, 7, 1e9]))
def test_result_is_independent_of_the_unit(sizes, n, k, scale):
    plain = Dominance(n, k).assess(one_cell(*sizes))
    scaled = Dominance(n, k).assess(one_cell(*(scale * size for size in sizes)))
    assert scaled.unsafe[0] == plain.unsafe[0]
    assert scaled.upper[0] == pytest.approx(scale * plain.upper[0])


@given(table=magnitude_tables(holdings=True), k=st.integers(1, 100))
def test_holding_dominates_at_least_like_its_units(table, k):
    unit, holding = (Dominance(1, k, level=level).assess(table) for level in ("unit", "holding"))
    assert np.all(holding.unsafe >= unit.unsafe)


@pytest.mark.parametrize(
    ("magnitude", "largest", "total", "unsafe"),
    [
        pytest.param(
            "signed", 60.0, 40.0, True, id="signed: 60 - 20 makes 40, and 60 is more than 80% of it"
        ),
        pytest.param("abs", 60.0, 80.0, False, id="abs: 60 + 20 makes 80, and 60 is 75% of it"),
        pytest.param("signed", 10.0, -5.0, True, id="signed: a total below zero hides nothing"),
    ],
)
def test_negative_contributions_are_ranked_as_chosen(magnitude, largest, total, unsafe):
    behind = Contributors(count=[2], largest=[[largest]], total=[total], negative=True, magnitude=magnitude)
    table = Table(value=[40.0], relations=np.zeros((0, 1)), units=behind, lower=-np.inf)
    need = Dominance(1, 80).assess(table)
    assert bool(need.unsafe[0]) is unsafe
    if total < 0:
        assert need.lower[0] == need.upper[0] == 8.0, "20% of the value where the total gives no scale"


def test_negative_contributions_require_a_ranking():
    with pytest.raises(RuleError, match="negative contributions") as caught:
        Dominance(1, 80).assess(one_cell(60, -20))
    assert "magnitude" in caught.value.fix


def test_too_few_ranks_raise():
    with pytest.raises(RuleError, match="5 largest") as caught:
        Dominance(5, 80).assess(one_cell(3, 2, 1))
    assert "top=5" in caught.value.fix


@given(
    records=st.lists(st.tuples(st.integers(0, 100), st.integers(4, 20)), min_size=1, max_size=6),
    n=st.integers(1, 3),
    k=st.sampled_from([60, 75, 95]),
)
def test_weight_counts_as_equal_contributors(records, n, k):
    """Weights in quarters: a value of weight 5/4 is five quarters of a contributor; n places hold 4n."""
    rows = [("a", x, quarters / 4) for x, quarters in records]
    frame = pd.DataFrame([*rows, ("b", 1, 1.0)], columns=["g", "x", "w"])
    table = tabulate(frame, by=["g"], value="x", weight="w")
    parts = sorted((Fraction(x, 4) for x, quarters in records for _ in range(quarters)), reverse=True)
    total = sum(parts)
    unsafe = sum(parts[: 4 * n]) > Fraction(k, 100) * total
    assert bool(Dominance(n, k).assess(table).unsafe[0]) == unsafe
    # R's default: the n largest values, each once, against the weighted total. It never flags more.
    once = sum(sorted((x for x, _ in records), reverse=True)[:n]) > Fraction(k, 100) * total
    assert unsafe or not once
