"""Every registered output type keeps the promises of the protocol, also the one added tomorrow."""

from __future__ import annotations

import ast
import base64
import importlib.util
import sys
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.checks.outputs import contract
from tests.raising import raises

from hitoku import cli
from hitoku.checks import Records, outputs
from hitoku.checks.outputs import (
    OUTPUT_TYPES,
    Average,
    Concentration,
    CrossTable,
    FileEvidence,
    FreeFile,
    FrequencyTable,
    HandedOver,
    Histogram,
    LifeTable,
    MagnitudeTable,
    Mode,
    Output,
    Percentile,
    QuantileGroups,
    Regression,
    Statistics,
    Summary,
    Survival,
    read_definition,
    write_definition,
)
from hitoku.checks.principles import Clearance
from hitoku.checks.session import Session
from hitoku.checks.submission import disagreements, recheck
from hitoku.model import Hierarchy

FOLDER = Path(outputs.__file__).parent
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "outputs.md"
RANDOM = np.random.default_rng(3)
N = 240
# In region E there are 4 people, too few for anything; amounts have digits of their own.
PEOPLE = pd.DataFrame(
    {
        "id": np.arange(N),
        "region": np.repeat(["N", "S", "E"], [136, 100, 4]),
        "job": np.resize(["a", "b", "a", "c"], N),
        "age": 20 + np.arange(N) * 13 % 41,
        "income": np.round(RANDOM.uniform(1000, 9000, N), 2),
        "wealth": np.round(RANDOM.normal(0, 5000, N), 2),
        "win": (np.arange(N) * 7 % 11 < 5) * 1.0,
        "employer": np.arange(N) % 40,
        "weight": 1.0 + np.arange(N) % 3,
    }
)
TREE = {"region": Hierarchy.from_tree({"NS": ["N", "S"], "E": None})}
BY = ("region",)
FILE = FileEvidence(name="map.py", n_bytes=3458, content=base64.b64encode(b"draw(map)\n# \n" * 266).decode())
# Of each type some that withhold a part, and some with every option.
EXAMPLES = {
    "frequency_table": [
        FrequencyTable(BY),
        FrequencyTable(("region", "job")),
        FrequencyTable(BY, "code", TREE),
    ],
    "magnitude_table": [
        MagnitudeTable(BY, "income"),
        MagnitudeTable(("region", "job"), "wealth", "employer", hierarchies=TREE),
        MagnitudeTable(BY, "income", weight="weight"),
        MagnitudeTable(("region", "job"), "income", statistic="mean"),
    ],
    "regression": [
        Regression("income ~ age + C(region)"),
        Regression("win ~ C(region)", "logit"),
        Regression("income ~ C(region) * C(job)"),
    ],
    "percentile": [Percentile("income", 50, BY), Percentile("income", 10, BY, "weight", decimals=1)],
    "mode": [Mode("job", BY), Mode("age", BY, "weight")],
    "concentration": [
        Concentration("income", "hhi", BY),
        Concentration("income", "cr4", BY, "employer"),
        Concentration("income", "gini", BY, weight="weight", decimals=3),
    ],
    "average": [
        Average("income", BY),
        Average("wealth", BY, "sum", "employer"),
        Average("win", BY, weight="weight", decimals=2),
    ],
    "summary": [
        Summary("std", "income", by=BY),
        Summary("correlation", "income", "wealth", BY, weight="weight"),
        Summary("std", "win", by=BY),
        Summary("chi2", "region", "job"),
        Summary("max", "age", by=BY),
    ],
    "cross_table": [
        CrossTable(BY),
        CrossTable(("region", "job"), "row", decimals=1),
        CrossTable(("region", "job"), "column", "code"),
    ],
    "statistics": [
        Statistics("income", BY),
        Statistics("wealth", ("region", "job"), ("mean", "std", "p90"), weight="weight", decimals=1),
        Statistics("income", (), ("count", "mean", "median")),
    ],
    "histogram": [Histogram("income", (1500, 3000, 6000, 8950))],
    "survival": [Survival("age", "win", BY), Survival("age", "win", decimals=2)],
    "life_table": [
        LifeTable("age", "win", (0, 22, 24, 26, 28), BY),
        LifeTable("age", "win", (20, 40), decimals=2),
    ],
    "quantile_groups": [
        QuantileGroups("income", 5, BY),
        QuantileGroups("income", 10, BY, "lorenz", "weight", decimals=3),
        QuantileGroups("wealth", 4),
        QuantileGroups("age", 30, statistic="share"),
    ],
    "handed_over": [
        HandedOver.of({"b": [1.25, -3.5], "se": [0.125, 0.5]}, [240, 4], [230, 2], "ols elsewhere"),
        HandedOver.of({"gini": 0.3125, "theil": 0.1875}, 240, None, "ineq in R"),
    ],
    "free_file": [FreeFile("the program that drew the map", FILE)],
}
ALL = [
    pytest.param(asked, id=f"{kind} {n}") for kind, made in EXAMPLES.items() for n, asked in enumerate(made)
]


