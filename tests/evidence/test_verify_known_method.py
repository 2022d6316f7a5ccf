"""The claim of a certificate about an attacker who knows the method, checked in plain Python."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitoku.evidence import audit, verify, verify_blocks, verify_witnesses
from hitoku.methods.blocks import Blocks, Terms, expectation, pattern, tree
from hitoku.methods.greedy import Greedy
from hitoku.model import Status, Table
from hitoku.pipeline import protect_table
from hitoku.rules import MinFrequency

RULES = [MinFrequency(5)]
# Claims that are not written as claims are.
UNREADABLE = ("an empty claim", "unknown method", "unknown split", "no expectation", "without numbers")


def counts(rows=14, columns=11, seed=3):
    rng = np.random.default_rng(seed)
    return rng.poisson(np.outer(rng.lognormal(0, 1, rows), rng.lognormal(0, 1, columns)) * 25) + 1


def certified(method=None, seed=3):
    outcome = protect_table(Table.from_array(counts(seed=seed)), RULES, method=method or Blocks(), width=9)
    return dict(outcome.audit.certificate.content)


def judged(tmp_path, content, *, sign=True):
    if sign:
        content = {**content, "sha256": verify.fingerprint(content)}
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(content))
    return verify.verify(path)


@settings(deadline=None, max_examples=39)
@given(data=st.data())
def test_verifier_reproduces_the_method_pattern(data):
    rows, columns = data.draw(st.integers(2, 13)), data.draw(st.integers(2, 13))
    seed, mean = data.draw(st.integers(0, 10**6)), data.draw(st.sampled_from([2, 8, 40]))
    rng = np.random.default_rng(seed)
    values = rng.poisson(rng.gamma(1, mean, (rows, columns)))
    threshold, width = data.draw(st.integers(2, 6)), data.draw(st.integers(2, 12))
    zeros, split = data.draw(st.booleans()), data.draw(st.sampled_from(["count", "mass"]))
    given_table = rng.poisson(20, values.shape) if data.draw(st.booleans()) else None
    expected = expectation(values.sum(axis=1), values.sum(axis=0), given_table)
    fast = pattern(tree(expected, split), values, Terms.below(values.shape, threshold, width, zeros=zeros))
    node = verify_blocks.rectangles(expected.tolist(), list(range(rows)), list(range(columns)), split)
    plain = verify_blocks.blocks(
        node, values.tolist(), verify_blocks.SmallCounts(0 if zeros else 1, threshold - 1, width)
    )
    assert plain == {(int(i), int(j)) for i, j in np.argwhere(fast)}


@pytest.mark.parametrize("split", ["count", "mass"])
def test_blocks_release_carries_a_verified_claim(tmp_path, split):
    content = certified(Blocks(split=split))
    assert "known_method" in content
    verdict = judged(tmp_path, content, sign=False)
    assert verdict.ok
    assert "an attacker who knows the method of blocks is left with a width of 9" in verdict.reason


def test_witnesses_alone_also_prove_the_claim(tmp_path):
    content = certified()
    n = len(content["unsafe"])
    assert n > 1
    assert f"without it, by witnesses, for {n} of {n}" in judged(tmp_path, content, sign=False).reason


def test_fractional_witness_is_skipped_and_later_ones_count(tmp_path):
    content = certified()
    first, n = content["witnesses"][0], len(content["unsafe"])
    halves = {**first, "denominator": 2, "differences": [2 * int(d) for d in first["differences"]]}
    content["witnesses"] = [halves, *content["witnesses"]]
    content["unsafe"] = [
        {**need, **{side: need[side] + 1 for side in ("low", "high") if need[side] is not None}}
        for need in content["unsafe"]
    ]
    verdict = judged(tmp_path, content)
    assert verdict.ok, verdict.reason
    assert f"without it, by witnesses, for {n} of {n}" in verdict.reason


def test_empty_table_has_zero_expectation():
    expected = verify_blocks.expectation({"expected": None}, [[0, 0], [0, 0]], verify.demand)
    assert expected == [[0, 0], [0, 0]]


def test_witness_with_another_pattern_does_not_prove_claim(tmp_path):
    """The prover of every certificate does not know the method: its witnesses break what the reader sees."""
    outcome = protect_table(Table.from_array(counts()), RULES, method=Blocks(), width=9)
    again = audit(outcome.table, outcome.need, outcome.release, known_method=outcome.protection.known_method)
    plain = dict(again.certificate.content)
    told = judged(tmp_path, plain, sign=False)
    n = len(plain["unsafe"])
    assert told.ok
    assert f"for {n} of {n}" not in told.reason


def test_claim_needs_both_verifier_files(tmp_path):
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(certified()))
    shutil.copy(verify.__file__, tmp_path / "verify.py")
    command = [sys.executable, "-I", "-S", str(tmp_path / "verify.py"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "needs verify_blocks.py beside verify.py" in done.stdout
    shutil.copy(verify_blocks.__file__, tmp_path / "verify_blocks.py")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "is left with a width of 9" in done.stdout


def test_public_expectation_is_part_of_the_claim(tmp_path):
    content = certified(Blocks(expected=counts(seed=8)))
    assert judged(tmp_path, content, sign=False).ok
    without = {**content, "known_method": {**content["known_method"], "expected": None}}
    assert not judged(tmp_path, without).ok


def test_certificates_of_other_methods_keep_their_meaning(tmp_path):
    content = certified(Greedy(keep="margins"))
    assert "known_method" not in content
    verdict = judged(tmp_path, content, sign=False)
    assert verdict.ok
    assert "knows the method" not in verdict.reason


def test_pattern_of_another_method_carries_no_claim(tmp_path):
    blocks, greedy = certified(), certified(Greedy(keep="margins"))
    forged = {**greedy, "known_method": blocks["known_method"]}
    verdict = judged(tmp_path, forged)
    assert not verdict.ok
    assert "withholds other cells" in verdict.reason


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param({"width": 8}, "requires more", id="a smaller width than the cells require"),
        pytest.param({"width": 10**6}, "totals alone", id="a width that the totals do not allow"),
        pytest.param({"last": 3}, "other cells are unsafe", id="another threshold"),
        pytest.param({"first": 2}, "an empty claim", id="counts from two on"),
        pytest.param({"rows": 13}, "another table", id="another shape"),
        pytest.param({"rows": 11, "columns": 14}, "other sums", id="rows and columns exchanged"),
        pytest.param({"method": "greedy"}, "unknown method", id="another method"),
        pytest.param({"version": 4}, "unknown method", id="another version"),
        pytest.param({"split": "halves"}, "unknown split", id="another split"),
        pytest.param({"expected": [[1, 2], [3, 4]]}, "no expectation", id="an expectation of another table"),
        pytest.param({"width": "9"}, "without numbers", id="a width in words"),
        pytest.param({"rows": "12"}, "without numbers", id="rows in words"),
    ],
)
def test_altered_claim_is_refuted(tmp_path, change, reason):
    content = certified()
    verdict = judged(tmp_path, {**content, "known_method": {**content["known_method"], **change}})
    assert not verdict.ok
    assert reason in verdict.reason
    # What cannot be read is no certificate; what can is refuted.
    assert verdict.code == (2 if reason in UNREADABLE else 1)


@pytest.mark.parametrize(
    ("first", "never"),
    [
        # The second of the row is 1 of a column of 4, so the first is at least 11 - 4 = 7, or 8 - 4 = 4.
        pytest.param(10, True, id="at least seven"),
        pytest.param(7, False, id="four is unsafe"),
    ],
)
def test_sums_of_suppressed_counts_exclude_unsafe_cell(first, never):
    rule = verify_blocks.SmallCounts(1, 4, 3)
    table = {(0, 0): first, (0, 1): 1, (1, 0): 2, (1, 1): 3, (1, 2): 9}
    assert verify_witnesses.never_unsafe((0, 0), table, rule) is never


def test_adjusted_values_carry_no_claim(tmp_path):
    content = certified()
    moved = {**content, "format": verify.ADJUSTED, "published": content["values"], "withheld": []}
    assert judged(tmp_path, moved).code == 2
    assert "wrong format" in judged(tmp_path, moved).reason


def test_certificate_without_claim_does_not_prove_row(tmp_path):
    content = certified()
    assert "method" in {row.attacker for row in judged(tmp_path, content).rows}
    bare = {name: part for name, part in content.items() if name != "known_method"}
    answer = judged(tmp_path, bare)
    assert answer.ok
    assert [row.attacker for row in answer.rows] == ["outsider"]


def test_table_with_known_bounds_carries_no_claim(tmp_path):
    content = certified()
    upper = [*content["upper"]]
    upper[0] = content["values"][-1]
    assert "upper bounds" in judged(tmp_path, {**content, "upper": upper}).reason


def test_additional_relation_invalidates_the_claim(tmp_path):
    content = certified()
    twice = [*content["relations"], content["relations"][0]]
    assert "other sums" in judged(tmp_path, {**content, "relations": twice}).reason


def test_empty_line_keeps_the_claim_valid(tmp_path):
    values = counts()
    values[4] = 0
    outcome = protect_table(Table.from_array(values), RULES, method=Blocks(), width=9)
    assert outcome.protection.known_method is not None
    assert judged(tmp_path, dict(outcome.audit.certificate.content), sign=False).ok


def test_mixed_rules_carry_no_claim():
    table = Table.from_array(counts() + 20)
    width = np.where(np.arange(table.n_cells) % 2, 9, 7)
    assert protect_table(table, RULES, method=Blocks(), width=width).protection.known_method is None


def test_audit_verifies_the_claim():
    table = Table.from_array(counts())
    outcome = protect_table(table, RULES, method=Blocks(), width=9)
    assert outcome.audit.withstands_known_method is True
    assert (
        protect_table(table, RULES, method=Greedy(keep="margins"), width=9).audit.withstands_known_method
        is None
    )
    greedy = protect_table(table, RULES, method=Greedy(keep="margins"), width=9)
    forged = audit(table, greedy.need, greedy.release, known_method=outcome.protection.known_method)
    assert forged.withstands_known_method is False


@pytest.mark.parametrize(
    ("method", "status"), [(Blocks(), Status.PROVED), (Greedy(keep="margins"), None)], ids=str
)
def test_verdict_covers_attacker_knowing_the_method(method, status):
    outcome = protect_table(Table.from_array(counts()), RULES, method=method, width=9)
    row = outcome.verdict["method"]
    assert row.status is status if status else row.status is not Status.PROVED
