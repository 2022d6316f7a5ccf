"""A submission: a folder with what would leave, and beside it everything a checker needs to judge it again.

```
manifest.json           what is in the folder, with the SHA-256 of every file
policy.json             the policy the session worked under
public/01-....csv, .json   what leaves
checker/01-....json     definition, evidence and the session's own verdicts; confidential
checker/01-....certificate.json.gz   of protected tables: the proof that intervals are wide enough
```
Who is in which cell is in none of them.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from hitoku.checks.outputs.output import WITHHELD, Output
from hitoku.checks.policies.policy import Policy
from hitoku.errors import DataError, OutputError, some
from hitoku.evidence.attributed import open_groups, required_of
from hitoku.evidence.audit import audit
from hitoku.evidence.certificate import Certificate, claim
from hitoku.evidence.grid import Grid
from hitoku.evidence.problem import AuditProblem
from hitoku.files import new_folder, refuse_occupied, sha256

FORMAT = "hitoku submission 1"
MANIFEST, POLICY = "manifest.json", "policy.json"
PUBLIC, CHECKER = "public", "checker"
# What the manifest says about an output.
ENTRY = ("name", "kind", "files")
CERTIFICATE = ".certificate.json.gz"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Submission:
    """What a checker received; its files are those that were written.

    Parameters
    ----------
    path
        The folder.
    name
        Of the session.
    data
        Hash of the data.
    version
        Of hitoku, when it was written.
    policy
        The policy as submitted; a checker uses a copy of their own.
    outputs
        As the session recorded them, verdicts included.
    stems
        The name of each output's files, without ending.
    """

    path: Path
    name: str
    data: str
    version: str
    policy: Policy
    outputs: tuple[Output, ...]
    stems: tuple[str, ...]

    def public_csv(self, place: int) -> str:
        """Return the text that would leave as CSV."""
        return (self.path / PUBLIC / f"{self.stems[place]}.csv").read_bytes().decode("utf-8", "replace")

    def certificate(self, place: int) -> Path | None:
        """Return where the proof of an output is; None when it has none."""
        path = self.path / CHECKER / f"{self.stems[place]}{CERTIFICATE}"
        return path if path.exists() else None

    def __repr__(self) -> str:
        return f"Submission({self.name!r}, {len(self.outputs)} outputs)"


def write_submission(path: str | Path, name: str, outputs: Sequence[Output], policy: Policy) -> Path:
    """Write a submission, whole or not at all.

    Parameters
    ----------
    path
        A folder that does not exist or is empty.
    name
        Of the session.
    outputs
        What is submitted; at least one.
    policy
        The policy they were judged by.
    """
    target = Path(path)
    if not outputs:
        raise OutputError("there is no output to submit", where=f"session {name}", fix="make one first")
    names = [output.name for output in outputs]
    twice = sorted({each for each in names if names.count(each) > 1})
    if twice:
        raise OutputError(
            f"two outputs have the same name: {some(twice)}",
            where=f"session {name}",
            fix="give each a name of its own",
        )
    refuse_occupied(target)
    files: dict[str, bytes] = {POLICY: _plain(policy.model_dump())}
    listed = []
    for number, output in enumerate(outputs, start=1):
        slug = re.sub(r"[^A-Za-z0-9]+", "-", output.name).strip("-").lower()[:40]
        stem = f"{number:02}-{slug or 'output'}"
        listed.append({"name": output.name, "kind": output.kind, "files": stem})
        whole = output.to_dict()
        published = whole.pop("published")
        files[f"{PUBLIC}/{stem}.json"] = _plain(published)
        files[f"{PUBLIC}/{stem}.csv"] = csv_text(published).encode()
        files[f"{CHECKER}/{stem}.json"] = _plain(whole)
    body = {
        "format": FORMAT,
        "version": metadata.version("hitoku"),
        "name": name,
        "data": outputs[0].data,
        "policy": {"name": policy.name, "version": policy.version, "hash": policy.hash},
        "outputs": listed,
    }
    with new_folder(target) as draft:
        _fill(draft, files, body, outputs, policy)
    return target


def _fill(
    draft: Path,
    files: Mapping[str, bytes],
    body: Mapping[str, Any],
    outputs: Sequence[Output],
    policy: Policy,
) -> None:
    for folder in (PUBLIC, CHECKER):
        (draft / folder).mkdir()
    for name, content in files.items():
        (draft / name).write_bytes(content)
    for output, entry in zip(outputs, body["outputs"], strict=True):
        proof = certificate_of(output, policy)
        if proof is not None:
            proof.write(draft / CHECKER / f"{entry['files']}{CERTIFICATE}")
    hashes = {name: sha256(draft / name) for name in _found(draft)}
    whole = {**body, "files": hashes}
    (draft / MANIFEST).write_bytes(_plain({**whole, "sha256": sha256(_plain(whole))}))


def read_submission(path: str | Path) -> Submission:
    """Read a submission; anything missing, added or changed is refused by name."""
    folder = Path(path)
    manifest = _manifest(folder)
    found = _intact(folder, manifest["files"])
    stems = tuple(str(entry["files"]) for entry in manifest["outputs"])
    due = {f"{PUBLIC}/{stem}{end}" for stem in stems for end in (".csv", ".json")}
    due |= {POLICY, *(f"{CHECKER}/{stem}.json" for stem in stems)}
    for name in sorted(due - found):
        raise _refused(folder, name, "is missing")
    for name in sorted(found - due - {f"{CHECKER}/{stem}{CERTIFICATE}" for stem in stems}):
        raise _refused(folder, name, "belongs to no output")
    try:
        policy = Policy.model_validate(_json(folder / POLICY))
    except (ValueError, RecursionError):
        raise _refused(folder, POLICY, "is no policy") from None
    return Submission(
        path=folder,
        name=str(manifest["name"]),
        data=str(manifest["data"]),
        version=str(manifest["version"]),
        policy=policy,
        outputs=tuple(_output(folder, entry, manifest["data"]) for entry in manifest["outputs"]),
        stems=stems,
    )


def _intact(folder: Path, listed: Mapping[str, str]) -> set[str]:
    """Compare the files with the manifest; return their names."""
    found = set(_found(folder)) - {MANIFEST}
    for name in sorted(set(listed) - found):
        raise _refused(folder, name, "is missing")
    for name in sorted(found - set(listed)):
        raise _refused(folder, name, "is not in the manifest")
    for name in sorted(found):
        if (folder / name).is_symlink():
            raise _refused(folder, name, "is a link")
        if sha256(folder / name) != listed[name]:
            raise _refused(folder, name, "was changed after it was submitted")
    return found


def _output(folder: Path, entry: Mapping[str, Any], data: str) -> Output:
    name = f"{CHECKER}/{entry['files']}.json"
    try:
        whole, published = _json(folder / name), _json(folder / PUBLIC / f"{entry['files']}.json")
        output = Output.from_dict({**whole, "published": published})
    except (ValueError, TypeError, AttributeError, RecursionError):
        # Not "from error": its message may hold a part of the file.
        raise _refused(folder, name, "is not as hitoku writes it") from None
    except DataError as error:
        raise _refused(folder, name, f"is not as hitoku writes it: {error.what}") from None
    if (output.name, output.kind, output.data) != (entry["name"], entry["kind"], data):
        raise _refused(folder, name, "is about another output, or other data, than the manifest says")
    return output


def is_submission(path: Path) -> bool:
    """Tell whether a folder has a manifest."""
    return (path / MANIFEST).is_file()


def certificate_of(output: Output, policy: Policy) -> Certificate | None:
    """Return the proof that a protected table leaves its unsafe cells uncertain; None where there is none."""
    claimed = output.asked.claim(output.evidence, policy)
    return None if claimed is None else audit(*claimed).certificate


def claim_of(output: Output, policy: Policy) -> dict[str, Any] | None:
    """Return what the certificate of a table must be about; None for what can have none."""
    claimed = output.asked.claim(output.evidence, policy)
    if claimed is None:
        return None
    grid = Grid.of(claimed.table.value)
    groups = required_of(*open_groups(*claimed))
    return claim(claimed.release, grid, AuditProblem.of(grid, claimed.need, claimed.release), groups)


def csv_text(published: Mapping[str, Sequence[Any]]) -> str:
    """Write what leaves as CSV, "x" where it is withheld.

    Examples
    --------
    >>> print(csv_text({"age": ["0-18", "19-20"], "count": [18, None]}), end="")
    age,count
    0-18,18
    19-20,x
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(published)
    for row in zip(*published.values(), strict=True):
        writer.writerow([WITHHELD if entry is None else entry for entry in row])
    return text.getvalue()


