"""Files as offices have them: every encoding, separator and number style is read, or refused."""

from __future__ import annotations

import gzip
import logging
import tempfile
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitoku.errors import DataError, HitokuError, ParameterError
from hitoku.tabulation import STYLES, FileFormat, columns_of, look_at, shape_of, style_of, tabulate

WESTERN = "région;chiffre d'été\n01;1,5\nNîmes;2,25\n"
JAPANESE = "地域,売上\n東京,1.5\nおおさか,2.25\n"


def written(folder, data, name="records.csv"):
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("text", "codec", "found"),
    [
        (WESTERN, "utf-8", "utf-8"),
        (WESTERN, "utf-8-sig", "utf-8"),
        (WESTERN, "utf-16", "utf-16"),
        (WESTERN, "utf-16-le", "utf-16-le"),
        (WESTERN, "utf-16-be", "utf-16-be"),
        (WESTERN, "latin-1", "cp1252"),
        (WESTERN.replace("Nîmes", "Œuvre €"), "cp1252", "cp1252"),
        (JAPANESE, "cp932", "shift-jis"),
        (JAPANESE, "euc_jp", "euc-jp"),
        (JAPANESE, "utf-16", "utf-16"),
        ("地域,売上\n東京,1.5\n大阪,2.25\n", "cp932", "shift-jis"),
        ("地域,売上\n東京,1.5\n大阪,2.25\n", "euc_jp", "euc-jp"),
    ],
)
def test_detected_encoding_gives_the_same_table(text, codec, found, tmp_path):
    path = written(tmp_path, text.encode(codec))
    header = look_at(path).header
    assert look_at(path).encoding == found
    table = tabulate(path, [header[0]], value=header[1])
    sign = ";" if ";" in text else ","
    assert set(table.dimensions[0].leaves) == {line.split(sign)[0] for line in text.splitlines()[1:]}
    assert sorted(table.value.tolist()) == [1.5, 2.25, 3.75]


def test_compressed_files_are_read_in_any_encoding(tmp_path):
    path = written(tmp_path, gzip.compress(WESTERN.encode("cp1252")), "records.csv.gz")
    assert tabulate(path, ["région"], value="chiffre d'été").value[-1] == 3.75


@pytest.mark.parametrize(
    ("text", "codec"),
    [("пол,x\nжен,1\n", "cp1251"), ("województwo,x\nłódzkie,1\nmałopolskie,2\n", "cp1250")],  # noqa: RUF001
)
def test_ambiguous_encoding_raises_until_given(text, codec, tmp_path):
    path = written(tmp_path, text.encode(codec))
    with pytest.raises(DataError, match="not UTF-8") as caught:
        look_at(path)
    assert "encoding" in caught.value.fix
    assert tabulate(path, [text.partition(",")[0]], value="x", file=FileFormat(encoding=codec)).n_cells > 1


def test_wrong_encoding_raises_without_content(tmp_path):
    path = written(tmp_path, "g,x\nsecr\xe9t,1\n".encode("latin-1"))
    with pytest.raises(DataError, match="not written in utf-8") as caught:
        tabulate(path, ["g"], value="x", file=FileFormat(encoding="utf-8"))
    assert "secr" not in str(caught.value)


def test_no_copy_of_the_records_is_left_behind(tmp_path, monkeypatch):
    spill = tmp_path / "spill"
    spill.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spill))
    path = written(tmp_path, WESTERN.encode("utf-16"))
    tabulate(path, ["région"], value="chiffre d'été")
    with pytest.raises(HitokuError):
        tabulate(path, ["région"], value="région", weight="chiffre d'été")
    broken = written(tmp_path, (WESTERN + "a;1;2;3\n").encode("utf-16"), "broken.csv")
    with pytest.raises(DataError, match="more entries than the 2"):
        tabulate(broken, ["région"], value="chiffre d'été")
    assert list(spill.iterdir()) == []


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separator_is_detected(separator, tmp_path):
    text = 'region,size,x\n01,"a;b|c",1\n02,d,2\n'.replace(",", separator)
    path = written(tmp_path, text.encode())
    assert look_at(path).separator == separator
    assert tabulate(path, ["region", "size"], value="x").dimensions[1].leaves == ("a;b|c", "d")


def test_ambiguous_separators_raise(tmp_path):
    path = written(tmp_path, b"a;b,c\n1;2,3\n")
    with pytest.raises(DataError, match="more than one separator fits: comma, semicolon"):
        look_at(path)
    assert look_at(path, FileFormat(separator=";")).header == ("a", "b,c")


