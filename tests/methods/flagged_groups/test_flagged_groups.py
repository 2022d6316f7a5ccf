"""Flagged groups: small tables are listed, large ones walked through again."""

from __future__ import annotations

import copy
import json
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.blocks.fibres import too_narrow, witnessed_fibres
from tests.oracles import blocks as oracle

from hitoku.attacks.matching import Matching
from hitoku.errors import NeedError, ParameterError, ScopeError
from hitoku.evidence import verify, verify_blocks, verify_witnesses
from hitoku.methods.blocks import Blocks, Terms, expectation
from hitoku.methods.flagged_groups import FlaggedGroups, closure, flag_groups, groups_of
from hitoku.methods.flagged_groups.flags import PARTS
from hitoku.methods.tuning import FLAGGED_GROUPS
from hitoku.model import Need, Release, Table
from hitoku.pipeline import protect_table
from hitoku.rules import MinFrequency, PPercent, assess

RULES = [MinFrequency(5)]
# Totals of which all tables are listed: threshold, width, zeros unsafe, cells per group, closure.
EXAMPLES = {
    "long": ([[4, 0, 2, 1], [0, 6, 4, 6]], 3, 2, False, 3, 1),
    "tall": ([[3, 0], [6, 1], [2, 4], [5, 2]], 3, 2, False, 3, 1),
    "pairs": ([[5, 3, 7], [0, 6, 2]], 4, 3, False, 2, 1),
    "two more per line": ([[7, 0], [2, 6], [5, 4]], 3, 2, False, 2, 2),
    "unsafe zeros": ([[3, 3, 1, 6], [4, 0, 6, 0]], 2, 3, True, 2, 1),
}


@pytest.fixture(scope="module", params=EXAMPLES)
def listed(request):
    values, threshold, width, zeros, size, count = EXAMPLES[request.param]
    return witnessed_fibres(np.array(values), threshold, width, zeros=zeros, size=size, count=count)


def test_attacker_knowing_the_method_keeps_the_width(listed):
    terms, groups, _ = listed
    cells, narrow = too_narrow(terms, groups)
    assert cells > 40
    assert len(groups) > 1
    assert narrow == 0


def test_rejection_follows_from_release_and_flags(listed):
    _, _, verdicts = listed
    assert all(len(each) == 1 for each in verdicts.values())
    assert set().union(*verdicts.values()) == {"refused", "published"}


def test_publishing_without_witnesses_would_leak():
    # Negative control: groups and further cells, and no walk.
    narrow = 0
    for values, threshold, width, zeros, size, count in EXAMPLES.values():
        example = np.array(values)
        terms = Terms.below(example.shape, threshold, width, zeros=zeros)
        plan = expectation(example.sum(axis=1), example.sum(axis=0), None)
        found = defaultdict(list)
        for cells in oracle.tables(example.sum(axis=1).tolist(), example.sum(axis=0).tolist()):
            table = np.array(cells)
            marked = flag_groups(groups_of(plan, size), terms.unsafe(table))
            hidden = closure(marked, plan, width, count) if marked.any() else marked
            found[np.where(hidden, -1, table).tobytes()].append(table)
        narrow += too_narrow(terms, [np.array(group) for group in found.values()])[1]
    assert narrow > 0


@pytest.mark.parametrize("name", ["long", "tall"])
def test_matching_finds_no_interval_below_the_need(name):
    values, threshold, width, _, size, count = EXAMPLES[name]
    example, rules, judged_tables = np.array(values), [MinFrequency(threshold)], 0
    method = FlaggedGroups(rules=rules, width=width, group=size, closure=count)
    for cells in list(oracle.tables(example.sum(axis=1).tolist(), example.sum(axis=0).tolist()))[::9]:
        table = Table.from_array(np.array(cells))
        need = assess(table, rules, width=width, groups=False)
        try:
            release = Release.of(table, method.protect(table, need))
        except NeedError:
            continue
        matched = Matching(method=method, rules=rules, width=width).run(release)
        assert matched.complete
        assert np.all(matched.bounds.width[need.unsafe] >= width)
        judged_tables += bool(need.unsafe.any())
        if judged_tables == 2:
            return
    assert judged_tables > 0


def drawn(side, seed):
    rng = np.random.default_rng(seed)
    return Table.from_array(np.abs(np.rint(rng.normal(15, 10, (side, side)))).astype(np.int64))


def test_method_publishes_same_release_for_every_step():
    table = drawn(12, 1)
    method = FlaggedGroups(rules=RULES, width=9)
    protection = method.protect(table, assess(table, RULES, width=9, groups=False))
    shown, value, seen = Release.of(table, protection).published, table.value.copy(), [table.value]
    for cells, changes in protection.known_method["steps"]:
        value = value.copy()
        value[cells] += changes
        seen.append(value)
    for one in seen[1::9]:
        other = Table.from_array(one.reshape(table.shape)[:-1, :-1].astype(int))
        again = method.protect(other, assess(other, RULES, width=9, groups=False))
        np.testing.assert_array_equal(Release.of(other, again).published, shown)
    unsafe = assess(table, RULES, width=9, groups=False).unsafe
    assert unsafe.sum() > 10
    assert np.all(np.ptp(seen, axis=0)[unsafe] >= 9)


