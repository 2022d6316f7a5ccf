"""``hitoku verify``: re-check a certificate of safety."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hitoku.cli.terminal import AsJson, print_json
from hitoku.errors import CertificateError
from hitoku.files import require_path


def verify(
    path: Annotated[Path, typer.Argument(help="A release folder, or a certificate (.json, .json.gz).")],
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

    if quick:
        from hitoku.evidence.quick_verify import quick_verify

        verdict = quick_verify(require_path(path))
    else:
        verdict = proof.verify(require_path(path))
    if verdict.code == 2:
        unproved = (path / "checker" / "summary.json").is_file() and not verdict.reason.count("malformed")
        raise CertificateError(
            verdict.reason,
            where=str(path),
            fix="the release was written without a proof: checker/README.txt says why; hitoku audit judges it"
            if unproved
            else "give a release folder as hitoku wrote it, or the certificate in its checker folder",
        )
    if as_json:
        print_json({"path": str(path), "proved": verdict.ok, "reason": verdict.reason})
    else:
        typer.echo(f"{'yes' if verdict.ok else 'no'}: {verdict.reason}")
    raise typer.Exit(verdict.code)
