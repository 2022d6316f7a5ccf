"""The theorem of blocks by listing everything, at length: `make test-long`."""

from __future__ import annotations

from itertools import islice

import pytest
from tests.methods.blocks.fibres import fibres, random_examples, too_narrow, witnessed_fibres
from tests.oracles import blocks as oracle

pytestmark = pytest.mark.long


@pytest.mark.parametrize(
    ("structural", "n_examples", "least_cells"),
    [
        pytest.param(False, 150, 100_000, id="counts"),
        pytest.param(True, 10, 1_000, id="beside structural zeros"),
    ],
)
def test_every_unsafe_cell_has_required_width(structural, n_examples, least_cells):
    """Every table with the totals of so many random ones of 2 to 6 lines, grouped by what is published."""
    cells = several = 0
    for example, given in islice(random_examples(7, structural=structural), n_examples):
        terms, groups = fibres(example, **given)
        n_cells, narrow = too_narrow(terms, groups)
        assert narrow == 0, (example.tolist(), given)
        cells += n_cells
        several += len(groups) > 1
    assert cells > least_cells
    # Some are not withheld whole, or nothing would have been tried.
    assert several > n_examples // 20


# Totals with more tables than this would take too long: each is walked from.
FEW = 300


def test_witnesses_prove_required_width():
    """The same for flagged groups: tables that are refused are left out by the reader, too."""
    cells = published = 0
    for place, (example, drawn) in enumerate(islice(random_examples(11), 200)):
        given = {name: drawn[name] for name in ("threshold", "width", "zeros", "expected")}
        if len(list(islice(oracle.tables(example.sum(1).tolist(), example.sum(0).tolist()), FEW + 1))) > FEW:
            continue
        size, count = 2 + place % 2, 1 + place // 2 % 2
        terms, groups, verdicts = witnessed_fibres(example, **given, size=size, count=count)
        n_cells, narrow = too_narrow(terms, groups)
        assert narrow == 0, (example.tolist(), given, size, count)
        assert all(len(each) == 1 for each in verdicts.values())
        cells += n_cells
        published += sum(map(len, groups))
    assert cells > 2_000
    assert published > 300
