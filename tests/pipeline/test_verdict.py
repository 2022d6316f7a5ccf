"""No claim is made that is not true: the trials of outsiders, and the rows that say what is left out."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from typer.testing import CliRunner

import hitoku as ht
from hitoku.attacks.matching import Matching
from hitoku.cli import FOUND, app
from hitoku.errors import ParameterError, ProtectionError
from hitoku.evidence import Outcome, combine, judge_attack
from hitoku.model import ATTACKERS, Colour, Row, Status, Verdict
from hitoku.pipeline import run_demo


def write_records(folder, rows, columns, name="people.csv"):
    pd.DataFrame(rows, columns=columns).to_csv(folder / name, index=False)


def run(folder, recipe):
    (folder / "recipe.toml").write_text(recipe, encoding="utf-8")
    return ht.run_recipe(folder / "recipe.toml")


def rounded(table, base):
    """Round a table to a base such that everything adds up; None where that is impossible."""
    true = table.value
    floor = true // base * base
    high = floor + base * (true % base > 0)
    found = milp(
        np.where(true % base, base - 2 * (true % base), 0),
        constraints=LinearConstraint(table.relations.toarray(), 0, 0),
        integrality=np.ones(len(true)),
        bounds=Bounds(floor / base, high / base),
    )
    return np.round(found.x) * base if found.success else None


@pytest.mark.parametrize("seed", range(8))
def test_rounded_values_are_not_called_safe(seed):
    """S13: controlled rounding, audited as an adjusted table, is safe against its own ranges only."""
    table = ht.Table.from_array(np.random.default_rng(seed).negative_binomial(0.8, 0.2, (6, 5, 2)))
    shown = rounded(table, 3)
    assert shown is not None
    small = (table.value > 0) & (table.value < 3) & table.inner
    need = ht.Need(unsafe=small, lower=1.0, upper=1.0)
    nothing = np.zeros(table.n_cells, dtype=bool)
    protection = ht.Protection(withheld=nothing, value=shown, secondary=nothing)
    found = ht.audit(table, need, ht.Release.of(table, protection))
    verdict = Outcome(protection, found).verdict
    assert verdict.colour is Colour.AMBER
    assert verdict["outsider"].status is Status.NOT_CONSIDERED
    assert "multiples of 3" in verdict["outsider"].reason
    assert "ranges" in verdict["outsider"].reason
    assert any("look rounded" in finding.reason for finding in found.findings)
    # Values that moved and are no multiples are what an adjustment gives.
    moved = table.value + (shown - table.value) * 2
    other = ht.Protection(withheld=nothing, value=moved, secondary=nothing)
    found = ht.audit(table, need, ht.Release.of(table, other))
    assert "multiples" not in Outcome(other, found).verdict["outsider"].reason


COUNTS = [[20, 50, 10, 22], [8, 19, 22, 11], [17, 32, 3, 24], [9, 14, 21, 4], [30, 2, 16, 12]]


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_adjusted_values_are_audited_and_attacked(norm):
    """Castro's scenarios recover the cells; the verdict says so and does not say safe."""
    table = ht.Table.from_array(np.array(COUNTS, dtype=float))
    done = ht.protect(table, rules=[ht.Given(table.value < 5, lower=2, upper=2)], method=ht.Adjust(norm=norm))
    assert done.audit.safe
    row = done.verdict["method"]
    assert done.verdict.headline.startswith("Moved far enough to protect against outsiders")
    assert "Safe" not in done.verdict.headline
    attack = ht.Adjustment(scenario="B3", norm=norm)
    found = ht.recovery(table, done.need, done.release, attack)
    hits = (found.error <= 100 * found.tolerance).sum(axis=0)
    assert f"B3 {int((2 * hits > 10).sum())}" in row.reason
    assert row.status is Status.FAILED
    assert not row.in_scope
    assert "Outside the scope and not safe: attackers who know the method" in done.verdict.headline
    against = replace(done, against=("outsider", "method"))
    assert against.verdict.colour is Colour.RED
    assert against.verdict.headline.startswith("Not moved far enough")


