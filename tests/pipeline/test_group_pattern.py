"""Derivable groups in every interface: recipes, command line, demo, sessions, known method."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from tests.oracles.derivable_groups import small_groups
from typer.testing import CliRunner

from hitoku.attacks.matching import Matching
from hitoku.checks.policies import policy
from hitoku.checks.principles import count_need
from hitoku.checks.session import Session
from hitoku.cli import BAD_INPUT, FOUND, app
from hitoku.evidence import derivable_groups
from hitoku.methods import Circulation, Optimal, costs
from hitoku.model import Release, Status, Table
from hitoku.pipeline import protect_table, run_demo, run_recipe
from hitoku.rules import FewContributors, MinFrequency, assess
from hitoku.samples import register
from hitoku.tabulation import tabulate

PEOPLE = pd.DataFrame({"r": ["a"] * 2 + ["b"] + ["c"] * 40 + ["d"] * 9})
RECIPE = 'data = "people.csv"\nby = ["r"]\nrules = ["min_frequency:n=5"]\n'


@pytest.fixture
def people(tmp_path, monkeypatch):
    """Write the three people of trial S9 and forty-nine others to a folder."""
    monkeypatch.chdir(tmp_path)
    PEOPLE.to_csv("people.csv", index=False)
    return tmp_path


@pytest.mark.parametrize(("key", "withheld"), [("", 3), ("groups = true\n", 3), ("groups = false\n", 2)])
def test_recipe_accepts_the_groups_key(people, key, withheld):
    (people / "recipe.toml").write_text(RECIPE + key, "utf-8")
    outcome = run_recipe(people / "recipe.toml").outcome
    assert int(outcome.release.withheld.sum()) == withheld
    assert outcome.groups.safe == (withheld == 3)


@pytest.mark.usefixtures("people")
def test_command_line_accepts_the_groups_option():
    words = ["protect", "people.csv", "--by", "r", "--rule", "min_frequency:n=5", "--json"]
    for option, withheld in (([], 3), (["--no-groups"], 2)):
        said = CliRunner().invoke(app, [*words, *option, "--out", f"release-{withheld}"])
        assert json.loads(said.stdout)["withheld"] == withheld


def test_groups_option_with_recipe_is_rejected(people):
    (people / "recipe.toml").write_text(RECIPE, "utf-8")
    said = CliRunner().invoke(app, ["protect", "recipe.toml", "--no-groups", "--out", "release"])
    assert said.exit_code == BAD_INPUT or "no-groups" in str(said.exception)


def test_manual_pattern_is_audited_with_its_groups(people):
    cells = pd.DataFrame({"r": list("abcd"), "value": [2, 1, 40, 9], "status": ["x", "x", "", ""]})
    cells.to_csv(people / "cells.csv", index=False)
    words = ["audit", "cells.csv", "--by", "r", "--frequency", "value", "--rule", "min_frequency:n=5"]
    assert CliRunner().invoke(app, words).exit_code == FOUND
    assert CliRunner().invoke(app, [*words, "--no-groups"]).exit_code == 0


def test_demo_protects_groups(tmp_path):
    done = run_demo(tmp_path / "out", records=400, seed=3, by=["region", "size"])
    assert done.run.outcome.groups.status is Status.PASSED


def test_groups_require_more_suppressions_by_amount_costs():
    """The second pattern holds the first one, its cost is that of the amounts, and both audits pass."""
    firms = register(900, 7, regions=(3, 3), activities=(4, 3))
    by = ["region", "activity", "size"]
    table = tabulate(firms.records, by=by, value="turnover", hierarchies=dict(firms.hierarchies))
    rules = [FewContributors(3)]
    method = Circulation(cost="value")
    first, second = (
        protect_table(table, rules, method=method, insiders="none", groups=groups) for groups in (False, True)
    )
    assert derivable_groups(table, rules, first.release).status is Status.FAILED
    assert second.groups.status is Status.PASSED
    assert second.audit.safe
    more = second.protection.withheld & ~first.protection.withheld
    assert more.any()
    assert not np.any(first.protection.withheld & ~second.protection.withheld)
    assert second.protection.cost == pytest.approx(costs(table, "value")[second.protection.withheld].sum())


@pytest.mark.parametrize("groups", [True, False])
def test_session_groups_follow_its_policy(groups):
    # No interval is asked for, so that groups alone decide.
    rules = policy("essnet-2009").model_copy(update={"groups": groups})
    rng = np.random.default_rng(5)
    people = pd.DataFrame({"v": rng.integers(0, 5, 260), "w": rng.choice(3, 260, p=[0.6, 0.36, 0.04])})
    output = Session("groups", people, policy=rules).frequency_table(["v", "w"])
    table, withheld = output.evidence.table, output.evidence.withheld
    need = count_need(output.evidence, rules)
    small = need.rules["min_frequency"]
    assert small.any()
    assert np.array_equal(need.upper[small] >= 10 - table.value[small], np.full(small.sum(), groups))
    assert not (groups and small_groups(table, withheld, table.value, 10))


def test_policy_hash_depends_on_groups():
    now = policy("japan-2017")
    assert now.groups
    assert now.model_copy(update={"groups": False}).hash != now.hash


def test_known_method_includes_groups_setting():
    """With the wrong setting no table leads to the release, or another set of them does."""
    table = Table.from_array([[2, 30, 40], [20, 1, 50], [9, 9, 9]])
    rules = [MinFrequency(5)]
    method = Optimal(cost="value", keep="margins")
    for groups in (True, False):
        need = assess(table, rules, width=2, groups=groups)
        release = Release.of(table, method.protect(table, need))
        matched = Matching(method=method, rules=rules, width=2, groups=groups).run(release)
        bounds = matched.bounds
        assert np.all((bounds.lower <= table.value) & (table.value <= bounds.upper))
