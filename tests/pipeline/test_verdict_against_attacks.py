"""No green verdict where an attack that hitoku ships, and that is in its scope, finds something."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.strategies import count_tables, magnitude_tables

import hitoku as ht
from hitoku.attacks import ATTACKS, Group, Insider, Interval
from hitoku.attacks.adjustment import Adjustment
from hitoku.attacks.matching import Matching
from hitoku.checks.outputs import CrossTable
from hitoku.checks.policies import policy
from hitoku.coalitions import contributions_in
from hitoku.errors import HitokuError
from hitoku.evidence import AdjustedAudit, judge_attack
from hitoku.methods import METHODS
from hitoku.metrics import attacker_knowledge
from hitoku.model import Colour, Severity, Status, counts_units
from hitoku.rules import RULES

# The attack behind each row that an attack can try, by its name in the registry.
ROWS = {
    "interval": "outsider",
    "insider": "singletons",
    "group": "attributes",
    "matching": "method",
    "adjustment": "method",
}
COUNT_RULES = {
    "min_frequency": [ht.MinFrequency(3)],
    "group_disclosure": [ht.GroupDisclosure(0.9)],
    "direct_disclosure": [ht.DirectDisclosure(k=1)],
    "k_disclosure": [ht.KDisclosure(k=1)],
    "zero": [ht.Zero(2.0)],
    "japan-2017": policy("japan-2017").count_rules,
    "essnet-2009": policy("essnet-2009").count_rules,
}
MAGNITUDE_RULES = {
    "few_contributors": [ht.FewContributors(3)],
    "dominance": [ht.Dominance(1, 75)],
    "p_percent": [ht.PPercent(10)],
    "prior_posterior": [ht.PriorPosterior(10, 100)],
    "japan-2017": policy("japan-2017").magnitude_rules,
    "essnet-2009": policy("essnet-2009").magnitude_rules,
}
# Attacks on groups that belong to a rule, with the rule's own parameters.
GROUP_ATTACKS = {
    "group_disclosure": [Group(k=0), Group(share=0.9)],
    "direct_disclosure": [Group(k=1)],
    "k_disclosure": [Group(k=1)],
}
# Candidates that the matching attack looks at.
MATCHED = 300


def attacks_in_scope(outcome, rules):
    """Yield every shipped attack whose row is in the scope of a verdict, with default parameters."""
    verdict, table, adjusted = outcome.verdict, outcome.table, isinstance(outcome.audit, AdjustedAudit)
    scope = {row.attacker for row in verdict.scope}
    if "outsider" in scope and not adjusted:
        yield Interval(integer=outcome.release.integer)
    if {"singletons", "contributors"} & scope and table.contributors is not None and not adjusted:
        people = contributions_in(table)
        yield Insider([one for one in people if one.sole or "contributors" in scope])
    if "attributes" in scope and not adjusted:
        yield from (attack for rule in rules for attack in GROUP_ATTACKS.get(rule, ()))
    if "method" in scope and not adjusted and counts_units(table):
        made = outcome.made
        yield Matching(
            method=made.method, rules=made.rules, width=made.width, groups=made.groups, limit=MATCHED
        )
    if "method" in scope and adjusted:
        facts = attacker_knowledge(table, outcome.need, outcome.release)
        yield Adjustment(known=facts)


def disclosed(outcome, rules):
    found = []
    for attack in attacks_in_scope(outcome, rules):
        findings = judge_attack(attack, outcome.table, outcome.need, outcome.release)
        found += [(attack.name, finding.place) for finding in findings if finding.severity is Severity.FAIL]
    return found


def check(table, rules, method, **options):
    """Protect a table; where the verdict is green, no attack in its scope may find anything."""
    try:
        chosen = METHODS[method]() if isinstance(method, str) else method
        outcome = ht.protect(
            table, rules=[one for listed in rules.values() for one in listed], method=chosen, **options
        )
    except HitokuError:
        assume(False)
    if outcome.verdict.colour is Colour.GREEN:
        assert disclosed(outcome, rules) == []
    return outcome


def some_rules(listed):
    names = st.lists(st.sampled_from(sorted(listed)), min_size=1, max_size=2, unique=True)
    return names.map(lambda chosen: {name: listed[name] for name in chosen})


AGAINST = st.sampled_from(
    [None, ["outsider"], ["outsider", "groups", "attributes"], ["outsider", "method"], ["singletons"]]
)
EXAMPLES = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
MANY = settings(EXAMPLES, max_examples=200)
COUNTS = {
    "table": count_tables(max_side=3, max_count=12) | count_tables(max_side=3, hierarchical=True),
    "rules": some_rules(COUNT_RULES),
    "method": st.sampled_from(sorted(METHODS)),
    "against": AGAINST,
    "groups": st.booleans(),
}
MAGNITUDES = {
    "table": magnitude_tables(integer=True) | magnitude_tables(integer=True, holdings=True),
    "rules": some_rules(MAGNITUDE_RULES),
    "method": st.sampled_from(sorted(set(METHODS) - {"randomised"})),
    "against": AGAINST,
    "insiders": st.sampled_from([None, "none", "singletons", "contributors"]),
}


@EXAMPLES
@given(**COUNTS)
def test_green_counts_withstand_every_attack_in_scope(table, rules, method, against, groups):
    check(table, rules, method, against=against, groups=groups)


@EXAMPLES
@given(**MAGNITUDES)
def test_green_magnitudes_withstand_every_attack_in_scope(table, rules, method, against, insiders):
    check(table, rules, method, against=against, insiders=insiders)


@pytest.mark.long
@MANY
@given(**COUNTS)
def test_many_green_counts_withstand_every_attack_in_scope(table, rules, method, against, groups):
    check(table, rules, method, against=against, groups=groups)


@pytest.mark.long
@MANY
@given(**MAGNITUDES)
def test_many_green_magnitudes_withstand_every_attack_in_scope(table, rules, method, against, insiders):
    check(table, rules, method, against=against, insiders=insiders)


def test_every_shipped_attack_and_rule_is_tried():
    assert set(ROWS) == set(ATTACKS)
    asked = {"few_contributors", *COUNT_RULES, *MAGNITUDE_RULES}
    assert set(RULES) - asked == {"request", "given"}  # both need a column or a mask of the table


# Output types of sessions that claim something about a table, which attacks can try.
SESSION_OUTPUTS = {
    "frequency_table": lambda work, where: work.frequency_table(["region", "age"], where=where),
    "frequency_table by one": lambda work, where: work.frequency_table("age", where=where),
    "cross_table": lambda work, where: work.output(CrossTable(("region", "age")), where=where),
    "cross_table of rows": lambda work, where: work.output(CrossTable(("region", "age"), "row"), where=where),
    "histogram": lambda work, where: work.histogram("income", bins=4, where=where),
    "magnitude_table": lambda work, where: work.magnitude_table(["region", "age"], "income", where=where),
}


@st.composite
def people(draw):
    """Records in which some categories of a region are empty or dominate it."""
    draws = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, skew = draw(st.integers(40, 300)), draw(st.sampled_from([0.2, 1.0, 5.0]))
    region = draws.choice(list("NSW"), n)
    shares = {name: draws.dirichlet([skew] * 3) for name in "NSW"}
    age = [draws.choice(["old", "mid", "new"], p=shares[name]) for name in region]
    income = np.rint(draws.lognormal(6, draw(st.sampled_from([0.3, 1.5])), n))
    return pd.DataFrame({"region": region, "age": age, "income": income})


def check_output(records, kind, name, where):
    """Ask for an output; where its verdict is green, no attack on the table that it claims finds anything."""
    work = ht.Session("random", records, policy=name)
    try:
        made = SESSION_OUTPUTS[kind](work, where)
    except HitokuError:
        assume(False)
    verdict = work.verdict(made)
    claimed = made.asked.claim(made.evidence, work.policy)
    assert claimed is not None
    if verdict.colour is not Colour.GREEN:
        return verdict
    attacks = [Interval(integer=claimed.release.integer)]
    if verdict["attributes"].applies and counts_units(claimed.table):
        # That everybody behind a filter has the code of the filter reveals nothing.
        pairs = zip(made.evidence.by, made.evidence.codes, strict=True)
        sensitive = [each for each, codes in pairs if len(codes) > 1 or each not in (where or {})]
        attacks.append(Group(share=work.policy.group.share, sensitive=tuple(sensitive)))
    if verdict["singletons"].applies and claimed.table.contributors is not None:
        attacks.append(Insider([one for one in contributions_in(claimed.table) if one.sole]))
    for attack in attacks:
        findings = judge_attack(attack, *claimed)
        assert [one.place for one in findings if one.severity is Severity.FAIL] == []
    return verdict


SESSIONS = {
    "records": people(),
    "kind": st.sampled_from(sorted(SESSION_OUTPUTS)),
    "name": st.sampled_from(["japan-2017", "essnet-2009"]),
    "where": st.sampled_from([None, {"region": ["N"]}, {"region": ["N", "S"]}]),
}


@EXAMPLES
@given(**SESSIONS)
def test_green_outputs_of_sessions_withstand_every_attack_in_scope(records, kind, name, where):
    check_output(records, kind, name, where)


@pytest.mark.long
@MANY
@given(**SESSIONS)
def test_many_green_outputs_of_sessions_withstand_every_attack_in_scope(records, kind, name, where):
    check_output(records, kind, name, where)


@pytest.mark.parametrize("kind", SESSION_OUTPUTS)
def test_safe_session_outputs_are_green(kind):
    """Otherwise the property would hold because it never asks anything."""
    draws = np.random.default_rng(1)
    records = pd.DataFrame(
        {"region": draws.choice(list("NSW"), 900), "age": draws.choice(["old", "mid", "new"], 900)}
    )
    records["income"] = draws.integers(500, 900, 900).astype(float)
    assert check_output(records, kind, "japan-2017", None).colour is Colour.GREEN


class UnsafeOnly:
    """Withholds the unsafe cells and no others."""

    def protect(self, table, need, _progress=None):
        return ht.Protection.withhold(table, need.unsafe, need)


def test_negative_control_is_not_green():
    """The property can fail: a method that protects nothing is broken by the same attacks."""
    table = ht.Table.from_array([[20, 15, 9], [72, 1, 30]])
    rules = {"min_frequency": [ht.MinFrequency(3)]}
    outcome = check(table, rules, UnsafeOnly())
    assert outcome.verdict["outsider"].status is Status.FAILED
    assert ("interval", "row=2, column=2") in disclosed(outcome, rules)
    good = check(table, rules, "auto")
    assert good.verdict.colour is Colour.GREEN
    assert np.any(good.release.withheld)
