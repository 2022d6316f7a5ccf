"""What is measured of a made-up checkout is what one counts by hand."""

from __future__ import annotations

import doctest

from tools import measure

HUB = "\n".join(f"from hitoku.rooms import m{n}" for n in range(11)) + "\nimport hitoku.rooms.hub\n"
ONE = '''"""Docstring."""

LIMIT, SHARE = 3, 0.5
NAME = "text"


class OptimalTuning:
    """Docstring."""

    rounds: int = 5
    name: str = "x"


def f(x):
    """Docstring."""
    for y in [z for z in x if z]:
        if y and y > LIMIT:
            return y
    return None
'''


def test_synthetic_checkout_measures_match_hand_count(tmp_path):
    src = tmp_path / "src" / "hitoku"
    files = {
        **{f"rooms/m{n}.py": "" for n in range(11)},
        "rooms/hub.py": HUB,
        "__init__.py": "",
        "rooms/__init__.py": "",
        "one.py": ONE,
        "model/one.py": "",
    }
    for name, text in files.items():
        path = src / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("# A page\n\nof six words\n", "utf-8")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_one.py").write_text("a = 1\nb = 2\n", "utf-8")
    assert measure.measures(tmp_path) == {
        "lines under src": 12 + 19,
        "statements under src": 12 + 10,
        "modules": 16,
        "modules with more than 10 own imports": 1,
        "stems of several modules": 1,
        "mean cyclomatic complexity": 6.0,
        "numeric constants of modules": 2,
        "numeric fields of Tuning classes": 1,
        "lines of tests": 2,
        "lines of tools": 0,
        "lines of papers": 0,
        "pages of docs": 1,
        "words of docs": 6,
    }


def test_count_examples_are_correct():
    result = doctest.testmod(measure)
    assert result.attempted > 1
    assert result.failed == 0
