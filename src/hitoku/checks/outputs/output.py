"""An output of a session: definition, published columns, evidence and verdicts.

Outputs about the same cells share one suppression pattern: :func:`take_over` applies the pattern of an
earlier output to a later one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from html import escape
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, TypeAdapter

from hitoku.attacks.differencing import Nested
from hitoku.checks.evidence import Evidence, Unreadable, read_checked, refuse
from hitoku.checks.outputs import OUTPUT_TYPES
from hitoku.checks.outputs.membership import Membership
from hitoku.checks.outputs.output_type import OutputType
from hitoku.checks.principles import Clearance, PrincipleVerdict, worst
from hitoku.errors import HitokuError, ParameterError, did_you_mean
from hitoku.messages import Text


def write_definition(asked: OutputType[Any]) -> dict[str, Any]:
    """Return the parameters of an output type as plain values for JSON."""
    found = {name: getattr(asked, name) for name in _written_fields(type(asked))}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


def read_definition(kind: str, definition: Mapping[str, Any], where: str) -> OutputType[Any]:
    """Rebuild an output type from its definition.

    Parameters
    ----------
    kind
        Key in ``OUTPUT_TYPES``.
    definition
        Parameters as :func:`write_definition` returns them.
    where
        Name of the output, for error messages.

    Raises
    ------
    DataError
        If the output type or a parameter is unknown, or a parameter has the wrong type.
    """
    if kind not in OUTPUT_TYPES:
        raise refuse(Text("no output type {kind!r}", kind=kind), where, "definition")
    known = _written_fields(OUTPUT_TYPES[kind])
    for name in definition:
        if name not in known:
            raise refuse(
                Text("no parameter {name!r}, {fix}", name=name, fix=did_you_mean(str(name), known)),
                where,
                "definition",
            )
    # Validated as JSON, in which lists become tuples and no other type is converted.
    text = json.dumps(dict(definition))
    adapter = _adapter(OUTPUT_TYPES[kind])  # type: ignore[arg-type] # mypy: a class is not hashable
    made: OutputType[Any] = read_checked(
        lambda: adapter.validate_json(text, strict=True), where, "definition"
    )
    return made


@cache
def _adapter(kind: type[OutputType[Any]]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _written_fields(kind: type[OutputType[Any]]) -> list[str]:
    return [each.name for each in fields(kind) if each.metadata.get("written", True)]  # type: ignore[arg-type]


WITHHELD = "x"
# Types of the entries in a column of counts.
WHOLE = (int, type(None))


NOT_REPEATED = "it cannot be computed again from the data, so a checker must review it"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Output:
    """An output with its evidence and verdicts, as the methods of a session return it.

    Printing an output shows its status, the published numbers and the verdicts that need attention.
    """

    name: str  # Name, unique in the session.
    kind: str  # Output type, a key of ``OUTPUT_TYPES``.
    definition: Mapping[str, Any]  # Parameters of the output type.
    where: Mapping[str, list[Any]]  # Filter: the values that were kept, by column.
    evidence: Evidence  # Counts and contributions that the principles are computed from; confidential.
    # Variables of the output whose codes lie within the codes of other variables.
    nested: tuple[Nested, ...] = ()
    published: Mapping[str, list[Any]]  # Published columns, with None for suppressed entries.
    policy: Mapping[str, str]  # Name, version and hash of the policy.
    data: str  # Hash of the data.
    verdicts: tuple[PrincipleVerdict, ...]  # Verdicts of the principles.
    # Published cells of the units, for the ledger; None if the cells do not partition the units.
    membership: Membership | None = field(default=None)
    like: str = ""  # Name of the output whose suppression pattern was taken over, or an empty string.

    @cached_property
    def asked(self) -> OutputType[Any]:
        """The output type with its parameters, which judges the evidence."""
        return read_definition(self.kind, self.definition, f"output {self.name}")

    @property
    def status(self) -> Clearance:
        """Status of the worst verdict: pass, review or fail."""
        return worst(self.verdicts)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the numbers: records left out, a pattern taken over, a required review."""
        gone = self.evidence.left_out
        taken = f"cells suppressed in {self.like!r} are suppressed here, too"
        return (
            *(() if gone is None else (str(gone),)),
            *((taken,) if self.like else ()),
            *(() if self.asked.repeatable or self.status is not Clearance.PASS else (NOT_REPEATED,)),
        )

    @property
    def remedies(self) -> tuple[str, ...]:
        """Changes that would make more of the output publishable."""
        return tuple(dict.fromkeys(v.remedy for v in self.verdicts if v.remedy))

    @property
    def frame(self) -> Any:
        """Published numbers as a pandas frame, NaN where suppressed; two-way tables are crossed."""
        import pandas as pd  # noqa: PLC0415 - slow to import, and checks do not need it

        frame = pd.DataFrame(dict(self.published))
        by = list(self.asked.variables)
        if self.asked.tabular and len(by) == 2:
            order = [list(dict.fromkeys(self.published[name])) for name in by]
            shape = tuple(len(codes) for codes in order)
            values = frame[frame.columns[-1]].to_numpy().reshape(shape)
            index, columns = (pd.Index(codes, name=name) for codes, name in zip(order, by, strict=True))
            return pd.DataFrame(values, index=index, columns=columns)
        return frame.set_index(by) if by else frame

    def checked(self, *verdicts: PrincipleVerdict) -> Output:
        """Return the output with further verdicts."""
        return replace(self, verdicts=(*self.verdicts, *verdicts))

    def placed(self, membership: Membership | None) -> Output:
        """Return the output with the published cells of its units."""
        return replace(self, membership=membership)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, without the membership."""
        evidence = self.evidence.to_dict()
        if self.nested:
            evidence["nested"] = {each.fine: [each.coarse, dict(each.parents)] for each in self.nested}
        return {
            "name": self.name,
            "kind": self.kind,
            "definition": dict(self.definition),
            "where": dict(self.where),
            "evidence": evidence,
            "published": dict(self.published),
            "policy": dict(self.policy),
            "data": self.data,
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
            **({"like": self.like} if self.like else {}),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Output:
        """Read an output that :meth:`to_dict` wrote.

        An invalid definition or invalid evidence becomes :class:`Unreadable` evidence, so that other outputs
        of a submission can be judged. Raises DataError for anything else that is invalid.
        """
        read = read_checked(lambda: _File.model_validate(plain), "output", "file")
        if len({len(column) for column in read.published.values()}) > 1:
            raise refuse("columns of unequal lengths", f"output {read.name}", "published")
        given = dict(read.evidence)
        try:
            nested = _read_nested(given.pop("nested", {}), read.name)
            asked = read_definition(read.kind, read.definition, f"output {read.name}")
            evidence = asked.evidence.from_dict(given, f"output {read.name}")
        except HitokuError as error:
            nested, evidence = (), Unreadable(reason=error.what)
        verdicts = read_checked(
            lambda: tuple(map(PrincipleVerdict.from_dict, read.verdicts)), f"output {read.name}", "verdicts"
        )
        own = {name: getattr(read, name) for name in _File.model_fields}
        return cls(**{**own, "evidence": evidence, "nested": nested, "verdicts": verdicts})

    def __str__(self) -> str:
        frame = self.frame.astype(object)
        shown = frame.where(frame.notna(), WITHHELD)
        # pandas converts a column with missing numbers to floats; counts are printed as integers.
        whole = [name for name, column in self.published.items() if all(type(x) in WHOLE for x in column)]
        crossed = not set(whole) & set(shown.columns) and set(whole) - set(self.asked.variables)
        for name in shown.columns if crossed else set(whole) & set(shown.columns):
            shown[name] = shown[name].map(lambda each: each if isinstance(each, str) else int(each))
        lines = [f"{self.name}: {self.status}", str(shown), *self.notes]
        return "\n".join(
            [*lines, *(str(v) for v in self.verdicts if v.status is not Clearance.PASS or v.remedy)]
        )

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        table = self.frame.to_html(na_rep=WITHHELD)
        return f"<div><b>{escape(self.name)}</b>: {self.status}{table}{notes}</div>"

    def __repr__(self) -> str:
        return f"Output({self.name!r}, {self.kind}, {self.status})"


Entry = str | int | float | bool | None


class _File(BaseModel):
    """File of an output, before its evidence is read."""

    model_config = ConfigDict(strict=True, extra="forbid")

    name: str
    kind: str
    definition: dict[str, Any]
    where: dict[str, list[Entry]]
    evidence: dict[str, Any]
    published: dict[str, list[Entry]]
    policy: dict[str, str]
    data: str
    verdicts: list[dict[str, Any]]
    like: str = ""


def _read_nested(given: Any, name: str) -> tuple[Nested, ...]:
    """Read the variables that are nested in others."""
    found = []
    for fine, pair in given.items() if isinstance(given, dict) else [("", given)]:
        fits = isinstance(pair, list) and len(pair) == 2 and isinstance(pair[1], dict)
        if not fits or not all(
            isinstance(text, str) for text in (fine, pair[0], *pair[1], *pair[1].values())
        ):
            raise refuse("nested: not a variable and its codes", f"output {name}")
        found.append(Nested(fine, pair[0], pair[1]))
    return tuple(found)


def take_over(asked: OutputType[Any], evidence: Evidence, like: Output) -> Evidence:
    """Suppress the cells that are suppressed in another output."""
    own, other = asked.cells(evidence), like.asked.cells(like.evidence)
    if own is None or other is None:
        return evidence
    gone = like.evidence.withheld.tolist()
    # Tables without totals list them in the evidence as suppressed; those are not part of the pattern.
    totals = len(next(iter(like.published.values()))) == like.evidence.n_parts
    hidden = {
        frozenset(codes.items())
        for codes, out in zip(other.named(), gone, strict=True)
        if out and (totals or len(codes) == len(other.codes))
    }
    more = np.array([frozenset(codes.items()) in hidden for codes in own.named()], dtype=np.bool_)
    return replace(evidence, withheld=evidence.withheld | more)


def withhold_cells(
    asked: OutputType[Any], evidence: Evidence, cells: Sequence[Mapping[str, str]]
) -> Evidence:
    """Suppress exactly the given cells; raise ParameterError for unknown cells."""
    own = asked.cells(evidence)
    if own is None:
        raise ParameterError(
            "output_type_without_cells",
            "the cells of a {type} cannot be named",
            where="withhold",
            fix="leave it out",
            type=asked.kind,
        )
    places = {frozenset(codes.items()): at for at, codes in enumerate(own.named())}
    mask = np.zeros(evidence.n_parts, dtype=np.bool_)
    listed = isinstance(cells, Sequence) and not isinstance(cells, str)
    if not listed or not all(isinstance(cell, Mapping) for cell in cells):
        raise ParameterError(
            "cells_not_named_by_codes",
            "cells must be given by their codes",
            where="withhold",
            fix="pass a list, such as [{fromkeys}]",
            fromkeys=dict.fromkeys(own.codes, "..."),
        )
    for cell in cells:
        at = places.get(frozenset((str(name), str(code)) for name, code in cell.items()))
        if at is None:
            said = ", ".join(f"{name}={code}" for name, code in cell.items()) or Text("the total")
            raise ParameterError(
                "unknown_cell",
                "no cell {cell}",
                where="withhold",
                fix="name codes of {codes}",
                cell=said,
                codes=", ".join(own.codes),
            )
        mask[at] = True
    return replace(evidence, withheld=mask)


def about_the_same_cells(one: Output, other: Output) -> bool:
    """Return whether the cells of one output are cells or totals of another, which suppresses some."""
    return (
        bool(one.asked.variables)
        and set(one.asked.variables) <= set(other.asked.variables)
        and dict(one.where) == dict(other.where)
        and bool(one.asked.publishes & other.asked.publishes)
        and bool(other.evidence.withheld.any())
    )
