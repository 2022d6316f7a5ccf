from __future__ import annotations

import json
from importlib import resources

import pytest
from tests.raising import raises

from hitoku.checks.policies import parse_policy_text, policy
from hitoku.checks.principles import Clearance, Principle, PrincipleVerdict, worst

JAPAN = {
    "units": 10,
    "freedom": 11,
    "k": 50.0,
    "n": 1,
    "group": 0.9,
    "count": 10.0,
    "share": 0.3,
}


def text_of(tmp_path, edit=lambda text: text):
    original = (resources.files("hitoku.checks") / "policies" / "japan-2017.toml").read_text("utf-8")
    path = tmp_path / "own.toml"
    path.write_text(edit(original), "utf-8")
    return path


def test_japan_2017_matches_the_paper():
    rules = policy("japan-2017")
    assert {
        "units": rules.units.minimum,
        "freedom": rules.freedom.limit,
        "k": rules.dominance.k,
        "n": rules.dominance.n,
        "group": rules.group.share,
        "count": rules.interval.count,
        "share": rules.interval.share,
    } == JAPAN


def test_percentiles_and_tests_default_to_unit_minimum(tmp_path):
    rules = policy("japan-2017")
    assert (rules.least_between, rules.least_tested) == (10, 10)

    def older(text):
        text = text.replace("minimum = 10", "minimum = 15").replace("between = 10", "")
        return text.replace("[tests]\nunits = 10", "")

    before = policy(text_of(tmp_path, older))
    assert (before.percentile.between, before.tests) == (None, None)
    assert (before.least_between, before.least_tested) == (15, 15)
    own = policy(text_of(tmp_path, lambda text: text.replace("between = 10", "between = 7")))
    assert (own.least_between, own.hash == rules.hash) == (7, False)


@pytest.mark.parametrize(
    ("name", "freedom", "met"),
    [
        pytest.param("japan-2017", 11, False, id="greater than 11"),
        pytest.param("japan-2017", 12, True, id="12 is greater"),
        pytest.param("essnet-2009", 9, False, id="9 are fewer than 10"),
        pytest.param("essnet-2009", 10, True, id="10 are enough"),
    ],
)
def test_operator_of_threshold_is_configurable(name, freedom, met):
    assert policy(name).freedom.met(freedom) is met


def test_policy_hash_ignores_layout(tmp_path):
    commented = text_of(tmp_path, lambda text: "# ours\n\n" + text)
    assert policy(commented).hash == policy("japan-2017").hash
    stricter = text_of(tmp_path, lambda text: text.replace("minimum = 10", "minimum = 20"))
    assert policy(stricter).hash != policy("japan-2017").hash


@pytest.mark.parametrize(
    ("old", "new", "code", "where"),
    [
        pytest.param(
            "minimum = 10",
            "minimum = 0",
            "parameter_not_whole",
            "line 9, key units, minimum",
            id="out of range",
        ),
        pytest.param(
            "minimum = 10", "minimun = 10", "unknown_key", "line 9, key units, minimun", id="misspelt"
        ),
        pytest.param("k = 50.0", "k = nan", "parameter_range", "key dominance, k", id="not a number"),
        pytest.param(
            'operator = ">"',
            'operator = "<"',
            "key_value_not_allowed",
            "key freedom, operator",
            id="unknown operator",
        ),
        pytest.param(
            "minimum = 10",
            "minimum = 10.5",
            "parameter_not_whole",
            "line 9, key units, minimum",
            id="not whole",
        ),
        pytest.param("[units]", "[units", "not_toml", "own.toml, line 8", id="not TOML"),
    ],
)
def test_invalid_policy_names_line_and_key(tmp_path, old, new, code, where):
    path = text_of(tmp_path, lambda text: text.replace(old, new))
    with raises(code) as caught:
        policy(path)
    assert where in caught.value.where


def test_unknown_key_suggests_nearest(tmp_path):
    path = text_of(tmp_path, lambda text: text.replace("[mode]\nshare", "[mode]\nshare = 0.8\nshar"))
    with raises("unknown_key", key="shar") as caught:
        policy(path)
    assert caught.value.fix == "did you mean 'share'?"


def test_unknown_policy_raises():
    with raises("unknown_policy"):
        policy("japan-2016")
    with raises("no_policy_file"):
        policy("nowhere.toml")


def test_p_percent_is_an_option():
    text = policy("japan-2017").model_copy()
    assert len(text.magnitude_rules) == 1
    own = text.model_copy(update={"dominance": text.dominance.model_copy(update={"p": 10.0})})
    assert [type(rule).__name__ for rule in own.magnitude_rules] == ["Dominance", "PPercent"]


def test_missing_section_is_named():
    with raises("key_missing", key="units"):
        parse_policy_text('name = "x"\nversion = "1"\nindividual_values = "confidential"\n', "x.toml")


def test_verdicts_survive_json():
    verdict = PrincipleVerdict(
        principle=Principle.UNITS,
        status=Clearance.REVIEW,
        reason="r",
        text="t",
        numbers={"units": 3},
        remedy="m",
    )
    assert PrincipleVerdict.from_dict(json.loads(json.dumps(verdict.to_dict()))) == verdict
    assert worst([verdict]) is Clearance.REVIEW
