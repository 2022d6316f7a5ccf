"""How every test runs: hypothesis profiles, and the ground truth beside the repository."""

from __future__ import annotations

import gc
from functools import cache
from pathlib import Path

import pytest
import typer.main
import typer.testing
from hypothesis import HealthCheck, settings

SHARED = Path(__file__).resolve().parents[1].parent / "shared"

# Numba compiles on the first call and machines are shared, so no test has a deadline. The same examples on
# every run, for everybody: a red build can be repeated, a green one is no luck.
SLOW = [HealthCheck.too_slow]
settings.register_profile(
    "same", deadline=None, suppress_health_check=SLOW, derandomize=True, database=None, max_examples=20
)
# Other examples with every seed; make fuzz asks for it.
settings.register_profile(
    "fuzz", settings.get_profile("same"), derandomize=False, print_blob=True, max_examples=100
)
settings.load_profile("same")

# Thousands of tests are collected, and stay: looking for garbage among them takes a quarter of that time. It
# is not looked for until they are there, and they are left out of every later search.
gc.disable()


# The command line is put together once, not for every test that runs a command: it takes longer than many.
typer.main.get_command = typer.testing._get_command = cache(typer.main.get_command)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if SHARED.is_dir():
        return
    absent = pytest.mark.skip(reason="the shared ground truth (../shared) is not on this machine")
    for item in items:
        if "shared" in item.keywords:
            item.add_marker(absent)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # what is never freed is reported as a leak


@pytest.fixture(scope="session")
def shared() -> Path:
    """Give the folder with papers, data and oracles; for tests marked ``shared``."""
    if not SHARED.is_dir():
        pytest.skip("the shared ground truth (../shared) is not on this machine")
    return SHARED
