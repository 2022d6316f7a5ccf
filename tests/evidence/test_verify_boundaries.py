"""Certificates written by hand, to be checked on paper: what is just enough, and what just is not.

 5  6 | 11      Only the four inner cells are withheld, so every table that fits is this one with t more in
 7  8 | 15      two corners and t less in the others. The witnesses are t = -2 and t = 3.
12 14 | 26
"""

from __future__ import annotations

import copy
import gzip
import json
import sys

import pytest
from tests.oracles.forgeries import reseal

from hitoku.evidence import verify as verifier
from hitoku.evidence.verify import ADJUSTED, FORMAT, fingerprint, prove, verify

CODES = [[row, column] for row, column in zip("AABBABTTT", "xyxyTTxyT", strict=True)]
RELATIONS = [[0, 1, 4], [2, 3, 5], [0, 2, 6], [1, 3, 7], [4, 5, 8], [6, 7, 8]]
PROOF = {
    "format": FORMAT,
    "integer": True,
    "variables": ["row", "column"],
    "codes": CODES,
    "values": [5, 6, 7, 8, 11, 15, 12, 14, 26],
    "lower": [0] * 9,
    "upper": [None] * 9,
    "relations": [[cells, [1, 1, -1]] for cells in RELATIONS],
    "withheld": [0, 1, 2, 3],
    "witnesses": [
        {"denominator": 1, "cells": [0, 1, 2, 3], "differences": [-2, 2, 2, -2]},
        {"denominator": 1, "cells": [0, 1, 2, 3], "differences": [3, -3, -3, 3]},
    ],
    "unsafe": [{"cell": 0, "lower": 2, "upper": 3, "width": 5, "low": 0, "high": 1}],
}
# The same table with other values published: 2 less in the first cell, 3 more in the second.
MOVED = {
    **{
        name: PROOF[name]
        for name in ("integer", "variables", "codes", "values", "lower", "upper", "relations")
    },
    "format": ADJUSTED,
    "withheld": [],
    "published": [3, 9, 9, 5, 12, 14, 12, 14, 26],
    "unsafe": [{"cell": 0, "lower": 2, "upper": 3}],
}


def changed(content, path, new):
    """Give a certificate with one thing changed."""
    content = copy.deepcopy(content)
    inside = content
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = new
    return content


def said(content) -> tuple[str, int]:
    """Give what the verifier says about a certificate with the right fingerprint."""
    try:
        return prove({**content, "sha256": fingerprint(content)}), 0
    except verifier.Refuted as refuted:
        return refuted.args


def group(goal, witness):
    """Everybody of the first row, less those of its first cell: 6, and 8 and 3 in the witnesses."""
    return [{"group": 4, "cells": [4, 0], "weights": [1, -1], "goal": goal, "witness": witness}]


@pytest.mark.parametrize(
    ("path", "new"),
    [
        pytest.param(("unsafe", 0, "lower"), 2, id="just low enough"),
        pytest.param(("unsafe", 0, "width"), "5.0", id="just wide enough, as a decimal"),
        pytest.param(("unsafe", 0, "upper"), "6/2", id="just high enough, as a fraction"),
        pytest.param(
            ("unsafe", 0),
            {"cell": 0, "lower": 0, "upper": 3, "width": 3, "low": None, "high": 1},
            id="the true table is an end",
        ),
        pytest.param(
            ("unsafe", 0),
            {"cell": 0, "lower": 2, "upper": 0, "width": 2, "low": 0, "high": None},
            id="and the other",
        ),
        pytest.param(
            ("unsafe", 0),
            {"cell": 3, "lower": 0, "upper": 0, "width": 0, "low": 0, "high": 1},
            id="nothing asked but not to be a point",
        ),
        pytest.param(("lower", 0), 3, id="the low witness touches its bound"),
        pytest.param(("upper", 0), 8, id="the high witness touches its bound"),
        pytest.param(("lower", 8), 26, id="the value is its lower bound"),
        pytest.param(("upper", 8), 26, id="the value is its upper bound"),
        pytest.param(("groups",), group(6, None), id="as many elsewhere in the true table"),
        pytest.param(("groups",), group(8, 0), id="as many elsewhere in a witness"),
        pytest.param(
            ("witnesses", 0),
            {"denominator": 2, "cells": [0, 1, 2, 3], "differences": [-4, 4, 4, -4]},
            id="halves that are whole",
        ),
    ],
)
def test_exactly_sufficient_protection_is_proved(path, new):
    answer, code = said(changed(PROOF, path, new))
    assert code == 0, answer
    assert "2 witnesses prove it" in answer


