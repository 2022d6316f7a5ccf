"""Complete cases: the records an output is about, and how many had to be left out.

The data set stays the data set, with one hash and one ledger, however many of its variables have gaps: each
output leaves out the records that lack a value it needs, counts them, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hitoku.checks.evidence import Evidence, LeftOut
from hitoku.checks.outputs.membership import Membership
from hitoku.checks.outputs.output_type import OutputType
from hitoku.checks.records import COMPLETE, ERROR, Records


def needed(by: tuple[str, ...], numbers: tuple[str | None, ...], missing: str) -> tuple[str, ...]:
    """Return the columns without which a record is left out.

    Parameters
    ----------
    by
        Variables whose codes may be missing; with "code" they have one then.
    numbers
        Columns that must have a number, None for those that are not given.
    missing
        What becomes of missing values.
    """
    if missing == ERROR:
        return ()
    return (*(by if missing == COMPLETE else ()), *(name for name in numbers if name is not None))


def collect(asked: OutputType[Any], records: Records) -> Evidence:
    """Look at the complete cases once; the evidence says how many others there are."""
    used, missing = records.complete(asked.needs)
    evidence: Evidence = asked.collect(used)
    if not missing:
        return evidence
    gone = LeftOut(records=len(records) - len(used), of=len(records), columns=missing)
    return replace(evidence, left_out=gone)


def place(asked: OutputType[Any], records: Records, evidence: Evidence) -> Membership | None:
    """Tell in which published cell each unit is; those left out are in none."""
    return asked.membership(records.complete(asked.needs)[0], evidence)


def contradictions(asked: OutputType[Any], evidence: Evidence) -> Iterator[str]:
    """Name what cannot be true together in the evidence, what it says of missing values included."""
    yield from asked.contradictions(evidence)
    gone = evidence.left_out
    if gone is None:
        return
    if evidence.n_used is not None:
        yield from gone.contradictions(evidence.n_used)
    if not set(gone.columns) <= set(asked.needs):
        yield "records left out for a column that the output does not need"
