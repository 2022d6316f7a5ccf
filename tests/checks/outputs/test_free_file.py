"""Free files: taken where they are what their name says and a person sees all of it; never without a look."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.raising import raises

import hitoku as ht
from hitoku.checks import Decision
from hitoku.checks.evidence import clean_file
from hitoku.checks.ledger import init
from hitoku.checks.principles import Clearance
from hitoku.checks.submission import recheck, release
from hitoku.errors import DataError
from hitoku.files import sha256
from hitoku.io import page, write_report

PEOPLE = pd.DataFrame({"x": np.arange(60)})


def chunk(kind, body):
    whole = kind + body
    return struct.pack(">I", len(body)) + whole + struct.pack(">I", zlib.crc32(whole))


def png(*more, side=2):
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0))
    dots = chunk(b"IDAT", zlib.compress(b"".join(b"\0" + bytes(side) for _ in range(side))))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(more) + dots + chunk(b"IEND", b"")


def drawn(form):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure, axes = pyplot.subplots(figsize=(1, 1), dpi=40)
    axes.plot([1, 2], [3, 4])
    buffer = io.BytesIO()
    figure.savefig(buffer, format=form)
    pyplot.close(figure)
    return buffer.getvalue()


def test_picture_metadata_is_removed():
    secret = chunk(b"tEXt", b"Comment\0income of Ann: 9000000")
    thumb = chunk(b"eXIf", b"MM\0*secret")
    clean = clean_file("a.png", png(secret, thumb) + b"behind the end")
    assert clean == png()
    assert clean_file("a.PNG", clean) == clean


@pytest.mark.parametrize("form", ["png", "jpeg"])
def test_pictures_of_other_programs_are_accepted(form):
    image = pytest.importorskip("PIL.Image")
    raw = drawn(form)
    if form == "jpeg":
        comment = b"\xff\xfe" + struct.pack(">H", 8) + b"secret"
        raw = raw[:2] + comment + raw[2:] + b"behind the end"
    clean = clean_file(f"a.{form}", raw)
    assert b"secret" not in clean
    assert b"Software" not in clean
    assert b"behind" not in clean
    assert clean_file(f"a.{form}", clean) == clean
    before, after = (np.asarray(image.open(io.BytesIO(each))) for each in (raw, clean))
    assert np.array_equal(before, after)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.png", b"GIF89a", "is not a picture of that type"),
        ("a.png", png()[:-20], "ends too early|no picture"),
        ("a.png", png(chunk(b"QQQQ", b"")), "unknown parts"),
        ("a.png", png(side=0), "no dots"),
        ("a.png", png().replace(struct.pack(">II", 2, 2), struct.pack(">II", 10**5, 10**5)), "too many"),
        ("a.jpg", png(), "does not begin"),
        ("a.jpg", b"\xff\xd8\xff\xd9", "no dots"),
        ("a.jpg", b"\xff\xd8\xff", "is not a picture"),
        ("a.txt", b"\xff\xfe", "not a text in UTF-8"),
        ("a.py", b"x = 1\nprint('\x1b[2J')\n", r"U\+001B in line 2"),
        ("a.py", "access = 'user\u202e'".encode(), r"U\+202E in line 1"),
        ("a.txt", b"a" * 1_000_001, "longer than"),
        ("a.csv", b"a,b", "has an unsupported type"),
        ("a.svg", b"<svg/>", "has an unsupported type"),
        ("a", b"", "has an unsupported type"),
    ],
)
def test_file_with_wrong_extension_raises(name, content, words):
    with pytest.raises(DataError, match=words):
        clean_file(name, content)


def test_text_file_is_unchanged():
    text = "#\tÄ 日本\r\nfit(y ~ x)\n".encode()
    assert clean_file("model.R", text) == text


def test_free_file_is_released_only_by_decision(tmp_path):
    (tmp_path / "map.png").write_bytes(png())
    work = ht.Session("s", PEOPLE)
    work.mean("x", name="mean")
    out = work.hand_over_file(tmp_path / "map.png", "a map", name="map")
    assert out.status is Clearance.REVIEW
    assert out.published["sha256"] == [sha256(png())]
    folder = work.submit(tmp_path / "s")
    assert not list((folder / "public").glob("*map*"))
    check = recheck(folder)
    assert check.outputs[1].findings == ()
    html = page(check)
    assert "img-src data:" in html
    assert base64.b64encode(png()).decode() in html
    write_report(tmp_path / "report", check)
    assert (tmp_path / "report" / "files" / "02-map.png").read_bytes() == png()
    init(tmp_path / "l", policy="japan-2017", checkers=1)
    given = {"ledger": tmp_path / "l", "data": PEOPLE, "checkers": ["Ito"]}
    assert release(folder, **given).blocked
    word = Decision(
        output="map", decision="release", who="Sato", when=date(2026, 11, 16), reason="three regions"
    )
    done = release(folder, decisions=[word], **given)
    # Who looked at it compared it: what comes later is not held up by it.
    later = ht.Session("t", PEOPLE, ledger=tmp_path / "l")
    later.hand_over_file(tmp_path / "map.png", "the same map")
    assert later.summary("std", "x", name="std").status is Clearance.PASS
    checked = recheck(later.submit(tmp_path / "t"), ledger=tmp_path / "l").outputs[1]
    assert checked.row["differencing"] == "pass", checked.verdicts
    assert (done.folder / "02-map.png").read_bytes() == png()
    assert done.receipt.outputs[1].files["02-map.png"] == sha256(png())


def test_forged_free_file_is_found(tmp_path):
    (tmp_path / "a.py").write_text("print(1)\n")
    out = ht.Session("s", PEOPLE).hand_over_file(tmp_path / "a.py", "code")
    plain = out.evidence.to_dict()
    kind = type(out.evidence)
    other = base64.b64encode(b"print(2)\n").decode()
    assert kind.from_dict({**plain, "content": other}, "o").files[".py"] == b"print(2)\n"
    assert out.asked.publish(kind.from_dict({**plain, "content": other}, "o")) != out.published
    hidden = base64.b64encode(png(chunk(b"tEXt", b"a\0secret"))).decode()
    forged = {"name": "a.png", "content": hidden, "n_bytes": len(base64.b64decode(hidden))}
    for wrong in (
        {"content": other[:-4]},
        {"content": "??"},
        {"name": "../a.py"},
        {"name": "a\x1b.py"},
        {"name": "a.csv"},
        forged,
    ):
        with raises("evidence_invalid"):
            kind.from_dict({**plain, **wrong}, "o")


def test_unsupported_file_raises_with_fix(tmp_path):
    work = ht.Session("s", PEOPLE)
    (tmp_path / "a.csv").write_text("a\n")
    with raises("attached_file_invalid") as caught:
        work.hand_over_file(tmp_path / "a.csv", "numbers")
    assert "hand_over" in caught.value.fix
    with raises("no_file_or_folder"):
        work.hand_over_file(tmp_path / "b.py", "code")
    with raises("file_without_description"):
        work.hand_over_file(_written(tmp_path / "c.py"), " ")
    assert work.outputs == []


def _written(path: Path) -> Path:
    path.write_text("1\n")
    return path
