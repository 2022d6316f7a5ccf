"""Whatever a forger writes into the file of an output: our error or a finding, and never a traceback."""

from __future__ import annotations

import copy
import json
import shutil

import pytest
from tests.checks.submissions import PEOPLE, reseal, resealed, session

from hitoku.checks.principles import Clearance
from hitoku.checks.session import Session
from hitoku.checks.submission import recheck
from hitoku.errors import DataError
from hitoku.io import page

WRONG = (
    None,
    True,
    -1,
    1.5,
    float("nan"),
    10**400,
    "",
    "text",
    [],
    [None],
    [[1]],
    ["a", 2],
    {},
    {"a": None},
    {"a": [{}]},
)
MEAN, TABLE = "checker/01-means.json", "checker/02-people.json"


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    work = Session("wages", PEOPLE, unit="id")
    work.mean("income", by="region", where={"region": ["N", "S"]}, name="means")
    work.frequency_table(by="region", where={"region": ["N", "S"]}, name="people")
    return work.submit(tmp_path_factory.mktemp("hostile") / "submission")


def paths(tree, path=()):
    """Yield the way to every part of nested lists and mappings, of lists to the first entry only."""
    if path:
        yield path
    if isinstance(tree, dict):
        for name, part in tree.items():
            yield from paths(part, (*path, name))
    elif isinstance(tree, list) and tree:
        yield from paths(tree[0], (*path, 0))


@pytest.mark.parametrize("file", [MEAN, TABLE, "public/01-means.json"])
def test_arbitrary_manifest_value_never_crashes(honest, tmp_path, file):
    folder = tmp_path / "submission"
    shutil.copytree(honest, folder)
    content = json.loads((folder / file).read_text("utf-8"))
    outcomes = {"refused": 0, "found": 0, "the same": 0}
    for number, path in enumerate(paths(content)):
        for wrong in WRONG[number % 3 :: 3]:  # all of them in three neighbouring places
            forged = copy.deepcopy(content)
            inner = forged
            for step in path[:-1]:
                inner = inner[step]
            if type(inner[path[-1]]) is type(wrong) and inner[path[-1]] == wrong:
                continue
            inner[path[-1]] = wrong
            (folder / file).write_text(json.dumps(forged))
            reseal(folder)
            try:
                check = recheck(folder)
            except DataError:
                outcomes["refused"] += 1
                continue
            bad = [each for each in check.outputs if each.findings or each.status == Clearance.FAIL]
            outcomes["found" if bad else "the same"] += 1
            # The other output is judged, unless it is what the forged one disagrees with.
            assert all(each.verdicts or each.findings for each in check.outputs)
    assert outcomes["refused"] == 0
    assert outcomes["found"] > 10


def test_extra_definition_parameter_is_found(honest, tmp_path):
    folder = tmp_path / "submission"
    shutil.copytree(honest, folder)
    content = json.loads((folder / MEAN).read_text("utf-8"))
    content["definition"]["weihgt"] = None
    (folder / MEAN).write_text(json.dumps(content))
    reseal(folder)
    first, second = recheck(folder).outputs
    assert "no parameter 'weihgt', did you mean 'weight'?" in str(first.findings[0])
    assert second.findings == ()


@pytest.mark.parametrize("gone", ["n_units", "n_records", "unit", "written", "researcher"])
def test_page_renders_incomplete_manifest(tmp_path, gone):
    folder = session(researcher="R. Kimura").submit(tmp_path / "submission")
    resealed(folder, "manifest.json", lambda manifest: manifest.pop(gone))
    check = recheck(folder)
    text = page(check)
    assert "people" in text
    assert ("240 records" in text) is (gone not in {"n_units", "n_records"})
