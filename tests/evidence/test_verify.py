"""Every way we know to falsify a certificate, and the reason the verifier must give."""

from __future__ import annotations

import copy
import gzip
import json
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.oracles.forgeries import FORGERIES, reseal

from hitoku.evidence import audit
from hitoku.evidence import verify as verifier
from hitoku.evidence.verify import fingerprint, prove, verify
from hitoku.io import Publication
from hitoku.io.formats import write_table_csv
from hitoku.model import Dimension, Hierarchy, Need, Protection, Release, Table, add_up


def counts():
    """Two dimensions, counts: whole witnesses."""
    rng = np.random.default_rng(5)
    table = Table.from_array(rng.integers(1, 12, (5, 6)))
    unsafe = table.inner & (table.value < 4)
    withheld = table.inner & (table.value < 9)
    need = Need(
        unsafe=unsafe,
        lower=np.where(unsafe, 1, 0),
        upper=np.where(unsafe, 2, 0),
        width=np.where(unsafe, 4, 0),
    )
    return table, need, withheld


def cents():
    """Three dimensions, two decimals, bounds and levels off the grid: witnesses with denominators."""
    rng = np.random.default_rng(8)
    inner = rng.integers(100, 3000, (3, 3, 3)) / 100
    table = Table.from_array(inner, upper=None)
    table = Table(
        value=table.value,
        dimensions=table.dimensions,
        lower=0.5 * table.value,
        upper=1.5 * table.value + 1 / 3,
    )
    unsafe = np.zeros(table.n_cells, dtype=bool)
    unsafe[np.flatnonzero(table.inner)[::4]] = True
    need = Need(
        unsafe=unsafe, lower=np.where(unsafe, 0.05 * table.value, 0), upper=np.where(unsafe, 1 / 7, 0)
    )
    return table, need, table.inner


def hierarchy():
    """A hierarchy with withheld totals and a cell that only must not be a point."""
    tree = Hierarchy.from_tree({"A": ["A1", "A2", "A3"], "B": ["B1", "B2"]})
    dimensions = (Dimension.of("code", tree), Dimension.of("sex", Hierarchy.flat(["f", "m"], "all")))
    value = add_up(np.arange(1, 11).reshape(5, 2), dimensions)
    table = Table(value=value, dimensions=dimensions, frequency=value)
    unsafe = np.isin(np.arange(table.n_cells), [0, 7])
    need = Need(unsafe=unsafe, lower=np.where(np.arange(table.n_cells) == 0, 1, 0))
    return table, need, np.arange(table.n_cells) < 12


@pytest.fixture(scope="module", params=[counts, cents, hierarchy], ids=lambda make: make.__name__)
def certified(request):
    table, need, withheld = request.param()
    release = Release.of(table, Protection.withhold(table, withheld, need))
    found = audit(table, need, release)
    assert found.safe
    return found.certificate, release


def resealed(content) -> str:
    """Let a forger put the right fingerprint on; return what the verifier says."""
    content = {**content, "sha256": fingerprint(content)}
    try:
        return prove(content)
    except verifier.Refuted as failure:
        return failure.args[0]


def test_unchanged_certificate_is_proved(certified, tmp_path):
    certificate, _ = certified
    for name in ("proof.json", "proof.json.gz"):
        path = certificate.write(tmp_path / name)
        verdict = verify(path)
        assert verdict.ok, verdict.reason
        first = path.read_bytes()
        certificate.write(path)
        assert path.read_bytes() == first


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_rehashed_forgery_is_rejected_for_its_content(certified, forge):
    certificate, _ = certified
    for seed in range(10):
        content = copy.deepcopy(dict(certificate.content))
        expected = forge(content, random.Random(seed))  # noqa: S311 - repeatable choices
        assert json.dumps(content) != json.dumps(certificate.content)
        said = resealed(content)
        assert "prove it" not in said
        assert re.search(expected, said), said


def test_changed_bit_is_found(certified, tmp_path):
    certificate, _ = certified
    path = certificate.write(tmp_path / "proof.json")
    whole = path.read_bytes()
    rng = random.Random(0)  # noqa: S311 - repeatable choices
    for _ in range(300):
        raw = bytearray(whole)
        raw[rng.randrange(len(raw) - 1)] ^= 1 << rng.randrange(7)  # the last byte ends the line
        path.write_bytes(raw)
        verdict = verify(path)
        assert not verdict.ok
        assert verdict.code in {1, 2}


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        pytest.param('"denominator":', '"denominator":1.0,"x":', "floating point", id="float"),
        pytest.param('"denominator":', '"x":NaN,"denominator":', "NaN", id="NaN"),
        pytest.param('"denominator":', '"denominator":1,"denominator":', "occurs twice", id="name twice"),
        pytest.param("hitoku certificate 4", "hitoku certificate", "not in the format", id="format"),
        pytest.param('"measure":', '"measured":', "fingerprint", id="part renamed"),
        pytest.param('"sha256":', '"sha":', "KeyError", id="no fingerprint"),
        pytest.param('"integer":', '"integer":1,"y":', "neither true nor false", id="integer is a number"),
        pytest.param("{", "[{", "JSONDecodeError", id="not JSON"),
    ],
)
def test_text_without_certificate_raises(certified, tmp_path, old, new, reason):
    certificate, _ = certified
    path = certificate.write(tmp_path / "proof.json")
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")
    verdict = verify(path)
    assert not verdict.ok
    assert reason in verdict.reason


