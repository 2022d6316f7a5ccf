"""What an attack infers, held against the need; the attacks here say what they are told to say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from hitoku.attacks import Attack, Contribution, Inference, Insider
from hitoku.evidence import judge_attack
from hitoku.model import Bounds, Estimates, Finding, Need, Protection, Release, Severity, Table

TABLE = Table.from_array([[7, 11], [10, 60]])
NEED = Need(unsafe=(TABLE.value == 7) | (TABLE.value == 60), lower=2.0)
RELEASE = Release.of(TABLE, Protection.withhold(TABLE, TABLE.inner))


@dataclass(frozen=True)
class Told:
    """An attack with a given answer."""

    answer: Inference
    name = "told"
    assumes = "the answer"
    adjusted = False

    def infer(self, release):
        del release
        return self.answer


def judged(**parts):
    attack = Told(Inference(**parts))
    assert isinstance(attack, Attack)
    return [(f.severity, f.place, f.reason) for f in judge_attack(attack, TABLE, NEED, RELEASE)]


def bounds(below, *, unknown=False):
    return Bounds(lower=TABLE.value - below, upper=TABLE.value, unknown=unknown)


@pytest.mark.parametrize(
    ("below", "places"),
    [
        pytest.param(2.0, [], id="just far enough"),
        pytest.param(1.0, ["row=1, column=1", "row=2, column=2"], id="too close, to unsafe cells only"),
        pytest.param(np.where(TABLE.value == 60, 1.0, 5.0), ["row=2, column=2"], id="too close to one"),
    ],
)
def test_bounds_are_compared_with_the_need(below, places):
    reason = "attack told comes closer to the cell than required"
    assert judged(bounds=bounds(below)) == [(Severity.FAIL, place, reason) for place in places]


def test_unfinished_attack_is_neither_disclosure_nor_safety():
    unknown = TABLE.value == 7
    said = judged(bounds=bounds(np.where(unknown, 0.0, 3.0), unknown=unknown))
    assert said == [
        (Severity.REVIEW, "unsafe cells", "attack told did not decide 1 of them"),
    ]


@pytest.mark.parametrize(("hits", "found"), [(0, 0), (1, 0), (2, 1), (3, 1)])
def test_estimates_count_when_most_replications_hit(hits, found):
    value = np.tile(TABLE.value + 5.0, (3, 1))
    value[:hits, TABLE.value == 60] = 60.0
    estimates = Estimates(value=value, soft=[False] * 3, excess=np.zeros_like(value))
    said = judged(estimates=estimates)
    assert len(said) == found
    if found:
        assert said[0][1:] == ("row=2, column=2", f"the true value is recovered in {hits} of 3 replications")


@pytest.mark.parametrize(("off", "found"), [(0.995e-6, 1), (1.005e-6, 0)])
def test_recovery_tolerance_is_one_millionth(off, found):
    value = np.where(TABLE.value == 60, 60 * (1 + off), TABLE.value + 5.0)[None]
    estimates = Estimates(value=value, soft=[False], excess=np.zeros_like(value))
    assert len(judged(estimates=estimates)) == found


def test_attack_findings_are_kept():
    own = Finding(severity=Severity.FAIL, place="somewhere", reason="it is so")
    assert judged(findings=(own,)) == [(Severity.FAIL, "somewhere", "it is so")]
    assert judged() == []


@pytest.mark.parametrize("amount", [4.0, 6.0])
def test_prior_insider_knowledge_is_not_a_disclosure(amount):
    """Of a cell of 7 somebody has 6: it is no less than 6 to them, whatever is withheld."""
    attack = Insider([Contribution("A", cell=0, amount=amount)])
    need = Need(unsafe=TABLE.value == 7, lower=np.where(TABLE.value == 7, 2.0, 0.0))
    assert [f.place for f in judge_attack(attack, TABLE, need, RELEASE)] == []
    # By its bounds alone the second would fail.
    assert need.met(TABLE.value, attack.infer(RELEASE).bounds)[0] == (amount <= 5)


def test_insider_inference_from_release_is_a_disclosure():
    attack = Insider([Contribution("A", cell=0, amount=7.0, sole=True)])
    assert [f.place for f in judge_attack(attack, TABLE, NEED, RELEASE)] == ["row=2, column=2"]
