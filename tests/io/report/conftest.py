"""Every kind of release with its page."""

from __future__ import annotations

import pytest
from tests.io.report.parsed import parsed
from tests.io.report.releases import adjusted, counts, cube, linked, magnitudes, nasty, unsafe

from hitoku.io.report import page

KINDS = [counts, unsafe, cube, magnitudes, adjusted, linked, nasty]


@pytest.fixture(scope="session", params=KINDS, ids=lambda kind: kind.__name__)
def shown(request):
    cells = request.param()
    return cells, parsed(page(cells, title="A title"))
