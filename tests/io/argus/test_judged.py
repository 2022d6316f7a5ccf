from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.argus_status import cell_level, cell_status

from hitoku.io.argus import Marks, parse_safety
from hitoku.model import Protection, Table
from hitoku.pipeline import judge
from hitoku.tabulation import tabulate
from hitoku.testing import one_cell


def safety(text):
    return parse_safety(text, lambda what, _fix: pytest.fail(what))


records = st.lists(
    st.tuples(st.sampled_from("NSW"), st.sampled_from("ab"), st.integers(1, 60)), min_size=6, max_size=30
).filter(lambda rows: {row[0] for row in rows} == set("NSW") and {row[1] for row in rows} == set("ab"))


@given(rows=records, p=st.sampled_from([0, 10, 25]), k=st.sampled_from([0, 60, 75]), least=st.integers(0, 4))
def test_statuses_and_levels_follow_from_the_records(rows, p, k, least):
    frame = pd.DataFrame(rows, columns=["region", "size", "turnover"])
    table = tabulate(frame, by=["region", "size"], value="turnover")
    judged = judge(table, safety(f"P({p},1)|NK({2 if k else 0},{k})|FREQ({least},30)"))
    rules = {"p": p, "nk": (2, k) if k else None, "least": least}
    for cell in range(table.n_cells):
        own = zip(table.labels.names, table.labels.codes_of(cell), strict=True)
        inside = frame
        for name, code in own:
            inside = inside if code == "Total" else inside[inside[name] == code]
        amounts = inside["turnover"].tolist()
        assert judged.status[cell] == cell_status(amounts, **rules)
        level = cell_level(amounts, **rules, percent=30)
        assert judged.need.upper[cell] == pytest.approx(level)
        # Nobody thinks of turnovers below zero.
        assert judged.need.lower[cell] == pytest.approx(min(level, sum(amounts)))


@pytest.mark.parametrize(
    ("rules", "contributions", "status", "level"),
    [
        pytest.param("P(15,1)", (100, 10, 5), 3, 10.0, id="15 percent of 100, less the remainder of 5"),
        pytest.param("P(5,1)", (100, 10, 5), 1, 0.0, id="exactly p percent is safe"),
        pytest.param("P(10,50,1)", (80, 15, 5), 3, 11.0, id="prior and posterior: a fifth of 80, less 5"),
        pytest.param("NK(1,75)", (90, 6, 4), 3, 20.0, id="dominance: 120 would make 90 three quarters"),
        pytest.param("FREQ(3,20)", (60, 40), 5, 20.0, id="20 percent of the value"),
        pytest.param("FREQ(3,0)", (60, 40), 5, 0.01, id="no range: one unit of the last decimal"),
        pytest.param("ZERO(7)", (0, 0), 6, 7.0, id="zeros of somebody"),
        pytest.param(
            "ZERO(7)|FREQ(3,20)", (0, 0), 5, 7.0, id="the first hit gives the status, not the level"
        ),
        pytest.param("P(15,1)|FREQ(4,50)", (100, 10, 5), 3, 57.5, id="the largest level counts"),
        pytest.param("FREQ(3,20)", (), 14, 0.0, id="an empty cell"),
    ],
)
def test_cell_status_and_level_match_rules(rules, contributions, status, level):
    judged = judge(one_cell(*contributions), safety(rules), decimals=2)
    assert judged.status[0] == status
    assert judged.need.upper[0] == pytest.approx(level)


def test_zero_cell_is_protected_upwards_only():
    assert judge(one_cell(0, 0), safety("ZERO(7)"), decimals=2).need.lower[0] == 0


def marks(**given):
    nothing = {name: [False] * 3 for name in ("unsafe", "protected", "withheld")}
    levels = {name: [0.0] * 3 for name in ("lower", "upper")}
    return Marks(**{name: np.array(part) for name, part in {**nothing, **levels, **given}.items()})


TABLE = Table.from_array([50.0, 30.0], names=["region"], codes=[["N", "S"]], frequency=[4, 2], integer=False)


def test_manual_marks_add_to_the_rules():
    given = marks(unsafe=[True, False, False], upper=[7.0, 3.0, 3.0], withheld=[False, True, False])
    judged = judge(TABLE, safety("MAN(10)"), marks=given)
    assert judged.status.tolist() == [9, 12, 2]
    assert judged.need.upper.tolist() == [7.0, 0.0, 0.0]
    assert judged.need.lower[0] == 1.0  # given as zero: the last decimal
    assert judged.withheld.tolist() == [False, True, False]
    both = judge(TABLE, safety("FREQ(3,10)"), marks=given)
    assert both.status.tolist() == [9, 5, 1]


def test_secondary_cell_status_keeps_primary_origin():
    withheld = Protection.withhold(TABLE, [True, True, True])
    by_rule = judge(TABLE, safety("FREQ(3,10)"), marks=marks())
    by_hand = judge(TABLE, safety(""), marks=marks())
    assert by_rule.after(withheld).tolist() == [11, 5, 11]
    assert by_hand.after(withheld).tolist() == [12, 12, 12]
    assert by_hand.after(None).tolist() == [2, 2, 2]


def test_marks_without_levels_get_the_manual_range():
    judged = judge(TABLE, safety("MAN(10)"), marks=marks(unsafe=[True, False, False]))
    assert judged.need.upper[0] == judged.need.lower[0] == 5.0


def test_protected_cells_stay_published_unless_they_are_unsafe():
    given = marks(protected=[True, True, False])
    judged = judge(TABLE, safety("FREQ(3,10)"), marks=given)
    assert judged.status.tolist() == [10, 5, 1]
    assert judged.table.fixed.tolist() == [True, False, False]


def test_missing_codes_are_safe_on_request():
    missing = np.array([False, True, False])
    assert judge(TABLE, safety("FREQ(3,10)"), missing=missing).status.tolist() == [1, 5, 1]
    assert judge(TABLE, safety("FREQ(3,10)|MIS(1)"), missing=missing).status.tolist() == [1, 1, 1]


def test_request_applies_to_recoded_cell():
    shares = {1: np.array([0.6, 0.0, 0.3]), 2: np.array([0.0, 0.6, 0.3])}
    records = pd.DataFrame({"region": list("NNSS"), "turnover": [30, 20, 18, 12]})
    table = tabulate(records, by=["region"], value="turnover")
    judged = judge(table, safety("REQ(50,70,0,20)"), shares=shares)
    assert judged.status.tolist() == [4, 1, 1]
    assert judged.need.upper[0] == 10.0
    few = judge(table, safety("REQ(50,70,3,20)"), shares=shares)
    assert few.status.tolist() == [4, 4, 1]
