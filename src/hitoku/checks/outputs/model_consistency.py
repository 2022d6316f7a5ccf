"""Whether what is said about a regression can be true together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# Leverages add up to the number of parameters, but for rounding.
ROUNDING = 1e-6


def models(evidence: Mapping[str, Any], definition: Mapping[str, Any]) -> Iterator[str]:
    """Name what contradicts itself in the evidence of a regression."""
    yield from _freedom(evidence, definition)
    yield from _leverages(evidence)
    yield from _cells(evidence)
    if len(evidence["coefficient"]) != len(evidence["names"]):
        yield "not one coefficient for each term"
    if any(error < 0 for error in evidence["standard_error"]):
        yield "a standard error below zero"
    if any(n < 1 or n > evidence["n_units"] for n in evidence["support"]):
        yield "a term with more units than the model, or none"
    if evidence["n_units"] == evidence["n_records"]:
        yield from _factors(evidence)
    limited = definition.get("formula") is not None and definition.get("model") != "ols"
    if (evidence["separated"] or limited) and not evidence["binary"]:
        yield "a model of a binary outcome, which is not binary"


def _freedom(evidence: Mapping[str, Any], definition: Mapping[str, Any]) -> Iterator[str]:
    n_units, n_parameters = evidence["n_units"], evidence["n_parameters"]
    if n_units > evidence["n_records"]:
        yield "more units than records"
    if not 0 < n_parameters <= len(evidence["names"]):
        yield "more parameters than terms, or none"
    if evidence["freedom"] > n_units - n_parameters:
        yield "more degrees of freedom than units minus parameters"
    # Of a formula both are counted alike; a logit or probit without an intercept has one less.
    least = n_units - n_parameters - (definition.get("model") != "ols")
    if definition.get("formula") is not None and evidence["freedom"] < least:
        yield "fewer degrees of freedom than units minus parameters"


def _leverages(evidence: Mapping[str, Any]) -> Iterator[str]:
    if evidence["n_leverage"] != evidence["n_records"]:
        yield "not one leverage for each record"
    if not 0 <= evidence["leverage"] <= 1 + ROUNDING:
        yield "a leverage outside of 0 to 1"
    # The largest is at least their mean.
    if evidence["leverage"] * evidence["n_leverage"] < evidence["n_parameters"] * (1 - ROUNDING):
        yield "the largest leverage is below the mean leverage"


def _cells(evidence: Mapping[str, Any]) -> Iterator[str]:
    n_cells, smallest = evidence["n_cells"], evidence["smallest_cell"]
    if not evidence["categorical"]:
        if n_cells or smallest:
            yield "cells of a model that is no table"
        return
    if n_cells < evidence["n_parameters"]:
        yield "more parameters than cells"
    if smallest < 1 or (
        evidence["n_units"] == evidence["n_records"] and n_cells * smallest > evidence["n_units"]
    ):
        yield "cells of more units than the model has"
    if any(n < smallest for n in evidence["support"]):
        yield "a term with fewer units than the smallest cell"


def _factors(evidence: Mapping[str, Any]) -> Iterator[str]:
    """Add up the categories of each factor: every unit is in one of them."""
    support = dict(zip(evidence["terms"], evidence["support"], strict=True))
    names = list(evidence["names"])
    for term, rest in support.items():
        first, _, last = term.removeprefix("reference of ").partition(" to ")
        if not term.startswith("reference of ") or first not in names or last not in names:
            continue
        dummies = [
            support[name] for name in names[names.index(first) : names.index(last) + 1] if name in support
        ]
        whole = sum(dummies) + rest
        # A category of more than half is counted by the others.
        larger_half = any(n == whole - n for n in dummies)
        if whole != evidence["n_units"] and not (larger_half and whole < evidence["n_units"]):
            yield f"the categories of {first} to {last} are not all units"
