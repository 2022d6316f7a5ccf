"""Sessions of the campaign: repeatable, and nothing that passes falls."""

from __future__ import annotations

import numpy as np
import pytest
from tools.ordinary_week import WEEK
from tools.output_campaign import Tally, main, run_session

from tools import output_campaign


def test_session_is_repeated_by_its_number():
    first, second = Tally(), Tally()
    for tally in (first, second):
        run_session(3, "japan-2017", tally)
    assert (first.outputs, first.fallen, first.wrong) == (second.outputs, second.fallen, second.wrong)
    assert sum(first.outputs.values()) > 0


def test_every_output_type_of_a_session_is_tried():
    asked = {
        method
        for seed in range(300)
        for theme in output_campaign.THEMES
        for method, _ in theme(np.random.default_rng(seed))
    }
    assert asked >= {
        *("frequency_table", "percentages", "magnitude_table", "mean", "sum", "percentile", "mode", "table"),
        *("concentration", "quantile_groups", "lorenz", "summary", "test", "regression", "histogram"),
        *("survival", "life_table", "describe"),
    }


def test_failure_sets_exit_code_and_prints_seed(monkeypatch, capsys):
    """A statistic that ought not to pass: everybody's income by percentiles, as if it had."""

    def leak(people, *_, **__):
        ends = {f"p{p}": [float(np.percentile(people["income"], p))] for p in range(1, 100)}
        asked = {"by": (), "value": "income"}
        return [output_campaign.Released("table", asked, ends)]

    monkeypatch.setattr(output_campaign, "_passed", leak)
    assert main(["--sessions", "1", "--seed", "1", "--policy", "essnet-2009"]) == 1
    assert "FELL  --replay 1 --policy essnet-2009" in capsys.readouterr().out
    monkeypatch.setattr(output_campaign, "_passed", lambda *_, **__: [])
    assert main(["--sessions", "1"]) == 0


def test_week_has_38_different_requests():
    assert len({repr(each) for each in WEEK}) == len(WEEK) == 38


def test_nothing_follows_from_sums_of_dependent_variables(monkeypatch):
    monkeypatch.setattr(output_campaign, "THEMES", (output_campaign.ask_related,))
    tally = Tally()
    for seed in range(40):
        run_session(seed, "japan-2017", tally)
    assert tally.fallen == tally.wrong == []
    assert tally.outputs["pass"] > 80
    assert tally.outputs["fail"] > 20


@pytest.mark.long
@pytest.mark.parametrize("policy", output_campaign.POLICIES)
def test_passing_outputs_withstand_the_solver(policy):
    """More sessions, other numbers: ``make output-campaign MINUTES=60``."""
    tally = Tally()
    for seed in range(150):
        run_session(seed, policy, tally)
    assert tally.fallen == []
    assert tally.wrong == []
    assert tally.outputs["pass"] > 150
