"""The ledger on disk: what it remembers, what it refuses, how it speaks."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from tests.oracles.differencing import exposed_units
from tests.raising import raises

from hitoku.attacks.differencing import MISSING, Definition, DisclosureBasis, Partition
from hitoku.checks.ledger import Concern, Ledger, Measure, create, fresh_store, implied_tables, unit_numbers
from hitoku.checks.principles import Clearance
from hitoku.errors import DataError, HitokuError
from hitoku.rules import Dominance

# Table 1 of Kikuchi and Minami (2017), in two areas: one person of Area A is aged 19 or 20.
AGE = np.concatenate(
    [np.repeat([10, 19, 22, 28], [18, 1, 18, 20]), np.repeat([10, 19, 22, 28], [30, 15, 15, 30])]
)
AREA = np.repeat([0, 1], [57, 90])
N_UNITS = 147
FIRST, SECOND = ["0-18", "19-25", "26-30"], ["0-20", "21-25", "26-30"]


def banded(cuts):
    return np.digitize(AGE, cuts) + 3 * AREA + 1


def table_1(name, cuts, bands):
    """Make the output and its definition."""
    cells = [[area, band] for area in "AB" for band in bands]
    definition = Definition.ungrouped({"area": ["A", "B"], "age": bands}, [cells])
    return [Partition.published(name, banded(cuts))], definition


def opened(folder, n_units=N_UNITS, **options):
    return Ledger.open(folder / "x.ledger", data_hash="d1", n_units=n_units, **options)


def test_table_1_of_the_paper_is_found_and_explained(tmp_path):
    opened(tmp_path).remember("output 3", *table_1("output 3", [19, 26], FIRST))
    (finding,) = opened(tmp_path, unit="person").check("output 7", *table_1("output 7", [21, 26], SECOND))
    assert str(finding) == "area=A, age=19-20: 19 - 18 = 1 person, from output 3 and output 7 (by definition)"
    assert (finding.concern, finding.n_groups, finding.n_units) == (Concern.SMALL_GROUP, 1, 1)
    assert finding.basis is DisclosureBasis.BY_DEFINITION
    assert "already released" in finding.remedy
    assert finding.verdict.status is Clearance.FAIL


def test_remedy_names_released_cut_points(tmp_path):
    codes = {str(age): "0-18" if age < 19 else "19-30" for age in range(31)}
    ledger = opened(tmp_path, 57)
    age = AGE[:57]
    ledger.remember(
        "first",
        [Partition.published("first", np.where(age < 19, 1, 2))],
        Definition.of({"age": codes}, [[["0-18"], ["19-30"]]]),
    )
    moved = {str(age): "0-20" if age < 21 else "21-30" for age in range(31)}
    (finding,) = ledger.check(
        "second",
        [Partition.published("second", np.where(age < 21, 1, 2))],
        Definition.of({"age": moved}, [[["0-20"], ["21-30"]]]),
    )
    assert str(finding).startswith("age=19-20: 39 - 38 = 1 unit")
    assert finding.remedy == "reuse the cut points of age already released: 19"


def test_findings_are_grouped_by_outputs_with_worst(tmp_path):
    # The same shift in both areas, ten or more wanted in area B as well.
    ledger = opened(tmp_path, threshold=20)
    ledger.remember("first", *table_1("first", [19, 26], FIRST))
    (finding,) = ledger.check("second", *table_1("second", [21, 26], SECOND))
    assert (finding.n_groups, finding.n_units) == (2, 1)
    assert str(finding).endswith("; 1 more group")


def test_checked_output_is_not_stored(tmp_path):
    ledger = opened(tmp_path)
    ledger.remember("first", *table_1("first", [19, 26], FIRST))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert ledger.check("second", *table_1("second", [21, 26], SECOND))
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    again = ledger.check("second", *table_1("second", [21, 26], SECOND))
    assert [finding.n_units for finding in again] == [1]


def test_reopened_ledger_contains_remembered_outputs(tmp_path):
    """With the derived groups: a chain of three is found by a ledger that was closed in between."""
    unit = np.arange(100)
    chain = [unit < 60, unit < 30, (unit >= 30) & (unit < 58)]
    for number, inside in enumerate(chain[:2]):
        ledger = opened(tmp_path, 100, threshold=4)
        name = f"output {number}"
        assert ledger.check(name, [Partition.published(name, inside.astype(int))]) == []
        ledger.remember(name, [Partition.published(name, inside.astype(int))], published={"n": [1, 2]})
    ledger = opened(tmp_path, 100, threshold=4)
    (finding,) = ledger.check("new", [Partition.published("new", chain[2].astype(int))])
    assert finding.outputs == ("output 0", "output 1", "new")
    assert (
        str(finding) == "a group: 60 - 30 - 28 = 2 units, from output 0 and output 1 and new (not classified)"
    )
    assert ledger.scope == "all outputs tested together"


@pytest.mark.parametrize("n_outputs", [5, 6, 9])
def test_long_chains_are_found(tmp_path, n_outputs):
    unit = np.arange(300)
    part = np.minimum(unit // 30, n_outputs - 2)
    part[0] = -1  # one unit is in none of the parts
    ledger = opened(tmp_path, 300, threshold=10)
    for number in range(n_outputs):
        inside = part >= -1 if number == 0 else part == number - 1
        inside &= part < n_outputs - 1
        name, last = f"output {number}", number == n_outputs - 1
        found = ledger.check(name, [Partition.published(name, inside.astype(int))])
        assert [finding.n_units for finding in found] == [1] * last
        ledger.remember(name, [Partition.published(name, inside.astype(int))])
    assert len(found[0].outputs) == n_outputs


def test_bound_on_a_group_that_does_not_follow_exactly(tmp_path):
    """(first + second - third) / 2 counts two units, and one more by half."""
    atoms = np.repeat([0, 1, 2, 3], [2, 5, 5, 1])
    cells = [np.isin(atoms, inside).astype(int) for inside in ([0, 1, 3], [0, 2], [1, 2])]
    ledger = opened(tmp_path, 13, threshold=5)
    for number in range(2):
        ledger.remember(str(number), [Partition.published(str(number), cells[number])])
    (finding,) = ledger.check("new", [Partition.published("new", cells[2])])
    assert finding.concern is Concern.BOUND
    assert finding.verdict.status is Clearance.REVIEW
    assert "1/2 x 8 + 1/2 x 7 - 1/2 x 10" in str(finding)


def test_too_many_combinations_are_searched_up_to_four_outputs(tmp_path, monkeypatch):
    monkeypatch.setattr("hitoku.attacks.differencing.atoms.MAX_TOGETHER", 1)
    ledger = opened(tmp_path)
    ledger.remember("first", *table_1("first", [19, 26], FIRST))
    assert [each.n_units for each in ledger.check("second", *table_1("second", [21, 26], SECOND))] == [1]
    assert ledger.scope == "tested up to four outputs together"


def test_later_outputs_round_trip(tmp_path):
    random = np.random.default_rng(5)
    vectors = [random.integers(0, high, 400) for high in (3, 300, 2, 70_000, 5, 9, 4, 12)]
    vectors = [np.unique(np.append(v, 0), return_inverse=True)[1][:-1] for v in vectors]
    ledger = opened(tmp_path, 400, depth=1)
    for number, codes in enumerate(vectors):
        ledger.remember(str(number), [Partition.published(str(number), codes)])
    again = opened(tmp_path, 400, depth=1)
    assert [part.codes.tolist() for part in again.search.released] == [v.tolist() for v in vectors]


def test_reopened_ledger_matches_open_ledger(tmp_path):
    random = np.random.default_rng(4)
    variables = random.integers(0, 4, (80, 4))
    stayed = opened(tmp_path / "stayed", 80, threshold=5)
    n_derived = 0
    for number in range(12):
        one, other = random.choice(4, 2, replace=False)
        codes = np.where(variables[:, other] > random.integers(3), variables[:, one] + 1, 0)
        codes = np.unique(np.append(codes, 0), return_inverse=True)[1][:-1]
        parts = [Partition.published(str(number), codes)]
        closed = opened(tmp_path / "closed", 80, threshold=5)
        assert [finding.certificate for finding in closed.check(str(number), parts)] == [
            finding.certificate for finding in stayed.check(str(number), parts)
        ]
        closed.remember(str(number), parts)
        stayed.remember(str(number), parts)
        n_derived = len(closed.search.derived)
    assert n_derived


def altered(path, statement, *values):
    with closing(sqlite3.connect(path)) as database, database:
        assert database.execute(statement, values).rowcount == 1


@pytest.mark.parametrize(
    "statement",
    [
        "update log set body = replace(body, 'first', 'fir5t') where number = 2",
        "update log set head = replace(head, substr(head, 1, 1), 'x') where number = 1",
        "update log set kind = 'release' where number = 2",
        "delete from log where number = 1",
        "update log set number = 5 where number = 2",
        "update vector set content = x'00'",
        "delete from vector",
        "update secret set key = zeroblob(32)",
        "delete from secret",
    ],
)
def test_altered_ledger_raises(tmp_path, statement):
    opened(tmp_path).remember("first", *table_1("first", [19, 26], FIRST))
    altered(tmp_path / "x.ledger", statement)
    with raises("ledger_file_changed"):
        opened(tmp_path)


def test_flipped_byte_raises_or_changes_nothing(tmp_path):
    opened(tmp_path).remember("first", *table_1("first", [19, 26], FIRST))
    path = tmp_path / "x.ledger"
    intact = path.read_bytes()
    refused = 0
    for place in range(0, len(intact), 61):
        path.write_bytes(intact[:place] + bytes([intact[place] ^ 0x15]) + intact[place + 1 :])
        try:
            ledger = opened(tmp_path)
        except HitokuError:
            refused += 1
            continue
        (finding,) = ledger.check("second", *table_1("second", [21, 26], SECOND))
        assert finding.n_units == 1
    assert refused > 10


def test_ledger_file_is_readable_by_owner_only(tmp_path):
    opened(tmp_path).remember("first", *table_1("first", [19, 26], FIRST))
    assert [(path.name, path.stat().st_mode & 0o777) for path in tmp_path.iterdir()] == [("x.ledger", 0o600)]


def test_other_ledger_version_raises(tmp_path):
    path = tmp_path / "x.ledger"
    path.write_text(json.dumps({"format": "hitoku ledger", "version": 2, "body": {}}))
    with raises("ledger_version_not_supported") as raised:
        opened(tmp_path)
    assert raised.value.code == "ledger_version_not_supported"
    assert "hitoku ledger init" in raised.value.fix
    path.unlink()
    store = fresh_store(path, {"data_hash": "d1", "n_units": N_UNITS, "depth": 3, "by_name": False})
    newer = replace(store.lines[0], body={**store.lines[0].body, "version": 5})
    text = json.dumps(newer.body, separators=(",", ":"))
    newer = replace(newer, head=hashlib.sha256(f"{'0' * 64}\nbegin\n{text}".encode()).hexdigest())
    create(path, [newer], store.key)
    with raises("ledger_version_unknown", version=5):
        opened(tmp_path)


def test_other_data_units_or_depth_raise(tmp_path):
    opened(tmp_path).remember("first", *table_1("first", [19, 26], FIRST))
    with raises("ledger_of_other_data"):
        Ledger.open(tmp_path / "x.ledger", data_hash="d2", n_units=N_UNITS)
    with raises("ledger_of_other_data"):
        opened(tmp_path, 5)
    with raises("ledger_depth_exceeded"):
        opened(tmp_path, depth=2)


def test_concurrent_writers_do_not_overwrite(tmp_path):
    one, other = opened(tmp_path), opened(tmp_path)
    one.remember("first", *table_1("first", [19, 26], FIRST))
    with raises("ledger_written_meanwhile"):
        other.remember("second", *table_1("second", [21, 26], SECOND))


def test_mismatched_names_and_definitions_raise(tmp_path):
    ledger = opened(tmp_path)
    parts, definition = table_1("first", [19, 26], FIRST)
    ledger.remember("first", parts, definition)
    with raises("output_already_in_ledger"):
        ledger.check("first", parts)
    with raises("definition_without_published_cells"):
        ledger.check("second", parts, Definition.ungrouped({"age": ["1"]}, [[["1"]]]))
    with raises("output_units_differ", n_output=2):
        ledger.check("second", [Partition.published("second", [1, 0])])
    with raises("published_values_invalid"):
        ledger.remember("second", parts, published=object())
    assert ledger.names == ("first",)


def test_output_without_membership_is_not_testable(tmp_path):
    ledger = opened(tmp_path)
    (verdict,) = ledger.verdicts(ledger.check("output 3", None))
    assert verdict.text == "nothing before it"
    ledger.remember("output 3", None)
    parts, definition = table_1("output 4", [19, 26], FIRST)
    (finding,) = ledger.check("output 4", parts, definition)
    assert str(finding) == "not testable against output 3"
    assert finding.verdict.status is Clearance.REVIEW
    ledger.remember("output 4", parts, definition)
    (finding,) = opened(tmp_path).check("output 5", None)
    assert str(finding) == "output 5 is not testable against output 3, output 4"


def test_projects_sharing_data_are_compared(tmp_path):
    opened(tmp_path, project="wages").remember("table", *table_1("table", [19, 26], FIRST))
    (finding,) = opened(tmp_path, project="health").check("table", *table_1("table", [21, 26], SECOND))
    assert finding.outputs == ("table (project wages)", "table")


def test_harmless_output_passes_with_scope(tmp_path):
    ledger = opened(tmp_path)
    ledger.remember("first", *table_1("first", [19, 26], FIRST))
    findings = ledger.check("second", *table_1("second", [19, 26], FIRST))
    (verdict,) = ledger.verdicts(findings)
    assert (verdict.status, verdict.text) == (
        Clearance.PASS,
        "all outputs tested together, against 1 released before",
    )


def test_search_limit_is_reported_and_remembered(tmp_path, monkeypatch):
    monkeypatch.setattr("hitoku.attacks.differencing.atoms.MAX_TOGETHER", 1)
    path, unit = tmp_path / "x.ledger", np.arange(100)
    ledger = Ledger.open(path, data_hash="d", n_units=100)
    for number, inside in enumerate([unit < 60, unit < 30, unit >= 70]):
        ledger.search.effort = 0 if number == 2 else ledger.search.effort
        ledger.remember(str(number), [Partition.published(str(number), inside.astype(int))])
    new = [Partition.published("new", ((unit >= 30) & (unit < 58)).astype(int))]
    (finding,) = ledger.check("new", new)
    assert finding.concern is Concern.LIMIT
    assert "comparisons of what follows were left out" in finding.text
    (verdict,) = ledger.verdicts([finding])
    assert (verdict.status, verdict.reason) == (Clearance.REVIEW, "limit_of_work")
    again = Ledger.open(path, data_hash="d", n_units=100)
    assert again.scope.endswith("the implications of 2 are not completely known")
    # What was left out then is compared again: a chain of three is found with the groups that are known.
    assert [found.concern for found in again.check("new", new)] == [Concern.SMALL_GROUP]


@pytest.mark.parametrize(
    ("effort", "income", "rules", "concern"),
    [
        pytest.param(
            None, 1000.0, [Dominance(1, 50)], Concern.MAGNITUDE, id="derived sums of 15 and 45 units"
        ),
        pytest.param(0, 1000.0, [Dominance(1, 50)], Concern.LIMIT, id="not derived within the limit"),
        pytest.param(None, 1.0, [Dominance(1, 50)], None, id="no unit dominates"),
        pytest.param(0, 1000.0, [], None, id="counts need no search"),
    ],
)
def test_search_limit_matters_to_magnitudes_of_large_groups(tmp_path, effort, income, rules, concern):
    unit = np.arange(100)
    measures = {"income": Measure.of(np.where(unit == 50, income, 1.0))}
    ledger = Ledger.open(tmp_path / "x.ledger", data_hash="d", n_units=100)
    ledger.search.effort = ledger.search.effort if effort is None else effort
    for name, inside in (("all", unit < 60), ("young", unit < 30)):
        ledger.remember(name, [Partition.published(name, inside.astype(int))], measures=measures)
    new = [Partition.published("new", ((unit >= 30) & (unit < 45)).astype(int))]
    found = ledger.check("new", new, measures=measures, rules=rules)
    assert {each.concern for each in found} == ({concern} if concern else set())


def test_comparison_at_its_limit_is_not_decided(tmp_path, monkeypatch):
    monkeypatch.setattr("hitoku.attacks.differencing.atoms.MAX_TOGETHER", 1)
    path, unit = tmp_path / "x.ledger", np.arange(100)
    ledger = Ledger.open(path, data_hash="d", n_units=100)
    ledger.remember("first", [Partition.published("first", (unit < 60).astype(int))])
    new = [Partition.published("new", (unit < 58).astype(int))]
    assert [finding.concern for finding in ledger.check("new", new)] == [Concern.SMALL_GROUP]
    limited = Ledger.open(path, data_hash="d", n_units=100)
    limited.search.flow_work = 0
    (finding,) = limited.check("new", new)
    # The two outputs, and the new one with what follows from them.
    assert str(finding).startswith("not decided: 2 comparison(s) were not finished within the limit of work")
    (verdict,) = limited.verdicts([finding])
    assert (verdict.status, verdict.reason) == (Clearance.REVIEW, "limit_of_work")
    limited.remember("new", new)
    assert Ledger.open(path, data_hash="d", n_units=100).scope.endswith(
        "the implications of new are not completely known"
    )


def test_cells_and_margins_are_parts_of_one_output(tmp_path):
    # The area's total is published, its smallest band withheld: the output gives it away alone.
    inner = np.where(banded([19, 26]) == 1, 0, banded([19, 26]) - 1)
    ledger = opened(tmp_path, threshold=20)
    parts = [Partition.published("t", inner), Partition.published("t", AREA + 1, part=1)]
    bands = [["A", "19-25"], ["A", "26-30"], *(["B", band] for band in FIRST)]
    definition = Definition.ungrouped({"area": ["A", "B"], "age": FIRST}, [bands, [["A", None], ["B", None]]])
    (finding,) = ledger.check("t", parts, definition)
    assert str(finding) == "area=A, age=0-18: 57 - 19 - 20 = 18 units, from t (by definition)"


def test_large_derived_group_meets_dominance_rule(tmp_path):
    # 15 units follow from the two; one of them has three quarters of their income.
    income = np.ones(100)
    income[45] = 45.0
    whole, part = (np.arange(100) < 60).astype(int), (np.arange(100) < 45).astype(int)
    measures = {"income": Measure.of(income)}
    for carried, expected in ((measures, ["magnitude"]), (None, [])):
        ledger = opened(tmp_path / str(bool(carried)), 100)
        ledger.remember("whole", [Partition.published("whole", whole)], measures=carried)
        findings = ledger.check(
            "part", [Partition.published("part", part)], measures=measures, rules=[Dominance(1, 50)]
        )
        assert [str(finding.concern) for finding in findings] == expected


@pytest.mark.parametrize(
    ("rounded", "found"),
    [
        pytest.param(0.01, True, id="half a hundredth times 105 units is 0.5, under a tenth of 45"),
        pytest.param(0.08, True, id="4.2 is under 4.5"),
        pytest.param(0.09, False, id="4.7 is more than 4.5"),
    ],
)
def test_rounded_means_protect_a_derived_sum(tmp_path, rounded, found):
    income = np.ones(100)
    income[45] = 45.0
    whole, part = (np.arange(100) < 60).astype(int), (np.arange(100) < 45).astype(int)
    measures = {"income": Measure.of(income, "mean", rounded)}
    ledger = opened(tmp_path, 100)
    ledger.remember("whole", [Partition.published("whole", whole)], measures=measures)
    findings = ledger.check(
        "part", [Partition.published("part", part)], measures=measures, rules=[Dominance(1, 50)], percent=10
    )
    assert bool(findings) is found


def test_reruns_differing_by_missing_units_are_compared(tmp_path):
    region = np.arange(200) % 4
    known = np.ones(200, dtype=bool)
    known[[8, 12]] = False  # two persons of region 0 without a schooling
    names = {"region": list("0123")}
    cells = [[[None]], [[code] for code in "0123"]]
    ledger = opened(tmp_path, 200)
    ledger.remember(
        "model 1", implied_tables("model 1", [region], known | True), Definition.ungrouped(names, cells)
    )
    schooling = Definition.of(
        {"region": {c: c for c in "0123"}, "schooling": {"known": "known", MISSING: None}},
        [[[None, "known"]], [[code, "known"] for code in "0123"]],
    )
    (finding,) = ledger.check("model 2", implied_tables("model 2", [region], known), schooling)
    assert (finding.n_units, finding.basis) == (2, DisclosureBasis.MISSING_VALUES)


@pytest.mark.parametrize(
    ("dummies", "sample"), [([[0, 1]], [1, 1]), ([[0, -1]], [True, True]), ([[0]], [True, True])]
)
def test_invalid_dummies_raise(dummies, sample):
    with pytest.raises(DataError):
        implied_tables("model", dummies, sample)


def test_unit_numbers_are_order_independent_and_keyed():
    units = [f"person {n}" for n in range(50)]
    turned = list(reversed(units))
    key, other = bytes(32), bytes([1]) * 32
    assert dict(zip(units, unit_numbers(units, key), strict=True)) == dict(
        zip(turned, unit_numbers(turned, key), strict=True)
    )
    assert unit_numbers(units, key).tolist() != unit_numbers(units, other).tolist()
    with raises("unit_listed_twice"):
        unit_numbers(["a", "a"], key)


def test_ledger_repr_shows_nothing_confidential():
    assert repr(Measure.of([4242.0, 1.0], "mean", 0.5)) == "Measure(mean over 2 units, rounded to 0.5)"


@pytest.mark.parametrize("seed", range(15))
def test_accepted_outputs_together_single_out_no_unit(tmp_path_factory, seed):
    """Whatever was accepted, no two outputs expose anybody, as a linear program says, nor do three."""
    random = np.random.default_rng(seed)
    n, threshold = 60, 4
    ledger = opened(tmp_path_factory.mktemp("ledger"), n, threshold=threshold)
    accepted = []
    variables = random.integers(0, 10, (n, 3))
    for number in range(8):
        cuts = np.sort(random.choice(np.arange(1, 10), random.integers(1, 4), replace=False))
        codes = np.digitize(variables[:, random.integers(3)], cuts) + 1
        codes = np.where(variables[:, random.integers(3)] >= random.integers(0, 4), codes, 0)
        codes = np.where(np.bincount(codes)[codes] < threshold, 0, codes)
        codes = np.unique(np.append(codes, 0), return_inverse=True)[1][:-1]
        parts = [Partition.published(str(number), codes)]
        if not ledger.check(str(number), parts):
            ledger.remember(str(number), parts)
            accepted.append(codes)
    for place, one in enumerate(accepted):
        for other in accepted[:place]:
            assert not exposed_units([one, other], threshold).any()
    # Its own attack, up to three together, anew and in another order.
    search = opened(tmp_path_factory.mktemp("again"), n, threshold=threshold)
    for number, codes in enumerate(reversed(accepted)):
        parts = [Partition.published(str(number), codes)]
        assert search.check(str(number), parts) == []
        search.remember(str(number), parts)


def test_measure_rejects_two_dimensional_values():
    with raises("measure_invalid"):
        Measure.of([[1.0]])


def test_output_without_published_values_is_harmless(tmp_path):
    ledger = opened(tmp_path)
    ledger.remember("empty", [Partition.published("empty", np.zeros(N_UNITS, dtype=int))])
    ledger.remember("none", [])
    again = opened(tmp_path)
    assert again.names == ("empty", "none")
    assert again.check("first", *table_1("first", [19, 26], FIRST)) == []


def test_losses_are_ranked_by_absolute_value(tmp_path):
    # One enterprise of fifteen lost 45, the others earned 1 each.
    profit = np.ones(100)
    profit[45] = -45.0
    measures = {"profit": Measure.of(profit)}
    ledger = opened(tmp_path, 100)
    whole, part = (np.arange(100) < 60).astype(int), (np.arange(100) < 45).astype(int)
    ledger.remember("whole", [Partition.published("whole", whole)], measures=measures)
    new = [Partition.published("part", part)]
    (finding,) = ledger.check("part", new, measures=measures, rules=[Dominance(1, 50)])
    assert (
        str(finding)
        == "a group: 60 - 45 = 15 units, from whole and part (not classified), profit fails dominance"
    )
    with raises("measure_length_differs", n_values=3, n_units=100):
        ledger.check("part", new, measures={"profit": Measure.of([1, 2, 3])}, rules=[Dominance(1, 50)])
