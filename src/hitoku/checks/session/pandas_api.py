"""Session methods with the names and arguments of pandas: crosstab, pivot_table, describe.

Columns are given by name, or as columns of the session's data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack, cast

import numpy as np

from hitoku.checks.outputs import (
    DESCRIBED,
    Average,
    CrossTable,
    FrequencyTable,
    MagnitudeTable,
    Mode,
    Output,
    OutputType,
    Statistics,
)
from hitoku.checks.session.output_methods import By, Column, OutputMethods, OutputOptions
from hitoku.checks.unit_records import CODE, COMPLETE
from hitoku.errors import ParameterError

# Values of pandas' ``normalize``, as the base of percentages.
NORMALIZED = {"True": "all", "all": "all", "index": "row", "0": "row", "columns": "column", "1": "column"}
# Names of statistics in pandas and numpy, where ours differ.
WORDS = {"var": "variance", "nanmean": "mean", "nansum": "sum", "size": "count"}


class DisplayOptions(OutputOptions, total=False):
    """Options of pandas that only change the display of a table; accepted and ignored."""

    rownames: Any
    colnames: Any
    margins_name: Any
    fill_value: Any
    observed: Any
    sort: Any


class PandasApi(OutputMethods):
    """Methods with the arguments of pandas."""

    def crosstab(
        self,
        index: Column | Sequence[Column],
        columns: Column | Sequence[Column] = (),
        values: Column | None = None,
        aggfunc: Any = None,
        *,
        margins: bool = False,
        normalize: bool | str = False,
        dropna: bool = True,
        **options: Unpack[DisplayOptions],
    ) -> Output:
        """Cross tabulate like ``pd.crosstab``: counts, percentages, or statistics of a variable.

        Parameters
        ----------
        index, columns
            Variables of rows and columns: names, columns of the data, or lists of them.
        values
            Variable to aggregate; requires ``aggfunc``. Default: count records.
        aggfunc
            "mean", "sum", "count", "std", "var", "median", "mode", a percentile such as "p90", or a list of
            these. Functions of numpy, and a dict such as ``{"income": "mean"}``, are accepted, too.
        margins
            Whether to add totals, for counts, sums or means. A mean is suppressed where its sum is.
        normalize
            Base of percentages: True or "all", "index" or 0 for rows, "columns" or 1 for columns. Default:
            counts.
        dropna
            Whether to leave out records with a missing code. Otherwise they are counted under "missing".
        options
            As in :class:`OutputOptions`. The options of pandas that only change the display have no effect.

        Examples
        --------
        >>> import pandas as pd
        >>> from hitoku import Session
        >>> people = pd.DataFrame({"region": ["N"] * 40 + ["S"] * 60, "age": ["0-39", "40+"] * 50})
        >>> Session("ages", people).crosstab("region", "age", normalize="index").frame.to_dict("index")
        {'N': {'0-39': 50.0, '40+': 50.0}, 'S': {'0-39': 50.0, '40+': 50.0}}
        """
        how = _without_display(options)
        by = (*self._columns(index), *self._columns(columns))
        missing = COMPLETE if dropna else CODE
        if values is not None or aggfunc is not None:
            if values is None or aggfunc is None:
                raise ParameterError(
                    "values_without_aggfunc",
                    "values and aggfunc belong together",
                    where="crosstab",
                    fix="give both or neither",
                )
            if normalize:
                raise ParameterError(
                    "shares_of_aggregate",
                    "shares of an aggregate are not published",
                    where="normalize",
                    fix="leave values and aggfunc out",
                )
            value = self._values(values)
            return self.output(
                _aggregate_type(by, value, _aggregations_of(aggfunc, value), missing, margins=margins), **how
            )
        if normalize is not False:
            of = NORMALIZED.get(str(normalize))
            if of is None:
                raise ParameterError(
                    "unknown_normalize",
                    "cannot normalize by {normalize!r}",
                    where="normalize",
                    fix='"all", "index" or "columns"',
                    normalize=normalize,
                )
            return self.output(CrossTable(by, of if len(by) > 1 else "all", missing), **how)
        asked = FrequencyTable(by, missing) if margins else CrossTable(by, "count", missing)
        return self.output(asked, **how)

    def pivot_table(
        self,
        *given: Any,
        values: Column | None = None,
        index: Column | Sequence[Column] = (),
        columns: Column | Sequence[Column] = (),
        aggfunc: Any = "mean",
        margins: bool = False,
        dropna: bool = True,
        **options: Unpack[DisplayOptions],
    ) -> Output:
        """Aggregate a variable by others, like ``pd.pivot_table`` and ``DataFrame.pivot_table``.

        Parameters
        ----------
        given
            Positional arguments as in pandas: optionally the data, which are ignored, then values, index,
            columns and aggfunc.
        values
            Variable to aggregate.
        index, columns, aggfunc, margins, dropna, options
            As in :meth:`crosstab`.
        """
        plain = list(given[1:] if given and hasattr(given[0], "columns") else given)
        named = {"values": values, "index": index, "columns": columns, "aggfunc": aggfunc}
        named |= dict(zip(named, plain, strict=False))
        asked = named.pop("index"), named.pop("columns"), named.pop("values"), named.pop("aggfunc")
        return self.crosstab(*asked, margins=margins, dropna=dropna, **options)

    def _values(self, given: Column | Sequence[Column]) -> str:
        """Return the variable to aggregate; raise ParameterError for several."""
        found = self._columns(given)
        if len(found) != 1:
            raise ParameterError(
                "several_variables",
                "only one variable can be aggregated",
                where="values",
                fix="make one output per variable: they are judged separately",
            )
        return found[0]

    def table(
        self,
        by: By,
        value: Column,
        statistics: str | Sequence[str] = ("count", "mean"),
        *,
        weight: Column | None = None,
        decimals: int | None = None,
        missing: str = COMPLETE,
        **options: Unpack[OutputOptions],
    ) -> Output:
        """Compute several statistics of a variable by group, one column each.

        Parameters
        ----------
        by
            Grouping variables.
        value
            Column of numbers.
        statistics
            Some of "count", "mean", "sum", "std", "variance", "cv", "skewness", "kurtosis", "median", and
            percentiles such as "p25".
        weight, decimals, missing
            As in :class:`Statistics`.
        options
            As in :class:`OutputOptions`.

        Examples
        --------
        >>> import pandas as pd
        >>> from hitoku import Session
        >>> people = pd.DataFrame({"region": ["N"] * 20 + ["S"] * 40, "income": range(60)})
        >>> Session("incomes", people).table("region", "income").frame.to_dict("index")
        {'N': {'count': 20, 'mean': 9.5}, 'S': {'count': 40, 'mean': 39.5}}
        """
        given = {"value": value, "weight": weight, "missing": missing, "decimals": decimals}
        return self._make(Statistics, options, by=self._columns(by), statistics=statistics, **given)

    def describe(self, value: Column, by: By = (), **options: Unpack[OutputOptions]) -> Output:
        """Describe a variable by count, mean, standard deviation and quartiles.

        Unlike in pandas, minimum and maximum are left out: each is the value of one unit.

        Parameters
        ----------
        value
            Column of numbers.
        by
            Grouping variables. Default: one description over all records.
        options
            As in :class:`OutputOptions`.
        """
        return self._make(Statistics, options, value=value, by=self._columns(by), statistics=DESCRIBED)

    def percentages(
        self,
        by: By,
        of: str = "row",
        *,
        decimals: int | None = 1,
        missing: str = COMPLETE,
        **options: Unpack[OutputOptions],
    ) -> Output:
        """Compute percentages of rows, of columns or of all records.

        Parameters
        ----------
        by
            Variables of the table: rows are the codes of the first, columns those of the last.
        of
            Base of the percentages: "row", "column" or "all".
        decimals
            Number of decimals in the percentages.
        missing
            As in :class:`CrossTable`.
        options
            As in :class:`OutputOptions`.
        """
        return self._make(
            CrossTable, options, by=self._columns(by), of=of, missing=missing, decimals=decimals
        )


def _without_display(options: DisplayOptions) -> OutputOptions:
    """Return the options without those that only change the display."""
    display = DisplayOptions.__annotations__.keys() - OutputOptions.__annotations__.keys()
    return cast("OutputOptions", {name: given for name, given in options.items() if name not in display})


def _aggregations_of(aggfunc: Any, value: str) -> Any:
    """Return the aggregations of a variable; pandas also accepts a dict by variable."""
    if not isinstance(aggfunc, Mapping):
        return aggfunc
    if list(aggfunc) != [value]:
        raise ParameterError(
            "aggregation_of_other_variables",
            "aggregations of other variables than {value}",
            where="aggfunc",
            fix="make one output per variable: they are judged separately",
            value=value,
        )
    return aggfunc[value]


def _aggregate_type(
    by: tuple[str, ...], value: str, aggfunc: Any, missing: str, *, margins: bool
) -> OutputType[Any]:
    """Return the output type for an aggregation."""
    asked = [_statistic_name(each) for each in (aggfunc if isinstance(aggfunc, list | tuple) else [aggfunc])]
    if margins and asked in (["sum"], ["mean"]):
        return MagnitudeTable(by, value, missing=missing, statistic=asked[0])
    if margins:
        raise ParameterError(
            "no_totals_of_output",
            "no totals of {asked}",
            where="margins",
            fix="only counts, sums and means have totals; leave margins out, or use fewer variables",
            asked=", ".join(asked),
        )
    if asked == [Mode.kind]:
        return Mode(value, by, missing=missing)
    if len(asked) == 1 and asked[0] in {"mean", "sum"}:
        return Average(value, by, asked[0], missing=missing)
    return Statistics(value, by, tuple(asked), missing=missing)


def _statistic_name(aggfunc: Any) -> str:
    """Return the name of an aggregation given as a word of pandas or a function of numpy."""
    known = callable(aggfunc) and getattr(np, getattr(aggfunc, "__name__", ""), None) is aggfunc
    name = aggfunc if isinstance(aggfunc, str) else aggfunc.__name__ if known else ""
    if aggfunc is len or aggfunc is sum:
        name = "count" if aggfunc is len else "sum"
    if not name:
        raise ParameterError(
            "aggregation_is_a_function",
            "a custom aggregation cannot be checked",
            where="aggfunc",
            fix='name a statistic, such as "mean", "median", "std" or "p90"',
        )
    return WORDS.get(name, name)
