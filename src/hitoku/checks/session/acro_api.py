"""A session with the method names of ACRO 1.0, for notebooks written for ACRO.

Only the line that creates the session changes. Outputs are protected and judged as in any session. Options
that only change the display of a table are accepted and ignored.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hitoku.checks.outputs import Output, fit_arrays
from hitoku.checks.principles import Clearance
from hitoku.checks.session.session import Session

# Options of ACRO's tables, in addition to those of pandas, that have no effect.
IGNORED = ("show_suppressed",)


class AcroApi(Session):
    """A session with the methods of ACRO.

    Parameters
    ----------
    name, data, options
        As in :class:`Session`.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"region": ["N"] * 20 + ["S"] * 40, "income": range(60)})
    >>> acro = AcroApi("study", people)
    >>> acro.crosstab(people.region, values=people.income, aggfunc="mean")
    Output('output_0', average, pass)
    >>> acro.rename_output("output_0", "incomes")
    """

    def crosstab(self, *given: Any, **options: Any) -> Output:
        """Cross tabulate; see :meth:`PandasApi.crosstab`. Outputs are named output_0, output_1, ..."""
        return super().crosstab(*given, **self._supported_options(options))

    def pivot_table(self, *given: Any, **options: Any) -> Output:
        """Aggregate a variable by others; see :meth:`PandasApi.pivot_table`."""
        return super().pivot_table(*given, **self._supported_options(options))

    def _supported_options(self, options: dict[str, Any]) -> dict[str, Any]:
        kept = {name: value for name, value in options.items() if name not in IGNORED}
        return {"name": self._next_name(), **kept}

    def _next_name(self) -> str:
        taken, number = {each.name for each in self.outputs}, len(self.outputs)
        while f"output_{number}" in taken:
            number += 1
        return f"output_{number}"

    def ols(self, endog: Any, exog: Any, **options: Any) -> Output:
        """Fit a linear model by least squares with statsmodels, and judge it."""
        return self._fit("ols", endog, exog, options)

    def logit(self, endog: Any, exog: Any, **options: Any) -> Output:
        """Fit a logit model with statsmodels, and judge it."""
        return self._fit("logit", endog, exog, options)

    def probit(self, endog: Any, exog: Any, **options: Any) -> Output:
        """Fit a probit model with statsmodels, and judge it."""
        return self._fit("probit", endog, exog, options)

    def _fit(self, model: str, endog: Any, exog: Any, options: dict[str, Any]) -> Output:
        return self.regression(fit_arrays(model, endog, exog, options), name=self._next_name())

    def olsr(self, formula: str, data: Any = None) -> Output:  # noqa: ARG002 - the session has the data
        """Fit a linear model given by a formula."""
        return self.regression(formula, name=self._next_name())

    def logitr(self, formula: str, data: Any = None) -> Output:  # noqa: ARG002 - the session has the data
        """Fit a logit model given by a formula."""
        return self.regression(formula, family="logit", name=self._next_name())

    def probitr(self, formula: str, data: Any = None) -> Output:  # noqa: ARG002 - the session has the data
        """Fit a probit model given by a formula."""
        return self.regression(formula, family="probit", name=self._next_name())

    def hist(self, data: Any, column: str, bins: Any = 10, **options: Any) -> Output:  # noqa: ARG002
        """Count a numeric variable between edges; ``hitoku.plots.chart`` draws the counts."""
        return self.histogram(column, bins, name=self._next_name())

    def surv_func(self, time: Any, status: Any, **options: Any) -> Output:  # noqa: ARG002 - one estimate
        """Estimate a survival curve."""
        duration, event = self._columns([time, status])
        return self.survival(duration, event, name=self._next_name())

    def rename_output(self, old: str, new: str) -> None:
        """Rename an output."""
        self.rename(old, new)

    def remove_output(self, key: str) -> None:
        """Remove an output."""
        self.remove(key)

    def add_comments(self, output: str, comment: str) -> None:
        """Add a comment for the checker to an output."""
        self.comment(output, comment)

    def add_exception(self, output: str, reason: str) -> None:
        """Request an exception from every principle that an output does not pass."""
        for principle in dict.fromkeys(
            each.principle for each in self._find_output(output).verdicts if each.status is not Clearance.PASS
        ):
            self.request_exception(output, principle=principle, reason=reason)

    def print_outputs(self) -> str:
        """Print the outputs that would be submitted, and return the text."""
        print(self)  # noqa: T201 - the purpose of the method
        return str(self)

    def finalise(self, path: str | Path = "outputs", ext: str = "json") -> Path:  # noqa: ARG002 - one format
        """Write the submission."""
        return self.submit(path)
