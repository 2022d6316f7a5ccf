"""A session under the names that ACRO gives to its methods: a notebook written for it changes one line.

The calls are those of ACRO 1.0, as its documentation names them; what they do is what a session does. Options
that only change how a table looks are accepted and have no effect.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hitoku.checks.outputs import Output, fit_arrays
from hitoku.checks.principles import Clearance
from hitoku.checks.session.session import Session

# What is said to a crosstab there and has no meaning here, besides what pandas says.
IGNORED = ("show_suppressed",)


class AcroApi(Session):
    """A session whose methods are called as in ACRO.

    Parameters
    ----------
    name, data, options
        As in :class:`Session`.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"region": ["N"] * 20 + ["S"] * 40, "income": range(60)})
    >>> acro = AcroApi("study", people)  # the one line
    >>> acro.crosstab(people.region, values=people.income, aggfunc="mean")
    Output('output_0', average, pass)
    >>> acro.rename_output("output_0", "incomes")
    """

    def crosstab(self, *given: Any, **options: Any) -> Output:
        """Cross tabulate; outputs are numbered from output_0."""
        return super().crosstab(*given, **self._known(options))

    def pivot_table(self, *given: Any, **options: Any) -> Output:
        """Aggregate a variable by others."""
        return super().pivot_table(*given, **self._known(options))

    def _known(self, options: dict[str, Any]) -> dict[str, Any]:
        kept = {name: value for name, value in options.items() if name not in IGNORED}
        return {"name": self._next(), **kept}

    def _next(self) -> str:
        taken, number = {each.name for each in self.outputs}, len(self.outputs)
        while f"output_{number}" in taken:
            number += 1
        return f"output_{number}"

    def ols(self, endog: Any, exog: Any, **options: Any) -> Output:
        """Fit by least squares with statsmodels, as there, and judge the fit."""
        return self._fit("ols", endog, exog, options)

    def logit(self, endog: Any, exog: Any, **options: Any) -> Output:
        """Fit a logit model."""
        return self._fit("logit", endog, exog, options)

    def probit(self, endog: Any, exog: Any, **options: Any) -> Output:
        """Fit a probit model."""
        return self._fit("probit", endog, exog, options)

    def _fit(self, model: str, endog: Any, exog: Any, options: dict[str, Any]) -> Output:
        return self.regression(fit_arrays(model, endog, exog, options), name=self._next())

    def olsr(self, formula: str, data: Any = None) -> Output:  # noqa: ARG002 - the session has the data
        """Fit a formula by least squares."""
        return self.regression(formula, name=self._next())

    def logitr(self, formula: str, data: Any = None) -> Output:  # noqa: ARG002 - the session has the data
        """Fit a logit model by a formula."""
        return self.regression(formula, family="logit", name=self._next())

    def probitr(self, formula: str, data: Any = None) -> Output:  # noqa: ARG002 - the session has the data
        """Fit a probit model by a formula."""
        return self.regression(formula, family="probit", name=self._next())

    def hist(self, data: Any, column: str, bins: Any = 10, **options: Any) -> Output:  # noqa: ARG002
        """Count a measurement between edges; ``hitoku.plots.chart`` draws a picture from the counts."""
        return self.histogram(column, bins, name=self._next())

    def surv_func(self, time: Any, status: Any, **options: Any) -> Output:  # noqa: ARG002 - one estimate
        """Estimate a survival curve."""
        duration, event = self._columns([time, status])
        return self.survival(duration, event, name=self._next())

    def rename_output(self, old: str, new: str) -> None:
        """Give an output another name."""
        self.rename(old, new)

    def remove_output(self, key: str) -> None:
        """Take an output back."""
        self.remove(key)

    def add_comments(self, output: str, comment: str) -> None:
        """Say something about an output."""
        self.comment(output, comment)

    def add_exception(self, output: str, reason: str) -> None:
        """Ask for an exception from every principle that stands in the way of an output."""
        for principle in dict.fromkeys(
            each.principle for each in self._named(output).verdicts if each.status is not Clearance.PASS
        ):
            self.request_exception(output, principle=principle, reason=reason)

    def print_outputs(self) -> str:
        """Print what would be submitted."""
        print(self)  # noqa: T201 - that is what it is for
        return str(self)

    def finalise(self, path: str | Path = "outputs", ext: str = "json") -> Path:  # noqa: ARG002 - one format
        """Write the submission."""
        return self.submit(path)