@pytest.mark.parametrize(
    ("path", "new", "reason", "code"),
    [
        pytest.param(("unsafe", 0, "lower"), "2.01", "not low enough", 1, id="a hundredth too high"),
        pytest.param(("unsafe", 0, "upper"), "301/100", "not high enough", 1, id="a hundredth too low"),
        pytest.param(("unsafe", 0, "width"), 6, "not far enough apart", 1, id="too narrow"),
        pytest.param(("unsafe", 0, "lower"), -1, "a requirement is negative", 2, id="a negative lower level"),
        pytest.param(("unsafe", 0, "upper"), -1, "a requirement is negative", 2, id="a negative upper level"),
        pytest.param(("unsafe", 0, "width"), -1, "a requirement is negative", 2, id="a negative width"),
        pytest.param(
            ("unsafe", 0),
            {"cell": 0, "lower": 0, "upper": 0, "width": 0, "low": None, "high": None},
            "not far enough apart",
            1,
            id="a point is never enough",
        ),
        pytest.param(
            ("unsafe", 0),
            {"cell": 0, "lower": 0, "upper": 0, "width": 0, "low": 0, "high": 0},
            "not high enough",
            1,
            id="one witness for both ends",
        ),
        pytest.param(
            ("unsafe", 0),
            {"cell": 0, "lower": 0, "upper": 3, "width": 4, "low": None, "high": 1},
            "not far enough apart",
            1,
            id="too narrow beside the true table",
        ),
        pytest.param(
            ("unsafe", 0),
            {"cell": 0, "lower": 2, "upper": 3, "width": 5, "low": 1, "high": 0},
            "not low enough",
            1,
            id="ends swapped",
        ),
        pytest.param(("unsafe", 0, "low"), 2, "a position does not exist", 1, id="a witness after the last"),
        pytest.param(
            ("unsafe", 0, "low"), -1, "a position does not exist", 1, id="a witness before the first"
        ),
        pytest.param(("unsafe", 0, "cell"), 9, "a position does not exist", 1, id="a cell after the last"),
        pytest.param(("unsafe", 0, "cell"), True, "not a whole number", 2, id="yes is no position"),
        pytest.param(("unsafe", 0, "cell"), 4, "it is published", 1, id="an unsafe cell is published"),
        pytest.param(("unsafe",), PROOF["unsafe"] * 2, "occurs twice", 1, id="a cell twice"),
        pytest.param(("withheld",), [0, 1, 2, 3, 3], "occurs twice", 1, id="withheld twice"),
        pytest.param(
            ("withheld",),
            [0, 1, 2],
            "changes a cell that is published",
            1,
            id="a witness changes what is shown",
        ),
        pytest.param(
            ("lower", 0),
            4,
            "witness 0: it leaves the bounds of cell A / x",
            1,
            id="one below the lower bound",
        ),
        pytest.param(
            ("upper", 0),
            7,
            "witness 1: it leaves the bounds of cell A / x",
            1,
            id="one above the upper bound",
        ),
        pytest.param(("lower", 8), 27, "outside its bounds", 1, id="a value below its bound"),
        pytest.param(("upper", 8), "25.9", "outside its bounds", 1, id="a value above its bound"),
        pytest.param(("values", 8), 27, "relation 4: the table does not add up", 1, id="a wrong total"),
        pytest.param(("values",), [5] * 8, "not one number for each cell", 2, id="a value is missing"),
        pytest.param(("values", 0), "5.0e0", "not an exact number", 2, id="an exponent"),
        pytest.param(("values", 0), " 5", "not an exact number", 2, id="a blank"),
        pytest.param(("values", 0), "5/0", "not an exact number", 2, id="nothing is divided by zero"),
        pytest.param(("values", 0), True, "not an exact number", 2, id="yes is no number"),
        pytest.param(("witnesses", 0, "denominator"), 0, "not a positive whole number", 2, id="over zero"),
        pytest.param(
            ("witnesses", 0, "denominator"), -1, "not a positive whole number", 2, id="over minus one"
        ),
        pytest.param(("witnesses", 0, "denominator"), True, "not a positive whole number", 2, id="over yes"),
        pytest.param(("witnesses", 0, "denominator"), 4, "or is not whole", 1, id="half a person"),
        pytest.param(
            ("witnesses", 0, "differences"),
            [-2, 2, 2, -1],
            "does not add up in relation 1",
            1,
            id="a witness that does not add up",
        ),
        pytest.param(
            ("witnesses", 0, "differences"),
            [-2, 2, 2],
            "not one number for each cell",
            2,
            id="a difference is missing",
        ),
        pytest.param(
            ("groups",), group(7, None), "too few people elsewhere", 1, id="too few in the true table"
        ),
        pytest.param(("groups",), group("8.5", 0), "too few people elsewhere", 1, id="too few in a witness"),
        pytest.param(
            ("groups",), group(1, 2), "a position does not exist", 1, id="a group without its witness"
        ),
    ],
)
def test_barely_insufficient_protection_is_rejected(path, new, reason, code):
    answer, found = said(changed(PROOF, path, new))
    assert reason in answer
    assert found == code


