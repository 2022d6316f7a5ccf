"""Numbers and files made outside the session; a person reviews them.

Only the stated numbers of units and degrees of freedom are tested.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, StrictStr
from pydantic import dataclasses as validated

from hitoku.checks.evidence import (
    MAX_PICTURE_BYTES,
    STRICT,
    Counts,
    Evidence,
    NumberRows,
    Numbers,
    Texts,
    clean_file,
    word_of,
)
from hitoku.checks.outputs.output_type import NOT_WRITTEN, OutputType
from hitoku.checks.policies import Policy
from hitoku.checks.principles import (
    Applied,
    Clearance,
    Principle,
    PrincipleTest,
    PrincipleVerdict,
    degrees_of_freedom,
)
from hitoku.checks.unit_records import Records
from hitoku.errors import DataError, HitokuError, ParameterError
from hitoku.files import read_file, require_path, sha256
from hitoku.messages import Text


@validated.dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class HandedEvidence(Evidence):
    """Numbers that were handed over."""

    # names, columns, value: names of rows and columns, and the numbers by row and column.
    names: Texts
    columns: Texts
    value: NumberRows
    n_units: Counts  # Stated number of units behind each row.
    # Stated degrees of freedom of each row; None where the statistic has none.
    freedom: Numbers | None = None
    method: StrictStr  # Description of how they were computed.

    @property
    def n_parts(self) -> int:
        return len(self.names)

    def label(self, place: int) -> Sequence[str]:
        """Return the name of a row."""
        return (self.names[place],)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.n_parts > 0 and len(self.columns) > 0, "names: there is no number")
        self.require(len(set(self.columns)) == len(self.columns), "columns: one named twice")
        fits = self.value.shape == (self.n_parts, len(self.columns))
        self.require(fits, "value: not one number for each row and column")
        self.require(len(self.n_units) == self.n_parts, "n_units: not one number for each row")
        short = self.freedom is not None and len(self.freedom) != self.n_parts
        self.require(not short, "freedom: not one number for each row")


@dataclass(frozen=True)
class HandedOver(OutputType[HandedEvidence]):
    """Numbers computed by another program; see :meth:`Session.hand_over`."""

    kind: ClassVar[str] = "handed_over"
    evidence: ClassVar[type[Evidence]] = HandedEvidence

    method: str  # Description of how the numbers were computed.
    # Evidence with the numbers. Not part of the definition.
    given: HandedEvidence | None = field(default=None, compare=False, repr=False, metadata=NOT_WRITTEN)

    def __post_init__(self) -> None:
        if not isinstance(self.method, str) or not self.method.strip():
            raise ParameterError(
                "numbers_without_method",
                "missing method: how were the numbers computed?",
                where="method",
                fix='pass it, such as method="fixed effects, R 4.4, plm"',
            )

    @classmethod
    def of(
        cls,
        table: Mapping[str, Any],
        n: int | Sequence[int] | None,
        freedom: float | Sequence[float] | None,
        method: str,
        names: Sequence[str] | None = None,
    ) -> HandedOver:
        """Make the output type from numbers and what is stated about them.

        Parameters
        ----------
        table
            Columns of numbers, or one number per name.
        n, freedom
            Units and degrees of freedom: one number for all rows, or one per row.
        method
            Description of how they were computed.
        names
            Names of the rows. Default: the names of single numbers, otherwise numbers.
        """
        if not isinstance(table, Mapping):
            raise ParameterError(
                "numbers_without_names",
                "numbers must be given by name",
                where="hand_over",
                fix='such as {"estimate": [0.2, 1.4], "se": [0.1, 0.3]}; for a frame, frame.to_dict("list")',
            )
        if n is None:
            raise ParameterError(
                "units_behind_numbers_missing",
                "the number of units behind the numbers is missing",
                where="n",
                fix="pass n=250 for all rows, or one number per row: n=[120, 130]",
            )
        single = all(np.ndim(column) == 0 for column in table.values())
        try:
            listed = {str(name): list(column) for name, column in table.items()} if not single else {}
            columns = listed or {"value": list(table.values())}
            numbered = range(1, 1 + max(map(len, columns.values()), default=0))
            rows = list(table) if single else list(numbered if names is None else names)
            value = np.array([[float(x) for x in row] for row in zip(*columns.values(), strict=True)])
            evidence = HandedEvidence(
                names=tuple(map(str, rows)),
                columns=tuple(columns),
                value=value,
                n_units=np.broadcast_to(np.asarray(n, dtype=np.int64), len(rows)).copy(),
                freedom=None
                if freedom is None
                else np.broadcast_to(np.asarray(freedom, dtype=np.float64), len(rows)).copy(),
                method=method,
            )
        except (ValueError, TypeError, OverflowError) as error:
            raise DataError(
                "numbers_table_invalid",
                "the table must hold numbers, with one n per row",
                where="hand_over",
                fix="pass columns of equal length, or one number per name",
            ) from error
        return cls(method, evidence)

    @property
    def repeatable(self) -> bool:
        """False: the numbers cannot be computed again from the data."""
        return False

    def collect(self, records: Records) -> HandedEvidence:  # noqa: ARG002 - collected elsewhere
        """Return the evidence that was handed over."""
        if self.given is None:
            raise DataError(
                "numbers_not_in_data",
                "numbers computed elsewhere cannot be collected from the data",
                where="handed_over",
                fix="pass them to hand_over",
            )
        return self.given

    def tests(self, evidence: HandedEvidence, policy: Policy) -> Iterator[Applied]:
        """Yield the tests of the stated numbers; everything else requires review."""
        minimum = policy.least_units
        yield PrincipleTest(
            principle=Principle.UNITS,
            reason="too_few_units",
            unsafe=evidence.n_units < minimum,
            rule=Text("at least {minimum} units, as stated", minimum=minimum),
            numbers={"minimum": minimum, "smallest": int(evidence.n_units.min())},
            remedy="use more units",
        )
        if evidence.freedom is not None:
            yield degrees_of_freedom(evidence.freedom, policy, stated=True)
        yield PrincipleVerdict(
            principle=Principle.INDIVIDUAL_VALUE,
            status=Clearance.REVIEW,
            reason="computed_elsewhere",
            text=Text(
                "computed elsewhere, so that nothing but the stated numbers is tested: {method}",
                method=evidence.method,
            ),
            remedy="the checker decides; what a session can compute itself passes without",
        )

    def publish(self, evidence: HandedEvidence) -> dict[str, list[Any]]:
        """Return the published columns, with None for suppressed numbers."""
        gone = evidence.withheld.tolist()
        columns: dict[str, list[Any]] = {"term": list(evidence.names)}
        for place, name in enumerate(evidence.columns):
            column = evidence.value[:, place].tolist()
            columns[name if name != "term" else "term_"] = [
                None if out else x for x, out in zip(column, gone, strict=True)
            ]
        return columns

    def contradictions(self, evidence: HandedEvidence) -> Iterator[str]:
        """Yield contradictions within the stated numbers."""
        if evidence.method != self.method:
            yield "another method than the definition says"
        if evidence.freedom is not None and np.any(evidence.freedom > evidence.n_units):
            yield "more degrees of freedom than units"


@validated.dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class FileEvidence(Evidence):
    """A file with its content."""

    name: Annotated[StrictStr, Field(pattern=r"^[^/\\\x00-\x1f\x7f]{1,100}$")]  # File name without folder.
    n_bytes: Annotated[int, Field(ge=0, le=MAX_PICTURE_BYTES, strict=True)]  # Length in bytes.
    content: Annotated[StrictStr, Field(max_length=2 * MAX_PICTURE_BYTES)]  # Bytes in base 64.

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            content = base64.b64decode(self.content, validate=True)
        except (binascii.Error, ValueError):
            raise ValueError("content: not in base 64") from None
        self.require(len(content) == self.n_bytes, "n_bytes: not the length of the content")
        try:
            clean = clean_file(self.name, content)
        except HitokuError as error:
            raise ValueError(error.what) from None
        self.require(clean == content, "content: the picture holds hidden data")

    @property
    def files(self) -> Mapping[str, bytes]:
        """Content by file extension; empty when the file is suppressed."""
        own = {PurePath(self.name).suffix.lower(): base64.b64decode(self.content)}
        return {} if self.withheld[0] else own


@dataclass(frozen=True)
class FreeFile(OutputType[FileEvidence]):
    """A text, program or picture made elsewhere; see :meth:`Session.hand_over_file`."""

    kind: ClassVar[str] = "free_file"
    evidence: ClassVar[type[Evidence]] = FileEvidence

    what: str  # Description of what the file shows and how it was made.
    # Evidence with the content. Not part of the definition.
    given: FileEvidence | None = field(default=None, compare=False, repr=False, metadata=NOT_WRITTEN)

    def __post_init__(self) -> None:
        if not isinstance(self.what, str) or not self.what.strip():
            raise ParameterError(
                "file_without_description",
                "missing description of the file",
                where="what",
                fix='pass it, such as what="map of the three regions, drawn with R"',
            )

    @classmethod
    def of(cls, path: str | Path, what: str) -> FreeFile:
        """Make the output type from a file.

        Parameters
        ----------
        path
            Path of the file.
        what
            Description of what it shows and how it was made.
        """
        if not isinstance(path, str | Path):
            raise ParameterError(
                "file_not_a_path",
                "path must be a path",
                where="path",
                fix='pass one, such as "figures/map.png"',
            )
        place = require_path(Path(path))
        content = clean_file(place.name, read_file(place, MAX_PICTURE_BYTES))
        try:
            evidence = FileEvidence(
                name=place.name, n_bytes=len(content), content=base64.b64encode(content).decode()
            )
        except ValueError as error:
            raise DataError(
                "file_name_invalid",
                "the file name {file!r} cannot be used",
                where="hand_over_file",
                fix="rename the file",
                file=place.name,
            ) from error
        return cls(what, evidence)

    @property
    def repeatable(self) -> bool:
        """False: the file cannot be made again from the data."""
        return False

    def collect(self, records: Records) -> FileEvidence:  # noqa: ARG002 - made elsewhere
        """Return the file."""
        if self.given is None:
            raise DataError(
                "file_not_in_data",
                "a file cannot be collected from the data",
                where=self.kind,
                fix="pass it to hand_over_file",
            )
        return self.given

    def tests(self, evidence: FileEvidence, policy: Policy) -> Iterator[Applied]:  # noqa: ARG002 - a person decides
        """Require review by a person."""
        yield PrincipleVerdict(
            principle=Principle.INDIVIDUAL_VALUE,
            status=Clearance.REVIEW,
            reason="free_file",
            text=Text(
                "a {kind}, and only a person can say what it shows: {what}",
                kind=Text(word_of(evidence.name)),
                what=self.what,
            ),
            numbers={"bytes": evidence.n_bytes},
            remedy="the checker decides; charts and tables that a session makes itself pass without",
        )

    def publish(self, evidence: FileEvidence) -> dict[str, list[Any]]:
        """Return name, kind, length and hash of the file; the content is released as a file."""
        gone = bool(evidence.withheld[0])
        columns_by_name = {
            "kind": word_of(evidence.name),
            "bytes": evidence.n_bytes,
            "sha256": sha256(base64.b64decode(evidence.content)),
        }
        return {
            "file": [evidence.name],
            **{name: [None if gone else each] for name, each in columns_by_name.items()},
        }
