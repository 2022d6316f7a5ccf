"""Sections of a larger table by the method of blocks: every table of small ones is listed."""

from __future__ import annotations

from collections import defaultdict
from itertools import product

import numpy as np
import pytest
from tests.oracles import blocks as oracle

from hitoku.errors import ParameterError, ScopeError
from hitoku.evidence import audit
from hitoku.methods.blocks import Blocks
from hitoku.model import Release, Table
from hitoku.rules import GroupDisclosure, MinFrequency, assess

RULES, WIDTH = [MinFrequency(3)], 2
METHOD = Blocks(rules=RULES, width=WIDTH, sections="layer")


def layered(*layers):
    counts = np.stack([np.array(layer) for layer in layers], axis=2)
    return Table.from_array(counts, names=["row", "column", "layer"])


def published(table, method=METHOD):
    return Release.of(table, method.protect(table, assess(table, RULES, width=WIDTH)))


def every(layer):
    return list(oracle.tables([sum(line) for line in layer], [sum(c) for c in zip(*layer, strict=True)]))


def test_attacker_keeps_width_in_sections_and_sums():
    found = defaultdict(list)
    for first, second in product(every([[1, 2], [2, 1]]), every([[7, 1], [2, 6]])):
        table = layered(first, second)
        release = published(table)
        found[release.published.tobytes()].append(table.value)
    cells = narrow = sums = 0
    for group in found.values():
        same = np.array(group)
        unsafe = (same > 0) & (same < 3)
        cells += int(unsafe.sum())
        sums += int(unsafe.reshape(-1, 3, 3, 3)[:, :2, :2, 2].sum())
        narrow += int((unsafe & (np.ptp(same, axis=0) < WIDTH)).sum())
    assert cells > 20
    assert sums > 0
    assert len(found) > 1
    assert narrow == 0


def test_sum_of_suppressed_section_is_suppressed():
    rng = np.random.default_rng(4)
    layers = rng.poisson(30, (2, 6, 6)) + 5
    layers[0, 1, 2] = 2
    table = layered(*layers)
    need = assess(table, RULES, width=WIDTH)
    release = published(table)
    hidden = release.withheld.reshape(table.shape)
    np.testing.assert_array_equal(hidden[:, :, 2], hidden[:, :, 0] | hidden[:, :, 1])
    assert hidden[1, 2, 2]
    assert not hidden[:, :, 1].any()
    assert not hidden[-1].any()
    assert not hidden[:, -1].any()
    assert audit(table, need, release).safe


def test_expectation_of_all_cells_serves_every_section():
    rng = np.random.default_rng(5)
    table = layered(*(rng.poisson(30, (2, 6, 6)) + 1))
    expected = table.value + rng.uniform(0, 3, table.n_cells)
    method = Blocks(rules=RULES, width=WIDTH, sections=["layer"], expected=expected)
    assert published(table, method).n_cells == table.n_cells
    wrong = Blocks(rules=RULES, width=WIDTH, sections=["layer"], expected=expected[:-1])
    with pytest.raises(ParameterError, match="every cell"):
        published(table, wrong)


def test_unsupported_variables_and_rules_raise():
    table = layered([[30, 40], [50, 60]], [[70, 80], [90, 99]])
    need = assess(table, RULES, width=WIDTH)
    with pytest.raises(ScopeError, match="sections="):
        Blocks(rules=RULES, width=WIDTH).protect(table, need)
    with pytest.raises(ParameterError, match="no variable 'year'"):
        Blocks(rules=RULES, width=WIDTH, sections=["year"]).protect(table, need)
    with pytest.raises(ParameterError, match="all variables but two"):
        Blocks(rules=RULES, width=WIDTH, sections=["row", "layer"]).protect(table, need)
    rules = [MinFrequency(3), GroupDisclosure(share=0.9)]
    with pytest.raises(ScopeError, match="MinFrequency"):
        Blocks(rules=rules, width=WIDTH, sections=["layer"]).protect(table, need)
