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

PEOPLE = ["sex", "works", "region"]


def write_records(folder, rows, columns, name="people.csv"):
    pd.DataFrame(rows, columns=columns).to_csv(folder / name, index=False)


def run(folder, recipe):
    (folder / "recipe.toml").write_text(recipe, encoding="utf-8")
    return ht.run_recipe(folder / "recipe.toml")


def filter_inside_a_cell(folder):
    """S1: women 20 less women at work 18 are 2 women who do not work."""
    rows = [("F", "yes", "N")] * 9 + [("F", "yes", "S")] * 9 + [("F", "no", "N"), ("F", "no", "S")]
    write_records(folder, [*rows, *[("M", "yes", "N")] * 20, *[("M", "no", "S")] * 20], PEOPLE)
    return """data = "people.csv"
rules = ["min_frequency:n=5"]
width = 5
out = "release"
[[tables]]
name = "A"
by = ["sex"]
[[tables]]
name = "B"
by = ["region"]
where = {sex = ["F"], works = ["yes"]}
"""


def shifted_bands(folder):
    """S2: 19 people of 0 to 20 less 18 of 0 to 18 are one person of 19 or 20."""
    age = np.repeat([10, 19, 22, 28], [18, 1, 18, 20])
    first = np.array(["0-18", "19-25", "26-30"])[np.digitize(age, [19, 26])]
    second = np.array(["0-20", "21-25", "26-30"])[np.digitize(age, [21, 26])]
    write_records(folder, list(zip(first, second, strict=True)), ["b1", "b2"])
    return """data = "people.csv"
rules = ["min_frequency:n=5"]
width = 5
out = "release"
[[tables]]
name = "one"
by = ["b1"]
[[tables]]
name = "two"
by = ["b2"]
"""


def cell_inside_a_filter(folder):
    """S3: 30 women less 28 women in the north are 2 women in the south."""
    rows = [("F", "yes", "N")] * 14 + [("F", "no", "N")] * 14 + [("F", "yes", "S"), ("F", "no", "S")]
    write_records(folder, [*rows, *[("M", "yes", "N")] * 20, *[("M", "no", "S")] * 20], PEOPLE)
    return """data = "people.csv"
rules = ["min_frequency:n=5"]
width = 5
out = "release"
[[tables]]
name = "A"
by = ["sex"]
where = {region = ["N"]}
[[tables]]
name = "B"
by = ["works"]
where = {sex = ["F"]}
"""


def options_differ(folder):
    """S4: county A 950 less town A3 900 is town A1, one firm."""
    rows = [("A1", "A", 50)] + [("A3", "A", 100)] * 9 + [("B1", "B", 10)] * 6 + [("B2", "B", 100)] * 7
    write_records(folder, [(*row, n) for n, row in enumerate(rows)], ["town", "county", "x", "unit"])
    return """data = "people.csv"
value = "x"
unit = "unit"
rules = ["few_contributors:n=3"]
out = "release"
[[tables]]
name = "towns"
by = ["town"]
[[tables]]
name = "counties"
by = ["county"]
top = 4
"""


COUNTY = {"t1": "A", "t2": "A", "t3": "B", "t4": "B", "t5": "C", "t6": "C", "t7": "D", "t8": "D"}
ZONE = {"t1": "X", "t3": "X", "t2": "Y", "t4": "Y", "t5": "Z", "t7": "Z", "t6": "W", "t8": "W"}
TOWNS = {"t1": 1, "t2": 1, "t3": 40, "t4": 50, "t5": 5, "t6": 6, "t7": 40, "t8": 30}


def write_towns(folder):
    rows = [(town, COUNTY[town], ZONE[town]) for town, n in TOWNS.items() for _ in range(n)]
    write_records(folder, rows, ["town", "county", "zone"])


def two_geographies(folder):
    """S5: A = X + Y - B, all three published; A has 2 people."""
    write_towns(folder)
    return """data = "people.csv"
rules = ["min_frequency:n=3"]
width = 3
out = "release"
[[tables]]
name = "counties"
by = ["county"]
[[tables]]
name = "zones"
by = ["zone"]
"""


TRIALS = [filter_inside_a_cell, shifted_bands, cell_inside_a_filter, options_differ, two_geographies]


@pytest.mark.parametrize("trial", TRIALS)
def test_tables_of_one_recipe_are_not_called_safe_together(tmp_path, trial):
    done = run(tmp_path, trial(tmp_path))
    for verdict in (done.verdict, *(outcome.verdict for outcome in done.outcomes.values())):
        assert verdict.colour is Colour.AMBER
        assert verdict["tables"].status is Status.NOT_DECIDED
        assert verdict["tables"].in_scope
        assert "Not decided: differencing between the tables of this recipe" in verdict.headline
        assert "proof" not in verdict.headline
    # It is written all the same: other tables do not stop a release.
    assert not done.verdict.refused
    assert not (done.folder / "NOT_SAFE.txt").exists()
    for file in done.folder.rglob("summary.json"):
        written = json.loads(file.read_text("utf-8"))["verdict"]
        assert written["colour"] == "amber"
        assert [row["attacker"] for row in written["rows"]] == list(ATTACKERS)
    (tmp_path / "again").mkdir()
    printed = CliRunner().invoke(
        app, ["protect", str(tmp_path / "recipe.toml"), "--out", str(tmp_path / "again" / "release")]
    )
    assert printed.exit_code == 0
    assert "Not decided: differencing between the tables of this recipe" in printed.output
    assert "with a proof" not in printed.output


def test_releases_made_apart_are_not_called_safe_together(tmp_path):
    """S6: by ``hitoku audit a b``, the two geographies of S5."""
    write_towns(tmp_path)
    for variable in ("county", "zone"):
        run(
            tmp_path,
            f'data = "people.csv"\nby = ["{variable}"]\nrules = ["min_frequency:n=3"]\nwidth = 3\n'
            f'out = "{variable}"\n',
        )
    told = CliRunner().invoke(
        app, ["audit", str(tmp_path / "county"), str(tmp_path / "zone"), "--json"], catch_exceptions=False
    )
    verdict = json.loads(told.stdout)["verdict"]
    assert (told.exit_code, verdict["colour"]) == (0, "amber")
    rows = {row["attacker"]: row["status"] for row in verdict["rows"]}
    assert rows["tables"] == "not decided"


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
def test_adjusted_values_moved_far_enough_and_are_attacked(norm):
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


def test_demo_is_amber_where_contributors_are_not_considered(tmp_path, monkeypatch):
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
def test_contributors_are_in_the_rows_as_they_were_audited(insiders, singletons, contributors, scope):
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


def test_groups_that_are_switched_off_are_named():
    done = ht.protect(ht.Table.from_array(COUNTS), rules=["min_frequency:n=5"], groups=False)
    row = done.verdict["groups"]
    assert (row.status, row.reason) == (Status.NOT_CONSIDERED, "groups=False")
    assert done.verdict.colour is Colour.AMBER
    again = ht.protect(ht.Table.from_array(COUNTS), rules=["min_frequency:n=5"])
    assert again.verdict["groups"].status is Status.PROVED
    assert again.verdict.colour is Colour.GREEN


def test_amounts_that_do_not_add_up_exactly_are_passed_and_decimals_are_named():
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


def test_write_refuses_what_the_verdict_refuses(tmp_path):
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


def test_scope_is_a_key_of_recipes_and_an_option(tmp_path):
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
