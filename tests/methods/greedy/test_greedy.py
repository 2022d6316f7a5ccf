from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.oracles.greedy import interval, literal_greedy
from tests.strategies import count_tables, magnitude_tables, protections

from hitoku.attacks import Interval
from hitoku.errors import NeedError, ParameterError, ProtectionError
from hitoku.methods import GREEDY, costs, kept_cells
from hitoku.methods.greedy import Greedy
from hitoku.model import Need, Protection, Reason, Release, Table
from hitoku.rules import GroupDisclosure, MinFrequency, PPercent, assess
from hitoku.testing import covers

# Table of Figure 2 and Example 1 in the matching attack's paper: 7 is below the threshold of 10.
FIGURE_2 = [[7, 11, 60], [10, 60, 11], [60, 12, 60]]


@st.composite
def bounded_tables(draw):
    """Draw values of either sign; of some cells an outsider knows more, down to the value itself."""
    shape = draw(st.sampled_from([(2, 3), (3, 3), (3, 4)]))
    size = shape[0] * shape[1]
    inner = np.reshape(draw(st.lists(st.integers(-6, 9), min_size=size, max_size=size)), shape)
    table = Table.from_array(inner)
    room = st.lists(st.sampled_from([0.0, 1.0, 5.0, np.inf]), min_size=table.n_cells, max_size=table.n_cells)
    lower, upper = table.value - draw(room), table.value + draw(room)
    fixed = draw(st.lists(st.integers(0, 9).map(lambda n: n == 0), min_size=len(lower), max_size=len(lower)))
    frequency = np.abs(inner)
    return Table.from_array(inner, frequency=frequency, lower=lower, upper=upper, fixed=fixed)


TABLES = {
    "two dimensions": count_tables(max_side=4),
    "three dimensions": count_tables(max_side=2, dims=3),
    "hierarchy": count_tables(max_side=4, dims=2, hierarchical=True),
    "magnitudes": magnitude_tables(max_side=3),
    "known bounds": bounded_tables(),
}


@st.composite
def needs(draw, table):
    """Draw a few unsafe cells with levels or widths, some with nothing but the wish not to be exact."""
    free = np.ones(table.n_cells, dtype=bool) if table.fixed is None else ~table.fixed
    small = np.flatnonzero((table.value <= np.median(table.value)) & free)
    assume(len(small))
    cells = draw(st.lists(st.sampled_from(small.tolist()), min_size=1, max_size=4, unique=True))
    unsafe = np.zeros(table.n_cells, dtype=bool)
    unsafe[cells] = True
    share = draw(st.sampled_from([0.0, 0.2, 1.0]))
    level = np.where(unsafe, share * np.maximum(table.value, 0), 0.0)
    return Need(unsafe=unsafe, lower=level, upper=level, width=draw(st.sampled_from([0.0, 3.0, 9.0])))


def printed(mask, table):
    return np.where(mask, "x", ".").reshape(table.shape)[:-1, :-1].tolist()


def spread(table, protection):
    return Interval().bounds(Release.of(table, protection))


PUBLISHED_AGAIN = (Reason.UNNECESSARY, Reason.POINT)


