"""Submission: a folder with outputs and everything a checker needs to judge them again.

```
manifest.json           who submits what about which data, with the SHA-256 of every file
policy.json             the policy the session worked under
public/01-....csv, .json   outputs that pass in the session, as they may be released
checker/01-....json     definition, evidence, output and verdicts of the session; confidential
checker/01-....certificate.json.gz   for protected tables: the proof that intervals are wide enough
```
No file contains the members of cells. Only the owner and the owner's group can read the files.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hitoku.checks.decisions import ExceptionRequest
from hitoku.checks.evidence import Count, Unreadable
from hitoku.checks.outputs import WITHHELD, Output
from hitoku.checks.policies import Policy
from hitoku.errors import DataError
from hitoku.files import read_file, sha256, write_csv
from hitoku.messages import Text

FORMAT = "hitoku submission 2"
MANIFEST, POLICY = "manifest.json", "policy.json"
PUBLIC, CHECKER = "public", "checker"
CERTIFICATE = ".certificate.json.gz"
# Limits for untrusted submissions: size of a file, of all files, and number of files.
MAX_BYTES, MAX_TOTAL_BYTES, MAX_FILES = 300_000_000, 3_000_000_000, 40_000

Line = Annotated[str, Field(max_length=500)]
Stem = Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z-]{0,80}$")]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class _Entry(_Strict):
    name: Line
    kind: Line
    files: Stem


class _Named(_Strict):
    name: Line
    version: Line
    hash: Line


class _Manifest(_Strict):
    """Content of a manifest."""

    format: Literal["hitoku submission 2"]
    version: Line
    name: Line
    data: Line
    policy: _Named
    outputs: Annotated[list[_Entry], Field(min_length=1, max_length=MAX_FILES)]
    files: Annotated[dict[Line, Digest], Field(max_length=MAX_FILES)]
    sha256: Digest
    researcher: Line = ""
    written: Line = ""
    unit: Line | None = None
    n_units: Count | None = None
    n_records: Count | None = None
    requests: Annotated[list[dict[str, Any]], Field(max_length=MAX_FILES)] = []
    comments: dict[Line, Annotated[str, Field(max_length=10_000)]] = {}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Submission:
    """Submission as received, with verified files."""

    path: Path  # Folder of the submission.
    name: str  # Name of the session.
    data: str  # Hash of the data.
    version: str  # Version of hitoku that wrote it.
    policy: Policy  # Submitted policy; checkers use their own copy.
    outputs: tuple[Output, ...]  # Outputs as recorded by the session, including verdicts.
    stems: tuple[str, ...]  # File name of each output without suffix.
    sha256: str = ""  # SHA-256 of the manifest, which covers all files.
    # researcher, written: name of the researcher, and time of writing.
    researcher: str = ""
    written: str = ""
    # unit, n_units, n_records: column that names the unit (None: every record), and number of units and
    # records.
    unit: str | None = None
    n_units: int | None = None
    n_records: int | None = None
    # requests, comments: exception requests and comments of the researcher.
    requests: tuple[ExceptionRequest, ...] = ()
    comments: Mapping[str, str] = field(default_factory=dict)

    def public(self, place: int) -> tuple[str, Any] | None:
        """Return the public files of an output as CSV text and JSON; None if there are none."""
        stem = self.path / PUBLIC / self.stems[place]
        if not stem.with_suffix(".csv").exists():
            return None
        text = read_file(stem.with_suffix(".csv"), MAX_BYTES, links=False).decode("utf-8", "replace")
        return text, _json(stem.with_suffix(".json"))

    def certificate(self, place: int) -> Path | None:
        """Return the path of an output's certificate; None if it has none."""
        path = self.path / CHECKER / f"{self.stems[place]}{CERTIFICATE}"
        return path if path.exists() else None

    def __repr__(self) -> str:
        return f"Submission({self.name!r}, {len(self.outputs)} outputs)"


