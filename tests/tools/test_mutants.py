"""The judge of mutants itself: what it puts into a running process is run, and equal ones are still there."""

from __future__ import annotations

import importlib.util
from importlib.machinery import SourceFileLoader

import pytest
from tools.mutants.__main__ import ROOT, equals
from tools.mutants.judged import put_in
from tools.mutants.proposed import Mutant, constants_of, functions_of

TOY = """LIMIT = 3

class Rule:
    def unsafe(self, n):
        return n < LIMIT

def count(values):
    return sum(Rule().unsafe(value) for value in values)
"""


@pytest.mark.parametrize(
    ("now", "count"),
    [
        pytest.param(TOY, 2, id="as it is"),
        pytest.param(TOY.replace("n < LIMIT", "n <= LIMIT"), 3, id="a method"),
        pytest.param(TOY.replace("sum(", "-sum("), -2, id="a function"),
        pytest.param(TOY.replace("LIMIT = 3", "LIMIT = 2"), 1, id="a constant"),
    ],
)
def test_mutant_replaces_the_original(now, count, tmp_path, monkeypatch):
    path = tmp_path / "toy.py"
    path.write_text(TOY, "utf-8")
    spec = importlib.util.spec_from_file_location("toy", path)
    toy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(toy)
    monkeypatch.setitem(__import__("sys").modules, "toy", toy)
    monkeypatch.setattr(SourceFileLoader, "get_code", SourceFileLoader.get_code)  # undone afterwards
    held = toy.count  # by somebody who imported it before
    changed = put_in(Mutant("toy.py", 1, 1, "", 0, "", "", now), str(path), [toy.count, toy.Rule.unsafe])
    assert changed is (now != TOY)
    assert held([1, 2, 3, 4]) == count
    again = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(again)
    assert again.count([1, 2, 3, 4]) == count


def test_functions_and_constants_of_a_file_are_found():
    assert set(functions_of(TOY, "toy.py")) == {("Rule.unsafe", 4), ("count", 7)}
    assert constants_of(TOY) == {"LIMIT": 1}


def test_equivalent_mutants_exist_with_reasons():
    for (path, was, now), why in equals().items():
        lines = {line.strip() for line in (ROOT / path).read_text("utf-8").splitlines()}
        assert was in lines, f"{path} no longer holds {was!r}: take it out of equal.toml"
        assert now != was
        assert len(why.split()) > 3, f"{path}: {now!r}"
