from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.raising import raises

import hitoku as ht
from hitoku.checks.outputs import Output
from hitoku.checks.policies import policy
from hitoku.checks.principles import Clearance, Principle
from hitoku.errors import HitokuError

JAPAN = policy("japan-2017")


def people(counts, income=None):
    """Records with so many people per cell."""
    rows = [(f"r{i}", f"c{j}") for (i, j), n in np.ndenumerate(np.asarray(counts)) for _ in range(n)]
    frame = pd.DataFrame(rows, columns=["region", "job"])
    frame["id"] = np.arange(len(frame))
    frame["income"] = 100 if income is None else income
    return frame


def verdict(output, principle):
    return next(v for v in output.verdicts if v.principle is principle)


def session(frame, **options):
    return ht.Session("s", frame, unit="id", **options)


def test_safe_table_equals_pandas_counts():
    frame = people([[20, 30, 15], [25, 12, 40], [33, 21, 18]])
    out = session(frame).frequency_table(by=["region", "job"])
    assert out.status is Clearance.PASS
    expected = pd.crosstab(frame["region"], frame["job"], margins=True, margins_name="Total")
    assert out.frame.to_numpy().tolist() == expected.to_numpy().tolist()
    assert list(out.frame.columns) == ["c0", "c1", "c2", "Total"]


@pytest.mark.parametrize(("n", "withheld"), [(9, True), (10, False)])
def test_cell_of_ten_units_passes(n, withheld):
    out = session(people([[n, 30, 45], [25, 32, 40], [33, 41, 28]])).frequency_table(by=["region", "job"])
    assert bool(pd.isna(out.frame.loc["r0", "c0"])) is withheld
    assert out.status is Clearance.PASS


@pytest.mark.parametrize(("n", "withheld"), [(90, False), (91, True)])
def test_ninety_percent_of_a_row_passes(n, withheld):
    # The row has n and 100 - n; its column is large elsewhere.
    out = session(people([[n, 100 - n, 0], [300, 310, 320], [300, 320, 310]])).frequency_table(
        by=["region", "job"]
    )
    group = verdict(out, Principle.GROUP)
    assert (group.numbers["unsafe"] > 0) is withheld
    assert bool(pd.isna(out.frame.loc["r0", "c0"])) is withheld


def test_suppressed_cell_is_not_derivable_from_totals():
    counts = np.array([[3, 50, 40], [45, 60, 55], [45, 40, 35]])
    out = session(people(counts)).frequency_table(by=["region", "job"])
    gone = out.frame.isna().to_numpy()
    assert gone[0, 0]
    assert gone.sum() >= 4
    assert out.frame.loc["r0", "Total"] == 93
    assert out.frame.loc["Total", "c0"] == 93
    assert verdict(out, Principle.INTERVAL).reason == "proved"
    assert "merge" in out.remedies[0]


def test_judge_checks_suppression_pattern_itself():
    out = session(people([[3, 50, 40], [45, 60, 55], [45, 40, 35]])).frequency_table(by=["region", "job"])
    withheld = np.zeros(len(out.evidence.withheld), dtype=bool)
    again = out.asked.judge(replace(out.evidence, withheld=np.arange(len(withheld)) == 0), JAPAN)
    assert next(v for v in again if v.principle is Principle.INTERVAL).status is Clearance.FAIL
    again = out.asked.judge(replace(out.evidence, withheld=withheld), JAPAN)
    assert next(v for v in again if v.principle is Principle.UNITS).status is Clearance.FAIL


def test_table_is_restored_from_json():
    frame = people([[20, 30, 15], [25, 12, 40], [33, 21, 18]], income=np.arange(1, 215) * 1.5)
    work = session(frame)
    for out in (
        work.frequency_table(by="region"),
        work.magnitude_table(by=["region", "job"], value="income"),
        work.mean("income", by="region"),
        work.percentile("income", 50, by="region"),
        work.mode("job"),
        work.concentration("income", "gini"),
        work.summary("std", "income", by="region"),
        work.test("chi2", "region", "job"),
    ):
        again = Output.from_dict(json.loads(json.dumps(out.to_dict(), allow_nan=False)))
        kind = again.asked
        own = [v for v in out.verdicts if v.principle is not Principle.DIFFERENCING]
        assert list(kind.judge(again.evidence, JAPAN)) == own
        assert kind.publish(again.evidence) == out.published
        assert again.policy["hash"] == JAPAN.hash


@pytest.mark.parametrize(("share", "unsafe"), [(50, 0), (51, 1)])
def test_dominance_limit_of_a_cell_is_half(share, unsafe):
    # 20 people per cell; one has `share`, the 19 others share the rest: the total is 100 in the first cell.
    frame = people([[20, 20, 20], [20, 20, 20], [20, 20, 20]])
    frame["income"] = 10.0 + np.arange(len(frame)) % 13
    frame.loc[:19, "income"] = [share, *((100 - share) / 190 * np.arange(1, 20))]
    out = session(frame).magnitude_table(by=["region", "job"], value="income")
    found = verdict(out, Principle.DOMINANCE)
    assert found.numbers["unsafe"] == unsafe
    assert bool(pd.isna(out.frame.loc["r0", "c0"])) is bool(unsafe)
    assert out.frame.loc["Total", "Total"] == pytest.approx(frame["income"].sum())


