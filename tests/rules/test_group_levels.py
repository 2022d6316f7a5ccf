"""Levels of sets of records, against an enumeration of all derivable groups of random publications."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.oracles.derivable_groups import derivable, violates

from hitoku.rules import Dominance, FewContributors, PPercent, PriorPosterior, weighted_largest

RULES = (
    PPercent(10),
    PPercent(20),
    PriorPosterior(10, 50),
    PPercent(10, n=2),
    Dominance(1, 75),
    Dominance(2, 85),
    Dominance(3, 90),
)


def publication(rng) -> tuple[np.ndarray, list[list[float]]]:
    """Draw contributions to some atoms, and which atoms the published numbers add up."""
    n = int(rng.integers(3, 8))
    atoms = [
        sorted((float(v) for v in np.ceil(rng.pareto(1.0, rng.integers(1, 6)) * 10 + 1)), reverse=True)
        for _ in range(n)
    ]
    rows = np.unique((rng.random((int(rng.integers(2, 6)), n)) < 0.5).astype(np.int64), axis=0)
    return rows[rows.sum(axis=1) > 0], atoms


def most(rows: np.ndarray, total: np.ndarray, cells: Sequence[int], low: dict[int, float]) -> float:
    """Return the largest sum of some atoms over all x >= 0 (or ``low``) with the published sums."""
    cost = np.zeros(len(total))
    cost[list(cells)] = -1.0
    bounds = [(low.get(atom, 0.0), None) for atom in range(len(total))]
    solved = linprog(cost, A_eq=rows, b_eq=rows @ total, bounds=bounds)
    return np.inf if solved.status == 3 else -solved.fun if solved.status == 0 else -np.inf


def holds_in_sets(rule, rows: np.ndarray, atoms: list[list[float]]) -> bool:
    """Test the levels of sets."""
    form = weighted_largest(rule)
    total = np.array([sum(own) for own in atoms])
    largest = np.array([(own + [0.0] * 4)[:4] for own in atoms])
    return all(
        most(rows, total, cells, {}) >= form.least_total([atoms[c] for c in cells]) - 1e-6
        for cells in form.sets(largest, total)
    )


def holds_with_insiders(rule, rows: np.ndarray, atoms: list[list[float]]) -> bool:
    """Test the stronger levels of rules on one intruder."""
    form = weighted_largest(rule)
    total = np.array([sum(own) for own in atoms])
    for cell, own in enumerate(atoms):
        if most(rows, total, [cell], {}) < form.least_total([own]) - 1e-6:
            return False
        for other, theirs in enumerate(atoms):
            if other != cell:
                level, floor = form.with_insider(own, theirs[0])
                if most(rows, total, [cell], {other: floor}) < level - 1e-6:
                    return False
    return True


def examined(rule, seeds) -> Iterator[tuple[bool, np.ndarray, list[list[float]]]]:
    """Yield publications, and whether a derivable group violates the rule."""
    for seed in seeds:
        rows, atoms = publication(np.random.default_rng(seed))
        # Published numbers that violate the rule by themselves are withheld.
        kept = [not violates(rule, [v for a in np.flatnonzero(row) for v in atoms[a]]) for row in rows]
        rows = rows[np.array(kept, dtype=bool)]
        if len(rows):
            groups = derivable(rows)
            found = any(violates(rule, [v for a in np.flatnonzero(g) for v in atoms[a]]) for g in groups)
            yield found, rows, atoms


def missed_and_found(rule, seeds) -> tuple[int, int, int]:
    """Count violating publications that the levels miss, those that they find, and false alarms."""
    missed = found = strict = 0
    for violating, rows, atoms in examined(rule, seeds):
        holds = holds_in_sets(rule, rows, atoms)
        if weighted_largest(rule).insider:
            # What holds with insiders holds in sets.
            assert holds or not holds_with_insiders(rule, rows, atoms)
        missed += violating and holds
        found += violating and not holds
        strict += not violating and not holds
    return missed, found, strict


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_no_violating_group_is_missed(rule):
    missed, found, strict = missed_and_found(rule, range(60))
    assert missed == 0
    assert found > 5
    assert strict < 10


@pytest.mark.long
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_no_violating_group_of_many_publications_is_missed(rule):
    missed, found, _ = missed_and_found(rule, range(1_000, 2_500))
    assert missed == 0
    assert found > 100


def test_cell_level_alone_misses_group():
    """100 alone reaches 195 in {a, c}, whose total leaves a remainder of 5 beside 90."""
    rows, atoms = np.array([[1, 1]]), [[100.0], [90.0, 5.0]]
    rule = weighted_largest(PPercent(10))
    total = np.array([100.0, 95.0])
    assert most(rows, total, [0], {}) >= rule.least_total([atoms[0]])
    assert violates(PPercent(10), [100.0, 90.0, 5.0])
    assert not holds_in_sets(PPercent(10), rows, atoms)


def test_safe_atom_may_contain_largest_contribution():
    """{a, c} = 22 with 10 and 9 of it: c = (10, 1, 1, 1) is safe, and a = (9) lacks something."""
    atoms = [[9.0], [10.0, 1.0, 1.0, 1.0]]
    assert not violates(Dominance(2, 85), atoms[1])
    assert not holds_in_sets(Dominance(2, 85), np.array([[1, 1]]), atoms)


def test_insiders_infer_more_than_groups():
    """{b,c,d}, {a,c,d}, {a,b,c} are derivable, none violates; the unit in c proves that a is at most 8."""
    rows, atoms = np.array([[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 1, 0]]), [[8.0], [8.0], [8.0], [1.0]]
    groups = derivable(rows)
    assert not any(violates(PPercent(10), [v for a in np.flatnonzero(g) for v in atoms[a]]) for g in groups)
    assert holds_in_sets(PPercent(10), rows, atoms)
    assert not holds_with_insiders(PPercent(10), rows, atoms)


def test_violating_sets_exclude_true_table():
    """Pruning leaves out no set: compared with all sets of up to r atoms."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        _, atoms = publication(rng)
        # Without ties there is only one choice of the largest.
        atoms = [sorted((v + rng.random() for v in own), reverse=True) for own in atoms]
        form = weighted_largest(RULES[seed % len(RULES)])
        total = np.array([sum(own) for own in atoms])
        largest = np.array([(own + [0.0] * 4)[:4] for own in atoms])
        every = {
            cells
            for size in range(1, len(form.weights) + 1)
            for cells in combinations(range(len(atoms)), size)
            if form.least_total([atoms[c] for c in cells]) > total[list(cells)].sum() * (1 + 1e-9)
            and all(form.floors([atoms[c] for c in cells]))
        }
        assert set(form.sets(largest, total)) == every


def test_lower_bounds_add_up_to_least_total():
    form = weighted_largest(Dominance(2, 80))
    assert form.floors([[8.0], [4.0, 4.0]]) == [10.0, 5.0]
    assert form.least_total([[8.0, 4.0, 4.0]]) == 15.0
    assert float(weighted_largest(PriorPosterior(10, 50)).weights[0]) == 1.2
    assert weighted_largest(FewContributors(3)) is None


def test_exactly_the_limit_may_be_unsafe():
    largest, total = np.array([[100.0, 50.0]]), np.array([160.0])
    assert list(weighted_largest(PPercent(10)).sets(largest, total)) == []
    assert list(weighted_largest(PPercent(10, at_limit="unsafe")).sets(largest, total)) == [(0,)]
