from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hitoku.errors import DataError, ParameterError
from hitoku.model import Hierarchy
from hitoku.tabulation import tabulate

RECORDS = pd.DataFrame({"crop": ["rye", "rye", "oats"], "zone": ["N1", "S1", "N1"], "x": [3, 4, 5]})
ZONES = Hierarchy.from_tree({"North": ["N1", "N2"], "South": ["S1", "S2"]})
OPTIONS = {"by": ["crop", "zone"], "value": "x", "hierarchies": {"zone": ZONES}}


def zeros_of(table):
    return {table.labels.codes_of(int(cell)) for cell in np.flatnonzero(table.fixed)}


def test_declared_zero_group_is_zero_throughout():
    zeros = pd.DataFrame({"crop": ["oats"], "zone": ["South"]})
    table = tabulate(RECORDS, **OPTIONS, structural_zeros=zeros)
    assert zeros_of(table) == {("oats", "South"), ("oats", "S1"), ("oats", "S2")}
    assert (table.upper[table.fixed] == 0).all()
    assert np.isinf(table.upper[~table.fixed]).all()


def test_structural_zeros_accept_a_cell_mask():
    plain = tabulate(RECORDS, **OPTIONS)
    mask = np.array([plain.labels.codes_of(c) == ("rye", "N2") for c in range(plain.n_cells)])
    assert zeros_of(tabulate(RECORDS, **OPTIONS, structural_zeros=mask)) == {("rye", "N2")}
    assert zeros_of(tabulate(RECORDS, **OPTIONS, structural_zeros=mask.reshape(plain.shape))) == {
        ("rye", "N2")
    }


def test_no_declaration_fixes_no_cell():
    assert tabulate(RECORDS, **OPTIONS).fixed is None


@pytest.mark.parametrize(
    ("zeros", "error", "words"),
    [
        pytest.param(
            pd.DataFrame({"crop": ["rye"], "zone": ["S1"]}),
            DataError,
            "crop=rye, zone=S1",
            id="holds records",
        ),
        pytest.param(
            pd.DataFrame({"crop": ["ryee"], "zone": ["S1"]}), DataError, "did you mean 'rye'?", id="code"
        ),
        pytest.param(pd.DataFrame({"crop": ["rye"]}), DataError, "no column 'zone'", id="column"),
        pytest.param(
            np.zeros(3, dtype=bool), ParameterError, "a mask of 3 bool entries for 21 cells", id="mask"
        ),
        pytest.param(np.zeros(21), ParameterError, "float64", id="kind of mask"),
    ],
)
def test_invalid_structural_zeros_raise(zeros, error, words):
    with pytest.raises(error) as caught:
        tabulate(RECORDS, **OPTIONS, structural_zeros=zeros)
    assert words in str(caught.value)