@pytest.mark.parametrize(
    "raw",
    [b"", b"[]", b"null", b"\x1f\x8b", b'"x"', b"[" * 10**5, b"\xff", gzip.compress(b"{}", mtime=0)[:-9]],
)
def test_file_of_another_type_raises(tmp_path, raw):
    path = tmp_path / "proof.json"
    path.write_bytes(raw)
    assert verify(path).code == 2


def test_reason_names_cells_by_codes(certified):
    certificate, _ = certified
    content = copy.deepcopy(dict(certificate.content))
    need = content["unsafe"][0]
    need["upper"] = 10**9
    assert " / ".join(content["codes"][need["cell"]]) in resealed(content)


@pytest.fixture
def folder(certified, tmp_path):
    """A release as it is handed over."""
    certificate, release = certified
    (tmp_path / "release" / "public").mkdir(parents=True)
    write_table_csv(tmp_path / "release" / "public" / "table.csv", Publication(release=release))
    certificate.write(tmp_path / "release")
    return tmp_path / "release"


def alone(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Run the file by itself, elsewhere, with the standard library only."""
    lonely = folder.parent / "elsewhere"
    lonely.mkdir(exist_ok=True)
    for name in ("verify.py", "verify_files.py", "verify_premises.py", "verify_rows.py"):
        shutil.copy(Path(verifier.__file__).with_name(name), lonely / name)
    command = [sys.executable, "-I", "-S", str(lonely / "verify.py"), *(args or (str(folder),))]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_verifier_runs_alone_on_release_folder(folder):
    done = alone(folder)
    assert (done.returncode, done.stdout[:5], done.stderr) == (0, "yes: ", "")
    assert "table.csv shows exactly" in done.stdout
    assert "taken on trust:" in done.stdout
    usage = alone(folder, "one", "two")
    assert usage.returncode == 2


def lines_of(folder: Path) -> list[list[str]]:
    return [line.split(",") for line in (folder / "public" / "table.csv").read_text("utf-8").splitlines()]


def withheld_shown(rows, place):
    hidden = next(i for i, row in enumerate(rows) if row[place] == "")
    rows[hidden][place] = "7"
    return "shown although it is withheld"


def published_changed(rows, place):
    shown = next(i for i, row in enumerate(rows) if i and row[place] != "")
    rows[shown][place] += "1"
    return "not the certified value"


def published_missing(rows, place):
    shown = next(i for i, row in enumerate(rows) if i and row[place] != "")
    rows[shown][place] = ""
    return "not an exact number"


def row_missing(rows, _):
    del rows[3]
    return "1 cells are missing"


def row_twice(rows, _):
    rows.append(rows[2])
    return "no such cell, or twice"


def foreign_row(rows, _):
    rows[2] = ["elsewhere", *rows[2][1:]]
    return "no such cell"


def column_renamed(rows, place):
    rows[0][place] = "amount"
    return "other columns"


def status_tells(rows, place):
    hidden = next(i for i, row in enumerate(rows) if row[place] == "")
    rows[hidden][place + 1] = "withheld (7)"
    return "another status than certified"


def status_of_another(rows, place):
    shown = next(i for i, row in enumerate(rows) if i and row[place] != "")
    rows[shown][place + 1] = "withheld"
    return "another status than certified"


@pytest.mark.parametrize(
    "change",
    [
        withheld_shown,
        published_changed,
        published_missing,
        row_missing,
        row_twice,
        foreign_row,
        column_renamed,
        status_tells,
        status_of_another,
    ],
    ids=lambda change: change.__name__,
)
def test_public_file_must_match_certified_table(folder, change):
    rows = lines_of(folder)
    expected = change(rows, len(rows[0]) - 2)
    (folder / "public" / "table.csv").write_text("\n".join(map(",".join, rows)), "utf-8")
    assert "public/table.csv: not the file that was certified" in verify(folder).reason
    reseal(folder)
    verdict = verify(folder)
    assert not verdict.ok
    assert expected in verdict.reason
    assert alone(folder).returncode == verdict.code


def test_folder_requires_public_file_and_one_certificate(folder):
    certificate = folder / "checker" / "certificate.json.gz"
    (folder / "checker" / "certificate.json").write_bytes(certificate.read_bytes())
    assert "exactly one certificate" in verify(folder).reason
    (folder / "checker" / "certificate.json").unlink()
    (folder / "public" / "table.csv").unlink()
    assert verify(folder).code == 1
    certificate.unlink()
    assert verify(folder).code == 2
    assert verify(folder / "nothing").code == 2


def test_escaped_formula_codes_are_verified(tmp_path):
    table, need, withheld = counts()
    codes = [[f"=cmd|{place}" if place % 2 else f"r{place}" for place in range(n)] for n in (5, 6)]
    dimensions = tuple(Dimension(name, (Hierarchy.flat(own),)) for name, own in zip("ab", codes, strict=True))
    table = Table(value=table.value, dimensions=dimensions, integer=True)
    release = Release.of(table, Protection.withhold(table, withheld, need))
    proof = audit(table, need, release).certificate
    for folder in ("public", "checker"):
        (tmp_path / folder).mkdir()
    write_table_csv(tmp_path / "public" / "table.csv", Publication(release=release))
    proof.write(tmp_path)
    text = (tmp_path / "public" / "table.csv").read_text("utf-8")
    assert "'=cmd|1" in text
    assert not re.search(r"(^|,)=", text, flags=re.MULTILINE)
    assert verify(tmp_path).ok
    # The codes as they are name the same cells.
    (tmp_path / "public" / "table.csv").write_text(text.replace("'=", "="), encoding="utf-8")
    reseal(tmp_path)
    assert verify(tmp_path).ok
