"""People who know their own cell: each way to handle them against the attack that it stops."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.gauss import Reach, known_zeros, secondary_for_firms, secondary_for_zeros
from tests.oracles.gauss import columns_of as rational
from tests.oracles.span import PlainSpan

from hitoku.errors import ParameterError
from hitoku.methods.gauss import (
    ALIASES,
    FREQUENCY,
    MAGNITUDE,
    NAMES,
    AnySums,
    EliminationProblem,
    Gauss,
    Space,
    ZeroSums,
    columns_of,
    incidence_of,
    relations_of,
    secondary,
    singleton_treatment,
    walk,
)
from hitoku.model import Need, Table


def incidence(shape):
    table = Table.from_array(np.ones(shape, dtype=int))
    columns, inner = incidence_of(table)
    matrix = np.zeros((len(inner), table.n_cells))
    for j, column in enumerate(columns):
        matrix[list(column), j] = 1
    return matrix, inner


@st.composite
def problems(draw, *, all_unsafe, shapes=((2, 3), (3, 3), (3, 4))):
    """A table as incidence, an order, unsafe columns, and who is alone in each row."""
    shape = draw(st.sampled_from(shapes))
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
@settings(max_examples=52, deadline=None)
def test_firms_are_handled_as_defined(problem):
    matrix, order, unsafe, owner = problem
    found = secondary(matrix, order, unsafe, singleton=owner, singletons="firms")
    expected = secondary_for_firms(
        rational(matrix), order.tolist(), np.flatnonzero(unsafe).tolist(), owner.tolist()
    )
    assert set(np.flatnonzero(found).tolist()) == expected


@given(problem=problems(all_unsafe=True))
@settings(max_examples=39, deadline=None)
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
@settings(max_examples=39, deadline=None)
def test_group_sums_protects_the_singletons_of_every_group(problem):
    matrix, order, unsafe, owner = problem
    found = secondary(matrix, order, unsafe, singleton=owner > 0, singletons="group_sums")
    columns = rational(matrix)
    reach = Reach([columns[cell] for cell in published(found, unsafe)])
    for column in columns:
        part = {row: value for row, value in column.items() if owner[row]}
        assert not part or not reach.holds(part)


def told_beyond(matrix, order, unsafe, forced, owner):
    """Unsafe cells and sums of singletons within a cell that follow, though not from forced cells alone."""
    found = secondary(matrix, order, unsafe, forced=forced, singleton=owner > 0, singletons="any_sums")
    columns = rational(matrix)
    reach = Reach([columns[cell] for cell in published(found, unsafe)])
    by_force = Reach([columns[cell] for cell in np.flatnonzero(forced)])
    secrets = [columns[cell] for cell in np.flatnonzero(unsafe)]
    secrets += [{row: v for row, v in column.items() if owner[row]} for column in columns]
    return [s for s in secrets if s and reach.holds(s) and not by_force.holds(s)]


@given(problem=problems(all_unsafe=True, shapes=((3, 3), (2, 2, 3))), data=st.data())
@settings(max_examples=52, deadline=None)
def test_any_sums_holds_with_forced_cells(problem, data):
    """What is forced is published without a test, so sums within each cell are watched too (R: subSumAny)."""
    matrix, order, unsafe, owner = problem
    n = matrix.shape[1]
    drawn = data.draw(st.lists(st.sampled_from([False, False, False, True]), min_size=n, max_size=n))
    assert told_beyond(matrix, order, unsafe, np.array(drawn) & ~unsafe, owner) == []


def test_forced_cell_completing_singleton_sum_is_considered():
    """Three forced cells of a 2 x 2 x 3 table: without watching, two singletons of one cell would be told."""
    matrix, inner = incidence((2, 2, 3))
    owner = np.array([0, 1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1])
    unsafe, forced = (
        np.isin(np.arange(36), cells) for cells in ([4, 14, 27, 31, *inner[owner > 0]], [23, 25, 34])
    )
    order = [16, 28, 12, 32, 0, 11, 6, 22, 30, 29, 3, 17, 21, 26, 19, 2, 35, 15, 10, 24, 9, 7, 20, 8, 33]
    assert told_beyond(matrix, order, unsafe, forced, owner) == []


@given(problem=problems(all_unsafe=True))
@settings(max_examples=39, deadline=None)
def test_space_protects_from_all_singletons(problem):
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
@settings(max_examples=39, deadline=None)
def test_extra_sums_are_equal_for_both_representations(problem, way):
    matrix, order, unsafe, owner = problem
    columns, nothing = columns_of(matrix), np.zeros(matrix.shape[1], dtype=bool)
    one = EliminationProblem(
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
    sums = [*one._unsafe_columns(columns), *extra]
    by_sums = walk(columns, order.tolist(), sums, n_rows=matrix.shape[0])
    assert np.flatnonzero(one._eliminate(extra).secondary).tolist() == sorted(by_sums.secondary)


# Three cells of a row are hidden, all ones: from 9 + 9 + their sum = 21 follows that each is a one.
ONES = Table.from_array([[1, 1, 1, 9, 9], [9, 8, 7, 6, 5], [5, 6, 7, 8, 9]])


@pytest.mark.parametrize(
    ("way", "told"), [("none", True), ("group_sums", False), ("any_sums", False), ("space", False)]
)
def test_row_sum_of_suppressed_ones_follows_setting(way, told):
    need = Need(unsafe=ONES.value == 1)
    withheld = Gauss(singletons=way).protect(ONES, need).withheld.reshape(4, 6)
    row_is_told = not withheld[0, 3:].any()
    assert row_is_told is told


def test_firm_subtracting_its_own_cell_is_considered():
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


@given(problem=problems(all_unsafe=False, shapes=((2, 3), (3, 3), (2, 2, 2))))
@settings(max_examples=68, deadline=None)
def test_zeros_are_handled_as_defined(problem):
    matrix, order, unsafe, owner = problem
    found = secondary(matrix, order, unsafe, singleton=owner > 0, singletons="zero_sums")
    expected = secondary_for_zeros(
        rational(matrix), order.tolist(), np.flatnonzero(unsafe).tolist(), (owner > 0).tolist()
    )
    assert set(np.flatnonzero(found).tolist()) == expected


@given(counts=st.lists(st.sampled_from([0, 0, 0, 1, 2, 7, 9]), min_size=12, max_size=12))
@settings(max_examples=52, deadline=None)
def test_known_zero_parts_reveal_no_unsafe_count(counts):
    table = Table.from_array(np.array(counts).reshape(3, 4))
    need = Need(unsafe=(table.value > 0) & (table.value < 3))
    withheld = Gauss(singletons="zero_sums", zeros="withhold").protect(table, need).withheld
    matrix, inner = incidence((3, 4))
    columns = rational(matrix)
    reach = known_zeros(columns, np.flatnonzero(~withheld).tolist(), table.value[inner] == 0)
    assert not any(reach.holds(columns[cell]) for cell in np.flatnonzero(need.unsafe))


def test_suppressed_zero_with_published_sum_protects_nothing():
    """The example of the R documentation: three ones above three zeros, whose sum must not be told."""
    counts = [[1, 1, 1, 5, 5], [9, 9, 9, 9, 9], [0, 0, 0, 7, 7]]
    table = Table.from_array(counts)
    need = Need(unsafe=table.value == 1)
    matrix, inner = incidence((3, 5))
    columns, zero = rational(matrix), table.value[inner] == 0
    told = {}
    for way in ("none", "zero_sums"):
        withheld = Gauss(singletons=way, zeros="withhold").protect(table, need).withheld
        reach = known_zeros(columns, np.flatnonzero(~withheld).tolist(), zero)
        told[way] = sum(reach.holds(columns[cell]) for cell in np.flatnonzero(need.unsafe))
    assert told == {"none": 3, "zero_sums": 0}


def test_every_option_has_a_name_and_an_r_name():
    assert set(NAMES) == {"none", *FREQUENCY, *MAGNITUDE}
    assert {singleton_treatment(r_name) for r_name in ALIASES} == set(NAMES)
    with pytest.raises(ParameterError, match="no way to handle singletons"):
        singleton_treatment("anysums")


@given(
    problem=problems(all_unsafe=False), way=st.sampled_from(["any_sums", "open_sums", "zero_sums", "space"])
)
@settings(max_examples=52, deadline=None)
def test_span_matches_full_reduction(problem, way):
    matrix, order, unsafe, owner = problem
    columns = columns_of(matrix)
    singles = np.flatnonzero(owner)
    first = len(owner) - len(singles)
    rank = np.argsort(np.argsort(owner > 0, kind="stable"), kind="stable")
    ranked = [{int(rank[row]): value for row, value in column.items()} for column in columns]
    watched = [ranked[cell] for cell in np.flatnonzero(unsafe)]
    if way == "space":
        watched = [{r: v for r, v in column.items() if r < first} for column in watched]
    inside = tuple(column for column in ranked if min(column) >= first)
    make = {
        "space": lambda: Space(first),
        "zero_sums": lambda: ZeroSums(first, open=True, groups=inside),
        "open_sums": lambda: AnySums(first, open=True),
        "any_sums": lambda: AnySums(first),
    }[way]
    given = (ranked, order.tolist(), watched)
    found = walk(*given, n_rows=len(owner), test=make())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hitoku.methods.gauss.span.Span", PlainSpan)
        assert walk(*given, n_rows=len(owner), test=make()) == found


def test_unsupported_num_setting_raises_with_alternatives():
    with pytest.raises(ParameterError, match=r"num\.\.\. family") as refused:
        singleton_treatment("numTTT")
    for word in ("numFFT", "numFTT", "numttHTT", "numTTHTT"):
        assert word in refused.value.fix
        assert singleton_treatment(word) in NAMES
