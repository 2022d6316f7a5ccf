"""Errors in Japanese: every text of the source has a translation, or is a name, which stays as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.io.error_texts import error_texts, shape

from hitoku.errors import DataError, HitokuError, did_you_mean
from hitoku.io.language import ERRORS, FOLDER, PLACE, catalogue, read_po, told
from hitoku.io.recipe.origin import ADVICE, WANTED

LANGUAGE = "ja"
ENTRIES = read_po((FOLDER / LANGUAGE / f"{ERRORS}.po").read_text("utf-8"))
# Texts that stay English in every language: names of options and parameters, and what is typed.
LEFT = Path(__file__).with_name("english_errors.txt")
# What errors are put together of: the words before a place and a fix, the nearest word, what is due in a
# file, and what a key of a recipe should be.
PUT_TOGETHER = {"where", "fix", "did you mean {}?", "use one of: {}"}
PUT_TOGETHER |= {"the constant", "the number of cells", "the number of relations", "a cell", "a relation"}
PUT_TOGETHER |= {text for pair in WANTED.values() for text in pair} | set(ADVICE.values())
# Said of a word such as p_percent:p=10, by the error of its kind.
PUT_TOGETHER |= {"rule", "method", "attack", "no {} {}", "{} {} has no parameter {}", "{} {} needs {}"}
PUT_TOGETHER |= {"{} of {} {} cannot be {}", "{} is no parameter with its value, or is given twice"}
PUT_TOGETHER |= {"write {}:{}=..., with commas between parameters", "it can only be given in Python"}
PUT_TOGETHER |= {"{}, line {}, key {}", "{}, line {}, key {}; {}", "{} and its {} parts"}
PUT_TOGETHER |= {
    "{} and its {} parts; {}",
    "correct the value",
    "allowed: {}",
    "did you mean {}? allowed: {}",
    "it has: {}",
    "{} has no parameters",
}
# Packages whose every error a user of the command line may meet.
DOORS = (
    "cli/",
    "files.py",
    "io/recipe/",
    "io/release/",
    "rules/",
    "pipeline/",
    "tabulation/",
    "model/hierarchy",
    "checks/decisions",
    "checks/ledger/store",
    "checks/ledger/settings",
    "checks/policies/",
    "checks/submission/",
)
JAPANESE = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")


@pytest.fixture(scope="module")
def texts():
    return error_texts()


def left():
    return [line.replace(r"\n", "\n") for line in LEFT.read_text("utf-8").splitlines()]


def test_every_text_is_translated_or_listed(texts):
    """A new error fails here: translate it in errors.po; a name goes to english_errors.txt."""
    known = {shape(text) for text in ENTRIES} | set(left())
    assert sorted({*texts, *PUT_TOGETHER} - known) == []


def test_the_list_of_english_texts_is_true_and_holds_names_alone(texts):
    assert left() == sorted(set(left()))
    assert set(left()) <= set(texts)
    assert set(left()).isdisjoint({shape(text) for text in ENTRIES})
    # A sentence has three words one after the other; names have commas and equals signs between them.
    assert [text for text in left() if re.search(r"[A-Za-z]+ [A-Za-z]+ [A-Za-z]", text)] == []
    assert len(left()) < 40


def test_the_catalogue_has_nothing_that_no_error_says(texts):
    assert {shape(text) for text in ENTRIES} - set(texts) - PUT_TOGETHER == set()


def test_whoever_uses_the_command_line_is_answered_in_their_language(texts):
    """Sentences of the packages behind recipes, files, hierarchies, rules and the ledger."""
    spoken = {shape(text) for text in ENTRIES}
    english = {
        text
        for text, files in texts.items()
        if any(f.startswith(DOORS) for f in files) and text not in spoken
    }
    assert sorted(text for text in english if len(text.split()) > 3) == []


def test_a_translation_has_the_places_of_its_text_and_is_japanese():
    for text, said in ENTRIES.items():
        assert sorted(PLACE.findall(text)) == sorted(PLACE.findall(said)), text
        assert JAPANESE.search(said), text


def test_no_text_is_mistaken_for_another():
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


def test_an_error_in_three_lines():
    error = DataError("no column 'turnver'", where="firms.csv", fix=did_you_mean("turnver", ["turnover"]))
    assert told(error, "ja") == [
        "列 'turnver' はありません",
        "場所: firms.csv",
        "対処: 'turnover' ではありませんか",
    ]
    assert told(error) == str(error).split("\n  ")
    assert told(HitokuError("a sentence of tomorrow"), "ja") == ["a sentence of tomorrow"]
