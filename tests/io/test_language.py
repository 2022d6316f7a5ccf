"""Pages and errors in other languages: texts are looked up by their templates, else they stay English.

Whether the Japanese catalogue is complete is reported by ``make messages``; no test depends on it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from importlib import import_module

import pytest
from tests.checks.submissions import PEOPLE, session
from tests.io.report.parsed import parsed
from tests.io.report.releases import adjusted, counts, linked, magnitudes, unsafe
from tools.messages import SRC, html_templates, literals, messages, report

from hitoku.checks.outputs import OUTPUT_TYPES
from hitoku.checks.principles import Principle
from hitoku.checks.session import Session
from hitoku.checks.submission import recheck
from hitoku.errors import DataError, HitokuError, ParameterError, did_you_mean
from hitoku.evidence import Outcome
from hitoku.io import catalogue, error_lines, languages, page, read_po, speak, speaker
from hitoku.io.report import page as report_page
from hitoku.messages import FIELD, Arguments, Text
from hitoku.model import Row, Status, Table, Verdict
from hitoku.pipeline import protect

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)
JAPANESE = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
SENTENCE = re.compile("[a-z]{3,} [a-z]{2,}")


class Recorder(dict):
    """A catalogue that brackets every template, and remembers all of them."""

    def __init__(self):
        super().__init__()
        self.asked = set()

    def get(self, template, _=None):
        self.asked.add(template)
        return f"⟦{template}⟧"


@pytest.fixture(scope="module")
def written():
    """Strings of the source; of output types and principles also the names that pages show."""
    paths = SRC.rglob("*.py")
    strings = set(messages()).union(*(literals(path.read_text("utf-8")) for path in paths))
    for path in (SRC / "io").rglob("*.html"):
        strings |= set(re.findall('"([^"]*)"', path.read_text("utf-8")))
    return strings | {name.replace("_", " ") for name in [*OUTPUT_TYPES, *map(str, Principle)]}


@pytest.fixture
def bracketed(monkeypatch):
    """Let pages be in a language in which every template stands in brackets."""
    recorder = Recorder()
    for module in ("hitoku.io.report.report", "hitoku.io.check_page"):
        monkeypatch.setattr(import_module(module), "speaker", lambda _: speak(recorder))
    return recorder


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    work = session()
    work.percentile("income", 50, by="region", name="medians")
    work.frequency_table(by=["region"], where={"job": ["a", "b"]}, name="without c")
    work.submit(tmp_path_factory.mktemp("language") / "submission")
    return recheck(work.submit(tmp_path_factory.mktemp("language") / "again"))


def filled_in(asked, written):
    """Return sentences that were looked up although no source has them: their fields were filled before."""
    return {text for text in asked - written if SENTENCE.search(text)}


def untranslated(text):
    """Return sentences in the fields of a text that are plain strings, so that they are never looked up."""
    if not isinstance(text, Text):
        return set()
    fields = [
        part for field in text.fields.values() for part in (field if isinstance(field, tuple) else [field])
    ]
    plain = {part for part in fields if isinstance(part, str) and not isinstance(part, Text)}
    return {part for part in plain if SENTENCE.search(part)}.union(*map(untranslated, fields))


def outside(html):
    """Return sentences of a page that were not looked up."""
    bare = re.sub(r"<(style|code|script|pre)[ >].*?</\1>", "", html, flags=re.DOTALL)
    while (less := re.sub("⟦[^⟦⟧]*⟧", "", bare)) != bare:
        bare = less
    return {text for text in re.findall(">([^<>]+)<", bare) if SENTENCE.search(text)}


def test_english_page_of_a_check_needs_no_catalogue(check):
    assert page(check, lang="en", now=NOON) == page(check, now=NOON)


def test_check_page_sentences_have_templates(check, bracketed, written):
    html = page(check, now=NOON)
    assert len(bracketed.asked) > 100
    assert filled_in(bracketed.asked, written) == set()
    names = {each.output.name for each in check.outputs}
    assert {text for text in outside(html) if not any(name in text for name in names)} == set()


@pytest.mark.parametrize(
    "kind", [counts, unsafe, magnitudes, adjusted, linked], ids=lambda kind: kind.__name__
)
def test_report_sentences_have_templates(kind, bracketed, written):
    versions, sha256 = {"hitoku": "0.1"}, {"public/table.csv": "0" * 64}
    html = report_page(kind(), title="T", asked="x = 1", versions=versions, sha256=sha256)
    assert len(bracketed.asked) > 100
    assert filled_in(bracketed.asked, written) == set()
    # Places of remarks are cells or tables, which keep their names.
    assert {text for text in outside(html) if text != " published table: . "} == set()


TOGETHER = Text("{n} tables: {why}", n=3, why=Text("tables of several quantities were judged separately"))
VERDICTS = {
    "counts": lambda: protect(counts().table, rules="min_frequency:n=5"),
    "without groups": lambda: protect(counts().table, rules="min_frequency:n=5", groups=False),
    "known method": lambda: protect(
        counts().table, rules="min_frequency:n=5", method="auto:secret=false", width=9
    ),
    "attributes": lambda: protect(
        Table.from_array([[3, 17, 9], [9, 12, 15]], names=("city", "injury")),
        rules=["direct_disclosure:k=0"],
    ),
    "adjusted": lambda: protect(magnitudes().table, rules="p_percent:p=10", method="adjust"),
    "insiders": lambda: protect(magnitudes().table, rules="p_percent:p=10", insiders="contributors"),
    "outsiders": lambda: protect(magnitudes().table, rules="few_contributors:n=3", insiders="none"),
    "failed": lambda: Outcome(unsafe().protection, unsafe().audit),
    "linked": lambda: Outcome(linked().protection, linked().audit, tables=TOGETHER),
}


@pytest.mark.parametrize("kind", VERDICTS)
def test_verdict_rows_have_templates(kind, written):
    recorder = Recorder()
    say = speak(recorder)
    verdict = VERDICTS[kind]().verdict
    for row in verdict.rows:
        for text in (row.label, row.result, row.reason, row.fix):
            say(text)
            assert untranslated(text) == set()
    verdict.sentences(say)
    assert recorder.asked
    assert filled_in(recorder.asked, written) == set()


def test_verdicts_of_outputs_keep_their_numbers_in_every_language(check):
    say = speaker("ja")
    texts = [
        text for each in check.outputs for verdict in each.verdicts for text in (verdict.text, verdict.remedy)
    ]
    assert any(JAPANESE.search(say(text)) for text in texts)
    for text in texts:
        assert untranslated(text) == set()
        assert set(re.findall(r"\d+", text)) <= set(re.findall(r"\d+", say(text))), text


def test_plain_sentence_in_a_field_is_found():
    sentence = "the method has a guarantee"
    assert untranslated(Text("{n} tables: {why}", n=2, why=sentence)) == {sentence}
    assert untranslated(Text("{n} tables: {why}", n=2, why=Text(sentence))) == set()
    assert untranslated(Text("{all}", all=(Text("{why}", why=sentence), "R03"))) == {sentence}


def test_headline_lists_attackers_in_the_language():
    rows = [
        Row(attacker=name, status=Status.PROVED, in_scope=True)
        for name in ("outsider", "groups", "attributes")
    ]
    left_out = Row(attacker="released", status=Status.NOT_CONSIDERED)
    words = {
        "Not considered: {attackers}.": "Nicht betrachtet: {attackers}.",
        "earlier releases": "frühere Veröffentlichungen",
        ", ": " / ",
    }
    assert Verdict((*rows, left_out)).sentences(speak(words))[-1] == (
        "Nicht betrachtet: frühere Veröffentlichungen."
    )


@pytest.mark.parametrize("lang", languages()[1:])
def test_translation_has_the_fields_of_its_message(lang):
    entries = catalogue(lang)
    assert len(entries) > 1000
    wrong = [
        text
        for text, said in entries.items()
        if sorted(found[0] for found in FIELD.finditer(text))
        != sorted(found[0] for found in FIELD.finditer(said))
    ]
    assert wrong == []


def test_missing_translations_are_reported(tmp_path, monkeypatch):
    (tmp_path / "de.po").write_text('msgid "no file {name!r}"\nmsgstr "{name!r} fehlt"\n', "utf-8")
    monkeypatch.setattr(import_module("hitoku.io.language"), "FOLDER", tmp_path)
    catalogue.cache_clear()
    missing, obsolete = report("de")
    assert len(missing) > 1000
    assert obsolete == ["no file {name!r}"]


def test_html_templates_are_extracted_with_their_choices():
    source = '<p>{{ _("Table" if whole else "{n} margins", n=count(x)) }}</p>\n{{ _(name) }}{{ _("b") }}'
    assert list(html_templates(source)) == [(1, "Table"), (1, "{n} margins"), (2, "b")]


@pytest.mark.parametrize("lang", languages()[1:])
def test_catalogue_is_read_as_babel_reads_it(lang):
    babel = pytest.importorskip(
        "babel.messages.pofile", reason="the documentation tools are not installed: make setup"
    )
    with (SRC / "io" / "languages" / f"{lang}.po").open("rb") as file:
        entries = [(entry.id, entry.string) for entry in babel.read_po(file, abort_invalid=True)]
    assert {text: said for text, said in entries if text and said} == catalogue(lang)


def test_catalogue_entry_may_have_several_lines_and_quotes():
    assert read_po(
        'msgid ""\nmsgstr "header"\nmsgid "a \\"b\\""\n" c"\nmsgstr "x\\n"\n"y"\nmsgid "empty"\nmsgstr ""'
    ) == {'a "b" c': "x\ny"}


def test_text_without_a_translation_stays_english():
    assert speaker("ja")("a sentence of tomorrow, {n}", n=3) == "a sentence of tomorrow, 3"
    assert speaker("en")("withheld") == "withheld"


def test_unknown_language_is_rejected():
    assert languages() == ("en", "ja")
    with pytest.raises(ParameterError) as refused:
        speaker("jp")
    assert refused.value.code == "unknown_language"


def test_name_that_is_also_a_message_is_not_translated(tmp_path):
    work = Session("pass", PEOPLE, unit="id")
    work.frequency_table(by=["region"], name="withheld")
    html = page(recheck(work.submit(tmp_path / "submission")), lang="ja")
    assert "<h1>pass</h1>" in html
    assert parsed(html) is not None
    assert "1. withheld" in html


def test_error_is_printed_in_japanese():
    error = DataError(
        "unknown_column",
        "no column {column!r}",
        where="firms.csv",
        fix=did_you_mean("turnver", ["turnover"]),
        column="turnver",
    )
    assert error_lines(error, "ja") == [
        "列 'turnver' はありません",
        "場所: firms.csv",
        "対処: 'turnover' ではありませんか",
    ]
    assert error_lines(error) == str(error).split("\n  ")
    assert error_lines(HitokuError("tomorrow", "a sentence of tomorrow"), "ja") == ["a sentence of tomorrow"]


def test_arguments_in_an_error_are_not_translated():
    words = {"tabulate with {arguments}": "{arguments} で集計してください"}
    text = Text("tabulate with {arguments}", arguments=Arguments("tabulate", unit=...))
    assert speak(words)(text) == "tabulate(..., unit=...) で集計してください"
