from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.attacks import insiders
from tests.strategies import Record, contributions, dimension_tuples, protections, table_from_records

from hitoku.attacks import Contribution, Insider, Interval
from hitoku.errors import HitokuError, ParameterError
from hitoku.model import Protection, Release, Table


def released(table, cells):
    return Release.of(table, Protection.withhold(table, np.isin(np.arange(table.n_cells), cells)))


@st.composite
def records_and_release(draw):
    dimensions = draw(dimension_tuples(2, 3, hierarchical=draw(st.booleans())))
    people, amounts = st.integers(0, 4), st.integers(1, 2)  # few people: many stand behind several cells
    records = [
        Record((row, column), draw(people), 0, draw(amounts))
        for row in dimensions[0].leaves
        for column in dimensions[1].leaves
        for _ in range(draw(st.sampled_from([0, 1, 1, 2])))
    ]
    table = table_from_records(dimensions, records, integer=True)
    release = Release.of(table, draw(protections(table, inner_only=True)))
    return table, contributions(dimensions, records, "unit"), release


@settings(deadline=None, max_examples=39)
@given(drawn=records_and_release(), size=st.integers(1, 3))
def test_coalition_bounds_match_enumeration(drawn, size):
    table, units, release = drawn
    known = [
        Contribution(unit, cell, amount, sole=len(people) == 1, among=len(people))
        for cell, people in enumerate(units)
        for unit, amount in people.items()
    ]
    bounds = Insider(known, coalition=size, integer=True).bounds(release)
    assert np.all(bounds.lower <= table.value)
    assert np.all(table.value <= bounds.upper)
    if not release.withheld.any():
        return
    every = insiders(release, units, size, int(table.value.max()))
    assert bounds.lower.tolist() == every.lower.tolist()
    assert bounds.upper.tolist() == every.upper.tolist()


def test_insider_without_contributions_equals_outsider():
    table = Table.from_array(np.arange(1, 10).reshape(3, 3))
    release = released(table, [0, 1, 4, 5, 10])
    outside, nobody = Interval().bounds(release), Insider().bounds(release)
    assert np.array_equal(outside.lower, nobody.lower)
    assert np.array_equal(outside.upper, nobody.upper)
    assert Insider().worst(release).narrowest == ((),) * 16


ROW = Table.from_array([[3, 4, 5, 6], [7, 8, 9, 10]])  # both rows withheld, totals published
WHOLE_ROW = [0, 1, 2, 3, 5, 6, 7, 8]


def singletons(*owners):
    """One sole contributor for each of the first cells of the first row."""
    return [Contribution(who, cell, ROW.value[cell], sole=True) for cell, who in enumerate(owners)]


@pytest.mark.parametrize(
    ("owners", "coalition", "exact"),
    [
        pytest.param("AB", 1, [], id="two singletons, each alone, in a row of four"),
        pytest.param("ABC", 1, [], id="three singletons, each alone"),
        pytest.param("ABC", 2, [], id="two of three leave two cells open"),
        pytest.param("ABC", 3, [3], id="three together have the fourth"),
        pytest.param("ABCD", 3, [0, 1, 2, 3], id="any three of four have the other"),
        pytest.param("AAA", 1, [3], id="one respondent behind three cells"),
        pytest.param("AAB", 2, [3], id="one behind two cells, and another"),
        pytest.param("AABB", 1, [], id="two behind two cells each, alone"),
    ],
)
def test_singletons_in_one_relation_infer_each_other(owners, coalition, exact):
    release = released(ROW, WHOLE_ROW)
    bounds = Insider(singletons(*owners), coalition=coalition).bounds(release)
    first_row = [cell for cell in range(4) if bounds.lower[cell] == bounds.upper[cell]]
    assert first_row == exact
    assert np.array_equal(bounds.lower[exact], ROW.value[exact])


def test_worst_names_the_coalition_by_position_only():
    release = released(ROW, WHOLE_ROW)
    worst = Insider(singletons("zoe", "adam", "zoe", "mia"), coalition=2).worst(release)
    # zoe is number 0 and owns two cells; with adam or with mia she has the other one.
    assert worst.narrowest[3] == (0, 1)
    assert worst.narrowest[1] == (0, 2)
    assert worst.width[1] == worst.width[3] == 0
    assert worst.narrowest[4] == ()


