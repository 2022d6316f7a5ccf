"""Blocks in tables of magnitudes: every table, and every choice of unsafe cells, that leads to a release."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.blocks.fibres import forest
from tests.oracles import blocks as oracle

from hitoku.errors import HitokuError
from hitoku.evidence import audit, verify_blocks
from hitoku.methods.blocks import Blocks, MagnitudeLevels, expectation, magnitude_pattern, tree
from hitoku.methods.greedy import Greedy
from hitoku.model import Need, Release, Table
from hitoku.rules import Dominance, FewContributors, PPercent, assess
from hitoku.tabulation import tabulate

# What a cell of one contributor needs, in percent of its value.
PERCENT = 20
SOLE = (1, 1, 0)


def level(values):
    return np.maximum(-(-values * PERCENT // 100), 1)


def candidates(example, most):
    """List all tables with some totals, each with up to ``most`` positive cells unsafe."""
    tables, flags = [], []
    cells = list(np.ndindex(example.shape))
    for rows in oracle.tables(example.sum(axis=1).tolist(), example.sum(axis=0).tolist()):
        values = np.array(rows)
        positive = [at for at in cells if values[at] > 0]
        for n in range(most + 1):
            for chosen in combinations(positive, n):
                mask = np.zeros(example.shape, dtype=bool)
                for at in chosen:
                    mask[at] = True
                tables.append(values)
                flags.append(mask)
    return np.array(tables), np.array(flags)


def released(example, tables, flags, split="count", method=magnitude_pattern):
    """Protect all of them; return what is withheld, and which are refused."""
    n, n_rows, n_columns = tables.shape
    levels = tree(expectation(example.sum(axis=1), example.sum(axis=0), None), split)
    values, unsafe = tables.reshape(-1, n_columns), flags.reshape(-1, n_columns)
    asked = np.where(unsafe, level(values), 0)
    hidden, refused = method(
        forest(levels, n, n_rows), values, MagnitudeLevels(unsafe, asked, asked, 0 * asked, SOLE)
    )
    return hidden.reshape(tables.shape), refused


def too_close(tables, flags, hidden, refused):
    """Count unsafe cells, and those to which all that leads to the same release comes too close."""
    tables, flags, hidden = (part[~refused] for part in (tables, flags, hidden))
    shown = np.where(hidden, -1, tables).reshape(len(tables), -1)
    _, group = np.unique(shown, axis=0, return_inverse=True)
    judged = close = 0
    for number in range(group.max() + 1):
        same, unsafe = tables[group == number], flags[group == number]
        need = level(same)
        short = (same - same.min(axis=0) < need) | (same.max(axis=0) - same < need)
        judged += int(unsafe.sum())
        close += int((unsafe & short).sum())
    return judged, close


# The last number: unsafe cells at a time.
EXAMPLES = {
    "one leaf": ([[3, 4], [5, 2]], 4),
    "odd leaf": ([[2, 3, 4], [3, 2, 2]], 2),
    "nine cells": ([[2, 1, 2], [1, 3, 1], [2, 1, 2]], 1),
    "two leaves": ([[4, 2, 3, 1], [2, 3, 1, 4]], 2),
    "tall": ([[3, 2], [1, 4], [2, 3], [3, 1]], 2),
    "four leaves": ([[1, 1, 0, 1], [0, 2, 1, 0], [1, 0, 1, 0], [1, 0, 1, 1]], 1),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_attacker_knowing_the_method_keeps_the_levels(name):
    example, most = np.array(EXAMPLES[name][0]), EXAMPLES[name][1]
    tables, flags = candidates(example, most)
    hidden, refused = released(example, tables, flags)
    judged, close = too_close(tables, flags, hidden, refused)
    assert judged > 30
    assert close == 0
    if name in {"two leaves", "four leaves"}:
        # Not everything is withheld every time.
        assert len({int(one.sum()) for one in hidden[~refused]}) > 2


def leaves_alone(levels, values, asked):
    """Negative control: suppress only leaves with unsafe cells, ignoring their sums."""
    hidden = np.zeros(values.shape, dtype=bool)
    for nodes in levels[-1]:
        place = nodes.rows[:, :, None], nodes.columns[:, None, :]
        hidden[place] = asked.unsafe[place].any(axis=(1, 2), keepdims=True)
    return hidden, np.zeros(len(levels[0][0].number), dtype=bool)


def no_units(levels, values, asked):
    """Do without the second reason, a cell of one unit: then the ends of a class are missing."""
    return magnitude_pattern(levels, np.where(values == 1, 1 + 10**6, values), asked)


@pytest.mark.parametrize("control", [leaves_alone, no_units])
def test_method_omitting_a_step_is_detected(control):
    example, most = np.array(EXAMPLES["two leaves"][0]), 2
    tables, flags = candidates(example, most)
    assert too_close(tables, flags, *released(example, tables, flags, method=control))[1] > 0


def records(side, seed, mean=20):
    rng = np.random.default_rng(seed)
    rate = np.outer(rng.lognormal(0, 0.7, side), rng.lognormal(0, 0.7, side))
    cell = np.repeat(np.arange(side * side), rng.poisson(rate * mean / rate.mean()).ravel())
    value = np.rint(rng.lognormal(5, 1, len(cell))).astype(int) + 1
    return pd.DataFrame(
        {"row": cell // side, "column": cell % side, "value": value, "firm": np.arange(len(cell))}
    )


@pytest.fixture(scope="module")
def firms():
    return records(14, 1)


@pytest.mark.parametrize(
    "rules", [[PPercent(10)], [Dominance(1, 70)], [FewContributors(3), PPercent(5)]], ids=str
)
@pytest.mark.parametrize("divisor", [1, 100])
def test_outsiders_keep_levels_and_claim_verifies(firms, rules, divisor):
    table = tabulate(
        firms.assign(value=firms["value"] / divisor), ["row", "column"], value="value", unit="firm"
    )
    table = table if divisor > 1 else replace(table, integer=True)
    need = assess(table, rules)
    protection = Blocks(rules=rules).protect(table, need)
    assert 5 < need.unsafe.sum() < protection.withheld.sum() < table.inner.sum() / 2
    found = audit(table, need, Release.of(table, protection), known_method=protection.known_method)
    assert found.safe
    assert found.withstands_known_method is True


def test_other_pattern_carries_no_claim(firms):
    table, rules = tabulate(firms, ["row", "column"], value="value", unit="firm"), [PPercent(10)]
    need = assess(table, rules)
    known_method = Blocks(rules=rules).protect(table, need).known_method
    other = Release.of(table, Greedy(keep="margins").protect(table, need))
    assert audit(table, need, other, known_method=known_method).withstands_known_method is False


@settings(deadline=None, max_examples=26)
@given(data=st.data())
def test_verifier_reproduces_the_method_pattern(data):
    rows, columns = data.draw(st.integers(2, 9)), data.draw(st.integers(2, 9))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    values = rng.integers(0, data.draw(st.sampled_from([4, 20, 500])), (rows, columns))
    unsafe = (rng.random(values.shape) < 0.15) & (values > 0)
    asked = np.where(unsafe, level(values), 0)
    sole = (1, data.draw(st.integers(1, 3)), data.draw(st.integers(0, 4)))
    split = data.draw(st.sampled_from(["count", "mass"]))
    expected = expectation(values.sum(axis=1), values.sum(axis=0), None)
    hidden, lost = magnitude_pattern(
        tree(expected, split), values, MagnitudeLevels(unsafe, asked, asked, 0 * asked, sole)
    )
    needs = {(int(i), int(j)): (int(asked[i, j]), int(asked[i, j]), 0) for i, j in np.argwhere(unsafe)}
    node = verify_blocks.rectangles(expected.tolist(), list(range(rows)), list(range(columns)), split)
    found = set()
    called = verify_blocks.calls(node, values.tolist(), verify_blocks.UnsafeMagnitudes(needs, sole), found)
    assert called == bool(lost.any())
    assert found == {(int(i), int(j)) for i, j in np.argwhere(hidden)}


def refused(table, rules, match, **given):
    with pytest.raises(HitokuError, match=match):
        Blocks(rules=rules, **given).protect(table, assess(table, rules))


def test_unsupported_tables_raise(firms):
    few = firms[(firms["row"] > 0) | (firms["column"] > 0)]
    giant = pd.concat([few, pd.DataFrame({"row": [0], "column": [0], "value": [10**7], "firm": [10**6]})])
    table = tabulate(giant, ["row", "column"], value="value", unit="firm")
    refused(table, [PPercent(10)], "totals? .*unsafe|unsafe themselves")
    plain = tabulate(firms, ["row", "column"], value="value", unit="firm")
    with pytest.raises(HitokuError, match="every cell by itself"):
        Blocks(rules=[PPercent(10)]).protect(plain, assess(plain, [PPercent(30)]))
    signed = Table.from_array(np.array([[-1.5, 2.0], [3.0, 4.0]]))
    with pytest.raises(HitokuError, match="not negative"):
        Blocks(rules=[PPercent(10)]).protect(signed, Need(unsafe=signed.value < 0))


def test_cell_filling_its_row_requires_suppressed_totals():
    values = np.array([[900, 5, 4, 6], [300, 200, 400, 100], [250, 310, 280, 190], [100, 120, 90, 80]])
    asked = np.where(values == 900, 90, 0)
    _, lost = magnitude_pattern(
        tree(values, "count"), values, MagnitudeLevels(asked > 0, asked, asked, 0 * asked, SOLE)
    )
    assert lost.all()
