"""Tests that pass for everybody: the same examples on every run, and others only when they are asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import settings
from tests.test_architecture import ROOT

DRAWS = """
from hypothesis import given, settings, strategies as st

@settings(max_examples=3)
@given(st.integers())
def test_sample_property_holds(n):
    print("drawn", n)
    assert abs(n) < {limit}
"""


@pytest.fixture
def drawing(tmp_path):
    """A folder with a test that prints what it draws, under our configuration."""
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text("utf-8"), "utf-8")
    return tmp_path


def ran(folder, *words, limit="10**99"):
    (folder / "test_drawn.py").write_text(DRAWS.format(limit=limit), encoding="utf-8")
    command = [
        sys.executable,
        *words,
        "-s",
        "-p",
        "no:xdist",
        "-c",
        str(ROOT / "pyproject.toml"),
        str(folder),
    ]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def drawn(output):
    return [line for line in output.splitlines() if "drawn" in line]


def test_hypothesis_is_deterministic_by_default():
    assert settings.get_profile("same").derandomize
    assert settings.get_profile("same").database is None
    assert not settings.get_profile("fuzz").derandomize


def test_runs_draw_same_examples_by_default(drawing, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    first, second = (ran(drawing, "-m", "pytest") for _ in range(2))
    assert first.returncode == 0, first.stdout
    assert len(drawn(first.stdout)) == 3
    assert drawn(first.stdout) == drawn(second.stdout)


@pytest.mark.long
def test_seed_determines_the_draws(drawing):
    seven, again, eight = (ran(drawing, "-m", "tools.fuzz", "--seed", seed) for seed in ("7", "7", "8"))
    assert "1 round(s), no failures" in seven.stdout
    assert drawn(seven.stdout) == drawn(again.stdout) != drawn(eight.stdout)


def test_failure_reports_how_to_replay_it(drawing):
    found = ran(drawing, "-m", "tools.fuzz", "--seed", "7", limit="1")
    assert found.returncode == 1
    assert "@reproduce_failure(" in found.stdout
    assert "make fuzz SEED=7" in found.stdout
