from __future__ import annotations

import json
import os
from importlib import import_module

import pytest
from typer.testing import CliRunner

from hitoku.cli import app, jobs
from hitoku.cli.warm_up import BY_THEIR_CALLERS

JOBS = jobs()
# Modules whose kernels are called by kernels of others alone, and compiled with those.
WITHIN = {"cheapest_hypercube": "hypercube_routing"}


def test_jobs_name_existing_modules():
    named = [name for names in BY_THEIR_CALLERS.values() for name in names]
    assert len(named) == len(set(named))
    assert set(named) <= set(JOBS)


@pytest.mark.parametrize("name", JOBS)
def test_warm_up_job_compiles_kernels_of_module(name):
    JOBS[name]()
    kernels = [
        thing
        for thing in vars(import_module(f"hitoku.kernels.{WITHIN.get(name, name)}")).values()
        if hasattr(thing, "signatures")
    ]
    # Not all of them: what only other kernels call is not compiled apart once the cache is warm.
    assert any(kernel.signatures for kernel in kernels)


def test_warm_up_lists_compiled_kernels(monkeypatch):
    # Jobs are sent to other processes; one is enough, for each loads everything first.
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    done = CliRunner().invoke(app, ["warm-up", "--json"], catch_exceptions=False)
    assert done.exit_code == 0
    assert json.loads(done.stdout)["kernels"] == list(JOBS)
