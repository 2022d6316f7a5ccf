from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import count_tables

from hitoku.attacks import Group
from hitoku.errors import RuleError
from hitoku.model import Dimension, Hierarchy, Protection, Release, Table
from hitoku.rules import DirectDisclosure, assess

# Lupp & Langsrud 2021, Table 1: the printed rows, and their printed totals.
GROUPS = ("Oslo Car Driver", "Oslo Car Passenger", "Bergen Car Driver", "Bergen Car Passenger", "Trondheim")
INJURIES = ("None", "Light", "Serious", "Unknown")
TABLE_1 = Table.from_array(
    [[0, 0, 17, 0], [0, 3, 8, 0], [1, 0, 12, 0], [0, 1, 0, 14], [3, 2, 2, 0]],
    names=("group", "injury"),
    codes=(GROUPS, INJURIES),
)


def hits(table, rule):
    frame = table.cells[rule.assess(table).unsafe]
    return {tuple(row) for row in frame.astype(str).itertuples(index=False)}


@pytest.mark.parametrize(
    ("k", "unknown", "unsafe"),
    [
        pytest.param(0, {}, {("Oslo Car Driver", "Serious")}, id="section 2.2: one cell for k = 0"),
        pytest.param(
            3,
            {},
            {
                ("Oslo Car Driver", "Serious"),
                ("Oslo Car Passenger", "Serious"),
                ("Bergen Car Driver", "Serious"),
                ("Bergen Car Passenger", "Unknown"),
            },
            id="section 2.2: four cells for k = 3",
        ),
        pytest.param(
            3,
            {"injury": "Unknown"},
            {
                ("Oslo Car Driver", "Serious"),
                ("Oslo Car Passenger", "Serious"),
                ("Bergen Car Driver", "Serious"),
            },
            id="table 2: to learn that an injury is unknown is to learn nothing",
        ),
        pytest.param(
            1,
            {"injury": ("Unknown",)},
            {("Oslo Car Driver", "Serious"), ("Bergen Car Driver", "Serious")},
            id="figure 1: k = 1",
        ),
    ],
)
def test_paper_example_is_reproduced(k, unknown, unsafe):
    assert hits(TABLE_1, DirectDisclosure(k=k, sensitive="injury", unknown=unknown)) == unsafe


def test_unknown_region_discloses_nothing():
    """Section 2.3: a row (1, 0, 7, 0) of an unknown region needs no protection; of a known one it does."""
    table = Table.from_array(
        [[1, 0, 7, 0], [3, 4, 2, 5]],
        names=("region", "injury"),
        codes=(("Unknown", "Oslo"), INJURIES),
    )
    rule = DirectDisclosure(k=1, sensitive="injury")
    assert hits(table, rule) == {("Unknown", "Serious")}
    assert hits(table, DirectDisclosure(k=1, sensitive="injury", unknown={"region": "Unknown"})) == set()


# The example in the reference of SSBtools::FindDisclosiveCells, coalition 1, every variable sensitive:
# v1 = a, b, c; v2 = h, i; v3 = y, z; and the cells it reports, as (v1, v2, v3).
SSB = Table.from_array(
    [[[0, 1], [0, 1]], [[2, 1], [0, 0]], [[3, 2], [5, 3]]],
    names=("v1", "v2", "v3"),
    codes=("abc", "hi", "yz"),
)
SSB_HITS = {
    *{("a", "Total", "z"), ("a", "h", "Total"), ("a", "h", "z"), ("a", "i", "Total"), ("a", "i", "z")},
    *{("b", "Total", "y"), ("b", "h", "Total"), ("b", "h", "y"), ("b", "h", "z")},
    *{("c", "i", "Total"), ("c", "i", "y"), ("c", "i", "z")},
}


def test_every_variable_is_sensitive_unless_named():
    assert hits(SSB, DirectDisclosure(k=1)) == SSB_HITS
    v3 = {("a", "Total", "z"), ("a", "h", "z"), ("a", "i", "z"), ("b", "Total", "y"), ("b", "h", "y")}
    assert hits(SSB, DirectDisclosure(k=1, sensitive="v3")) == v3


