"""Files from elsewhere: a text, a program, a picture. Nothing about them is computed: a person decides."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Annotated, Any, ClassVar

from pydantic import Field, StrictStr
from pydantic import dataclasses as validated

from hitoku.checks.evidence import MOST_PICTURE, STRICT, Evidence, clean_file, word_of
from hitoku.checks.outputs.output_type import NOT_WRITTEN, OutputType
from hitoku.checks.policies import Policy
from hitoku.checks.principles import Applied, Clearance, Principle, PrincipleVerdict
from hitoku.checks.records import Records
from hitoku.errors import DataError, HitokuError, ParameterError
from hitoku.files import read_file, require_path, sha256


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
    n_bytes: Annotated[int, Field(ge=0, le=MOST_PICTURE, strict=True)]
    content: Annotated[StrictStr, Field(max_length=2 * MOST_PICTURE)]

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
        content = clean_file(place.name, read_file(place, MOST_PICTURE))
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
            status=Clearance.LOOK,
            reason="free_file",
            text=f"a {word_of(evidence.name)}, and only a person can say what it shows: {self.what}",
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