@pytest.mark.parametrize(
    ("entries", "total", "said"),
    [
        pytest.param(["1,5", "2"], 3.5, "decimal comma", id="comma"),
        pytest.param(["1.234,5", "2"], 1236.5, "decimal comma, thousands point", id="point groups"),
        pytest.param(["1,234.5", "2"], 1236.5, "decimal point, thousands comma", id="comma groups"),
        pytest.param(["1 234,5", "2"], 1236.5, "decimal comma, thousands blank", id="blank groups"),
        pytest.param(["1\u00a0234,5", "1\u202f000"], 2234.5, "decimal comma, thousands blank", id="nbsp"),
        pytest.param(["1'234.5", "2"], 1236.5, "decimal point, thousands apostrophe", id="apostrophe"),
        pytest.param(["1.234.567", "2"], 1234569, "decimal comma, thousands point", id="two groups"),
        pytest.param(["0.125", "7"], 7.125, "decimal point", id="a zero is no group"),
        pytest.param(["1234.567", "7"], 1241.567, "decimal point", id="four digits are no group"),
        pytest.param(["1e3", "-2", "+3"], 1001, "decimal point", id="exponent and signs"),
        pytest.param([" 5 ", "6"], 11, "decimal point", id="blanks around"),
    ],
)
def test_every_number_style_is_read(entries, total, said, tmp_path, caplog):
    lines = "".join(f'{place};"{entry}"\n' for place, entry in enumerate(entries))
    path = written(tmp_path, ("g;x\n" + lines).encode())
    with caplog.at_level(logging.INFO, "hitoku.reading"):
        table = tabulate(path, ["g"], value="x")
    assert table.value[-1] == total
    assert caplog.messages == [f"records.csv: read as utf-8, separator semicolon, {said}"]


@pytest.mark.parametrize(("entry", "point", "comma"), [("1.234", 1.234, 1234.0), ('"1,234"', 1234.0, 1.234)])
def test_ambiguous_number_raises_until_format_given(entry, point, comma, tmp_path):
    path = written(tmp_path, f"g,x\na,{entry}\n".encode())
    with pytest.raises(DataError, match="can be read in two ways") as caught:
        tabulate(path, ["g"], value="x")
    assert "234" not in str(caught.value)
    assert 'decimal ","' in caught.value.fix
    assert tabulate(path, ["g"], value="x", file=FileFormat(decimal=".")).value[-1] == point
    assert tabulate(path, ["g"], value="x", file=FileFormat(decimal=",")).value[-1] == comma


@given(
    st.lists(st.decimals(-(10**7), 10**7, places=2, allow_nan=False), min_size=1, max_size=5),
    st.sampled_from(STYLES),
)
def test_numbers_of_a_style_are_never_misread(numbers, style):
    def write(number):
        text = f"{number:,.2f}" if style.thousands else f"{number:.2f}"
        return text.translate({ord(","): style.thousands, ord("."): style.decimal})

    entries = [write(number) for number in numbers]
    found = style_of(map(shape_of, entries), "x", "file")
    assert found is not None
    assert [Decimal(found.plain(entry)) for entry in entries] == numbers


def test_integers_stay_integers(tmp_path):
    path = written(tmp_path, b"g;x\na;1 234\nb;5\n")
    assert tabulate(path, ["g"], value="x").integer


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("g,x\na,1\nb,2,3\n", "more entries than the 2 column", id="too many"),
        pytest.param("g,x\na,1\nb\n", "a line has 1 of the 2 entries", id="too few"),
        pytest.param("g,x,x\na,1,2\n", "two columns are called 'x'", id="same name"),
        pytest.param("", "is empty", id="nothing"),
        pytest.param("g,x\na,1\nb,two\n", "contains text instead of numbers", id="a word"),
        pytest.param("g,x\na,nan\n", "missing, NaN or infinite", id="nan"),
    ],
)
def test_broken_files_are_named(text, words, tmp_path):
    path = written(tmp_path, text.encode())
    with pytest.raises(DataError, match=words) as caught:
        tabulate(path, ["g"], value="x")
    assert "records.csv" in caught.value.where
    assert caught.value.fix


def test_columns_differing_in_case_are_distinct(tmp_path):
    path = written(tmp_path, b"g,x,X\na,1,2\n")
    assert tabulate(path, ["g"], value="X").value[-1] == 2


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"encoding": "cp125"}, "did you mean 'cp1252'"),
        ({"encoding": "hex"}, "no encoding 'hex'"),
        ({"separator": "::"}, "separator cannot be"),
        ({"decimal": "x"}, "decimal cannot be"),
        ({"thousands": "_"}, "thousands cannot be"),
        ({"decimal": ",", "thousands": ","}, "are both"),
    ],
)
def test_invalid_formats_raise(parameters, words):
    with pytest.raises(ParameterError, match=words):
        FileFormat(**parameters)


def test_columns_are_described_in_any_format(tmp_path):
    path = written(tmp_path, "code;été\n01;1,5\n02;2.000,5\n".encode("cp1252"))
    _, (code, value) = columns_of(path)
    assert (code.kind, value.name, value.kind) == ("text", "été", "number")
