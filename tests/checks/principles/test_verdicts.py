"""The principles on evidence made by hand: what is just enough passes, what just is not fails."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from hitoku.checks.policies import policy
from hitoku.checks.principles import (
    Clearance,
    Principle,
    PrincipleTest,
    PrincipleVerdict,
    count_need,
    in_order,
    merge_remedy,
    merging,
    together,
    unsafe_parts,
    verdicts,
    worst,
)
from hitoku.checks.principles import group_principles as groups
from hitoku.checks.principles import model_principles as models
from hitoku.checks.principles import value_principles as values
from hitoku.checks.principles.table_principles import _companions
from hitoku.model import Table

# At least 10 units, more than 11 degrees of freedom, (1, 50) dominance, no part above 90 %.
JAPAN = policy("japan-2017")
FAIL, REVIEW, PASS = Clearance.FAIL, Clearance.REVIEW, Clearance.PASS


def people(*n_units, withheld=(), **more):
    """Groups a, b, c ... of so many units."""
    return SimpleNamespace(
        label=lambda place: ("abcdefgh"[place],),
        labels=[(code,) for code in "abcdefgh"[: len(n_units)]],
        n_units=np.array(n_units),
        withheld=np.array([code in withheld for code in "abcdefgh"[: len(n_units)]]),
        **more,
    )


@pytest.mark.parametrize(
    ("n_units", "withheld", "status", "text"),
    [
        pytest.param((10, 12), "", PASS, "at least 10 units: met", id="just enough"),
        pytest.param((9, 12), "", FAIL, "at least 10 units: not met by 1 of 2 (a)", id="one too few"),
        pytest.param((9, 12), "a", PASS, "at least 10 units: 1 of 2 withheld", id="withheld"),
        pytest.param((9, 12), "b", FAIL, "not met by 1 of 2 (a)", id="the wrong one is withheld"),
        pytest.param((9, 12), "ab", FAIL, "not met by 1 of 2 (a)", id="nothing would leave"),
        pytest.param((12, 12), "ab", PASS, "at least 10 units: met", id="nothing unsafe, nothing leaves"),
        pytest.param((9, 8, 12), "a", FAIL, "not met by 2 of 3 (a, b)", id="one of two is withheld"),
        pytest.param(
            (1, 1, 1, 1, 9), "", FAIL, "not met by 5 of 5 (a, b, c and 2 more)", id="three are named"
        ),
    ],
)
def test_too_few_units_fail(n_units, withheld, status, text):
    evidence = people(*n_units, withheld=withheld)
    test = groups.units(evidence, JAPAN)
    assert test.unsafe.tolist() == [n < 10 for n in n_units]
    found = test.verdict(evidence)
    assert found.status is status
    assert text in found.text
    few = [n < 10 for n in n_units]
    leaving = sum(small and code not in withheld for code, small in zip("abcdefgh", few, strict=False))
    assert found.numbers == {
        "minimum": 10,
        "smallest": min(n_units),
        "unsafe": sum(few),
        "published": leaving,
    }
    assert bool(found.remedy) is any(few)
    assert found.reason == ("too_few_units" if status is FAIL else "withheld" if any(few) else "met")


def test_group_without_codes_is_the_population():
    alone = SimpleNamespace(label=lambda _: (), withheld=np.array([False]))
    assert "(all)" in fails([True]).verdict(alone).text


def fails(unsafe, **more):
    """Make a test that some parts do not meet."""
    return PrincipleTest(
        principle=Principle.UNITS,
        reason="few",
        unsafe=np.array(unsafe),
        rule="rule",
        remedy="suggested fix",
        **more,
    )


def said(status):
    return PrincipleVerdict(principle=Principle.FREEDOM, status=status, reason="whole", text="the whole")


@pytest.mark.parametrize(
    ("tests", "withheld", "statuses"),
    [
        pytest.param([fails([True, False])], [True, False], [PASS], id="the unsafe part"),
        pytest.param(
            [fails([True, False]), fails([False, True])], [True, True], [FAIL, FAIL], id="nothing is left"
        ),
        pytest.param(
            [fails([True, False], severity=REVIEW)], [False, False], [REVIEW], id="review withholds nothing"
        ),
        pytest.param([said(REVIEW)], [False, False], [REVIEW], id="review of the whole"),
        pytest.param([said(FAIL)], [True, True], [FAIL], id="the whole fails"),
        pytest.param(
            [fails([True, False], follows=np.array([True, False]))],
            [True, False],
            [FAIL],
            id="what is withheld follows all the same",
        ),
        pytest.param([], [False, False], [], id="no principle"),
    ],
)
def test_mask_and_verdicts_follow_from_the_same_tests(tests, withheld, statuses):
    assert unsafe_parts(tests, 2).tolist() == withheld
    evidence = people(
        20, 20, withheld="".join(code for code, gone in zip("ab", withheld, strict=True) if gone)
    )
    assert [verdict.status for verdict in verdicts(tests, evidence)] == statuses


@pytest.mark.parametrize(
    ("largest", "size", "unsafe"),
    [
        pytest.param((50.0, 30.0), 100.0, False, id="exactly half is safe"),
        pytest.param((50.1, 30.0), 100.0, True, id="a little more than half"),
        pytest.param((0.0, 0.0), 0.0, False, id="zeros dominate nothing"),
    ],
)
def test_dominance_verdict_matches_policy(largest, size, unsafe):
    evidence = people(20, size=np.array([size]), largest=np.array([largest]))
    assert groups.dominated_groups(evidence, JAPAN).tolist() == [unsafe]
    found = groups.dominance(evidence, JAPAN).verdict(evidence)
    assert found.status is (FAIL if unsafe else PASS)
    assert found.numbers["largest_share"] == pytest.approx(largest[0] / size if size else 0.0)
    assert "(1, 50) dominance" in found.text


@pytest.mark.parametrize(
    ("largest", "unsafe"),
    [
        pytest.param((50.0, 45.0), False, id="the rest is just a tenth of the largest"),
        pytest.param((50.0, 45.1), True, id="a little less"),
        pytest.param((40.0, 20.0), False, id="far from it"),
    ],
)
def test_p_percent_rule_of_policy_is_applied(largest, unsafe):
    with_p = JAPAN.model_copy(update={"dominance": JAPAN.dominance.model_copy(update={"p": 10.0})})
    evidence = people(20, size=np.array([100.0]), largest=np.array([largest]))
    assert not groups.dominated_groups(evidence, JAPAN)[0]
    assert groups.dominated_groups(evidence, with_p).tolist() == [unsafe]
    assert "and the 10 % rule" in groups.dominance(evidence, with_p).rule


@pytest.mark.parametrize(
    ("holders", "unsafe"),
    [
        pytest.param((90, 10), False, id="nine tenths, and just enough of the others"),
        pytest.param((91, 9), True, id="too many, and too few of the others"),
        pytest.param((91, 10), True, id="too many, though enough are others"),
        pytest.param((9, 40), True, id="nine alone are too few"),
        pytest.param((100, 0), True, id="all have it"),
    ],
)
def test_two_valued_variable_is_a_count(holders, unsafe):
    total = 100 if holders == (91, 10) else sum(holders)
    ranked = np.array([[*sorted(holders, reverse=True), 0, 0, 0]])
    counted = (ranked > 0).sum(axis=1), ranked
    assert values.reveals_counts(np.array([total]), *counted, JAPAN).tolist() == [unsafe]
    tests = values.few_values(people(total), *counted, JAPAN)
    (verdict,) = verdicts(tests, people(total))
    assert verdict.status is (FAIL if unsafe else PASS)
    assert verdict.numbers["smallest"] == min(n for n in holders if n)


@pytest.mark.parametrize(
    ("holders", "n_values", "equations", "unsafe"),
    [
        pytest.param([50, 41, 9, 0, 0], 3, 1, False, id="two unknown counts and one equation"),
        pytest.param([50, 41, 9, 0, 0], 3, 2, True, id="two unknown counts and two equations"),
        pytest.param([50, 40, 10, 0, 0], 3, 2, False, id="they follow, and are of enough"),
        pytest.param([91, 5, 2, 1, 1], 5, 1, True, id="nearly all alike, of five values"),
        pytest.param([91, 1, 1, 1, 1], 10, 1, True, id="of ten"),
        pytest.param([89, 1, 1, 1, 1], 11, 1, False, id="of more it is an amount"),
    ],
)
def test_statistics_equal_in_number_to_counts_determine_them(holders, n_values, equations, unsafe):
    found = values.reveals_counts(
        np.array([100]), np.array([n_values]), np.array([holders]), JAPAN, equations
    )
    assert found.tolist() == [unsafe]


def test_uncounted_amounts_need_review():
    many = np.array([12]), np.array([[1, 1, 1, 1, 1]])
    assert list(values.few_values(people(12), *many, JAPAN)) == []
    (found,) = values.few_values(people(12), None, None, JAPAN)
    assert (found.status, found.reason) == (REVIEW, "not_testable")
    assert values.reveals_counts(np.array([5, 6]), None, None, JAPAN).tolist() == [False, False]


def percentile(percent, low, high, n_units=100):
    told = {"codes": {}, "variable": "x", "statistic": f"p{percent}", "percent": percent}
    return together.Said(**told, n_units=n_units, low=low, high=high)


def moment(name, n_units, holders=()):
    n_values = len(holders) or 11
    ranked = (*holders, *[0] * (5 - len(holders))) if holders else (1,) * 5
    told = {"codes": {}, "variable": "x", "statistic": name}
    return together.Said(**told, n_units=n_units, n_values=n_values, holders=ranked)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        pytest.param([percentile(50, 50, 50)], set(), id="one percentile"),
        pytest.param([percentile(50, 50, 50), percentile(60, 60, 40)], set(), id="ten from 51 to 60"),
        pytest.param([percentile(50, 50, 50), percentile(59, 59, 41)], {"percentiles_too_near"}, id="nine"),
        pytest.param([percentile(59, 59, 41), percentile(50, 50, 50)], {"percentiles_too_near"}, id="turned"),
        pytest.param([percentile(50, 50, 51), percentile(51, 50, 51)], set(), id="at the same place"),
        pytest.param(
            [percentile(49.6, 50, 50), percentile(49.9, 50, 50)],
            {"percentiles_too_near"},
            id="between the same two units",
        ),
        pytest.param([percentile(20, 40, 100), percentile(45, 60, 60)], set(), id="many have the same value"),
        pytest.param([moment("mean", 13), moment("spread", 13)], set(), id="12 degrees of freedom"),
        pytest.param(
            [moment("mean", 12), moment("spread", 12)], {"too_few_degrees_of_freedom"}, id="11 of them"
        ),
        pytest.param([moment("mean", 12), moment("mean", 12)], set(), id="a mean, twice"),
        pytest.param([moment("mean", 100, (60, 35, 5))], set(), id="three values, one equation"),
        pytest.param(
            [moment("mean", 100, (60, 35, 5)), moment("spread", 100, (60, 35, 5))],
            {"counts_follow"},
            id="three values, two equations",
        ),
        pytest.param(
            [moment("mean", 100, (55, 35, 10)), moment("spread", 100, (55, 35, 10))],
            set(),
            id="counts that follow, of enough units",
        ),
    ],
)
def test_statistics_of_one_group_are_judged_together(said, found):
    assert {str(each) for each in together.problems(said, JAPAN)} == found
    assert [together.Said.from_dict(each.to_dict()) for each in said] == said


@pytest.mark.parametrize(("fit", "unsafe"), [(1.0, True), (1 - 1e-6, True), (1 - 2e-6, False), (0.0, False)])
def test_perfect_fit_fails(fit, unsafe):
    test = groups.perfect_fit(np.array([fit]))
    assert test.unsafe.tolist() == [unsafe]
    assert test.verdict(people(20)).status is (FAIL if unsafe else PASS)
    assert groups.perfect_fit(None).status is REVIEW


@pytest.mark.parametrize(
    ("sets", "parts", "cells", "exact", "reasons"),
    [
        pytest.param([10, 10], [0] * 4, False, True, {}, id="just enough in both groups"),
        pytest.param([9, 60], [0] * 4, False, True, {"group_of_few": FAIL}, id="nine in one"),
        pytest.param([0, 60, 40], [0] * 6, False, True, {}, id="a group that does not occur"),
        pytest.param([60, 40], [50, 10, 0, 0], False, True, {}, id="two values in one group, of enough"),
        pytest.param([60, 40], [51, 9, 0, 0], False, True, {"two_values": FAIL}, id="nine have the other"),
        pytest.param([50] * 4, [40, 10, 10, 40], True, True, {}, id="four cells of enough"),
        pytest.param([50] * 4, [41, 9, 9, 41], True, True, {"two_values": FAIL}, id="two of nine"),
        pytest.param([60] * 5, [9] * 6, True, True, {"small_cells": REVIEW}, id="six cells of nine"),
        pytest.param([60] * 5, [9] * 6, True, False, {}, id="the same, rounded"),
    ],
)
def test_small_groups_in_a_test_are_reported(sets, parts, cells, exact, reasons):
    wholes = np.full((1, len(parts)), 50) if cells else np.repeat([sets], 2, axis=1)
    tested = values.ComparedGroups(np.array([sets]), np.array([parts]), wholes, cells, exact)
    found = verdicts(values.entering_tests(people(100), tested, JAPAN), people(100))
    assert {v.reason: v.status for v in found if v.status is not PASS} == reasons
    (unknown,) = values.entering_tests(people(100), None, JAPAN)
    assert unknown.status is REVIEW


@pytest.mark.parametrize(("freedom", "status"), [((12, 30), PASS), ((11, 30), FAIL)])
def test_too_few_degrees_of_freedom_fail(freedom, status):
    found = groups.degrees_of_freedom(np.array(freedom), JAPAN).verdict(people(40, 40))
    assert (found.status, found.numbers["smallest"], found.numbers["limit"]) == (status, min(freedom), 11)


@pytest.mark.parametrize(
    ("labels", "n_units", "said"),
    [
        pytest.param(
            "abc", (9, 1, 12), "merge a with b, merge b with a", id="the smaller one that is enough"
        ),
        pytest.param("abc", (12, 9, 12), "merge b with c", id="of two equal ones the next"),
        pytest.param("abc", (1, 1, 1), "take more|both", id="none is enough"),
        pytest.param("ab", (0, 12), "take more units together", id="nobody is merged with nobody"),
        pytest.param("ab", (4, 6), "merge a with b, merge b with a", id="together just enough"),
    ],
)
def test_merging_suggests_neighbouring_codes(labels, n_units, said):
    told = merging([(code,) for code in labels], np.array(n_units), 10)
    assert any(part in told for part in said.split("|")), told


def test_neighbours_share_the_other_codes():
    labels = [("f", "1"), ("f", "2"), ("m", "1"), ("m", "2")]
    assert merging(labels, np.array([20, 9, 9, 20]), 10) == "merge 2 with 1 in f, merge 1 with 2 in m"
    assert in_order("10-14") < in_order("100+")
    assert in_order("5-9") < in_order("10-14")


@pytest.mark.parametrize(
    ("n_units", "withheld", "found"),
    [
        # One row of four cells and their total; cell 0 and 1 are withheld.
        pytest.param((4, 5, 30, 20, 59), (0, 1), [3], id="nine between them: the smallest other one"),
        pytest.param((4, 6, 30, 20, 60), (0, 1), [], id="ten between them are enough"),
        pytest.param((0, 0, 30, 20, 50), (0, 1), [], id="nobody is between them"),
        pytest.param((4, 5, 30, 20, 59), (0, 1, 4), [], id="the total is withheld, too"),
        pytest.param((4, 5, 30, 0, 39), (0, 1), [2], id="an empty cell hides nobody"),
        pytest.param((4, 5, 0, 0, 9), (0, 1), [], id="there is no other"),
    ],
)
def test_derivable_sums_need_enough_units(n_units, withheld, found):
    table = Table(value=np.array(n_units, float), relations=[[1, 1, 1, 1, -1]])
    hidden = np.isin(np.arange(5), withheld)
    assert np.flatnonzero(_companions(table, np.array(n_units), hidden, 10)).tolist() == found
    turned = Table(value=np.array(n_units, float), relations=[[-1, -1, -1, -1, 1]])
    assert np.flatnonzero(_companions(turned, np.array(n_units), hidden, 10)).tolist() == found


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        pytest.param([20, 4, 20, 20], "merge age 2 with 3", id="with the next one"),
        pytest.param([20, 20, 4], "merge age 3 with 2", id="or the one before, at the end"),
        pytest.param([4, 6, 20], "merge age 1 with 2", id="two at once, together just enough"),
        pytest.param([0, 4], "", id="nobody is merged with nobody"),
        pytest.param([10, 20], "", id="nothing to mend"),
        pytest.param(
            [[20, 20, 20], [4, 20, 20], [4, 20, 4]], "merge age 2 with 3", id="where most cells are mended"
        ),
        pytest.param([[20, 4, 20], [20, 4, 20]], "merge sex 2 with 3", id="in the other variable"),
    ],
)
def test_categories_to_merge_are_proposed(counts, said):
    table = Table.from_array(np.array(counts), names=["age", "sex"][: np.ndim(counts)])
    evidence = SimpleNamespace(dimensions=table.dimensions, n_units=table.value.astype(int))
    assert merge_remedy(evidence, JAPAN) == said


def test_panel_shares_are_computed_within_periods():
    """All of a year are in one region: told of the year, but not that a unit is there in both years."""
    table = Table.from_array([[30, 20], [0, 30]], names=["year", "region"])
    alone = Table.from_array([50, 2], names=["year"])
    for counts, repeats, unsafe in (
        (table, False, [0, 4]),  # the first region is all in one year, the second year all in one region
        (table, True, [4]),
        (alone, False, [0, 1]),
        (alone, True, [1]),
    ):
        by = tuple(dimension.name for dimension in counts.dimensions)
        codes = [dimension.codes for dimension in counts.dimensions]
        evidence = SimpleNamespace(
            counts=counts, repeats=repeats, period="year", by=by, codes=codes, only=None
        )
        assert count_need(evidence, JAPAN).unsafe.nonzero()[0].tolist() == unsafe


def test_failing_verdict_prints_its_remedy():
    said = {"principle": Principle.UNITS, "status": PASS, "reason": "met", "text": "enough"}
    assert str(PrincipleVerdict(**said)) == "pass: units: enough"
    assert str(PrincipleVerdict(**said, remedy="none")) == "pass: units: enough (none)"


@pytest.mark.parametrize(
    ("parts", "who", "repeated", "share"),
    [
        pytest.param((1, 3, 4), (7, 8, 7), True, 0.625, id="one unit twice"),
        pytest.param((1, 3, 4), (7, 8, 7), False, 0.5, id="every record a unit"),
        pytest.param((0, 0), (1, 2), True, 0.0, id="nothing to share"),
        pytest.param((2,), (1,), False, 1.0, id="one has all of it"),
    ],
)
def test_largest_share_of_one_unit_is_found(parts, who, repeated, share):
    assert groups.largest_share(np.array(parts, float), np.array(who), repeated=repeated) == share


def softer(verdict):
    return JAPAN.model_copy(update={"squares": JAPAN.squares.model_copy(update={"verdict": verdict})})


@pytest.mark.parametrize(
    ("share", "rule", "status"),
    [
        pytest.param(0.5, softer("fail"), PASS, id="exactly half"),
        pytest.param(0.501, softer("fail"), FAIL, id="more than half fails"),
        pytest.param(0.501, softer("review"), REVIEW, id="or has somebody look"),
        pytest.param(0.5, softer("review"), PASS, id="exactly half needs no review"),
    ],
)
def test_squared_statistics_obey_policy(share, rule, status):
    shares = np.array([share, 0.1])
    (test,) = groups.square_tests(shares, rule, "it")
    found = test.verdict(people(20, 20))
    assert found.status is status
    assert found.numbers["largest_share"] == share
    assert unsafe_parts([test], 2).tolist() == [status is FAIL, False]


def test_unrequested_or_unknown_squares_pass():
    without = JAPAN.model_copy(update={"squares": None})
    assert list(groups.square_tests(np.array([1.0]), without, "it")) == []
    (found,) = groups.square_tests(None, JAPAN, "it")
    assert unsafe_parts([found], 3).tolist() == [False] * 3
    assert (found.status, found.reason) == (REVIEW, "not_testable")


MODEL = {
    "n_units": 40,
    "freedom": 12.0,
    "n_parameters": 3,
    "terms": ("male", "north"),
    "support": np.array([10, 20]),
    "categorical": True,
    "n_cells": 4,
    "smallest_cell": 9,
    "leverage": 0.49,
    "residual": 0.5,
    "influence": 0.5,
    "binary": False,
    "perfect": False,
    "separated": (),
    "outcome_groups": ("all",),
    "outcome_codes": ((),),
    "outcome_units": np.array([40]),
    "outcome_values": np.array([2]),
    "outcome_holders": np.array([[30, 10, 0, 0, 0]]),
}


@pytest.mark.parametrize(
    ("change", "reason", "status"),
    [
        pytest.param({}, None, PASS, id="just good enough everywhere"),
        pytest.param({"n_units": 10}, None, PASS, id="ten units"),
        pytest.param({"n_units": 9}, "too_few_units", FAIL, id="nine units"),
        pytest.param({"freedom": 11.0}, "too_few_degrees_of_freedom", FAIL, id="eleven degrees of freedom"),
        pytest.param({"support": np.array([9, 20])}, "coefficient_of_few", FAIL, id="a dummy of nine"),
        pytest.param({"n_parameters": 4}, "saturated_with_small_cells", FAIL, id="a table of means of nine"),
        pytest.param({"n_parameters": 4, "smallest_cell": 10}, None, PASS, id="a table of means of ten"),
        pytest.param(
            {"n_parameters": 4, "categorical": False}, None, PASS, id="a measurement makes no table"
        ),
        pytest.param({"leverage": 0.5}, "leverage", REVIEW, id="half of itself"),
        pytest.param({"leverage": 0.9}, "leverage", FAIL, id="nine tenths of itself"),
        pytest.param({"residual": 0.51}, "dominated_squares", FAIL, id="one unit is most of the residuals"),
        pytest.param({"influence": 0.51}, "dominated_squares", FAIL, id="one unit decides a coefficient"),
        pytest.param({"influence": None}, "not_testable", REVIEW, id="influence is not known"),
        pytest.param({"residual": None}, "not_testable", REVIEW, id="residuals are not known"),
        pytest.param(
            {"influence": 1.0, "binary": True}, None, PASS, id="of a yes or no nothing is dominated"
        ),
        pytest.param({"perfect": True}, "perfect_prediction", FAIL, id="everybody is predicted"),
        pytest.param({"separated": ("male",)}, "perfect_prediction", FAIL, id="one value tells the outcome"),
        pytest.param(
            {"outcome_holders": np.array([[31, 9, 0, 0, 0]])}, "two_values", FAIL, id="nine have one outcome"
        ),
        pytest.param({"outcome_values": np.array([11])}, None, PASS, id="an outcome that is an amount"),
        pytest.param({"outcome_groups": None}, "not_testable", REVIEW, id="outcomes were not counted"),
    ],
)
def test_model_verdict_matches_evidence(change, reason, status):
    found = models.judge_model(SimpleNamespace(**{**MODEL, **change}), JAPAN)
    assert worst(found) is status
    assert [v.reason for v in found if v.status is not PASS] == ([] if reason is None else [reason])
    assert all(bool(v.remedy) is (v.status is not PASS) for v in found)


def test_weak_category_is_named_with_size():
    said = {
        v.reason: v
        for v in models.judge_model(SimpleNamespace(**{**MODEL, "support": np.array([9, 2])}), JAPAN)
    }
    assert "not male: 9, north: 2" in said["coefficient_of_few"].text
    assert said["coefficient_of_few"].numbers == {"support": 10, "smallest": 2, "terms": 2}
    met = models.judge_model(SimpleNamespace(**MODEL), JAPAN)[2]
    assert "met, smallest 10" in met.text


@pytest.mark.parametrize(
    ("change", "place", "said"),
    [
        pytest.param({}, 3, "not a table", id="fewer parameters than cells"),
        pytest.param(
            {"n_parameters": 4, "smallest_cell": 10},
            3,
            "a table of 4 means, each of at least 10 units: smallest 10",
            id="as many as cells",
        ),
        pytest.param({}, 5, "no perfect prediction", id="nothing is predicted"),
        pytest.param({"perfect": True}, 5, "predicts every outcome", id="everything is"),
        pytest.param({"separated": ("a", "b", "c")}, 5, "value of a, b, c have", id="three are named"),
        pytest.param({"separated": tuple("abcd")}, 5, "value of a, b, c and 1 more have", id="and no more"),
    ],
)
def test_model_verdict_reports_its_findings(change, place, said):
    assert said in models.judge_model(SimpleNamespace(**{**MODEL, **change}), JAPAN)[place].text


def test_worst_verdict_decides_after_round_trip():
    def one(status):
        return PrincipleVerdict(
            principle=Principle.UNITS, status=status, reason="r", text="t", numbers={"n": 1}
        )

    assert worst([one(PASS), one(REVIEW), one(FAIL)]) is FAIL
    assert worst([one(PASS), one(REVIEW)]) is REVIEW
    assert worst([one(PASS)]) is PASS
    assert PrincipleVerdict.from_dict(one(REVIEW).to_dict()) == one(REVIEW)
    for change in (
        {"reason": 1},
        {"numbers": []},
        {"numbers": {"n": "1"}},
        {"numbers": {1: 1}},
        {"status": "ok"},
    ):
        with pytest.raises(ValueError, match=r"."):
            PrincipleVerdict.from_dict({**one(FAIL).to_dict(), **change})
