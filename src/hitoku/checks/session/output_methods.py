"""Methods of a session that make outputs, one per output type; each calls :meth:`Session.output`."""

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

# A column of the session's data, or its name.
Column = Any
By = Column | Sequence[Column]
Where = Mapping[str, Any]
# Parameters of output types that name one column.
COLUMNS = ("value", "event", "other", "weight", "holding")


class OutputOptions(TypedDict, total=False):
    """Options of every output."""

    # Filter: the values to keep, by column, such as ``{"region": ["N", "S"]}``. Default: all records.
    where: Where | None
    name: str | None  # Name of the output, unique in the session. Default: the output type and a number.
    # An output of the session, or its name. Its suppressed cells are suppressed here, too. By default that is
    # done for an earlier output about the same cells where subtracting the two would disclose something.
    like: str | Output | None
    # Cells to suppress, such as ``[{"region": "N", "age": "19-20"}]``, instead of those that hitoku would
    # choose; the pattern is judged as it is given. A variable left out of a cell is summed over.
    withhold: Sequence[Mapping[str, str]] | None


class MissingOption(OutputOptions, total=False):
    """Treatment of records with a missing value: "complete" (the default), "error" or "code"."""

    missing: str


class TableOptions(MissingOption, total=False):
    """Code trees by variable; their inner codes are cells of the table, too."""

    hierarchies: Hierarchies


class WeightOption(MissingOption, total=False):
    """Column of weights; units are counted unweighted."""

    weight: str | None


class StatisticOptions(WeightOption, total=False):
    """Number of decimals in the published numbers."""

    decimals: int | None


class CurveOptions(MissingOption, total=False):
    """Number of decimals in the published estimates."""

    decimals: int | None


class AmountOptions(StatisticOptions, total=False):
    """Column of holdings; units of one holding count as one contributor."""

    holding: str | None


class MagnitudeOptions(TableOptions, total=False):
    """Column of weights, column of holdings, and "sum" or "mean"."""

    weight: str | None
    holding: str | None
    statistic: str


