"""The repository as a whole: what is declared, written in one place, and never written down."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.test_architecture import ROOT, SRC, imported, modules

# Modules that are installed under another name.
OTHER_NAMES = {"argon2": "argon2-cffi", "ibis": "ibis-framework"}
A_CLASS = re.compile("^class ", re.MULTILINE)
MACHINE_PATH = re.compile(r"(?<![\w.~])/(?:work|farm|root|home|Users|tmp/h)/")


def tracked() -> list[Path]:
    """Files that are, or are about to be, in the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607 - git of this machine
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
    )
    if listed.returncode:
        pytest.skip("not a git working tree")
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def test_third_party_imports_are_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    wanted = [*project["dependencies"], *(name for extra in extras for name in extra)]
    declared = {re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower() for requirement in wanted}
    declared |= {module for module, name in OTHER_NAMES.items() if name in declared}
    declared |= {"hitoku", "hitoku_papers", *sys.stdlib_module_names}
    undeclared = {
        f"{module} imports {first}"
        for path, module, is_package in modules()
        for name in imported(path.read_text("utf-8"), module, is_package=is_package)
        if (first := name.split(".")[0]) not in declared
    }
    assert not undeclared, sorted(undeclared)


def test_csv_files_are_written_in_one_place():
    """Only ``hitoku.files.write_csv`` puts a quote before what a spreadsheet would run."""
    writers = re.compile(r"csv\.(writer|DictWriter)\(|\.write_csv\(|\.to_csv\(")
    assert writers.search('csv.writer(file, lineterminator="x")')
    found = {
        path.relative_to(SRC).as_posix()
        for path in SRC.rglob("*.py")
        if writers.search(path.read_text("utf-8"))
    }
    # The demo's records are data that come in. The log's own writer is named like the method of a frame.
    assert found == {"files.py", "pipeline/demo_run.py", "review/pages/released_outputs.py"}


def test_files_contain_no_machine_path():
    binary = {".png", ".ico", ".parquet", ".xlsx", ".woff2", ".pdf"}
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in tracked()
        if path.suffix not in binary
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1)
        if MACHINE_PATH.search(line)
    ]
    assert not found


@pytest.mark.parametrize("line", [f"open('/{place}/main/x.csv')" for place in ("work", "home", "root")])
def test_machine_path_is_found(line):
    assert MACHINE_PATH.search(line)


def test_pins_contain_no_addresses():
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert pins
    assert [pin for pin in pins if not re.fullmatch(r"[\w.-]+==[\w.+!-]+", pin)] == []
    assert [path.name for path in tracked() if path.suffix == ".lock" or path.name == "pylock.toml"] == []


def classes_of_one_name(sources: dict[str, str]) -> dict[str, list[str]]:
    """Names that several classes have, and where; private ones are their module's own affair."""
    places: dict[str, list[str]] = {}
    for place, source in sources.items():
        for node in ast.parse(source).body if A_CLASS.search(source) else ():
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(place)
    return {name: found for name, found in places.items() if len(found) > 1}


def test_class_names_are_unique():
    sources = {path.relative_to(SRC).as_posix(): path.read_text("utf-8") for path in SRC.rglob("*.py")}
    assert classes_of_one_name(sources) == {}


def test_duplicate_class_name_is_found():
    one, other = "class Grid:\n    x = 1", "class Grid:\n    y = 2\nclass _Own: ..."
    assert classes_of_one_name({"a.py": one, "b.py": other, "c.py": "class _Own: ..."}) == {
        "Grid": ["a.py", "b.py"]
    }
