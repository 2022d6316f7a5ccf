"""Where a session looks for differences: a working copy of the ledger, so that trying things leaves no trace.

An output enters the real ledger when it is released, which is for the checker to do. Until then a session
compares its outputs with everything released before and with one another, in a folder of its own.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from hitoku.attacks.differencing.definition import Definition
from hitoku.attacks.differencing.partition import Partition
from hitoku.checks.ledger import Ledger, Measure
from hitoku.checks.output import Output
from hitoku.checks.policy import Policy
from hitoku.checks.records import Records
from hitoku.checks.verdict import Status, Verdict


class Desk:
    """A working copy of a ledger.

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
    """

    def __init__(self, project: str, records: Records, policy: Policy, ledger: str | Path | None) -> None:
        folder = tempfile.mkdtemp(prefix="hitoku-")
        # Gone with the session, and at the latest when Python ends.
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        copy = Path(folder) / "ledger"
        if ledger is not None and Path(ledger).exists():
            original = Path(ledger)
            shutil.copy(original, copy)
            members = original.with_name(original.name + ".members")
            if members.is_dir():
                shutil.copytree(members, copy.with_name(copy.name + ".members"))
        self._policy = policy
        self.ledger = Ledger.open(
            copy,
            data_hash=records.hash,
            n_units=records.n_units,
            threshold=policy.units.minimum,
            project=project,
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
    by = list(output.evidence["by"])
    if "codes" in output.evidence:
        codes = dict(zip(by, output.evidence["codes"], strict=True))
    else:
        labels = output.evidence["labels"]
        codes = {name: list(dict.fromkeys(label[place] for label in labels)) for place, name in enumerate(by)}
    kept: dict[str, list[str]] = {}
    for name, values in output.where.items():
        listed = values if isinstance(values, list | tuple) else [values]
        kept[name] = [str(value) for value in listed if name not in codes or str(value) in codes[name]]
    return Definition.ungrouped(codes, output.membership.cells, kept)


def measures_of(records: Records, output: Output) -> dict[str, Measure]:
    """Return the amounts whose sums or means an output publishes, by unit."""
    definition = output.definition
    if output.kind not in {"magnitude_table", "average"} or definition["weight"] is not None:
        return {}
    value = definition["value"]
    amounts = np.bincount(records.unit, weights=records.numbers(value), minlength=records.n_units)
    return {value: Measure.of(amounts, "mean" if definition.get("statistic") == "mean" else "sum")}
