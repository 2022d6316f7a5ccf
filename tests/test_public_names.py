"""Top-level package: every public name exists, is typed, and is loaded only when used."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module

import pytest
from tests.test_architecture import SRC

import hitoku

STUB = SRC / "__init__.pyi"
# Slow imports that `import hitoku` does not need.
HEAVY = {
    "numpy",
    "scipy",
    "pandas",
    "pyarrow",
    "numba",
    "duckdb",
    "highspy",
    "matplotlib",
    "joblib",
    "jinja2",
}


def loaded_by(*command: str) -> set[str]:
    """Run Python, which must succeed, and tell the modules that it has loaded."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *command], capture_output=True, text=True, check=True
    )
    timed = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line]
    assert "site" in timed, done.stderr
    return set(timed)


def test_importing_hitoku_loads_nothing_else():
    loaded = loaded_by("-c", "import hitoku")
    assert "hitoku" in loaded
    assert sorted(name for name in loaded if name.startswith("hitoku.")) == ["hitoku.lazy"]
    assert sorted(loaded & HEAVY) == []


def test_version_option_loads_nothing_heavy():
    loaded = loaded_by("-m", "hitoku", "--version")
    assert "hitoku.cli.commands" in loaded
    assert sorted(loaded & HEAVY) == []


def test_help_of_commands_loads_nothing_heavy():
    script = """
import typer
from hitoku.cli import guarded
from hitoku.cli.commands import app

for name, command in typer.main.get_command(app).commands.items():
    for inner in getattr(command, "commands", [""]):
        words = [name, *filter(None, [inner]), "--help"]
        assert guarded(lambda: app(args=words, prog_name="hitoku")) == 0
"""
    loaded = loaded_by("-c", script)
    assert "hitoku.cli.commands" in loaded
    assert sorted(loaded & HEAVY) == []


def test_heavy_import_is_found():
    assert loaded_by("-c", "import hitoku; hitoku.Table") & HEAVY


def promised() -> dict[str, tuple[str, str]]:
    """By public name, the module and the name in it that the stub gives."""
    return {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in ast.parse(STUB.read_text("utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_stub_matches_runtime_names():
    shown = promised()
    assert sorted(shown) == hitoku.__all__
    for name, (module, thing) in shown.items():
        there = (
            import_module(f"{module}.{thing}")
            if module == "hitoku"
            else getattr(import_module(module), thing)
        )
        assert getattr(hitoku, name) is there, name


def test_stub_lists_names_of_star_import():
    (listed,) = (
        ast.literal_eval(node.value)
        for node in ast.parse(STUB.read_text("utf-8")).body
        if isinstance(node, ast.Assign)
    )
    assert sorted(listed) == hitoku.__all__


def test_public_names_are_listed_before_loading():
    script = (
        "import hitoku; print(sorted(set(hitoku.__all__) - set(dir(hitoku)))); print(hitoku.methods.METHODS)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("[]\n{'")


def test_loaded_name_is_cached():
    assert vars(hitoku).get("Table", hitoku.Table) is vars(hitoku)["Table"]


@pytest.mark.parametrize("name", ["Tabel", "__wrapped__", "_homes"])
def test_unknown_name_raises_attribute_error(name):
    with pytest.raises(AttributeError, match=f"module 'hitoku' has no attribute '{name}'"):
        getattr(hitoku, name)


def test_missing_library_is_not_reported_as_name():
    script = "import sys; sys.modules['matplotlib'] = None; import hitoku; hitoku.plots.chart"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "ModuleNotFoundError" in done.stderr
    assert "matplotlib" in done.stderr.splitlines()[-1]
