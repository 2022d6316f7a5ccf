"""Adjusted releases: what the audit demands of them, and what no certificate of one can hide."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.oracles.forgeries import reseal

from hitoku.attacks import Insider
from hitoku.errors import ParameterError, ProtectionError
from hitoku.evidence import AdjustedAudit, Outcome, audit
from hitoku.evidence.verify import ADJUSTED, Refuted, fingerprint, prove, verify
from hitoku.io.release import read_release, write_release
from hitoku.model import Need, Protection, Release, Table

TABLE = Table.from_array([[20, 15], [72, 5]])
NEED = Need(unsafe=TABLE.value == 5, lower=2.0, upper=3.0, rules={"given": TABLE.value == 5})


def shown(deviations, table=TABLE, need=NEED):
    none = np.zeros(table.n_cells, dtype=bool)
    value = table.value + np.asarray(deviations, dtype=float).ravel()
    protection = Protection(withheld=none, secondary=none, value=value, method="adjust")
    return audit(table, need, Release.of(table, protection)), protection


def square(a, b, c, d):
    """Moves of the four inner cells, with their sums."""
    return [[a, b, a + b], [c, d, c + d], [a + c, b + d, a + b + c + d]]


@pytest.mark.parametrize(
    ("deviations", "outcome", "slack"),
    [
        pytest.param(square(0, 0, 0, 3), "safe", 0, id="up by its level"),
        pytest.param(square(0, 0, 0, 4.5), "safe", 1.5, id="up by more"),
        pytest.param(square(0, 0, 0, -2), "safe", 0, id="down by its level"),
        pytest.param(square(0, 0, 0, 2), "narrow", -1, id="up by the level below"),
        pytest.param(square(0, 0, 0, -1.5), "narrow", -0.5, id="down by too little"),
        pytest.param(square(1, 0, 0, 0), "published", -2, id="others moved, not this one"),
    ],
)
def test_adjusted_unsafe_cell_must_leave_its_interval(deviations, outcome, slack):
    found, _ = shown(deviations)
    assert isinstance(found, AdjustedAudit)
    row = found.cells.iloc[0]
    assert row["outcome"] == outcome
    assert row["slack"] == pytest.approx(slack)
    assert row["moved"] == np.asarray(deviations)[1][1]
    assert found.safe is (outcome == "safe")
    assert (found.certificate is not None) is found.safe
    assert bool(found.cells["why"][0]) is not found.safe


def test_width_is_split_between_both_directions():
    need = Need(unsafe=TABLE.value == 5, width=6.0)
    assert shown(square(0, 0, 0, 3), need=need)[0].safe
    assert not shown(square(0, 0, 0, 2.9), need=need)[0].safe


def test_zero_level_forbids_that_direction():
    need = Need(unsafe=TABLE.value == 5, upper=3.0)
    assert not shown(square(0, 0, 0, -5), need=need)[0].safe


def test_published_sums_must_hold():
    deviations = square(0, 0, 0, 3)
    deviations[2][2] += 1
    found, _ = shown(deviations)
    assert not found.safe
    assert found.certificate is None
    assert any("do not add up" in finding.reason for finding in found.findings)
    assert "2 sums broken" in repr(found)


@pytest.mark.parametrize("integer", [True, False])
def test_fractional_counts_are_remarked(integer):
    table = Table(value=TABLE.value, relations=TABLE.relations, integer=integer)
    found, _ = shown(square(0.5, 0, 0, 3), table=table)
    assert found.safe
    assert any("integers became fractions" in finding.reason for finding in found.findings)
    assert not shown(square(0, 0, 0, 3), table=table)[0].findings


def test_additional_decimals_are_remarked():
    table = Table(value=TABLE.value / 10, relations=TABLE.relations, integer=False)
    need = Need(unsafe=table.value == 0.5, lower=0.3, upper=0.3)
    fine, _ = shown(square(0.05, 0, 0, 0.3), table=table, need=need)
    assert any("more decimals" in finding.reason for finding in fine.findings)
    same, _ = shown(square(0.1, 0, 0, 0.3), table=table, need=need)
    assert same.safe
    assert not same.findings


def test_nonadditive_table_may_keep_its_errors():
    table = Table(value=TABLE.value + np.eye(1, 9, 8).ravel(), relations=TABLE.relations, additive=False)
    found, _ = shown(square(0, 0, 0, 3), table=table)
    assert found.safe
    assert found.certificate is None
    worse = square(0, 0, 0, 3)
    worse[2][2] += 50
    assert not shown(worse, table=table)[0].safe


def test_utility_counts_relative_deviations():
    found, _ = shown(square(0, 0, 0, 5))
    assert found.utility["changed"] == 4
    assert found.utility["safe_changed"] == 3
    assert found.utility["largest"] == 1.0
    assert found.utility["safe_largest"] == pytest.approx(5 / 20)
    assert found.utility["l1"] == pytest.approx(1 + 5 / 20 + 5 / 77 + 5 / 112)
    assert list(found.deviations["moved"]) == np.ravel(square(0, 0, 0, 5)).tolist()


def test_repr_omits_values():
    found, _ = shown(square(0, 0, 0, 3))
    assert repr(found) == "Audit(safe: 1 unsafe of 9 cells, 4 changed)"
    assert repr(found.certificate) == "Certificate(1 unsafe cells adjusted, 9 cells)"


def test_changed_values_with_suppressions_raise():
    none = np.zeros(9, dtype=bool)
    withheld = TABLE.value == 5
    protection = Protection(withheld=withheld, secondary=none, value=TABLE.value + 1)
    with pytest.raises(ProtectionError, match="another table") as caught:
        audit(TABLE, NEED, Release.of(TABLE, protection))
    assert caught.value.where == "first cell row=1, column=1"


def test_insiders_do_not_apply_to_adjusted_values():
    none = np.zeros(9, dtype=bool)
    value = TABLE.value + np.ravel(square(0, 0, 0, 3))
    release = Release.of(TABLE, Protection(withheld=none, secondary=none, value=value))
    with pytest.raises(ParameterError, match="insiders"):
        audit(TABLE, NEED, release, insiders=Insider(contributions={}))


def too_near(content):
    content["published"] = list(content["values"])
    return "true value"


def not_far_enough(content):
    content["unsafe"][0]["upper"] = 4
    content["unsafe"][0]["lower"] = 4
    return "not far enough"


def negative(content):
    content["unsafe"][0]["lower"] = -9
    return "negative"


def broken_sum(content):
    content["published"][8] += 1
    return "published values do not add up"


def below_zero(content):
    content["published"] = [-1 if cell == 0 else x for cell, x in enumerate(content["published"])]
    return "outside its bounds"


def other_truth(content):
    content["values"][4] += 1
    return "does not add up"


def missing_value(content):
    del content["published"][0]
    return "not one number for each cell"


def unsafe_twice(content):
    content["unsafe"] *= 2
    return "occurs twice"


def withheld_too(content):
    content["withheld"] = [4]
    return "withheld"


FORGERIES = [
    too_near,
    not_far_enough,
    negative,
    broken_sum,
    below_zero,
    other_truth,
    missing_value,
    unsafe_twice,
    withheld_too,
]


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_rehashed_forgery_is_rejected(forge):
    found, _ = shown(square(0, 0, 0, 3))
    content = copy.deepcopy(dict(found.certificate.content))
    assert "far enough" in prove(content)
    reason = forge(content)
    content["sha256"] = fingerprint(content)
    with pytest.raises(Refuted, match=reason):
        prove(content)


def test_suppression_certificate_does_not_verify_as_adjustment(tmp_path):
    release = Release.of(TABLE, Protection.withhold(TABLE, TABLE.inner, NEED))
    content = dict(audit(TABLE, NEED, release).certificate.content)
    content["format"] = ADJUSTED
    content["sha256"] = fingerprint(content)
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    assert not verify(path).ok


@pytest.fixture
def folder(tmp_path) -> Path:
    found, protection = shown(square(1, 0, 0, 3))
    return write_release(tmp_path / "release", Outcome(protection, found))


def test_release_folder_verifies_and_passes_second_audit(folder):
    verdict = verify(folder)
    assert verdict.ok, verdict.reason
    assert "table.csv shows exactly the 9 cells" in verdict.reason
    assert audit(*read_release(folder)).safe
    cells = (folder / "checker" / "cells.csv").read_text("utf-8")
    assert cells.count("adjusted") == np.count_nonzero(square(1, 0, 0, 3))
    assert "adjusted for confidentiality" in (folder / "public" / "table.html").read_text("utf-8")


def test_public_file_with_true_values_is_rejected(folder, tmp_path):
    truth = tmp_path / "truth"
    shutil.copytree(folder, truth)
    path = truth / "public" / "table.csv"
    path.write_text(path.read_text("utf-8").replace("2,2,8,", "2,2,5,"), encoding="utf-8")
    assert path.read_text("utf-8") != (folder / "public" / "table.csv").read_text("utf-8")
    assert "not the file that was certified" in verify(truth).reason
    reseal(truth)
    verdict = verify(truth)
    assert not verdict.ok
    assert "not the certified value" in verdict.reason