@pytest.fixture(scope="module")
def records():
    return Records.open(PEOPLE, "id")


@pytest.fixture(scope="module")
def protected(records):
    """Return the evidence of an example, collected and protected once for all tests that only read it."""
    made = {}

    def once(asked):
        if id(asked) not in made:
            made[id(asked)] = contract.protected(asked, records)
        return made[id(asked)]

    return once


def test_examples_cover_every_registered_type():
    assert set(EXAMPLES) == set(OUTPUT_TYPES)
    assert all(type(asked) is OUTPUT_TYPES[kind] for kind, made in EXAMPLES.items() for asked in made)


@pytest.mark.parametrize("asked", ALL)
def test_output_round_trips_through_file(asked, records):
    contract.assert_round_trip(asked, records)


@pytest.mark.parametrize("asked", ALL)
def test_output_is_deterministic(asked, records):
    contract.assert_twice_the_same(asked, records)


@pytest.mark.parametrize("kind", OUTPUT_TYPES)
def test_suppressed_values_are_not_published(kind, protected):
    evidence = [(asked, protected(asked)) for asked in EXAMPLES[kind]]
    if kind == "free_file":
        evidence = [(asked, replace(each, withheld=np.array([True]))) for asked, each in evidence]
    partly = [(asked, each) for asked, each in evidence if each.withheld.any()]
    assert partly, "no example withholds anything"
    for asked, each in partly:
        contract.assert_withheld_stays_behind(asked, each)


@pytest.mark.parametrize("asked", ALL)
def test_output_repr_omits_confidential_values(asked, protected):
    contract.assert_repr_tells_nothing(asked, protected(asked))


@pytest.mark.parametrize("asked", ALL)
def test_forged_shapes_raise_hitoku_error(asked, protected):
    plain = protected(asked).to_dict()
    contract.assert_forged_shapes_are_refused(type(asked).evidence, plain)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("median", {"value": "income"}),
        ("average", {"value": "income", "holdin": "employer"}),
        ("regression", {"formula": "y ~ x", "result": {}}),
    ],
    ids=["unknown type", "misspelt", "no part of a submission"],
)
def test_definition_with_unknown_parameter_raises(kind, parameters):
    with raises("evidence_invalid", part="definition"):
        read_definition(kind, parameters, "output")


def test_valid_outputs_of_all_types_agree(protected):
    made = []
    for asked in (asked for several in EXAMPLES.values() for asked in several):
        evidence = protected(asked)
        made.append(
            Output(
                name=f"{asked.kind} {len(made)}",
                kind=asked.kind,
                definition=write_definition(asked),
                where={},
                evidence=evidence,
                published=asked.publish(evidence),
                policy={},
                data="",
                verdicts=(),
            )
        )
        assert list(asked.facts(evidence)) or asked.kind in {"handed_over", "free_file"}, (
            "says nothing that could be compared"
        )
    assert disagreements(made) == [[] for _ in made]
    lied = replace(made[0].evidence, n_units=made[0].evidence.n_units + 1)
    assert all(disagreements([replace(made[0], evidence=lied), *made[1:]])[0])


def test_modules_in_folder_match_registry():
    modules = {kind: made.__module__.rpartition(".")[2] for kind, made in OUTPUT_TYPES.items()}
    assert contract.defined_types(FOLDER) == modules


# Tests of the tests: a type that is not registered, and types that break a promise.


def test_unregistered_type_is_found(tmp_path):
    (tmp_path / "forgotten.py").write_text('class Forgotten:\n    kind: ClassVar[str] = "forgotten"\n')
    assert contract.defined_types(tmp_path) == {"forgotten": "forgotten"}


@dataclass(frozen=True)
class Blabbing(Average):
    def publish(self, evidence):
        return super().publish(replace(evidence, withheld=np.zeros_like(evidence.withheld)))


COUNTER = count()


@dataclass(frozen=True)
class Restless(Average):
    def protect(self, evidence, policy):
        return replace(
            super().protect(evidence, policy), withheld=np.arange(evidence.n_parts) == next(COUNTER)
        )


def test_type_publishing_suppressed_values_fails(records):
    asked = Blabbing("income", BY)
    with pytest.raises(AssertionError):
        contract.assert_withheld_stays_behind(asked, contract.protected(asked, records))


def test_nondeterministic_type_fails(records):
    with pytest.raises(AssertionError):
        contract.assert_twice_the_same(Restless("income", BY), records)