def read_submission(path: str | Path) -> Submission:
    """Read a submission; raise DataError that names a missing, added or changed file.

    An output whose own file is malformed gets :class:`Unreadable` evidence, so that the others can be judged.
    """
    folder = Path(path)
    manifest = _manifest(folder)
    found = _intact(folder, manifest.files)
    stems = tuple(entry.files for entry in manifest.outputs)
    if len({*stems}) < len(stems) or len({entry.name for entry in manifest.outputs}) < len(stems):
        raise _submission_error(folder, MANIFEST, "has an output twice")
    public = {f"{PUBLIC}/{stem}{end}" for stem in stems for end in (".csv", ".json")}
    due = {POLICY, *(f"{CHECKER}/{stem}.json" for stem in stems)}
    # Both public files, or none.
    for name in public & found:
        due |= {f"{Path(name).parent.name}/{Path(name).stem}{end}" for end in (".csv", ".json")}
    for name in sorted(due - found):
        raise _submission_error(folder, name, "is missing")
    for name in sorted(found - due - {f"{CHECKER}/{stem}{CERTIFICATE}" for stem in stems}):
        raise _submission_error(folder, name, "belongs to no output")
    try:
        policy = Policy.model_validate(_json(folder / POLICY))
        requests = tuple(map(ExceptionRequest.model_validate, manifest.requests))
    except (ValueError, RecursionError):
        raise _submission_error(folder, POLICY, "is not a policy, or contains an invalid request") from None
    return Submission(
        path=folder,
        name=manifest.name,
        data=manifest.data,
        version=manifest.version,
        policy=policy,
        outputs=tuple(_output(folder, entry, manifest) for entry in manifest.outputs),
        stems=stems,
        sha256=manifest.sha256,
        researcher=manifest.researcher,
        written=manifest.written,
        unit=manifest.unit,
        n_units=manifest.n_units,
        n_records=manifest.n_records,
        requests=requests,
        comments=manifest.comments,
    )


def _intact(folder: Path, listed: Mapping[str, str]) -> set[str]:
    """Compare the files with the manifest; return their names."""
    found = set(found_files(folder)) - {MANIFEST}
    for name in sorted(set(listed) - found):
        raise _submission_error(folder, name, "is missing")
    for name in sorted(found - set(listed)):
        raise _submission_error(folder, name, "is not in the manifest")
    in_all = 0
    for name in sorted(found):
        place = folder / name
        if place.is_symlink():
            raise _submission_error(folder, name, "is a link")
        if not place.is_file():
            raise _submission_error(folder, name, "is not a regular file")
        size = place.stat().st_size
        in_all += size
        if size > MAX_BYTES or in_all > MAX_TOTAL_BYTES:
            raise _submission_error(
                folder, name, f"is longer than {MAX_BYTES:_} bytes, or all are than {MAX_TOTAL_BYTES:_}"
            )
        if sha256(place) != listed[name]:
            raise _submission_error(folder, name, "was changed after it was submitted")
    return found


def _output(folder: Path, entry: _Entry, manifest: _Manifest) -> Output:
    name = f"{CHECKER}/{entry.files}.json"
    try:
        output = Output.from_dict(_json(folder / name))
    except (ValueError, TypeError, AttributeError, RecursionError):
        # Not "from error": its message may contain parts of the file.
        return _unreadable(entry, manifest, Text("{file} is not as hitoku writes it", file=name))
    except DataError as error:
        return _unreadable(
            entry, manifest, Text("{file} is not as hitoku writes it: {reason}", file=name, reason=error.what)
        )
    if (output.name, output.kind, output.data) != (entry.name, entry.kind, manifest.data):
        reason = Text("{file} is about another output, or other data, than the manifest says", file=name)
        return _unreadable(entry, manifest, reason)
    return output


def _unreadable(entry: _Entry, manifest: _Manifest, reason: str) -> Output:
    """Return a placeholder for an output that cannot be read."""
    return Output(
        name=entry.name,
        kind=entry.kind,
        definition={},
        where={},
        evidence=Unreadable(reason=reason),
        published={},
        policy={},
        data=manifest.data,
        verdicts=(),
    )


def is_submission(path: Path) -> bool:
    """Return whether a folder contains a manifest."""
    return (path / MANIFEST).is_file() or (path / MANIFEST).is_symlink()


