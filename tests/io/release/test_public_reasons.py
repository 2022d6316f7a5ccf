"""Nothing in public/ tells unsafe cells from those withheld to protect them, nor how many there are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hitoku.evidence.audit import audit
from hitoku.io.formats import FORMATS
from hitoku.io.publication import PublicationPlan
from hitoku.io.release.write import write_release
from hitoku.methods import Blocks, Greedy, Optimal
from hitoku.model.need import Need
from hitoku.model.table import Table
from hitoku.pipeline.protect import protect_table
from hitoku.rules import MinFrequency

COUNTS = [[20, 3, 30, 40], [31, 25, 60, 70], [50, 40, 80, 90], [70, 60, 90, 99]]


def files(folder):
    return {file.name: file.read_bytes() for file in sorted((folder / "public").iterdir())}


@pytest.mark.parametrize("method", [Blocks(), Greedy(keep="margins"), Optimal(keep="margins")], ids=str)
def test_public_files_are_the_same_whichever_withheld_cells_are_unsafe(tmp_path, method):
    table = Table.from_array(COUNTS)
    outcome = protect_table(table, [MinFrequency(5)], method=method, width=9)
    # The same release, as if every withheld cell but the last were unsafe, and the true one not.
    others = outcome.protection.withheld & ~outcome.need.unsafe
    need = Need(unsafe=others, width=1.0)
    other = replace(
        outcome,
        protection=replace(outcome.protection, secondary=outcome.protection.withheld & ~others),
        audit=audit(table, need, outcome.release),
    )
    assert not np.array_equal(outcome.need.unsafe, other.need.unsafe)
    plan = PublicationPlan(formats=tuple(FORMATS))
    first = files(write_release(tmp_path / "first", outcome, plan))
    second = files(write_release(tmp_path / "second", other, plan))
    assert len(first) >= 3
    assert first == second