def _manifest(folder: Path) -> dict[str, Any]:
    if not is_submission(folder):
        raise _refused(folder, MANIFEST, "is missing")
    raw = (folder / MANIFEST).read_bytes()
    try:
        whole = json.loads(raw)
        body = {name: part for name, part in whole.items() if name != "sha256"}
        # The bytes, not only the content: there is one way to write a manifest.
        intact = raw == _plain(whole) and whole["sha256"] == sha256(_plain(body))
        texts = [body[key] for key in ("version", "name", "data")]
        texts += [entry[key] for entry in body["outputs"] for key in ENTRY]
        shaped = (
            {"policy", "files"} <= body.keys() and len(texts) > 3 and all(isinstance(t, str) for t in texts)
        )
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise _refused(folder, MANIFEST, "cannot be read") from None
    if not intact:
        raise _refused(folder, MANIFEST, "was changed after it was submitted")
    if body.get("format") != FORMAT or not shaped:
        raise _refused(folder, MANIFEST, f"is not in the format {FORMAT!r}")
    return body


def _found(folder: Path) -> list[str]:
    """Every file below a folder, by its path within."""
    return sorted(
        each.relative_to(folder).as_posix()
        for each in folder.rglob("*")
        if each.is_symlink() or not each.is_dir()
    )


def _refused(folder: Path, name: str, what: str) -> DataError:
    return DataError(
        f"the submission cannot be trusted: {name} {what}",
        where=str(folder / name),
        fix="ask for the submission again, as the session wrote it",
    )


def _plain(content: Any) -> bytes:
    # In the order given: columns of a table stay where they are.
    return json.dumps(content, indent=1, default=str).encode() + b"\n"


def _json(path: Path) -> Any:
    return json.loads(path.read_bytes())
