from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, make_dataclass
from pathlib import Path

import pytest

from hitoku.errors import ParameterError, RuleError
from hitoku.rules import (
    RULES,
    DirectDisclosure,
    Dominance,
    GroupDisclosure,
    MinFrequency,
    PPercent,
    PriorPosterior,
    from_spec,
    rule_from_spec,
)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "rules.md"


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        ("p_percent:p=10", PPercent(10)),
        (" dominance: n=2, k=87.5, level=unit ", Dominance(2, 87.5, level="unit")),
        ("min_frequency:n=3,zeros=true,percent=none", MinFrequency(3, zeros=True)),
        ("min_frequency:n=3,zeros=False", MinFrequency(3, zeros=False)),
        ("minfreq:n=3", MinFrequency(3)),
        ("nk:n=2,k=85", Dominance(2, 85)),
        ("p:p=10", PPercent(10)),
        ("pq:p=10,q=50", PriorPosterior(10, 50)),
        ("group_disclosure", GroupDisclosure()),
        ("group_disclosure:share=0.8,by=row+column", GroupDisclosure(0.8, by=("row", "column"))),
        (
            "direct_disclosure:k=0,sensitive=injury,unknown=injury/Unknown+region/Abroad",
            DirectDisclosure(0, "injury", {"injury": "Unknown", "region": "Abroad"}),
        ),
    ],
)
def test_valid_spec_makes_rule(spec, rule):
    assert rule_from_spec(spec, RULES) == rule


@pytest.mark.parametrize(
    ("spec", "what", "fix"),
    [
        pytest.param("p_percnt:p=10", "no rule", "'p_percent'", id="rule"),
        pytest.param("p_percent:q=10", "no parameter 'q'", "p", id="parameter"),
        pytest.param("prior_posterior:p=10", "needs q", "q=", id="missing"),
        pytest.param("p_percent", "needs p", "p=", id="bare"),
        pytest.param("p_percent:10", "not a parameter with its value", "p=", id="value alone"),
        pytest.param("p_percent:p=", "not a parameter with its value", "p=", id="nothing"),
        pytest.param("p_percent:p=5,p=6", "given twice", "p=", id="twice"),
        pytest.param("p_percent:p=0.1x", "p must lie", "percent", id="the rule's own check"),
    ],
)
def test_invalid_spec_raises(spec, what, fix):
    with pytest.raises(RuleError, match=what) as caught:
        rule_from_spec(spec, RULES)
    assert fix in caught.value.fix


@pytest.mark.parametrize("name", RULES)
def test_rule_page_shows_a_valid_spec(name):
    section = PAGE.read_text("utf-8").partition(f"\n## `{name}`\n")[2].partition("\n## ")[0]
    specs = re.findall(r"`--rule ([^`]+)`", section)
    assert specs
    assert all(isinstance(rule_from_spec(spec, RULES), RULES[name]) for spec in specs)


@dataclass(frozen=True)
class Merging:
    codes: Mapping[str, Sequence[str]]


def test_codes_are_grouped_by_variable():
    made = from_spec("merging:codes=region/R1+nace/C+region/R2", {"merging": Merging}, "method")
    assert made.codes == {"region": ["R1", "R2"], "nace": ["C"]}


@pytest.mark.parametrize("n", [12, 13])
def test_unknown_parameter_lists_twelve_known_ones(n):
    names = [f"x{place}" for place in range(n)]
    with pytest.raises(ParameterError, match="no parameter 'zebra'") as caught:
        from_spec("many:zebra=1", {"many": make_dataclass("Many", names)}, "method")
    assert caught.value.fix == f"it has: {', '.join(names[:12])}{' and 1 more' if n == 13 else ''}"
