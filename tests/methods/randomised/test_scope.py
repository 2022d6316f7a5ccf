"""What the randomised method refuses, what it says about seeds, and how it gets along with the rest."""

from __future__ import annotations

import random

import numpy as np
import pytest

from hitoku.attacks.matching import Likelihood, Matching
from hitoku.errors import NeedError, ParameterError, ScopeError, SolverError
from hitoku.io.release import write_release
from hitoku.methods.randomised import PublicKnowledge, Randomised, distribution, randomised
from hitoku.methods.randomised.distribution import PatternDistribution
from hitoku.model import Need, Release, Table
from hitoku.pipeline import protect_table
from hitoku.rules import GroupDisclosure, MinFrequency, assess

COUNTS = np.array([[15, 15, 12, 10], [19, 14, 13, 9], [8, 8, 11, 14], [9, 9, 26, 3]])
RULES = [MinFrequency(5)]
# The same totals, other cells.
MOVED = COUNTS + np.array([[5, -5, 0, 0], [-5, 5, 0, 0], [0, 0, 2, -2], [0, 0, -2, 2]])


class NextToSmall:
    """Flags small cells and their neighbours to the right: not cell by cell."""

    def assess(self, table):
        small = (table.value > 0) & (table.value < 5)
        return Need(unsafe=(small | np.roll(small, 1)) & table.inner)


def make(counts=COUNTS, **parts):
    return Table.from_array(counts, **parts)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        pytest.param(make(np.ones((3, 3, 3), dtype=int) * 9), "two-way", id="three dimensions"),
        pytest.param(make(np.ones((9, 8), dtype=int) * 9), "64", id="too many cells"),
        pytest.param(make(COUNTS + 0.5), "counts", id="no whole numbers"),
        pytest.param(make(frequency=COUNTS // 2), "plain counts", id="magnitudes"),
        pytest.param(make(upper=1000.0), "bounds", id="bounds known"),
        pytest.param(make([[2, 1], [30, 40]]), "totals alone|total", id="a row of three"),
        pytest.param(make([[6, 2], [30, 40]]), "totals alone", id="a row of eight"),
        pytest.param(make(COUNTS * 400), "larger than", id="thousands"),
    ],
)
def test_unsupported_tables_raise(table, words):
    method = Randomised(rules=RULES, width=9)
    with pytest.raises(ScopeError, match=words):
        method.protect(table, Need(unsafe=np.zeros(table.n_cells, dtype=bool)))


def test_stage_depends_on_totals_only():
    one, other = (
        PublicKnowledge.of(make(counts), [MinFrequency(5), GroupDisclosure(share=0.4)], 9)
        for counts in (COUNTS, MOVED)
    )
    assert np.array_equal(one.width, other.width)
    assert np.array_equal(one.verdict, other.verdict)
    assert one.verdict.any()


@pytest.mark.parametrize(
    "rules",
    [
        [MinFrequency(5)],
        [MinFrequency(4, zeros=True)],
        [MinFrequency(3), MinFrequency(2, zeros=True)],
        [MinFrequency(5), GroupDisclosure(share=0.4, inner=True)],
    ],
    ids=repr,
)
def test_cell_verdicts_match_rules_on_tables(rules):
    public = PublicKnowledge.of(make(), rules, 9)
    for counts in (COUNTS, MOVED):
        need = assess(make(counts), rules, width=9)
        assert np.array_equal(public.unsafe(counts.reshape(1, -1))[0], need.unsafe[public.inner])


@pytest.mark.parametrize(
    ("method", "need"),
    [
        pytest.param(
            Randomised(rules=RULES, width=9), assess(make(), [MinFrequency(9)], width=9), id="other rules"
        ),
        pytest.param(Randomised(rules=RULES, width=7), assess(make(), RULES, width=9), id="other width"),
        pytest.param(Randomised(rules=RULES, width=9), assess(make(), RULES), id="levels around the value"),
        pytest.param(
            Randomised(rules=[NextToSmall()], width=9),
            assess(make(), [NextToSmall()], width=9),
            id="a rule that looks at neighbours",
        ),
    ],
)
def test_need_of_another_origin_raises(method, need):
    with pytest.raises(ScopeError):
        method.protect(make(), need)


def test_need_of_another_size_raises():
    with pytest.raises(NeedError):
        Randomised(rules=RULES, width=9).protect(make(), Need(unsafe=[True]))


@pytest.mark.parametrize(
    "given",
    [
        {"strength": -1},
        {"ratio": 3, "draws": 3},
        {"draws": 0},
        {"levels": -1},
        {"total": 0},
        {"limit": 0},
    ],
    ids=repr,
)
def test_parameters_out_of_range_raise(given):
    with pytest.raises(ParameterError):
        Randomised(**given)


