"""Errors in Japanese."""

from __future__ import annotations

import re

import pytest

from hitoku.errors import DataError, HitokuError, did_you_mean
from hitoku.io import ERRORS, FOLDER, PLACE, catalogue, read_po, told

LANGUAGE = "ja"
ENTRIES = read_po((FOLDER / LANGUAGE / f"{ERRORS}.po").read_text("utf-8"))
JAPANESE = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")


def test_error_translations_keep_fields_and_are_japanese():
    for text, said in ENTRIES.items():
        assert sorted(PLACE.findall(text)) == sorted(PLACE.findall(said)), text
        assert JAPANESE.search(said), text


def test_error_templates_are_not_confused():
    """Filled with codes, every text gets its own translation."""
    say = catalogue(LANGUAGE, ERRORS).say

    def filled(text):
        return PLACE.sub(lambda place: "12" if place[1] == "n" else f"'{place[1]}9'", text)

    mistaken = [text for text, said in ENTRIES.items() if say(filled(text)) != filled(said)]
    assert mistaken == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no key 'valu'", "キー 'valu' はありません"),
        ("decimals must be a whole number", "decimals は整数でなければなりません"),
        (
            "the submission cannot be trusted: manifest.json is missing",
            "提出物は信頼できません: manifest.json がありません",
        ),
        ("3 unsafe cell(s) may not be changed", "要秘匿 3 セルは変更できません"),
        (
            "the file ends where the number of cells is due",
            "セル数があるべきところでファイルが終わっています",
        ),
        ("no rule 'p_percnt'", "ルール 'p_percnt' はありません"),
        ("rule p_percent needs p", "ルール p_percent には p が必要です"),
        ('choose one with value = "...": a, b', 'value = "..." で一つを選んでください: a, b'),
        ("choose one with --value ...: a, b", "--value ... で一つを選んでください: a, b"),
        ("r.toml, line 5, key decimals", "r.toml、5 行、キー decimals"),
        (
            "r.toml, line 1, key cells; [a] and its 2 parts; [b] and its 3 parts",
            "r.toml、1 行、キー cells; [a] とその内訳 2 個; [b] とその内訳 3 個",
        ),
        ("cells region=R03, nace=B", "セル region=R03, nace=B"),
        ("nothing has left: no output may leave", "何も提供されていません: 提供できる分析結果がありません"),
    ],
)
def test_texts_that_are_put_together(text, said):
    assert catalogue(LANGUAGE, ERRORS).say(text) == said


def test_translated_error_has_three_lines():
    error = DataError(
        "unknown_column",
        "no column {column!r}",
        where="firms.csv",
        fix=did_you_mean("turnver", ["turnover"]),
        column="turnver",
    )
    assert told(error, "ja") == [
        "列 'turnver' はありません",
        "場所: firms.csv",
        "対処: 'turnover' ではありませんか",
    ]
    assert told(error) == str(error).split("\n  ")
    assert told(HitokuError("tomorrow", "a sentence of tomorrow"), "ja") == ["a sentence of tomorrow"]
