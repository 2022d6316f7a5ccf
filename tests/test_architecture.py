"""The tree is the architecture: who may import whom, how long files are, what they are called."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src" / "hitoku"
PAPERS = ROOT / "papers" / "hitoku_papers"
CODE = ("src", "papers", "tests", "bench", "tools")

# A layer may import itself and any layer before it; packages that share a layer do not know each other.
LAYERS = [
    {"messages", "lazy"},
    {"errors"},
    {"parameters"},
    {"files", "kernels", "toml"},
    {"model", "solver"},
    {"feasibility"},
    {"tabulation", "rules", "testing", "samples"},
    {"attacks"},
    {"coalitions"},
    {"metrics"},
    {"methods", "evidence"},
    {"checks"},
    {"io", "plots"},
    {"pipeline"},
    {"web"},
    {"cli", "review"},
    {"__main__"},
]
LAYER = {name: place for place, names in enumerate(LAYERS) for name in names}

# Doors: where a package of others may be known. Numpy is the only one without a door.
ONLY_IN = {
    "highspy": {"solver"},
    "numba": {"kernels"},
    "llvmlite": {"kernels"},
    "duckdb": {"tabulation"},
    "pyspark": {"tabulation"},
    "ibis": {"tabulation"},
    "pyarrow": {"tabulation", "checks.arrow_columns", "checks.records", "io.formats.tabular"},
    "narwhals": {
        "model",
        "tabulation",
        "evidence",
        "metrics",
        "checks.arrow_columns",
        "checks.records",
        "io",
    },
    "pandas": {
        "samples",
        "model.dimension",
        "tabulation.records",
        "checks.outputs",
        "io.marked_cells",
        "io.argus.microdata",
    },
    "scipy": {
        "model",
        "solver",
        "feasibility",
        "tabulation",
        "rules",
        "attacks",
        "coalitions",
        "methods",
        "evidence",
        "checks.outputs",
        "io",
    },
    "pydantic": {"parameters", "toml", "checks", "io.recipe", "review.settings"},
    "statsmodels": {"checks.outputs.regression"},
    "jinja2": {"io", "web.pages"},
    "joblib": {"attacks.matching", "pipeline"},
    "xlsxwriter": {"io.formats.xlsx"},
    "matplotlib": {"plots"},
    "typer": {"cli", "review.command"},
    "rich": {"cli"},
    "starlette": {"web", "review"},
    "uvicorn": {"review"},
    "sqlalchemy": {"review"},
    "alembic": {"review"},
    "argon2": {"review"},
    "joserfc": {"review.oidc"},
    "markupsafe": {"review.rendering"},
}
WITHOUT_A_DOOR = {"numpy"}
# Modules that are installed under another name.
OTHER_NAMES = {"argon2": "argon2-cffi", "ibis": "ibis-framework"}

# An attack uses published information only, and so does the toolbox that attacks share with methods.
WITHOUT_THE_TRUTH = {"attacks", "feasibility"}
THE_TRUTH = ("table", "table_parts", "link", "Table", "counted_table")

HOMELESS = {"utils", "util", "helpers", "helper", "common", "base", "misc"}
MAX_LINES = 540
A_CLASS = re.compile("^class ", re.MULTILINE)
BY_NAME = re.compile("import_module|__import__")
MACHINE_PATH = re.compile(r"(?<![\w.~])/(?:work|farm|root|home|Users|tmp/h)/")


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements inside a node, those of functions and classes, too."""
    for field in ("body", "orelse", "handlers", "finalbody", "cases"):
        for each in getattr(node, field, ()):
            yield each
            yield from statements(each)


