"""Tests of the contract of attacks: whoever breaks it is found out."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import find
from hypothesis.errors import NoSuchExample
from tests.attacks.test_contract import SOON, complaints, informative, leaks, outsider, telling

from hitoku.attacks import ATTACKS, Inference
from hitoku.model import Bounds, Estimates, Finding


@dataclass(frozen=True)
class Culprit:
    """An attack that needs nothing; its children break one promise each."""

    name = "culprit"
    assumes = "nothing"
    adjusted = False

    def infer(self, release):
        return Inference(bounds=ATTACKS["interval"]().bounds(release))


class Peeping(Culprit):
    def infer(self, release):
        bounds = ATTACKS["interval"]().bounds(release)
        middle = np.where(
            np.isfinite(bounds.upper), np.floor((bounds.lower + bounds.upper) / 2), bounds.lower
        )
        return Inference(bounds=Bounds(lower=middle, upper=middle))


class Fickle(Culprit):
    def infer(self, release):
        bounds = ATTACKS["interval"]().bounds(release)
        return Inference(bounds=replace(bounds, upper=bounds.upper + np.random.default_rng().random()))


class Alarmist(Culprit):
    def infer(self, release):
        return Inference(findings=(Finding(severity="fail", place=release.describe(0), reason="it is so"),))


class Guessing(Culprit):
    def infer(self, release):
        n = release.n_cells
        guess = np.full((1, n), -1.0)
        return Inference(estimates=Estimates(value=guess, soft=[False], excess=np.zeros((1, n))))


class Blabbing(Culprit):
    def __repr__(self):
        return "Blabbing(own amount 4711)"


class Idle(Culprit):
    def infer(self, release):
        ends = np.where(release.withheld, release.lower, release.published)
        return Inference(bounds=Bounds(lower=ends, upper=np.where(release.withheld, release.upper, ends)))


def test_honest_attack_passes_the_contract():
    """Else the tests below would show nothing."""
    case = find(outsider(lambda _: Culprit()), informative, settings=SOON)
    assert complaints(case) == []
    assert leaks(Culprit(), case.release) == []


@pytest.mark.parametrize("kind", [Peeping, Fickle, Alarmist, Guessing])
def test_wrong_attack_fails_the_contract(kind):
    find(outsider(lambda _: kind()), lambda case: bool(complaints(case)), settings=SOON)


def test_attack_without_result_fails_the_contract():
    with pytest.raises(NoSuchExample):
        find(outsider(lambda _: Idle()), informative, settings=SOON)


def test_attack_printing_its_knowledge_fails_the_contract():
    assert leaks(Blabbing(), telling("interval")[1]) == ["4711"]


HERE = "tests/attacks/test_contract.py"
LIAR = """
import numpy as np
from dataclasses import dataclass
from typing import ClassVar
from hitoku.attacks.attack import Inference
from hitoku.model import Bounds

@dataclass(frozen=True)
class Liar:
    name: ClassVar[str] = "liar"
    assumes: ClassVar[str] = "that every cell is minus one"
    adjusted: ClassVar[bool] = False

    def infer(self, release):
        ends = np.full(release.n_cells, -1.0)
        return Inference(bounds=Bounds(lower=ends, upper=ends))
"""
PLANT = """
import hitoku.attacks
hitoku.attacks.__path__.append({folder!r})
if {registered}:
    from hitoku.attacks.liar import Liar
    hitoku.attacks.ATTACKS["liar"] = hitoku.attacks.Liar = Liar
    hitoku.attacks.__all__.append("Liar")
"""


def run_planted(tmp_path: Path, *, registered: bool, only: str) -> str:
    """Run this file's tests with one more file among the attacks; return which of them fail."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "liar.py").write_text(LIAR, encoding="utf-8")
    plant = PLANT.format(folder=str(tmp_path / "more"), registered=registered)
    (tmp_path / "planted.py").write_text(plant, encoding="utf-8")
    root = Path(__file__).parents[2]
    words = ["-p", "planted", "-n", "0", "-q", "-rfp", "--tb=line", "-k", only, "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, HERE],
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def test_registered_wrong_attack_fails_the_suite(tmp_path):
    said = run_planted(tmp_path, registered=True, only="(liar and meets_its_contract) or folder_and_registry")
    assert f"FAILED {HERE}::test_attack_meets_its_contract[liar]" in said
    # Its line in the registry is in order, what it says is not.
    assert f"PASSED {HERE}::test_folder_and_registry_agree" in said


def test_unregistered_attack_fails_the_suite(tmp_path):
    said = run_planted(
        tmp_path, registered=False, only="folder_and_registry or every_attack_class_is_registered"
    )
    assert "an attack has a file or folder of its name, and a line in ATTACKS" in said
    assert "Liar is not in ATTACKS" in said
    assert f"FAILED {HERE}::test_folder_and_registry_agree" in said
    assert f"FAILED {HERE}::test_every_attack_class_is_registered" in said
