"""Tables with code trees: what is published, what the checker sees again, what the ledger makes of them."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.raising import raises

from hitoku.attacks.differencing import Definition
from hitoku.checks import Records
from hitoku.checks.evidence import TableEvidence, layers, plain_trees, trees_of, unions
from hitoku.checks.ledger import init
from hitoku.checks.outputs import Output
from hitoku.checks.policies import policy
from hitoku.checks.principles import Clearance, Principle
from hitoku.checks.session import Session
from hitoku.checks.submission import DraftLedger, definition_of, recheck, release
from hitoku.errors import HitokuError
from hitoku.model import Dimension, Hierarchy

JAPAN = policy("japan-2017")
TREE = Hierarchy.from_tree({"North": ["N1", "N2", "N3"], "South": ["S1", "S2"], "W": None})
COAST = Hierarchy.from_tree({"Coast": ["N1", "S1", "W"], "Inland": ["N2", "N3", "S2"]})
SIZES = {"N1": 60, "N2": 40, "N3": 3, "S1": 50, "S2": 45, "W": 30}


def places(sizes=SIZES, **columns):
    frame = pd.DataFrame({"place": [code for code, n in sizes.items() for _ in range(n)]})
    frame["id"] = np.arange(len(frame))
    frame["region"] = frame["place"].map(lambda code: {"N": "North", "S": "South"}.get(code[0], "West"))
    return frame.assign(**columns)


def verdict(output, principle):
    return next(v for v in output.verdicts if v.principle is principle)


def test_groups_are_cells_of_the_table():
    frame = places({**SIZES, "N3": 33})
    out = Session("s", frame, unit="id").frequency_table(by="place", hierarchies={"place": [TREE, COAST]})
    shown = out.frame["count"]
    assert out.status is Clearance.PASS
    assert shown["North"] == 133
    assert shown["South"] == 95
    assert shown["Coast"] == 60 + 50 + 30
    assert shown["Total"] == len(frame)


def test_small_leaf_is_not_derivable_from_group():
    out = Session("s", places(), unit="id").frequency_table(by="place", hierarchies={"place": TREE})
    shown = out.frame["count"]
    assert np.isnan(shown["N3"])
    # Whatever else is withheld, North minus what is published of it leaves more than one cell open.
    assert np.isnan(shown[["N1", "N2", "North"]]).any()
    assert verdict(out, Principle.INTERVAL).reason == "proved"
    assert out.remedies[0] in {"merge place N3 with N2", "merge place N2 with N3"}


def test_recheck_rebuilds_hierarchical_table(tmp_path):
    frame = places(income=np.arange(228.0) % 17 + 5)
    work = Session("s", frame, unit="id")
    for out in (
        work.frequency_table(by="place", hierarchies={"place": [TREE, COAST]}),
        work.magnitude_table(by="place", value="income", hierarchies={"place": TREE}),
    ):
        again = Output.from_dict(json.loads(json.dumps(out.to_dict(), allow_nan=False)))
        kind = again.asked
        own = [v for v in out.verdicts if v.principle is not Principle.DIFFERENCING]
        assert list(kind.judge(again.evidence, JAPAN)) == own
        assert kind.publish(again.evidence) == out.published
        assert list(kind.contradictions(again.evidence)) == []
    check = recheck(work.submit(tmp_path / "submission"), data=frame, unit="id")
    assert [each.findings for each in check.outputs] == [(), ()]
    assert check.ok


def test_missing_hierarchy_in_evidence_raises():
    out = Session("s", places(), unit="id").frequency_table(by="place", hierarchies={"place": TREE})
    honest = out.evidence.to_dict()
    lied = {key: part for key, part in honest.items() if key != "hierarchies"}
    with raises("evidence_invalid"):
        TableEvidence.from_dict(lied, out.name)
    other = {**honest, "hierarchies": plain_trees({"place": Hierarchy.flat("abc")}, ["place"])}
    with raises("codes_not_leaves"):
        TableEvidence.from_dict(other, out.name)


def test_group_units_match_its_parts():
    out = Session("s", places(), unit="id").frequency_table(by="place", hierarchies={"place": TREE})
    n_units = out.evidence.n_units.copy()
    n_units[out.evidence.dimensions[0].position["South"]] += 1
    found = out.asked.contradictions(replace(out.evidence, n_units=n_units))
    assert "units do not fit their totals by place" in list(found)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"plcae": TREE}, id="no variable of the table"),
        pytest.param({"place": {"North": ["N1"]}}, id="no hierarchy"),
        pytest.param({"place": Hierarchy.flat(["N1", "N2"])}, id="codes that the tree lacks"),
    ],
)
def test_invalid_hierarchy_raises(given):
    with pytest.raises(HitokuError) as caught:
        Session("s", places(), unit="id").frequency_table(by="place", hierarchies=given)
    assert caught.value.fix


@st.composite
def trees(draw):
    """Draw two groupings of the same leaves, of uneven depth."""
    n = draw(st.integers(3, 9))
    leaves = [f"l{k}" for k in range(n)]

    def grouped(name):
        rows = []
        for leaf in leaves:
            first = draw(st.integers(0, 2))
            second = draw(st.integers(0, 1))
            above = [f"{name}{first}", f"{name}{first}{second}"][: draw(st.integers(0, 2))]
            rows.append([*above, leaf])
        return Hierarchy.from_levels(rows)

    return Dimension("v", (grouped("a"), grouped("b")))


@given(dimension=trees())
def test_code_has_one_level_and_its_leaves(dimension):
    seen = {}
    for layer in layers(dimension):
        for code in set(layer[layer >= 0].tolist()):
            assert code not in seen
            seen[code] = np.flatnonzero(layer == code)
    assert sorted(seen) == list(range(len(dimension)))
    for code, leaves in seen.items():
        assert dimension.closure[[code]].indices.tolist() == leaves.tolist()
    assert {**unions(dimension)}.keys() == set(dimension.codes[len(dimension.leaves) : -1])


@given(dimension=trees())
def test_hierarchies_round_trip(dimension):
    plain = json.loads(json.dumps(plain_trees({"v": dimension.hierarchies}, ["v"])))
    again = Dimension.of("v", trees_of(plain)["v"])
    assert again.codes == dimension.codes
    assert again.groups == dimension.groups


def test_published_cells_have_units_in_ledger():
    work = Session("s", places(job=["a", "b"] * 114), unit="id")
    out = work.frequency_table(by=["place", "job"], hierarchies={"place": [TREE, COAST]})
    labels = [tuple(row) for row in zip(out.published["place"], out.published["job"], strict=True)]
    expected = {
        tuple(None if code == "Total" else code for code in label): n
        for label, n in zip(labels, out.published["count"], strict=True)
        if n
    }
    member = out.asked.membership(work.records, out.evidence)
    found = {
        cell: int((codes == number).sum())
        for codes, cells in zip(member.codes, member.cells, strict=True)
        for number, cell in enumerate(cells, start=1)
    }
    assert found == expected


def differencing(out):
    return [v for v in out.verdicts if v.principle is Principle.DIFFERENCING]


def test_group_minus_parts_is_found_by_definition():
    work = Session("s", places(), unit="id", unit_word="person")
    first = work.frequency_table(by="place", hierarchies={"place": TREE})
    assert np.isnan(first.frame["count"]["N3"])
    assert first.frame["count"]["North"] == 103
    second = work.frequency_table(by="place", where={"place": ["N1", "N2"]})
    (found,) = differencing(second)
    assert found.status is Clearance.FAIL
    assert "place=N3: 103 - 60 - 40 = 3 persons" in found.text
    assert "by definition" in found.text


def test_group_spanning_levels_is_found():
    # With those of {N1, N3, S2, W} together: that and N2, without N1 and without Inland, leaves W alone.
    work = Session("s", places({**SIZES, "N3": 12, "W": 6, "S1": 40}), unit="id")
    first = work.frequency_table(by="place", hierarchies={"place": COAST})
    shown = first.frame["count"]
    assert shown[["N1", "N2", "Inland"]].notna().all()
    assert shown[["W"]].isna().all()
    second = work.sum("id", where={"place": ["N1", "N3", "S2", "W"]})
    (found,) = differencing(second)
    assert found.status is Clearance.FAIL
    assert "place=W" in found.text


@pytest.mark.parametrize(
    ("nested", "status", "basis"),
    [
        pytest.param(
            {"place": "region"}, Clearance.FAIL, "by definition", id="a reader knows where places are"
        ),
        pytest.param(None, Clearance.REVIEW, "in these data", id="nobody said so"),
    ],
)
def test_nested_variables_are_found(nested, status, basis, tmp_path):
    frame = places()
    work = Session("s", frame, unit="id", nested=nested)
    work.frequency_table(by="region", name="regions")
    out = work.frequency_table(by="place", where={"place": ["N1", "N2"]}, name="places")
    (found,) = differencing(out)
    assert found.status is status
    assert basis in found.text
    check = recheck(work.submit(tmp_path / "submission"), data=frame, unit="id")
    assert [each.findings for each in check.outputs] == [(), ()]
    assert check.matrix["places"]["differencing"] == str(status)


def test_ledger_restores_hierarchies_and_nesting(tmp_path):
    frame = places()
    first = Session("before", frame, unit="id", nested={"place": "region"})
    table = first.frequency_table(by="place", hierarchies={"place": TREE}, name="table")
    known = definition_of(table)
    assert Definition.from_dict(json.loads(json.dumps(known.as_dict()))) == known
    path = tmp_path / "x.ledger"
    init(path, policy="japan-2017", unit="id", checkers=1)
    gone = release(first.submit(tmp_path / "one"), ledger=path, data=frame, checkers=["M. Sato"])
    assert len(gone.receipt.outputs) == 1
    # Another session, which was told of neither.
    out = Session("after", frame, unit="id", ledger=path).frequency_table(
        by="place", where={"place": ["N1", "N2"]}
    )
    (found,) = differencing(out)
    assert found.status is Clearance.FAIL
    assert "place=N3" in found.text
    assert "by definition" in found.text


def test_unnested_variables_raise():
    with raises("codes_in_several_codes"):
        Session("s", places(), unit="id", nested={"region": "place"})


@cache
def asked(seed):
    """Make a session that asked for tables and means with trees, filters and weights at random."""
    random = np.random.default_rng(seed)
    codes, n = ["N1", "N2", "N3", "S1", "S2", "W"], 150
    frame = pd.DataFrame(
        {
            "place": random.choice(codes, n, p=[0.3, 0.25, 0.05, 0.2, 0.15, 0.05]),
            "job": random.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1]),
            "income": random.integers(20, 90, n).astype(float),
            "weight": random.integers(1, 5, n).astype(float),
        }
    )
    work = Session("s", frame)
    for _ in range(6):
        where = {"place": random.choice(codes, 4, replace=False).tolist()} if random.random() < 0.5 else None
        by = [["place"], ["job"], ["place", "job"]][random.integers(3)]
        kind = random.integers(4)
        trees = {"place": [TREE, COAST][random.integers(2)]} if "place" in by else {}
        if kind == 0:
            work.mean("income", by=by, weight="weight", where=where)
        elif kind == 1:
            work.magnitude_table(by, "income", weight="weight", hierarchies=trees, where=where)
        else:
            work.frequency_table(by, hierarchies=trees, where=where)
    return frame, work


def assert_nobody_is_singled_out(frame, work):
    """Of all that a session lets pass, the ledger's own attack finds nothing below the threshold."""
    again = DraftLedger("again", Records.open(frame), JAPAN, None)
    for out in [out for out in work.outputs if out.status is Clearance.PASS]:
        assert [v.status for v in again.compare(out, {})] == [Clearance.PASS]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2, 3))])
def test_accepted_hierarchical_outputs_single_out_no_unit(seed):
    assert_nobody_is_singled_out(*asked(seed))


@pytest.mark.long
@settings(max_examples=8)
@given(seed=st.integers(4, 10_000))
def test_long_sessions_single_out_no_unit(seed):
    assert_nobody_is_singled_out(*asked(seed))


def test_random_sessions_are_sometimes_stopped():
    sessions = [asked(seed)[1] for seed in range(4)]
    stopped = [
        out
        for work in sessions
        for out in work.outputs
        for v in differencing(out)
        if v.status is Clearance.FAIL
    ]
    assert stopped
    passed = [sum(out.status is Clearance.PASS for out in work.outputs) for work in sessions]
    assert max(passed) > 2
