"""People who know their own cell: each way to handle them against the attack that it stops."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.gauss import Reach, secondary_for_firms
from tests.oracles.gauss import columns_of as rational

from hitoku.errors import ParameterError
from hitoku.methods.gauss import Gauss, secondary
from hitoku.methods.gauss.fast_span import FastSpan
from hitoku.methods.gauss.incidence import columns_of, incidence_of, relations_of
from hitoku.methods.gauss.primal import walk
from hitoku.methods.gauss.problem import Problem
from hitoku.methods.gauss.singletons import ALIASES, FREQUENCY, MAGNITUDE, NAMES, AnySums, Space, named
from hitoku.model.need import Need
from hitoku.model.table import Table


def incidence(shape):
    table = Table.from_array(np.ones(shape, dtype=int))
    columns, inner = incidence_of(table)
    matrix = np.zeros((len(inner), table.n_cells))
    for j, column in enumerate(columns):
        matrix[list(column), j] = 1
    return matrix, inner


@st.composite
def problems(draw, *, all_unsafe):
    """A two-way table as incidence, an order, unsafe columns, and who is alone in each row."""
    shape = draw(st.sampled_from([(2, 3), (3, 3), (3, 4)]))
    matrix, inner = incidence(shape)
    n_rows, n = matrix.shape
    owner = np.array(draw(st.lists(st.sampled_from([0, 0, 0, 1, 1, 2, 3]), min_size=n_rows, max_size=n_rows)))
    unsafe = np.array(draw(st.lists(st.sampled_from([False, False, False, True]), min_size=n, max_size=n)))
    if all_unsafe:
        unsafe[inner[owner > 0]] = True
    order = np.array(draw(st.permutations(range(n))))
    return matrix, order[~unsafe[order]], unsafe, owner


def published(found, unsafe):
    return np.flatnonzero(~found & ~unsafe).tolist()


@given(problem=problems(all_unsafe=False))
@settings(max_examples=80, deadline=None)
def test_firms_are_handled_as_defined(problem):
    matrix, order, unsafe, owner = problem
    found = secondary(matrix, order, unsafe, singleton=owner, singletons="firms")
    expected = secondary_for_firms(
        rational(matrix), order.tolist(), np.flatnonzero(unsafe).tolist(), owner.tolist()
    )
    assert set(np.flatnonzero(found).tolist()) == expected


@given(problem=problems(all_unsafe=True))
@settings(max_examples=60, deadline=None)
def test_any_sums_publishes_no_sum_of_singletons(problem):
    """No published combination has ones in one or two singletons and nothing elsewhere."""
    matrix, order, unsafe, owner = problem
    found = secondary(matrix, order, unsafe, singleton=owner > 0, singletons="any_sums")
    columns = rational(matrix)
    reach = Reach([columns[cell] for cell in published(found, unsafe)])
    singles = np.flatnonzero(owner)
    for i in singles:
        assert not reach.holds({int(i): Fraction(1)})
        for j in singles[singles > i]:
            assert not reach.holds({int(i): Fraction(1), int(j): Fraction(1)})


@given(problem=problems(all_unsafe=True))
@settings(max_examples=60, deadline=None)
def test_group_sums_protects_the_singletons_of_every_group(problem):
    matrix, order, unsafe, owner = problem
    found = secondary(matrix, order, unsafe, singleton=owner > 0, singletons="group_sums")
    columns = rational(matrix)
    reach = Reach([columns[cell] for cell in published(found, unsafe)])
    for column in columns:
        part = {row: value for row, value in column.items() if owner[row]}
        assert not part or not reach.holds(part)


@given(problem=problems(all_unsafe=True))
@settings(max_examples=60, deadline=None)
def test_space_holds_against_all_singletons_together(problem):
    matrix, order, unsafe, owner = problem
    found = secondary(matrix, order, unsafe, singleton=owner > 0, singletons="space")
    columns = rational(matrix)
    known = [{int(row): Fraction(1)} for row in np.flatnonzero(owner)]
    together = Reach([*known, *(columns[cell] for cell in published(found, unsafe))])
    before = Reach(known)
    assert not any(
        together.holds(columns[p]) and not before.holds(columns[p]) for p in np.flatnonzero(unsafe)
    )


@given(problem=problems(all_unsafe=True), way=st.sampled_from(["group_sums", "pairs", "firm_pairs"]))
@settings(max_examples=60, deadline=None)
def test_extra_sums_are_the_same_for_relations_and_for_sums_of_inner_cells(problem, way):
    matrix, order, unsafe, owner = problem
    columns, nothing = columns_of(matrix), np.zeros(matrix.shape[1], dtype=bool)
    one = Problem(
        n_cells=len(columns),
        order=order,
        unsafe=unsafe,
        hidden=nothing,
        forced=nothing,
        columns=lambda: columns,
        relations=lambda: relations_of(matrix),
        owner=owner,
        singletons=way,
    )
    extra = one._extra()
    by_sums = one._walk(columns, [*one._unsafe_columns(columns), *extra])
    assert one._eliminate(extra).secondary.tolist() == by_sums.secondary.tolist()


# Three cells of a row are hidden, all ones: from 9 + 9 + their sum = 21 follows that each is a one.
ONES = Table.from_array([[1, 1, 1, 9, 9], [9, 8, 7, 6, 5], [5, 6, 7, 8, 9]])


@pytest.mark.parametrize(
    ("way", "told"), [("none", True), ("group_sums", False), ("any_sums", False), ("space", False)]
)
def test_the_sum_of_all_hidden_ones_of_a_row(way, told):
    need = Need(unsafe=ONES.value == 1)
    withheld = Gauss(singletons=way).protect(ONES, need).withheld.reshape(4, 6)
    row_is_told = not withheld[0, 3:].any()
    assert row_is_told is told


def test_a_firm_that_subtracts_its_own_cell():
    """Two firms hidden alone in one row: each knows the other, unless a third cell of the row is hidden."""
    value = np.array([[50.0, 70.0, 90.0], [40.0, 30.0, 60.0], [20.0, 80.0, 10.0]])
    table = Table.from_array(value)
    unsafe = np.isin(table.value, [50.0, 70.0, 40.0, 30.0])
    firms = np.where(table.value == 50.0, 1, np.where(table.value == 70.0, 2, 0))
    plain = Gauss().protect(table, Need(unsafe=unsafe))
    assert not plain.secondary.any()
    for way in ("firms", "firm_pairs", "pairs"):
        withheld = Gauss(singletons=way, singleton=firms).protect(table, Need(unsafe=unsafe)).withheld
        assert withheld.reshape(4, 4)[0, 2:].any(), way


def test_zero_sums_withhold_no_less_than_open_sums():
    table = Table.from_array([[0, 0, 0, 7], [3, 0, 5, 6], [8, 9, 0, 4]])
    need = Need(unsafe=table.value == 3)
    some, more = (
        Gauss(singletons=way, zeros="withhold").protect(table, need).withheld
        for way in ("open_sums", "zero_sums")
    )
    assert more.sum() >= some.sum()


def test_every_way_has_a_name_of_ours_and_one_of_r():
    assert set(NAMES) == {"none", *FREQUENCY, *MAGNITUDE}
    assert {named(r_name) for r_name in ALIASES} == set(NAMES)
    with pytest.raises(ParameterError, match="no way to handle singletons"):
        named("anysums")


@given(problem=problems(all_unsafe=False), way=st.sampled_from(["any_sums", "open_sums", "space"]))
@settings(max_examples=80, deadline=None)
def test_compiled_arithmetic_gives_the_same_answers(problem, way):
    matrix, order, unsafe, owner = problem
    columns = columns_of(matrix)
    singles = np.flatnonzero(owner)
    first = len(owner) - len(singles)
    rank = np.argsort(np.argsort(owner > 0, kind="stable"), kind="stable")
    ranked = [{int(rank[row]): value for row, value in column.items()} for column in columns]
    watched = [ranked[cell] for cell in np.flatnonzero(unsafe)]
    if way == "space":
        watched = [{r: v for r, v in column.items() if r < first} for column in watched]
    tests = [Space(first) if way == "space" else AnySums(first, open=way == "open_sums") for _ in range(2)]
    plain, fast = (
        walk(ranked, order.tolist(), watched, n_rows=len(owner), test=test, span=span)
        for test, span in zip(tests, (None, FastSpan(len(owner))), strict=True)
    )
    assert plain == fast
