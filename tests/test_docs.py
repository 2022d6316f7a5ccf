"""Documentation is held to its word: examples run, links lead somewhere, registered names have pages."""

from __future__ import annotations

import contextlib
import doctest
import inspect
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.test_architecture import ROOT

import hitoku

DOCS = ROOT / "docs"
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    if not path.relative_to(ROOT).parts[0].startswith(".")
)
# By package: its registry, and the pages of which one has a heading with each name.
REGISTRIES = {
    "rules": ("RULES", "rules.md"),
    "attacks": ("ATTACKS", "*/*.md"),
    "methods": ("METHODS", "*/*.md"),
    "checks.outputs": ("OUTPUT_TYPES", "outputs.md"),
}

FENCE = re.compile(r"^(?P<indent> *)(?P<fence>```+|~~~+)(?P<info>[^\n`]*)$")
LINK = re.compile(r"(?<!\\)!?\[[^\]\n]*\]\((?P<target>[^)\s]+)(?:\s+\"[^\"]*\")?\)")
# Programs that pages use and that hitoku does not bring.
OTHERS_TOOLS = ("ssh-keygen", "sha256sum")
COMMAND = re.compile(r"^\$? *(?:\.venv/bin/)?hitoku (?P<command>[a-z][a-z-]*)", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block: what stands after the fence, its text, the line where the text starts."""

    info: str
    text: str
    line: int


def blocks(markdown: str) -> Iterator[Block]:
    opened: re.Match[str] | None = None
    kept: list[str] = []
    start = 0
    for number, line in enumerate(markdown.splitlines(), 1):
        match = FENCE.match(line)
        if opened is None:
            if match:
                opened, kept, start = match, [], number + 1
        elif match and match["fence"].startswith(opened["fence"]) and not match["info"].strip():
            yield Block(opened["info"].strip(), "\n".join(kept) + "\n", start)
            opened = None
        else:
            kept.append(line.removeprefix(opened["indent"]))
    assert opened is None, f"the block opened before line {start} is never closed"


def run(page: str, name: str) -> None:
    """Execute the Python blocks of a page in one namespace.

    A block in ``>>>`` form is a doctest. An ``output`` block right after a Python block is what it prints.
    ``python no-run`` is left alone. ``shell`` blocks run in the same folder, ``console`` ones only show.
    """
    names: dict[str, Any] = {"__name__": "__page__"}
    printed: str | None = None
    for block in blocks(page):
        if block.info == "output":
            assert printed is not None, f"{name}:{block.line}: output of nothing"
            assert prints(block.text, printed), f"{name}:{block.line}: prints\n{printed}"
            printed = None
            continue
        printed = None
        if block.info == "shell":
            printed = run_shell(block.text, f"{name}:{block.line}")
            continue
        if block.info.split(" ")[0] not in {"python", "py"} or "no-run" in block.info:
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            if block.text.lstrip().startswith(">>>"):
                check = doctest.DocTestParser().get_doctest(block.text, names, name, name, block.line - 1)
                result = doctest.DocTestRunner(verbose=False).run(check, clear_globs=False, out=out.write)
                names.update(check.globs)
                assert not result.failed, out.getvalue()
            else:
                # Blank lines before the code: a traceback shows the line of the page.
                code = compile("\n" * (block.line - 1) + block.text, name, "exec")
                exec(code, names)  # noqa: S102 - our own documentation
        printed = out.getvalue()


def prints(shown: str, printed: str) -> bool:
    """Compare what a page shows with what came out; ``…`` stands for anything within a line."""
    # Spaces at the ends of lines are seen by nobody.
    wanted, got = ("\n".join(map(str.rstrip, text.splitlines())).rstrip() for text in (shown, printed))
    return re.fullmatch(re.escape(wanted).replace("…", ".*"), got) is not None


def run_shell(script: str, where: str) -> str:
    """Run commands as a reader does who has hitoku installed; the last one must succeed."""
    missing = [name for name in OTHERS_TOOLS if name in script and shutil.which(name) is None]
    if missing:
        pytest.skip(f"{where}: needs {missing}, which this machine lacks")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    shell = ["bash", "-o", "pipefail", "-c", script]
    done = subprocess.run(
        shell, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path, "COLUMNS": "80"}
    )
    assert done.returncode == 0, f"{where}: {done.stdout}{done.stderr}"
    return done.stdout


def anchors(markdown: str) -> set[str]:
    """Names of the headings, as GitHub and MkDocs make them."""
    outside = re.sub(r"^(```+|~~~+).*?^\1", "", markdown, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ +(.+?) *$", outside, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> list[str]:
    text = page.read_text("utf-8")
    for block in blocks(text):
        text = text.replace(block.text, "")
    wrong = []
    for match in LINK.finditer(text):
        path, _, anchor = match["target"].partition("#")
        if re.match(r"[a-z]+:", path):
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (
            anchor and target.suffix == ".md" and anchor not in anchors(target.read_text("utf-8"))
        ):
            wrong.append(match["target"])
    return wrong


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_examples_run_as_printed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    run(page.read_text("utf-8"), named(page))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_resolve(page):
    assert broken_links(page) == []


@pytest.mark.parametrize(
    "page",
    [
        pytest.param("```python\n1 / 0\n```\n", id="raises"),
        pytest.param("```python\nprint(2)\n```\n\n```output\n3\n```\n", id="prints something else"),
        pytest.param("```python\n>>> 1 + 1\n3\n```\n", id="doctest"),
        pytest.param("```python\nimport warnings; warnings.warn('old')\n```\n", id="warns"),
        pytest.param("```python\nx = 1\n", id="never closed"),
        pytest.param(
            "```python\nprint('1 of 3')\n```\n\n```output\n… of 4\n```\n", id="prints something else beside …"
        ),
        pytest.param("```python\nprint('1\\n2')\n```\n\n```output\n…\n```\n", id="… is one line"),
        pytest.param("```shell\ntrue; false\n```\n", id="a command fails"),
        pytest.param("```shell\necho 2\n```\n\n```output\n3\n```\n", id="a command prints something else"),
    ],
)
def test_wrong_example_is_found(page):
    with pytest.raises((AssertionError, ZeroDivisionError, UserWarning)):
        run(page, "page")


def test_page_commands_use_files_of_its_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrote = "```python\nfrom pathlib import Path\nPath('note').write_text('here', encoding='utf-8')\n```\n"
    run(wrote + "```shell\ncat note\n```\n```output\nhere\n```\n", "page")


def test_blocks_of_a_page_share_names():
    run("```python\nx = 2\n```\ntext\n```python\n>>> x + 1\n3\n```\n```python no-run\n1 / 0\n```\n", "page")


def test_dead_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Here\n[a](page.md#here) [b](nowhere.md) [c](#gone) [d](https://x.org/y)\n", "utf-8")
    assert broken_links(page) == ["nowhere.md", "#gone"]


@pytest.mark.parametrize("kind", REGISTRIES)
def test_every_registered_name_has_a_heading(kind):
    registry, pages = REGISTRIES[kind]
    text = "\n".join(page.read_text("utf-8") for page in (DOCS / "reference").glob(pages))
    explained = set(re.findall(r"^#+ .*`(\w+)`$", text, re.MULTILINE))
    missing = set(getattr(import_module(f"hitoku.{kind}"), registry)) - explained
    assert not missing, f"write a section with the name in its heading on docs/reference/{pages}: {missing}"


# The vocabulary of the design, and words of the field that a reader of the code looks up.
VOCABULARY = ("Table", "Need", "Protection", "Release", "Bounds", "Certificate")
FIELD = (
    "augmenting path", "Benders cut", "bipartite", "capacity constraint", "circulation", "coalition",
    "dual bound", "Farkas certificate", "incumbent", "minimum cut", "presolve", "residual network",
    "separation", "warm start", "witness",
)  # fmt: skip


def unexplained(glossary: str) -> list[str]:
    """Words of the design without a row of their own, and words of the field that no row has."""
    rows = [line for line in glossary.splitlines() if line.startswith("|")]
    missing = [word for word in VOCABULARY if not any(row.startswith(f"| `{word}` |") for row in rows)]
    return missing + [word for word in FIELD if not any(word in row for row in rows)]


def test_glossary_explains_design_and_field_terms():
    glossary = (DOCS / "explanation" / "glossary.md").read_text("utf-8")
    assert unexplained(glossary) == []
    assert unexplained(glossary.replace("| `Need` |", "| need |").replace("coalition", "group")) == [
        "Need",
        "coalition",
    ]


@cache
def everything_written() -> str:
    return " ".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py")).casefold()


@pytest.mark.parametrize("word", FIELD)
def test_code_uses_the_terms_of_the_field(word):
    sources = everything_written()
    stem = word.casefold().replace("warm start", "warm-start")
    assert stem in sources or word.casefold() in sources


GENERATED = re.compile(r"^::: (?P<path>[\w.]+)$", re.MULTILINE)


def named_in_the_reference() -> list[str]:
    page = (DOCS / "reference" / "python.md").read_text("utf-8")
    return [match["path"] for match in GENERATED.finditer(page)]


def found(path: str) -> Any:
    """The thing of this name: an attribute where there is one, as for readers of hitoku, else a module's."""
    owner, _, name = path.rpartition(".")
    return getattr(import_module(owner), name)


def test_every_public_name_has_a_reference_entry():
    listed = named_in_the_reference()
    assert len(listed) == len(set(listed))
    things = {path.rpartition(".")[2]: found(path) for path in listed}
    missing = [name for name in hitoku.__all__ if things.get(name) is not getattr(hitoku, name)]
    assert not missing, f"write ::: hitoku.<name> on docs/reference/python.md for {missing}"
    # A package hides a function of its name from whoever reads the source: the page would show the package.
    hidden = [path for path in listed if (ROOT / "src" / Path(*path.split("."))).is_dir()]
    assert not hidden, f"name the module of the function: {hidden}"


def hook(name: str) -> Any:
    spec = spec_from_file_location(f"docs_hook_{name}", DOCS / ".hooks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_command_pages_document_every_option():
    commands = hook("commands")
    page = commands.with_help((DOCS / "reference" / "cli.md").read_text("utf-8"))
    for name, command in commands.commands():
        section = page.partition(f"\n## hitoku {name}\n")[2].partition("\n## ")[0]
        leaves = getattr(command, "commands", {"": command}).values()
        options = [option for leaf in leaves for option in leaf.params]
        assert [option.name for option in options if commands.row(option) not in section] == []


def test_section_about_unknown_command_is_found():
    with pytest.raises(KeyError, match="nonsense"):
        hook("commands").with_help("# Commands\n\n## hitoku nonsense\n\ntext\n")


def test_every_public_name_has_a_docstring():
    assert hitoku.__all__
    silent = [
        name
        for name in hitoku.__all__
        if explainable(thing := getattr(hitoku, name)) and not explained(thing)
    ]
    assert silent == []


def explainable(thing: Any) -> bool:
    return inspect.isclass(thing) or inspect.isroutine(thing) or inspect.ismodule(thing)


def explained(thing: Any) -> bool:
    # A dataclass without a docstring gets its signature for one.
    own = thing.__doc__ or ""
    return bool(own.strip()) and not own.startswith(f"{thing.__name__}(")


def test_commands_shown_in_the_documentation_exist():
    app = import_module("hitoku.cli.commands").app
    known = {
        command.name or command.callback.__name__.replace("_", "-") for command in app.registered_commands
    }
    known |= {group.name for group in app.registered_groups}
    shown = {
        (match["command"], named(page))
        for page in PAGES
        for block in blocks(page.read_text("utf-8"))
        if block.info.split(" ")[0] in {"console", "bash", "sh", "shell"}
        for match in COMMAND.finditer(block.text)
    }
    assert shown
    assert [use for use in sorted(shown) if use[0] not in known] == []
    reference = anchors((DOCS / "reference" / "cli.md").read_text("utf-8"))
    assert [name for name in sorted(known) if f"hitoku-{name}" not in reference] == []


def test_make_targets_shown_in_the_documentation_exist():
    heads = re.findall(r"^([a-z -]+):", (ROOT / "Makefile").read_text("utf-8"), flags=re.MULTILINE)
    targets = {target for head in heads for target in head.split()}
    shown = {
        (target, named(page))
        for page in PAGES
        for target in re.findall(r"(?:^|`)\$? *make ([a-z-]+)", page.read_text("utf-8"), flags=re.MULTILINE)
    }
    assert shown
    assert [use for use in sorted(shown) if use[0] not in targets] == []