@pytest.mark.parametrize("seed", [0, 1, 4])
@pytest.mark.parametrize("method", [ht.Auto(), ht.Gauss()])
def test_matching_is_run_on_small_counts(seed, method):
    table = ht.Table.from_array(np.random.default_rng(seed).negative_binomial(1.2, 0.08, (4, 4)))
    done = ht.protect(table, rules=["min_frequency:n=5"], method=method, groups=False)
    attack = Matching(method=method, rules=[ht.MinFrequency(5)], groups=False, strategy="enumerate")
    found = len(judge_attack(attack, table, done.need, done.release))
    row = done.verdict["method"]
    assert found
    assert row.status is Status.FAILED
    assert f"too close to {found} of {int(done.need.unsafe.sum())} unsafe cells" in row.reason
    assert "auto:secret=false" in row.fix
    assert not row.in_scope


def test_method_that_may_be_known_is_in_scope_and_proved():
    table = ht.Table.from_array(np.random.default_rng(3).negative_binomial(2, 0.05, (8, 7)))
    done = ht.protect(table, rules=["min_frequency:n=5"], method="auto:secret=false", width=9)
    assert done.verdict["method"].status is Status.PROVED
    assert done.verdict["method"].in_scope
    assert "even if the method is known" in done.verdict.headline
    secret = ht.protect(table, rules=["min_frequency:n=5"], width=9, against=["outsider", "method"])
    assert secret.verdict["method"].status is not Status.PROVED
    assert secret.verdict.colour is not Colour.GREEN


def test_demo_without_contributors_is_amber(tmp_path, monkeypatch):
    """Beyond so many cells contributors are not tried, and the verdict does not pass over it."""
    monkeypatch.setattr("hitoku.coalitions.insider_choice.LARGEST_BY_DEFAULT", 100)
    done = run_demo(tmp_path / "demo", records=3000, seed=1, by=["region", "size"])
    verdict = done.run.verdict
    assert verdict.colour is Colour.AMBER
    assert verdict["singletons"].status is Status.NOT_CONSIDERED
    assert "the default beyond 100 cells" in verdict["singletons"].reason
    assert "insiders=singletons" in verdict["singletons"].fix
    assert "single contributors" in verdict.headline.partition("Not considered:")[2]
    assert not verdict.refused


FIRMS = pd.DataFrame(
    {
        "region": list("NNNNNSSSSSSWWWWW"),
        "trade": list("AABBBAAABBBAABBB"),
        "turnover": [40, 70, 30, 5, 30, 25, 25, 20, 70, 15, 5, 30, 60, 45, 45, 10],
    }
)


@pytest.mark.parametrize(
    ("insiders", "singletons", "contributors", "scope"),
    [
        ("none", Status.NOT_CONSIDERED, Status.NOT_CONSIDERED, False),
        ("singletons", Status.PASSED, Status.NOT_CONSIDERED, False),
        ("contributors", Status.PASSED, Status.PASSED, True),
        (None, Status.PASSED, Status.NOT_CONSIDERED, False),
    ],
)
def test_contributor_row_matches_audit(insiders, singletons, contributors, scope):
    done = ht.protect(
        FIRMS, ["region", "trade"], value="turnover", rules=["p_percent:p=10"], insiders=insiders
    )
    rows = done.verdict
    assert (rows["singletons"].status, rows["contributors"].status) == (singletons, contributors)
    assert rows["contributors"].in_scope is scope
    assert rows["singletons"].in_scope
    assert rows["dominance"].applies
    assert not rows["dominance"].in_scope
    assert not rows["attributes"].applies
    assert not rows["tables"].applies


def test_contributors_do_not_apply_to_counts():
    done = ht.protect(ht.Table.from_array(COUNTS), rules=["min_frequency:n=5"])
    assert not done.verdict["singletons"].applies
    assert not done.verdict["contributors"].applies
    assert not done.verdict["dominance"].applies


