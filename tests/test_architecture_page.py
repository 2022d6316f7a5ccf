"""The page for maintainers says what is there: tree, layers, flows and paths are held against the sources."""

from __future__ import annotations

import ast
import re

import pytest
from tests.test_architecture import LAYERS, ROOT, SRC, behind, imported, modules
from tests.test_docs import blocks

PAGE = ROOT / "docs" / "explanation" / "architecture.md"
GUIDE = ROOT / "CONTRIBUTING.md"
STEP = re.compile(r"^\| [^|]+ \| `(?P<file>[^`]+)` \| `(?P<name>\w+)` \| (?P<gives>[^|]+) \|$", re.MULTILINE)
PATH = re.compile(r"`(?P<path>[\w.<>/-]+)`")
# What make and hitoku write, and the folders of a release.
WRITTEN = {".venv", "site/", "demo-release/", "public/", "checker/"}


def section(page: str, heading: str) -> str:
    return page.split(f"\n## {heading}\n")[1].split("\n## ", maxsplit=1)[0]


def listed(tree: str) -> set[str]:
    """Packages and modules of a tree, one per line, with words about each."""
    lines = [re.fullmatch(r"(\S+)  +(\S.*)", line) for line in tree.splitlines()]
    assert all(lines), [line for line, match in zip(tree.splitlines(), lines, strict=True) if not match]
    return {match[1] for match in lines if match}


def there() -> set[str]:
    packages = {path.parent.relative_to(SRC) for path in SRC.glob("*/**/__init__.py")}
    return {path.name for path in SRC.glob("*.py")} | {f"{package.as_posix()}/" for package in packages}


def layers(arrows: str) -> list[set[str]]:
    return [set(map(str.strip, layer.split(","))) for layer in re.split(r"\s*<-\s*", arrows.strip())]


def drawn_layers() -> list[set[str]]:
    """The layers that the test of imports knows, as far as they are built."""
    built = {path.stem for path in SRC.iterdir()} - {"__main__"}
    return [layer & built for layer in LAYERS if layer & built]


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text("utf-8")


def test_architecture_page_shows_the_existing_tree(page):
    (tree,) = (block.text for block in blocks(section(page, "The tree")))
    assert listed(tree) == there()


def test_architecture_page_shows_the_tested_layers(page):
    (arrows,) = (block.text for block in blocks(page) if "<-" in block.text and block.info == "text")
    assert layers(arrows) == drawn_layers()


@pytest.mark.parametrize(
    ("heading", "picture"),
    [
        ("From a recipe to a report", "flow-recipe.svg"),
        ("From a session to a check", "flow-session.svg"),
    ],
)
def test_flow_steps_exist_and_are_in_picture(page, heading, picture):
    steps = [match.groupdict() for match in STEP.finditer(section(page, heading))]
    assert len(steps) > 5
    for step in steps:
        source = ast.parse((SRC / step["file"]).read_text("utf-8"))
        names = {node.name for node in ast.walk(source) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        assert step["name"] in names, step
    wanted = [word for step in steps for word in (step["name"], step["gives"])]
    drawn = re.findall(r">([^<>]+)</text>", (ROOT / "docs" / "images" / picture).read_text("utf-8"))
    # The names of the packages come first.
    assert drawn[-len(wanted) :] == wanted, "draw it again: python docs/flows.py"


def missing(text: str) -> list[str]:
    """Paths of a text that lead nowhere, from the root or among the sources; of <name>, its folder counts."""
    paths = {match["path"] for match in PATH.finditer(text) if "/" in match["path"]}
    paths |= {
        match["path"]
        for match in PATH.finditer(text)
        if re.search(r"\w\.(py|pyi|md|toml|txt)$", match["path"])
    }
    plain = {
        path: path.partition("<")[0].rpartition("/")[0] if "<" in path else path for path in paths - WRITTEN
    }
    return sorted(
        path for path, place in plain.items() if not any((root / place).exists() for root in (ROOT, SRC))
    )


@pytest.mark.parametrize("text", [PAGE, GUIDE], ids=lambda path: path.name)
def test_architecture_page_paths_exist(text):
    assert missing(text.read_text("utf-8")) == []


def test_missing_path_is_found():
    text = (
        "`rules/rule.py`, `rules/<name>.py`, `docs/index.md`, `app/main.py`, `gadgets/<name>.py`, `utils.py`"
    )
    assert missing(text) == ["app/main.py", "gadgets/<name>.py", "utils.py"]


def test_undocumented_package_is_found():
    assert listed("model/    words\nio/argus/  more words\n") == {"model/", "io/argus/"}
    with pytest.raises(AssertionError):
        listed("model/\n")
    assert layers("a <- b, c\n  <- d") == [{"a"}, {"b", "c"}, {"d"}]


COLUMN = {
    "methods/greedy": "greedy",
    "methods/circulation": "circulation",
    "methods/optimal": "optimal",
    "methods": "other methods",
}


def column_of(path: str) -> str:
    """Return the column of the table of users that a module belongs to."""
    parts = path.split("/")
    own = "/".join(parts[:2])
    return COLUMN.get(own, COLUMN.get(parts[0], parts[0]))


def users_of_feasibility() -> dict[str, set[str]]:
    """By module of the toolbox, the columns of the packages that import it."""
    users: dict[str, set[str]] = {}
    for path, module, is_package in modules():
        if not path.is_relative_to(SRC) or path.is_relative_to(SRC / "feasibility"):
            continue
        name = path.relative_to(SRC).as_posix()
        for each in imported(path.read_text("utf-8"), module, is_package=is_package):
            target = behind(each)
            if target.startswith("hitoku.feasibility."):
                users.setdefault(target.split(".")[2], set()).add(column_of(name))
    return users


def test_users_of_the_feasibility_toolbox_match_imports():
    text = (ROOT / "docs" / "explanation" / "feasibility.md").read_text("utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section(text, "Who uses what").splitlines()
        if line.startswith("|") and not line.startswith("|---")
    ]
    head, *body = rows
    drawn = {
        row[0].strip("`"): {name for name, mark in zip(head[1:], row[1:], strict=True) if mark}
        for row in body
    }
    found = {module: users for module, users in users_of_feasibility().items() if module in drawn}
    assert drawn == found
    picture = (ROOT / "docs" / "images" / "toolbox.svg").read_text("utf-8")
    lines = set(re.findall(r'<g id="(\w+) (?:>|&gt;) ([\w ]+)">', picture))
    expected = {(module, name) for module, names in drawn.items() for name in names}
    assert lines == expected, "draw it again: python docs/flows.py"
    # What the table leaves out is used inside the package, or is the budget that all share.
    assert users_of_feasibility().keys() - drawn.keys() <= {"deadline"}
