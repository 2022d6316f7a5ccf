"""Without ``groups`` every pattern is what it was before derivable groups were considered, byte by byte.

The hashes in ``patterns_without_groups.json`` were recorded at commit f50569e, before ``groups`` existed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hitoku.model import Dimension, Hierarchy, Table, add_up
from hitoku.pipeline import protect
from hitoku.samples import register
from hitoku.tabulation import tabulate

RECORDED = Path(__file__).with_name("patterns_without_groups.json")
# Cases whose pattern differs from the recorded one on purpose, each with the reason.
EXCEPTIONS: dict[str, str] = {
    "amounts several rules holdings": "trial S19: the default range of few_contributors is no longer lowered "
    "by p_percent beside it",
}

TREE = {"A": ["a1", "a2", "a3"], "B": ["b1", "b2"], "C": ["c1", "c2", "c3"]}
SHAPES = {
    "line": [9],
    "flat": [7, 6],
    "wide": [12, 10],
    "cube": [5, 4, 3],
    "tree": [TREE, 5],
    "tree-cube": [TREE, 4, 2],
}
Case = tuple[Table, list[str], str, dict[str, Any]]


def counts(shape: str, seed: int, mean: float = 12.0) -> Table:
    """Draw counts from a negative binomial distribution: many small ones beside some large."""
    dimensions = tuple(
        Dimension.of(
            f"v{at + 1}",
            Hierarchy.from_tree(size if isinstance(size, dict) else {f"{n}": None for n in range(size)}),
        )
        for at, size in enumerate(SHAPES[shape])
    )
    rng = np.random.default_rng(seed)
    inner = rng.negative_binomial(1, 1 / (1 + mean), [len(d.leaves) for d in dimensions])
    value = add_up(inner, dimensions)
    return Table(value=value, dimensions=dimensions, frequency=value, integer=True, measure="count")


def amounts(by: list[str], n: int, seed: int, **further: Any) -> Table:
    """Add up the turnover of a made-up register."""
    firms = register(n, seed, regions=(3, 3), activities=(4, 3))
    trees = {name: tree for name, tree in firms.hierarchies.items() if name in by}
    return tabulate(firms.records, by=by, value="turnover", hierarchies=trees, **further)


def cases() -> Iterator[tuple[str, Case]]:
    """Yield named tables with rules, method and further arguments of :func:`hitoku.protect`."""
    for shape in SHAPES:
        for method in ("auto", "greedy", "circulation", "optimal:cost=value,work_limit=300", "gauss"):
            rules = ["min_frequency:n=5" if method != "greedy" else "min_frequency:n=3"]
            yield f"counts {shape} {method}", (counts(shape, 1), rules, method, {})
    for seed in (2, 3):
        yield f"counts wide n=10 {seed}", (counts("wide", seed), ["min_frequency:n=10"], "auto", {})
        yield (
            f"counts flat width {seed}",
            (counts("flat", seed), ["min_frequency:n=5"], "greedy:tidy=true", {"width": 3}),
        )
        yield (
            f"counts flat percent {seed}",
            (counts("flat", seed), ["min_frequency:n=5,percent=50"], "circulation", {}),
        )
    several = ["min_frequency:n=5", "group_disclosure:share=0.9"]
    yield "counts groups of codes", (counts("flat", 4), several, "optimal", {"width": 9})
    yield "counts blocks", (counts("wide", 5, 40.0), ["min_frequency:n=5"], "blocks", {"width": 9})
    lot = "randomised:seed=1"
    yield "counts randomised", (counts("flat", 15, 60.0), ["min_frequency:n=5"], lot, {"width": 9})
    yield "counts adjusted", (counts("flat", 5), ["min_frequency:n=5"], "adjust", {})
    two, three = ["region", "activity"], ["region", "activity", "size"]
    for method in ("auto", "greedy", "circulation", "optimal:work_limit=300", "gauss"):
        table = amounts(two, 400, 6)
        yield f"amounts contributors {method}", (table, ["few_contributors:n=3"], method, {})
        yield f"amounts p% {method}", (table, ["p_percent:p=10"], method, {"insiders": "none"})
    owned = amounts(three, 900, 7, unit="enterprise", holding="holding")
    few = ["p_percent:p=10", "few_contributors:n=3"]
    yield "amounts several rules holdings", (owned, few, "circulation", {})
    yield "amounts dominance", (amounts(three, 900, 8), ["dominance:n=1,k=75"], "circulation", {})
    yield (
        "amounts frequency",
        (amounts(two, 300, 9), ["min_frequency:n=4"], "greedy", {"insiders": "none"}),
    )
    yield "amounts adjusted", (amounts(two, 300, 9), ["few_contributors:n=3"], "adjust", {})


def digest(case: Case, **options: Any) -> str:
    """Protect a case and hash what was decided."""
    table, rules, method, further = case
    found = protect(table, rules=rules, method=method, **further, **options).protection
    return hashlib.sha256(found.withheld.tobytes() + found.value.tobytes()).hexdigest()[:16]


@pytest.mark.parametrize(("name", "case"), [pytest.param(*each, id=each[0]) for each in cases()])
def test_patterns_without_groups_are_unchanged(name, case):
    recorded = json.loads(RECORDED.read_text("utf-8"))
    same = digest(case, groups=False) == recorded[name]
    assert same != (name in EXCEPTIONS), EXCEPTIONS.get(name)


def test_every_recorded_case_is_run():
    assert {name for name, _ in cases()} == set(json.loads(RECORDED.read_text("utf-8")))
