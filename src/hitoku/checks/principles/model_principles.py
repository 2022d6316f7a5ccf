"""Principles for models: degrees of freedom, support, leverage, prediction, squares."""

from __future__ import annotations

from collections.abc import Mapping

from hitoku.checks.evidence import ModelEvidence
from hitoku.checks.policies import Policy
from hitoku.checks.principles.group_principles import DOMINATED_SQUARES, square_severity, squares_unknown
from hitoku.checks.principles.principle_verdict import Clearance, Principle, PrincipleVerdict
from hitoku.checks.principles.value_principles import groups_with_determined_counts, reveals_counts
from hitoku.checks.principles.value_principles import unknown as values_unknown
from hitoku.errors import some
from hitoku.messages import Text
from hitoku.model import LIMIT


def judge_model(evidence: ModelEvidence, policy: Policy) -> tuple[PrincipleVerdict, ...]:
    """Apply every principle to a model; coefficients are judged together."""
    return (
        _units(evidence, policy),
        _freedom(evidence, policy),
        _support(evidence, policy),
        _table(evidence, policy),
        _leverage(evidence, policy),
        _perfect(evidence),
        *_squares(evidence, policy),
        *_outcomes(evidence, policy),
    )


def _verdict(
    principle: Principle,
    reason: str,
    text: str,
    numbers: Mapping[str, float],
    remedy: str,
    *,
    wrong: bool,
    severity: Clearance = Clearance.FAIL,
) -> PrincipleVerdict:
    return PrincipleVerdict(
        principle=principle,
        status=severity if wrong else Clearance.PASS,
        reason=reason if wrong else "met",
        text=text,
        numbers=numbers,
        remedy=remedy if wrong else "",
    )


def _units(evidence: ModelEvidence, policy: Policy) -> PrincipleVerdict:
    n, minimum = evidence.n_units, policy.units.minimum
    text = Text("at least {minimum} units: {n}", minimum=minimum, n=n)
    numbers = {"units": n, "minimum": minimum}
    return _verdict(Principle.UNITS, "too_few_units", text, numbers, "use more units", wrong=n < minimum)


def _freedom(evidence: ModelEvidence, policy: Policy) -> PrincipleVerdict:
    found = evidence.freedom
    return _verdict(
        Principle.FREEDOM,
        "too_few_degrees_of_freedom",
        Text(
            "degrees of freedom {freedom}: {found:g} ({n_units} units)",
            freedom=policy.freedom,
            found=found,
            n_units=evidence.n_units,
        ),
        {"freedom": found, "limit": policy.freedom.limit, "parameters": evidence.n_parameters},
        "use more units or fewer parameters",
        wrong=not policy.freedom.met(found),
    )


def _support(evidence: ModelEvidence, policy: Policy) -> PrincipleVerdict:
    needed, support = policy.regression.support, evidence.support.tolist()
    weak = [f"{term}: {n}" for term, n in zip(evidence.terms, support, strict=True) if n < needed]
    smallest = min(support, default=evidence.n_units)
    return _verdict(
        Principle.UNITS,
        "coefficient_of_few",
        Text(
            "every dummy and interaction on at least {needed} units: not {names}"
            if weak
            else "every dummy and interaction on at least {needed} units: met, smallest {smallest}",
            needed=needed,
            names=some(weak, 3),
            smallest=smallest,
        ),
        {"support": needed, "smallest": smallest, "terms": len(weak)},
        "merge these categories with others, or leave the terms out",
        wrong=bool(weak),
    )


def _table(evidence: ModelEvidence, policy: Policy) -> PrincipleVerdict:
    n_cells, smallest, needed = evidence.n_cells, evidence.smallest_cell, policy.units.minimum
    # As many parameters as cells: each cell's mean is a sum of coefficients.
    saturated = evidence.categorical and evidence.n_parameters >= n_cells
    if not saturated:
        text = "not a table: some regressor is a measurement, or there are fewer parameters than cells"
    else:
        text = Text(
            "a table of {n_cells} means, each of at least {needed} units: smallest {smallest}",
            n_cells=n_cells,
            needed=needed,
            smallest=smallest,
        )
    return _verdict(
        Principle.GROUP,
        "saturated_with_small_cells",
        text,
        {"cells": n_cells, "parameters": evidence.n_parameters, "smallest": smallest, "minimum": needed},
        "merge categories until every cell has enough units, or leave interactions out",
        wrong=bool(saturated) and smallest < needed,
    )