def test_groups_suppress_fewer_cells_than_blocks():
    for seed in range(3):
        table = drawn(30, seed)
        need = assess(table, RULES, width=9, groups=False)
        rectangles, groups = (
            int(method(rules=RULES, width=9).protect(table, need).withheld.sum())
            for method in (Blocks, FlaggedGroups)
        )
        assert groups < 0.75 * rectangles


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6), size=st.integers(2, 4), count=st.integers(1, 3))
def test_verifier_reproduces_the_method_pattern(seed, size, count):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 10, 2))
    expected = rng.integers(0, 40, shape) * PARTS
    unsafe = rng.random(shape) < rng.choice([0.02, 0.2])
    marked = flag_groups(groups_of(expected, size), unsafe)
    flags = verify_witnesses.Flags(
        expected.tolist(), size, {(int(i), int(j)) for i, j in np.argwhere(unsafe)}
    )
    assert flags.marked == {(int(i), int(j)) for i, j in np.argwhere(marked)}
    if unsafe.any():
        mine = closure(marked, expected, 3, count)
        lines = verify_witnesses.ClosedLines(
            flags.marked, expected.tolist(), FLAGGED_GROUPS.ample_share * 3 * PARTS, count
        )
        assert lines.closed() == {(int(i), int(j)) for i, j in np.argwhere(mine)}


@pytest.fixture(scope="module")
def certificate():
    outcome = protect_table(drawn(10, 4), RULES, method=FlaggedGroups(), width=9)
    return dict(outcome.audit.certificate.content)


def judged(tmp_path, content):
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps({**content, "sha256": verify.fingerprint(content)}))
    return verify.verify(path)


def test_certificate_carries_the_claim_and_its_tables(tmp_path, certificate):
    verdict = judged(tmp_path, certificate)
    assert verdict.ok
    assert "a width of 9" in verdict.reason
    assert "the same flags" in verdict.reason


def without_one(steps):
    # The last step that matters is gone: some cell is not wide.
    del steps[1:]


def not_adding_up(steps):
    steps[1][1][0] += 1


def elsewhere(steps):
    steps[1][0][0] = 10


def far_away(steps):
    steps[1][1][:] = [100 * change for change in steps[1][1]]


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (without_one, "narrow"),
        (not_adding_up, "add up"),
        (elsewhere, "published"),
        (far_away, "negative|flags"),
    ],
)
def test_forged_claim_tables_are_refuted(tmp_path, certificate, forge, reason):
    content = copy.deepcopy(certificate)
    forge(content["known_method"]["steps"])
    verdict = judged(tmp_path, content)
    assert not verdict.ok
    assert any(word in verdict.reason for word in reason.split("|"))


def swapped(n, *, width=3, columns=((0, 1, 3, 4), (1, -1, -1, 1))):
    """Show a table by hand, [[1, 20], [60, 60]]: the first row is a group, n goes around its four cells."""
    cells, signs = columns
    claim = {"group": 2, "closure": 1, "steps": [[list(cells), [n * sign for sign in signs]]]}
    values = [[1, 20], [60, 60]]
    expected = expectation(np.array([21, 120]), np.array([61, 80]), None).tolist()

    def demand(holds, reason, *_):
        if not holds:
            raise verify.Refuted(reason)

    rule = verify_blocks.SmallCounts(1, 2, width)
    return verify_witnesses.shown_by(claim, values, rule, expected, demand)


def test_group_with_movable_small_count_is_wide():
    hidden, told = swapped(19)
    assert hidden == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert "a width of 3" in told


@pytest.mark.parametrize(
    ("n", "columns", "reason"),
    [
        pytest.param(1, ((0, 1, 3, 4), (1, -1, -1, 1)), "narrow", id="seen at 1 and 2, asked for 3"),
        pytest.param(1, ((0, 3), (1, -1)), "add up", id="rows do not add up"),
        pytest.param(1, ((0, 1), (1, -1)), "add up", id="columns do not add up"),
        pytest.param(2, ((0, 1, 3, 4), (1, -1, -1, 1)), "other flags", id="nobody of the group is small"),
        pytest.param(2, ((0, 1, 3, 4), (-1, 1, 1, -1)), "negative", id="below zero"),
    ],
)
def test_invalid_step_is_refuted_with_reason(n, columns, reason):
    with pytest.raises(verify.Refuted, match=reason):
        swapped(n, columns=columns)


def test_unsupported_parameters_raise(tmp_path, certificate):
    content = copy.deepcopy(certificate)
    content["known_method"]["closure"] = 4
    assert not judged(tmp_path, content).ok
    for wrong, word in ({"group": 1}, "group"), ({"closure": 0}, "closure"):
        with pytest.raises(ParameterError, match=word):
            FlaggedGroups(**wrong)


def test_error_states_that_it_depends_on_cells():
    table = Table.from_array([[1, 9, 30], [9, 9, 9], [9, 9, 9]])
    with pytest.raises(NeedError, match="publish nothing of this table"):
        FlaggedGroups(rules=RULES, width=9, closure=1).protect(
            table, assess(table, RULES, width=9, groups=False)
        )


def test_tables_other_than_flat_counts_raise():
    table = replace(Table.from_array([[10.5, 20.0], [30.0, 40.0]]), integer=False)
    need = Need(unsafe=table.value == 20, width=9.0)
    with pytest.raises(ScopeError, match="flat tables of counts"):
        FlaggedGroups(rules=[PPercent(10)]).protect(table, need)
