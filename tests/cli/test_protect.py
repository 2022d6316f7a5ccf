"""From a file of records to a release, and every kind of bad input on the way."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from hitoku.cli import BAD_INPUT, FOUND, app, main
from hitoku.evidence.verify import verify
from hitoku.methods import METHODS
from hitoku.model import Protection

TELLTALE = "48151623"


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(3)
    n = 300
    return pd.DataFrame(
        {
            "region": rng.choice(["N1", "N2", "S1", "S2"], n),
            "trade": rng.choice(["mills", "inns", "farms"], n, p=[0.6, 0.35, 0.05]),
            "owner": rng.integers(0, 200, n),
            "weight": 1.0,
            "turnover": np.round(rng.lognormal(5, 1.5, n), 2),
        }
    )


@pytest.fixture
def files(tmp_path, records):
    """Write records and a tree of regions; return the words of a call that works."""

    def write(frame=records, tree="code,parent\nNorth,\nSouth,\nN1,North\nN2,North\nS1,South\nS2,South\n"):
        frame.to_csv(tmp_path / "firms.csv", index=False)
        (tmp_path / "regions.csv").write_text(tree, encoding="utf-8")
        words = ["protect", "firms.csv", "--by", "region", "--by", "trade", "--value", "turnover"]
        words += ["--holding", "owner", "--rule", "p_percent:p=10", "--hierarchy", "region=regions.csv"]
        return [*words, "--out", "release"]

    return write


def test_protected_records_verify(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, [*files(), "--json"], catch_exceptions=False)
    answer = json.loads(done.stdout)
    assert done.exit_code == 0
    assert answer["safe"] is True
    assert answer["unsafe"] > 0
    assert verify(tmp_path / "release").ok


def test_unsafe_release_is_written_only_with_force(files, tmp_path, monkeypatch):
    class UnsafeOnly:
        def protect(self, table, need, progress=None):
            del progress
            return Protection.withhold(table, need.unsafe, need)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(METHODS, "auto", UnsafeOnly)
    done = CliRunner().invoke(app, files(), catch_exceptions=False)
    assert done.exit_code == FOUND
    assert not (tmp_path / "release").exists()
    done = CliRunner().invoke(app, [*files(), "--force"], catch_exceptions=False)
    assert done.exit_code == FOUND
    assert json.loads((tmp_path / "release" / "checker" / "summary.json").read_text())["safe"] is False


CYCLE = "code,parent\nNorth,South\nSouth,North\nN1,North\nN2,North\nS1,South\nS2,South\n"
TWICE = "code,parent\nNorth,\nNorth,\nN1,North\nN2,North\nS1,North\nS2,North\n"
TWO_PARENTS = "code,parent\nNorth,\nSouth,\nN1,North\nN1,South\nN2,North\nS1,South\nS2,South\n"
SHORT = "code,parent\nNorth,\nN1,North\nN2,North\n"


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        pytest.param({"words": ["--value", "turnver"]}, "did you mean 'turnover'?", id="missing column"),
        pytest.param({"tree": TWICE}, "listed twice", id="duplicate code"),
        pytest.param({"tree": TWO_PARENTS}, "has two parents", id="code with two parents"),
        pytest.param({"tree": CYCLE}, "cycle", id="cycle"),
        pytest.param({"tree": SHORT}, "code(s) that are not in its hierarchy", id="unseen code"),
        pytest.param({"tree": "a;b\n1;2\n1;3\n2;2\n"}, "do not nest", id="no hierarchy"),
        pytest.param({"column": ("region", None)}, "missing code", id="missing code"),
        pytest.param({"column": ("turnover", np.nan)}, "missing, NaN or infinite", id="NaN"),
        pytest.param({"column": ("turnover", np.inf)}, "missing, NaN or infinite", id="infinite"),
        pytest.param(
            {"column": ("turnover", "48,151")}, "can be read in two ways", id="thousands or decimals"
        ),
        pytest.param({"column": ("turnover", -1.0)}, "magnitude", id="negative with a dominance rule"),
        pytest.param(
            {"column": ("weight", -1.0), "words": ["--weight", "weight"]}, "negative weight", id="weight"
        ),
        pytest.param({"rows": 0}, "empty", id="empty data"),
        pytest.param({"words": ["--by", "region"]}, "named twice", id="variable twice"),
        pytest.param({"words": ["--value", "region"]}, "region", id="value is a variable"),
        pytest.param({"words": ["--method", "gredy"]}, "did you mean 'greedy'?", id="no such method"),
        pytest.param({"words": ["--rule", "p_percent:p=0"]}, "p must", id="rule out of range"),
        pytest.param({"words": ["--hierarchy", "region"]}, "names no column and file", id="no file named"),
        pytest.param({"words": ["--hierarchy", "region=none.csv"]}, "no file or folder", id="no file"),
        pytest.param({"words": ["--magnitude", "both"]}, "magnitude", id="no such choice"),
        pytest.param({"occupied": True}, "is not empty", id="occupied folder"),
    ],
)
def test_invalid_input_raises_and_writes_nothing(files, records, tmp_path, monkeypatch, capsys, spoil, what):
    monkeypatch.chdir(tmp_path)
    frame = records[: spoil.get("rows", len(records))].copy()
    if "column" in spoil:
        name, value = spoil["column"]
        frame[name] = frame[name].astype(object)
        whole = spoil["column"] == ("trade", "mills") or isinstance(value, str)
        frame.loc[frame.index if whole else frame.index[:3], name] = value
    words = files(frame, spoil["tree"]) if "tree" in spoil else files(frame)
    if spoil.get("occupied"):
        (tmp_path / "release").mkdir()
        (tmp_path / "release" / "old.txt").write_text("old")
    with pytest.raises(SystemExit) as left:
        main([*words, *spoil.get("words", [])])
    told = capsys.readouterr().err
    assert left.value.code == BAD_INPUT, told
    assert what in told
    assert "fix:" in told
    assert TELLTALE not in told
    kept = sorted(p.name for p in tmp_path.rglob("*") if p.is_file())
    assert kept == ["firms.csv", *(["old.txt"] if spoil.get("occupied") else []), "regions.csv"]


def test_advised_options_fix_the_error(tmp_path, capsys, monkeypatch):
    """Somebody at a prompt was told to write missing="code", and had no such option."""
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(["region,n", ",7", *[f"{r},{n}" for r in "NNNNSSSSWWWW" for n in (5, 9)]])
    (tmp_path / "firms.csv").write_text(rows + "\n", encoding="utf-8")
    words = ["protect", "firms.csv", "--by", "region", "--rule", "min_frequency:n=1", "--out", "release"]
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == BAD_INPUT
    told = capsys.readouterr().err
    assert "--missing code" in told
    assert "missing=" not in told
    with pytest.raises(SystemExit) as left:
        main([*words, "--missing", "code"])
    assert left.value.code == 0
    assert (tmp_path / "release" / "public" / "table.csv").read_text("utf-8").count("missing") == 1
