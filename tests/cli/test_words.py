"""A word too many is answered in our words: what has no place, where it stands, what was probably meant."""

from __future__ import annotations

import pytest

from hitoku.cli import BAD_INPUT, main


def told(words, capsys):
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == BAD_INPUT
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize(
    ("words", "option", "fix"),
    [
        pytest.param("firms.csv --by region size", "--by region size", "--by region --by size", id="last"),
        pytest.param(
            "firms.csv --by region size --out x", "--by region size", "--by region --by size", id="amidst"
        ),
        pytest.param(
            "--by region size firms.csv --out x",
            "--by region size",
            "--by region --by size",
            id="data behind",
        ),
        pytest.param(
            "firms.csv --by a b c --out x", "--by a b c", "--by a --by b --by c", id="three columns"
        ),
        pytest.param("firms.csv --by=region size", "--by region size", "--by region --by size", id="equals"),
        pytest.param(
            "--out x firms.csv --json --rule zero min_frequency:n=3",
            "--rule zero min_frequency:n=3",
            "--rule zero --rule min_frequency:n=3",
            id="another option, flags before",
        ),
    ],
)
def test_values_after_repeatable_option_raise(words, option, fix, capsys):
    count = len(option.split()) - 1
    assert told(["protect", *words.split()], capsys) == [
        f"ParameterError: {option.split()[0]} takes one value, got {count}",
        f"  where: {option}",
        f"  fix: repeat the option: {fix}",
    ]


def test_unquoted_text_with_spaces_raises(capsys):
    assert told(["protect", "firms.csv", "--by", "region", "--title", "Turnover", "of", "mills"], capsys) == [
        "ParameterError: --title takes one value, got 3",
        "  where: --title Turnover of mills",
        "  fix: quote a value that contains spaces: --title 'Turnover of mills'",
    ]


@pytest.mark.parametrize(
    ("words", "command", "extra"),
    [
        (["protect", "a.csv", "b.csv"], "hitoku protect", "b.csv"),
        (["protect", "a.csv", "b.csv", "--json", "c d"], "hitoku protect", "b.csv 'c d'"),
        (["warm-up", "now"], "hitoku warm-up", "now"),
        (["ledger", "show", "l.sqlite", "again"], "hitoku ledger show", "again"),
        (["argus", "run", "a.arb", "b.arb"], "hitoku argus run", "b.arb"),
    ],
)
def test_argument_without_option_raises(words, command, extra, capsys):
    what, where, fix = told(words, capsys)
    assert what.startswith(f"ParameterError: unexpected argument: {extra}")
    assert where.startswith("  where: ")
    assert fix == f"  fix: see {command} --help"


def test_argument_error_is_translated(capsys):
    what, where, fix = told(["--lang", "ja", "protect", "firms.csv", "--by", "a", "b"], capsys)
    assert what == "ParameterError: --by が取るのは 2 語ではなく 1 語です"
    assert where == "  場所: --by a b"
    assert fix == "  対処: 繰り返して指定してください: --by a --by b"


def test_arguments_may_follow_an_option(tmp_path, monkeypatch, capsys):
    """The data behind --by region: nothing is left over, so what is missing next is told."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "firms.csv").write_text("region\nN\n", encoding="utf-8")
    what, *_ = told(["protect", "--by", "region", "firms.csv"], capsys)
    assert "has no place" not in what
    assert "takes one value" not in what