def test_own_contribution_raises_bound_and_narrows_others():
    table = Table.from_array([[7, 11], [10, 60]])
    release = released(table, [0, 1, 3, 4])
    bounds = Insider([Contribution("A", 0, 5.0)]).bounds(release)
    assert (bounds.lower[0], bounds.upper[0]) == (5, 17)
    assert (bounds.lower[1], bounds.upper[1]) == (1, 13)


def test_own_contribution_gives_no_bound_for_signed_values():
    table = Table.from_array([[7, -11], [10, 60]])
    release = released(table, [0, 1, 3, 4])
    bounds = Insider([Contribution("A", 0, 5.0)]).bounds(release)
    assert np.all(np.isinf(bounds.width[[0, 1, 3, 4]]))
    assert Insider([Contribution("A", 0, 5.0)]).worst(release).narrowest == ((),) * 9
    sole = Insider([Contribution("A", 0, 7.0, sole=True)]).bounds(release)
    assert (sole.lower[1], sole.upper[1]) == (-11, -11)


def test_coalition_of_all_contributors_knows_cell():
    table = Table.from_array([[7, 11], [10, 60]])
    release = released(table, [0, 1, 3, 4])
    pair = [Contribution("A", 0, 5.0, among=2), Contribution("B", 0, 2.0, among=2)]
    assert Insider(pair, coalition=1).bounds(release).width[4] > 0
    together = Insider(pair, coalition=2)
    assert together.bounds(release).lower[4] == together.bounds(release).upper[4] == 60
    assert together.worst(release).narrowest[4] == (0, 1)
    # They know their own cell; nobody else learns it exactly.
    assert together.bounds(release).width[0] > 0


def test_decimal_bounds_are_exact():
    table = Table.from_array(np.array([[0.07, 0.11], [0.1, 0.6]]))
    release = released(table, [0, 1, 3, 4])
    bounds = Insider([Contribution("A", 0, 0.07, sole=True)]).bounds(release)
    assert bounds.lower[[1, 3, 4]].tolist() == bounds.upper[[1, 3, 4]].tolist() == [0.11, 0.1, 0.6]


def test_contributions_of_one_contributor_are_added():
    table = Table.from_array([[7, 11], [10, 60]])
    release = released(table, [0, 1, 3, 4])
    bounds = Insider([Contribution("A", 0, 3.0), Contribution("A", 0, 2.0)]).bounds(release)
    assert bounds.lower[0] == 5


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_contributions_may_be_a_frame(make):
    table = Table.from_array([[7, 11], [10, 60]])
    release = released(table, [0, 1, 3, 4])
    frame = make({"contributor": ["A", "B"], "cell": [0, 4], "amount": [7.0, 9.0], "sole": [True, False]})
    listed = [Contribution("A", 0, 7.0, sole=True), Contribution("B", 4, 9.0)]
    first, second = Insider(frame).bounds(release), Insider(listed).bounds(release)
    assert np.array_equal(first.lower, second.lower)
    assert np.array_equal(first.upper, second.upper)
    assert first.upper[1] == 11


def test_too_many_coalitions_raise_with_number():
    release = released(ROW, WHOLE_ROW)
    attack = Insider(singletons("A", "B", "C", "D"), coalition=3, limit=13)
    with pytest.raises(ParameterError, match="14 coalitions"):  # 4 + 6 + 4
        attack.bounds(release)
    Insider(singletons("A", "B", "C", "D"), coalition=3, limit=14).bounds(release)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: Insider(coalition=0), id="nobody"),
        pytest.param(lambda: Insider(["A"]), id="not a contribution"),
        pytest.param(lambda: Contribution("A", -1, 1.0), id="no cell"),
        pytest.param(lambda: Contribution("A", 0, np.nan), id="no amount"),
        pytest.param(lambda: Contribution("A", 0, 1.0, sole=True, among=2), id="sole among two"),
        pytest.param(lambda: Insider(pd.DataFrame({"cell": [1]})), id="a frame without contributors"),
    ],
)
def test_invalid_parameters_raise(make):
    with pytest.raises(HitokuError):
        make()