@cache
def imported(source: str, module: str, *, is_package: bool = False) -> frozenset[str]:
    """Every dotted name a module imports: at the top, inside functions, for type checkers, by name.

    ``from a.b import c`` counts as ``a.b`` and ``a.b.c``, for ``c`` may be a module.
    """
    package = module if is_package else module.rpartition(".")[0]
    names: set[str] = set()
    tree = ast.parse(source)
    # Expressions are most of a file, and matter only where something is imported by its name.
    for node in ast.walk(tree) if BY_NAME.search(source) else statements(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                start = ".".join([*above, *filter(None, [node.module])])
            names.add(start)
            names.update(f"{start}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            function = (
                node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            )
            if function in {"import_module", "__import__"} and isinstance(node.args[0].value, str):
                names.add(node.args[0].value)
    return frozenset(names)


def complaints(source: str, module: str, *, is_package: bool = False) -> list[str]:
    """What a module imports against the arrows; empty when all is well."""
    if module == "hitoku":
        return []  # the front door shows everything
    if module.split(".", maxsplit=1)[0] == "hitoku_papers":
        return _of_the_papers(source, module, is_package=is_package)
    home = module.split(".")[1]
    if home not in LAYER:
        return [f"{module}: package {home!r} has no layer; add it to LAYERS"]
    found: list[str] = []
    for name in sorted(imported(source, module, is_package=is_package)):
        first, *rest = name.split(".")
        if first == "hitoku":
            found += _ours(module, home, rest)
        elif first not in sys.stdlib_module_names | WITHOUT_A_DOOR and not _behind_its_door(module, first):
            found.append(f"{module} imports {first}, which only {sorted(ONLY_IN.get(first, ()))} may know")
        if module.startswith("hitoku.evidence.verify") and first not in sys.stdlib_module_names:
            found.append(f"{module} imports {name}: a checker reads it with the standard library alone")
    return found


def _of_the_papers(source: str, module: str, *, is_package: bool) -> list[str]:
    """Papers may use all of hitoku but its applications, and nothing of hitoku may use them."""
    found = imported(source, module, is_package=is_package)
    return [
        f"{module} imports {name}, which belongs to an application"
        for name in sorted(found)
        if name.split(".")[:2] in (["hitoku", "cli"], ["hitoku", "review"])
    ]


def _behind_its_door(module: str, package: str) -> bool:
    places = (f"hitoku.{place}" for place in ONLY_IN.get(package, ()))
    return any(module == place or module.startswith(f"{place}.") for place in places)


def _ours(module: str, home: str, rest: list[str]) -> list[str]:
    if not rest:
        return [f"{module} imports hitoku itself: name the module that is meant"]
    target = rest[0]
    if target not in LAYER:
        return [f"{module} imports hitoku.{target}, which has no layer"]
    if home == "kernels" and target != "kernels":
        return [f"{module} imports hitoku.{target}: kernels import nothing of ours"]
    if home in WITHOUT_THE_TRUTH and target == "model" and rest[1:2] and rest[1] in THE_TRUTH:
        return [f"{module} imports hitoku.model.{rest[1]}: an attack sees the release only"]
    if target != home and LAYER[target] >= LAYER[home]:
        return [f"{module} imports hitoku.{target} against the arrows"]
    return []


def circle(sources: Mapping[str, tuple[str, bool]]) -> list[str]:
    """Modules that import each other in a circle, one such circle; empty when there is none.

    Imports inside functions and for type checkers count: what needs them knows the other module all the same.

    Parameters
    ----------
    sources
        By name of the module its source, and whether it is a package.
    """
    graph = {
        module: imported(source, module, is_package=is_package) & (sources.keys() - {module})
        for module, (source, is_package) in sources.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def modules() -> Iterator[tuple[Path, str, bool]]:
    for folder in (SRC, PAPERS):
        for path in sorted(folder.rglob("*.py")):
            parts = [folder.name, *path.relative_to(folder).with_suffix("").parts]
            is_package = parts[-1] == "__init__"
            yield path, ".".join(parts[:-1] if is_package else parts), is_package


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


def test_arrows_go_one_way():
    wrong = [
        complaint
        for path, module, is_package in modules()
        for complaint in complaints(path.read_text("utf-8"), module, is_package=is_package)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_import_goes_in_a_circle():
    found = circle({module: (path.read_text("utf-8"), package) for path, module, package in modules()})
    assert not found, " -> ".join(found)


@pytest.mark.parametrize(
    "back",
    [
        pytest.param("from hitoku.model.table import Table", id="plainly"),
        pytest.param("from . import table", id="relative"),
        pytest.param("def build():\n    from hitoku.model.table import Table", id="lazily"),
        pytest.param(
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from hitoku.model.table import Table",
            id="for type checkers",
        ),
    ],
)
def test_a_circle_is_noticed(back):
    sources = {
        "hitoku.model.table": ("from hitoku.model.link import link", False),
        "hitoku.model.link": ("from hitoku.model.parts import parts", False),
        "hitoku.model.parts": ("import numpy", False),
    }
    assert circle(sources) == []
    found = circle({**sources, "hitoku.model.parts": (back, False)})
    assert set(found) == set(sources)


@pytest.mark.parametrize("package", ONLY_IN)
def test_a_package_outside_its_door_is_noticed(package):
    for source in (f"import {package}", f"def f():\n    from {package}.part import name"):
        assert complaints(source, "hitoku.errors")
        for place in ONLY_IN[package]:
            assert complaints(source, f"hitoku.{place}") == []


def test_a_package_without_a_door_is_noticed():
    assert complaints("import requests", "hitoku.io.jj")


@pytest.mark.parametrize(
    ("module", "source"),
    [
        pytest.param("hitoku.model.table", "import hitoku.rules", id="against the arrows"),
        pytest.param("hitoku.model.table", "def f():\n    from hitoku.rules import dominance", id="lazily"),
        pytest.param(
            "hitoku.rules.dominance",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import hitoku.methods",
            id="for type checkers",
        ),
        pytest.param("hitoku.rules.dominance", "from ..methods import greedy", id="relative"),
        pytest.param("hitoku.rules.dominance", "import_module('hitoku.methods.greedy')", id="by name"),
        pytest.param("hitoku.rules.dominance", "from hitoku.tabulation import cube", id="within a layer"),
        pytest.param(
            "hitoku.methods.greedy", "from hitoku.evidence.audit import audit", id="pupil, examiner"
        ),
        pytest.param(
            "hitoku.evidence.audit", "from hitoku.methods.greedy import Greedy", id="examiner, pupil"
        ),
        pytest.param(
            "hitoku.kernels.flow", "from hitoku.errors import SolverError", id="kernels know nobody"
        ),
        pytest.param("hitoku.attacks.interval", "from hitoku.model.table import Table", id="attack, truth"),
        pytest.param("hitoku.attacks.interval", "from hitoku.model import table", id="attack, truth again"),
        pytest.param(
            "hitoku.attacks.interval", "from hitoku.model.table_parts import x", id="attack, builder"
        ),
        pytest.param(
            "hitoku.feasibility.problem", "from hitoku.model.table import Table", id="toolbox, truth"
        ),
        pytest.param("hitoku.feasibility.problem", "import hitoku.attacks.interval", id="toolbox, attack"),
        pytest.param("hitoku.attacks.interval", "import highspy", id="solver outside its door"),
        pytest.param("hitoku.methods.gauss", "from numba import njit", id="numba outside kernels"),
        pytest.param("hitoku.evidence.verify", "import numpy", id="verify, numpy"),
        pytest.param("hitoku.evidence.verify_blocks", "import numpy", id="verify_blocks, numpy"),
        pytest.param("hitoku.evidence.verify_witnesses", "import numpy", id="verify_witnesses, numpy"),
        pytest.param("hitoku.evidence.verify", "from hitoku.errors import HitokuError", id="verify, ours"),
        pytest.param("hitoku.evidence.verify", "from . import audit", id="verify, ours, relative"),
        pytest.param("hitoku.rules.dominance", "import hitoku as ht", id="the front door from inside"),
        pytest.param("hitoku.gadgets.thing", "", id="package without a layer"),
        pytest.param("hitoku_papers.page", "from hitoku.cli.terminal import echo", id="papers, cli"),
        pytest.param("hitoku_papers.page", "import hitoku.review.log", id="papers, review"),
        pytest.param("hitoku.pipeline.protect", "import hitoku_papers.page", id="back to the papers"),
        pytest.param("hitoku.cli.demo", "from hitoku.gadgets import thing", id="import without a layer"),
    ],
)
def test_an_offending_import_is_noticed(module, source):
    assert complaints(source, module)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        pytest.param("hitoku.model.table", "from hitoku.errors import TableError", id="to the left"),
        pytest.param("hitoku.model.table", "from hitoku.model.dimension import Labels", id="own package"),
        pytest.param("hitoku.evidence.audit", "from hitoku.model.table import Table", id="examiner, truth"),
        pytest.param(
            "hitoku.attacks.interval", "from hitoku.model.release import Release", id="attack, release"
        ),
        pytest.param("hitoku.solver.linear", "import highspy", id="solver behind its door"),
        pytest.param("hitoku.evidence.verify", "import json\nfrom fractions import Fraction", id="verify"),
        pytest.param("hitoku", "from hitoku.cli import main", id="the front door"),
        pytest.param("hitoku_papers.page", "from hitoku.io.jj import read_jj\nimport scipy", id="papers"),
    ],
)
def test_a_lawful_import_passes(module, source):
    assert complaints(source, module) == []


def test_every_third_party_import_is_declared():
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


def test_files_stay_short():
    code = [path for folder in CODE for path in (ROOT / folder).rglob("*.py")]
    lengths = {path.relative_to(ROOT): len(path.read_text("utf-8").splitlines()) for path in code}
    assert lengths
    long = {str(path): n for path, n in lengths.items() if n > MAX_LINES}
    assert not long, f"look for the second idea inside: {long}"


def test_every_file_is_named_after_what_it_is_about():
    homeless = [
        str(path.relative_to(ROOT))
        for folder in CODE
        for path in (ROOT / folder).rglob("*.py")
        if HOMELESS & {path.stem, path.parent.name}
    ]
    assert not homeless


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
    assert found == {"files.py", "pipeline/demo.py", "review/pages/leaving.py"}


def test_no_file_knows_the_machine_it_was_written_on():
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
def test_a_machine_path_is_noticed(line):
    assert MACHINE_PATH.search(line)


def test_pins_are_plain_and_addresses_nowhere():
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


def test_one_class_name_is_one_class():
    sources = {path.relative_to(SRC).as_posix(): path.read_text("utf-8") for path in SRC.rglob("*.py")}
    assert classes_of_one_name(sources) == {}


def test_a_class_name_that_occurs_twice_is_noticed():
    one, other = "class Grid:\n    x = 1", "class Grid:\n    y = 2\nclass _Own: ..."
    assert classes_of_one_name({"a.py": one, "b.py": other, "c.py": "class _Own: ..."}) == {
        "Grid": ["a.py", "b.py"]
    }