def test_certificate_without_unsafe_cells_proves_nothing():
    assert said(changed(PROOF, ("unsafe",), [])) == ("no cell is listed as unsafe", 0)
    assert said(changed(MOVED, ("unsafe",), [])) == ("no cell is listed as unsafe, and all sums hold", 0)
    groups = said(changed(changed(PROOF, ("unsafe",), []), ("groups",), group(8, 0)))
    assert groups == ("no cell is listed as unsafe; 1 groups are safe, 2 witnesses prove it", 0)


def test_fractional_witnesses_are_allowed_for_amounts():
    halves = {"denominator": 2, "cells": [0, 1, 2, 3], "differences": [-1, 1, 1, -1]}
    asked = {"cell": 0, "lower": "1/2", "upper": 3, "width": "3.5", "low": 0, "high": 1}
    content = changed(changed(PROOF, ("witnesses", 0), halves), ("unsafe", 0), asked)
    assert "is not whole" in said(content)[0]
    assert said({**content, "integer": False})[1] == 0


@pytest.mark.parametrize(
    ("lower", "upper", "enough"),
    [
        pytest.param(2, 3, True, id="just far enough below"),
        pytest.param("2.1", 3, False, id="not quite"),
        pytest.param(2, 0, True, id="only below is open"),
        pytest.param(0, 2, False, id="only above is open, and it went below"),
        pytest.param(0, 0, True, id="anything else will do"),
    ],
)
@pytest.mark.parametrize("mirrored", [False, True])
def test_adjusted_value_at_exact_distance_is_proved(lower, upper, enough, mirrored):
    # The first cell went two down; in the mirror the last went two up: levels change sides.
    content = copy.deepcopy(MOVED)
    if mirrored:
        content["published"] = [7, 3, 3, 11, 10, 14, 10, 14, 24]
        lower, upper = upper, lower
    content["unsafe"] = [{"cell": 0, "lower": lower, "upper": upper}]
    answer, code = said(content)
    assert code == (0 if enough else 1), answer
    assert ("1 unsafe cells are published far enough" in answer) is enough


