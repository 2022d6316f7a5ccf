"""Values rounded once, where the table is made: it adds up exactly."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitoku.errors import ParameterError
from hitoku.io import Publication
from hitoku.model import Protection, Release
from hitoku.tabulation import tabulate


@given(
    rows=st.lists(
        st.tuples(st.sampled_from("ab"), st.floats(-1e6, 1e6), st.floats(0.5, 20)), min_size=1, max_size=12
    ),
    decimals=st.integers(0, 4),
    weighted=st.booleans(),
)
def test_cells_are_exact_sums_of_rounded_amounts(rows, decimals, weighted):
    records = pd.DataFrame(rows, columns=["g", "x", "w"])
    options = {"weight": "w"} if weighted else {}
    table = tabulate(records, ["g"], value="x", decimals=decimals, top=1, **options)
    ten = 10**decimals
    steps = [round(value * ten) for value in table.value]
    # The nearest double to a decimal, and no other: what is printed has no more digits than asked for.
    assert [step / ten for step in steps] == table.value.tolist()
    assert sum(steps[:-1]) == steps[-1]
    for code, step in zip(table.cells["g"], steps, strict=True):
        chosen = [(x, w if weighted else 1.0) for g, x, w in rows if code in {g, "Total"}]
        exact = sum(Decimal(x) * Decimal(w) for x, w in chosen) * ten
        # A weighted record is rounded twice: its value, then the product.
        slack = sum(Decimal("0.5") + (Decimal(w) / 2 if weighted else 0) for _, w in chosen)
        assert abs(step - exact) <= slack + Decimal("1e-6")


def test_rounding_matches_decimal_rounding():
    records = pd.DataFrame({"g": ["a", "a", "b"], "x": [0.126, 0.131, 2.5]})
    table = tabulate(records, ["g"], value="x", decimals=2)
    expected = [Decimal(str(x)).quantize(Decimal("0.01"), ROUND_HALF_UP) for x in records["x"]]
    assert table.value.tolist() == [float(expected[0] + expected[1]), 2.5, float(sum(expected))]
    assert table.largest[0].tolist() == [0.13, 0.13, 0.0]


def test_weights_without_values_are_rounded():
    records = pd.DataFrame({"g": ["a", "a", "b"], "w": [1 / 3, 1 / 3, 2.5]})
    assert tabulate(records, ["g"], weight="w", decimals=2).value.tolist() == [0.66, 2.5, 3.16]


def test_zero_decimals_give_integers():
    table = tabulate(pd.DataFrame({"g": ["a", "b"], "x": [1.4, 2.6]}), ["g"], value="x", decimals=0)
    assert table.value.tolist() == [1, 3, 4]
    assert table.integer


@pytest.mark.parametrize("decimals", [-1, 10, 2.5, True])
def test_invalid_decimals_raise(decimals):
    with pytest.raises(ParameterError, match="from 0 to 9"):
        tabulate(pd.DataFrame({"g": ["a"], "x": [1.0]}), ["g"], value="x", decimals=decimals)


def test_too_many_digits_for_a_sum_raise():
    with pytest.raises(ParameterError, match="more digits") as caught:
        tabulate(pd.DataFrame({"g": ["a"], "x": [1e13]}), ["g"], value="x", decimals=4)
    assert "decimals=2" in caught.value.fix


@pytest.mark.parametrize(("decimals", "most"), [(None, 17), (2, 6)])
def test_published_digits_are_limited_to_precision(decimals, most):
    records = pd.DataFrame({"g": ["a", "b", "b"], "x": [2422.31034439358, 1 / 3, 10 / 7]})
    table = tabulate(records, ["g"], value="x", decimals=decimals)
    none = np.zeros(3, dtype=bool)
    release = Release.of(table, Protection(value=table.value, withheld=none, secondary=none, method="none"))
    texts = Publication(release=release).texts
    assert [float(text) for text in texts] == pytest.approx(table.value.tolist(), abs=1e-12)
    assert max(len(text.replace(".", "").lstrip("0")) for text in texts) <= most
