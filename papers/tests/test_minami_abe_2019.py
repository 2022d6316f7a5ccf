"""Minami and Abe (2019) computed again: the published numbers, the draws, the readings, a run."""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from hitoku.attacks.matching import Matching
from hitoku.errors import ParameterError
from hitoku.model import Release, Table
from hitoku_papers.minami_abe_2019 import report
from hitoku_papers.minami_abe_2019.figures import by_method, figure_6, figure_7, figure_8, share
from hitoku_papers.minami_abe_2019.price import price
from hitoku_papers.minami_abe_2019.published import BY_DIMENSION, SIDES, UNSAFE, WIDTHS
from hitoku_papers.minami_abe_2019.reading import TIES, Reading, drawn
from hitoku_papers.minami_abe_2019.report import page
from hitoku_papers.minami_abe_2019.study import (
    PAPER,
    Attacked,
    Case,
    StudyPlan,
    attacked,
    methods,
    run,
    variants,
)
from hitoku_papers.minami_abe_2019.ties import method_of
from hitoku_papers.page import PageTable, markdown

SMALL = StudyPlan(sides=(3, 4), tables=2, limit=200, variants=4)


@pytest.mark.parametrize("side", SIDES)
def test_published_tables_agree_with_each_other(side):
    assert sum(WIDTHS[side]) == UNSAFE[side][0]


def test_published_shares_lie_between_dimensions():
    for side in SIDES:
        unsafe, primary = UNSAFE[side]
        shares = BY_DIMENSION[side].values()
        assert min(shares) - 0.005 <= unsafe / primary <= max(shares) + 0.005


@pytest.mark.parametrize(
    ("reading", "least", "empty_is_unsafe"),
    [
        pytest.param(Reading(), 0, True, id="as it stands"),
        pytest.param(Reading(negatives="zero"), 0, True, id="clamped"),
        pytest.param(Reading(negatives="redraw"), 0, True, id="drawn again"),
        pytest.param(Reading(zeros=False), 0, False, id="zeros are safe"),
    ],
)
def test_tables_are_drawn_as_read(reading, least, empty_is_unsafe):
    cells = [drawn(reading, 6, number, seed=3) for number in range(40)]
    inner = np.concatenate([table.value[table.inner] for table in cells])
    unsafe = np.concatenate([reading.need(table).unsafe[table.inner] for table in cells])
    assert inner.min() == least
    assert np.array_equal(unsafe, (inner < 5) & (empty_is_unsafe | (inner > 0)))
    below = NormalDist(15, 10).cdf
    expected = {
        "abs": below(4.5) - below(-4.5),
        "zero": below(4.5),
        "redraw": (below(4.5) - below(-0.5)) / (1 - below(-0.5)),
    }[reading.negatives]
    assert np.mean(inner < 5) == pytest.approx(expected, abs=4 * np.sqrt(0.13 * 0.87 / len(inner)))


def test_table_is_independent_of_sample_size():
    first = drawn(Reading(), 4, 7, seed=1)
    assert np.array_equal(first.value, drawn(Reading(), 4, 7, seed=1).value)
    assert not np.array_equal(first.value, drawn(Reading(), 4, 7, seed=2).value)


@pytest.mark.parametrize("ties", TIES)
def test_every_way_to_break_ties_withholds_equally_few(ties):
    for number in range(5):
        reading = Reading(ties=ties)
        table = drawn(reading, 4, number, seed=1)
        plain = drawn(Reading(), 4, number, seed=1)
        n = method_of(reading).protect(table, reading.need(table)).withheld.sum()
        assert n == method_of(Reading()).protect(plain, Reading().need(plain)).withheld.sum()


@pytest.mark.parametrize("ties", TIES)
def test_true_table_survives_the_attack(ties):
    reading = Reading(ties=ties)
    for number in range(4):
        table = drawn(reading, 3, number, seed=2)
        method = method_of(reading)
        release = Release.of(table, method.protect(table, reading.need(table)))
        attack = Matching(method=method, rules=reading.rules, width=reading.width)
        bounds = attack.bounds(release)
        assert np.all(bounds.lower <= table.value)
        assert np.all(table.value <= bounds.upper)


def test_less_knowledge_excludes_fewer_tables():
    told, untold = Reading(), Reading(ties="any")
    for number in range(6):
        table = drawn(told, 3, number, seed=5)
        release = Release.of(table, method_of(told).protect(table, told.need(table)))
        narrow, wide = (
            Matching(method=method_of(r), rules=r.rules, width=r.width).bounds(release)
            for r in (told, untold)
        )
        assert np.all(wide.lower <= narrow.lower)
        assert np.all(narrow.upper <= wide.upper)