def test_nonidentifying_rows_are_ignored():
    """Nobody is recognised by v2: only rows over its total can be somebody's."""
    one = {("a", "Total", "z"), ("b", "Total", "y")}
    assert hits(SSB, DirectDisclosure(k=1, sensitive="v3", identifying="v1")) == one
    every = DirectDisclosure(k=1, identifying=("v1", "v2", "v3"))
    assert hits(SSB, every) == SSB_HITS
    # A sensitive variable need not identify: what is learnt is its value.
    assert hits(SSB, DirectDisclosure(k=1, sensitive="v3", identifying=("v1", "v2"))) == hits(
        SSB, DirectDisclosure(k=1, sensitive="v3")
    )


@given(table=count_tables(dims=3, max_side=3), k=st.integers(0, 2), rest=st.sets(st.integers(0, 2)))
@settings(deadline=None)
def test_rule_and_attack_use_same_identifying_variables(table, k, rest):
    """On a table with nothing withheld, the cells of the groups that the attack finds are those flagged."""
    names = table.labels.names
    identifying = tuple(names[place] for place in sorted(rest)) or (names[0],)
    unsafe = DirectDisclosure(k=k, identifying=identifying).assess(table).unsafe
    release = Release.of(table, Protection.withhold(table, np.zeros(table.n_cells, dtype=bool)))
    found = Group(k=k, identifying=identifying).find(release)
    assert {cell for group in found for cell in group.inside} == set(np.flatnonzero(unsafe).tolist())


@pytest.mark.parametrize(
    ("row", "k", "unsafe"),
    [
        pytest.param((0, 0), 1, [], id="an empty row discloses nobody"),
        pytest.param((1, 0), 1, [0], id="a row no larger than the coalition: its people, not its zeros"),
        pytest.param((5, 1), 1, [0], id="all but one"),
        pytest.param((5, 2), 1, [], id="all but two are too few for a coalition of one"),
        pytest.param((5, 2), 2, [0], id="all but two for a coalition of two"),
        pytest.param((1, 1), 1, [0, 1], id="each knows the other"),
    ],
)
def test_all_but_k_in_a_cell_is_unsafe(row, k, unsafe):
    table = Table.from_array([row, (50, 50)], names=("group", "status"))
    need = DirectDisclosure(k=k, sensitive="status").assess(table)
    assert need.unsafe[:2].nonzero()[0].tolist() == unsafe
    assert not need.unsafe[2], "a row's own total is no code of the sensitive variable"


@given(table=count_tables(dims=3, max_side=3), k=st.integers(0, 4))
def test_rule_matches_enumeration_of_rows(table, k):
    cells = table.value.reshape(table.shape)
    expected = np.zeros(table.shape, dtype=bool)
    for place in np.ndindex(*table.shape):
        if place[1] < table.shape[1] - 1:
            parent = cells[place[0], -1, place[2]]
            expected[place] = cells[place] > 0 and parent - k <= cells[place]
    need = DirectDisclosure(k=k, sensitive="v2").assess(table)
    assert need.unsafe.tolist() == expected.ravel().tolist()
    assert np.all(DirectDisclosure(k=k + 1, sensitive="v2").assess(table).unsafe >= need.unsafe)


@given(table=count_tables(), k=st.integers(0, 4))
def test_reaching_the_level_ends_the_disclosure(table, k):
    """With the row's total published, more people may be outside the cell than the coalition knows."""
    cells = table.value.reshape(table.shape)
    need = DirectDisclosure(k=k, sensitive="v2").assess(table)
    lowest = (table.value - need.lower).reshape(table.shape)
    unsafe = need.unsafe.reshape(table.shape)
    parent = np.broadcast_to(cells[:, -1:], table.shape)
    # A row of k people or fewer has nobody else in it; there the cell must be blurred down to zero.
    assert np.all((parent - lowest > k)[unsafe & (parent > k)])
    assert np.all(lowest[unsafe & (parent <= k)] == 0)
    assert not need.upper.any()


def test_width_is_required_in_addition_to_levels():
    rule = DirectDisclosure(k=1, sensitive="injury")
    alone, both = (assess(TABLE_1, [rule], width=width) for width in (None, 5))
    assert both.lower.tolist() == alone.lower.tolist()
    assert both.lower.max() > 0
    assert set(both.width[both.unsafe]) == {5.0}


