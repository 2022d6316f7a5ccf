"""What every registered attack promises, including the one added tomorrow.

Attacks are made as :data:`STAGED` says, on tables where the truth is known; one without an entry there takes
no parameters and is held to what an outsider can infer. A file or folder of ``attacks`` is an attack under
its own name, unless it is listed in :data:`SHARED_PARTS`.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, assume, find, given, settings
from hypothesis import strategies as st
from tests.oracles import attacks as oracles
from tests.strategies import (
    Record,
    contributions,
    count_tables,
    dimension_tuples,
    protections,
    table_from_records,
)

import hitoku.attacks
from hitoku.attacks import (
    ATTACKS,
    Adjustment,
    Attack,
    Contribution,
    Group,
    Inference,
    Insider,
    Matching,
    Scenario,
)
from hitoku.attacks.adjustment import FACTS
from hitoku.errors import HitokuError
from hitoku.methods.adjust import Adjust
from hitoku.metrics import attacker_knowledge
from hitoku.model import Bounds, Estimates, Need, Protection, Release, Table, slack
from hitoku.rules import MinFrequency

# What attacks share, and differencing, which reads several releases at once and is no registered attack.
SHARED_PARTS = {"attack", "contribution", "differencing"}
# Words that would name the true values in a signature.
TRUTH = {"truth", "true", "true_values", "table", "microdata", "records"}


# For a search that is content with any example.
SOON = settings(deadline=None, max_examples=65, database=None, phases=[Phase.generate])


@dataclass(frozen=True)
class Staged:
    """An attack, the release it sees, the table behind it, and what brute force shows of the two."""

    attack: Any
    table: Table
    release: Release
    brute_force: Callable[[], Bounds] | None = None
    findings: Callable[[], set[str]] | None = None
    cost: Callable[[np.ndarray], float] | None = None


def largest(table: Table) -> int:
    return int(table.value.max())


@st.composite
def outsider(draw, make=lambda name: ATTACKS[name](), name=""):
    """Draw counts with published margins, so that the list of tables that fit is finite."""
    table = draw(count_tables(max_side=3, max_count=2, hierarchical=draw(st.booleans())))
    release = Release.of(table, draw(protections(table, inner_only=True)))
    return Staged(
        make(name),
        table,
        release,
        brute_force=lambda: oracles.spanned(oracles.listed(release, largest(table))),
    )


@st.composite
def insider(draw):
    """Draw who contributed what; everybody knows what they contributed."""
    dimensions = draw(dimension_tuples(2, 3))
    records = [
        Record((row, column), draw(st.integers(0, 4)), 0, draw(st.integers(1, 2)))
        for row in dimensions[0].leaves
        for column in dimensions[1].leaves
        for _ in range(draw(st.sampled_from([0, 1, 1, 2])))
    ]
    table = table_from_records(dimensions, records, integer=True)
    people = contributions(dimensions, records, "unit")
    release = Release.of(table, draw(protections(table, inner_only=True)))
    size = draw(st.integers(1, 2))
    told = [
        Contribution(who, cell, amount, sole=len(here) == 1, among=len(here))
        for cell, here in enumerate(people)
        for who, amount in here.items()
    ]
    return Staged(
        Insider(told, coalition=size),
        table,
        release,
        brute_force=lambda: oracles.insiders(release, people, size, largest(table)),
    )


@st.composite
def group(draw):
    """Draw a flat table and a number of people who put their knowledge together."""
    table = draw(count_tables(max_side=3, max_count=2))
    release = Release.of(table, draw(protections(table, inner_only=True)))
    k = draw(st.integers(0, 2))
    return Staged(Group(k=k), table, release, findings=lambda: oracles.pinned(release, k, largest(table)))


@dataclass(frozen=True)
class UpTo:
    """A method that withholds all inner cells up to a count, and nothing else: anybody can run it again."""

    most: int = 1

    def pattern(self, table: Table, value: np.ndarray) -> np.ndarray:
        return table.inner & (value <= self.most)

    def protect(self, table, need, progress=None):
        del progress
        return Protection.withhold(table, self.pattern(table, table.value), need)


@st.composite
def matching(draw):
    """Draw a release that was made by a method which the reader knows."""
    table = draw(count_tables(max_side=3, max_count=3))
    method = UpTo(draw(st.integers(0, 2)))
    release = Release.of(table, Protection.withhold(table, method.pattern(table, table.value)))
    return Staged(
        Matching(method=method, rules=[MinFrequency(1, zeros=True)], width=1),
        table,
        release,
        brute_force=lambda: oracles.matched(
            release, lambda value: method.pattern(table, value), largest(table)
        ),
    )


@st.composite
def adjustment(draw):
    """Draw an adjusted table; the reader knows everything about its adjustment but the values themselves."""
    size = draw(st.sampled_from([(2, 2), (2, 3), (3, 3)]))
    cells = draw(st.lists(st.integers(2, 30), min_size=size[0] * size[1], max_size=size[0] * size[1]))
    table = Table.from_array(np.array(cells, dtype=float).reshape(size))
    inner = np.flatnonzero(table.inner)
    unsafe = np.isin(
        np.arange(table.n_cells), draw(st.sets(st.sampled_from(inner.tolist()), min_size=1, max_size=3))
    )
    need = Need(unsafe=unsafe, lower=1.0, upper=1.0)
    try:
        release = Release.of(table, Adjust(norm="l1").protect(table, need))
    except HitokuError:
        assume(False)
    facts = attacker_knowledge(table, need, release)
    attack = Adjustment(scenario=Scenario(FACTS, "all"), norm="l1", replications=2, known=facts)
    return Staged(attack, table, release, cost=lambda moved: float(facts.weights @ np.abs(moved)))


STAGED = {
    "insider": insider(),
    "group": group(),
    "matching": matching(),
    "adjustment": adjustment(),
}


def staged(name: str) -> st.SearchStrategy[Staged]:
    return STAGED[name] if name in STAGED else outsider(name=name)


def content(inferred: Inference) -> tuple[Any, ...]:
    """Return all that an answer says, to the last bit."""
    bounds, estimates = inferred.bounds, inferred.estimates
    arrays = [] if bounds is None else [bounds.lower, bounds.upper, bounds.unknown]
    arrays += [] if estimates is None else [estimates.value, estimates.excess, estimates.soft]
    return (*(array.tobytes() for array in arrays), *inferred.findings)


def complaints(case: Staged) -> list[str]:
    """Say how an attack breaks its promises in one case; empty when it keeps them."""
    before = case.release.published.tobytes()
    inferred = case.attack.infer(case.release)
    again = case.attack.infer(case.release)
    found = [] if content(inferred) == content(again) else ["a repeat gives another answer"]
    if case.release.published.tobytes() != before:
        found.append("the release was changed")
    if inferred.bounds is not None:
        found += _about_bounds(case, inferred.bounds)
    if inferred.estimates is not None:
        found += _about_estimates(case, inferred.estimates)
    if inferred.findings or case.findings is not None:
        shown = {finding.place for finding in inferred.findings}
        true = set() if case.findings is None else case.findings()
        found += [f"finds {place}, which brute force does not" for place in sorted(shown - true)]
        found += [f"misses {place}" for place in sorted(true - shown)]
    return found


def _about_bounds(case: Staged, bounds: Bounds) -> list[str]:
    table, release = case.table, case.release
    if len(bounds.lower) != table.n_cells:
        return ["bounds of another table"]
    found, rounding = [], slack(table.value)
    sure = ~bounds.unknown
    inside = (bounds.lower <= table.value + rounding) & (table.value <= bounds.upper + rounding)
    if np.any(sure & ~inside):
        found.append("a proved bound does not contain the true value")
    shown = ~release.withheld
    if np.any(bounds.lower[shown] != release.published[shown]) or np.any(bounds.width[shown] != 0):
        found.append("a published cell is not what it is")
    if case.brute_force is None:
        found.append("no brute-force reference implementation in STAGED")
    else:
        every = case.brute_force()
        narrow = (bounds.lower > every.lower + rounding) | (bounds.upper < every.upper - rounding)
        if np.any(sure & narrow):
            found.append("bounds are narrower than the tables that brute force lists")
    return found


def _about_estimates(case: Staged, estimates: Estimates) -> list[str]:
    table, release = case.table, case.release
    if estimates.value.shape[1:] != (table.n_cells,) or len(estimates) < 1:
        return ["estimates of another table"]
    if case.cost is None:
        return ["nothing to hold its estimates against: give a cost in STAGED"]
    found = []
    for value in estimates.value:
        if np.any(np.abs(release.relations @ value) > 1e-6 * np.abs(table.value).sum()):
            found.append("an estimate does not add up")
        # Who knows everything looks for the cheapest change; the true one was possible, so none is dearer.
        true, taken = (case.cost(release.published - each) for each in (table.value, value))
        if taken > true * (1 + 1e-6) + 1e-9:
            found.append("a dearer change than the true one is taken for the cheapest")
    return found


def informative(case: Staged) -> bool:
    """Tell whether an attack says anything that the release does not say by itself."""
    inferred, release = case.attack.infer(case.release), case.release
    if inferred.findings or inferred.estimates is not None:
        return True
    if inferred.bounds is None:
        return False
    bounds, withheld = inferred.bounds, release.withheld
    closer = (bounds.lower > release.lower) | (bounds.upper < release.upper)
    return bool(np.any(closer & withheld & ~bounds.unknown))


@pytest.mark.parametrize("name", ATTACKS)
@settings(deadline=None, max_examples=10)
@given(data=st.data())
def test_attack_meets_its_contract(name, data):
    assert complaints(data.draw(staged(name))) == []


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_finds_something_in_some_release(name):
    """Else the contract above would be about nothing."""
    find(staged(name), informative, settings=SOON)


@pytest.mark.parametrize("name", ATTACKS)
def test_registered_attack_implements_protocol(name):
    kind = ATTACKS[name]
    attack = find(staged(name), lambda _: True, settings=SOON).attack
    assert isinstance(attack, Attack)
    assert isinstance(attack, kind)
    assert kind.name == name
    assert kind.assumes
    assert kind.assumes[0].islower(), "it goes on after 'the reader is assumed to know'"
    assert kind.adjusted in (True, False)
    assert list(inspect.signature(kind.infer).parameters) == ["self", "release"]
    with pytest.raises((AttributeError, TypeError)):
        attack.name = "other"


@pytest.mark.parametrize("name", ATTACKS)
def test_name_is_equal_in_registry_module_and_page(name):
    kind = ATTACKS[name]
    home = f"hitoku.attacks.{name}"
    assert kind.__module__ == home or kind.__module__.startswith(f"{home}.")
    assert kind.__name__.lower() == name.replace("_", "")
    assert getattr(hitoku.attacks, kind.__name__) is kind
    assert kind.__name__ in hitoku.attacks.__all__


@pytest.mark.parametrize("name", ATTACKS)
def test_page_states_assumed_knowledge(name):
    pages = (Path(__file__).parents[2] / "docs" / "reference").glob("*/*.md")
    heading = re.compile(rf"^#+ .*`{name}`$", re.MULTILINE)
    (text,) = (text for page in pages if heading.search(text := page.read_text("utf-8")))
    said = " ".join(text.replace("`interval`", "interval").split())
    assert f"**Assumed knowledge**: {ATTACKS[name].assumes}." in said


# Numbers that nothing prints by chance.
TELLING = np.array([[4711, 1933], [2917, 6007]])
SECRETS = ("4711", "1933", "2917", "6007", "zoe")


def telling(name: str) -> tuple[Any, Release]:
    """Stage an attack on a table whose withheld values can be recognised anywhere."""
    table = Table.from_array(TELLING)
    hidden = Release.of(table, Protection.withhold(table, table.inner))
    if name == "insider":
        return Insider([Contribution("zoe", 0, 4711.0, sole=True), Contribution("zoe", 1, 1933.0)]), hidden
    if name == "group":
        return Group(k=20_000), hidden
    if name == "matching":
        return Matching(method=UpTo(7000), rules=[MinFrequency(1)], width=1, limit=100), hidden
    if name == "adjustment":
        need = Need(unsafe=table.value == 4711, lower=5.0, upper=5.0)
        release = Release.of(table, Adjust(norm="l1").protect(table, need))
        return Adjustment(scenario=Scenario(FACTS), known=attacker_knowledge(table, need, release)), release
    return ATTACKS[name](), hidden


def leaks(attack: Any, release: Release) -> list[str]:
    """List what an attack and its answer print that nobody may read."""
    inferred = attack.infer(release)
    said = [attack, inferred, inferred.bounds, inferred.estimates, *inferred.findings]
    texts = [write(each) for each in said for write in (str, repr)]
    return [secret for secret in SECRETS if any(secret in text for text in texts)]


@pytest.mark.parametrize("name", ATTACKS)
def test_repr_omits_confidential_values(name):
    assert leaks(*telling(name)) == []


def test_folder_and_registry_agree():
    files = {module.name for module in pkgutil.iter_modules(hitoku.attacks.__path__)} - SHARED_PARTS
    assert files == set(ATTACKS), "an attack has a file or folder of its name, and a line in ATTACKS"


def test_every_attack_class_is_registered():
    registered = set(ATTACKS.values())
    for module in pkgutil.walk_packages(hitoku.attacks.__path__, "hitoku.attacks."):
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if kind.__module__.startswith("hitoku.attacks") and callable(getattr(kind, "infer", None)):
                assert kind in registered or kind is Attack, f"{kind.__qualname__} is not in ATTACKS"


def truthful(source: str) -> list[str]:
    """List parameters and fields by which the truth could be handed in: by their name or by their type."""
    named: list[tuple[str, ast.expr | None]] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.arg):
            named.append((node.arg, node.annotation))
        elif isinstance(node, ast.AnnAssign):
            named.append((ast.unparse(node.target), node.annotation))
    return [
        name
        for name, kind in named
        if name in TRUTH or (kind and {"Table", "Contributors"} & set(re.findall(r"\w+", ast.unparse(kind))))
    ]


def test_attacks_have_no_parameter_for_true_values():
    """A release holds no true value that is withheld, and attacks are handed nothing else of the table."""
    (folder,) = hitoku.attacks.__path__
    sources = {path: path.read_text("utf-8") for path in Path(folder).rglob("*.py")}
    assert sources
    assert {path.name: bad for path, source in sources.items() if (bad := truthful(source))} == {}


@pytest.mark.parametrize(
    "source",
    [
        "def watch(release, truth, need): ...",
        "def watch(release: Release, known: Table | None): ...",
        "class A:\n    table: Table",
        "class A:\n    def infer(self, release, *, table=None): ...",
        "peek = lambda truth: truth",
    ],
)
def test_parameter_for_true_values_is_detected(source):
    assert truthful(source)
