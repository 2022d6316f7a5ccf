"""Where a session looks for differences: a draft of the ledger, so that trying things leaves no trace.

An output enters the real ledger when it is released, which is for the checker to do. Until then a session
compares its outputs with everything released before and with one another, in memory: who is in which cell is
written nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from hitoku.attacks.differencing.definition import Definition, Nested
from hitoku.attacks.differencing.partition import Partition
from hitoku.checks.evidence.trees import dimensions_in, unions
from hitoku.checks.ledger import Ledger, Measure
from hitoku.checks.outputs.output import Output
from hitoku.checks.policies.policy import Policy
from hitoku.checks.principles.verdict import Status, Verdict
from hitoku.checks.records import MISSING, Records

# Models whose normal equations hold the sums of the outcome over every dummy.
SUMS_FOLLOW = ("ols", "logit")


class Desk:
    """A draft of a ledger.

    Parameters
    ----------
    project
        Name of the session.
    records
        All data.
    policy
        What counts as a small group.
    ledger
        Path of the ledger, which need not exist yet; None for outputs of this session only.
    unit_word
        What texts call a unit.
    """

    def __init__(
        self,
        project: str,
        records: Records,
        policy: Policy,
        ledger: str | Path | None,
        unit_word: str = "unit",
    ) -> None:
        self._policy = policy
        self.ledger = Ledger.open(
            ledger,
            data_hash=records.hash,
            n_units=records.n_units,
            threshold=policy.units.minimum,
            project=project,
            unit=unit_word,
            # Names serve to find the same units in other extracts; within a session numbers will do.
            units=None if ledger is None or records.names is None else records.names.to_pylist(),
            draft=True,
        )

    def free_name(self, kind: str, taken: Iterable[str]) -> str:
        """Return a name that no output has, neither released nor of this session."""
        known = {*self.ledger.names, *taken}
        number = 1
        while f"{kind} {number}" in known:
            number += 1
        return f"{kind} {number}"

    def compare(self, output: Output, measures: Mapping[str, Measure]) -> tuple[Verdict, ...]:
        """Compare an output with all before it; unless it fails, later ones are compared with it."""
        parts = partitions(output)
        definition = definition_of(output)
        alarms = self.ledger.check(
            output.name, parts, definition, measures, rules=self._policy.magnitude_rules if measures else ()
        )
        verdicts = self.ledger.verdicts(alarms)
        if Status.FAIL not in {output.status, *(verdict.status for verdict in verdicts)}:
            self.ledger.remember(output.name, parts, definition, measures)
        return verdicts


def partitions(output: Output) -> list[Partition] | None:
    """Return how an output divides the units; None when nobody can say."""
    if output.membership is None:
        return None
    return [
        Partition.published(output.name, codes, part=place)
        for place, codes in enumerate(output.membership.codes)
    ]


def definition_of(output: Output) -> Definition | None:
    """Return what the cells of an output mean to a reader, where its codes say that."""
    if output.membership is None or "by" not in output.definition:
        return None
    return described(output, output.membership.cells)


def described(output: Output, cells: Sequence[Sequence[Sequence[str | None]]]) -> Definition:
    """Return what some cells of an output mean, given their codes; None where one sums over a variable."""
    evidence = output.evidence
    by = list(evidence["by"])
    above: dict[str, dict[str, list[str]]] = {}
    if "codes" in evidence:
        codes = dict(zip(by, evidence["codes"], strict=True))
        above = {d.name: own for d in dimensions_in(evidence) if (own := unions(d))}
    else:
        labels = evidence["labels"]
        codes = {name: list(dict.fromkeys(label[place] for label in labels)) for place, name in enumerate(by)}
    kept: dict[str, list[str]] = {}
    for name, values in output.where.items():
        listed = [MISSING if value is None else str(value) for value in values]
        kept[name] = [code for code in listed if name not in codes or code in codes[name]]
    nested = [Nested(fine, *within) for fine, within in evidence.get("nested", {}).items()]
    return Definition.ungrouped(codes, cells, kept, above, nested)


def measures_of(records: Records, output: Output) -> dict[str, Measure]:
    """Return the amounts whose sums or means an output publishes, by unit.

    Of all units, for what follows from the output may be about those that its filter leaves out. Weighted
    sums are sums of another variable, the amount times its weight. Weighted means are none: nobody is told
    the weights that they would have to be multiplied with. The coefficients of a model imply the sums of its
    outcome over every set of dummies, where the formula says which variable that is.
    """
    definition = output.definition
    if output.kind == "regression" and definition["model"] in SUMS_FOLLOW:
        outcome = (definition["formula"] or "").partition("~")[0].strip()
        known = outcome in records.table.column_names and records.is_numeric(outcome)
        return {outcome: Measure.of(records.per_unit(outcome))} if known else {}
    if output.kind not in {"magnitude_table", "average"}:
        return {}
    value, weight, decimals = definition["value"], definition["weight"], definition.get("decimals")
    kind: Literal["mean", "sum"] = "mean" if definition.get("statistic") == "mean" else "sum"
    if weight is not None and kind == "mean":
        return {}
    amounts = records.per_unit(value, weight)
    name = value if weight is None else f"{value} times {weight}"
    return {name: Measure.of(amounts, kind, 0.0 if decimals is None else 10.0**-decimals)}
