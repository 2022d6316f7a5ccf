from __future__ import annotations

import numpy as np

from hitoku.methods.greedy import Greedy
from hitoku.model import Protection, Table
from hitoku.pipeline import STAGES, protect_table, recomputable
from hitoku.rules import MinFrequency, assess

COUNTS = np.array([[20, 50, 10, 22], [8, 19, 22, 50], [17, 32, 3, 12]])


class UnsafeOnly:
    """A method that forgets what it is for."""

    def protect(self, table, need, progress=None):
        del progress
        return Protection.withhold(table, need.unsafe, need)


def test_stages_run_in_order_and_the_outcome_is_audited():
    stages: list[str] = []
    outcome = protect_table(
        Table.from_array(COUNTS), [MinFrequency(5)], method=Greedy(), width=9, report=stages.append
    )
    # No contributor is behind counts: that stage is left out.
    assert stages == [stage for stage in STAGES if stage != "insiders"]
    assert outcome.audit.safe
    assert outcome.bounds.width[outcome.need.unsafe].min() >= 9


def test_method_suppressing_too_little_is_detected():
    outcome = protect_table(Table.from_array(COUNTS), [MinFrequency(5)], method=UnsafeOnly(), width=9)
    assert not outcome.audit.safe
    assert "NOT safe" in repr(outcome)


def test_recomputable_blank_cells_are_counted():
    table = Table.from_array(COUNTS)
    assert recomputable(table, assess(table, [MinFrequency(5)])) == 1
    # Two rows and two columns with two small cells each: none can be had by subtraction.
    square = Table.from_array([[1, 2, 30], [3, 4, 30], [30, 30, 30]])
    assert recomputable(square, assess(square, [MinFrequency(5)])) == 0
