"""Predefined segmentations: codes that are not in the policy's list do not leave."""

from __future__ import annotations

from importlib.resources import files

import pandas as pd
import pytest

import hitoku as ht
from hitoku.checks.policies import policy
from hitoku.checks.principles import Clearance
from hitoku.checks.submission import recheck
from hitoku.model import Hierarchy

# Kikuchi and Minami (2017), Table 1: one person is 19 or 20.
AGES = pd.DataFrame(
    {
        "age": ["0-18"] * 18 + ["19-25"] * 19 + ["26-30"] * 20,
        "other": ["0-20"] * 19 + ["21-25"] * 18 + ["26-30"] * 20,
        "x": range(57),
    }
)
BANDED = policy("japan-2017").model_copy(
    update={"segmentations": {"age": (("0-18", "19-25", "26-30"), ("0-25", "26-30"))}}
)


def reasons(out):
    return {v.reason for v in out.verdicts if v.status is Clearance.FAIL}


def test_second_banding_is_stopped_by_segmentation():
    first = ht.Session("one", AGES, policy=BANDED).frequency_table("age")
    assert first.status is Clearance.PASS
    other = AGES.assign(age=AGES["other"])
    second = ht.Session("two", other, policy=BANDED).frequency_table("age")
    assert reasons(second) == {"segmentation"}


@pytest.mark.parametrize(
    ("ask", "fails"),
    [
        pytest.param(lambda w: w.mean("x", by="age"), False, id="codes of the list"),
        pytest.param(lambda w: w.mean("x", where={"age": ["0-18", "19-25"]}), False, id="filter of the list"),
        pytest.param(lambda w: w.frequency_table("other"), False, id="another variable"),
        pytest.param(
            lambda w: w.frequency_table(
                "age", hierarchies={"age": Hierarchy.from_tree({"young": ["0-18", "19-25"], "26-30": None})}
            ),
            True,
            id="a group that is not listed",
        ),
    ],
)
def test_codes_groups_and_filters_are_checked(ask, fails):
    out = ask(ht.Session("s", AGES, policy=BANDED))
    assert ("segmentation" in reasons(out)) is fails


def test_checker_policy_finds_second_banding(tmp_path):
    work = ht.Session("s", AGES.assign(age=AGES["other"]))
    work.frequency_table("age", name="ages")
    folder = work.submit(tmp_path / "s")
    check = recheck(folder, policy=BANDED)
    assert any(v.reason == "segmentation" for v in check.outputs[0].verdicts)
    assert not check.ok


def test_policy_file_lists_segmentations(tmp_path):
    text = tmp_path / "own.toml"
    plain = policy("japan-2017")
    assert plain.segmentations is None
    own = (files("hitoku.checks.policies") / "japan-2017.toml").read_text("utf-8")
    text.write_text(own + '\n[segmentations]\nage = [["0-18", "19+"]]\n', encoding="utf-8")
    assert policy(text).segmentations == {"age": (("0-18", "19+"),)}
    assert policy(text).hash != plain.hash
