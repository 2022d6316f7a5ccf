"""In-memory ledger for comparing outputs before their release.

An output enters the ledger when a checker releases it. Until then a session compares its outputs with each
other and with everything released, in memory; memberships are not written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.attacks.differencing import Definition, Partition
from hitoku.checks.evidence import KNOWN, CodedCells, known_of
from hitoku.checks.ledger import (
    Ledger,
    LedgerStore,
    Measure,
    numbered_duplicates,
    read_store,
    record_hashes,
    settings_of,
    unit_hashes,
    within_period,
)
from hitoku.checks.outputs import Output
from hitoku.checks.policies import Policy
from hitoku.checks.principles import Clearance, PrincipleVerdict
from hitoku.checks.submission.same_variable import (
    LinearRelations,
    judge_together,
    measured_alike,
    publishes_alike,
    said_by,
)
from hitoku.checks.unit_records import MISSING, Records
from hitoku.errors import ParameterError
from hitoku.messages import Text


class DraftLedger:
    """In-memory ledger with the released outputs and those about to be released.

    Parameters
    ----------
    project
        Name of the session.
    records
        All data.
    policy
        Policy that defines small groups.
    ledger
        Path of the ledger, which need not exist; None to compare only this session's outputs.
    unit_word
        Displayed name of a unit.
    store
        The ledger's store, if it is open already.
    """

    def __init__(
        self,
        project: str,
        records: Records,
        policy: Policy,
        ledger: str | Path | None,
        unit_word: str = "unit",
        store: LedgerStore | None = None,
    ) -> None:
        self._policy, self._records = policy, records
        self.ledger = open_ledger(
            project, records, policy, ledger, unit_word=unit_word, store=store, draft=True
        )

    def compare(
        self,
        output: Output,
        measures: Mapping[str, Measure],
        leaves: Callable[[tuple[PrincipleVerdict, ...]], bool] | None = None,
    ) -> tuple[PrincipleVerdict, ...]:
        """Compare an output with all earlier ones, and keep it for later comparisons if it is released.

        Parameters
        ----------
        output, measures
            The output, and its amounts.
        leaves
            Returns from the verdicts whether the output is released. Default: if nothing fails.
        """
        parts = partitions(output, self._records)
        measures = measured_alike(measures, self._records)
        definition = definition_of(output)
        # A corrected submission reuses its names.
        name = self.ledger.unused(output.name)
        findings = self.ledger.check(
            name, parts, definition, measures, rules=self._policy.magnitude_rules if measures else ()
        )
        said = said_by(output, self._records)
        verdicts = (
            *self.ledger.verdicts(findings),
            *judge_together(said, self.ledger.said, name, self._policy),
        )
        passes = Clearance.FAIL not in {output.status, *(verdict.status for verdict in verdicts)}
        if passes if leaves is None else leaves(verdicts):
            known = [] if output.evidence.files else parts
            self.ledger.remember(name, known, definition, measures, said=said)
        return verdicts

    def clashes(self, output: Output) -> bool:
        """Return whether an output singles out a small group together with an earlier one. Fast screening."""
        return self.ledger.clashes(
            self.ledger.unused(output.name), partitions(output, self._records), definition_of(output)
        )


def open_ledger(
    project: str,
    records: Records,
    policy: Policy,
    path: str | Path | None,
    *,
    unit_word: str = "unit",
    store: LedgerStore | None = None,
    draft: bool = False,
) -> Ledger:
    """Open the ledger of the data, as a draft or for writing. Parameters as in :class:`DraftLedger`."""
    if store is None and path is not None and Path(path).exists():
        store = read_store(Path(path))
    by_name = records.names is not None if store is None else store.by_name
    units: Any = None
    contents = None
    # Names identify units across extracts; within a session numbers suffice.
    if path is not None and by_name:
        fixed = None if store is None else settings_of(store)
        if fixed is not None and fixed.unit != records.unit_column:
            raise ParameterError(
                "ledger_counts_other_unit",
                "the ledger counts by {ledger_unit}, not by {unit}",
                where=str(path),
                fix=Text("unit={unit!r}", unit=fixed.unit) if fixed.unit else "leave the unit out",
                ledger_unit=fixed.unit or "records",
                unit=records.unit_column or "records",
            )
        hashes = record_hashes(records.table, records.unit_column)
        if records.names is not None:
            units, contents = records.unit_texts, unit_hashes(hashes, records.unit, records.n_units)
        elif fixed is not None:
            units = numbered_duplicates(hashes)
    return Ledger.open(
        path,
        data_hash=records.hash,
        n_units=records.n_units,
        threshold=policy.units.minimum,
        project=project,
        unit=unit_word,
        units=units,
        contents=contents,
        draft=draft,
        store=store,
        relations=LinearRelations(records, policy.units.minimum).among,
    )


def partitions(output: Output, records: Records | None = None) -> list[Partition] | None:
    """Return the partitions of the units by an output; None if unknown.

    Parameters
    ----------
    output
        Output to partition.
    records
        All data, used to find columns that are the same variable.
    """
    if output.membership is None:
        return None
    publishes = (
        output.asked.publishes if records is None else publishes_alike(output.asked.publishes, records)
    )
    within = output.membership.within or ("",) * len(output.membership.codes)
    # The ledger computes the hashes, with its secret.
    keys = np.broadcast_to(np.uint64(0), max(map(len, output.membership.codes), default=0))
    return [
        Partition.published(
            output.name,
            codes,
            part=place,
            keys=keys,
            publishes=_published_quantities(output, publishes, period),
        )
        for place, (codes, period) in enumerate(zip(output.membership.codes, within, strict=True))
    ]


def remembered_parts(output: Output, records: Records | None = None) -> list[Partition] | None:
    """Return the partitions to store; empty for files checked by a person."""
    return [] if output.evidence.files else partitions(output, records)


def _published_quantities(output: Output, publishes: frozenset[str], period: str) -> frozenset[str]:
    """Return the published quantities of the cells; those of a period are compared within this period.

    Outputs of different periods do not single out units that are missing in one of them.
    """
    if period:
        return frozenset(within_period(each, period) for each in publishes)
    # An output restricted to a single code may concern a period.
    single = [f"{name}={values[0]}" for name, values in output.where.items() if len(values) == 1]
    return publishes | {within_period(each, code) for code in single for each in publishes}


def definition_of(output: Output) -> Definition | None:
    """Return the definition of the cells of an output; None if its codes do not define them."""
    cells = output.asked.cells(output.evidence)
    if output.membership is None or cells is None:
        return None
    return describe(output, cells, output.membership.cells[: output.membership.n_described])


def describe(
    output: Output, known: CodedCells, cells: Sequence[Sequence[Sequence[str | None]]]
) -> Definition:
    """Return the definition of some cells of an output.

    Parameters
    ----------
    output
        The output, whose filter is part of the definition.
    known
        Variables and codes of the output.
    cells
        Codes of the cells of each partition; None where a cell sums over a variable.
    """
    kept: dict[str, list[str]] = {}
    for name, values in output.where.items():
        listed = [MISSING if value is None else str(value) for value in values]
        kept[name] = [code for code in listed if name not in known.codes or code in known.codes[name]]
    if output.evidence.left_out is not None:
        kept |= {known_of(name): [KNOWN] for name in output.evidence.left_out.columns}
    return Definition.ungrouped(known.codes, cells, kept, known.above, output.nested)
