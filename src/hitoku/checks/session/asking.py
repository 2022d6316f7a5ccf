"""The outputs of a session by name: each method is short for :meth:`Session.output` with a type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict, Unpack

from hitoku.checks.outputs.average import Average
from hitoku.checks.outputs.concentration import Concentration
from hitoku.checks.outputs.frequency_table import FrequencyTable
from hitoku.checks.outputs.handed_over import HandedOver
from hitoku.checks.outputs.histogram import Histogram, edges_of
from hitoku.checks.outputs.hypothesis_tests import TESTS
from hitoku.checks.outputs.magnitude_table import MagnitudeTable
from hitoku.checks.outputs.mode import Mode
from hitoku.checks.outputs.output import Output
from hitoku.checks.outputs.output_type import OutputType
from hitoku.checks.outputs.percentile import Percentile
from hitoku.checks.outputs.regression import Regression
from hitoku.checks.outputs.summary import Summary
from hitoku.checks.outputs.survival import Survival
from hitoku.checks.records import COMPLETE, Records
from hitoku.errors import ParameterError, did_you_mean
from hitoku.model.from_frame import Hierarchies

By = str | Sequence[str]
Where = Mapping[str, Any]


class How(TypedDict, total=False):
    """What every output takes: a filter, a name, an output whose pattern it has, cells withheld by hand."""

    where: Where | None
    name: str | None
    like: str | Output | None
    withhold: Sequence[Mapping[str, str]] | None


class Asking:
    """Methods that ask for an output of one type; every one takes ``where``, ``name`` and ``like``."""

    records: Records

    def output(self, asked: OutputType[Any], **how: Unpack[How]) -> Output:
        """Ask for an output of any type."""
        raise NotImplementedError

    def frequency_table(
        self,
        by: By,
        *,
        hierarchies: Hierarchies | None = None,
        missing: str = COMPLETE,
        **how: Unpack[How],
    ) -> Output:
        """Count records; see :class:`FrequencyTable`."""
        return self.output(FrequencyTable(names(by), missing, hierarchies or {}), **how)

    def magnitude_table(
        self,
        by: By,
        value: str,
        *,
        holding: str | None = None,
        weight: str | None = None,
        hierarchies: Hierarchies | None = None,
        missing: str = COMPLETE,
        **how: Unpack[How],
    ) -> Output:
        """Add up a variable; see :class:`MagnitudeTable`."""
        kind = MagnitudeTable(names(by), value, holding, weight, missing, hierarchies or {})
        return self.output(kind, **how)

    def mean(
        self,
        value: str,
        by: By = (),
        *,
        holding: str | None = None,
        weight: str | None = None,
        decimals: int | None = None,
        missing: str = COMPLETE,
        **how: Unpack[How],
    ) -> Output:
        """Average a variable; see :class:`Average`."""
        return self.output(Average(value, names(by), "mean", holding, weight, missing, decimals), **how)

    def sum(
        self,
        value: str,
        by: By = (),
        *,
        holding: str | None = None,
        weight: str | None = None,
        decimals: int | None = None,
        missing: str = COMPLETE,
        **how: Unpack[How],
    ) -> Output:
        """Add up a variable by group, without totals; see :class:`Average`."""
        return self.output(Average(value, names(by), "sum", holding, weight, missing, decimals), **how)

    def percentile(
        self,
        value: str,
        percent: float,
        by: By = (),
        *,
        weight: str | None = None,
        decimals: int | None = None,
        missing: str = COMPLETE,
        **how: Unpack[How],
    ) -> Output:
        """Find a percentile; see :class:`Percentile`."""
        return self.output(Percentile(value, percent, names(by), weight, missing, decimals), **how)

    def mode(
        self,
        value: str,
        by: By = (),
        *,
        weight: str | None = None,
        missing: str = COMPLETE,
        **how: Unpack[How],
    ) -> Output:
        """Find the most frequent value; see :class:`Mode`."""
        return self.output(Mode(value, names(by), weight, missing), **how)

    def concentration(
        self,
        value: str,
        statistic: str = "hhi",
        by: By = (),
        *,
        holding: str | None = None,
        weight: str | None = None,
        decimals: int | None = None,
        missing: str = COMPLETE,
        **how: Unpack[How],
    ) -> Output:
        """Measure concentration; see :class:`Concentration`."""
        kind = Concentration(value, statistic, names(by), holding, missing, weight, decimals)
        return self.output(kind, **how)

    def summary(
        self,
        statistic: str,
        value: str,
        other: str | None = None,
        by: By = (),
        *,
        structural: bool = False,
        weight: str | None = None,
        decimals: int | None = None,
        missing: str = COMPLETE,
        **how: Unpack[How],
    ) -> Output:
        """Compute a summary statistic; see :class:`Summary`."""
        kind = Summary(statistic, value, other, names(by), structural, missing, weight, decimals)
        return self.output(kind, **how)

    def test(self, statistic: str, value: str, other: str, **how: Unpack[How]) -> Output:
        """Compute a test statistic and its p value; see :class:`Summary` for the tests there are."""
        if statistic not in TESTS:
            raise ParameterError(
                f"no test {statistic!r}", where="statistic", fix=did_you_mean(statistic, TESTS)
            )
        return self.output(Summary(statistic, value, other), **how)

    def regression(self, model: Any, *, family: str = "ols", **how: Unpack[How]) -> Output:
        """Judge a fitted model, or fit a formula; see :class:`Regression`.

        Parameters
        ----------
        model
            What statsmodels returns from ``.fit()``, or a formula.
        family
            For a formula: "ols", "logit" or "probit".
        how
            As in the other methods.
        """
        if not isinstance(model, str):
            return self.output(Regression(None, family, model), **how)
        asked = Regression(model, family)
        # Fitted once, for the evidence and for the ledger.
        fitted = replace(asked, result=asked.fit(self.records.where(how.get("where") or {})))
        return self.output(fitted, **how)

    def histogram(
        self, value: str, bins: int | Sequence[float] = 10, *, missing: str = COMPLETE, **how: Unpack[How]
    ) -> Output:
        """Count a measurement between edges; see :class:`Histogram`.

        Parameters
        ----------
        value
            Column of numbers.
        bins
            The edges, or about how many bars: round numbers, open at both ends.
        missing, how
            As in the other methods.
        """
        values = self.records.where(how.get("where") or {}).complete([value])[0].numbers(value)
        return self.output(Histogram(value, edges_of(bins, values), missing), **how)

    def survival(
        self,
        duration: str,
        event: str,
        by: By = (),
        *,
        decimals: int | None = None,
        missing: str = COMPLETE,
        **how: Unpack[How],
    ) -> Output:
        """Estimate a survival curve by Kaplan and Meier; see :class:`Survival`."""
        return self.output(Survival(duration, event, names(by), missing, decimals), **how)

    def hand_over(
        self,
        table: Mapping[str, Any],
        *,
        n: int | Sequence[int],
        freedom: float | Sequence[float] | None = None,
        method: str,
        rows: Sequence[str] | None = None,
        **how: Unpack[How],
    ) -> Output:
        """Hand over numbers that were computed elsewhere, with their n; see :class:`HandedOver`.

        Parameters
        ----------
        table
            One number for each name, or columns of numbers: ``{"coefficient": [...], "se": [...]}``.
        n, freedom
            Units and degrees of freedom, for all rows or for each.
        method
            How they were computed, in words.
        rows
            Names of the rows.
        how
            As in the other methods.
        """
        return self.output(HandedOver.of(table, n, freedom, method, rows), **how)

    def scatter(self, *columns: str, **how: Any) -> Output:  # noqa: ARG002 - whatever is asked for is refused
        """Refuse: every point is somebody; the message says what to draw instead."""
        raise ParameterError(
            "a scatter plot shows every unit",
            where="scatter",
            fix="means by group (mean(y, by=band)), a histogram, or a regression show the same to the reader",
        )


def names(by: By) -> tuple[str, ...]:
    """Return the names of variables, of which one may be given alone.

    Examples
    --------
    >>> names("region"), names(["region", "age"])
    (('region',), ('region', 'age'))
    """
    return (by,) if isinstance(by, str) else tuple(by)
