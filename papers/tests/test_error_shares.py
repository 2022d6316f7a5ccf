from __future__ import annotations

import pytest

from hitoku.errors import ParameterError
from hitoku_papers.plots.error_shares import error_shares

GROUPS = {"B1": {"ours": [10, 90], "published": [20, 80]}, "C": {"ours": [100, 0]}}


def test_every_share_is_a_piece_of_its_bar():
    axes = error_shares(GROUPS, ["exact", "far"]).axes[0]
    pieces = [(bar.get_x(), bar.get_width()) for bar in axes.patches]
    assert pieces == [(0, 10), (10, 90), (0, 20), (20, 80), (0, 100), (100, 0)]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["B1   ours", "published", "C   ours"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["exact", "far"]


@pytest.mark.parametrize(
    ("groups", "intervals"),
    [({}, ["exact"]), ({"a": {}}, ["exact"]), (GROUPS, ["exact"]), (GROUPS, ["x"] * 9)],
)
def test_bars_that_do_not_fit_are_refused(groups, intervals):
    with pytest.raises(ParameterError):
        error_shares(groups, intervals)
