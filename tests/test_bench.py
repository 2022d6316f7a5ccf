"""Every benchmark runs from first to last in a short mode, so that none is left behind by a change."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Arguments for which each takes seconds.
SHORT = {
    "adjust": "--only 2d_20 --ways hitoku highs",
    "blocks": "--sides 8 --seeds 1 --families lognormal --large 0",
    "checks": "--records 5000 --jobs 5",
    "differencing": "--units 20000 --outputs 4 --new 1 --wild 4 --disk 2 --chains 1",
    "forgery": "",
    "gauss": "--only 2d_20",
    "greedy": "--only 3d_10",
    "insiders": "--only activity_size",
    "interval": "--only 2d_50 --rival 1",
    "known_method": "--sides 8 --methods blocks greedy --walks 1 --steps 2",
    "large": "--only h3_1k",
    "matching": "--sides 3 --tables 2 --limit 10000",
    "method_stages": "--short",
    "optimal": "--only v2d_20 --limit 5",
    "out_of_core": "--records 2000",
    "proof": "--short",
    "publications": "--only four",
    "randomised": "--sizes 4 --tables 1 --strengths 1",
    "relations": "",
    "releases": "--kills 2 --concurrent 2",
    "review": "--checkers 2 --requests 2 --outputs 2 --rate 5 --seconds 1 --each 1",
    "shapes": "s15/250 --out shapes.json",
    "spark": "--records 1000 --ways duckdb",
    "stages": "--short",
    "startup": "--repeats 1",
    "tabulation": "--records 2000",
    "tau_argus": "--records 1000",
}


def test_every_benchmark_has_a_short_mode():
    assert {path.stem for path in (ROOT / "bench").glob("[a-z]*.py")} == SHORT.keys()


@pytest.mark.long
@pytest.mark.parametrize("name", SHORT)
def test_benchmark_runs_in_short_mode(name, tmp_path):
    environment = {
        **os.environ,
        "BENCH_OUT": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
    }
    command = [sys.executable, "-m", f"bench.{name}", *SHORT[name].split()]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
