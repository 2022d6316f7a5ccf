"""One output of a session: what leaves, what it rests on, and what the principles say about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.checks.evidence import Evidence
from hitoku.checks.principles.verdict import Status, Verdict, worst

WITHHELD = "x"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Membership:
    """In which published cell each unit is; it stays beside the data and is no part of a submission.

    Parameters
    ----------
    codes
        For each way in which the output divides the units: per unit the number of its cell from 1, 0 for
        none or a withheld one.
    cells
        For each of them the codes of the cells, in order; None where a cell sums over a variable.
    """

    codes: tuple[NDArray[np.int32], ...]
    cells: tuple[tuple[tuple[str | None, ...], ...], ...]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Output:
    """An output with its evidence.

    Parameters
    ----------
    name
        Unique in its session.
    kind
        The output type, a key of ``OUTPUT_TYPES``.
    definition
        Parameters of the output type; with the kind they make it again.
    where
        Filter: columns and the values that were kept.
    evidence
        What every rule is computed from; confidential.
    published
        What leaves: columns and their entries, None where withheld.
    policy
        Name, version and hash of the policy.
    data
        Hash of the data.
    verdicts
        What the principles say.
    membership
        For the ledger; None when units cannot be told apart by the cells they are in.
    """

    name: str
    kind: str
    definition: Mapping[str, Any]
    where: Mapping[str, Any]
    evidence: Evidence
    published: Mapping[str, list[Any]]
    policy: Mapping[str, str]
    data: str
    verdicts: tuple[Verdict, ...]
    membership: Membership | None = field(default=None)

    @property
    def status(self) -> Status:
        """That of the worst verdict."""
        return worst(self.verdicts)

    @property
    def way_out(self) -> tuple[str, ...]:
        """What would make more of it publishable."""
        return tuple(dict.fromkeys(v.remedy for v in self.verdicts if v.remedy))

    @property
    def frame(self) -> Any:
        """What leaves, as a pandas frame; NaN where it is withheld. A two-way table has its usual shape."""
        import pandas as pd  # noqa: PLC0415 - a checker who only reads evidence need not load it

        frame = pd.DataFrame(dict(self.published))
        by = list(self.definition.get("by") or ())
        if self.kind in {"frequency_table", "magnitude_table"} and len(by) == 2:
            order = [list(dict.fromkeys(self.published[name])) for name in by]
            shape = tuple(len(codes) for codes in order)
            values = frame[frame.columns[-1]].to_numpy().reshape(shape)
            index, columns = (pd.Index(codes, name=name) for codes, name in zip(order, by, strict=True))
            return pd.DataFrame(values, index=index, columns=columns)
        return frame.set_index(by) if by else frame

    def checked(self, *verdicts: Verdict) -> Output:
        """Return the same output with further verdicts."""
        return replace(self, verdicts=(*self.verdicts, *verdicts))

    def placed(self, membership: Membership | None) -> Output:
        """Return the same output with the places of its units."""
        return replace(self, membership=membership)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold; membership stays behind."""
        return {
            "name": self.name,
            "kind": self.kind,
            "definition": dict(self.definition),
            "where": dict(self.where),
            "evidence": self.evidence,
            "published": dict(self.published),
            "policy": dict(self.policy),
            "data": self.data,
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Output:
        """Read what :meth:`to_dict` wrote."""
        verdicts = tuple(Verdict.from_dict(verdict) for verdict in plain["verdicts"])
        return cls(**{**plain, "verdicts": verdicts})

    def __str__(self) -> str:
        # A missing number makes floats of all the others; counts are printed as counts.
        whole = bool(self.evidence.get("integer"))
        frame = self.frame.astype(object)
        shown = frame.where(frame.notna(), WITHHELD)
        if whole:
            shown = shown.map(lambda each: each if isinstance(each, str) else int(each))
        lines = [f"{self.name}: {self.status}", str(shown)]
        return "\n".join(
            [*lines, *(str(v) for v in self.verdicts if v.status is not Status.PASS or v.remedy)]
        )

    def _repr_html_(self) -> str:
        return f"<div><b>{self.name}</b>: {self.status}{self.frame.to_html(na_rep=WITHHELD)}</div>"

    def __repr__(self) -> str:
        return f"Output({self.name!r}, {self.kind}, {self.status})"
