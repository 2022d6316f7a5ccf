from __future__ import annotations

import numpy as np
import pytest

from hitoku.errors import HierarchyError
from hitoku.model import Dimension, Hierarchy

REGION = {"North": ["N1", "N2"], "South": ["S1", "S2"]}


def test_tree_lists_codes_depth_first():
    tree = Hierarchy.from_tree({"North": {"N1": None, "N2": ["N2a", "N2b"]}, "Abroad": None})
    assert tree.codes == ("Total", "North", "N1", "N2", "N2a", "N2b", "Abroad")
    assert tree.leaves == ("N1", "N2a", "N2b", "Abroad")
    assert tree.n_levels == 4


def test_all_tree_notations_agree():
    by_tree = Hierarchy.from_tree(REGION)
    by_parents = Hierarchy.from_parents(
        {"North": "Total", "N1": "North", "N2": "North", "South": "Total", "S1": "South", "S2": "South"}
    )
    by_levels = Hierarchy.from_levels([("North", "N1"), ("North", "N2"), ("South", "S1"), ("South", "S2")])
    assert by_tree.codes == by_parents.codes == by_levels.codes
    assert by_tree.parents.tolist() == by_parents.parents.tolist() == by_levels.parents.tolist()


@pytest.mark.parametrize("rows", [[("A", "A1"), ("A", "A2"), ("B",)], [("A", "A1"), ("A", "A2"), ("B", "B")]])
def test_short_or_repeated_level_ends_a_branch(rows):
    ragged = Hierarchy.from_levels(rows)
    assert ragged.leaves == ("A1", "A2", "B")
    assert dict(ragged.groups()) == {"A": ("A1", "A2"), "Total": ("A", "B")}


def test_parts_precede_their_sums():
    seen: set[str] = set()
    for whole, parts in Hierarchy.from_tree({"A": {"B": {"C": ["D", "E"]}}, "F": ["G"]}).groups():
        assert not set(parts) & {"A", "B", "C", "F"} - seen
        seen.add(whole)
    assert seen == {"A", "B", "C", "F", "Total"}


@pytest.mark.parametrize(
    ("pairs", "what", "where"),
    [
        pytest.param(
            [("A", "Total"), ("A", "Total")], "code 'A' is listed twice", "under 'Total'", id="duplicate"
        ),
        pytest.param(
            [("A", "Total"), ("B", "Total"), ("A1", "A"), ("A1", "B")],
            "code 'A1' has two parents",
            "under 'A' and under 'B'",
            id="two parents",
        ),
        pytest.param([("A", "B"), ("B", "A"), ("C", "Total")], "codes form a cycle: A, B, A", "", id="cycle"),
        pytest.param([("A", "B"), ("C", "Total")], "code 'B' has no parent", "it contains A", id="loose end"),
        pytest.param(
            [("Total", "A"), ("A", "Total")], "the total 'Total' is also listed", "", id="total twice"
        ),
        pytest.param([("", "Total")], "a code is empty", "", id="empty code"),
        pytest.param([(None, "Total")], "a code is empty", "", id="missing code"),
        pytest.param([(float("nan"), "Total")], "a code is empty", "", id="NaN code"),
        pytest.param([], "no codes below the total 'Total'", "", id="nothing"),
    ],
)
def test_invalid_tree_raises(pairs, what, where):
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.from_pairs(pairs)
    assert what in caught.value.what
    assert where in caught.value.where
    assert caught.value.fix


def test_text_instead_of_child_list_raises():
    with pytest.raises(HierarchyError, match="one text, not a list"):
        Hierarchy.from_tree({"North": "N1"})


@pytest.mark.parametrize(
    ("codes", "parents"),
    [(("Total", "A", "A"), [-1, 0, 0]), (("Total", "A"), [0, 0]), (("Total", "A", "B"), [-1, 2, 0])],
)
def test_manual_hierarchy_is_checked(codes, parents):
    with pytest.raises(HierarchyError):
        Hierarchy(codes, np.array(parents))


def test_hierarchy_is_immutable():
    with pytest.raises(ValueError, match="read-only"):
        Hierarchy.flat("ab").parents[1] = 1


def test_dimension_lists_leaves_first_and_total_last():
    dimension = Dimension.of("region", Hierarchy.from_tree({"Abroad": None, **REGION}))
    assert dimension.codes == ("Abroad", "N1", "N2", "S1", "S2", "North", "South", "Total")
    assert dimension.closure.toarray()[dimension.position["South"]].tolist() == [0, 0, 0, 1, 1]


def test_second_grouping_may_combine_inner_codes():
    main = Hierarchy.from_tree({"North": ["N1", "N2"], "South": ["S1", "S2"]})
    lakes = Hierarchy.flat(["N2", "South"], total="Lakes")
    dimension = Dimension.of("region", [main, lakes])
    assert dimension.closure.toarray()[dimension.position["Lakes"]].tolist() == [0, 1, 1, 1]
    assert ("Lakes", ("N2", "South")) in dimension.groups
    assert len(dimension.groups) == 4


@pytest.mark.parametrize(
    ("second", "what"),
    [
        pytest.param(
            Hierarchy.from_tree({"East": ["N1", "X9"]}, total="E"),
            "that are not in the first hierarchy",
            id="new",
        ),
        pytest.param(
            Hierarchy.from_tree({"North": ["N1", "S1"]}, total="E"), "has two different meanings", id="other"
        ),
        pytest.param(Hierarchy.flat(["N1", "North"], total="E"), "overlap", id="overlap"),
        pytest.param(Hierarchy.flat(["N1", "N2"]), "has two different meanings", id="not the whole total"),
    ],
)
def test_inconsistent_grouping_raises(second, what):
    with pytest.raises(HierarchyError, match=what):
        Dimension.of("region", [Hierarchy.from_tree(REGION), second])


def test_total_of_single_category_is_the_category():
    sex = Dimension.of("sex", Hierarchy.flat(["f"]))
    assert sex.codes == ("f", "Total")
    assert sex.sums.toarray().tolist() == [[1, -1]]