@pytest.mark.parametrize("width", [0, np.nan, [9, 9]], ids=["zero", "not a number", "two of them"])
def test_invalid_width_raises(width):
    with pytest.raises(ParameterError):
        Randomised(rules=RULES, width=width).protect(make(), assess(make(), RULES, width=9))


def test_missing_rules_raise():
    with pytest.raises(ParameterError, match="how unsafe cells are found"):
        Randomised().protect(make(), assess(make(), RULES, width=9))


def test_seeded_run_repeats_and_is_marked():
    need = assess(make(), RULES, width=9)
    method = Randomised(rules=RULES, width=9, seed=5)
    one, other = method.protect(make(), need), method.protect(make(), need)
    assert np.array_equal(one.withheld, other.withheld)
    assert "experiments" in one.method
    patterns = {
        Randomised(rules=RULES, width=9, seed=seed).protect(make(), need).withheld.tobytes()
        for seed in range(8)
    }
    assert len(patterns) > 4


@pytest.mark.parametrize("seed", [None, 4])
def test_seeded_release_is_marked_in_its_folder(seed, tmp_path):
    outcome = protect_table(make(), RULES, method=Randomised(seed=seed), width=9)
    folder = write_release(tmp_path / "release", outcome)
    marked = seed is not None
    assert (folder / "NOT_FOR_PUBLICATION.txt").exists() == marked
    assert ("NOT FOR PUBLICATION" in (folder / "public" / "table.html").read_text("utf-8")) == marked
    assert ("seed" in (folder / "checker" / "summary.json").read_text("utf-8")) == marked


def test_unseeded_run_uses_system_randomness(monkeypatch):
    thrown = []

    class Dice(random.Random):
        def random(self):
            thrown.append(1)
            return super().random()

    monkeypatch.setattr(randomised.random, "SystemRandom", lambda: Dice(3))
    protection = Randomised(rules=RULES, width=9).protect(make(), assess(make(), RULES, width=9))
    assert thrown
    assert protection.method == "randomised"


def test_failed_audit_or_draw_suppresses_everything():
    need = assess(make(), RULES, width=9)
    for given in ({"limit": 1}, {"total": 1.0}):
        done = []
        protection = Randomised(rules=RULES, width=9, seed=1, **given).protect(
            make(), need, lambda now, whole, done=done: done.append((now, whole))
        )
        assert np.array_equal(protection.withheld, make().inner)
        assert done == ([] if "total" in given else [(0, 3), (1, 3), (2, 3)])


def test_release_with_limited_audit_does_not_pass(monkeypatch):
    table, drawn = make(), Randomised(rules=RULES, width=9, seed=1)
    need = assess(table, RULES, width=9)
    protection = drawn.protect(table, need)
    assert not protection.withheld[table.inner].all()
    monkeypatch.setattr(distribution, "MAX_PATTERNS", 1000)
    public = PublicKnowledge.of(table, RULES, 9)
    patterns = PatternDistribution(public, 1.0, 3)
    pattern, values = protection.withheld[public.inner], table.value[public.inner].astype(np.int64)
    assert not patterns.passes(pattern, values, 20 / 3, 50_000)
    monkeypatch.setattr(distribution, "MAX_PATTERNS", 10)
    with pytest.raises(SolverError, match="not decided: more than 10 patterns"):
        patterns.sizes(values)


def test_pipeline_passes_rules_and_proves_the_release():
    outcome = protect_table(make(), RULES, method=Randomised(seed=2), width=9)
    assert outcome.audit.safe
    assert outcome.audit.certificate is not None


@pytest.mark.parametrize("seed", range(3))
def test_matching_attack_stays_within_the_guarantee(seed):
    method = Randomised(rules=RULES, width=9, seed=seed)
    table, need = make(), assess(make(), RULES, width=9)
    release = Release.of(table, method.protect(table, need))
    attack = Matching(method=method, rules=RULES, width=9, attacker=Likelihood(20.0))
    bounds = attack.bounds(release)
    assert not bounds.unknown.any()
    assert np.all(bounds.width[need.unsafe] >= 9)


def test_impossible_pattern_has_no_likelihood():
    method = Randomised(rules=RULES, width=9)
    table = make()
    alone = table.value == 3
    hidden_total = table.value == COUNTS.sum()
    for withheld in (alone, hidden_total | alone, table.value == 26):
        published = np.where(withheld, np.nan, table.value)
        release = Release(
            published=published, relations=table.relations, labels=table.labels,
            dimensions=table.dimensions, integer=True,
        )  # fmt: skip
        assert method.likelihoods(release, table.value[None].astype(int)).tolist() == [0.0]
    assert method.likelihoods(release, np.zeros((0, table.n_cells))).tolist() == []