class OutputMethods:
    """Methods that make an output of one type.

    Every method takes ``where``, ``name``, ``like`` and ``withhold``, see :class:`OutputOptions`. The other
    options are parameters of the output type; most types have these:

    * ``by``: grouping variables, as names or as columns of the data;
    * ``missing``: "complete" leaves out records with a missing value and counts them, "error" refuses them,
      "code" puts missing codes under the code "missing";
    * ``weight``: column of weights; units are counted unweighted;
    * ``holding``: column of holdings, whose units count as one contributor;
    * ``decimals``: number of decimals in published numbers, -3 for thousands.

    All methods return the :class:`Output`, which has been protected and judged.
    """

    records: Records

    def output(self, asked: OutputType[Any], **options: Unpack[OutputOptions]) -> Output:
        """Make an output of any type."""
        raise NotImplementedError

    def _make(self, kind: type[Any], options: Mapping[str, Any], **given: Any) -> Output:
        """Make an output from the parameters of its type and the options of every output."""
        general = {name: value for name, value in options.items() if name in OutputOptions.__annotations__}
        own = {name: value for name, value in options.items() if name not in general}
        parameters = [each.name for each in fields(kind)]
        refuse_unknown(own, [*parameters, *OutputOptions.__annotations__])
        asked = given | own
        columns = {name: self._column(asked[name]) for name in COLUMNS if asked.get(name) is not None}
        return self.output(kind(**asked | columns), **general)

    def _columns(self, given: Column | Sequence[Column]) -> tuple[str, ...]:
        """Return the names of columns, which are given by name or as columns of the data."""
        return tuple(map(self._column, given if isinstance(given, list | tuple) else [given]))

    def _filter_records(self, options: OutputOptions) -> Records:
        """Return the records that the filter of an output keeps."""
        where = options.get("where")
        return self.records.where({} if where is None else where)

    def _column(self, given: Column) -> str:
        return given if isinstance(given, str) else self.records.name_of(given)

    def frequency_table(self, by: By, **options: Unpack[TableOptions]) -> Output:
        """Count records in every combination of codes, with totals.

        Parameters
        ----------
        by
            Variables of the table.
        options
            ``missing`` and ``hierarchies`` of :class:`FrequencyTable`, and those of :class:`OutputOptions`.

        Examples
        --------
        >>> import pandas as pd
        >>> from hitoku import Session
        >>> people = pd.DataFrame({"region": ["N"] * 30 + ["S"] * 12 + ["E"] * 4})
        >>> print(Session("regions", people).frequency_table("region"))  # doctest: +ELLIPSIS
        frequency_table 1: pass
               count
        region...
        E          x
        N         30
        S          x
        Total     46
        ...
        """
        return self._make(FrequencyTable, options, by=self._columns(by))

    def magnitude_table(self, by: By, value: Column, **options: Unpack[MagnitudeOptions]) -> Output:
        """Sum a variable in every combination of codes, or average it, with totals.

        Parameters
        ----------
        by
            Variables of the table.
        value
            Column to sum.
        options
            ``statistic`` ("sum" or "mean"), ``holding``, ``weight``, ``missing`` and ``hierarchies`` of
            :class:`MagnitudeTable`, and those of :class:`OutputOptions`.
        """
        return self._make(MagnitudeTable, options, by=self._columns(by), value=value)

    def mean(self, value: Column, by: By = (), **options: Unpack[AmountOptions]) -> Output:
        """Average a variable, overall or by group.

        Parameters
        ----------
        value
            Column of numbers.
        by
            Grouping variables. Default: one mean over all records.
        options
            ``holding``, ``weight``, ``missing`` and ``decimals`` of :class:`Average`, and those of
            :class:`OutputOptions`.

        Examples
        --------
        >>> import pandas as pd
        >>> from hitoku import Session
        >>> people = pd.DataFrame({"region": ["N"] * 20 + ["S"] * 40, "income": range(60)})
        >>> Session("incomes", people).mean("income", by="region").frame["mean_income"].to_dict()
        {'N': 9.5, 'S': 39.5}
        """
        return self._make(Average, options, value=value, by=self._columns(by), statistic="mean")

    def sum(self, value: Column, by: By = (), **options: Unpack[AmountOptions]) -> Output:
        """Sum a variable by group, without totals; parameters as of :meth:`mean`."""
        return self._make(Average, options, value=value, by=self._columns(by), statistic="sum")

    def percentile(
        self, value: Column, percent: float, by: By = (), **options: Unpack[StatisticOptions]
    ) -> Output:
        """Compute a percentile, overall or by group.

        Parameters
        ----------
        value
            Column of numbers.
        percent
            Percentile between 0 and 100; 50 is the median. Minimum (0) and maximum (100) fail.
        by
            Grouping variables.
        options
            ``weight``, ``missing`` and ``decimals`` of :class:`Percentile`, and those of
            :class:`OutputOptions`.
        """
        return self._make(Percentile, options, value=value, percent=percent, by=self._columns(by))

    def mode(self, value: Column, by: By = (), **options: Unpack[WeightOption]) -> Output:
        """Find the most frequent value, overall or by group.

        Parameters
        ----------
        value
            Column of codes or numbers.
        by
            Grouping variables.
        options
            ``weight`` and ``missing`` of :class:`Mode`, and those of :class:`OutputOptions`.
        """
        return self._make(Mode, options, value=value, by=self._columns(by))

    def concentration(
        self, value: Column, statistic: str = "hhi", by: By = (), **options: Unpack[AmountOptions]
    ) -> Output:
        """Measure how an amount is concentrated in few contributors, overall or by group.

        Parameters
        ----------
        value
            Column of amounts, none below zero.
        statistic
            "hhi" (Herfindahl-Hirschman index, from 0 to 1), "gini", or a concentration ratio such as "cr4",
            the share of the four largest.
        by
            Grouping variables.
        options
            ``holding``, ``weight``, ``missing`` and ``decimals`` of :class:`Concentration`, and those of
            :class:`OutputOptions`.
        """
        return self._make(Concentration, options, value=value, statistic=statistic, by=self._columns(by))

    def quantile_groups(
        self,
        value: Column,
        n_groups: int = 5,
        by: By = (),
        *,
        statistic: str = "mean",
        **options: Unpack[StatisticOptions],
    ) -> Output:
        """Divide units into equal groups by an amount; publish the mean or the share of each.

        Parameters
        ----------
        value
            Column of amounts by which the units are ranked.
        n_groups
            Number of groups: 5 for quintiles, 10 for deciles. Groups that must not be published are merged
            with a neighbour.
        by
            Grouping variables within which units are ranked.
        statistic
            "mean" of each group, its "share" of all, or "lorenz", the cumulated shares.
        options
            ``weight``, ``missing`` and ``decimals`` of :class:`QuantileGroups`, and those of
            :class:`OutputOptions`.
        """
        given = {"value": value, "n_groups": n_groups, "by": self._columns(by), "statistic": statistic}
        return self._make(QuantileGroups, options, **given)

    def lorenz(
        self, value: Column, n_groups: int = 10, by: By = (), **options: Unpack[StatisticOptions]
    ) -> Output:
        """Compute a Lorenz curve at the ends of equal groups; parameters as of :meth:`quantile_groups`."""
        return self.quantile_groups(value, n_groups, by, statistic="lorenz", **options)

    def summary(
        self,
        statistic: str,
        value: Column,
        other: Column | None = None,
        by: By = (),
        *,
        structural: bool = False,
        **options: Unpack[StatisticOptions],
    ) -> Output:
        """Compute a statistic of one or two variables, overall or by group.

        Parameters
        ----------
        statistic
            "variance", "std", "cv", "skewness", "kurtosis", "min" or "max" of one variable; "correlation",
            "covariance", "ratio" or "index" of two. For tests see :meth:`test`.
        value
            Column of numbers.
        other
            Second variable.
        by
            Grouping variables.
        structural
            Whether a minimum or maximum follows from the definition of the variable, as 15 for the age of
            the workforce. Any other extreme is the value of one unit and fails.
        options
            ``weight``, ``missing`` and ``decimals`` of :class:`Summary`, and those of :class:`OutputOptions`.
        """
        given = {"statistic": statistic, "value": value, "other": other, "by": self._columns(by)}
        return self._make(Summary, options, structural=structural, **given)

    def test(
        self, statistic: str, value: Column, other: Column, **options: Unpack[StatisticOptions]
    ) -> Output:
        """Compute a test statistic and its p value.

        Parameters
        ----------
        statistic
            "t" (Welch) and "mannwhitney" compare ``value`` in two categories of ``other``, "f" (analysis of
            variance) and "kruskal" in two or more. "chi2" tests two categorical variables for independence.
        value
            Column of numbers, or of codes for "chi2".
        other
            Categorical variable.
        options
            ``missing`` and ``decimals`` of :class:`Summary`, and those of :class:`OutputOptions`.
        """
        if statistic not in TESTS:
            raise ParameterError(
                "unknown_test",
                "no test {statistic!r}",
                where="statistic",
                fix=did_you_mean(statistic, TESTS),
                statistic=statistic,
            )
        return self._make(Summary, options, statistic=statistic, value=value, other=other)

    def regression(
        self,
        model: Any,
        *,
        family: str = "ols",
        exog: Any = None,
        endog: Any = None,
        **options: Unpack[OutputOptions],
    ) -> Output:
        """Judge a fitted model, or fit a formula and judge it.

        Parameters
        ----------
        model
            A formula such as ``"income ~ age + C(region)"``, the result of ``.fit()`` of statsmodels or
            linearmodels, or a fitted linear model of scikit-learn.
        family
            For a formula: "ols", "logit" or "probit".
        exog, endog
            Design and outcome of a scikit-learn model, which does not keep them.
        options
            As in :class:`OutputOptions`.

        Notes
        -----
        A checker can fit a formula again. A fitted model cannot be repeated from the data, so a person must
        review it.
        """
        if not isinstance(model, str):
            return self.output(Regression(None, family, model, exog, endog), **options)
        asked = Regression(model, family)
        # Fitted once, for the evidence and for the ledger.
        fitted = replace(asked, result=asked.fit(self._filter_records(options)))
        return self.output(fitted, **options)

    def histogram(
        self,
        value: Column,
        bins: int | Sequence[float] = 10,
        *,
        missing: str = COMPLETE,
        **options: Unpack[OutputOptions],
    ) -> Output:
        """Count a numeric variable between edges.

        Parameters
        ----------
        value
            Column of numbers.
        bins
            Edges, or the approximate number of bars, whose edges are then round numbers. The first and the
            last bar are open, so that minimum and maximum are not published.
        missing
            "complete" leaves out records without a number and counts them; "error" refuses them.
        options
            As in :class:`OutputOptions`.
        """
        name = self._column(value)
        values = self._filter_records(options).complete([name])[0].numbers(name)
        return self.output(Histogram(name, edges_of(bins, values), missing), **options)

    def survival(
        self, duration: Column, event: Column, by: By = (), **options: Unpack[CurveOptions]
    ) -> Output:
        """Estimate a survival curve (Kaplan-Meier), overall or by group.

        Parameters
        ----------
        duration
            Column with the time until the event, or until the unit was last seen.
        event
            Column of 1 or true for units with the event, 0 or false for the others.
        by
            Grouping variables.
        options
            ``missing`` and ``decimals`` of :class:`Survival`, and those of :class:`OutputOptions`.
        """
        return self._make(Survival, options, value=duration, event=event, by=self._columns(by))

    def life_table(
        self,
        duration: Column,
        event: Column,
        edges: Sequence[float],
        by: By = (),
        **options: Unpack[CurveOptions],
    ) -> Output:
        """Count the units that entered, had the event, or were last seen in each interval.

        Parameters
        ----------
        duration, event
            As in :meth:`survival`.
        edges
            Limits of the intervals, in ascending order from the earliest time; the last interval is open.
        by
            Grouping variables.
        options
            ``missing`` and ``decimals`` of :class:`LifeTable`, and those of :class:`OutputOptions`.
        """
        given = {"value": duration, "event": event, "edges": edges, "by": self._columns(by)}
        return self._make(LifeTable, options, **given)

    def hand_over(
        self,
        table: Mapping[str, Any],
        *,
        n: int | Sequence[int] | None = None,
        freedom: float | Sequence[float] | None = None,
        method: str = "",
        rows: Sequence[str] | None = None,
        **options: Unpack[OutputOptions],
    ) -> Output:
        """Add numbers that were computed elsewhere, with the number of units behind them.

        A person reviews them: nothing but the stated numbers can be tested.

        Parameters
        ----------
        table
            One number per name, or columns of numbers: ``{"coefficient": [...], "se": [...]}``.
        n
            Number of units: one for all rows, or one per row. Required.
        freedom
            Degrees of freedom, likewise. Default: the statistic has none.
        method
            How the numbers were computed, such as "fixed effects, R 4.4, plm". Required.
        rows
            Names of the rows. Default: numbers.
        options
            As in :class:`OutputOptions`.
        """
        return self.output(HandedOver.of(table, n, freedom, method, rows), **options)

    def hand_over_file(self, path: str | Path, what: str, **options: Unpack[OutputOptions]) -> Output:
        """Add a text, program or picture that was made elsewhere; a person reviews it.

        Parameters
        ----------
        path
            The file: plain text, source code, PNG or JPEG.
        what
            Description of what the file shows and how it was made.
        options
            As in :class:`OutputOptions`.
        """
        return self.output(FreeFile.of(path, what), **options)

    def scatter(self, *columns: str, **options: Any) -> Output:  # noqa: ARG002 - always refused
        """Refuse scatter plots, in which every point is one unit; the error names alternatives."""
        raise ParameterError(
            "scatter_plot_shows_units",
            "a scatter plot shows every unit",
            where="scatter",
            fix="publish means by group (mean(y, by=band)), a histogram or a regression instead",
        )


def refuse_unknown(options: Iterable[str], known: Sequence[str]) -> None:
    """Raise ParameterError for unknown options: a misspelt ``where`` would keep all records."""
    for name in options:
        if name not in known:
            raise ParameterError(
                "unknown_option",
                "no option {option!r}",
                where="output",
                fix=did_you_mean(name, known),
                option=name,
            )
