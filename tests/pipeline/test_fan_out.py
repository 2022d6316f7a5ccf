"""Groups of tables worked on elsewhere: the same bytes from processes, from Dask and from Spark."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from tests.pipeline.test_groups import CODES, HEAD, STAFF, TURNOVER, tree

from hitoku.errors import HitokuError, ParameterError, TableError
from hitoku.pipeline import fan_out, parse_jobs, run_recipe


@pytest.fixture
def recipe(tmp_path):
    rows = [f"{t},{o},{s},{5 * k + 7},{k + 1}" for k, (t, o, s) in enumerate(
        (t, o, s) for t in CODES["trade"] for o in CODES["town"] for s in CODES["size"] for _ in range(4)
    )]  # fmt: skip
    (tmp_path / "firms.csv").write_text("trade,town,size,turnover,staff\n" + "\n".join(rows) + "\n")
    (tmp_path / "recipe.toml").write_text(HEAD + TURNOVER + STAFF)
    return tmp_path / "recipe.toml"


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        (None, ("loky", None)),
        (3, ("loky", 3)),
        ("-1", ("loky", -1)),
        ("loky:2", ("loky", 2)),
        ("loky", ("loky", -1)),
        ("dask:tcp://host:8786", ("dask", "tcp://host:8786")),
        ("spark:spark://host:7077", ("spark", "spark://host:7077")),
    ],
)
def test_backend_spec_is_parsed(word, meant):
    assert parse_jobs(word) == meant


@pytest.mark.parametrize(
    "word", ["ray", "0", 0, True, "loky:many", "", "4:2:1x", "--5", "9" * 5000, "\N{SUPERSCRIPT TWO}"]
)
def test_invalid_backend_spec_raises(word):
    with pytest.raises(ParameterError, match=r"jobs (is|must not be 0)"):
        list(fan_out([abs], word))


def test_recipe_with_invalid_backend_names_its_line(recipe):
    recipe.write_text('jobs = "everywhere"\n' + recipe.read_text().replace("firms.csv", "absent.csv"))
    with pytest.raises(HitokuError) as caught:
        run_recipe(recipe)
    assert "recipe.toml, line 1" in caught.value.where


def test_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setitem(sys.modules, "joblibspark", None)
    for word, extra in (("dask", "dask"), ("spark", "spark")):
        with pytest.raises(ParameterError, match="not installed") as caught:
            list(fan_out([abs], word))
        assert f"hitoku[{extra}]" in caught.value.fix


def test_worker_with_another_version_raises(monkeypatch):
    told = iter(["1.0", "2.0"])
    monkeypatch.setattr("importlib.metadata.version", lambda _: next(told))
    with pytest.raises(TableError, match=r"has hitoku 2\.0, here it is 1\.0"):
        list(fan_out([abs], 1))


def test_backend_setting_changes_only_the_stored_recipe(recipe, tmp_path):
    one = run_recipe(recipe, tmp_path / "one", n_jobs=1).folder
    recipe.write_text('jobs = 1\nmemory_limit = "1GB"\n' + recipe.read_text())
    two = run_recipe(recipe, tmp_path / "two").folder
    told = {path for path, content in tree(one).items() if tree(two)[path] != content}
    assert {path.name for path in told} <= {"recipe.toml", "report.html"}  # which shows it


def test_invalid_size_limit_names_its_line(recipe):
    recipe.write_text('memory_limit = "much"\n' + recipe.read_text())
    with pytest.raises(HitokuError, match="memory_limit") as caught:
        run_recipe(recipe)
    assert "line 1, key memory_limit" in caught.value.where


ELSEWHERE = """
import sys, warnings
warnings.simplefilter("ignore")
from pathlib import Path
from tests.pipeline.test_groups import tree
from hitoku.pipeline.recipe_run import run_recipe

if __name__ == "__main__":
    recipe, jobs, out = sys.argv[1:]
    one = run_recipe(recipe, Path(out) / "one", n_jobs=1).folder
    two = run_recipe(recipe, Path(out) / "two", n_jobs=jobs).folder
    assert tree(one) == tree(two)
    print("same bytes")
"""


@pytest.mark.spark
@pytest.mark.parametrize("jobs", ["loky:2", "dask", "spark:local[2]"])
def test_all_backends_write_the_same_bytes(jobs, recipe, tmp_path):
    backend = jobs.partition(":")[0]
    if backend != "loky":
        package = {"dask": "distributed", "spark": "joblibspark"}[backend]
        pytest.importorskip(package, reason=f"{package} is not installed (hitoku[{backend}])")
    if backend == "spark" and shutil.which("java") is None:
        pytest.skip("Java is not installed")
    script = tmp_path / "elsewhere.py"
    script.write_text(ELSEWHERE)
    done = subprocess.run(
        [sys.executable, str(script), str(recipe), jobs, str(tmp_path)],
        env=os.environ
        | {
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path]),  # noqa: PTH109 - a search path
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert "same bytes" in done.stdout, done.stderr[-3000:]
