"""What every policy that comes with hitoku promises, including the one added tomorrow.

The folder is the registry: a TOML file in it is a policy under its own name.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hitoku.checks import policies
from hitoku.checks.policies import Policy, parse_policy_text, policy, policy_names
from hitoku.errors import ParameterError
from hitoku.model import Contributors, Table
from hitoku.rules import assess

FOLDER = Path(policies.__file__).parent
ROOT = Path(__file__).parents[3]


def strangers(folder: Path) -> set[str]:
    """Files among the policies that no name leads to: neither a policy nor a part of the program."""
    known = {f"{name}.toml" for name in policy_names()}
    return {
        path.name
        for path in folder.iterdir()
        if path.suffix not in {".py", ".pyi"} and path.name != "__pycache__"
    } - known


def complaints(text: str, stem: str) -> list[str]:
    """Say how a policy breaks its promises; empty when it keeps them."""
    try:
        found = parse_policy_text(text, f"{stem}.toml")
    except ParameterError as error:
        return [error.what]
    wrong = [] if found.name == stem else ["its name is not that of its file"]
    wrong += [] if found.source else ["it does not say where its numbers come from"]
    least = found.least_units
    # One cell of as many units as are enough and one of a unit less, each in a row with many others.
    counts = Table.from_array([[least, 20 * least, 20 * least], [least - 1, 20 * least, 20 * least]])
    unsafe = assess(counts, found.count_rules).unsafe
    wrong += ["a group that is large enough is unsafe"] if unsafe[0] else []
    wrong += [] if unsafe[4] else ["a group that is too small is safe"]
    if not _unsafe(found, largest=[100.0, 0.0, 0.0], total=100.0):
        wrong.append("a cell that one unit fills is safe")
    if _unsafe(found, largest=[10.0, 10.0, 10.0], total=1000.0):
        wrong.append("a cell of many alike is unsafe")
    return wrong


def _unsafe(found: Policy, *, largest: list[float], total: float) -> bool:
    """Judge a magnitude of a hundred units."""
    units = Contributors(count=np.array([100]), largest=np.array([largest]), total=np.array([total]))
    one = Table(value=units.total, relations=np.zeros((0, 1)), frequency=units.count, units=units)
    return bool(assess(one, found.magnitude_rules).unsafe[0])


@pytest.mark.parametrize("name", policy_names())
def test_bundled_policy_meets_contract(name):
    assert complaints((FOLDER / f"{name}.toml").read_text("utf-8"), name) == []
    assert policy(name).hash == policy(FOLDER / f"{name}.toml").hash
    assert f"`{name}`" in (ROOT / "docs" / "reference" / "policies.md").read_text("utf-8")


def test_policy_folder_contains_only_policies(tmp_path):
    assert len(policy_names()) >= 2
    assert strangers(FOLDER) == set()
    (tmp_path / "mine.tml").write_text("", encoding="utf-8")
    assert strangers(tmp_path) == {"mine.tml"}


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('name = "japan-2017"', 'name = "japan"', "its name is not that of its file"),
        ("source = ", "source = ''  # ", "it does not say where its numbers come from"),
        ("k = 50.0", "k = 100.0", "a cell that one unit fills is safe"),
        ("k = 50.0", "k = 0.5", "a cell of many alike is unsafe"),
        ("[units]", "[persons]", "no key 'persons'"),
        ("share = 0.9", "share = 0.01", "a group that is large enough is unsafe"),
    ],
)
def test_broken_policy_is_reported(old, new, what):
    text = (FOLDER / "japan-2017.toml").read_text("utf-8")
    assert old in text
    assert what in complaints(text.replace(old, new, 1), "japan-2017")
