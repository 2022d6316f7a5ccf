"""What a certificate claims, compared with what is due; and methods side by side in one line."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from hitoku.evidence import asks_for_less, audit, claim, is_about
from hitoku.metrics import Compared, Comparison
from hitoku.model import Need, Protection, Release, Table

TABLE = Table.from_array([[20, 15], [72, 8]])


def audited(unsafe=(8,), **levels):
    need = Need(unsafe=np.isin(TABLE.value, unsafe), **levels)
    return audit(TABLE, need, Release.of(TABLE, Protection.withhold(TABLE, TABLE.inner, need)))


def claimed(found):
    return claim(found.release, found.grid, found.problem)


DUE = claimed(audited(lower=2.0, upper=3.0, width=6.0))


@pytest.mark.parametrize(
    ("levels", "less", "same"),
    [
        pytest.param({"lower": 2.0, "upper": 3.0, "width": 6.0}, True, True, id="just what is due"),
        pytest.param({"lower": 1.0, "upper": 3.0, "width": 6.0}, True, False, id="less below"),
        pytest.param({"lower": 2.0, "upper": 2.5, "width": 6.0}, True, False, id="less above"),
        pytest.param({"lower": 2.0, "upper": 3.0, "width": 5.0}, True, False, id="less between"),
        pytest.param({"lower": 1.0, "upper": 4.0, "width": 6.0}, False, False, id="less here, more there"),
        pytest.param({"lower": 3.0, "upper": 3.0, "width": 6.0}, False, False, id="more below"),
        pytest.param({"lower": 2.0, "upper": 3.0, "width": 7.0}, False, False, id="more between"),
        pytest.param({"unsafe": (8, 15), "lower": 1.0}, False, False, id="of more cells"),
        pytest.param({"unsafe": (15,), "lower": 1.0}, False, False, id="of another cell"),
    ],
)
def test_certificate_with_lower_requirements_has_same_cells(levels, less, same):
    content = dict(audited(**levels).certificate.content)
    before = copy.deepcopy(content)
    assert asks_for_less(content, DUE) is less
    assert is_about(content, DUE) is same
    assert content == before


def test_certificate_of_other_values_differs():
    content = dict(audited(lower=1.0).certificate.content)
    assert not asks_for_less({**content, "values": [21, *content["values"][1:]]}, DUE)


def compared(method, withheld, *, safe):
    prices = {"secondary": 1, "cost": 2.0, "lost": 0.1, "reached": 1.0, "least": 1.0, "recomputable": 0}
    return Compared(method=method, withheld=withheld, safe=safe, proven=False, **prices)


def test_compared_methods_print_and_make_a_frame():
    both = Comparison((compared("optimal", 1_200, safe=True), compared("none", 3, safe=False)))
    assert repr(both) == "Comparison(optimal: 1_200 withheld, safe; none: 3 withheld, NOT safe)"
    assert [row.method for row in both] == both.frame["method"].tolist() == ["optimal", "none"]
    assert len(both) == 2
