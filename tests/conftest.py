"""How every test runs: hypothesis profiles, and the ground truth beside the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

SHARED = Path(__file__).resolve().parents[1].parent / "shared"

# Numba compiles on the first call and machines are shared, so no test has a deadline.
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples on every run: a red build can be repeated, a green one is no luck.
settings.register_profile("ci", parent=settings.get_profile("local"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if SHARED.is_dir():
        return
    absent = pytest.mark.skip(reason="the shared ground truth (../shared) is not on this machine")
    for item in items:
        if "shared" in item.keywords:
            item.add_marker(absent)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Give the folder with papers, data and oracles; for tests marked ``shared``."""
    if not SHARED.is_dir():
        pytest.skip("the shared ground truth (../shared) is not on this machine")
    return SHARED
