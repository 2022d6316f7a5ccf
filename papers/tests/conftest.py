"""The fixtures, hypothesis profile and skips of the tests of hitoku."""

from tests.faults.conftest import kitchen, swept

from tests.conftest import (
    pytest_collection_finish,
    pytest_collection_modifyitems,
    pytest_unconfigure,
    shared,
)

__all__ = [
    "kitchen",
    "pytest_collection_finish",
    "pytest_collection_modifyitems",
    "pytest_unconfigure",
    "shared",
    "swept",
]
