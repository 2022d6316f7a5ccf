"""``hitoku verify``: verify certificates independently of the program that wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hitoku.cli.terminal import AsJson, echo, print_json
from hitoku.errors import CertificateError
from hitoku.files import require_path

if TYPE_CHECKING:
    from hitoku.evidence.verify import Verification


def verify(
    paths: Annotated[
        list[Path], typer.Argument(help="Release folders, publication folders or certificates.")
    ],
    as_json: AsJson = False,
) -> None:
    """Verify a certificate independently of the program that wrote it.

    Prints the rows of the verdict that were proved again, and the premises that are trusted. For several
    paths, a list of those that fail follows. The files evidence/verify*.py do the same check with Python
    alone, without hitoku.

    [bold]Examples[/bold]

    hitoku verify demo-release

    hitoku verify demo-release/checker/certificate.json.gz

    hitoku verify releases/*
    """
    from hitoku.evidence.verify import verify as check
    from hitoku.io.release import release_folders

    folders = [each for path in paths for each in release_folders(require_path(path))]
    answers = {each: check(each) for each in folders}
    if len(paths) == 1:
        for each, answer in answers.items():
            if answer.code == 2:
                raise _no_certificate_error(each, answer.reason)
    if as_json:
        facts = [_facts(each, answer) for each, answer in answers.items()]
        proved = all(one["proved"] for one in facts)
        whole = {"path": str(paths[0])} if len(paths) == 1 else {"paths": [str(path) for path in paths]}
        print_json(facts[0] if len(folders) == 1 else {**whole, "proved": proved, "releases": facts})
    else:
        _show(answers)
    raise typer.Exit(max(answer.code for answer in answers.values()))


def _facts(path: Path, answer: Verification) -> dict[str, Any]:
    """Return a verification as JSON data."""
    return {
        "path": str(path),
        "proved": answer.ok,
        "reason": answer.reason,
        "headline": answer.headline,
        "rows": [row._asdict() for row in answer.rows],
        "trusted": list(answer.trusted),
    }


def _show(answers: Mapping[Path, Verification]) -> None:
    """Print the result for every path, and a list of failures if there are several."""
    for path, answer in answers.items():
        if len(answers) > 1:
            echo(f"{path}:")
        for line in str(answer).splitlines():
            echo(line)
    failing = [path for path, answer in answers.items() if not answer]
    if len(answers) > 1 and failing:
        echo(f"{len(failing)} of {len(answers)} fail:")
        for path in failing:
            echo(f"  {path}: {answers[path].reason}")
    elif len(answers) > 1:
        echo(f"all {len(answers)} hold")


def _no_certificate_error(path: Path, reason: str) -> CertificateError:
    """Return the error for a folder without a valid certificate."""
    checker = path / "checker"
    if (checker / "summary.json").is_file() and not any(checker.glob("certificate.json*")):
        fix = "the release has no proof: see checker/README.txt for the reason, and run hitoku audit"
    else:
        fix = (
            "pass a release folder written by this version of hitoku, or its certificate; a release of "
            "another version is protected again with the same recipe"
        )
    return CertificateError("no_proof", "{reason}", where=str(path), fix=fix, reason=reason)
