from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from hitoku.cli import BAD_INPUT, FOUND, app, main
from hitoku.evidence.verify import verify
from hitoku.io import Publication, write_jj
from hitoku.io.formats import write_table_csv
from hitoku.model import Need, Protection, Release, Table

TABLE = Table.from_array(
    [[20, 15], [72, 1]], names=["region", "sector"], codes=[["North", "South"], ["farms", "mills"]]
)
NEED = Need(unsafe=TABLE.value == 1, lower=1.0, upper=1.0)
# Alone, the 1 is a row total minus its neighbour; with all inner cells withheld it can be 0 to 16.
ALONE, WITH_OTHERS = NEED.unsafe, TABLE.inner


@pytest.fixture
def jj(tmp_path):
    def write(withheld):
        path = tmp_path / "table.jj"
        write_jj(path, TABLE, NEED, Protection.withhold(TABLE, withheld, NEED))
        return path

    return write


@pytest.fixture
def folder(tmp_path):
    def write(withheld):
        path = tmp_path / "release"
        for part in ("public", "checker"):
            (path / part).mkdir(parents=True)
        protection = Protection.withhold(TABLE, withheld, NEED)
        write_table_csv(path / "public" / "table.csv", Publication(release=Release.of(TABLE, protection)))
        write_jj(path / "checker" / "table.jj.gz", TABLE, NEED, protection)
        summary = {"integer": TABLE.integer, "measure": TABLE.measure}
        (path / "checker" / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
        return path

    return write


def run(*args):
    return CliRunner().invoke(app, ["audit", *map(str, args)], catch_exceptions=False)


@pytest.mark.parametrize(
    ("withheld", "verdict", "code"),
    [
        pytest.param(ALONE, "✗ Not safe: outsider, single cells", FOUND, id="alone"),
        pytest.param(WITH_OTHERS, "? Safe against outsiders", 0, id="with others"),
    ],
)
@pytest.mark.parametrize("kind", ["jj", "folder"])
def test_audit_verdict_sets_the_exit_code(request, kind, withheld, verdict, code):
    path = request.getfixturevalue(kind)(withheld)
    done = run(path)
    assert done.exit_code == code
    assert done.stdout.startswith(f"{path}\n{verdict}")


def test_finding_in_folder_names_codes(folder):
    assert "region=South, sector=mills" in run(folder(ALONE)).stdout


def test_folder_is_audited_as_found(folder):
    path = folder(WITH_OTHERS)
    public = path / "public" / "table.csv"
    shown = public.read_text("utf-8")
    assert "South,mills,,withheld" in shown
    public.write_text(shown.replace("South,mills,,withheld", "South,mills,1,published"), encoding="utf-8")
    assert run(path).exit_code == FOUND


def test_audit_json_output(jj):
    done = run(jj(ALONE), "--integer", "--json")
    answer = json.loads(done.stdout)
    assert done.exit_code == FOUND
    assert (answer["safe"], answer["unsafe"], answer["recomputable"]) == (False, 1, 1)
    assert (answer["verdict"]["colour"], answer["verdict"]["refused"]) == ("red", True)
    assert len(answer["findings"]) == 1


def test_audit_writes_the_certificate(jj, tmp_path):
    proof = tmp_path / "proof.json.gz"
    assert run(jj(WITH_OTHERS), "--certificate", proof).exit_code == 0
    assert verify(proof).ok


def test_existing_certificate_is_not_overwritten(jj, tmp_path, capsys):
    notes = tmp_path / "notes.txt"
    notes.write_text("mine", encoding="utf-8")
    with pytest.raises(SystemExit) as left:
        main(["audit", str(jj(WITH_OTHERS)), "--certificate", str(notes)])
    assert left.value.code == BAD_INPUT
    assert "exists already" in capsys.readouterr().err
    assert notes.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("missing", ["public/table.csv", "checker/table.jj.gz", "checker/summary.json"])
def test_incomplete_folder_raises(folder, capsys, missing):
    path = folder(WITH_OTHERS)
    (path / missing).unlink()
    with pytest.raises(SystemExit) as left:
        main(["audit", str(path)])
    assert left.value.code == BAD_INPUT
    assert f"where: {missing} is missing" in capsys.readouterr().err


def test_damaged_public_file_raises_without_values(folder, capsys):
    path = folder(WITH_OTHERS)
    (path / "public" / "table.csv").write_text(
        "region,sector,value,status\nNorth,farms,8x31,published\n", "utf-8"
    )
    with pytest.raises(SystemExit) as left:
        main(["audit", str(path)])
    err = capsys.readouterr().err
    assert left.value.code == BAD_INPUT
    assert "8x31" not in err


def by_hand(tmp_path, *marks):
    """Write Table 1 of Minami and Abe's second example with 9 and 0 too small, marked by a person."""
    counts = [[15, 15, 12, 10], [19, 14, 13, 9], [8, 8, 11, 14], [9, 9, 26, 0]]
    lines = ["region,job,persons,status"]
    for i, row in enumerate(counts):
        for j, n in enumerate(row):
            lines.append(f"M{i + 1},P{j + 1},{n},{'x' if (i + 1, j + 1) in marks else ''}")
    path = tmp_path / "cells.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    given = ["--by", "region", "--by", "job", "--value", "persons", "--frequency", "persons", "--width", "9"]
    return [path, *given, "--rule", "min_frequency:n=8,zeros=true", "--integer"]


@pytest.mark.parametrize(
    ("marks", "code"),
    [
        # With these four withheld the paper gives 0 to 9 for the unsafe cell: a width of exactly 9.
        pytest.param([(2, 2), (2, 4), (4, 2), (4, 4)], 0, id="as in the paper"),
        pytest.param([(4, 4)], FOUND, id="blank only"),
        pytest.param([(2, 2), (2, 4), (4, 2)], FOUND, id="the unsafe one is published"),
    ],
)
def test_hand_suppressed_table_is_audited(tmp_path, marks, code):
    assert run(*by_hand(tmp_path, *marks)).exit_code == code


@pytest.mark.parametrize(
    ("change", "what"),
    [
        pytest.param(lambda a: [a[0]], "neither which columns", id="no columns"),
        pytest.param(lambda a: [*a, "--mark", "staus"], "did you mean 'status'?", id="misspelt mark"),
        pytest.param(lambda a: [*a, "--value", "person"], "did you mean 'persons'?", id="misspelt value"),
        pytest.param(lambda a: [*a, "--mark", "region"], "not understood", id="marks that are none"),
        pytest.param(lambda a: [*a, "--rule", "min_freqency"], "did you mean 'min_frequency'?", id="no rule"),
    ],
)
def test_invalid_csv_raises(tmp_path, capsys, change, what):
    with pytest.raises(SystemExit) as left:
        main(["audit", *map(str, change(by_hand(tmp_path, (4, 4))))])
    assert left.value.code == BAD_INPUT
    assert what in capsys.readouterr().err


def test_null_space_dimension_is_printed(jj):
    # Four cells of a square can only move together, up and down in turns.
    assert "null-space dimension of the suppressed cells: 1; few" in run(jj(WITH_OTHERS)).stdout
    assert "null-space dimension of the suppressed cells: 0\n" in run(jj(ALONE)).stdout


def test_non_additive_table_raises(tmp_path, capsys):
    words = by_hand(tmp_path, (4, 4))
    with words[0].open("a", encoding="utf-8") as file:
        file.write("Total,Total,193,\n")  # the paper prints 192
    with pytest.raises(SystemExit) as left:
        main(["audit", *map(str, words)])
    told = capsys.readouterr().err
    assert left.value.code == BAD_INPUT
    assert "does not add up: 2 of 10 relations fail" in told
    assert "193" not in told