def test_share_counts_cells_and_error_counts_tables():
    safe = Attacked(4, 1, (9.0, 9.0), (9.0, 9.0), 4, 10, 0.0, finished=True)
    unsafe = replace(safe, widths=(0.0, 7.0))
    unfinished = replace(safe, widths=(), finished=False)
    ratio, error = share([safe, unsafe, unfinished])
    # Two clusters of two cells, shares 0 and 1: the standard error of their mean is 1/2.
    assert (ratio, error) == (0.5, 0.5)
    assert np.isnan(share([unfinished])[0])


def test_only_one_choice_is_changed_at_a_time():
    plan = StudyPlan()
    for case in variants(plan).values():
        changed = [
            name
            for name in ("negatives", "zeros", "wider", "ties")
            if getattr(case.reading, name) != getattr(plan.reading, name)
        ]
        assert len(changed) == 1
    assert len(variants(plan)) == 2 + 1 + 1 + 3


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return run(SMALL, tmp_path_factory.mktemp("answers"))


def test_run_attacks_every_case_on_every_table(found):
    assert set(found) == {Case(PAPER, SMALL.reading), *variants(SMALL).values(), *methods(SMALL).values()}
    assert all(len(rows) == 4 for rows in found.values())


def test_attack_never_widens_an_interval(found):
    for rows in found.values():
        for row in rows:
            assert all(after <= before for after, before in zip(row.widths, row.before, strict=False))


def test_randomised_withstands_both_attackers(found):
    for case in methods(SMALL).values():
        if case.method == "randomised":
            assert sum(row.unsafe for row in found[case]) == 0


@pytest.mark.long
def test_results_do_not_depend_on_process_count(found, tmp_path):
    again = run(SMALL, tmp_path, jobs=2)

    def without_time(rows):
        return [replace(row, seconds=0.0) for row in rows]

    assert {case: without_time(rows) for case, rows in again.items()} == {
        case: without_time(rows) for case, rows in found.items()
    }


def test_page_has_every_table_and_figure(found, monkeypatch):
    monkeypatch.setattr(report, "price", lambda seed: price(seed, sides=(8,)))  # up to 100 takes long
    written = page(SMALL, found)
    titles = " ".join(block.title for block in written.blocks if isinstance(block, PageTable))
    assert all(f"Table {number}" in titles for number in (2, 3, 4, 5))
    assert "0.46" in markdown(written)


def test_last_table_has_verified_block_claims():
    last = price(3, sides=(8, 20))
    assert [row[1] for row in last.rows] == [
        "8 \N{MULTIPLICATION SIGN} 8",
        "20 \N{MULTIPLICATION SIGN} 20",
    ] * 2
    assert {row[-1] for row in last.rows} == {"proved"}
    for _, _, unsafe, greedy, _, blocks, ratio, _ in last.rows:
        assert unsafe <= greedy <= blocks
        assert ratio == blocks / greedy


def test_figures_show_the_tabulated_counts(found):
    paper = found[Case(PAPER, SMALL.reading)]
    groups, bars = figure_6(SMALL, found)
    assert groups == ["9 cells", "16 cells"]
    assert sum(bars["compromised"]) == sum(row.unsafe for row in paper)
    counted = [n for boxes in figure_7(SMALL, found).values() for some in boxes.values() for n in some]
    assert sorted(counted) == sorted(row.candidates for row in paper)
    panels = figure_8(SMALL, found)
    assert sum(panels["tables of 16 cells"]["published"]) == 48
    assert sum(sum(panel["ours"]) for panel in panels.values()) == sum(bars["compromised"])
    assert list(by_method(SMALL, found)[1]) == list(methods(SMALL))


def test_table_can_be_attacked_by_hand():
    facts = attacked(PAPER, "support", {}, 4, 0, 1, 300)
    reading = Reading()
    table = drawn(reading, 4, 0, 1)
    need = reading.need(table)
    method = method_of(reading)
    release = Release.of(table, method.protect(table, need))
    literal = Matching(method=method, rules=reading.rules, width=reading.width, strategy="enumerate").run(
        release
    )
    assert list(facts["widths"]) == literal.bounds.width[need.unsafe].tolist()
    assert facts["candidates"] == literal.n_candidates
    assert facts["dimension"] == literal.null_dimension


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"sides": (2,)}, id="a side too small"),
        pytest.param({"sides": ()}, id="no side"),
        pytest.param({"tables": 0}, id="no table"),
        pytest.param({"limit": 0}, id="no candidate"),
    ],
)
def test_invalid_plan_raises(wrong):
    with pytest.raises(ParameterError):
        StudyPlan(**wrong)


@pytest.mark.parametrize("wrong", [{"negatives": "drop"}, {"ties": "lots"}])
def test_unknown_argument_raises(wrong):
    with pytest.raises(ParameterError, match="unknown word"):
        Reading(**wrong)


def test_width_of_nine_exceeds_eight():
    table = Table.from_array([[3, 20], [20, 20]])
    for wider, width in ((True, 9), (False, 8)):
        need = Reading(wider=wider).need(table)
        assert need.width[need.unsafe].tolist() == [width]