def hierarchical():
    tree = Hierarchy.from_tree({"hurt": ["light", "serious"], "well": None})
    group = Dimension.of("group", Hierarchy.flat(["a", "b"]))
    injury = Dimension.of("injury", tree)
    value = [4, 5, 6, 9, 15] * 2 + [8, 10, 12, 18, 30]
    return Table(value=value, dimensions=(group, injury), frequency=value, integer=True)


def named_hits(table, **parameters):
    return hits(table, DirectDisclosure(sensitive="injury", **parameters))


def test_hierarchy_compares_lowest_codes_with_parent():
    # Of the 9 who are hurt, 5 are hurt badly: all but 4. Of all 15, 6 are well: all but 9.
    table = hierarchical()
    assert named_hits(table, k=3) == set()
    assert named_hits(table, k=4) == {(group, "serious") for group in "ab"}
    assert named_hits(table, k=5) == {(group, code) for group in "ab" for code in ("light", "serious")}
    assert not DirectDisclosure(sensitive="group").assess(table).unsafe.any()


def test_named_code_group_is_compared():
    table = hierarchical()
    assert named_hits(table, k=6, harmless={"injury": ("light", "serious")}) == set()
    hurt = named_hits(table, k=6, harmless={"injury": ("light", "serious")}, forbidden={"injury": ["hurt"]})
    assert hurt == {(group, "hurt") for group in "ab"}


@pytest.mark.parametrize(
    ("parameters", "unsafe"),
    [
        pytest.param({}, {"Serious"}, id="nine of ten: all but one"),
        pytest.param({"harmless": {"injury": "Serious"}}, set(), id="a code that may be learnt"),
        pytest.param(
            {"k": 0, "forbidden": {"injury": [("Light", "Serious")]}},
            {"Light", "Serious"},
            id="everybody is hurt, lightly or badly",
        ),
        pytest.param({"k": 0}, set(), id="to know that much is no disclosure unless somebody says so"),
        pytest.param({"k": 0, "forbidden": {"injury": [("None", "Light")]}}, set(), id="another set"),
    ],
)
def test_disclosure_definition_follows_parameters(parameters, unsafe):
    table = Table.from_array([[0, 1, 9], [7, 9, 8]], names=("group", "injury"), codes=("ab", INJURIES[:3]))
    assert named_hits(table, **{"k": 1, **parameters}) == {("a", code) for code in unsafe}


@pytest.mark.parametrize("forbidden", [3, {"injury": 3}, ["injury"]])
def test_invalid_sets_raise(forbidden):
    with pytest.raises(RuleError, match="sets of codes"):
        DirectDisclosure(forbidden=forbidden)


@pytest.mark.parametrize(
    ("rule", "what"),
    [
        pytest.param(DirectDisclosure(sensitive="injry"), "no variable 'injry'", id="variable"),
        pytest.param(DirectDisclosure(unknown={"injry": "Unknown"}), "no variable 'injry'", id="unknown of"),
        pytest.param(DirectDisclosure(unknown={"injury": "Unknwon"}), "no code 'Unknwon'", id="code"),
        pytest.param(DirectDisclosure(harmless={"injury": "Nome"}), "no code 'Nome'", id="harmless"),
        pytest.param(
            DirectDisclosure(sensitive="injury", forbidden={"injury": [("Ligth",)]}),
            "no code 'Ligth'",
            id="forbidden",
        ),
    ],
)
def test_misspelt_name_raises(rule, what):
    with pytest.raises(RuleError, match=what) as caught:
        rule.assess(TABLE_1)
    assert "did you mean" in caught.value.fix


def test_magnitude_tables_get_no_levels_from_counts():
    table = Table.from_array([[10.0, 5.0], [7.0, 8.0]], frequency=[[9, 0], [5, 5]], names=("group", "status"))
    need = DirectDisclosure(k=1, sensitive="status").assess(table)
    assert need.unsafe.nonzero()[0].tolist() == [0]
    assert not need.lower.any()
    with pytest.raises(RuleError, match="how many respondents"):
        DirectDisclosure().assess(Table.from_array([[1.0, 2.0], [3.0, 4.0]]))
