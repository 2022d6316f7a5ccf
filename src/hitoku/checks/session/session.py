"""A researcher's session: ask for outputs as usual, get them protected and judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hitoku.checks.outputs.average import Average
from hitoku.checks.outputs.concentration import Concentration
from hitoku.checks.outputs.frequency_table import FrequencyTable
from hitoku.checks.outputs.implied import model_membership
from hitoku.checks.outputs.magnitude_table import MagnitudeTable
from hitoku.checks.outputs.membership import group_membership, table_membership
from hitoku.checks.outputs.mode import Mode
from hitoku.checks.outputs.output import Membership, Output
from hitoku.checks.outputs.percentile import Percentile
from hitoku.checks.outputs.regression import Regression
from hitoku.checks.outputs.summary import TESTS, Summary
from hitoku.checks.policies.policy import Policy
from hitoku.checks.policies.policy import policy as policy_named
from hitoku.checks.principles.verdict import Status
from hitoku.checks.records import Records
from hitoku.checks.submission.desk import Desk, measures_of
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
        self._nested = {
            fine: (coarse, self.records.within(fine, coarse)) for fine, coarse in (nested or {}).items()
        }
        self._desk = Desk(name, self.records, self.policy, ledger, unit_word)

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
        return self._made(FrequencyTable(_names(by), missing, hierarchies or {}), where, name)

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
        return self._made(kind, where, name)

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
        return self._made(kind, where, name)

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
        return self._made(Percentile(value, percent, _names(by), weight, missing, decimals), where, name)

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
        return self._made(Mode(value, _names(by), weight, missing), where, name)

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
        return self._made(kind, where, name)

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
        return self._made(kind, where, name)

    def test(
        self, statistic: str, value: str, other: str, *, where: Where | None = None, name: str | None = None
    ) -> Output:
        """Compute a test statistic and its p value: "t" or "chi2"; see :class:`Summary`."""
        if statistic not in TESTS:
            raise ParameterError(
                f"no test {statistic!r}", where="statistic", fix=did_you_mean(statistic, TESTS)
            )
        return self._made(Summary(statistic, value, other), where, name)

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
        records = self._kept(where)
        kind = Regression(model if isinstance(model, str) else None, family)
        fitted = kind.fitted(records) if isinstance(model, str) else model
        output = self._judged(kind, kind.collect(records, fitted), where, name)
        member = model_membership(records, output.name, fitted, formula=isinstance(model, str))
        return self._compared(output, member, measures_of(self.records, output))

    def submit(self, path: str | Path) -> Path:
        """Write all outputs with their evidence into a new folder for ``hitoku check``; return it."""
        return write_submission(path, self.name, self.outputs, self.policy)

    def _made(self, kind: Any, where: Where | None, name: str | None) -> Output:
        records = self._kept(where)
        output = self._judged(kind, kind.collect(records), where, name)
        tabular = "codes" in output.evidence
        member = (table_membership if tabular else group_membership)(records, output.evidence, kind.missing)
        return self._compared(output, member, measures_of(self.records, output))

    def _kept(self, where: Where | None) -> Records:
        return self.records.where(where or {})

    def _judged(self, kind: Any, collected: Any, where: Where | None, name: str | None) -> Output:
        known_names = {*self._desk.ledger.names, *(each.name for each in self.outputs)}
        if name in known_names:
            raise ParameterError(
                f"there is an output {name!r} already",
                where="name",
                fix="give the new output a name of its own",
            )
        evidence = kind.protect(collected, self.policy)
        known = {*evidence.get("by", ()), *(where or ())} & set(self._nested)
        if known:
            evidence["nested"] = {fine: list(self._nested[fine]) for fine in sorted(known)}
        return Output(
            name=name or self._desk.free_name(kind.kind, (each.name for each in self.outputs)),
            kind=kind.kind,
            definition={key: list(v) if isinstance(v, tuple) else v for key, v in asdict(kind).items()},
            where=self.records.filter_codes(where or {}),
            evidence=evidence,
            published=kind.publish(evidence),
            policy={
                "name": self.policy.name,
                "version": self.policy.version,
                "hash": self.policy.hash,
            },
            data=self.records.hash,
            verdicts=kind.judge(evidence, self.policy),
        )

    def _compared(self, output: Output, member: Membership | None, measures: Any) -> Output:
        placed = output.placed(member)
        # What does not leave gives nothing away, and need not be compared.
        found = () if output.status is Status.FAIL else self._desk.compare(placed, measures)
        done = placed.checked(*found)
        self.outputs.append(done)
        return done

    def __repr__(self) -> str:
        tally = [output.status for output in self.outputs]
        counts = ", ".join(f"{tally.count(status)} {status}" for status in Status)
        return f"Session({self.name!r}, {len(tally)} outputs: {counts})"


def _names(by: By) -> tuple[str, ...]:
    return (by,) if isinstance(by, str) else tuple(by)
