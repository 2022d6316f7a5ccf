"""How many records an output left out, and why: complete cases are counted and shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field, StrictStr
from pydantic.dataclasses import dataclass

# A filter that keeps those whose value is known, as definitions write it.
KNOWN = "yes"

Count = Annotated[int, Field(ge=0, le=2**53, strict=True)]


def known_of(column: str) -> str:
    """Name the question whether a value is known.

    Examples
    --------
    >>> known_of("income")
    'income known'
    """
    return f"{column} known"


def column_known(question: str) -> str:
    """Undo :func:`known_of`; empty for the name of a variable.

    Examples
    --------
    >>> column_known("income known"), column_known("income")
    ('income', '')
    """
    column = question.removesuffix(known_of(""))
    return "" if column == question else column


@dataclass(frozen=True, kw_only=True, config={"extra": "forbid"})
class LeftOut:
    """Records with a missing value.

    Parameters
    ----------
    records, of
        How many were left out, and of how many.
    columns
        Missing values by column; a record may lack several. Nothing where a model left records out by itself.

    Examples
    --------
    >>> print(LeftOut(records=37, of=612, columns={"income": 37}))
    37 of 612 records left out: income missing
    >>> print(LeftOut(records=37, of=612, columns={"income": 30, "age": 12}))
    37 of 612 records left out: income missing (30), age missing (12)
    """

    records: Count
    of: Count
    columns: Mapping[StrictStr, Count]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {"records": self.records, "of": self.of, "columns": dict(self.columns)}

    def contradictions(self, n_used: int) -> Iterator[str]:
        """Name what cannot be true together, with the records that were used."""
        counts = list(self.columns.values())
        if self.records + n_used != self.of:
            yield "records used and left out are not those there were"
        if counts and not max(counts) <= self.records <= sum(counts):
            yield "other records left out than have a missing value"

    def __str__(self) -> str:
        several = len(self.columns) > 1
        why = ", ".join(f"{name} missing{f' ({n})' if several else ''}" for name, n in self.columns.items())
        return f"{self.records} of {self.of} records left out{f': {why}' if why else ' by the model'}"
