"""Numbers and files from elsewhere: what is stated is held to the policy, and a person decides."""

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
    """Numbers as they were handed over.

    Parameters
    ----------
    names, columns, value
        Rows, columns, and the numbers row by row.
    n_units
        Units behind each row, as stated.
    freedom
        Degrees of freedom of each row, as stated; None where the statistic has none.
    method
        How they were computed, in words.
    """

    names: Texts
    columns: Texts
    value: NumberRows
    n_units: Counts
    freedom: Numbers | None = None
    method: StrictStr

    @property
    def n_parts(self) -> int:
        return len(self.names)

    def label(self, place: int) -> Sequence[str]:
        """Return the name of a row, for texts."""
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
    """Numbers of another program; see :meth:`Session.hand_over`.

    Parameters
    ----------
    method
        How they were computed, in words.
    given
        The evidence; no part of a definition.
    """

    kind: ClassVar[str] = "handed_over"
    evidence: ClassVar[type[Evidence]] = HandedEvidence

    method: str
    given: HandedEvidence | None = field(default=None, compare=False, repr=False, metadata=NOT_WRITTEN)

    def __post_init__(self) -> None:
        if not isinstance(self.method, str) or not self.method.strip():
            raise ParameterError(
                "numbers_without_method",
                "nobody says how the numbers were computed",
                where="method",
                fix='such as method="fixed effects, R 4.4, plm"',
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
        """Take numbers with what is stated of them.

        Parameters
        ----------
        table
            Columns of numbers, or one number for each name.
        n, freedom
            Units and degrees of freedom: one number for all rows, or one for each.
        method
            How they were computed.
        names
            Of the rows; left out, they are numbered, or the names of single numbers.
        """
        if not isinstance(table, Mapping):
            raise ParameterError(
                "numbers_without_names",
                "numbers are handed over by their names",
                where="hand_over",
                fix='such as {"estimate": [0.2, 1.4], "se": [0.1, 0.3]}; of a frame, frame.to_dict("list")',
            )
        if n is None:
            raise ParameterError(
                "units_behind_numbers_missing",
                "the number of units behind the numbers is missing",
                where="n",
                fix="such as n=250 for all rows, or n=[120, 130], one for each",
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
                "the table is not one of numbers, with one n for each row",
                where="hand_over",
                fix="give columns of equal length, or one number for each name",
            ) from error
        return cls(method, evidence)

    @property
    def repeatable(self) -> bool:
        """The data are not enough to compute it again."""
        return False

    def collect(self, records: Records) -> HandedEvidence:  # noqa: ARG002 - it was collected elsewhere
        """Return what was handed over."""
        if self.given is None:
            raise DataError(
                "numbers_not_in_data",
                "numbers that were computed elsewhere are not in the data",
                where="handed_over",
                fix="hand them over",
            )
        return self.given

    def tests(self, evidence: HandedEvidence, policy: Policy) -> Iterator[Applied]:
        """Hold what is stated to the policy; a person looks at all that is not."""
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
        """Return what leaves."""
        gone = evidence.withheld.tolist()
        columns: dict[str, list[Any]] = {"term": list(evidence.names)}
        for place, name in enumerate(evidence.columns):
            column = evidence.value[:, place].tolist()
            columns[name if name != "term" else "term_"] = [
                None if out else x for x, out in zip(column, gone, strict=True)
            ]
        return columns

    def contradictions(self, evidence: HandedEvidence) -> Iterator[str]:
        """Name what cannot be true together in what is stated."""
        if evidence.method != self.method:
            yield "another method than the definition says"
        if evidence.freedom is not None and np.any(evidence.freedom > evidence.n_units):
            yield "more degrees of freedom than units"


@validated.dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class FileEvidence(Evidence):
    """A file with all that is in it.

    Parameters
    ----------
    name
        What it is called, without a folder.
    n_bytes
        How long it is.
    content
        Its bytes, in base 64.
    """

    name: Annotated[StrictStr, Field(pattern=r"^[^/\\\x00-\x1f\x7f]{1,100}$")]
    n_bytes: Annotated[int, Field(ge=0, le=MAX_PICTURE_BYTES, strict=True)]
    content: Annotated[StrictStr, Field(max_length=2 * MAX_PICTURE_BYTES)]

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
        self.require(clean == content, "content: the picture holds something that is not seen")

    @property
    def files(self) -> Mapping[str, bytes]:
        """The file by its ending, unless it is withheld."""
        own = {PurePath(self.name).suffix.lower(): base64.b64decode(self.content)}
        return {} if self.withheld[0] else own


@dataclass(frozen=True)
class FreeFile(OutputType[FileEvidence]):
    """A text, a program or a picture that was made elsewhere; see :meth:`Session.hand_over_file`.

    Parameters
    ----------
    what
        What it shows and how it was made, in words.
    given
        The evidence; no part of a definition.
    """

    kind: ClassVar[str] = "free_file"
    evidence: ClassVar[type[Evidence]] = FileEvidence

    what: str
    given: FileEvidence | None = field(default=None, compare=False, repr=False, metadata=NOT_WRITTEN)

    def __post_init__(self) -> None:
        if not isinstance(self.what, str) or not self.what.strip():
            raise ParameterError(
                "file_without_description",
                "nobody says what the file shows",
                where="what",
                fix='such as what="map of the three regions, drawn with R"',
            )

    @classmethod
    def of(cls, path: str | Path, what: str) -> FreeFile:
        """Take a file.

        Parameters
        ----------
        path
            Where it is.
        what
            What it shows and how it was made.
        """
        if not isinstance(path, str | Path):
            raise ParameterError(
                "file_not_a_path",
                "a file is given by its path",
                where="path",
                fix='such as "figures/map.png"',
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
        """The data are not enough to make it again."""
        return False

    def collect(self, records: Records) -> FileEvidence:  # noqa: ARG002 - it was made elsewhere
        """Return the file."""
        if self.given is None:
            raise DataError(
                "file_not_in_data", "a file is not in the data", where=self.kind, fix="hand it over"
            )
        return self.given

    def tests(self, evidence: FileEvidence, policy: Policy) -> Iterator[Applied]:  # noqa: ARG002 - a person decides
        """Have a person look."""
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
        """Return what the file is; it leaves beside."""
        gone = bool(evidence.withheld[0])
        told = {
            "kind": word_of(evidence.name),
            "bytes": evidence.n_bytes,
            "sha256": sha256(base64.b64decode(evidence.content)),
        }
        return {"file": [evidence.name], **{name: [None if gone else each] for name, each in told.items()}}