def test_steps_match_the_paper_example():
    table = Table.from_array(FIGURE_2)
    need = assess(table, [MinFrequency(10)], width=11)
    protection = Greedy(record="full").protect(table, need)
    # Row 1 and column 1 give the 7 away: first the 10, then the 11 beside it. Each leaves a line in which it
    # stands alone; 11, 12 and 60 are the smallest there. The last closes the cycle 7, 10, 11, 60.
    steps = protection.steps[:5]
    cells = [(step.cell // 4 + 1, step.cell % 4 + 1) for step in steps]
    assert cells == [(2, 1), (1, 2), (2, 3), (3, 2), (1, 3)]
    alone, tied = Reason.ALONE, Reason.TIED
    assert [step.reason for step in steps] == [alone, alone, tied, tied, tied]
    assert [step.before for step in steps] == [(7.0, 7.0)] * 5
    assert [step.after for step in steps] == [(7.0, 7.0)] * 4 + [(0.0, 17.0)]
    assert {step.protects for step in steps} == {0}
    # The 11 and the 12 of column 2 follow from their rows then: to withhold them hides nothing.
    last = [(step.cell // 4 + 1, step.cell % 4 + 1, step.reason) for step in protection.steps[5:]]
    assert last == [(1, 2, Reason.POINT), (3, 2, Reason.POINT)]
    assert protection.method == "greedy"
    assert not protection.proven
    assert np.isnan(protection.gap)
    assert protection.cost == 7 + 10 + 11 + 60


def test_pattern_printed_in_the_paper_is_safe():
    table = Table.from_array(FIGURE_2)
    need = assess(table, [MinFrequency(10)], width=11)
    by_hand = np.isin(np.arange(16), [0, 1, 4, 5])
    protection = Greedy(start=by_hand).protect(table, need)
    assert protection.steps == ()
    assert printed(protection.withheld, table) == [["x", "x", "."], ["x", "x", "."], [".", ".", "."]]


def test_tidying_keeps_the_protecting_cycle():
    table = Table.from_array(FIGURE_2)
    need = assess(table, [MinFrequency(10)], width=11)
    protection = Greedy(tidy=True).protect(table, need)
    assert printed(protection.withheld, table) == [["x", ".", "x"], ["x", ".", "x"], [".", ".", "."]]
    assert [s.cell for s in protection.steps if s.reason is Reason.UNNECESSARY] == [9, 1]


def test_primary_cells_precede_secondary_cells():
    # suppressFT: units, shares of rows, shares of columns; here one cell each.
    table = Table.from_array([[2, 40, 50], [1, 95, 4 + 1], [60, 900, 30], [9, 40, 70]])
    steps = [MinFrequency(3), GroupDisclosure(0.9, by="column"), GroupDisclosure(0.8, by="row")]
    need = assess(table, steps, width=5)
    assert set(need.rules) == {"min_frequency", "group_disclosure", "group_disclosure 2"}
    assert covers(spread(table, Greedy().protect(table, need)), table, need)


@pytest.mark.parametrize("prefer", ["smallest", "closing"])
@pytest.mark.parametrize("kind", TABLES)
@settings(deadline=None, max_examples=5)
@given(data=st.data())
def test_pattern_matches_reference_implementation(kind, prefer, data):
    table = data.draw(TABLES[kind])
    need = data.draw(needs(table))
    keep = "margins" if data.draw(st.booleans()) and not np.any(need.unsafe & ~table.inner) else None
    stay = kept_cells(table, keep)
    start = (
        data.draw(protections(table)).withheld & ~stay if data.draw(st.booleans()) else np.zeros_like(stay)
    )
    cost = data.draw(st.sampled_from(["value", "unit", "frequency"]))
    method = Greedy(cost=cost, keep=keep, start=start, prefer=prefer)
    expected = literal_greedy(
        table,
        need,
        cost=costs(table, cost),
        keep=np.flatnonzero(stay).tolist(),
        start=np.flatnonzero(start).tolist(),
        prefer=prefer,
    )
    if expected is None:
        with pytest.raises(NeedError):
            method.protect(table, need)
        return
    protection = method.protect(table, need)
    assert [step.cell for step in protection.steps if step.reason is not Reason.POINT] == expected


@settings(deadline=None, max_examples=20)
@given(data=st.data(), table=count_tables(max_side=4, dims=2))
def test_manual_marks_stay_and_are_completed(data, table):
    need = data.draw(needs(table))
    by_hand = data.draw(protections(table))
    start = data.draw(st.sampled_from([by_hand, by_hand.withheld, by_hand.withheld.tolist()]))
    try:
        protection = Greedy(start=start, tidy=data.draw(st.booleans())).protect(table, need)
    except NeedError:
        assume(False)
    assert np.all(protection.withheld[by_hand.withheld])
    assert covers(spread(table, protection), table, need)
    first = Protection.withhold(table, need.unsafe | by_hand.withheld)
    sufficient = covers(spread(table, first), table, need) and all(
        spread(table, first).width[need.unsafe] > 1e-6
    )
    assert sufficient == (not any(step.reason not in PUBLISHED_AGAIN for step in protection.steps))


@settings(deadline=None, max_examples=8)
@given(data=st.data(), table=count_tables(max_side=4, hierarchical=True))
def test_tidying_removes_all_redundant_suppressions(data, table):
    need = data.draw(needs(table))
    try:
        plain = Greedy().protect(table, need)
    except NeedError:
        assume(False)
    tidy = Greedy(tidy=True).protect(table, need)
    assert not np.any(tidy.withheld & ~plain.withheld)
    assert covers(spread(table, tidy), table, need)
    for cell in np.flatnonzero(tidy.secondary):
        fewer = tidy.withheld.copy()
        fewer[cell] = False
        bounds = spread(table, Protection.withhold(table, fewer))
        exact = bounds.width[need.unsafe] <= 1e-6
        assert not covers(bounds, table, need) or exact.any(), table.describe(int(cell))


@settings(deadline=None, max_examples=6)
@given(data=st.data(), table=count_tables(max_side=3, hierarchical=True))
def test_every_step_is_described(data, table):
    need = data.draw(needs(table))
    try:
        protection = Greedy(record="full", tidy=True).protect(table, need)
    except NeedError:
        assume(False)
    withheld = set(np.flatnonzero(need.unsafe).tolist())
    for step in protection.steps:
        if step.reason in PUBLISHED_AGAIN:
            withheld.remove(step.cell)
            continue
        row = table.relations[[step.relation]].indices
        assert step.cell in row
        assert need.unsafe[step.protects]
        before = interval(table, withheld, step.protects)
        withheld.add(step.cell)
        after = interval(table, withheld, step.protects)
        assert step.before == pytest.approx(before, abs=1e-6)
        assert step.after == pytest.approx(after, abs=1e-6)
    assert withheld == set(np.flatnonzero(protection.withheld).tolist())


@pytest.mark.parametrize(
    ("record", "limit", "known"),
    [("auto", 16, True), ("auto", 15, False), ("cells", 16, False), ("full", 15, True)],
)
def test_intervals_are_recorded_for_small_tables(record, limit, known, monkeypatch):
    monkeypatch.setattr("hitoku.methods.greedy.greedy.GREEDY", replace(GREEDY, max_recorded=limit))
    table = Table.from_array(FIGURE_2)
    steps = Greedy(record=record).protect(table, Need(unsafe=table.value == 7, width=11)).steps
    steps = [step for step in steps if step.reason is not Reason.POINT]  # for nobody's sake
    assert np.isnan([step.before + step.after for step in steps]).all() == (not known)
    assert np.isfinite([step.before + step.after for step in steps]).all() == known


@given(table=magnitude_tables(max_side=3))
@settings(deadline=None, max_examples=13)
def test_same_input_gives_same_steps(table):
    need = PPercent(10).assess(table)
    try:
        first, second = (Greedy(tidy=True).protect(table, need) for _ in range(2))
    except NeedError:
        assume(False)
    assert repr(first.steps) == repr(second.steps)
    assert first.withheld.tobytes() == second.withheld.tobytes()


def test_margins_stay_published_when_kept():
    table = Table.from_array([[1, 9, 9], [9, 9, 9], [9, 9, 9]], cost=np.where(np.arange(16) % 4 == 3, 0, 5))
    need = Need(unsafe=table.value == 1, width=5)
    cheap_margins = Greedy(cost="own").protect(table, need)
    assert np.any(cheap_margins.withheld & ~table.inner)
    protection = Greedy(cost="own", keep="margins").protect(table, need)
    assert not np.any(protection.withheld & ~table.inner)
    assert covers(spread(table, protection), table, need)


def test_fixed_cells_stay_published():
    table = Table.from_array(FIGURE_2, fixed=np.isin(np.arange(16), [4, 1]))
    need = Need(unsafe=table.value == 7, width=11)
    protection = Greedy().protect(table, need)
    assert not np.any(protection.withheld & table.fixed)
    assert covers(spread(table, protection), table, need)


def test_zeros_are_last_and_only_if_movable():
    # In row 1 a zero is cheaper than the 8, yet the 8 is taken.
    table = Table.from_array([[3, 0, 8], [4, 7, 9], [5, 6, 9]])
    need = Need(unsafe=table.value == 3, upper=2)
    protection = Greedy(keep="margins").protect(table, need)
    assert protection.withheld[2]
    assert not protection.withheld[1]
    # With the 8 fixed, the zero is all there is; it can rise while the 3 falls.
    table = Table.from_array([[3, 0, 8], [4, 7, 9], [5, 6, 9]], fixed=np.arange(16) == 2)
    need = Need(unsafe=table.value == 3, lower=2)
    protection = Greedy(keep="margins").protect(table, need)
    assert protection.withheld[1]
    assert covers(spread(table, protection), table, need)


def test_unsafe_cell_without_levels_is_not_exact():
    table = Table.from_array([[5, 9], [9, 9]])
    protection = Greedy().protect(table, Need(unsafe=table.value == 5))
    assert spread(table, protection).width[0] > 0
    assert protection.secondary.any()


def test_table_without_relations_needs_no_secondary():
    table = Table(value=[3.0, 4.0], relations=np.zeros((0, 2)))
    protection = Greedy(record="full", tidy=True).protect(table, Need(unsafe=[True, False], upper=2))
    assert protection.withheld.tolist() == [True, False]


def test_safe_table_has_no_suppressions():
    table = Table.from_array(FIGURE_2)
    protection = Greedy(tidy=True).protect(table, Need(unsafe=np.zeros(16, dtype=bool)))
    assert not protection.withheld.any()


SECRET = 7919


@pytest.mark.parametrize(
    ("method", "table", "need", "error", "words"),
    [
        pytest.param(
            Greedy(),
            Table.from_array([[SECRET, 5], [9, 9]], fixed=np.arange(9) == 0),
            {"upper": 1},
            NeedError,
            "may not be withheld.*row=1, column=1",
            id="unsafe but fixed",
        ),
        pytest.param(
            Greedy(keep=np.arange(9) == 0),
            Table.from_array([[SECRET, 5], [9, 9]]),
            {"upper": 1},
            NeedError,
            "may not be withheld.*row=1, column=1",
            id="unsafe but kept",
        ),
        pytest.param(
            Greedy(start=np.arange(9) == 8, keep="margins"),
            Table.from_array([[SECRET, 5], [9, 9]]),
            {"upper": 1},
            ProtectionError,
            "by hand must stay published.*row=Total, column=Total",
            id="withheld by hand but kept",
        ),
        pytest.param(
            Greedy(keep="margins"),
            Table.from_array([[SECRET, 0], [0, 0]]),
            {"lower": 1},
            NeedError,
            "cannot reach its protection.*row=1, column=1.*margins",
            id="nothing to withhold it with",
        ),
        pytest.param(
            Greedy(),
            Table.from_array([[SECRET, 5], [9, 9]], upper=SECRET + 50),
            {"upper": 51},
            NeedError,
            "bounds that an outsider knows.*row=1, column=1.*levels",
            id="asks for more than bounds allow",
        ),
        pytest.param(
            Greedy(keep="margins"),
            Table.from_array([[SECRET, 5], [9, 9]]),
            {"upper": 6},
            NeedError,
            "cannot reach its protection.*row=1, column=1",
            id="too wide for what is there",
        ),
        pytest.param(
            Greedy(cost="frequency"),
            Table.from_array([[SECRET + 0.0, 5], [9, 9]]),
            {"upper": 1},
            ParameterError,
            "frequency",
            id="cost that the table lacks",
        ),
    ],
)
def test_error_names_the_cell_without_value(method, table, need, error, words):
    unsafe = table.value == table.value[0]
    unsafe[1:] = False
    with pytest.raises(error, match=f"(?s){words}") as caught:
        method.protect(table, Need(unsafe=unsafe, **need))
    assert str(SECRET) not in str(caught.value)


def test_misspelt_keep_is_rejected_at_once():
    with pytest.raises(ParameterError, match="did you mean 'margins'"):
        Greedy(keep="margin")


def test_jointly_impossible_need_names_the_cell():
    # Two cells hold each other in place: x + y and x - y are both published.
    table = Table(value=[3.0, 4.0, 7.0, -1.0], relations=[[1, 1, -1, 0], [1, -1, 0, -1]])
    need = Need(unsafe=[True, False, False, False], width=1)
    assert Greedy().protect(table, need).withheld.sum() > 2
    with pytest.raises(NeedError, match="cannot reach its protection"):
        Greedy(keep=[False, False, True, True]).protect(table, need)


@pytest.mark.parametrize("wrong", [{"prefer": "smalest"}, {"record": "everything"}])
def test_misspelt_option_raises(wrong):
    with pytest.raises(ParameterError):
        Greedy(**wrong)


def test_need_of_another_table_raises():
    with pytest.raises(NeedError, match="need has 3 cells, table has 16"):
        Greedy().protect(Table.from_array(FIGURE_2), Need(unsafe=[True, False, False]))


def test_interruption_is_raised():
    def interrupt(_done, _total):
        raise KeyboardInterrupt

    table = Table.from_array(FIGURE_2)
    with pytest.raises(KeyboardInterrupt):
        Greedy().protect(table, Need(unsafe=table.value == 7, width=11), progress=interrupt)


def test_progress_counts_up_to_all_unsafe_cells():
    table = Table.from_array(FIGURE_2)
    told = []
    need = Need(unsafe=table.value < 12, width=3)
    Greedy().protect(table, need, progress=lambda done, total: told.append((done, total)))
    assert told == [(n, 4) for n in range(1, 5)]


def test_repr_shows_parameters_without_arrays():
    table = Table.from_array(FIGURE_2)
    assert repr(Greedy(keep="margins", tidy=True)) == "Greedy(keep='margins', tidy=True)"
    assert repr(Greedy(cost=table.value, start=table.inner)) == "Greedy(cost=<given>, start=<given>)"
    step = Greedy(record="full").protect(table, Need(unsafe=table.value == 7, width=11)).steps[0]
    assert repr(step) == "Step(cell 4 for cell 0: it is the only withheld cell of a relation)"


def interrupts_after(calls: int):
    """Return a report of progress that is interrupted from outside."""
    told = []

    def progress(*_):
        told.append(1)
        if len(told) > calls:
            raise KeyboardInterrupt

    return progress


def test_interruption_while_tidying_keeps_safe_pattern():
    table = Table.from_array(np.random.default_rng(3).integers(1, 60, (6, 6)))
    need = Need(unsafe=table.inner & (table.value < 12), width=8)
    method = Greedy(tidy=True)
    n_unsafe = int(need.unsafe.sum())
    found = method.protect(table, need, interrupts_after(n_unsafe + 2))
    assert covers(Interval().bounds(Release.of(table, found)), table, need)
    assert method.protect(table, need).withheld.sum() <= found.withheld.sum()


def test_early_interruption_reports_that_nothing_is_kept():
    table = Table.from_array(np.random.default_rng(3).integers(1, 60, (6, 6)))
    need = Need(unsafe=table.inner & (table.value < 12), width=8)
    with pytest.raises(KeyboardInterrupt, match="greedy had not protected every cell yet"):
        Greedy().protect(table, need, interrupts_after(0))
