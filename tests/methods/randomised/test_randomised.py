"""The randomised method against its definition, on tables small enough to list everything."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.oracles.randomised import Cells, Pattern, World, left, spread

from hitoku.methods.randomised import Randomised
from hitoku.model import Protection, Release, Table
from hitoku.rules import MinFrequency, assess

FLAT = World(
    rows=2, columns=3, example=(6, 1, 6, 5, 5, 3), threshold=3, need=4, strength=0.7, levels=2, ratio=8.0,
    draws=2, total=0.01,
)  # fmt: skip
LONG = World(
    rows=2, columns=4, example=(3, 1, 2, 4, 2, 3, 3, 1), threshold=2, need=3, strength=0.5, levels=2,
    ratio=8.0, draws=2, total=0.01,
)  # fmt: skip
SQUARE = World(
    rows=3, columns=3, example=(1, 3, 2, 2, 1, 3, 3, 2, 1), threshold=2, need=3, strength=0.5, levels=2,
    ratio=9.0, draws=2, total=0.01,
)  # fmt: skip
WORLDS = {
    "two rows": FLAT,
    "one draw, zeros unsafe": replace(FLAT, draws=1, zeros=True, strength=0.3, levels=3),
    "four columns": LONG,
    "square": SQUARE,
    "square, three draws": replace(SQUARE, threshold=3, need=4, strength=0.3, levels=3, ratio=20.0, draws=3),
}


def method_of(world: World, seed: int | None = None) -> Randomised:
    return Randomised(
        rules=[MinFrequency(world.threshold, zeros=world.zeros)], width=world.need, strength=world.strength,
        levels=world.levels, ratio=world.ratio, draws=world.draws, total=world.total, seed=seed,
    )  # fmt: skip


@cache
def table_of(world: World, cells: Cells) -> Table:
    return Table.from_array(np.array(cells).reshape(world.rows, world.columns))


def release_of(world: World, cells: Cells, pattern: Pattern) -> Release:
    table = table_of(world, cells)
    withheld = np.zeros(table.n_cells, dtype=bool)
    withheld[np.flatnonzero(table.inner)[sorted(pattern)]] = True
    return Release.of(table, Protection.withhold(table, withheld))


def releases(world: World) -> dict[tuple[Pattern, tuple[Cells, ...]], None]:
    """Every release that some table may lead to, with the tables that fit it."""
    return {
        (pattern, world.fitting(table, pattern)): None
        for table in world.tables
        for pattern in [*world.first_draw[table], world.everything]
    }


@pytest.mark.parametrize("name", WORLDS)
def test_probabilities_match_definition(name):
    world = WORLDS[name]
    method = method_of(world)
    mass: Counter[Cells] = Counter()
    # Going through all releases of a square takes minutes; a dozen is enough there.
    every = list(releases(world))
    step = 1 + len(every) // 12 if world.rows == 3 else 1
    for pattern, fitting in every[::step]:
        release = release_of(world, fitting[0], pattern)
        candidates = np.array([table_of(world, x).value for x in fitting], dtype=np.int64)
        exact = method.likelihoods(release, candidates, exact=True)
        expected = [world.law[x].get(pattern, 0.0) for x in fitting]
        np.testing.assert_allclose(exact, expected, rtol=1e-9, atol=1e-15)
        mass.update(dict(zip(fitting, exact.tolist(), strict=True)))
    if step == 1:
        assert set(mass) == set(world.tables)
        np.testing.assert_allclose(list(mass.values()), 1.0, rtol=1e-9)


@pytest.mark.parametrize("name", WORLDS)
def test_likelihoods_without_redraws_match_single_draw(name):
    world = WORLDS[name]
    method = method_of(world)
    for pattern, fitting in list(releases(world))[::5]:
        if pattern != world.everything:
            candidates = np.array([table_of(world, x).value for x in fitting], dtype=np.int64)
            drawn = [world.first_draw[x].get(pattern, 0.0) for x in fitting]
            found = method.likelihoods(release_of(world, fitting[0], pattern), candidates)
            np.testing.assert_allclose(found, drawn, rtol=1e-9)


@pytest.mark.parametrize("name", WORLDS)
def test_likelihood_ratio_attacker_stays_within_bound(name):
    world = WORLDS[name]
    seen = 0
    for pattern, fitting in releases(world):
        law = {x: world.law[x].get(pattern, 0.0) for x in fitting}
        if pattern == world.everything or not max(law.values()):
            continue
        kept = left(law, world.ratio)
        for k in {k for x in fitting for k in world.unsafe(x)}:
            seen += 1
            assert k in pattern
            assert spread(kept, k) >= world.need
    assert seen


@pytest.mark.parametrize("name", WORLDS)
def test_last_resort_exists_for_every_table(name):
    world = WORLDS[name]
    law = {x: world.law[x][world.everything] for x in world.tables}
    assert min(law.values()) >= world.total
    # With a weight of one over the ratio nobody is discarded.
    assert left({x: max(chance, 1 / world.ratio) for x, chance in law.items()}, world.ratio) == world.tables


def test_example_tables_need_audit_and_redraws():
    # Without the audit some release would tell too much, and without redraws some table would be stuck.
    telling = stuck = 0
    for world in WORLDS.values():
        for x, draws in world.first_draw.items():
            passing = math.fsum(chance for p, chance in draws.items() if world.passes(x, p))
            telling += passing < 0.999
            stuck += 0 < passing < 0.999
    assert telling > 20
    assert stuck > 20


def test_drawing_follows_the_probabilities():
    world = SQUARE
    cells = max(world.tables, key=lambda x: len(world.law[x]))
    table = table_of(world, cells)
    inner = np.flatnonzero(table.inner)
    need = assess(table, [MinFrequency(world.threshold)], width=world.need)
    n = 250
    found = Counter(
        frozenset(np.flatnonzero(method_of(world, seed).protect(table, need).withheld[inner]).tolist())
        for seed in range(n)
    )
    law = world.law[cells]
    assert set(found) <= {p for p, chance in law.items() if chance > 0}
    # Pearson's statistic over the patterns expected five times or more, the rest in one class.
    common = {p: chance for p, chance in law.items() if chance * n >= 5}
    rest = 1 - math.fsum(common.values())
    statistic = sum((found[p] - n * chance) ** 2 / (n * chance) for p, chance in common.items())
    others = n - sum(found[p] for p in common)
    statistic += (others - n * rest) ** 2 / (n * max(rest, 1 / n))
    assert len(common) > 5
    # Mean plus five standard deviations; the seeds are fixed, so this cannot change from run to run.
    assert statistic < len(common) + 5 * math.sqrt(2 * len(common))
