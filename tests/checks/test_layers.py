"""Layers of ``checks``: each module or package imports only from those before it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hitoku import checks

FOLDER = Path(checks.__file__).parent
LAYERS = (
    "arrow_columns",
    "unit_records",
    "policies",
    "evidence",
    "principles",
    "ledger",
    "outputs",
    "decisions",
    "submission",
    "session",
)


def imported(path):
    """Return the layers that a file imports from."""
    return set(re.findall(r"(?:from|import) hitoku\.checks\.(\w+)", path.read_text("utf-8")))


def test_layers_list_every_module():
    found = {
        path.stem for path in FOLDER.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()
    }
    assert found - {"__init__"} == set(LAYERS)


@pytest.mark.parametrize("layer", LAYERS)
def test_layer_imports_only_earlier_layers(layer):
    files = list((FOLDER / layer).rglob("*.py")) or [FOLDER / f"{layer}.py"]
    allowed = {layer, *LAYERS[: LAYERS.index(layer)]}
    assert {path.name: sorted(imported(path) - allowed) for path in files if imported(path) - allowed} == {}


def test_session_imports_several_layers():
    files = (FOLDER / "session").rglob("*.py")
    assert set().union(*map(imported, files)) >= {"outputs", "submission", "policies"}
