"""Write a submission, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from hitoku.checks.decisions import ExceptionRequest
from hitoku.checks.outputs import Output
from hitoku.checks.policies import Policy
from hitoku.checks.principles import Clearance
from hitoku.checks.submission.judge_output import certificate_of
from hitoku.checks.submission.submission import (
    CERTIFICATE,
    CHECKER,
    FORMAT,
    MANIFEST,
    POLICY,
    PUBLIC,
    file_stem,
    found_files,
    leaving,
    plain_json,
)
from hitoku.errors import OutputError, some
from hitoku.files import new_folder, refuse_occupied, sha256


def write_submission(
    path: str | Path,
    name: str,
    outputs: Sequence[Output],
    policy: Policy,
    *,
    researcher: str = "",
    unit: str | None = None,
    n_units: int | None = None,
    n_records: int | None = None,
    requests: Sequence[ExceptionRequest] = (),
    comments: Mapping[str, str] | None = None,
    when: datetime | None = None,
) -> Path:
    """Write a submission, whole or not at all.

    Parameters
    ----------
    path
        Folder that does not exist or is empty.
    name
        Name of the session.
    outputs
        Outputs to submit; at least one.
    policy
        Policy that judged them.
    researcher
        Name of the researcher.
    unit, n_units, n_records
        Column that names the unit (None: every record), and number of units and records in the data.
    requests
        Exception requests of the researcher.
    comments
        Comments of the researcher, by output name.
    when
        Time of writing. Default: now, or ``SOURCE_DATE_EPOCH``.
    """
    target = Path(path)
    if not outputs:
        raise OutputError(
            "nothing_to_submit",
            "no output to submit",
            where="session {name}",
            fix="make one first",
            name=name,
        )
    names = [output.name for output in outputs]
    twice = sorted({each for each in names if names.count(each) > 1})
    if twice:
        raise OutputError(
            "output_names_repeated",
            "two outputs have the same name: {names}",
            where="session {name}",
            fix="give each a unique name",
            names=some(twice),
            name=name,
        )
    refuse_occupied(target)
    files: dict[str, bytes] = {POLICY: plain_json(policy.model_dump())}
    listed = []
    for number, output in enumerate(outputs, start=1):
        stem = file_stem(number, output.name)
        listed.append({"name": output.name, "kind": output.kind, "files": stem})
        whole = output.to_dict()
        files[f"{CHECKER}/{stem}.json"] = plain_json(whole)
        if output.status is Clearance.PASS:
            files |= {f"{PUBLIC}/{each}": content for each, content in leaving(stem, output).items()}
    body = {
        "format": FORMAT,
        "version": metadata.version("hitoku"),
        "name": name,
        "researcher": researcher,
        "written": (when or clock()).isoformat(timespec="seconds"),
        "data": outputs[0].data,
        "unit": unit,
        "n_units": n_units,
        "n_records": n_records,
        "policy": {"name": policy.name, "version": policy.version, "hash": policy.hash},
        "outputs": listed,
        "requests": [each.model_dump(mode="json", exclude_defaults=True) for each in requests],
        "comments": dict(comments or {}),
    }
    with new_folder(target, shared=True) as draft:
        _fill(draft, files, body, outputs, policy)
    return target


def clock() -> datetime:
    """Return the time, or ``SOURCE_DATE_EPOCH`` for reproducible output."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(fixed), UTC) if fixed.isdecimal() else datetime.now(UTC)


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
    hashes = {name: sha256(draft / name) for name in sorted(found_files(draft))}
    whole = {**body, "files": hashes}
    (draft / MANIFEST).write_bytes(plain_json({**whole, "sha256": sha256(plain_json(whole))}))
