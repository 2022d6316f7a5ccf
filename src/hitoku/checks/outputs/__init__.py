"""The kinds of output that may be approved: one file each, one line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from hitoku.checks.evidence import Evidence
from hitoku.checks.outputs.average import Average
from hitoku.checks.outputs.concentration import Concentration
from hitoku.checks.outputs.frequency_table import FrequencyTable
from hitoku.checks.outputs.magnitude_table import MagnitudeTable
from hitoku.checks.outputs.mode import Mode
from hitoku.checks.outputs.output import Output
from hitoku.checks.outputs.percentile import Percentile
from hitoku.checks.outputs.regression import Regression
from hitoku.checks.outputs.summary import Summary
from hitoku.checks.policies.policy import Policy
from hitoku.checks.principles.verdict import Verdict


class OutputType(Protocol):
    """A few validated parameters; evidence from records, and everything else from evidence alone."""

    kind: ClassVar[str]

    def protect(self, evidence: Evidence, policy: Policy) -> Evidence:
        """Decide what is withheld and write it into the evidence."""

    def judge(self, evidence: Mapping[str, Any], policy: Policy) -> tuple[Verdict, ...]:
        """Apply the principles to what leaves."""

    def publish(self, evidence: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Return what leaves."""


OUTPUT_TYPES: Mapping[str, Any] = {
    each.kind: each
    for each in (
        FrequencyTable,
        MagnitudeTable,
        Regression,
        Percentile,
        Mode,
        Concentration,
        Average,
        Summary,
    )
}


def type_of(output: Output) -> OutputType:
    """Make the output type of an output again: a checker judges with it, from the evidence alone."""
    given = {
        name: tuple(value) if isinstance(value, list) else value for name, value in output.definition.items()
    }
    made: OutputType = OUTPUT_TYPES[output.kind](**given)
    return made
