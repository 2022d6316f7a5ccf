"""Outputs as they are asked for in pandas: crosstab, pivot_table, describe, with pandas' arguments.

Columns are given by name, or as the columns of the session's data themselves.
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
from hitoku.checks.session.output_methods import By, Column, How, OutputMethods
from hitoku.checks.unit_records import CODE, COMPLETE
from hitoku.errors import ParameterError

# What pandas calls a percentage of.
NORMALIZED = {"True": "all", "all": "all", "index": "row", "0": "row", "columns": "column", "1": "column"}
# Names of pandas and numpy for statistics.
WORDS = {"var": "variance", "nanmean": "mean", "nansum": "sum", "size": "count"}


class Looks(How, total=False):
    """What pandas takes besides, of how a table looks; accepted, and without effect."""

    rownames: Any
    colnames: Any
    margins_name: Any
    fill_value: Any
    observed: Any
    sort: Any


class PandasApi(OutputMethods):
    """Methods that take the arguments of pandas."""

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
        **options: Unpack[Looks],
    ) -> Output:
        """Cross tabulate, as ``pd.crosstab`` does.

        Parameters
        ----------
        index, columns
            Variables of rows and columns: names, columns of the data, or lists of them.
        values, aggfunc
            Variable to aggregate, and "mean", "sum", "count", "std", "var", "median", "mode", a percentile
            such as "p90", or a list of them; numpy's functions are known as well, and ``{"income": "mean"}``.
        margins
            With totals: of counts, of sums or of means. A mean with totals is withheld where its sum is.
        normalize
            True or "all", "index" or 0, "columns" or 1: shares of all, of rows, of columns, in percent.
        dropna
            False puts records without a code under "missing".
        options
            ``where``, ``name`` and ``like``, as in the other methods; what pandas takes of how a table looks
            has no effect.
        """
        how = _meant(options)
        by = (*self._columns(index), *self._columns(columns))
        missing = COMPLETE if dropna else CODE
        if values is not None or aggfunc is not None:
            if values is None or aggfunc is None:
                raise ParameterError(
                    "values_without_aggfunc",
                    "values and aggfunc belong together",
                    where="crosstab",
                    fix="give both or none",
                )
            if normalize:
                raise ParameterError(
                    "shares_of_aggregate",
                    "shares of an aggregate are not published",
                    where="normalize",
                    fix="ask for counts",
                )
            value = self._values(values)
            return self.output(
                _aggregate(by, value, _of_one(aggfunc, value), missing, margins=margins), **how
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
        **options: Unpack[Looks],
    ) -> Output:
        """Aggregate a variable by others, as ``pd.pivot_table`` and the method of a frame do.

        Parameters
        ----------
        given
            What stands without a name: the data, which are those of the session and need not be given; then
            values, index, columns and aggfunc.
        values
            The variable.
        index, columns, aggfunc, margins, dropna
            As in :meth:`crosstab`.
        options
            As in :meth:`crosstab`.
        """
        plain = list(given[1:] if given and hasattr(given[0], "columns") else given)
        named = {"values": values, "index": index, "columns": columns, "aggfunc": aggfunc}
        named |= dict(zip(named, plain, strict=False))
        asked = named.pop("index"), named.pop("columns"), named.pop("values"), named.pop("aggfunc")
        return self.crosstab(*asked, margins=margins, dropna=dropna, **options)

    def _values(self, given: Column | Sequence[Column]) -> str:
        """Return the one variable that is aggregated."""
        found = self._columns(given)
        if len(found) != 1:
            raise ParameterError(
                "several_variables",
                "one variable at a time",
                where="values",
                fix="ask for an output of each: they are judged apart",
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
        **how: Unpack[How],
    ) -> Output:
        """Compute several statistics of a variable side by side, n beside them; see :class:`Statistics`."""
        given = {"value": value, "weight": weight, "missing": missing, "decimals": decimals}
        return self._ask(Statistics, how, by=self._columns(by), statistics=statistics, **given)

    def describe(self, value: Column, by: By = (), **how: Unpack[How]) -> Output:
        """Describe a variable: n, mean, deviation, quartiles; minimum and maximum are somebody's values."""
        return self._ask(Statistics, how, value=value, by=self._columns(by), statistics=DESCRIBED)

    def percentages(
        self,
        by: By,
        of: str = "row",
        *,
        decimals: int | None = 1,
        missing: str = COMPLETE,
        **how: Unpack[How],
    ) -> Output:
        """Give percentages of rows, columns or all; see :class:`CrossTable`."""
        return self._ask(CrossTable, how, by=self._columns(by), of=of, missing=missing, decimals=decimals)


def _meant(options: Looks) -> How:
    """Leave out what only changes how a table looks."""
    looks = Looks.__annotations__.keys() - How.__annotations__.keys()
    return cast("How", {name: given for name, given in options.items() if name not in looks})


def _of_one(aggfunc: Any, value: str) -> Any:
    """Return the aggregations of a variable, which pandas also takes by its name."""
    if not isinstance(aggfunc, Mapping):
        return aggfunc
    if list(aggfunc) != [value]:
        raise ParameterError(
            "aggregation_of_other_variables",
            "aggregations of other variables than {value}",
            where="aggfunc",
            fix="ask for an output of each: they are judged apart",
            value=value,
        )
    return aggfunc[value]


def _aggregate(
    by: tuple[str, ...], value: str, aggfunc: Any, missing: str, *, margins: bool
) -> OutputType[Any]:
    """Return the output type that aggregates as asked."""
    asked = [_word(each) for each in (aggfunc if isinstance(aggfunc, list | tuple) else [aggfunc])]
    if margins and asked in (["sum"], ["mean"]):
        return MagnitudeTable(by, value, missing=missing, statistic=asked[0])
    if margins:
        raise ParameterError(
            "no_totals_of_output",
            "no totals of {asked}",
            where="margins",
            fix="totals are for counts without values, sums, or means; ask for others with fewer variables",
            asked=", ".join(asked),
        )
    if asked == [Mode.kind]:
        return Mode(value, by, missing=missing)
    if len(asked) == 1 and asked[0] in {"mean", "sum"}:
        return Average(value, by, asked[0], missing=missing)
    return Statistics(value, by, tuple(asked), missing=missing)


def _word(aggfunc: Any) -> str:
    """Name an aggregation: a word of pandas, or a function of numpy."""
    known = callable(aggfunc) and getattr(np, getattr(aggfunc, "__name__", ""), None) is aggfunc
    name = aggfunc if isinstance(aggfunc, str) else aggfunc.__name__ if known else ""
    if aggfunc is len or aggfunc is sum:
        name = "count" if aggfunc is len else "sum"
    if not name:
        raise ParameterError(
            "aggregation_is_a_function",
            "an aggregation of one's own cannot be checked",
            where="aggfunc",
            fix='use a word, such as "mean", "median", "std", "p90"',
        )
    return WORDS.get(name, name)