def _outcomes(evidence: ModelEvidence, policy: Policy) -> tuple[PrincipleVerdict, ...]:
    """Judge an outcome with few values as the counts that its means by category reveal."""
    if not evidence.categorical:
        return ()
    labels, units = evidence.outcome_groups, evidence.outcome_units
    values, holders = evidence.outcome_values, evidence.outcome_holders
    if labels is None or units is None or values is None or holders is None:
        return (values_unknown(),)
    revealed, two = reveals_counts(units, values, holders, policy), groups_with_determined_counts(values, 1)
    if not (revealed | two).any():
        return ()
    named = some((labels[place] for place in revealed.nonzero()[0].tolist()), 3)
    rule = Text(
        "{variable} with few values, so a count: each of two that of at least {least_units} units, and none "
        "that of more than {share:.0%}",
        variable=Text("an outcome"),
        least_units=policy.least_units,
        share=policy.group.share,
    )
    counted = holders[two] if two.any() else holders
    return (
        _verdict(
            Principle.GROUP,
            "two_values",
            Text(
                "{rule}: not met by {n} of {total} ({names})",
                rule=rule,
                n=int(revealed.sum()),
                total=len(revealed),
                names=named,
            )
            if revealed.any()
            else Text("{rule}: met", rule=rule),
            {
                "minimum": policy.least_units,
                "share": policy.group.share,
                "smallest": int(counted[counted > 0].min()),
                "unsafe": int(revealed.sum()),
            },
            "merge categories until each has enough units with each outcome, or request a frequency table",
            wrong=bool(revealed.any()),
        ),
    )


def _leverage(evidence: ModelEvidence, policy: Policy) -> PrincipleVerdict:
    rule, found = policy.regression, evidence.leverage
    status = (
        Clearance.FAIL
        if found >= rule.leverage_fail
        else Clearance.REVIEW
        if found >= rule.leverage_review
        else Clearance.PASS
    )
    remedy = "leave out the term that one record decides, or the record"
    return PrincipleVerdict(
        principle=Principle.INDIVIDUAL_VALUE,
        status=status,
        reason="met" if status is Clearance.PASS else "leverage",
        text=Text(
            "no record with leverage of {leverage_fail:g} or more: largest {found:.2f}",
            leverage_fail=rule.leverage_fail,
            found=found,
        ),
        numbers={"leverage": found, "fail": rule.leverage_fail, "review": rule.leverage_review},
        remedy="" if status is Clearance.PASS else remedy,
    )


def _squares(evidence: ModelEvidence, policy: Policy) -> tuple[PrincipleVerdict, ...]:
    """Test that no unit decides a coefficient or dominates the residuals."""
    rule = policy.squares
    if rule is None or evidence.binary:
        return ()
    if evidence.residual is None or evidence.influence is None:
        return (squares_unknown(),)
    found = max(evidence.residual, evidence.influence)
    verdict = _verdict(
        Principle.DOMINANCE,
        DOMINATED_SQUARES,
        Text(
            "no unit with more than {k:g} % of the residual sum of squares, or of what adds up to a "
            "coefficient: largest {found:.0%}",
            k=rule.k,
            found=found,
        ),
        {"k": rule.k, "residual": evidence.residual, "influence": evidence.influence},
        "take the logarithm of the outcome, or leave out the unit that decides",
        wrong=found - rule.k / 100 > LIMIT,
        severity=square_severity(policy),
    )
    return (verdict,)


def _perfect(evidence: ModelEvidence) -> PrincipleVerdict:
    perfect, separated = evidence.perfect, evidence.separated
    if perfect:
        text = "the model predicts every outcome: coefficients and regressors give every unit's value"
    elif separated:
        text = Text("all units with one value of {names} have the same outcome", names=some(separated, 3))
    else:
        text = "no perfect prediction"
    return _verdict(
        Principle.GROUP,
        "perfect_prediction",
        text,
        {"separated": len(separated)},
        "leave these terms out, or merge their categories",
        wrong=bool(perfect or separated),
    )
