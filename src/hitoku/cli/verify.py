"""``hitoku verify``: re-check a certificate of safety."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hitoku.cli.terminal import AsJson, print_json
from hitoku.errors import CertificateError
from hitoku.files import require_path


def verify(
    path: Annotated[Path, typer.Argument(help="A release folder, that of a publication, or a certificate.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Compute in arrays: the same answer, several times as fast.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check the proof that a release is safe, without trusting the program that wrote it.

    The same check runs without hitoku: evidence/verify.py is one file that needs Python alone. For tables of
    a hundred thousand cells and more, --quick does it with numpy.

    [bold]Examples[/bold]

    hitoku verify demo-release

    hitoku verify demo-release/checker/certificate.json.gz

    hitoku verify census-release --quick
    """
    from hitoku.evidence import verify as proof
    from hitoku.io.release.folders import release_folders

    folders = release_folders(require_path(path))
    if quick:
        from hitoku.evidence.quick_verify import quick_verify

        verdicts = {each: quick_verify(each) for each in folders}
    else:
        verdicts = {each: proof.verify(each) for each in folders}
    told = []
    for each, verdict in verdicts.items():
        if verdict.code == 2:
            raise _unproved(each, verdict.reason)
        told.append({"path": str(each), "proved": verdict.ok, "reason": verdict.reason})
    if as_json and len(told) == 1:
        print_json(told[0])
    elif as_json:
        print_json({"path": str(path), "proved": all(one["proved"] for one in told), "releases": told})
    else:
        for each, verdict in verdicts.items():
            name = f"{each}: " if len(told) > 1 else ""
            typer.echo(f"{name}{'yes' if verdict.ok else 'no'}: {verdict.reason}")
    raise typer.Exit(max(verdict.code for verdict in verdicts.values()))


def _unproved(path: Path, reason: str) -> CertificateError:
    """Make the error for a folder without a proof."""
    written = (path / "checker" / "summary.json").is_file() and not reason.count("malformed")
    return CertificateError(
        reason,
        where=str(path),
        fix="the release was written without a proof: checker/README.txt says why; hitoku audit judges it"
        if written
        else "give a release folder as hitoku wrote it, or the certificate in its checker folder",
    )
