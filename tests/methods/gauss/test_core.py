"""The elimination core against its definition, and against the published answers of the R original."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.oracles.gauss import columns_of, exposed_by_definition, secondary_by_definition

from hitoku.errors import ParameterError
from hitoku.methods.gauss import eliminate, incidence_of, relations_of, secondary
from hitoku.methods.gauss.span import PRIME
from hitoku.model import Dimension, Hierarchy, Table, add_up

ORACLES = Path(__file__).resolve().parents[3].parent / "shared" / "oracles" / "gausssuppression"
# One large case was recorded without what the wrapper handed to the core; test_gauss_published runs it whole.
CASES = sorted(
    path.parent.name
    for path in ORACLES.glob("*/case.json")
    if json.loads(path.read_text("utf-8"))["gauss_input"].get("x")
)
# The tables of these cases are protected one by one and then put together.
LINKED = {"dom_m1_linked_consistent", "dom_m1_linked_super"}


def core_of(name):
    case = json.loads((ORACLES / name / "case.json").read_text("utf-8"))
    given_to_core = case["gauss_input"]
    matrix, unsafe = triplets(given_to_core["x"]), list(given_to_core["primary"])
    if given_to_core.get("x_extra_primary"):
        extra = triplets(given_to_core["x_extra_primary"])
        unsafe += range(matrix.shape[1], matrix.shape[1] + extra.shape[1])
        matrix = sparse.hstack([matrix, extra], format="csc")
    marks = given_to_core["singleton"] or None
    if marks is not None:
        marks = np.array(marks, dtype=int if given_to_core["singletonIsInteger"] else bool)
    answer = [j for j, cell in enumerate(case["cells"]) if cell["suppressed"] and not cell["primary"]]
    return given_to_core, matrix, unsafe, marks, answer


def triplets(x):
    return sparse.csc_array((np.array(x["v"], dtype=float), (x["i"], x["j"])), shape=(x["nrow"], x["ncol"]))


@pytest.mark.shared
@pytest.mark.parametrize("name", [name for name in CASES if name not in LINKED])
def test_pattern_matches_r_original(name):
    core, matrix, unsafe, marks, answer = core_of(name)
    found = secondary(
        matrix,
        core["candidates"],
        unsafe,
        forced=core["forced"],
        hidden=core["hidden"],
        singleton=marks,
        singletons=core["singletonMethod"],
    )
    assert np.flatnonzero(found).tolist() == answer


@pytest.mark.shared
@pytest.mark.parametrize("name", sorted(LINKED))
def test_linked_tables_are_protected_unlike_r_original(name):
    core, matrix, unsafe, marks, answer = core_of(name)
    columns = columns_of(matrix)
    everything = set(range(len(columns)))
    theirs = exposed_by_definition(columns, everything - set(unsafe) - set(answer), unsafe)
    assert len(theirs) == 8, "put together, the three tables of the R original give eight unsafe cells away"
    ours = np.flatnonzero(
        secondary(matrix, core["candidates"], unsafe, singleton=marks, singletons=core["singletonMethod"])
    )
    assert exposed_by_definition(columns, everything - set(unsafe) - set(ours.tolist()), unsafe) == set()


def incidence(columns, n_rows):
    matrix = np.zeros((n_rows, len(columns)))
    for j, column in enumerate(columns):
        for row, value in column.items():
            matrix[row, j] = value if value < PRIME // 2 else value - PRIME
    return matrix


REGION = Hierarchy.from_tree({"N": ["n1", "n2"], "S": ["s1", "s2"]})
COAST = Hierarchy.from_tree({"C": ["n1", "s1"], "I": ["n2", "s2"]})
SHAPES = {
    "two-way": lambda: [Hierarchy.flat("abcd"), Hierarchy.flat("xyz")],
    "three-way": lambda: [Hierarchy.flat("abc"), Hierarchy.flat("xy"), Hierarchy.flat("uvw")],
    "four-way": lambda: [Hierarchy.flat("ab")] * 4,
    "hierarchy": lambda: [REGION, Hierarchy.flat("xyz")],
    "two groupings that do not nest": lambda: [[REGION, COAST], Hierarchy.flat("xy")],
}


@st.composite
def tables(draw):
    kind = draw(st.sampled_from([*SHAPES, "linked"]))
    counts = st.integers(0, 9)
    if kind == "linked":
        inner = np.array(draw(st.lists(counts, min_size=12, max_size=12))).reshape(2, 3, 2)
        names = ("a", "b", "c")
        first = Table.from_array(inner.sum(axis=2), names=names[:2])
        second = Table.from_array(inner.sum(axis=1), names=(names[0], names[2]))
        return Table.link([first, second])
    dimensions = tuple(Dimension.of(f"v{i}", h) for i, h in enumerate(SHAPES[kind]()))
    size = int(np.prod([len(d.leaves) for d in dimensions]))
    inner = np.array(draw(st.lists(counts, min_size=size, max_size=size)))
    value = add_up(inner.reshape([len(d.leaves) for d in dimensions]), dimensions)
    return Table(value=value, dimensions=dimensions, integer=True, frequency=value.astype(int))


@st.composite
def problems(draw, *, with_rest=True):
    """A table, its cells as sums of inner cells, candidates in order, unsafe, hidden and forced cells."""
    table = draw(tables())
    n = table.n_cells
    order = np.array(draw(st.permutations(range(n))))
    roles = draw(
        st.lists(st.sampled_from("uuu...........hf" if with_rest else "uuu......"), min_size=n, max_size=n)
    )
    unsafe, hidden, forced = (np.array([role == r for role in roles]) for r in "uhf")
    return table, order[~(unsafe | hidden | forced)[order]], unsafe, hidden, forced


@given(problem=problems(), moves=st.sampled_from([0, 0, 1, 3]))
@settings(max_examples=47, deadline=None)
def test_relations_match_definition(problem, moves):
    table, order, unsafe, hidden, forced = problem
    columns, inner = incidence_of(table)
    rational = columns_of(incidence(columns, len(inner)))
    outcome = eliminate(table.relations, order, unsafe, hidden, moves)
    n_rows = len(inner)
    expected = secondary_by_definition(
        rational,
        order.tolist(),
        np.flatnonzero(unsafe).tolist(),
        np.flatnonzero(forced).tolist(),
        moves=moves,
        n_rows=n_rows,
    )
    assert set(np.flatnonzero(outcome.secondary).tolist()) == expected
    published = set(np.flatnonzero(~unsafe & ~hidden).tolist()) - expected
    exposed = exposed_by_definition(rational, published, np.flatnonzero(unsafe).tolist())
    assert set(np.flatnonzero(outcome.exposed).tolist()) == exposed


@given(problem=problems())
@settings(max_examples=60, deadline=None)
def test_inner_cell_sums_match_definition(problem):
    table, order, unsafe, hidden, forced = problem
    columns, inner = incidence_of(table)
    matrix = incidence(columns, len(inner))
    found = secondary(matrix, order, unsafe, hidden=hidden, forced=forced)
    expected = secondary_by_definition(
        columns_of(matrix), order.tolist(), np.flatnonzero(unsafe).tolist(), np.flatnonzero(forced).tolist()
    )
    assert set(np.flatnonzero(found).tolist()) == expected


@given(data=st.data())
@settings(max_examples=65, deadline=None)
def test_any_matrix_matches_definition(data):
    n_rows, n = data.draw(st.integers(2, 5)), data.draw(st.integers(3, 9))
    entries = st.sampled_from([0, 0, 0, 1, 1, -1, 2])
    matrix = np.array(data.draw(st.lists(entries, min_size=n_rows * n, max_size=n_rows * n))).reshape(
        n_rows, n
    )
    order = np.array(data.draw(st.permutations(range(n))))
    unsafe = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    order = order[~unsafe[order]]
    expected = secondary_by_definition(columns_of(matrix), order.tolist(), np.flatnonzero(unsafe).tolist())
    assert set(np.flatnonzero(secondary(matrix, order, unsafe)).tolist()) == expected
    relations, _ = relations_of(matrix)
    more = np.zeros(relations.shape[1] - n, dtype=bool)
    outcome = eliminate(relations, order, np.append(unsafe, more), np.append(np.zeros(n, dtype=bool), ~more))
    assert set(np.flatnonzero(outcome.secondary).tolist()) == expected


@given(problem=problems(with_rest=False))
@settings(max_examples=49, deadline=None)
def test_every_secondary_suppression_is_needed(problem):
    table, order, unsafe, _, _ = problem
    columns, inner = incidence_of(table)
    rational = columns_of(incidence(columns, len(inner)))
    everything, never = set(range(table.n_cells)), set(np.flatnonzero(unsafe).tolist())
    found = eliminate(table.relations, order, unsafe, np.zeros(table.n_cells, dtype=bool)).secondary
    hidden = set(np.flatnonzero(found).tolist())
    before = exposed_by_definition(rational, everything - never - hidden, never)
    for cell in hidden:
        after = exposed_by_definition(rational, everything - never - hidden | {cell}, never)
        assert after > before


def test_unnamed_columns_are_ignored():
    # Two cells, their sum; the second cell is no candidate, so the sum does no harm.
    cells = [[1, 0, 1], [0, 1, 1]]
    assert not secondary(cells, order=[2], unsafe=[0]).any()
    assert secondary(cells, order=[2, 1], unsafe=[0]).tolist() == [False, True, False]


def test_forced_cells_are_published_first_without_test():
    cells = [[1, 0, 1], [0, 1, 1]]
    assert secondary(cells, order=[2, 1], unsafe=[0], forced=[1]).tolist() == [False, False, True]
    assert not secondary(cells, order=[2, 1], unsafe=[0], forced=[1, 2]).any()


@pytest.mark.parametrize(
    "wrong",
    [
        {"order": [0.5]},
        {"order": [5]},
        {"unsafe": [True]},
        {"singleton": [1, 2, 3]},
        {"singletons": "anysum"},
    ],
)
def test_invalid_input_raises(wrong):
    arguments = {"order": [2, 1], "unsafe": [0], **wrong}
    with pytest.raises(ParameterError):
        secondary([[1, 0, 1], [0, 1, 1]], **arguments)
