from __future__ import annotations

from pathlib import Path

import pytest

from hitoku.checks.outputs import OUTPUT_TYPES

ROOT = Path(__file__).resolve().parents[3]
# The eight types of Kikuchi and Minami (2017), section 3.
EIGHT = {
    "frequency_table",
    "magnitude_table",
    "regression",
    "percentile",
    "mode",
    "concentration",
    "average",
    "summary",
}


def test_all_eight_types_of_the_paper_are_there():
    assert set(OUTPUT_TYPES) == EIGHT


@pytest.mark.parametrize("name", OUTPUT_TYPES)
def test_every_type_has_its_file_and_its_page(name):
    assert OUTPUT_TYPES[name].__module__ == f"hitoku.checks.outputs.{name}"
    assert (ROOT / "docs" / "reference" / "checks" / f"{name}.md").is_file()