@pytest.mark.parametrize(
    ("path", "new", "reason"),
    [
        pytest.param(("published",), [5, 7, 7, 7, 12, 14, 12, 14, 26], "with its true value", id="as it is"),
        pytest.param(
            ("published", 8), 27, "relation 4: the published values do not add up", id="a wrong sum"
        ),
        pytest.param(("lower", 0), 4, "published value is outside its bounds", id="below its bound"),
        pytest.param(("upper", 1), 8, "published value is outside its bounds", id="above its bound"),
        pytest.param(("withheld",), [0], "an adjusted release is withheld", id="something is withheld"),
        pytest.param(("unsafe", 0, "lower"), -1, "a requirement is negative", id="a negative level"),
        pytest.param(("unsafe",), MOVED["unsafe"] * 2, "occurs twice", id="a cell twice"),
        pytest.param(("groups",), group(10, 0), "too few people elsewhere", id="nine are elsewhere"),
    ],
)
def test_insufficient_published_values_are_rejected(path, new, reason):
    assert said(changed(MOVED, ("groups",), group(9, 0)))[1] == 0
    assert said(changed(MOVED, ("lower", 0), 3))[1] == 0
    assert said(changed(MOVED, ("upper", 1), 9))[1] == 0
    answer, code = said(changed(MOVED, path, new))
    assert reason in answer
    assert code in (1, 2)


def sealed(content) -> bytes:
    return json.dumps({**content, "sha256": fingerprint(content)}).encode()


@pytest.fixture
def folder(tmp_path):
    """A release folder with the certificate and its public file."""
    (tmp_path / "checker").mkdir()
    (tmp_path / "public").mkdir()
    (tmp_path / "checker" / "certificate.json").write_bytes(sealed(PROOF))
    lines = ["row,column,value,status"]
    for cell, (codes, value) in enumerate(zip(CODES, PROOF["values"], strict=True)):
        lines.append(",".join([*codes, *(("", "withheld") if cell < 4 else (str(value), "published"))]))
    (tmp_path / "public" / "table.csv").write_text("\n".join(lines) + "\n", "utf-8")
    reseal(tmp_path)
    return tmp_path


def test_verified_folder_is_proved_with_counts(folder, capsys, monkeypatch):
    verdict = verify(folder)
    assert verdict
    assert verdict.code == 0
    assert "shows exactly the 5 cells that are not withheld" in verdict.reason
    monkeypatch.setattr(sys, "argv", ["verify.py", str(folder)])
    assert verifier.main() == 0
    assert capsys.readouterr().out.startswith("yes: 1 unsafe cells are safe, 2 witnesses prove it")
    monkeypatch.setattr(sys, "argv", ["verify.py"])
    assert verifier.main() == 2
    assert capsys.readouterr().out == "no: usage: python verify.py release/\n"


@pytest.mark.parametrize(
    ("was", "now", "reason"),
    [
        pytest.param(
            "A,x,,withheld", "A,x,5,withheld", "line 2, cell A / x: shown although it is withheld", id="shown"
        ),
        pytest.param("A,T,11,", "A,T,12,", "line 6, cell A / T: not the certified value", id="another value"),
        pytest.param("A,T,11,", "A,T,,", "not an exact number", id="a value is not shown"),
        pytest.param("B,T,15,published\n", "", "1 cells are missing", id="a line is missing"),
        pytest.param(
            "B,T,15,published\n",
            "B,T,15,published\n" * 2,
            "line 8, cell B / T: no such cell, or twice",
            id="twice",
        ),
        pytest.param("row,column", "column,row", "other columns than agreed", id="other columns"),
        pytest.param("A,x,,withheld", "A,x,,withheld 5", "A / x: another status", id="the status tells it"),
        pytest.param("A,T,11,published", "A,T,11,withheld", "A / T: another status", id="a false status"),
    ],
)
def test_altered_public_file_is_rejected(folder, was, now, reason):
    path = folder / "public" / "table.csv"
    text = path.read_text("utf-8")
    assert was in text
    path.write_text(text.replace(was, now), "utf-8")
    assert "public/table.csv: not the file that was certified" in verify(folder).reason
    reseal(folder)
    verdict = verify(folder)
    assert not verdict
    assert reason in verdict.reason


