"""Programs of the bench run to their end on tables that take no time."""

from __future__ import annotations

import re

from bench import proof


def test_proof_bench_compares_with_linear_programs_alone():
    figures = r"\d+\.\d\d s.*, \d+ witnesses, verified in \d+\.\d\d s"
    assert re.fullmatch(
        rf"6 x 8, \d+ unsafe: {figures}; linear programs alone {figures}", proof.compared(6, 8)
    )
