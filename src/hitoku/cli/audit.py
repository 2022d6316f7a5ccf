"""``hitoku audit``: is this release safe, and if not, why not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hitoku.cli.exit_codes import FOUND
from hitoku.cli.terminal import AsJson, print_json
from hitoku.errors import ParameterError
from hitoku.files import require_path

MOST_FINDINGS = 10
# With one move, any hidden value that leaks gives away all; the papers warn of a handful.
FEW_MOVES = 3


def audit(
    path: Annotated[Path, typer.Argument(help="A release folder, a JJ file, or a CSV file of marked cells.")],
    by: Annotated[list[str] | None, typer.Option(help="CSV: column with codes; repeat for more.")] = None,
    value: Annotated[str, typer.Option(help="CSV: column with the true values.")] = "value",
    frequency: Annotated[str | None, typer.Option(help="CSV: column with the respondents.")] = None,
    mark: Annotated[str, typer.Option(help="CSV: column that says what is withheld.")] = "status",
    rule: Annotated[list[str] | None, typer.Option(help="CSV: a rule; repeat for more.")] = None,
    width: Annotated[float | None, typer.Option(help="CSV: required width of every interval.")] = None,
    integer: Annotated[
        bool, typer.Option("--integer", help="Values of the JJ file are counts, and readers know it.")
    ] = False,
    certificate: Annotated[Path | None, typer.Option(help="Write the proof to this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Work out whether every unsafe cell of a release is blurred as far as it must be.

    A table that was suppressed by hand is a CSV file with one row per cell: codes, true value, and a mark
    where it is withheld. In a JJ file, cells marked u (unsafe) and m are taken as withheld.
    Exit code 1: not safe.

    [bold]Examples[/bold]

    hitoku audit demo-release

    hitoku audit table.jj --certificate proof.json.gz

    hitoku audit cells.csv --by region --by job --value n --frequency n --rule min_frequency:n=5 --width 9
    """
    # A command loads what it needs.
    from hitoku.evidence.audit import audit as examine
    from hitoku.io.jj import read_jj, read_jj_pattern
    from hitoku.io.marked_cells import read_marked_cells
    from hitoku.io.release.read import read_release
    from hitoku.model.protection import Protection
    from hitoku.model.release import Release
    from hitoku.rules import RULES, assess, rule_from_word

    if require_path(path).is_dir():
        table, need, release = read_release(path)
    elif path.suffix.lower() == ".csv":
        if not by or not rule:
            raise ParameterError(
                "a CSV file says neither which columns are codes nor which rules apply",
                where=str(path),
                fix="give --by for every column of codes, and at least one --rule",
            )
        table, withheld = read_marked_cells(path, by, value, mark, frequency=frequency)
        need = assess(table, [rule_from_word(word, RULES) for word in rule], width=width)
        release = Release.of(table, Protection.withhold(table, withheld, need))
    else:
        table, need = read_jj(path, integer=integer)
        release = Release.of(table, Protection.withhold(table, read_jj_pattern(path), need))
    found = examine(table, need, release)
    proof = found.certificate
    if certificate is not None and proof is not None:
        proof.write(certificate)
    if as_json:
        remarks = [str(finding) for finding in found.findings]
        print_json({"path": str(path), "safe": found.safe, **found.summary, "findings": remarks})
    else:
        counted = found.summary
        typer.echo(f"{'safe' if found.safe else 'NOT safe'}: {path}")
        typer.echo(
            f"  {counted['unsafe']:,} unsafe cells of {counted['cells']:,}, {counted['withheld']:,} withheld"
        )
        moves = counted["free_dimensions"]
        risk = "; few: one leaked value may give others away" if found.safe and moves < FEW_MOVES else ""
        left = f"independent moves left to the withheld cells: {moves:,}{risk}"
        typer.echo(f"  {left if counted['withheld'] else 'nothing is withheld'}")
        for finding in found.findings[:MOST_FINDINGS]:
            typer.echo(f"  {finding}")
        if len(found.findings) > MOST_FINDINGS:
            typer.echo(f"  and {len(found.findings) - MOST_FINDINGS:,} more; --json lists them all")
        if certificate is not None and proof is not None:
            typer.echo(f"  proof: {certificate}")
    if not found.safe:
        raise typer.Exit(FOUND)