# A ninth type: one file, one line in the registry.
NINTH = '''
"""The distance between two percentiles: enough units outside of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from pydantic import dataclasses as validated

from hitoku.checks.evidence import STRICT, Counts, Evidence, Numbers
from hitoku.checks.evidence import GroupEvidence, slices
from hitoku.checks.outputs import GroupStatistic, publish_groups
from hitoku.checks.principles import group_principles as principles
from hitoku.checks.principles import Principle, PrincipleTest


@validated.dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class SpreadEvidence(GroupEvidence):
    at_most_units: ClassVar[tuple[str, ...]] = ("outside",)

    value: Numbers
    outside: Counts


@dataclass(frozen=True)
class Spread(GroupStatistic[SpreadEvidence]):
    kind: ClassVar[str] = "spread"
    evidence: ClassVar[type[Evidence]] = SpreadEvidence

    value: str
    by: tuple[str, ...] = ()
    missing: str = "error"

    def collect(self, records):
        groups, values = records.groups(self.by, self.missing), records.numbers(self.value)
        ends = [np.percentile(values[own], (25, 75)) for own in slices(groups)]
        outside = [
            min((values[own] <= low).sum(), (values[own] >= high).sum())
            for own, (low, high) in zip(slices(groups), ends, strict=True)
        ]
        return SpreadEvidence.of(
            records, groups, value=np.array([high - low for low, high in ends]), outside=np.array(outside)
        )

    def tests(self, evidence, policy):
        yield principles.units(evidence, policy)
        side = policy.percentile.side
        yield PrincipleTest(
            principle=Principle.INDIVIDUAL_VALUE,
            reason="too_near_the_end",
            unsafe=evidence.outside < side,
            rule=f"at least {side} units outside",
            remedy="take larger groups",
        )

    def publish(self, evidence) -> dict[str, list[Any]]:
        return publish_groups(evidence, evidence.value.tolist(), f"spread_{self.value}")
'''


def test_new_type_needs_one_file_and_line(tmp_path, monkeypatch, capsys):
    path = tmp_path / "spread.py"
    path.write_text(NINTH)
    assert contract.defined_types(tmp_path) == {"spread": "spread"}
    spec = importlib.util.spec_from_file_location("spread", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "spread", module)
    spec.loader.exec_module(module)
    monkeypatch.setitem(OUTPUT_TYPES, "spread", module.Spread)
    asked = module.Spread("income", BY)

    # The same contract, without a word about it anywhere.
    records = Records.open(PEOPLE, "id")
    contract.assert_round_trip(asked, records)
    evidence = contract.protected(asked, records)
    contract.assert_withheld_stays_behind(asked, evidence)
    contract.assert_forged_shapes_are_refused(module.SpreadEvidence, evidence.to_dict())

    # From the session through the submission to the command of the checker, with the data and without.
    work = Session("nine", PEOPLE, unit="id")
    made = work.output(asked, name="spreads")
    assert made.status is Clearance.PASS
    assert np.isnan(made.frame.loc["E", "spread_income"])
    work.mean("age", by="region")
    folder = work.submit(tmp_path / "submission")
    PEOPLE.to_parquet(tmp_path / "people.parquet")
    given = ["--data", str(tmp_path / "people.parquet"), "--unit", "id"]
    for more in ([], given):
        with pytest.raises(SystemExit) as left:
            cli.main(["check", str(folder), "--out", str(tmp_path / "report"), *more])
        assert left.value.code == 0
        assert "spreads (spread): pass" in capsys.readouterr().out
    assert "spread: value income; by region" in (tmp_path / "report" / "report.html").read_text("utf-8")

    # Where it is not registered, it is named, and the others are judged all the same.
    monkeypatch.delitem(OUTPUT_TYPES, "spread")
    first, second = recheck(folder).outputs
    assert "no output type 'spread'" in str(first.findings[0])
    assert second.findings == ()
    assert second.verdicts


def test_registry_contains_types_of_the_paper():
    # Kikuchi and Minami (2017), section 3.
    paper = "frequency_table magnitude_table regression percentile mode concentration average summary"
    assert set(paper.split()) <= set(OUTPUT_TYPES)


@pytest.mark.parametrize("kind", OUTPUT_TYPES)
def test_output_type_has_module_and_documentation(kind):
    assert OUTPUT_TYPES[kind].kind == kind
    assert OUTPUT_TYPES[kind].__module__.startswith("hitoku.checks.outputs.")
    assert f"\n## `{kind}`\n" in PAGE.read_text("utf-8")


def test_other_modules_do_not_name_output_types():
    """Who asks a type what it is, instead of asking it, must be changed for the ninth."""
    package = FOLDER.parents[1]
    files = [path for path in FOLDER.parent.rglob("*.py") if FOLDER not in path.parents]
    files += [package / "io" / "check_page.py", package / "cli" / "check.py"]
    named = [
        (path.name, node.value)
        for path in files
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in OUTPUT_TYPES
    ]
    assert len(files) > 30
    assert named == []
