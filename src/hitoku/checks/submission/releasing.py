"""What leaves is remembered: outputs enter the ledger when the checker lets them go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hitoku.checks.ledger import Ledger
from hitoku.checks.records import Records
from hitoku.checks.submission.differences import place_units
from hitoku.checks.submission.draft_ledger import definition_of, partitions
from hitoku.checks.submission.rechecked import Recheck
from hitoku.errors import ParameterError


def remember(found: Recheck, ledger: str | Path, data: Any, unit: str | None = None) -> int:
    """Write the outputs of a submission that was checked into a ledger; return how many.

    All of them or none: a submission in which something fails is not released. What a person has to look at
    is taken to have been looked at.

    Parameters
    ----------
    found
        The check.
    ledger
        Path of the ledger; begun where there is none.
    data, unit
        As in :func:`hitoku.checks.submission.recheck.recheck`; the ledger remembers who is in which cell.
    """
    if not found.ok:
        raise ParameterError(
            "something in the submission fails, so nothing is released",
            where=found.submission.name,
            fix="have it mended, or decide on an exception",
        )
    records = Records.open(data, unit)
    book = Ledger.open(
        ledger,
        data_hash=records.hash,
        n_units=records.n_units,
        threshold=found.policy.units.minimum,
        project=found.submission.name,
        units=None if records.names is None else records.names.to_pylist(),
    )
    for each in found.outputs:
        known, measures = place_units(each.output, records)
        book.remember(
            known.name, partitions(known), definition_of(known), measures, published=dict(known.published)
        )
    return len(found.outputs)