def _manifest(folder: Path) -> _Manifest:
    if not is_submission(folder):
        raise _submission_error(folder, MANIFEST, "is missing")
    try:
        raw = read_file(folder / MANIFEST, MAX_BYTES, links=False)
        whole = json.loads(raw)
        body = {name: part for name, part in whole.items() if name != "sha256"}
        # Compare bytes, not only content: a manifest has one canonical form.
        intact = raw == plain_json(whole) and whole["sha256"] == sha256(plain_json(body))
    except DataError as error:
        raise _submission_error(folder, MANIFEST, f"cannot be read: {error.what}") from None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise _submission_error(folder, MANIFEST, "cannot be read") from None
    if not intact:
        raise _submission_error(folder, MANIFEST, "was changed after it was submitted")
    if whole.get("format") != FORMAT:
        raise _submission_error(folder, MANIFEST, f"is of another version, not in the format {FORMAT!r}")
    try:
        return _Manifest.model_validate(whole)
    except (ValidationError, RecursionError):
        raise _submission_error(folder, MANIFEST, f"is not in the format {FORMAT!r}") from None


def found_files(folder: Path) -> Iterator[str]:
    """Yield the relative path of every file in the folder and its two subfolders."""
    for place in (folder, folder / PUBLIC, folder / CHECKER):
        if place.is_symlink() or not place.is_dir():
            continue
        with os.scandir(place) as entries:
            for count, entry in enumerate(entries):
                if count > MAX_FILES:
                    raise _submission_error(folder, place.name, f"has more than {MAX_FILES:_} files")
                known = place == folder and entry.name in {PUBLIC, CHECKER}
                if not (known and entry.is_dir(follow_symlinks=False)):
                    yield Path(entry.path).relative_to(folder).as_posix()


def _submission_error(folder: Path, name: str, what: str) -> DataError:
    return DataError(
        "submission_not_trusted",
        "the submission cannot be trusted: {file} {problem}",
        where=str(folder / name),
        fix="request an unmodified copy of the submission",
        file=name,
        problem=what,
    )


def _json(path: Path) -> Any:
    return json.loads(read_file(path, MAX_BYTES, links=False))


def file_stem(number: int, name: str) -> str:
    """Return the file name of an output without suffix.

    Examples
    --------
    >>> file_stem(3, "Ages / by region")
    '03-ages-by-region'
    """
    slug = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()[:40]
    return f"{number:02}-{slug or 'output'}"


def leaving(stem: str, output: Output, *, disarmed: bool = True) -> dict[str, bytes]:
    """Return the released files of an output: CSV, JSON and attachments.

    Parameters
    ----------
    stem
        File name without suffix.
    output
        Output to write.
    disarmed
        As in :func:`csv_text`.
    """
    published = dict(output.published)
    beside = {f"{stem}{suffix}": content for suffix, content in output.evidence.files.items()}
    text = csv_text(published, disarmed=disarmed)
    return {f"{stem}.json": plain_json(published), f"{stem}.csv": text.encode(), **beside}


def csv_text(published: Mapping[str, Sequence[Any]], *, disarmed: bool = True) -> str:
    """Return a published output as CSV, with "x" for suppressed values.

    Parameters
    ----------
    published
        Columns and their entries.
    disarmed
        Whether to quote codes that a spreadsheet would run as formulas; :func:`hitoku.files.rearm` removes
        the quote. The JSON file contains the codes unchanged.

    Examples
    --------
    >>> print(csv_text({"age": ["0-18", "19-20"], "count": [18, None]}), end="")
    age,count
    0-18,18
    19-20,x
    >>> print(csv_text({"code": ["=1+1"]}), csv_text({"code": ["=1+1"]}, disarmed=False))
    code
    '=1+1
     code
    =1+1
    <BLANKLINE>
    """
    rows = zip(*published.values(), strict=True)
    shown = ([WITHHELD if entry is None else entry for entry in row] for row in rows)
    text = io.StringIO()
    write_csv(text, chain([published], shown), disarmed=disarmed)
    return text.getvalue()


def plain_json(content: Any) -> bytes:
    """Return plain values as canonical JSON."""
    # Not sorted: columns of a table keep their order.
    return json.dumps(content, indent=1, default=str).encode() + b"\n"
