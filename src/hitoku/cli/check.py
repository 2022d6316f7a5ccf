"""``hitoku check``: may these outputs leave."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hitoku.cli.exit_codes import FOUND
from hitoku.cli.terminal import AsJson, print_json
from hitoku.errors import ParameterError
from hitoku.files import require_path

if TYPE_CHECKING:
    from hitoku.checks.submission.rechecked import Recheck
    from hitoku.model.finding import Finding


def check(
    path: Annotated[Path, typer.Argument(help="A submission; a CSV table; a release folder or JJ file.")],
    ledger: Annotated[Path | None, typer.Option(help="Everything released before about these data.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="The data (Parquet or CSV), to collect evidence again.")
    ] = None,
    unit: Annotated[str | None, typer.Option(help="Column of the data that names the unit.")] = None,
    policy: Annotated[str | None, typer.Option(help="The checker's policy: a name, or a .toml file.")] = None,
    exceptions: Annotated[Path | None, typer.Option(help="Decisions about outputs, a .toml file.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the report; by default beside the submission.")
    ] = None,
    release: Annotated[
        bool, typer.Option("--release", help="If nothing fails, remember the outputs in the ledger.")
    ] = False,
    by: Annotated[list[str] | None, typer.Option(help="CSV: column with codes; repeat for more.")] = None,
    value: Annotated[str, typer.Option(help="CSV: column with the true values.")] = "value",
    frequency: Annotated[str | None, typer.Option(help="CSV: column with the number of units.")] = None,
    largest: Annotated[
        list[str] | None, typer.Option(help="CSV: column with the largest contribution; repeat for the next.")
    ] = None,
    mark: Annotated[str, typer.Option(help="CSV: column that says what is withheld.")] = "status",
    safe: Annotated[
        Path | None, typer.Option(help="CSV: what is withheld is in this safe file of tau-ARGUS instead.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Judge a researcher's submission again, from its evidence alone.

    Prints a page for each output and a matrix of outputs and principles; writes report.html and report.json.
    A table suppressed by hand, or by tau-ARGUS, is a CSV file with one row per cell: codes, true value, and a
    mark where it is withheld.
    Exit code 1: something fails. 2: the submission is not as it was written.

    [bold]Examples[/bold]

    hitoku check submission --ledger wages.ledger

    hitoku check submission --ledger wages.ledger --data people.parquet --unit person_id --release

    hitoku check submission --exceptions decided.toml --out report

    hitoku check cells.csv --by region --by job --value n --policy japan-2017

    hitoku check cells.csv --by region --value turnover --frequency n --safe argus.csv
    """
    # A command loads what it needs.
    from hitoku.checks.submission.exceptions import read_exceptions
    from hitoku.checks.submission.recheck import recheck
    from hitoku.checks.submission.releasing import remember
    from hitoku.io.check_page import write_report

    if release and (ledger is None or data is None):
        raise ParameterError(
            "outputs are remembered in a ledger, by who is in their cells",
            where="--release",
            fix="give --ledger and --data as well",
        )
    by_hand = require_path(path).suffix.lower() == ".csv"
    if not by_hand and _is_release(path):
        _audited(path, as_json=as_json)
        return
    found = (
        _by_hand(path, by or [], value, mark, safe, policy, frequency=frequency, largest=largest or ())
        if by_hand
        else recheck(
            path,
            policy=policy,
            ledger=ledger,
            data=None if data is None else str(require_path(data)),
            unit=unit,
            exceptions=() if exceptions is None else read_exceptions(require_path(exceptions)),
        )
    )
    place = path.resolve()
    folder = out or place.with_name(f"{place.stem if by_hand else place.name}-report")
    if folder.resolve().is_relative_to(path.resolve()):
        raise ParameterError(
            "a report inside the submission would change it", where="--out", fix="choose another folder"
        )
    report, _ = write_report(folder, found)
    remembered = 0
    if release and ledger is not None and found.ok:
        remembered = remember(found, ledger, str(data), unit)
    if as_json:
        print_json({"path": str(path), "report": str(report), "remembered": remembered, **found.to_dict()})
    else:
        _print(found)
        typer.echo(f"report: {report}")
        if release:
            typer.echo(f"remembered in {ledger}: {remembered} output(s)")
    if not found.ok:
        raise typer.Exit(FOUND)


def _is_release(path: Path) -> bool:
    """Tell a table that somebody suppressed from a submission."""
    from hitoku.checks.submission.submission import is_submission

    return not path.is_dir() or ((path / "checker" / "summary.json").is_file() and not is_submission(path))


def _audited(path: Path, *, as_json: bool) -> None:
    """Hand a release over to the audit."""
    from hitoku.cli.audit import audit

    typer.echo(f"{path.name} is no submission but a release: audited instead", err=True)
    audit([path], as_json=as_json)


def _by_hand(
    path: Path,
    by: list[str],
    value: str,
    mark: str,
    safe: Path | None,
    policy: str | None,
    **columns: Any,
) -> Recheck:
    """Judge a table that somebody suppressed."""
    from hitoku.checks.submission.by_hand import check_table
    from hitoku.io.argus.suppressed_table import read_suppressed_table
    from hitoku.io.marked_cells import read_marked_cells

    if not by or policy is None:
        raise ParameterError(
            f"{path.name} is no submission; as a table suppressed by hand, it needs columns and a policy",
            where=str(path),
            fix="hitoku check FILE --by COLUMN --value COLUMN --policy japan-2017",
        )
    table, withheld = read_marked_cells(path, by, value, None if safe else mark, **columns)
    findings: list[Finding] = []
    if safe is not None:
        withheld, findings = read_suppressed_table(require_path(safe), table)
    return check_table(table, withheld, policy, name=path.stem, findings=findings)


def _print(found: Recheck) -> None:
    for number, each in enumerate(found.outputs, start=1):
        typer.echo(f"{number}. {each.output.name} ({each.output.kind}): {each.status}")
        for remark in (*each.findings, *each.verdicts, *each.exceptions):
            typer.echo(f"   {remark}")
        typer.echo("")
    for remark in found.findings:
        typer.echo(f"{remark}")
    for exception in found.unused:
        typer.echo(f"not used: {exception.output}: {exception}")
    rows = list(found.matrix.items())
    principles = list(rows[0][1])
    wide = max(len("output"), *(len(name) for name, _ in rows))
    typer.echo("  ".join(["output".ljust(wide), *principles]))
    for name, row in rows:
        typer.echo(
            "  ".join([name.ljust(wide), *(row[each].ljust(len(each)) for each in principles)]).rstrip()
        )
    counts = ", ".join(f"{n} {status}" for status, n in found.tally.items() if n)
    typer.echo(f"{'nothing fails' if found.ok else 'NOT to be released as it is'}: {counts}; {found.scope}")