def test_disabled_groups_are_named():
    done = ht.protect(ht.Table.from_array(COUNTS), rules=["min_frequency:n=5"], groups=False)
    row = done.verdict["groups"]
    assert (row.status, row.reason) == (Status.NOT_CONSIDERED, "groups=False")
    assert done.verdict.colour is Colour.AMBER
    again = ht.protect(ht.Table.from_array(COUNTS), rules=["min_frequency:n=5"])
    assert again.verdict["groups"].status is Status.PROVED
    assert again.verdict.colour is Colour.GREEN


def test_inexact_amounts_pass_and_advice_names_decimals():
    firms = FIRMS.assign(turnover=FIRMS["turnover"] / 7)
    asked = {"value": "turnover", "rules": ["p_percent:p=10"]}
    done = ht.protect(firms, ["region", "trade"], **asked)
    row = done.verdict["outsider"]
    assert done.audit.certificate is None
    assert row.status is Status.PASSED
    assert "do not add up exactly" in row.reason
    assert "--decimals" in row.fix
    assert (
        ht.protect(firms, ["region", "trade"], **asked, decimals=2).verdict["outsider"].status
        is Status.PROVED
    )


def test_write_raises_if_verdict_rejects(tmp_path):
    table = ht.Table.from_array([2, 1, 40, 9])
    alone = {"rules": ["min_frequency:n=5"], "method": "gauss"}
    done = ht.protect(table, **alone, against=["groups"])
    assert done.verdict["groups"].status is Status.FAILED
    assert done.verdict.refused
    with pytest.raises(ProtectionError, match="derivable groups"):
        done.write(tmp_path / "release")
    done.write(tmp_path / "release", force=True)
    assert "derivable groups" in (tmp_path / "release" / "NOT_SAFE.txt").read_text("utf-8")
    # Nobody asked about groups: the row is shown, and does not decide.
    other = ht.protect(table, **alone, against=["tables", "released"])
    assert not other.verdict.refused
    assert other.verdict.colour is Colour.AMBER


def test_scope_is_a_recipe_key_and_an_option(tmp_path):
    write_records(tmp_path, [("a",)] * 2 + [("b",)] * 1 + [("c",)] * 40 + [("d",)] * 9, ["town"])
    recipe = 'data = "people.csv"\nby = ["town"]\nrules = ["min_frequency:n=5"]\nmethod = "gauss"\n'
    assert run(tmp_path, recipe).verdict.colour is Colour.RED
    narrow = run(tmp_path, f'{recipe}against = ["released"]\nout = "release"\n')
    assert narrow.verdict.colour is Colour.AMBER
    assert narrow.verdict.scope == (narrow.verdict["released"],)
    given = ["protect", str(tmp_path / "people.csv"), "--by", "town", "--rule", "min_frequency:n=5"]
    given += ["--method", "gauss", "--json"]
    told = CliRunner().invoke(app, [*given, "--out", str(tmp_path / "a")], catch_exceptions=False)
    assert told.exit_code == FOUND
    assert json.loads(told.stdout)["verdict"]["colour"] == "red"
    assert not (tmp_path / "a").exists()
    told = CliRunner().invoke(
        app, [*given, "--out", str(tmp_path / "b"), "--against", "released"], catch_exceptions=False
    )
    assert told.exit_code == 0
    assert not json.loads(told.stdout)["verdict"]["refused"]
    with pytest.raises(ParameterError, match="no attacker 'outsiders'"):
        ht.protect(ht.Table.from_array(COUNTS), rules=["min_frequency:n=5"], against=["outsiders"])


def test_several_releases_have_the_worst_result_of_each_row():
    def verdict(status, **more):
        row = Row(attacker="outsider", status=status, reason=str(status), in_scope=True)
        others = [Row(attacker=name, status=Status.PASSED, **more) for name in list(ATTACKERS)[1:]]
        return Verdict((row, *others))

    proved, failed = verdict(Status.PROVED), verdict(Status.FAILED, applies=False)
    both = combine({"a": proved, "b": failed})
    assert both["outsider"].status is Status.FAILED
    assert both["outsider"].reason == "b: failed"
    assert both["groups"].applies
    assert combine({"a": proved}) is proved
    assert combine({}).colour is Colour.AMBER
