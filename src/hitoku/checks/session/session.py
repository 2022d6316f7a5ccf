"""A researcher's session: ask for outputs as usual, get them protected and judged."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hitoku.attacks.differencing.definition import Nested
from hitoku.checks.outputs.average import Average
from hitoku.checks.outputs.concentration import Concentration
from hitoku.checks.outputs.definition import write_definition
from hitoku.checks.outputs.frequency_table import FrequencyTable
from hitoku.checks.outputs.magnitude_table import MagnitudeTable
from hitoku.checks.outputs.mode import Mode
from hitoku.checks.outputs.output import Output
from hitoku.checks.outputs.output_type import OutputType
from hitoku.checks.outputs.percentile import Percentile
from hitoku.checks.outputs.regression import Regression
from hitoku.checks.outputs.summary import TESTS, Summary
from hitoku.checks.policies.policy import Policy
from hitoku.checks.policies.policy import policy as policy_named
from hitoku.checks.principles.verdict import Clearance
from hitoku.checks.records import Records
from hitoku.checks.submission.draft_ledger import DraftLedger
from hitoku.checks.submission.submission import write_submission
from hitoku.errors import ParameterError, did_you_mean
from hitoku.model.from_frame import Hierarchies

By = str | Sequence[str]
Where = Mapping[str, Any]


class Session:
    """Outputs about one data set, each with its evidence and verdicts.

    Every method takes ``where``, a filter such as ``{"region": ["N", "S"]}``, and ``name``, which is unique.

    Parameters
    ----------
    name
        Of the project.
    data
        pandas, polars or pyarrow frame, or the path of a Parquet or CSV file.
    unit
        Column that names the unit; left out, every record is one.
    policy
        Name of a policy, or the path of one.
    ledger
        Path of the ledger of this data set. It is read, not written: outputs enter it when they are released.
    unit_word
        What one unit is called in texts: "person", "enterprise".
    nested
        Variables each of whose codes lies in one code of another, ``{"municipality": "region"}``: a reader
        knows that, and subtracts accordingly.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": ["0-18"] * 18 + ["19-20"] + ["21-25"] * 18})
    >>> work = Session("ages", people)
    >>> table = work.frequency_table(by="age")
    >>> table, table.way_out[0]
    (Output('frequency_table 1', frequency_table, pass), 'merge age 19-20 with 21-25')
    """

    def __init__(
        self,
        name: str,
        data: Any,
        *,
        unit: str | None = None,
        policy: str | Path | Policy = "japan-2017",
        ledger: str | Path | None = None,
        unit_word: str = "unit",
        nested: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.policy = policy_named(policy)
        self.records = Records.open(data, unit)
        self.outputs: list[Output] = []
        pairs = sorted((nested or {}).items())
        self._nested = [Nested(fine, coarse, self.records.within(fine, coarse)) for fine, coarse in pairs]
        self._draft = DraftLedger(name, self.records, self.policy, ledger, unit_word)

    def frequency_table(
        self,
        by: By,
        *,
        hierarchies: Hierarchies | None = None,
        missing: str = "error",
        where: Where | None = None,
        name: str | None = None,
    ) -> Output:
        """Count records; see :class:`FrequencyTable`."""
        return self.output(FrequencyTable(_names(by), missing, hierarchies or {}), where=where, name=name)

    def magnitude_table(
        self,
        by: By,
        value: str,
        *,
        holding: str | None = None,
        weight: str | None = None,
        hierarchies: Hierarchies | None = None,
        missing: str = "error",
        where: Where | None = None,
        name: str | None = None,
    ) -> Output:
        """Add up a variable; see :class:`MagnitudeTable`."""
        kind = MagnitudeTable(_names(by), value, holding, weight, missing, hierarchies or {})
        return self.output(kind, where=where, name=name)

    def mean(self, value: str, by: By = (), **options: Any) -> Output:
        """Average a variable; see :class:`Average`."""
        return self._average("mean", value, by, **options)

    def sum(self, value: str, by: By = (), **options: Any) -> Output:
        """Add up a variable by group, without totals; see :class:`Average`."""
        return self._average("sum", value, by, **options)

    def _average(
        self,
        statistic: str,
        value: str,
        by: By,
        *,
        holding: str | None = None,
        weight: str | None = None,
        decimals: int | None = None,
        missing: str = "error",
        where: Where | None = None,
        name: str | None = None,
    ) -> Output:
        kind = Average(value, _names(by), statistic, holding, weight, missing, decimals)
        return self.output(kind, where=where, name=name)

    def percentile(
        self,
        value: str,
        percent: float,
        by: By = (),
        *,
        weight: str | None = None,
        decimals: int | None = None,
        missing: str = "error",
        where: Where | None = None,
        name: str | None = None,
    ) -> Output:
        """Find a percentile; see :class:`Percentile`."""
        return self.output(
            Percentile(value, percent, _names(by), weight, missing, decimals), where=where, name=name
        )

    def mode(
        self,
        value: str,
        by: By = (),
        *,
        weight: str | None = None,
        missing: str = "error",
        where: Where | None = None,
        name: str | None = None,
    ) -> Output:
        """Find the most frequent value; see :class:`Mode`."""
        return self.output(Mode(value, _names(by), weight, missing), where=where, name=name)

    def concentration(
        self,
        value: str,
        statistic: str = "hhi",
        by: By = (),
        *,
        holding: str | None = None,
        weight: str | None = None,
        decimals: int | None = None,
        missing: str = "error",
        where: Where | None = None,
        name: str | None = None,
    ) -> Output:
        """Measure concentration; see :class:`Concentration`."""
        kind = Concentration(value, statistic, _names(by), holding, missing, weight, decimals)
        return self.output(kind, where=where, name=name)

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
        missing: str = "error",
        where: Where | None = None,
        name: str | None = None,
    ) -> Output:
        """Compute a summary statistic; see :class:`Summary`."""
        kind = Summary(statistic, value, other, _names(by), structural, missing, weight, decimals)
        return self.output(kind, where=where, name=name)

    def test(
        self, statistic: str, value: str, other: str, *, where: Where | None = None, name: str | None = None
    ) -> Output:
        """Compute a test statistic and its p value: "t" or "chi2"; see :class:`Summary`."""
        if statistic not in TESTS:
            raise ParameterError(
                f"no test {statistic!r}", where="statistic", fix=did_you_mean(statistic, TESTS)
            )
        return self.output(Summary(statistic, value, other), where=where, name=name)

    def regression(
        self,
        model: Any,
        *,
        family: str = "ols",
        where: Where | None = None,
        name: str | None = None,
    ) -> Output:
        """Judge a fitted model, or fit a formula; see :class:`Regression`.

        Parameters
        ----------
        model
            What statsmodels returns from ``.fit()``, or a formula.
        family
            For a formula: "ols", "logit" or "probit".
        where, name
            As in the other methods.
        """
        if not isinstance(model, str):
            return self.output(Regression(None, family, model), where=where, name=name)
        asked = Regression(model, family)
        # Fitted once, for the evidence and for the ledger.
        fitted = replace(asked, result=asked.fit(self.records.where(where or {})))
        return self.output(fitted, where=where, name=name)

    def output(
        self, asked: OutputType[Any], *, where: Where | None = None, name: str | None = None
    ) -> Output:
        """Ask for an output of any type; the other methods are short for this one.

        Parameters
        ----------
        asked
            An output type with its parameters, such as ``Percentile("income", 50, by=("region",))``.
        where, name
            As in the other methods.
        """
        taken = {*self._draft.ledger.names, *(each.name for each in self.outputs)}
        if name in taken:
            raise ParameterError(
                f"there is an output {name!r} already",
                where="name",
                fix="give the new output a name of its own",
            )
        records = self.records.where(where or {})
        evidence = asked.protect(asked.collect(records), self.policy)
        about = {*asked.variables, *(where or ())}
        made = Output(
            name=name or free_name(asked.kind, taken),
            kind=asked.kind,
            definition=write_definition(asked),
            where=self.records.filter_codes(where or {}),
            evidence=evidence,
            nested=tuple(each for each in self._nested if each.fine in about),
            published=asked.publish(evidence),
            policy={"name": self.policy.name, "version": self.policy.version, "hash": self.policy.hash},
            data=self.records.hash,
            verdicts=asked.judge(evidence, self.policy),
            membership=asked.membership(records, evidence),
        )
        # What does not leave gives nothing away, and need not be compared.
        if made.status is not Clearance.FAIL:
            made = made.checked(*self._draft.compare(made, asked.measures(self.records)))
        self.outputs.append(made)
        return made

    def submit(self, path: str | Path) -> Path:
        """Write all outputs with their evidence into a new folder for ``hitoku check``; return it."""
        return write_submission(path, self.name, self.outputs, self.policy)

    def __repr__(self) -> str:
        tally = [output.status for output in self.outputs]
        counts = ", ".join(f"{tally.count(status)} {status}" for status in Clearance)
        return f"Session({self.name!r}, {len(tally)} outputs: {counts})"


def _names(by: By) -> tuple[str, ...]:
    return (by,) if isinstance(by, str) else tuple(by)


def free_name(kind: str, taken: Collection[str]) -> str:
    """Return a name that no output has, neither released nor of this session.

    Examples
    --------
    >>> free_name("mode", {"mode 1"})
    'mode 2'
    """
    number = 1
    while f"{kind} {number}" in taken:
        number += 1
    return f"{kind} {number}"