def test_holding_counts_as_one_unit():
    frame = people([[20, 20, 20], [20, 20, 20], [20, 20, 20]], income=10.0)
    frame["employer"] = [f"e{i}" for i in range(len(frame))]
    frame.loc[:14, "employer"] = "giant"
    work = session(frame)
    alone = work.magnitude_table(by=["region", "job"], value="income")
    together = work.magnitude_table(by=["region", "job"], value="income", holding="employer")
    assert verdict(alone, Principle.DOMINANCE).numbers["unsafe"] == 0
    assert verdict(together, Principle.DOMINANCE).numbers["unsafe"] == 1


def test_losses_are_ranked_by_absolute_value():
    # Nine tenths of what moves in the cell is one loss; signed, the total is near zero.
    frame = people([[20, 20, 20], [20, 20, 20], [20, 20, 20]], income=10.0)
    frame.loc[0, "income"] = -1000.0
    out = session(frame).magnitude_table(by=["region", "job"], value="income")
    assert pd.isna(out.frame.loc["r0", "c0"])
    assert verdict(out, Principle.DOMINANCE).numbers["unsafe"] >= 1


def test_units_are_counted_and_not_records():
    frame = people([[12, 30, 45], [25, 32, 40], [33, 41, 28]])
    frame.loc[:11, "id"] = [0] * 6 + [1] * 6
    out = session(frame).frequency_table(by=["region", "job"])
    assert pd.isna(out.frame.loc["r0", "c0"])
    assert out.evidence.n_units[0] == 2


def test_weights_do_not_count_as_units():
    frame = people([[5, 30, 45], [25, 32, 40], [33, 41, 28]])
    frame["income"] = 10.0 + np.arange(len(frame)) % 13
    frame["weight"] = 100.0
    out = session(frame).magnitude_table(by=["region", "job"], value="income", weight="weight")
    assert pd.isna(out.frame.loc["r0", "c0"])
    assert out.frame.loc["Total", "Total"] == pytest.approx(frame["income"].sum() * 100.0)


def test_missing_codes_raise_or_form_a_code():
    frame = people([[20, 30], [25, 40]])
    frame.loc[:14, "region"] = None
    with raises("missing_codes", n=15):
        session(frame).frequency_table(by=["region", "job"], missing="error")
    out = session(frame).frequency_table(by=["region", "job"], missing="code")
    assert "missing" in out.frame.index


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda s: s.frequency_table(by=["regoin"]), id="unknown column"),
        pytest.param(
            lambda s: s.frequency_table(by=["regoin"], missing="code"), id="unknown column, gaps are a code"
        ),
        pytest.param(lambda s: s.frequency_table(by=["region", "region"]), id="named twice"),
        pytest.param(lambda s: s.magnitude_table(by=["region"], value="job"), id="text for numbers"),
        pytest.param(lambda s: s.frequency_table(by=["region"], where={"region": ["x"]}), id="empty filter"),
        pytest.param(
            lambda s: s.frequency_table(by=["region"], where={"id": ["x"]}), id="filter of another kind"
        ),
        pytest.param(lambda s: s.frequency_table(by=[]), id="no variable"),
        pytest.param(lambda s: s.frequency_table(by="region", missing="drop"), id="unknown word"),
    ],
)
def test_invalid_table_request_raises(call):
    with pytest.raises(HitokuError) as caught:
        call(session(people([[20, 30], [25, 40]])))
    assert caught.value.fix


def test_duplicate_labels_raise():
    frame = people([[20, 30], [25, 40]])
    frame.columns = ["region", "region", "id", "income"]
    with raises("duplicate_column_names"):
        session(frame)


def test_table_repr_shows_no_number():
    out = session(people([[20, 30], [25, 40]])).frequency_table(by=["region", "job"])
    assert repr(out) == "Output('frequency_table 1', frequency_table, pass)"
    assert "115" in str(out)


@settings(max_examples=16)
@given(
    counts=st.lists(st.integers(0, 40), min_size=9, max_size=9).filter(
        lambda c: np.all(np.reshape(c, (3, 3)).sum(0) > 0) and np.all(np.reshape(c, (3, 3)).sum(1) > 0)
    )
)
def test_published_counts_are_true_and_large(counts):
    truth = np.reshape(counts, (3, 3))
    out = session(people(truth)).frequency_table(by=["region", "job"])
    shown = out.frame.to_numpy(dtype=float)[:3, :3]
    left = ~np.isnan(shown)
    assert np.array_equal(shown[left], truth[left])
    assert not np.any(left & (truth > 0) & (truth < 10))


def test_single_category_table_equals_its_total():
    output = session(people([[20, 30], [25, 40]])).frequency_table(by="region", where={"region": ["r0"]})
    assert output.published["count"] == [50, 50]
