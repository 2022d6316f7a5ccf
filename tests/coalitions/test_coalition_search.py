"""Contributors who know their own amounts: found, and protected from, by every method."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.insiders import too_close
from tests.strategies import Record, contributions, dimension_tuples, table_from_records

from hitoku.attacks import Contribution, Insider
from hitoku.coalitions import CoalitionSearch, coalition_search, contributions_in
from hitoku.errors import NeedError, ParameterError, SolverError
from hitoku.evidence import audit
from hitoku.feasibility import least_deviation
from hitoku.methods import against_insiders
from hitoku.methods.circulation import Circulation
from hitoku.methods.gauss import Gauss
from hitoku.methods.greedy import Greedy
from hitoku.methods.optimal import Optimal
from hitoku.model import Contributors, Need, Protection, Release, Table
from hitoku.pipeline import protect_table
from hitoku.rules import FewContributors, Given, PPercent, assess

METHODS = {
    "greedy": Greedy(),
    "greedy, tidy": Greedy(tidy=True, prefer="closing"),
    "optimal": Optimal(cost="value"),
    "gauss": Gauss(width=True),
}


class UnsafeOnly:
    """A method that forgets what it is for."""

    def protect(self, table, need, progress=None):
        del progress
        return Protection.withhold(table, need.unsafe, need)


class Forgetful(Greedy):
    """A greedy method that does not go on from where it is told to."""

    def protect(self, table, need, progress=None):
        if self.start is None:
            return super().protect(table, need, progress)
        return Protection.withhold(table, self.start, need)


@st.composite
def firms(draw, *, hierarchical: bool = False, largest: int = 40):
    """Draw a table, and who contributed what to each cell; holdings stand behind several cells."""
    dimensions = draw(dimension_tuples(2, 3, hierarchical=hierarchical))
    amounts = st.sampled_from([1, 2, 3, 5, 8, 20, largest])
    holdings = st.integers(0, 5)
    records = [
        Record((row, column), 100 * i + 10 * j + k, draw(holdings), float(draw(amounts)))
        for i, row in enumerate(dimensions[0].leaves)
        for j, column in enumerate(dimensions[1].leaves)
        for k in range(draw(st.sampled_from([0, 1, 1, 2, 3])))
    ]
    table = table_from_records(dimensions, records, holdings=True)
    return table, contributions(dimensions, records, "holding")


def told(people):
    """Everything that everybody contributed, as the attack takes it."""
    return [
        Contribution(who, cell, amount, sole=len(here) == 1, among=len(here))
        for cell, here in enumerate(people)
        for who, amount in here.items()
    ]


def smallest(found):
    """Leave out coalitions of which a part comes too close to the same cell."""
    return {
        (members, cell)
        for members, cell in found
        if not any(set(some) < set(members) and there == cell for some, there in found)
    }


# Every size, or none, counts as small: programs over everything, or what is near each cell.
@pytest.mark.parametrize("small", [10**9, 0], ids=["at once", "near each cell"])
@settings(max_examples=8)
@given(
    drawn=st.booleans().flatmap(lambda nested: firms(hierarchical=nested)),
    size=st.integers(1, 2),
    seed=st.integers(0, 2**16),
)
def test_search_matches_separate_linear_programs(small, drawn, size, seed):
    with pytest.MonkeyPatch.context() as patch:
        for module in (coalition_search, least_deviation):
            patch.setattr(module, "SMALL", small)
        compare_with_single_programs(drawn, size, seed)


def compare_with_single_programs(drawn, size, seed):
    table, people = drawn
    need = assess(table, [PPercent(20), FewContributors(2)], width=0.3 * table.value)
    random = np.random.default_rng(seed).random(table.n_cells) < 0.5
    release = Release.of(table, Protection.withhold(table, need.unsafe | random))
    search = CoalitionSearch(table, need, release, Insider(told(people), coalition=size))
    names = list(dict.fromkeys(who for cell in people for who in cell))
    found = {
        (tuple(sorted((names[m] for m in one.members), key=str)), int(cell))
        for one in search.too_close()
        for cell in one.cells
    }
    every = too_close(table, need, release, people, size)
    # Somebody who knows nothing of the cells that hang together adds nothing: such coalitions are not tried.
    assert found <= every
    assert smallest(found) == smallest(every)


@pytest.mark.parametrize("method", [pytest.param(method, id=name) for name, method in METHODS.items()])
@settings(max_examples=5)
@given(drawn=st.booleans().flatmap(lambda nested: firms(hierarchical=nested)))
def test_protected_release_withstands_every_contributor(method, drawn):
    table, people = drawn
    rules = [PPercent(20), FewContributors(2)]
    outcome = protect_table(table, rules, method=method, insiders=told(people))
    assert outcome.audit.safe
    assert too_close(table, outcome.need, outcome.release, people) == set()
    # Nothing is published again that the method had withheld.
    alone = method.protect(table, outcome.need)
    assert np.all(outcome.release.withheld >= alone.withheld)


@settings(max_examples=5)
@given(drawn=st.booleans().flatmap(lambda nested: firms(hierarchical=nested)))
def test_shared_hypercubes_protect_from_all_contributors(drawn):
    table, people = drawn
    with pytest.MonkeyPatch.context() as patch:
        # Every table counts as one in which boxes come first.
        patch.setattr("hitoku.methods.insiders.LARGEST_SWEPT", 0)
        outcome = protect_table(
            table, [PPercent(20), FewContributors(2)], method=Circulation(), insiders=told(people)
        )
    assert outcome.audit.safe
    assert too_close(table, outcome.need, outcome.release, people) == set()


@settings(max_examples=4)
@given(drawn=firms())
def test_protected_release_withstands_every_pair(drawn):
    table, people = drawn
    outcome = protect_table(
        table, [PPercent(20)], method=Greedy(), insiders=Insider(told(people), coalition=2)
    )
    assert outcome.audit.safe
    assert too_close(table, outcome.need, outcome.release, people, 2) == set()


# Two rows and two columns withheld; firm A is alone in the first cell.
SQUARE = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
CORNERS = np.isin(np.arange(16), [0, 1, 4, 5])
ALONE = Insider([Contribution("A", cell=0, amount=7, sole=True)])


def need_for(cell, width):
    return Need(unsafe=np.isin(np.arange(16), [0, cell]), width=np.where(np.arange(16) == cell, width, 0.0))


@pytest.mark.parametrize("method", [pytest.param(method, id=name) for name, method in METHODS.items()])
def test_sole_contributor_requires_more_suppressions(method):
    need = need_for(5, width=9)
    first = Protection.withhold(SQUARE, CORNERS, need)
    assert audit(SQUARE, need, Release.of(SQUARE, first)).safe
    assert not audit(SQUARE, need, Release.of(SQUARE, first), insiders=ALONE).safe
    more = against_insiders(SQUARE, need, first, method=method, attack=ALONE)
    assert np.all(more.withheld >= CORNERS)
    verdict = audit(SQUARE, need, Release.of(SQUARE, more), insiders=ALONE)
    assert verdict.safe
    assert verdict.summary["open_to_insiders"] == 0
    assert not more.proven


def test_safe_protection_is_unchanged():
    need = need_for(5, width=9)
    first = Protection.withhold(SQUARE, SQUARE.inner, need)
    assert against_insiders(SQUARE, need, first, method=Greedy(), attack=ALONE) is first


def test_audit_reports_insider_results():
    need = need_for(5, width=9)
    release = Release.of(SQUARE, Protection.withhold(SQUARE, CORNERS, need))
    plain, asked = audit(SQUARE, need, release), audit(SQUARE, need, release, insiders=ALONE)
    assert plain.insiders is None
    assert "insiders_tried" not in plain.summary
    assert asked.summary["insiders_tried"] == 1
    assert [str(finding.place) for finding in asked.findings if finding.severity == "fail"] == [
        "row=2, column=2"
    ]
    assert "1 open to insiders" in repr(asked)
    assert asked.certificate is None
    wide = audit(SQUARE, need, Release.of(SQUARE, Protection.withhold(SQUARE, SQUARE.inner)), insiders=ALONE)
    assert [finding.place for finding in wide.findings if finding.severity == "pass"] == ["insiders"]


def test_method_suppressing_too_little_is_detected():
    outcome = protect_table(
        SQUARE,
        [Given(SQUARE.value == 7, width=9.0)],
        method=UnsafeOnly(),
        insiders=[Contribution("B", 5, 60.0)],
    )
    assert not outcome.audit.safe


def test_method_without_continuation_raises():
    need = need_for(5, width=9)
    first = Protection.withhold(SQUARE, CORNERS, need)
    with pytest.raises(NeedError, match="row=2, column=2"):
        against_insiders(SQUARE, need, first, method=Forgetful(), attack=ALONE)


@pytest.mark.parametrize("method", [Greedy(keep="margins"), Optimal(keep="margins"), Gauss(keep="margins")])
def test_unattainable_protection_names_the_cells(method):
    # Two by two with its margins: who knows one cell knows all four.
    table = Table.from_array([[7, 11], [10, 60]])
    need = Need(unsafe=table.value == 60, width=5.0)
    first = Protection.withhold(table, table.inner, need)
    with pytest.raises(NeedError, match="row=2, column=2") as error:
        against_insiders(table, need, first, method=method, attack=ALONE)
    assert "60" not in str(error.value)


def test_sole_contributors_are_listed_once():
    # One firm in the whole first row; two in the second, the first cell has one of them.
    value = np.array([5.0, 3.0, 8.0, 4.0, 9.0, 13.0, 9.0, 12.0, 21.0])
    count = np.array([1, 1, 1, 1, 2, 2, 2, 3, 3])
    largest = np.array([[5.0], [3.0], [8.0], [4.0], [6.0], [8.0], [5.0], [6.0], [8.0]])
    plain = Table.from_array(value.reshape(3, 3)[:2, :2])
    contributors = Contributors(count=count, largest=largest, total=value)
    table = Table(value=value, dimensions=plain.dimensions, units=contributors, frequency=count)
    found = contributions_in(table)
    sole = {one.cell: one.contributor for one in found if one.sole}
    assert sorted(sole) == [0, 1, 2, 3]
    assert sole[0] == sole[1] == sole[2] != sole[3]
    assert {one.cell: one.amount for one in found if not one.sole} == {4: 6.0, 5: 8.0, 6: 5.0, 7: 6.0, 8: 8.0}


def test_negative_contributions_reveal_only_sole_ones():
    value = np.array([5.0, -3.0, 2.0])
    table = Table(
        value=value,
        relations=[[1.0, 1.0, -1.0]],
        units=Contributors(
            count=[1, 2, 3], largest=[[5.0], [1.0], [5.0]], total=value, negative=True, magnitude="signed"
        ),
    )
    assert [(one.cell, one.sole) for one in contributions_in(table)] == [(0, True)]


def test_table_without_contributors_raises():
    with pytest.raises(NeedError, match="who contributes"):
        protect_table(SQUARE, [Given(SQUARE.value == 7, width=9.0)], method=Greedy(), insiders=True)


def test_foreign_knowledge_raises_without_values():
    release = Release.of(SQUARE, Protection.withhold(SQUARE, CORNERS))
    for wrong in (Contribution("zoe", 0, 4711.0), Contribution("zoe", 0, 6.0, sole=True)):
        with pytest.raises(ParameterError) as error:
            CoalitionSearch(SQUARE, need_for(5, 9), release, Insider([wrong]))
        assert "4711" not in str(error.value)
        assert "zoe" not in str(error.value)


def test_reached_limits_are_reported():
    release = Release.of(SQUARE, Protection.withhold(SQUARE, CORNERS))
    pair = [Contribution("A", 0, 7.0, sole=True), Contribution("B", 5, 9.0)]
    with pytest.raises(ParameterError, match="3 coalitions"):
        CoalitionSearch(SQUARE, need_for(5, 9), release, Insider(pair, coalition=2, limit=2)).verdict()
    with pytest.raises(SolverError, match="time limit was reached"):
        CoalitionSearch(SQUARE, need_for(5, 9), release, Insider(pair, time_limit_s=0.0))


def test_deviations_are_shared_among_contributors():
    """The shortcut of the search changes no verdict: with it and without it."""
    table = Table.from_array(np.arange(1, 26).reshape(5, 5) * 3.0)
    need = Need(unsafe=(table.value == 39) | (table.value == 9), lower=0.0, upper=3.0)
    release = Release.of(table, Protection.withhold(table, table.inner))
    inner = np.flatnonzero(table.inner)
    crowd = [Contribution(int(c), int(c), float(table.value[c]), sole=True) for c in inner]
    together = CoalitionSearch(table, need, release, Insider(crowd)).verdict()
    singly = [CoalitionSearch(table, need, release, Insider([one])).verdict() for one in crowd]
    assert together.tried == len(singly)
    assert set(together.cells) == {cell for one in singly for cell in one.cells}


def crowded():
    """Everybody alone in a cell of five by five, all withheld, the middle one unsafe."""
    table = Table.from_array(np.arange(1, 26).reshape(5, 5) * 3.0)
    need = Need(unsafe=table.value == 39, lower=0.0, upper=3.0)
    release = Release.of(table, Protection.withhold(table, table.inner))
    inner = np.flatnonzero(table.inner)
    crowd = [Contribution(int(c), int(c), float(table.value[c]), sole=True) for c in inner]
    return CoalitionSearch(table, need, release, Insider(crowd))


def test_coalition_without_counterexample_is_evaluated_once(monkeypatch):
    search, looked = crowded(), []
    sight = search.knowledge.sight
    monkeypatch.setattr(search.knowledge, "sight", lambda shares: looked.append(str(shares)) or sight(shares))
    assert not search.verdict().cells
    assert len(set(looked)) == 25
    assert looked.count(looked[0]) == 1


def test_repair_stays_within_coalition_bounds(monkeypatch):
    search, seen = crowded(), {}

    def watch(cells, scale, room):
        del scale
        seen[who] = np.array(room)
        return np.zeros(len(cells)), np.zeros(len(cells))

    monkeypatch.setattr(search.witnesses, "repaired", watch)
    for who in search.coalitions():
        search.examine(who)
    assert seen
    value = np.append(np.arange(1, 26).reshape(5, 5) * 3.0, np.zeros((5, 1)), axis=1)
    value = np.append(value, np.zeros((1, 6)), axis=0).ravel()
    for (who,), (down, up) in seen.items():
        own = np.flatnonzero(value)[who]
        # Published totals stay, the own cell is known, any other may fall to zero and rise without end.
        assert down.tolist() == np.where(np.arange(36) == own, 0.0, value).tolist()
        assert up.tolist() == np.where((value > 0) & (np.arange(36) != own), np.inf, 0.0).tolist()


@pytest.mark.parametrize(("down", "up", "missing"), [(9.0, 0.0, True), (0.0, 9.0, False), (0.0, 2.0, True)])
def test_repaired_witness_counts_its_own_movement(monkeypatch, down, up, missing):
    """The cell must rise by three; nobody looks any further than repairs."""
    search = crowded()
    monkeypatch.setattr(search, "_settle", lambda _, reach, *__: np.ones(len(reach.cells), dtype=bool))
    repaired = []

    def answer(cells, scale, room):
        del scale, room
        repaired.extend(cells)
        return np.full(len(cells), down), np.full(len(cells), up)

    monkeypatch.setattr(search.witnesses, "repaired", answer)
    found = [search.examine(who).cells for who in search.coalitions()]
    assert repaired
    assert sum(len(cells) for cells in found) == (len(repaired) if missing else 0)


def test_failed_repair_leaves_no_coalition_state(monkeypatch):
    search, rooms = crowded(), {}

    def fail(cells, scale, room):
        del cells, scale
        rooms.setdefault(who, []).append(np.array(room))
        raise MemoryError

    monkeypatch.setattr(search.witnesses, "repaired", fail)
    for who in 2 * search.coalitions():
        with contextlib.suppress(MemoryError):
            search.examine(who)
    assert len(rooms) > 1
    assert all(np.array_equal(before, after) for before, after in rooms.values())


@pytest.mark.parametrize(("own", "other"), [(0, 4), (4, 0), (1, 0), (0, 1)])
def test_solver_zero_gives_no_slack(own, other):
    """Nothing is asked of the other cell but that it stays unknown; numbers differ by a factor of 10^8."""
    table = Table.from_array([[7.0, 5e8], [6e8, 9e8]])
    need = Need(unsafe=np.arange(9) == other)
    release = Release.of(table, Protection.withhold(table, table.inner))
    attack = Insider([Contribution("A", own, float(table.value[own]), sole=True)])
    assert CoalitionSearch(table, need, release, attack).verdict().cells == (other,)


@pytest.mark.parametrize("structural", [False, True])
def test_insider_knowledge_propagates_through_structural_zeros(structural):
    """All of a row is in its first cell, and everybody knows that its second is empty.

    Somebody has 6 of the 10 in the row's total, so the first cell is no less than 6, whatever is withheld.
    That is no fault of the release, unless the zero is one that might have been withheld.
    """
    plain = Table.from_array([[10.0, 0.0], [8.0, 9.0]])
    zero = plain.value == 0
    table = replace(plain, fixed=zero) if structural else plain
    release = Release.of(table, Protection.withhold(table, np.isin(np.arange(9), [0, 2, 3, 5])))
    need = Need(unsafe=np.arange(9) == 0, lower=np.where(np.arange(9) == 0, 5.0, 0.0))
    assert audit(table, need, release).safe
    found = CoalitionSearch(table, need, release, Insider([Contribution("X", cell=2, amount=6.0)])).verdict()
    assert found.cells == (() if structural else (0,))


def test_coalitions_know_connected_cells():
    """Two squares apart from each other; one firm in each, one in both, one where everything is published."""
    table = Table.from_array(np.arange(1.0, 17.0).reshape(4, 4))
    withheld = np.isin(np.arange(25), [0, 1, 5, 6, 12, 13, 17, 18])
    need = Need(unsafe=np.isin(np.arange(25), [0, 12]), width=2.0)
    release = Release.of(table, Protection.withhold(table, withheld))
    told = [("A", 0), ("B", 12), ("C", 3), ("D", 1), ("D", 13)]
    people = [Contribution(who, cell, table.value[cell] / 2) for who, cell in told]
    search = CoalitionSearch(table, need, release, Insider(people, coalition=2))
    assert set(search.coalitions()) == {(0,), (1,), (3,), (0, 3), (1, 3)}
    assert len(search.coalitions()) == 5


def test_public_bounds_leave_coalition_findings():
    bounded = replace(SQUARE, lower=0.7 * SQUARE.value, upper=1.3 * SQUARE.value)
    release = Release.of(bounded, Protection.withhold(bounded, CORNERS))
    (found,) = CoalitionSearch(bounded, need_for(5, width=2), release, ALONE).too_close()
    assert found.cells.tolist() == [5]
    assert repr(found) == "TooClose(1 contributor(s), 1 cell(s))"


def test_empty_cells_have_no_contributors():
    count, value = np.array([2, 0, 2]), np.array([5.0, 0.0, 5.0])
    people = Contributors(count=count, largest=[[4.0], [0.0], [4.0]], total=value)
    table = Table(value=value, relations=[[1.0, 1.0, -1.0]], units=people, frequency=count)
    assert [(one.cell, one.amount) for one in contributions_in(table)] == [(0, 4.0), (2, 4.0)]


def test_repeated_relation_is_allowed():
    count, value = np.array([1, 1, 1]), np.array([5.0, 2.0, 7.0])
    people = Contributors(count=count, largest=value[:, None], total=value)
    table = Table(value=value, relations=[[1.0, 1.0, -1.0]] * 5, units=people, frequency=count)
    assert len({one.contributor for one in contributions_in(table)}) == 1
