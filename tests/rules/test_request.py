from __future__ import annotations

import numpy as np
import pytest

from hitoku.errors import RuleError, TableError
from hitoku.model import Contributors, Table
from hitoku.rules import Request


def cell(n_contributors=9, **measures):
    behind = Contributors(count=[n_contributors], largest=[[60.0]], total=[100.0])
    return Table(value=[100.0], relations=np.zeros((0, 1)), units=behind, measures=measures)


@pytest.mark.parametrize(
    ("share", "n_contributors", "unsafe"),
    [
        pytest.param(0.0, 9, False, id="nobody asked"),
        pytest.param(0.0, 1, False, id="nobody asked, though alone"),
        pytest.param(0.6, 9, True, id="who asked holds more than half"),
        pytest.param(0.5, 9, False, id="exactly p percent is safe"),
        pytest.param(0.1, 9, False, id="who asked is small, among nine"),
        pytest.param(0.1, 2, True, id="who asked is small, but one of two"),
        pytest.param(0.1, 3, False, id="exactly n contributors are safe"),
    ],
)
def test_request_rule_matches_definition(share, n_contributors, unsafe):
    rule = Request(p=50, n=3, percent=10)
    need = rule.assess(cell(n_contributors, request_share=np.array([share])))
    assert bool(need.unsafe[0]) is unsafe
    assert need.upper[0] == need.lower[0] == 10.0 * unsafe


def test_shares_may_come_with_the_rule():
    share = np.array([0.6])
    rule = Request(p=50, share=share)
    share[0] = 0.0
    assert rule.assess(cell()).unsafe[0], "the rule keeps what it was given"
    assert "0.6" not in repr(rule)


def test_counting_is_optional():
    table = Table(value=[100.0], relations=np.zeros((0, 1)), measures={"asked": np.array([0.6])})
    assert Request(p=50, share="asked").assess(table).unsafe[0]
    with pytest.raises(RuleError, match="who contributes"):
        Request(p=50, n=3, share="asked").assess(table)


@pytest.mark.parametrize(
    ("share", "error", "what"),
    [
        pytest.param("request_shar", RuleError, "no measure", id="no such measure"),
        pytest.param([60.0], RuleError, "outside", id="percent instead of a fraction"),
        pytest.param([np.nan], RuleError, "outside", id="missing"),
        pytest.param([0.1, 0.2], TableError, "shape", id="too many"),
    ],
)
def test_unreadable_shares_raise(share, error, what):
    with pytest.raises(error, match=what) as caught:
        Request(p=50, share=share).assess(cell(request_share=np.array([0.6])))
    assert caught.value.fix
