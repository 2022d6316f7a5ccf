"""Errors in Japanese: every text of the source has a translation, or stands in the list of English ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.io.error_texts import error_texts, shape

from hitoku.errors import DataError, HitokuError, did_you_mean
from hitoku.io.language import ERRORS, FOLDER, PLACE, catalogue, read_po, told

LANGUAGE = "ja"
ENTRIES = read_po((FOLDER / LANGUAGE / f"{ERRORS}.po").read_text("utf-8"))
# Texts that stay English in every language: of Python alone, of the review application, of pictures.
LEFT = Path(__file__).with_name("english_errors.txt")
# What errors.py puts together: the words before a place and a fix, and the nearest word.
PUT_TOGETHER = {"where", "fix", "did you mean {}?", "use one of: {}"}
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
    """A new error fails here: translate it in errors.po, or add it to english_errors.txt."""
    known = {shape(text) for text in ENTRIES} | set(left())
    assert sorted(set(texts) - known) == []


def test_the_list_of_english_texts_is_short_and_true(texts):
    assert left() == sorted(set(left()))
    assert set(left()) <= set(texts)
    assert set(left()).isdisjoint({shape(text) for text in ENTRIES})
    assert len(left()) < len(ENTRIES) / 2


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
        return PLACE.sub(lambda place: f"'{place[1]}9'", text)

    mistaken = [text for text, said in ENTRIES.items() if say(filled(text)) != filled(said)]
    assert mistaken == []


def test_an_error_in_three_lines():
    error = DataError("no column 'turnver'", where="firms.csv", fix=did_you_mean("turnver", ["turnover"]))
    assert told(error, "ja") == [
        "列 'turnver' はありません",
        "場所: firms.csv",
        "対処: 'turnover' ではありませんか",
    ]
    assert told(error) == str(error).split("\n  ")
    assert told(HitokuError("a sentence of tomorrow"), "ja") == ["a sentence of tomorrow"]
