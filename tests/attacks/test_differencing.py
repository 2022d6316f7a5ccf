"""Several outputs together: by membership of units, and by codes alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.oracles.differencing import exposed_units

from hitoku.attacks.differencing import DifferencingSearch, Partition, differencing
from hitoku.errors import DataError, HitokuError, ParameterError
from hitoku.model import Hierarchy, Protection, Release, Table
from hitoku.solver.solution import MINUTES

THRESHOLD = 4


def release(counts, names, codes, withheld=()):
    table = Table.from_array(np.array(counts), names=names, codes=codes)
    return Release.of(table, Protection.withhold(table, np.isin(np.arange(table.n_cells), withheld)))


def random_output(random, variables):
    """Draw an output: a banding, a crossing of two, or a banding under a filter; small cells are withheld."""
    kind = random.integers(3)
    cuts = np.sort(random.choice(np.arange(1, 10), random.integers(1, 4), replace=False))
    codes = np.searchsorted(cuts, variables[:, random.integers(3)], side="right") + 1
    other = variables[:, random.integers(3)]
    if kind == 1:
        codes = codes + codes.max() * (other >= random.integers(1, 9))
    if kind == 2:
        codes = np.where(other >= random.integers(1, 9), codes, 0)
    codes = np.where(np.bincount(codes)[codes] < THRESHOLD, 0, codes)
    return np.unique(np.concatenate([[0], codes]), return_inverse=True)[1][1:]


def singled_out(outputs, depth):
    """Release outputs one after the other; return the units of all groups that come out on the way."""
    ledger = DifferencingSearch(len(outputs[0]), threshold=THRESHOLD, depth=depth)
    found = np.zeros(len(outputs[0]), dtype=bool)
    for number, codes in enumerate(outputs):
        part = [Partition.published(f"output {number}", codes)]
        for group in ledger.check(part):
            assert len(group) < THRESHOLD
            found[group.units] = True
        ledger.release(part)
    return found


@pytest.mark.parametrize("seed", range(25))
def test_two_outputs_find_every_exposed_group(seed):
    random = np.random.default_rng(seed)
    variables = random.integers(0, 10, (60, 3))
    outputs = [random_output(random, variables) for _ in range(2)]
    assert np.array_equal(singled_out(outputs, depth=2), exposed_units(outputs, THRESHOLD))


@pytest.mark.parametrize("seed", range(12))
def test_three_outputs_raise_no_false_finding(seed):
    random = np.random.default_rng(1000 + seed)
    variables = random.integers(0, 10, (60, 3))
    outputs = [random_output(random, variables) for _ in range(3)]
    found, exposed = singled_out(outputs, depth=3), exposed_units(outputs, THRESHOLD)
    assert not np.any(found & ~exposed)
    assert found.any() == exposed.any()


def chain(n_small):
    """A holds B and C and a small rest; which only all three together single out."""
    unit = np.arange(100)
    whole, one = np.where(unit < 60, 1, 0), np.where(unit < 30, 1, 0)
    other = np.where((unit >= 30) & (unit < 60 - n_small), 1, 0)
    return whole, one, other


def test_chain_of_three_requires_depth_three():
    outputs = chain(2)
    pairs, three = singled_out(outputs, depth=2), singled_out(outputs, depth=3)
    assert not pairs.any()
    assert np.flatnonzero(three).tolist() == [58, 59]


def test_group_of_published_cell_is_not_reported():
    whole, one, other = chain(2)
    rest = whole - one - other
    ledger = DifferencingSearch(100, threshold=THRESHOLD)
    for number, codes in enumerate((rest, whole, one)):
        ledger.release([Partition.published(str(number), codes)])
    assert ledger.check([Partition.published("new", other)]) == []


def test_rejected_output_does_not_change_the_state():
    outputs = chain(2)
    ledger = DifferencingSearch(100, threshold=THRESHOLD)
    for number, codes in enumerate(outputs[:2]):
        ledger.release([Partition.published(str(number), codes)])
    new = [Partition.published("new", outputs[2])]
    first, second = ledger.check(new), ledger.check(new)
    assert [group.hash for group in first] == [group.hash for group in second]
    assert len(first) == 1


def test_margins_and_cells_of_one_output_count_as_one():
    # Inner cells of a row of three, the smallest withheld; its total is another partition of the same output.
    inner, total = np.repeat([1, 2, 0], [20, 20, 3]), np.ones(43, dtype=int)
    ledger = DifferencingSearch(43, threshold=THRESHOLD, depth=1)
    found = ledger.check([Partition.published("t", inner), Partition.published("t", total, part=1)])
    assert [len(group) for group in found] == [3]


def test_derived_groups_of_any_size_are_given_for_other_rules():
    whole, one, _ = chain(2)
    ledger = DifferencingSearch(100, threshold=THRESHOLD)
    ledger.release([Partition.published("whole", whole)])
    groups = list(ledger.exact([Partition.published("one", one)]))
    assert [np.array_equal(group.units, np.arange(30, 60)) for group in groups] == [True]


@pytest.mark.parametrize(
    ("codes", "error"),
    [
        pytest.param([1.5, 2.0], DataError, id="not whole"),
        pytest.param([-1, 1], DataError, id="negative"),
        pytest.param([[1], [2]], DataError, id="not one per unit"),
    ],
)
def test_invalid_codes_raise(codes, error):
    with pytest.raises(error):
        Partition.published("x", codes)


def test_different_units_or_names_raise():
    ledger = DifferencingSearch(3)
    ledger.release([Partition.published("a", [1, 1, 0])])
    with pytest.raises(ParameterError, match="unique name"):
        ledger.check([Partition.published("a", [1, 0, 1])])
    with pytest.raises(DataError, match="covers 2 units"):
        ledger.check([Partition.published("b", [1, 0])])


def test_table_1_of_the_paper_is_found_and_explained():
    first = release(
        [[18, 19, 20], [30, 30, 30]], ["area", "age"], [["A", "B"], ["[0-18]", "[19-25]", "[26-30]"]]
    )
    second = release(
        [[19, 18, 20], [45, 15, 30]], ["area", "age"], [["A", "B"], ["[0-20]", "[21-25]", "[26-30]"]]
    )
    (found,) = differencing([first, second]).found
    assert str(found) == "area=A, age=19-20: 19 - 18 = 1, from output 1 and output 2"
    assert found.exact


def test_shifted_bands_are_not_a_disclosure():
    # 20-49 less 21-50: those aged 20 less those aged 50, a difference of two unknowns.
    first = release([30, 70], ["age"], [["20-49", "60-99"]])
    second = release([29, 70], ["age"], [["21-50", "60-99"]])
    assert differencing([first, second]).found == ()


def grouped(tree, withheld=()):
    frame = pd.DataFrame({"area": ["N1", "N2", "S1", "S2"], "n": [20, 30, 25, 15]})
    table = Table.from_frame(
        frame, by=["area"], value="n", frequency="n", hierarchies={"area": Hierarchy.from_tree(tree)}
    )
    return Release.of(table, Protection.withhold(table, np.isin(table.cells["area"], withheld)))


def test_total_suppressed_in_one_release_published_in_another():
    # N2 and S1 hide behind each other until somebody else publishes the two halves of the country.
    tree = {"North": ["N1", "N2"], "South": ["S1", "S2"]}
    first = grouped(tree, withheld=["N2", "S1", "North", "South"])
    second = release([50, 40], ["area"], [["North", "South"]])
    found = differencing([first, second], threshold=40).found
    assert {(one.group, one.most, one.exact) for one in found} == {
        ("area=N2", 30.0, True),
        ("area=S1", 25.0, True),
    }


def test_releases_of_different_populations_raise():
    first = grouped({"North": ["N1", "N2"], "South": ["S1", "S2"]})
    second = release([29, 40], ["area"], [["North", "South"]])
    with pytest.raises(HitokuError, match="contradict"):
        differencing([first, second])


def test_three_releases_are_tested_jointly():
    # Everybody; the employed; the retired: four are neither.
    everybody = release([54, 30], ["status"], [["employed or retired or other", "child"]])
    meanings = {"status": {"employed or retired or other": ["employed", "retired", "other"]}}
    employed = release([28, 30], ["status"], [["employed", "child"]])
    retired = release([22, 30], ["status"], [["retired", "child"]])
    (found,) = differencing([everybody, employed, retired], meanings=meanings).found
    assert (found.group, found.most, found.releases) == ("status=other", 4.0, (0, 1, 2))


def test_release_without_definitions_is_not_safe():
    known = release([18, 19], ["age"], [["0-18", "19-25"]])
    numbered = Release(
        published=known.published, relations=known.relations, labels=known.labels, integer=True
    )
    found = differencing([known, numbered])
    assert found.untested == (1,)
    assert "not testable" in repr(found)


def test_ambiguous_code_raises():
    one = grouped({"West": ["N1", "N2"], "East": ["S1", "S2"]})
    other = grouped({"West": ["N1", "S1"], "East": ["N2", "S2"]})
    with pytest.raises(ParameterError, match="split differently"):
        differencing([one, other])


def few_people(n_outputs):
    """Tables with free cut points about 150 people: nearly everything follows from something."""
    random = np.random.default_rng(5)
    age, others = random.integers(0, 100, 150), random.integers(0, 4, (3, 150))
    for number in range(n_outputs):
        cuts = np.sort(random.choice(np.arange(1, 100), 4, replace=False))
        bands, other = np.searchsorted(cuts, age, side="right"), others[number % 3]
        parts = (bands * 10 + other, bands, other, np.zeros(150, dtype=int))
        numbered = [np.unique(part, return_inverse=True)[1] + 1 for part in parts]
        yield [Partition.published(f"output {number}", part, part=p) for p, part in enumerate(numbered)]


def test_work_limit_is_reported_and_pairs_are_compared():
    *before, last = few_people(4)
    found = {}
    for effort in (0, 4_000_000, 40_000_000):
        search = DifferencingSearch(150, depth=3, effort=effort)
        for output in before:
            search.release(output)
        found[effort] = search.searched(last)
    nothing, some, more = found.values()
    assert nothing.compared == 0 < nothing.left_out
    # A comparison costs 20,000 steps at least.
    assert 0 < some.compared <= 200 < more.compared <= 2_000
    assert more.left_out > 0
    pairs = DifferencingSearch(150, depth=2, effort=0)
    for output in before:
        pairs.release(output)
    of_two = {group.hash for group in pairs.check(last)}
    assert of_two
    assert of_two <= {group.hash for group in nothing.small} <= {group.hash for group in some.small}


def test_flow_limit_is_reported_and_findings_are_valid():
    *before, last = few_people(3)

    def searched(flow_work):
        search = DifferencingSearch(150, depth=2, effort=0, flow_work=flow_work)
        for output in before:
            search.release(output)
        return search.searched(last)

    whole, none = searched(MINUTES), searched(0)
    assert (whole.unfinished, none.small) == (0, [])
    assert none.unfinished > 0
    every = {group.hash for group in whole.small}
    assert every
    found = [searched(flow_work) for flow_work in (1_000, 3_000, 10_000, 30_000)]
    for one in found:
        assert {group.hash for group in one.small} <= every
        assert one.unfinished or {group.hash for group in one.small} == every
    assert any(one.unfinished and one.small for one in found)


def test_complete_search_finds_all_groups():
    search = DifferencingSearch(100, threshold=THRESHOLD)
    for number, codes in enumerate(chain(2)):
        output = [Partition.published(str(number), codes)]
        assert search.searched(output).left_out == 0
        search.release(output)
