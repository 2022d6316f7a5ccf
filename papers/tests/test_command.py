from __future__ import annotations

import json
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hitoku.cli import BAD_INPUT, guarded
from hitoku.io import write_jj
from hitoku_papers import EXPERIMENTS
from hitoku_papers.castro_2012 import made_up
from hitoku_papers.command import reproduce


def run(*args: object):
    return CliRunner().invoke(reproduce, list(map(str, args)), catch_exceptions=False)


def exit_code(*args: object) -> int:
    """Run the command as ``hitoku reproduce`` does, errors turned into words."""
    return guarded(lambda: reproduce(list(map(str, args)), prog_name="hitoku reproduce"))


def test_reproduce_where_installed_is_a_command_of_hitoku():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    module, _, name = project["entry-points"]["hitoku.commands"]["reproduce"].partition(":")
    assert getattr(import_module(module), name) is reproduce


def test_every_paper_has_its_command():
    assert sorted(command.name for command in reproduce.registered_commands) == sorted(
        [*EXPERIMENTS, "overview"]
    )


# Papers without draws, computed once for all answers that are asked for here.
FIXED = {
    name: cache(import_module(f"hitoku_papers.{name}").results)
    for name in ("kikuchi_minami_2017", "lupp_langsrud_2021")
}


@pytest.fixture
def computed_once(monkeypatch):
    for name, results in FIXED.items():
        monkeypatch.setattr(f"hitoku_papers.{name}.results", results)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("instances")
    second, _, _, first = made_up()
    write_jj(folder / "targus.jj.gz", first.table, first.need)
    write_jj(folder / "mine.jj", second.table, second.need)
    (folder / "README.md").write_text("not an instance", "utf-8")
    return folder


@pytest.fixture(scope="module")
def done(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    args = ("--instances", folder, "--out", out, "--replications", 2, "--jobs", 1)
    return out, args, run("castro-2012", *args, "--json")


def test_instances_of_a_folder_are_protected_and_attacked(done):
    out, _, answer = done
    facts = json.loads(answer.stdout)
    assert answer.exit_code == 0
    assert facts["instances"] == ["mine", "targus"]
    assert facts["report"] == str(out / "report.html")
    assert [c["holds"] for c in facts["conclusions"][:2]] == [True, True]


def test_page_is_self_contained_and_compares_values(done):
    out, *_ = done
    page = (out / "report.html").read_text("utf-8")
    assert page.count("data:image/png;base64,") == 3
    # A file named targus is compared with the published line of targus, whatever is in it.
    assert '<tr class="published first"><td class="word">targus</td>' in page
    assert "report.md" in {path.name for path in out.iterdir()}


def test_second_run_reuses_results_and_says_so(done):
    out, args, _ = done
    before = {path: path.stat().st_mtime_ns for path in (out / "answers").iterdir()}
    again = run("castro-2012", *args)
    assert again.exit_code == 0
    assert "HOLDS: B1 and B2 are safe" in again.stdout
    assert {path: path.stat().st_mtime_ns for path in (out / "answers").iterdir()} == before


@pytest.mark.parametrize(
    "args",
    [["castro-2013"], ["castro-2012", "--replications", "0"], ["castro-2012", "--instances", "nowhere"]],
)
def test_invalid_input_raises(args, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert exit_code(*args) == BAD_INPUT


def test_folder_without_instances_raises(tmp_path, capsys):
    assert exit_code("castro-2012", "--instances", tmp_path, "--out", tmp_path / "out") == BAD_INPUT
    assert capsys.readouterr().err.startswith("DataError: no JJ file")


def test_instance_files_are_accepted_and_others_rejected(folder, tmp_path, capsys):
    for file in (folder / "README.md", folder / "mine.jj"):
        words = ("--instances", file, "--out", tmp_path, "--search", 1)
        assert exit_code("castro-2012", *words) == BAD_INPUT
    told = capsys.readouterr().err
    # The second is read; that one draw is too few is told before anything is computed.
    assert told.count("DataError: no JJ file") == 1
    assert "from a single draw nobody can tell what chance does" in told
    assert not (tmp_path / "answers").exists()


def test_search_without_paper_instance_raises_early(folder, tmp_path, capsys):
    words = ["--instances", str(folder / "mine.jj"), "--out", str(tmp_path), "--search", "2"]
    assert exit_code("castro-2012", *words) == BAD_INPUT
    assert "no instance of the paper" in capsys.readouterr().err
    assert not (tmp_path / "answers").exists()


@pytest.mark.shared
@pytest.mark.long
def test_search_runs_from_the_command_line(shared, tmp_path):
    instance = shared / "data" / "csplib" / "targus.jj.gz"
    words = ("--instances", instance, "--out", tmp_path, "--replications", 1, "--search", 2, "--jobs", 1)
    done = run("castro-2012", *words)
    assert done.exit_code == 0
    page = (tmp_path / "report.md").read_text("utf-8")
    assert "## Which reading gives the published tables?" in page
    assert "## ‖μ‖₁ of Table 1: which multipliers were added up?" in page
    line = next(line for line in page.splitlines() if line.startswith("| by chance"))
    # Two draws differ, so chance makes something in B1.
    assert float(line.split("|")[3]) > 0


@pytest.mark.usefixtures("computed_once")
@pytest.mark.parametrize("paper", ["kikuchi-minami-2017", "lupp-langsrud-2021"])
def test_paper_without_simulation_is_written(paper, tmp_path):
    told = run(paper, "--out", tmp_path / "out")
    assert told.exit_code == 0
    assert " results are as in the paper" in told.stdout
    facts = json.loads(run(paper, "--out", tmp_path / "out", "--json").stdout)
    differing = [line for line in facts["results"] if line["agrees"] is False]
    assert told.stdout.count("differs: ") == len(differing)
    assert facts["report"] == str(tmp_path / "out" / "report.html")


@pytest.mark.usefixtures("computed_once")
def test_all_papers_stand_on_one_page(folder, tmp_path):
    args = ("--instances", folder, "--tables", 3, "--side", 4, "--replications", 1, "--jobs", 1)
    told = run("overview", *args, "--out", tmp_path)
    assert told.exit_code == 0
    assert all(f"{paper}: " in told.stdout for paper in EXPERIMENTS)
    facts = json.loads(run("overview", *args, "--out", tmp_path, "--json").stdout)
    assert sorted(facts["papers"]) == sorted(EXPERIMENTS)
    lines = [line for some in facts["papers"].values() for line in some]
    assert all(line["place"] and line["published"] and line["ours"] for line in lines)
    # A file called targus is held against the published line of targus, and is not it.
    sizes = next(line for line in facts["papers"]["castro-2012"] if line["place"] == "Table 1")
    assert (sizes["published"], sizes["ours"], sizes["agrees"]) == ("1", "0", False)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.count("<h2>") == 1 + len(EXPERIMENTS)
