"""The outputs of a session by name: each method is short for :meth:`Session.output` with a type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from hitoku.checks.outputs import (
    TESTS,
    Average,
    Concentration,
    FreeFile,
    FrequencyTable,
    HandedOver,
    Histogram,
    LifeTable,
    MagnitudeTable,
    Mode,
    Output,
    OutputType,
    Percentile,
    QuantileGroups,
    Regression,
    Summary,
    Survival,
    edges_of,
)
from hitoku.checks.unit_records import COMPLETE, Records
from hitoku.errors import ParameterError, did_you_mean
from hitoku.model import Hierarchies

# A column by its name, or the column of the data itself.
Column = Any
By = Column | Sequence[Column]
Where = Mapping[str, Any]
# Parameters that name one column.
COLUMNS = ("value", "event", "other", "weight", "holding")


class How(TypedDict, total=False):
    """What every output takes: a filter, a name, an output whose pattern it has, cells withheld by hand."""

    where: Where | None
    name: str | None
    like: str | Output | None
    withhold: Sequence[Mapping[str, str]] | None


class Cases(How, total=False):
    """What becomes of records with a missing value."""

    missing: str


class Tabulated(Cases, total=False):
    """Trees of codes, for tables."""

    hierarchies: Hierarchies


class Weighted(Cases, total=False):
    """A column of weights."""

    weight: str | None


class Rounded(Weighted, total=False):
    """How many decimals are published."""

    decimals: int | None


class Curve(Cases, total=False):
    """How many decimals of a curve are published."""

    decimals: int | None


class Contributed(Rounded, total=False):
    """A column that names units who act as one."""

    holding: str | None


class Summed(Tabulated, total=False):
    """A table of amounts: weights, units who act as one, sums or means."""

    weight: str | None
    holding: str | None
    statistic: str


class OutputMethods:
    """Methods that ask for an output of one type.

    Every one takes ``where``, ``name``, ``like`` and ``withhold``; the other options are those of the type.
    """

    records: Records

    def output(self, asked: OutputType[Any], **how: Unpack[How]) -> Output:
        """Ask for an output of any type."""
        raise NotImplementedError

    def _ask(self, kind: type[Any], options: Mapping[str, Any], **given: Any) -> Output:
        """Ask for an output, with the options that are its type's and those that every output takes."""
        how = {name: value for name, value in options.items() if name in How.__annotations__}
        own = {name: value for name, value in options.items() if name not in how}
        taken = [each.name for each in fields(kind)]
        refuse_unknown(own, [*taken, *How.__annotations__])
        asked = given | own
        columns = {name: self._column(asked[name]) for name in COLUMNS if asked.get(name) is not None}
        return self.output(kind(**asked | columns), **how)

    def _columns(self, given: Column | Sequence[Column]) -> tuple[str, ...]:
        """Return names of columns; a column itself must be one of the data."""
        return tuple(map(self._column, given if isinstance(given, list | tuple) else [given]))

    def _kept(self, how: How) -> Records:
        """Return the records that a filter keeps."""
        where = how.get("where")
        return self.records.where({} if where is None else where)

    def _column(self, given: Column) -> str:
        return given if isinstance(given, str) else self.records.name_of(given)

    def frequency_table(self, by: By, **options: Unpack[Tabulated]) -> Output:
        """Count records; see :class:`FrequencyTable`."""
        return self._ask(FrequencyTable, options, by=self._columns(by))

    def magnitude_table(self, by: By, value: Column, **options: Unpack[Summed]) -> Output:
        """Add up a variable, or average it, with totals; see :class:`MagnitudeTable`."""
        return self._ask(MagnitudeTable, options, by=self._columns(by), value=value)

    def mean(self, value: Column, by: By = (), **options: Unpack[Contributed]) -> Output:
        """Average a variable; see :class:`Average`."""
        return self._ask(Average, options, value=value, by=self._columns(by), statistic="mean")

    def sum(self, value: Column, by: By = (), **options: Unpack[Contributed]) -> Output:
        """Add up a variable by group, without totals; see :class:`Average`."""
        return self._ask(Average, options, value=value, by=self._columns(by), statistic="sum")

    def percentile(self, value: Column, percent: float, by: By = (), **options: Unpack[Rounded]) -> Output:
        """Find a percentile; see :class:`Percentile`."""
        return self._ask(Percentile, options, value=value, percent=percent, by=self._columns(by))

    def mode(self, value: Column, by: By = (), **options: Unpack[Weighted]) -> Output:
        """Find the most frequent value; see :class:`Mode`."""
        return self._ask(Mode, options, value=value, by=self._columns(by))

    def concentration(
        self, value: Column, statistic: str = "hhi", by: By = (), **options: Unpack[Contributed]
    ) -> Output:
        """Measure concentration; see :class:`Concentration`."""
        return self._ask(Concentration, options, value=value, statistic=statistic, by=self._columns(by))

    def quantile_groups(
        self,
        value: Column,
        n_groups: int = 5,
        by: By = (),
        *,
        statistic: str = "mean",
        **options: Unpack[Rounded],
    ) -> Output:
        """Divide units into as many equal groups by a variable, and say what each has of it.

        See :class:`QuantileGroups`; :meth:`lorenz` adds the shares up.
        """
        given = {"value": value, "n_groups": n_groups, "by": self._columns(by), "statistic": statistic}
        return self._ask(QuantileGroups, options, **given)

    def lorenz(self, value: Column, n_groups: int = 10, by: By = (), **options: Unpack[Rounded]) -> Output:
        """Draw a Lorenz curve at the ends of equal groups; see :class:`QuantileGroups`."""
        return self.quantile_groups(value, n_groups, by, statistic="lorenz", **options)

    def summary(
        self,
        statistic: str,
        value: Column,
        other: Column | None = None,
        by: By = (),
        *,
        structural: bool = False,
        **options: Unpack[Rounded],
    ) -> Output:
        """Compute a summary statistic; see :class:`Summary`."""
        given = {"statistic": statistic, "value": value, "other": other, "by": self._columns(by)}
        return self._ask(Summary, options, structural=structural, **given)

    def test(self, statistic: str, value: Column, other: Column, **how: Unpack[How]) -> Output:
        """Compute a test statistic and its p value; see :class:`Summary` for the tests there are."""
        if statistic not in TESTS:
            raise ParameterError(
                "unknown_test",
                "no test {statistic!r}",
                where="statistic",
                fix=did_you_mean(statistic, TESTS),
                statistic=statistic,
            )
        return self._ask(Summary, how, statistic=statistic, value=value, other=other)

    def regression(
        self, model: Any, *, family: str = "ols", exog: Any = None, endog: Any = None, **how: Unpack[How]
    ) -> Output:
        """Judge a fitted model, or fit a formula; see :class:`Regression`.

        Parameters
        ----------
        model
            What statsmodels or linearmodels return from ``.fit()``, a fitted linear model of scikit-learn, or
            a formula.
        family
            For a formula: "ols", "logit" or "probit".
        exog, endog
            Design and outcome, for a model of scikit-learn.
        how
            As in the other methods.
        """
        if not isinstance(model, str):
            return self.output(Regression(None, family, model, exog, endog), **how)
        asked = Regression(model, family)
        # Fitted once, for the evidence and for the ledger.
        fitted = replace(asked, result=asked.fit(self._kept(how)))
        return self.output(fitted, **how)

    def histogram(
        self, value: Column, bins: int | Sequence[float] = 10, *, missing: str = COMPLETE, **how: Unpack[How]
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
        name = self._column(value)
        values = self._kept(how).complete([name])[0].numbers(name)
        return self.output(Histogram(name, edges_of(bins, values), missing), **how)

    def survival(self, duration: Column, event: Column, by: By = (), **options: Unpack[Curve]) -> Output:
        """Estimate a survival curve by Kaplan and Meier; see :class:`Survival`."""
        return self._ask(Survival, options, value=duration, event=event, by=self._columns(by))

    def life_table(
        self, duration: Column, event: Column, edges: Sequence[float], by: By = (), **options: Unpack[Curve]
    ) -> Output:
        """Count who entered, had the event and was last seen between edges; see :class:`LifeTable`."""
        given = {"value": duration, "event": event, "edges": edges, "by": self._columns(by)}
        return self._ask(LifeTable, options, **given)

    def hand_over(
        self,
        table: Mapping[str, Any],
        *,
        n: int | Sequence[int] | None = None,
        freedom: float | Sequence[float] | None = None,
        method: str = "",
        rows: Sequence[str] | None = None,
        **how: Unpack[How],
    ) -> Output:
        """Hand over numbers that were computed elsewhere, with their n; see :class:`HandedOver`.

        Parameters
        ----------
        table
            One number for each name, or columns of numbers: ``{"coefficient": [...], "se": [...]}``.
        n, freedom
            Units and degrees of freedom, for all rows or for each. Units must be stated.
        method
            How they were computed, in words. Must be stated.
        rows
            Names of the rows.
        how
            As in the other methods.
        """
        return self.output(HandedOver.of(table, n, freedom, method, rows), **how)

    def hand_over_file(self, path: str | Path, what: str, **how: Unpack[How]) -> Output:
        """Hand over a text, a program or a picture that was made elsewhere; see :class:`FreeFile`.

        Parameters
        ----------
        path
            The file.
        what
            What it shows, in words, and how it was made.
        how
            As in the other methods.
        """
        return self.output(FreeFile.of(path, what), **how)

    def scatter(self, *columns: str, **how: Any) -> Output:  # noqa: ARG002 - whatever is asked for is refused
        """Refuse: every point is somebody; the message says what to draw instead."""
        raise ParameterError(
            "scatter_plot_shows_units",
            "a scatter plot shows every unit",
            where="scatter",
            fix="means by group (mean(y, by=band)), a histogram, or a regression show the same to the reader",
        )


def refuse_unknown(options: Iterable[str], known: Sequence[str]) -> None:
    """Raise at an option that nothing takes: a filter with a slip in its name would keep everything."""
    for name in options:
        if name not in known:
            raise ParameterError(
                "unknown_option",
                "no option {option!r}",
                where="output",
                fix=did_you_mean(name, known),
                option=name,
            )
