"""Evidence of a fitted model: its coefficients, and the units behind them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, StrictBool, StrictStr
from pydantic.dataclasses import dataclass

from hitoku.checks.evidence.evidence import STRICT, Count, CountRows, Counts, Estimates, Evidence, Texts
from hitoku.checks.evidence.group_evidence import COUNTED, compare_values

# Fitted models are exact to about this share: leverages add up to the number of parameters, squares to those
# explained and unexplained.
FIT_ROUNDING = 1e-6

# Fields of the groups for which coefficients imply the mean of the outcome.
OUTCOMES = ("outcome_groups", "outcome_codes", "outcome_units", "outcome_values", "outcome_holders")

# A column and one of its codes.
Pair = tuple[StrictStr, StrictStr]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class ModelEvidence(Evidence):
    """Coefficients, and the units that each of them rests on."""

    # names, coefficient, standard_error: names, estimates and standard errors of the terms; no standard
    # errors if the program has none.
    names: Texts
    coefficient: Estimates
    standard_error: Estimates | None = None
    # n_units, n_records: units and records that the model was fitted on.
    n_units: Count
    n_records: Count
    sample: Literal["all records", "some records"]  # Whether these are all records passed to the model.
    n_parameters: Count  # Rank of the design.
    freedom: Number  # Residual degrees of freedom, counting units instead of records.
    # leverage, n_leverage: largest leverage of a record, and number of leverages.
    leverage: Number
    n_leverage: Count
    # terms, support: dummies, interactions and reference categories, and the units behind each.
    terms: Texts
    support: Counts
    # categorical, n_cells, smallest_cell: whether every regressor is categorical; if so, the number of
    # combinations that occur, and the units of the smallest.
    categorical: StrictBool
    n_cells: Count
    smallest_cell: Count
    # perfect, binary, separated: whether every outcome is predicted; whether the outcome is binary; terms
    # with a value that has a single outcome.
    perfect: StrictBool
    binary: StrictBool
    separated: Texts
    # residual, influence: largest share of one unit in the residual sum of squares, and in the sum behind a
    # coefficient; None for binary outcomes.
    residual: Number | None = None
    influence: Number | None = None
    # outcome_groups, outcome_codes, outcome_units, outcome_values, outcome_holders: if every regressor is
    # categorical: the groups for which coefficients imply the mean of the outcome, their codes (None if codes
    # do not define the group), units, number of distinct outcomes, and units with the most frequent outcomes.
    # None in evidence of earlier versions.
    outcome_groups: Texts | None = None
    outcome_codes: tuple[tuple[Pair, ...] | None, ...] | None = None
    outcome_units: Counts | None = None
    outcome_values: Counts | None = None
    outcome_holders: CountRows | None = None

    @property
    def n_used(self) -> int | None:
        return self.n_records

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Names and values of facts about the fit, shown in the report."""
        found = [
            ("units", f"{self.n_units:,}"),
            ("records", f"{self.n_records:,}, {self.sample}"),
            ("parameters", f"{self.n_parameters:,}"),
            ("degrees of freedom", f"{self.freedom:,.0f}"),
            ("largest leverage", f"{self.leverage:.3f}"),
            ("all regressors are categories", "yes" if self.categorical else "no"),
        ]
        if self.categorical:
            found.append(("smallest cell", f"{self.smallest_cell:,} of {self.n_cells:,} cells"))
        if self.perfect:
            found.append(("perfect prediction", "yes: every outcome follows from the regressors"))
        if len(self.separated):
            found.append(("separated", ", ".join(self.separated)))
        return tuple(found)

    @property
    def supported_terms(self) -> tuple[tuple[str, int], ...]:
        """Terms with the units behind each, fewest first."""
        support = sorted(zip(self.support.tolist(), self.terms, strict=True))
        return tuple((term, n) for n, term in support)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(len(self.names) > 0, "names: there is no term")
        for name in ("coefficient", "standard_error"):
            column = getattr(self, name)
            fits = column is None or len(column) == len(self.names)
            self.require(fits, f"{name}: not one coefficient for each term")
        self.require(len(self.support) == len(self.terms), "support: not one number for each term")
        self.require(set(self.separated) <= set(self.names), "separated: no term of the model")
        own = [getattr(self, name) for name in OUTCOMES]
        self.require(
            len({None if each is None else len(each) for each in own}) == 1, f"{OUTCOMES[0]}: unequal"
        )
        counted = self.outcome_holders is None or self.outcome_holders.shape[1] == COUNTED
        self.require(counted, f"outcome_holders: not {COUNTED} numbers of units for each group")

    def contradictions(self, *, formula: bool, ols: bool) -> Iterator[str]:
        """Yield inconsistencies.

        Parameters
        ----------
        formula
            Whether the model was fitted here, so that more is known about it.
        ols
            Whether it is linear; other models have a binary outcome.
        """
        yield from self._freedom(formula=formula, ols=ols)
        yield from self._leverages()
        yield from self._cells()
        if any(share is not None and not 0 <= share <= 1 for share in (self.residual, self.influence)):
            yield "residual, influence: not a share"
        if self.outcome_units is not None:
            records = np.minimum(self.outcome_units + self.n_records - self.n_units, self.n_records)
            yield from compare_values(self.outcome_units, records, self.outcome_values, self.outcome_holders)
            if self.outcome_units.max(initial=0) > self.n_units:
                yield "a group of the outcome with more units than the model"
        if self.standard_error is not None and (self.standard_error < 0).any():
            yield "a standard error below zero"
        if ((self.support < 1) | (self.support > self.n_units)).any():
            yield "a term with more units than the model, or none"
        if self.n_units == self.n_records:
            yield from self._factors()
        if (self.separated or (formula and not ols)) and not self.binary:
            yield "a model of a binary outcome, which is not binary"

    def _freedom(self, *, formula: bool, ols: bool) -> Iterator[str]:
        if self.n_units > self.n_records:
            yield "more units than records"
        if not 0 < self.n_parameters <= len(self.names):
            yield "more parameters than terms, or none"
        if self.freedom > self.n_units - self.n_parameters:
            yield "more degrees of freedom than units minus parameters"
        # With a formula both are counted alike; a logit or probit without an intercept has one less.
        if formula and self.freedom < self.n_units - self.n_parameters - (not ols):
            yield "fewer degrees of freedom than units minus parameters"

    def _leverages(self) -> Iterator[str]:
        if self.n_leverage != self.n_records:
            yield "not one leverage for each record"
        if not 0 <= self.leverage <= 1 + FIT_ROUNDING:
            yield "a leverage outside of 0 to 1"
        # The largest leverage is at least the mean.
        if self.leverage * self.n_leverage < self.n_parameters * (1 - FIT_ROUNDING):
            yield "the largest leverage is below the mean leverage"

    def _cells(self) -> Iterator[str]:
        if not self.categorical:
            if self.n_cells or self.smallest_cell:
                yield "cells of a model that is not a table"
            return
        if self.n_cells < self.n_parameters:
            yield "more parameters than cells"
        many = self.n_units == self.n_records and self.n_cells * self.smallest_cell > self.n_units
        if self.smallest_cell < 1 or many:
            yield "cells of more units than the model has"
        if (self.support < self.smallest_cell).any():
            yield "a term with fewer units than the smallest cell"

    def _factors(self) -> Iterator[str]:
        """Check that the categories of each factor contain all units."""
        support = dict(zip(self.terms, self.support.tolist(), strict=True))
        names = list(self.names)
        for term, rest in support.items():
            first, _, last = term.removeprefix("reference of ").partition(" to ")
            if not term.startswith("reference of ") or first not in names or last not in names:
                continue
            dummies = [
                support[name] for name in names[names.index(first) : names.index(last) + 1] if name in support
            ]
            whole = sum(dummies) + rest
            # A category of more than half of the units is counted by the others.
            larger_half = any(n == whole - n for n in dummies)
            if whole != self.n_units and not (larger_half and whole < self.n_units):
                yield f"the categories of {first} to {last} are not all units"
