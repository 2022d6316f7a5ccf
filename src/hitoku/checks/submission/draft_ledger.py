"""Where outputs are compared before they are released: a draft of the ledger, which leaves no trace.

An output enters the real ledger when it is released, which is for the checker to do. Until then a session
compares its outputs with everything released before and with one another, in memory: who is in which cell is
written nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hitoku.attacks.differencing.definition import Definition
from hitoku.attacks.differencing.partition import Partition
from hitoku.checks.evidence.cells import CodedCells
from hitoku.checks.evidence.left_out import KNOWN, known_of
from hitoku.checks.ledger import Ledger, Measure
from hitoku.checks.outputs.output import Output
from hitoku.checks.policies.policy import Policy
from hitoku.checks.principles.verdict import Clearance, PrincipleVerdict
from hitoku.checks.records import MISSING, Records


class DraftLedger:
    """A ledger in memory, which knows what was released and what is about to be.

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

    def compare(self, output: Output, measures: Mapping[str, Measure]) -> tuple[PrincipleVerdict, ...]:
        """Compare an output with all before it; unless it fails, later ones are compared with it."""
        parts = partitions(output)
        definition = definition_of(output)
        alarms = self.ledger.check(
            output.name, parts, definition, measures, rules=self._policy.magnitude_rules if measures else ()
        )
        verdicts = self.ledger.verdicts(alarms)
        if Clearance.FAIL not in {output.status, *(verdict.status for verdict in verdicts)}:
            self.ledger.remember(output.name, parts, definition, measures)
        return verdicts


def partitions(output: Output) -> list[Partition] | None:
    """Return how an output divides the units; None when nobody can say."""
    if output.membership is None:
        return None
    return [
        Partition.published(output.name, codes, part=place, tells=output.asked.tells)
        for place, codes in enumerate(output.membership.codes)
    ]


def definition_of(output: Output) -> Definition | None:
    """Return what the cells of an output mean to a reader, where its codes say that."""
    cells = output.asked.cells(output.evidence)
    if output.membership is None or cells is None:
        return None
    return describe(output, cells, output.membership.cells)


def describe(
    output: Output, known: CodedCells, cells: Sequence[Sequence[Sequence[str | None]]]
) -> Definition:
    """Return what some cells of an output mean.

    Parameters
    ----------
    output
        Whose filter counts as well.
    known
        Its variables and their codes.
    cells
        For each way in which it divides the units the codes of the cells; None where one sums over them.
    """
    kept: dict[str, list[str]] = {}
    for name, values in output.where.items():
        listed = [MISSING if value is None else str(value) for value in values]
        kept[name] = [code for code in listed if name not in known.codes or code in known.codes[name]]
    if output.evidence.left_out is not None:
        kept |= {known_of(name): [KNOWN] for name in output.evidence.left_out.columns}
    return Definition.ungrouped(known.codes, cells, kept, known.above, output.nested)
