"""The tree is the architecture: who may import whom, how long files are, what they are called."""

from __future__ import annotations

import ast
import re
import sys
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
    {"linking", "attacks"},
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

# Packages that may import each third-party library. Only numpy may be imported everywhere.
ONLY_IN = {
    "highspy": {"solver"},
    "numba": {"kernels"},
    "llvmlite": {"kernels"},
    "duckdb": {"tabulation"},
    "openpyxl": {"tabulation"},
    "pyspark": {"tabulation"},
    "ibis": {"tabulation"},
    "pyarrow": {"tabulation", "checks.arrow_columns", "checks.unit_records", "io.formats.tabular"},
    "narwhals": {
        "model",
        "tabulation",
        "evidence",
        "metrics",
        "checks.arrow_columns",
        "checks.unit_records",
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
        "linking",
        "attacks",
        "coalitions",
        "methods",
        "evidence",
        "checks.outputs",
        "io",
    },
    "pydantic": {"parameters", "toml", "checks", "io.recipe", "review.context"},
    "statsmodels": {"checks.outputs.regression"},
    "jinja2": {"io", "web.site"},
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

# An attack uses published information only, and so does the toolbox that attacks share with methods.
WITHOUT_THE_TRUTH = {"attacks", "feasibility"}
THE_TRUTH = ("table", "table_parts", "link", "Table", "counted_table")

# What others may import module by module: numba functions, solvers, and the verifier, which stands alone.
WITHOUT_A_FACADE = ("hitoku.kernels", "hitoku.solver", "hitoku.evidence.verify")

# Tests that reach into modules: the first lower a limit, or watch or break a call, where it is looked up; the
# others read a figure that a module works with, or test an algorithm that only its own module calls.
REACH_INSIDE = {
    "bench/method_stages.py",
    "tests/attacks/test_differencing_condensed.py",
    "tests/attacks/test_differencing_verifying.py",
    "tests/checks/submission/test_faults.py",
    "tests/cli/test_protect_recipe.py",
    "tests/cli/test_warm_up.py",
    "tests/coalitions/test_hypercube_deviations.py",
    "tests/coalitions/test_cell_witnesses.py",
    "tests/coalitions/test_coalition_search.py",
    "tests/coalitions/test_near_cell.py",
    "tests/evidence/test_certificate.py",
    "tests/evidence/test_derivable_groups.py",
    "tests/evidence/test_large_audit.py",
    "tests/evidence/test_prover.py",
    "tests/io/formats/test_xlsx.py",
    "tests/io/report/test_report.py",
    "tests/methods/adjust/test_choice.py",
    "tests/methods/circulation/test_circulation.py",
    "tests/methods/greedy/test_incremental_audit.py",
    "tests/methods/optimal/test_enumeration.py",
    "tests/methods/optimal/test_incumbent_search.py",
    "tests/methods/optimal/test_limits.py",
    "tests/methods/optimal/test_neighbourhoods.py",
    "tests/methods/optimal/test_relaxation.py",
    "tests/methods/optimal/test_row_pool.py",
    "tests/methods/randomised/test_scope.py",
    "tests/pipeline/test_batch.py",
    "tests/pipeline/test_recipe.py",
    "tests/tabulation/test_shared_records.py",
    "tests/tabulation/test_spark.py",
    "tests/tabulation/test_spill.py",
    "tests/tabulation/test_tabulate.py",
    "tests/test_tiny_limits.py",
    "tests/test_work_limits.py",
    "bench/proof.py",
    "bench/stages.py",
    "tests/attacks/test_adjustment.py",
    "tests/checks/outputs/test_dominated_values.py",
    "tests/checks/outputs/test_two_values.py",
    "tests/checks/principles/test_verdicts.py",
    "tests/feasibility/test_push.py",
    "tests/io/argus/sbs_reader.py",
    "tests/io/report/test_accessibility.py",
    "tests/io/report/test_bars.py",
    "tests/io/test_content_policy.py",
    "tests/methods/flagged_groups/test_flagged_groups.py",
    "tests/methods/gauss/test_core.py",
    "tests/methods/gauss/test_proof.py",
    "tests/methods/optimal/test_start.py",
    "tests/model/test_markup.py",
    "tests/pipeline/test_known_method.py",
}

HOMELESS = {"utils", "util", "helpers", "helper", "common", "base", "misc"}
MAX_LINES = 540
BY_NAME = re.compile("import_module|__import__")


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


@cache
def ours() -> dict[str, bool]:
    """Every module of hitoku by its dotted name, and whether it is a package."""
    return {
        ".".join(parts[:-1] if parts[-1] == "__init__" else parts): parts[-1] == "__init__"
        for path in SRC.rglob("*.py")
        for parts in [[SRC.name, *path.relative_to(SRC).with_suffix("").parts]]
    }


@cache
def offered(package: str) -> dict[str, str]:
    """Names that the stub of a package offers, each with the module that has it."""
    stub = SRC.parent.joinpath(*package.split("."), "__init__.pyi")
    if package == "hitoku" or not stub.exists():
        return {}
    found: dict[str, str] = {}
    for node in ast.parse(stub.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{package}."):
            inner = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name: path if path in ours() else str(node.module) for name, path in inner.items()}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = package
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = package
    return found


def behind(name: str) -> str:
    """Return the module that a name of a facade comes from; any other name as it is."""
    package, _, last = name.rpartition(".")
    return offered(package).get(last, name)


def past_facades(source: str, module: str) -> list[str]:
    """What a module imports that the facade of its package does not offer; empty when all is well.

    Modules of a package import each other directly, those of its subpackages, too.
    """
    found: list[str] = []
    for node in statements(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            start = node.module or ""
            if ours().get(start, True):  # a package, or not ours
                names = [f"{start}.{alias.name}" for alias in node.names if alias.name not in offered(start)]
            else:
                names = [start]
        for name in names:
            package = name.rpartition(".")[0]
            inside = f"{module}.".startswith(f"{package}.")
            exempt = inside or ours().get(name, False) or name.startswith(WITHOUT_A_FACADE)
            if package.startswith("hitoku.") and not exempt:
                found.append(f"{module} imports {name}: offer it in __init__.pyi of {package}")
    return found


def complaints(source: str, module: str, *, is_package: bool = False) -> list[str]:
    """What a module imports against the arrows; empty when all is well."""
    if module == "hitoku":
        return []  # the top-level package exports everything
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
    known = {*rest[1:], *behind(".".join(["hitoku", *rest])).split(".")[2:]}
    if home in WITHOUT_THE_TRUTH and target == "model" and not known.isdisjoint(THE_TRUTH):
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
        module: {
            name for each in imported(source, module, is_package=is_package) for name in (each, behind(each))
        }
        & (sources.keys() - {module})
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


def test_imports_follow_the_layers():
    wrong = [
        complaint
        for path, module, is_package in modules()
        for complaint in complaints(path.read_text("utf-8"), module, is_package=is_package)
    ]
    assert not wrong, "\n".join(wrong)


def test_imports_have_no_cycle():
    found = circle({module: (path.read_text("utf-8"), package) for path, module, package in modules()})
    assert not found, " -> ".join(found)


def test_packages_import_from_facades_only():
    wrong = [
        complaint
        for path, module, _ in modules()
        for complaint in past_facades(path.read_text("utf-8"), module)
    ]
    assert not wrong, "\n".join(wrong)


def test_tests_import_from_facades_only():
    wrong = [
        complaint
        for folder in ("tests", "papers/tests", "bench", "tools", "docs")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for place in [path.relative_to(ROOT).as_posix()]
        if place not in REACH_INSIDE
        for complaint in past_facades(path.read_text("utf-8"), place)
    ]
    assert not wrong, "\n".join(wrong)


def test_only_tests_that_reach_inside_are_exempted():
    idle = [
        place for place in sorted(REACH_INSIDE) if not past_facades((ROOT / place).read_text("utf-8"), place)
    ]
    assert not idle, f"these import facades only: take them out of REACH_INSIDE: {', '.join(idle)}"


@pytest.mark.parametrize(
    ("source", "n"),
    [
        pytest.param("from hitoku.model.table import Table", 1, id="a module behind the facade"),
        pytest.param("def f():\n    from hitoku.model.table import Table", 1, id="lazily"),
        pytest.param("from hitoku.model import tolerance", 1, id="a module through the facade"),
        pytest.param("import hitoku.model.table as t", 1, id="a module by its name"),
        pytest.param("from hitoku.model import no_such_name", 1, id="a name that is not offered"),
        pytest.param("from hitoku.rules import assess", 0, id="a function with the name of its module"),
        pytest.param("from hitoku.model import Table", 0, id="an offer"),
        pytest.param("from hitoku.checks import outputs", 0, id="a subpackage"),
        pytest.param("from hitoku.kernels import pivot\nimport numpy as np", 0, id="kernels have no facade"),
        pytest.param("from hitoku.attacks.attack import Attack", 0, id="the own package"),
    ],
)
def test_import_past_package_interface_is_found(source, n):
    assert len(past_facades(source, "hitoku.attacks.matching.matching")) == n


@pytest.mark.parametrize(
    "back",
    [
        pytest.param("from hitoku.model.table import Table", id="plainly"),
        pytest.param("from hitoku.model import Table", id="through the facade"),
        pytest.param("from . import table", id="relative"),
        pytest.param("def build():\n    from hitoku.model.table import Table", id="lazily"),
        pytest.param(
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from hitoku.model.table import Table",
            id="for type checkers",
        ),
    ],
)
def test_import_cycle_is_found(back):
    sources = {
        "hitoku.model.table": ("from hitoku.model.link import link", False),
        "hitoku.model.link": ("from hitoku.model.parts import parts", False),
        "hitoku.model.parts": ("import numpy", False),
    }
    assert circle(sources) == []
    found = circle({**sources, "hitoku.model.parts": (back, False)})
    assert set(found) == set(sources)


@pytest.mark.parametrize("package", ONLY_IN)
def test_misplaced_third_party_import_is_found(package):
    for source in (f"import {package}", f"def f():\n    from {package}.part import name"):
        assert complaints(source, "hitoku.errors")
        for place in ONLY_IN[package]:
            assert complaints(source, f"hitoku.{place}") == []


def test_unassigned_third_party_import_is_found():
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
        pytest.param("hitoku.attacks.interval", "from hitoku.model import Table", id="attack, offered truth"),
        pytest.param(
            "hitoku.attacks.interval", "from hitoku.model.table_parts import x", id="attack, builder"
        ),
        pytest.param(
            "hitoku.feasibility.problem", "from hitoku.model.table import Table", id="toolbox, truth"
        ),
        pytest.param("hitoku.feasibility.problem", "import hitoku.attacks.interval", id="toolbox, attack"),
        pytest.param("hitoku.attacks.interval", "import highspy", id="solver outside its package"),
        pytest.param("hitoku.methods.gauss", "from numba import njit", id="numba outside kernels"),
        pytest.param("hitoku.evidence.verify", "import numpy", id="verify, numpy"),
        pytest.param("hitoku.evidence.verify_blocks", "import numpy", id="verify_blocks, numpy"),
        pytest.param("hitoku.evidence.verify_witnesses", "import numpy", id="verify_witnesses, numpy"),
        pytest.param("hitoku.evidence.verify", "from hitoku.errors import HitokuError", id="verify, ours"),
        pytest.param("hitoku.evidence.verify", "from . import audit", id="verify, ours, relative"),
        pytest.param("hitoku.rules.dominance", "import hitoku as ht", id="the top-level package from inside"),
        pytest.param("hitoku.gadgets.thing", "", id="package without a layer"),
        pytest.param("hitoku_papers.page", "from hitoku.cli.terminal import echo", id="papers, cli"),
        pytest.param("hitoku_papers.page", "import hitoku.review.log", id="papers, review"),
        pytest.param("hitoku.pipeline.protect", "import hitoku_papers.page", id="back to the papers"),
        pytest.param("hitoku.cli.demo", "from hitoku.gadgets import thing", id="import without a layer"),
    ],
)
def test_forbidden_layer_import_is_found(module, source):
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
        pytest.param("hitoku.solver.linear", "import highspy", id="solver in its package"),
        pytest.param("hitoku.evidence.verify", "import json\nfrom fractions import Fraction", id="verify"),
        pytest.param("hitoku", "from hitoku.cli import main", id="the top-level package"),
        pytest.param("hitoku_papers.page", "from hitoku.io.jj import read_jj\nimport scipy", id="papers"),
    ],
)
def test_allowed_import_passes(module, source):
    assert complaints(source, module) == []


def test_files_stay_short():
    code = [path for folder in CODE for path in (ROOT / folder).rglob("*.py")]
    lengths = {path.relative_to(ROOT): len(path.read_text("utf-8").splitlines()) for path in code}
    assert lengths
    long = {str(path): n for path, n in lengths.items() if n > MAX_LINES}
    assert not long, f"look for the second idea inside: {long}"


def test_module_names_state_their_subject():
    homeless = [
        str(path.relative_to(ROOT))
        for folder in CODE
        for path in (ROOT / folder).rglob("*.py")
        if HOMELESS & {path.stem, path.parent.name}
    ]
    assert not homeless