def test_inconsistent_knowledge_raises_without_values():
    release = released(ROW, WHOLE_ROW)
    for wrong in (Contribution("zoe", 0, 4711.0), Contribution("zoe", 0, 4711.0, sole=True)):
        with pytest.raises(ParameterError) as error:
            Insider([wrong]).bounds(release)
        assert "4711" not in str(error.value)
        assert "zoe" not in str(error.value)
    with pytest.raises(ParameterError, match="cell 99"):
        Insider([Contribution("zoe", 99, 1.0)]).bounds(release)


def test_repr_omits_names_and_contributions():
    attack = Insider([Contribution("zoe", 0, 4711.0)])
    for text in (repr(attack), repr(attack.contributions)):
        assert "zoe" not in text
        assert "4711" not in text


SQUARE = Table.from_array([[7, 11], [10, 60]])  # 7 + k, 11 - k, 10 - k, 60 + k for k in -7..10
OPEN = [0, 1, 3, 4]


def test_bound_names_coalition_unless_outsider_proves_it():
    """Who has 5 in the first cell knows that k is -2 at least: one end of every interval."""
    release = released(SQUARE, OPEN)
    worst = Insider([Contribution("A", 0, 5.0), Contribution("B", 0, 5.0)]).worst(release)
    assert [worst.lower_by[cell] for cell in OPEN] == [(0,), (), (), (0,)]
    assert [worst.upper_by[cell] for cell in OPEN] == [(), (0,), (0,), ()]
    assert [worst.narrowest[cell] for cell in OPEN] == [(0,)] * 4  # the first of two who know as much
    assert worst.width[OPEN].tolist() == [12] * 4


@pytest.mark.parametrize(
    ("amount", "integer", "least"),
    [
        pytest.param(5.4, False, 5.4, id="between two units"),
        pytest.param(5.4, True, 6.0, id="of a whole number the rest is whole"),
        pytest.param(5.0, True, 5.0, id="a whole one"),
        pytest.param(5.0 + 1e-12, True, 5.0, id="a whole one but for rounding"),
    ],
)
def test_contributions_are_exact_to_last_decimal(amount, integer, least):
    bounds = Insider([Contribution("A", 0, amount)], integer=integer).bounds(released(SQUARE, OPEN))
    assert (bounds.lower[0], bounds.upper[0]) == pytest.approx((least, 17), abs=1e-12)
    assert bounds.upper[1] == pytest.approx(18 - least, abs=1e-12)
    assert bounds.lower[4] == pytest.approx(53 + least, abs=1e-12)


def test_sole_contributor_fixes_integer_cell():
    bounds = Insider([Contribution("A", 0, 7.0, sole=True)], integer=True).bounds(released(SQUARE, OPEN))
    assert bounds.lower[OPEN[1:]].tolist() == bounds.upper[OPEN[1:]].tolist() == [11, 10, 60]


def test_derivable_cell_is_removed_from_the_relations():
    """The 5 is alone in its column; a square is left, with 18 in its first row."""
    table = Table.from_array([[7, 11, 5], [10, 60, 6]])
    release = released(table, [0, 1, 2, 4, 5])
    bounds = Insider([Contribution("A", 0, 5.0)]).bounds(release)
    assert bounds.lower[[0, 1, 2, 4, 5]].tolist() == [5, 1, 5, 0, 58]
    assert bounds.upper[[0, 1, 2, 4, 5]].tolist() == [17, 13, 5, 12, 70]


def test_time_limit_zero_leaves_bounds_unknown():
    release = released(SQUARE, OPEN)
    bounds = Insider([Contribution("A", 0, 5.0)], time_limit_s=0).bounds(release)
    assert bounds.unknown.nonzero()[0].tolist() == OPEN


def test_inconsistent_contributor_is_named_by_number():
    release = released(SQUARE, OPEN)
    known = [Contribution("zoe", 0, 5.0), Contribution("adam", 0, 18.0)]
    with pytest.raises(ParameterError) as error:
        Insider(known).bounds(release)
    assert error.value.where == "contributors number 2"
