"""What every registered rule promises, including the one added tomorrow."""

from __future__ import annotations

import pkgutil
import re

import numpy as np
import pytest
from hypothesis import given
from tests.strategies import magnitude_tables

import hitoku.rules
from hitoku.errors import HitokuError, RuleError
from hitoku.model import Need, Table
from hitoku.rules import RULES, Rule, assess

# One valid way to make each rule, for tables of any size; a new rule adds its line.
EXAMPLES = {
    "min_frequency": {"n": 3},
    "few_contributors": {"n": 3},
    "dominance": {"n": 2, "k": 80},
    "p_percent": {"p": 10},
    "prior_posterior": {"p": 10, "q": 60},
    "group_disclosure": {"share": 0.6},
    "direct_disclosure": {"k": 1},
    "k_disclosure": {"k": 1},
    "zero": {"upper": 5},
    "request": {"p": 50, "share": 0.6},
    "given": {"unsafe": "marked"},
}
# Rules that need nothing of a table but its values.
VALUES_ONLY = {"group_disclosure"}
# Files of the package that hold no rule.
SHARED_PARTS = {
    "assess",
    "group_size",
    "levels",
    "parts",
    "rule",
}


def made(name):
    return RULES[name](**EXAMPLES[name])


def test_folder_and_registry_agree():
    files = {module.name for module in pkgutil.iter_modules(hitoku.rules.__path__)} - SHARED_PARTS
    assert files == set(RULES)
    assert set(EXAMPLES) == set(RULES)


@pytest.mark.parametrize("name", RULES)
def test_name_is_equal_in_registry_module_and_page(name):
    rule = RULES[name]
    assert rule.name == name
    assert rule.__module__ == f"hitoku.rules.{name}"
    assert rule.__name__.lower() == name.replace("_", "")
    assert getattr(hitoku.rules, rule.__name__) is rule
    assert rule.__name__ in hitoku.rules.__all__


@pytest.mark.parametrize("name", RULES)
@given(table=magnitude_tables(integer=True))
def test_every_rule_returns_a_need_of_its_table(name, table):
    table = Table(
        value=table.value,
        dimensions=table.dimensions,
        frequency=table.frequency,
        units=table.units,
        measures={"marked": table.value > 5},
        integer=True,
    )
    rule = made(name)
    assert isinstance(rule, Rule)
    before = [a.copy() for a in (table.value, table.frequency, table.units.largest, table.relations.data)]
    need, again = rule.assess(table), rule.assess(table)
    assert isinstance(need, Need)
    assert len(need) == table.n_cells
    assert need.rules[name].tolist() == need.unsafe.tolist()
    for one, two in ((need.unsafe, again.unsafe), (need.lower, again.lower), (need.upper, again.upper)):
        assert one.tobytes() == two.tobytes()
    after = (table.value, table.frequency, table.units.largest, table.relations.data)
    assert all(np.array_equal(one, two) for one, two in zip(before, after, strict=True))
    total = assess(table, [rule])
    assert np.all(total.lower <= table.value - table.lower)
    assert np.all((total.lower + total.upper)[total.unsafe] >= 1), "an unsafe cell is to be blurred somehow"


@pytest.mark.parametrize("name", RULES)
def test_every_rule_finds_something_in_some_table(name):
    """Else the contract above would be about nothing."""
    table = Table.from_array([[5, 0], [1, 60]], measures={"marked": np.arange(9) == 0})
    behind = hitoku.rules.levels.Contributors(
        count=table.value.astype(int) > 0,
        largest=np.stack([table.value, np.zeros(9), np.zeros(9)], axis=1),
        total=table.value,
    )
    if name == "zero":
        behind = hitoku.rules.levels.Contributors(count=[2] * 9, largest=np.zeros((9, 3)), total=np.zeros(9))
    table = Table(
        value=table.value,
        dimensions=table.dimensions,
        frequency=table.frequency,
        measures=dict(table.measures),
        units=behind,
        integer=True,
    )
    assert made(name).assess(table).unsafe.any()


@pytest.mark.parametrize("name", RULES)
def test_every_rule_is_frozen_and_prints_itself(name):
    rule = made(name)
    with pytest.raises((AttributeError, TypeError)):
        rule.p = 1
    assert repr(rule).startswith(f"{type(rule).__name__}(")
    assert repr(rule) == repr(made(name))
    assert re.search(r"Parameters\n *-+\n.*Examples\n *-+\n", type(rule).__doc__, re.DOTALL)


WRONG = [
    *[("min_frequency", {"n": n}) for n in (0, -1, 2.5, True, "5", None)],
    ("min_frequency", {"n": 3, "percent": 0}),
    ("few_contributors", {"n": 0}),
    ("few_contributors", {"n": 3, "level": "firm"}),
    *[("dominance", {"n": 2, "k": k}) for k in (0, -5, 100.1, float("nan"), "80", None)],
    ("dominance", {"n": 0, "k": 80}),
    *[("p_percent", {"p": p}) for p in (0, -1, 101, float("inf"), "10", True)],
    ("p_percent", {"p": 10, "n": 0}),
    ("p_percent", {"p": 10, "level": "holdings"}),
    ("prior_posterior", {"p": 60, "q": 50}),
    *[("group_disclosure", {"share": share}) for share in (0, 1.1, 90, float("nan"), "0.9")],
    *[("group_disclosure", {"by": by}) for by in ((), "", ("a", "a"), 3, (1,))],
    *[("direct_disclosure", {"k": k}) for k in (-1, 0.5, "1", False)],
    ("direct_disclosure", {"sensitive": ()}),
    *[("direct_disclosure", {"unknown": unknown}) for unknown in ("Unknown", ("Unknown",), 3, {"a": 3})],
    ("request", {"p": 0}),
    ("request", {"p": 50, "n": -1}),
    ("zero", {"upper": 0}),
    ("given", {"unsafe": [True], "percent": -20}),
]


@pytest.mark.parametrize(("name", "parameters"), WRONG)
def test_invalid_parameters_raise(name, parameters):
    with pytest.raises(RuleError) as caught:
        RULES[name](**parameters)
    assert caught.value.where.startswith(f"rule {name}")
    assert caught.value.fix


@pytest.mark.parametrize("name", [name for name in RULES if name not in VALUES_ONLY])
def test_table_without_required_fields_raises(name):
    with pytest.raises(HitokuError) as caught:
        RULES[name](**EXAMPLES[name] | ({"share": "asked"} if name == "request" else {})).assess(
            Table.from_array([[1.5, 2.0], [3.0, 4.0]])
        )
    assert caught.value.fix
    assert name in caught.value.where
