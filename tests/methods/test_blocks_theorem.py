"""The theorem of blocks by listing everything, at length: `make test-long`."""

from __future__ import annotations

from itertools import islice

import pytest
from tests.methods.block_fibres import fibres, random_examples, too_narrow

pytestmark = pytest.mark.long


@pytest.mark.parametrize(
    ("structural", "n_examples", "least_cells"),
    [
        pytest.param(False, 150, 100_000, id="counts"),
        pytest.param(True, 10, 1_000, id="beside structural zeros"),
    ],
)
def test_no_unsafe_cell_of_any_table_is_too_narrow(structural, n_examples, least_cells):
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