def test_auxiliary_cells_are_suppressed_and_in_no_file(folder):
    path = folder / "public" / "table.csv"
    text = path.read_text("utf-8")

    def answer(**changes):
        reseal(folder, lambda content: content.update(changes))
        return verify(folder)

    assert "1 cells are missing" not in answer(hidden=[3]).reason
    assert not verify(folder), "a hidden cell has a line"
    path.write_text(text.replace("B,y,,withheld\n", ""), "utf-8")
    assert answer(hidden=[3])
    linked = {"variables": ["row", "column"], "codes": [CODES[4], CODES[5]], "cells": [4, 5]}
    (folder / "public" / "totals").mkdir()
    own = folder / "public" / "totals" / "totals.csv"
    own.write_text("row,column,value,status\nA,T,11,published\nB,T,15,published\n", "utf-8")
    assert "and 1 linked tables show the same" in answer(hidden=[3], tables={"totals": linked}).reason
    linked |= {"codes": [CODES[3], CODES[5]], "cells": [3, 5]}
    own.write_text("row,column,value,status\nB,y,,withheld\nB,T,15,published\n", "utf-8")
    shows = answer(hidden=[3], tables={"totals": linked}).reason
    assert "shows a cell that is in no published table" in shows
    assert "a hidden cell is not withheld" in answer(hidden=[8], tables={}).reason


@pytest.mark.parametrize(
    ("was", "now", "reason"),
    [
        pytest.param('"integer": true', '"integer": 1', "neither true nor false", id="one is not true"),
        pytest.param(
            '"integer": true', '"integer": true, "integer": true', "occurs twice", id="a name twice"
        ),
        pytest.param("26]", "26.0]", "floating point", id="a float"),
        pytest.param("26]", "NaN]", "floating point", id="no number"),
        pytest.param("certificate 4", "certificate of adjusted values 4", "wrong format", id="no claim"),
        pytest.param('"integer"', '"published": [], "integer"', "wrong format", id="two kinds of claim"),
        pytest.param("certificate 4", "certificate 1", "earlier version of hitoku: protect again", id="1"),
        pytest.param("certificate 4", "certificate 2", "earlier version of hitoku: protect again", id="2"),
        pytest.param("certificate 4", "certificate 3", "earlier version of hitoku: protect again", id="3"),
        pytest.param("certificate 4", "certificate 5", "later version", id="a format of tomorrow"),
        pytest.param("certificate 4", "certificate three", "not in the format", id="no number"),
    ],
)
def test_non_certificate_file_exits_with_code_2(tmp_path, was, now, reason):
    path = tmp_path / "proof.json"
    text = sealed(PROOF).decode()
    assert was in text
    path.write_text(text.replace(was, now, 1), "utf-8")
    verdict = verify(path)
    assert reason in verdict.reason
    assert verdict.code == 2


def test_decompression_bomb_raises_and_large_file_loads(tmp_path):
    path = tmp_path / "proof.json.gz"
    # Ten million bytes are always allowed, and two hundred times the packed size.
    for n_blanks, allowed in ((9_900_000, True), (14_000_000, False)):
        path.write_bytes(gzip.compress(sealed(PROOF)[:-1] + b" " * n_blanks + b"}"))
        room = 10_000_000 + 200 * len(path.read_bytes())
        assert (n_blanks + len(sealed(PROOF)) <= room) is allowed
        assert (verify(path).code == 0) is allowed


def test_proved_certificate_lists_open_points(folder):
    reseal(folder, lambda content: content.update(remarks=["rounding\x07", "time"]))
    assert verify(folder).reason.endswith(". Not covered: rounding; time")
    (folder / "checker" / "certificate.json.gz").write_bytes(gzip.compress(sealed(PROOF)))
    assert (verify(folder).code, "not exactly one certificate" in verify(folder).reason) == (2, True)
    for path in (folder / "checker").iterdir():
        path.unlink()
    assert (verify(folder).code, "no certificate in checker/" in verify(folder).reason) == (2, True)
