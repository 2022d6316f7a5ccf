"""Quantile groups and life tables against plain numpy, and that no step of them is of few."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from tests.raising import raises

import hitoku as ht
from hitoku.checks import Records
from hitoku.checks.outputs import LifeTable, QuantileGroups, choose_ends, close_ends, published_steps
from hitoku.checks.policies import policy
from hitoku.checks.principles import Clearance
from hitoku.checks.submission import recheck
from hitoku.errors import DataError

JAPAN = policy("japan-2017")


def incomes(n=200, seed=1):
    return np.random.default_rng(seed).permutation(np.arange(1, n + 1) * 13.0)


def asked(statistic, n_groups, values, **more):
    work = ht.Session("s", pd.DataFrame({"x": values, **more.pop("columns", {})}))
    return work.quantile_groups("x", n_groups, statistic=statistic, **more)


def test_quintiles_match_numpy():
    x = incomes()
    parts = np.split(np.sort(x), 5)
    means = asked("mean", 5, x).published
    assert means["mean_x"] == pytest.approx([part.mean() for part in parts])
    assert means["from_percent"] == [0.0, 20.0, 40.0, 60.0, 80.0]
    assert means["to_percent"] == [20.0, 40.0, 60.0, 80.0, 100.0]
    shares = asked("share", 5, x).published["share_x"]
    assert shares == pytest.approx([part.sum() / x.sum() for part in parts])
    curve = asked("lorenz", 5, x).published["lorenz_x"]
    assert curve == pytest.approx(np.cumsum(shares))
    # Twice the area between the curve and the diagonal approaches the Gini coefficient from below.
    fine = [0.0, *asked("lorenz", 20, x).published["lorenz_x"]]
    area = 1 - sum((a + b) / 20 for a, b in pairwise(fine))
    work = ht.Session("s", pd.DataFrame({"x": x}))
    gini = work.concentration("x", "gini").published["gini_x"][0]
    assert gini - 0.01 < area <= gini


def test_weighted_groups_have_equal_weight():
    x = np.arange(1.0, 101.0)
    weight = np.where(x <= 50, 3.0, 1.0)
    out = asked("mean", 4, x, weight="w", columns={"w": weight}).published
    whole = np.repeat(x, weight.astype(int))
    parts = np.split(whole, 4)
    assert out["mean_x"] == pytest.approx([part.mean() for part in parts], rel=0.02)
    assert out["to_percent"][-1] == 100.0


def test_tied_values_share_group_and_empty_groups_are_omitted():
    out = asked("mean", 5, np.repeat([0.0, 5.0, 9.0], [120, 40, 40]))
    assert out.published["mean_x"] == [0.0, 5.0, 9.0]
    assert out.published["to_percent"] == [60.0, 80.0, 100.0]


@pytest.mark.parametrize("giant", [1e3, 1e4, 1e5, 1e6, 1e9])
def test_dominated_steps_are_merged_or_suppressed(giant):
    x = np.append(incomes(199), giant)
    out = asked("share", 10, x)
    steps = published_steps(out.evidence.withheld)
    if not steps:
        assert giant > x[:-1].sum()
        assert out.status is Clearance.FAIL
        return
    assert steps[-1][1] == out.evidence.n_parts - 1, "the rest follows from all"
    # Recomputed from the data: the units of each step.
    ordered, at = np.sort(x), 0
    for to, share in zip(out.published["to_percent"], out.published["share_x"], strict=True):
        step = ordered[at : round(to * 2)]
        at = round(to * 2)
        assert len(step) >= 10
        assert step.max() <= 0.5 * step.sum() + 1e-9
        assert share == pytest.approx(step.sum() / x.sum())


def test_small_groups_are_merged_or_suppressed():
    x = incomes(60)
    assert asked("mean", 10, x).published["to_percent"] == pytest.approx([20, 40, 60, 80, 100])
    assert asked("mean", 5, incomes(9)).status is Clearance.FAIL
    two = asked("mean", 5, incomes(68), by="g", columns={"g": ["a"] * 60 + ["b"] * 8})
    assert set(two.published["g"]) == {"a"}
    assert two.status is Clearance.PASS


def test_thirds_and_fifths_together_single_out_units():
    work = ht.Session("s", pd.DataFrame({"x": incomes(60)}))
    assert work.lorenz("x", 5).status is Clearance.PASS
    assert work.quantile_groups("x", 4).status is Clearance.FAIL


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"statistic": "median"}, "word_not_allowed"),
        ({"n_groups": 1}, "parameter_not_whole"),
        ({"n_groups": True}, "parameter_not_whole"),
        ({"n_groups": 2.0}, "parameter_not_whole"),
    ],
)
def test_invalid_quantile_group_parameters_raise(wrong, code):
    with raises(code):
        QuantileGroups("x", **wrong)


def test_invalid_quantile_groups_raise():
    below = Records.open(pd.DataFrame({"x": [-1.0, 2, 3.5]}))
    with raises("amounts_below_zero"):
        QuantileGroups("x", statistic="lorenz").collect(below)
    with raises("two_valued_column"):
        QuantileGroups("x").collect(Records.open(pd.DataFrame({"x": [0, 1, 1]})))
    with raises("column_sums_to_zero"):
        QuantileGroups("x", statistic="share").collect(Records.open(pd.DataFrame({"x": [0.0, 0, 0]})))
    twice = Records.open(pd.DataFrame({"x": [1.0, 2, 3], "id": [1, 1, 2]}), "id")
    with raises("several_records_per_unit_ranked"):
        QuantileGroups("x").collect(twice)


def trial(n=300, seed=1):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "months": np.ceil(rng.exponential(20, n)),
            "died": rng.integers(0, 2, n),
            "arm": rng.choice(["a", "b"], n),
        }
    )


def test_life_table_equals_direct_counts():
    frame, edges = trial(), [0, 6, 12, 24]
    out = ht.Session("s", frame).life_table("months", "died", edges).published
    entered, value = 300, 1.0
    for place, (low, high) in enumerate([(0, 6), (6, 12), (12, 24)]):
        inside = frame[(frame["months"] >= low) & (frame["months"] < high)]
        events, seen = int(inside["died"].sum()), int((1 - inside["died"]).sum())
        value *= 1 - events / (entered - seen / 2)
        row = [out[name][place] for name in ("from", "to", "entered", "events", "last_seen")]
        assert row == [low, high, entered, events, seen]
        assert out["survival"][place] == pytest.approx(value)
        entered -= events + seen


@pytest.mark.parametrize("seed", range(6))
def test_life_table_has_no_small_counts(seed):
    frame = trial(120, seed)
    work = ht.Session("s", frame)
    out = work.life_table("months", "died", range(0, 60, 2), by="arm", missing="error")
    rows = pd.DataFrame(out.published)
    assert len(rows)
    assert (rows["events"] >= 10).all()
    assert ((rows["last_seen"] == 0) | (rows["last_seen"] >= 10)).all()
    left = rows["entered"] - rows["events"] - rows["last_seen"]
    assert (left >= 10).all()
    assert (rows["events"] <= 0.9 * rows["entered"]).all()


def test_invalid_life_table_raises():
    with raises("edges_not_ordered"):
        LifeTable("t", "e", (5, 3))
    with raises("edges_not_ordered"):
        LifeTable("t", "e", (0,))
    early = Records.open(pd.DataFrame({"t": [1.0, 7.0], "e": [0, 1]}))
    with raises("times_before_first_edge"):
        LifeTable("t", "e", (5, 9)).collect(early)
    few = ht.Session("s", trial(12)).life_table("months", "died", [0, 6, 12])
    assert few.status is Clearance.FAIL
    assert few.published["events"] == []
    by_arm = ht.Session("s", trial(12)).life_table("months", "died", [0, 6, 12], by="arm")
    assert "not met by 6 of 6 (a, a, a" in by_arm.verdicts[0].text


def test_life_table_membership_separates_exits_and_events():
    # In b nobody is last seen before 10; after it nobody dies, so that the rest is one cell.
    left = (
        [("a", 5, 1)] * 15
        + [("a", 5, 0)] * 10
        + [("a", 20, 0)] * 15
        + [("b", 5, 1)] * 12
        + [("b", 20, 0)] * 18
    )
    records = Records.open(pd.DataFrame(left, columns=["arm", "months", "died"]))
    asked = LifeTable("months", "died", (0, 10), ("arm",))
    found = asked.membership(records, asked.protect(asked.collect(records), JAPAN))
    how = {(5, 1): "0 event", (5, 0): "0 last seen", (20, 0): "later"}
    assert [found.cells[0][code - 1] for code in found.codes[0]] == [
        (arm, how[months, died]) for arm, months, died in left
    ]


def test_both_step_outputs_round_trip_and_forgeries_fail(tmp_path):
    frame = trial()
    work = ht.Session("s", frame)
    work.quantile_groups("months", 4, name="quarters")
    work.life_table("months", "died", [0, 6, 12, 24], by="arm", name="lives")
    assert [out.status for out in work.outputs] == [Clearance.PASS, Clearance.PASS]
    folder = work.submit(tmp_path / "s")
    assert recheck(folder, data=frame).ok
    quarters, lives = work.outputs
    for out, name in ((quarters, "n_units"), (lives, "events")):
        plain = out.evidence.to_dict()
        plain[name] = [n + 7 for n in plain[name]]
        try:
            forged = out.asked.evidence.from_dict(plain, out.name)
        except DataError:
            continue
        assert list(out.asked.contradictions(forged)) or out.asked.publish(forged) != out.published


def test_step_ends_are_chosen_and_closed():
    assert choose_ends(3, lambda *_: False) == []
    assert close_ends(3, [], lambda *_: False) == []
    assert close_ends(3, [0, 2], lambda *_: True) == [0, 2]
    # What is left over fits with the last step but one only.
    assert close_ends(6, [1, 3], lambda first, _: first < 3) == [1, 5]
    assert close_ends(6, [1, 3], lambda first, _: first < 1) == [5]
