"""Pages in Japanese: complete, faithful in numbers and codes, English where there is no word."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

import pytest
from tests.checks.submissions import PEOPLE, session
from tests.io.report.parsed import parsed
from tests.io.report.releases import adjusted, counts, linked, magnitudes, unsafe

from hitoku.checks.session import Session
from hitoku.checks.submission import recheck
from hitoku.errors import ParameterError
from hitoku.evidence import Outcome
from hitoku.io import FOLDER, PLACE, catalogue, languages, page, read_po, speaker
from hitoku.io.report import WORDS
from hitoku.io.report import page as report_page
from hitoku.model import Row, Status, Table, Verdict
from hitoku.pipeline import protect

ENTRIES = read_po((FOLDER / "ja" / "pages.po").read_text("utf-8"))
NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)
JAPANESE = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    work = session()
    work.percentile("income", 50, by="region", name="medians")
    work.frequency_table(by=["region"], where={"job": ["a", "b"]}, name="without c")
    work.submit(tmp_path_factory.mktemp("language") / "submission")
    return recheck(work.submit(tmp_path_factory.mktemp("language") / "again"))


def test_english_is_the_page_as_it_was(check):
    assert page(check, lang="en", now=NOON) == page(check, now=NOON)


def test_japanese_page_is_fully_translated(check):
    """What stays English is what people named, hashes, and what a program is told."""
    html = page(check, lang="ja")
    assert '<html lang="ja">' in html
    bare = re.sub(r"<(style|code)>.*?</\1>", "", html, flags=re.DOTALL)
    texts = [text.strip() for text in re.findall(r">([^<>]+)<", bare)]
    names = {each.output.name for each in check.outputs}
    numbered = {f"{number}. {each.output.name}" for number, each in enumerate(check.outputs, start=1)}
    columns = {name for each in check.outputs for name in each.output.published}
    codes = {"Total", "all", "region \N{MULTIPLICATION SIGN} job", "wages"}
    kept = names | numbered | columns | codes
    left = [
        text
        for text in texts
        if re.search(r"[A-Za-z]{3,}", text)
        and not JAPANESE.search(text)
        and not re.fullmatch("[0-9a-f]{64}", text)
        and text not in kept
    ]
    assert left == []


@pytest.mark.parametrize("kind", [counts, unsafe, magnitudes, adjusted], ids=lambda kind: kind.__name__)
def test_japanese_report_is_fully_translated(kind):
    """What stays English is what people named, rules and methods, and what a program is told."""
    cells = kind()
    versions, sha256 = {"hitoku": "0.1"}, {"public/table.csv": "0" * 64}
    html = report_page(cells, title="T", asked="x = 1", versions=versions, sha256=sha256, lang="ja")
    assert '<html lang="ja">' in html
    bare = re.sub(r"<(style|code|script|pre)[ >].*?</\1>", "", html, flags=re.DOTALL)
    labels = cells.table.labels
    kept = {*labels.names, *(code for codes in labels.codes for code in codes), *cells.need.rules}
    kept |= {cells.protection.method, "public/table.csv", "hitoku", "SHA"}
    words = [text for text in re.findall(r">([^<>]+)<", bare) if not JAPANESE.search(text)]
    left = {word for text in words for word in re.findall(r"[A-Za-z_]{3,}[\w./]*", text)}
    assert left <= kept
    data = json.loads(re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1])
    for told in (data["why"], data["verdict"], data["layers"].get("interval", {})):
        assert [
            text for text in told.values() if re.search("[a-z]{4}", text) and not JAPANESE.search(text)
        ] == []
    assert set(data["words"]) == set(WORDS)


TOGETHER = "3 tables: sums that they share were audited, other combinations of their cells were not"
# Commands stay as they are.
COMMAND = re.compile("hitoku (audit|attack release|verify)")
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
def test_japanese_verdict_rows_are_translated(kind):
    say = speaker("ja")
    verdict = VERDICTS[kind]().verdict
    texts = [text for row in verdict.rows for text in (row.label, row.result, row.reason, row.fix) if text]
    told = [(text, COMMAND.sub("", say(text))) for text in texts]
    told += [(sentence, sentence) for sentence in verdict.sentences(say)]
    left = [
        text for text, said in told if not JAPANESE.search(said) or re.search("[a-z]{3,} [a-z]{3,}", said)
    ]
    assert left == []


def test_headline_in_japanese_lists_attackers():
    rows = [
        Row(attacker=name, status=Status.PROVED, in_scope=True)
        for name in ("outsider", "groups", "attributes")
    ]
    left_out = Row(attacker="released", status=Status.NOT_CONSIDERED)
    said = Verdict((*rows, left_out)).sentences(speaker("ja"))
    assert said == [
        "手法が秘密である限り、部外者、導出できる集団および属性の漏えいに対して安全です。",
        "未検討:過去の公表物。",
    ]


def test_japanese_verdicts_contain_no_english_sentence(check):
    """Between codes and names of outputs, which stay, no English sentence is left."""
    say = speaker("ja")
    names = sorted((each.output.name for each in check.outputs), key=len, reverse=True)
    for each in check.outputs:
        for verdict in each.verdicts:
            told = say(verdict.text)
            for name in names:
                told = told.replace(name, "")
            assert re.findall(r"[a-z]{3,} [a-z]{3,}", told) == [], told


def test_page_translations_keep_their_fields():
    assert len(ENTRIES) > 400
    for text, said in ENTRIES.items():
        assert sorted(PLACE.findall(text)) == sorted(PLACE.findall(said)), text
        assert JAPANESE.search(said) or not re.search("[a-z]{3,}", PLACE.sub("", text)), text


def filled(text):
    """Put something into every place, so that each sentence is met as pages have it."""
    return PLACE.sub(lambda place: "12" if re.fullmatch(r"[nm]\d?", place[1]) else "x9", text)


def test_page_templates_are_not_confused():
    say = catalogue("ja").say
    assert [text for text, said in ENTRIES.items() if say(filled(text)) != filled(said)] == []


def test_numbers_and_codes_stay(check):
    say = speaker("ja")
    for each in check.outputs:
        for verdict in each.verdicts:
            for text in (verdict.text, verdict.remedy):
                told = say(text)
                assert sorted(re.findall(r"\d+", told)) == sorted(re.findall(r"\d+", _plain(text))), text


def _plain(text):
    """Numerals in words become digits in Japanese."""
    words = {"two outputs": "2", "three outputs": "3", "four outputs": "4"}
    for word, digit in words.items():
        text = text.replace(word, digit)
    return text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "frequency table: by region, job; missing complete",
            "度数表:region, job 別;欠損のあるレコードを除く",
        ),
        (
            "magnitude table: by region; value income; missing complete",
            "数値表:region 別;変数 income;欠損のあるレコードを除く",
        ),
        ("average: by job; where region is N, S", "平均:job 別;条件:region が N, S"),
    ],
)
def test_recipe_settings_are_translated_part_by_part(text, said):
    assert speaker("ja")(text) == said


def test_unknown_text_stays_english():
    assert speaker("ja")("a sentence of tomorrow") == "a sentence of tomorrow"
    assert speaker("en")("withheld") == "withheld"


def test_unknown_language_raises():
    assert languages() == ("en", "ja")
    with pytest.raises(ParameterError, match="no language 'jp'") as refused:
        speaker("jp")
    assert refused.value.fix == "use one of: en, ja"


def test_name_equal_to_a_template_is_not_translated(tmp_path):
    work = Session("pass", PEOPLE, unit="id")
    work.frequency_table(by=["region"], name="withheld")
    html = page(recheck(work.submit(tmp_path / "submission")), lang="ja")
    assert "<h1>pass</h1>" in html
    assert parsed(html) is not None
    assert "1. withheld" in html


@pytest.mark.parametrize(
    ("english", "japanese"),
    [
        ("turnover by region, trade", "region, trade 別 turnover"),
        ("exactly 3 by [trade=3]: 104 - 101 = 3", "[trade=3] によりちょうど 3:104 - 101 = 3"),
        (
            "at most 3 by [trade=3], with [size=1] at its upper bound: 4 - 1 = 3",
            "[trade=3] と上限の [size=1]により 3 以下:4 - 1 = 3",
        ),
        ("at least 2: known before reading", "2 以上:読む前から分かっています"),
        (
            "average: value income; by region; statistic mean; missing complete",
            "平均:変数 income;region 別;統計量 mean;欠損のあるレコードを除く",
        ),
    ],
)
def test_word_before_by_is_translated_in_context(english, japanese):
    assert speaker("ja")(english) == japanese
