"""``hitoku check``: may these outputs leave."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hitoku.cli.terminal import FOUND, AsJson, Lang, echo, print_json, spoken
from hitoku.errors import ParameterError, visible
from hitoku.files import require_path

if TYPE_CHECKING:
    from hitoku.checks.submission import Recheck, Released
    from hitoku.model import Finding


def check(
    path: Annotated[Path, typer.Argument(help="A submission; a CSV table; a release folder or JJ file.")],
    ledger: Annotated[Path | None, typer.Option(help="Everything released before about these data.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="The data (Parquet or CSV), to collect evidence again.")
    ] = None,
    unit: Annotated[str | None, typer.Option(help="Column of the data that names the unit.")] = None,
    policy: Annotated[str | None, typer.Option(help="The checker's policy: a name, or a .toml file.")] = None,
    decisions: Annotated[
        Path | None,
        typer.Option("--decisions", help="Decisions about outputs, a .toml file."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the report; by default beside the submission.")
    ] = None,
    release: Annotated[
        bool,
        typer.Option("--release", help="Let go what passes or is decided, and remember it in the ledger."),
    ] = False,
    checker: Annotated[list[str] | None, typer.Option(help="Who signs the release; repeat for more.")] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="What nobody has decided about stays behind.")
    ] = False,
    released: Annotated[
        Path | None, typer.Option(help="Folder for what leaves; by default beside the submission.")
    ] = None,
    keep_formulas: Annotated[
        bool,
        typer.Option("--keep-formulas", help="With --release: CSV files without quotes before formulas."),
    ] = False,
    since: Annotated[
        Path | None, typer.Option(help="The last submission of this work: say what has changed.")
    ] = None,
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
    lang: Lang = None,
    as_json: AsJson = False,
) -> None:
    """Judge a researcher's submission again, from its evidence alone.

    Prints a page for each output and a matrix of outputs and principles; writes report.html and report.json.
    With --release, outputs leave that pass or were decided about: a folder with them and a receipt is written
    in one step with the ledger.
    A table suppressed by hand, or by tau-ARGUS, is a CSV file with one row per cell: codes, true value, and a
    mark where it is withheld.
    Exit code 1: something fails, or is undecided with --release. 2: the submission is not as it was written.

    [bold]Examples[/bold]

    hitoku check submission --ledger wages.ledger

    hitoku check submission --ledger wages.ledger --data people.parquet --decisions decided.toml

    hitoku check submission --ledger wages.ledger --data people.parquet --release --checker Sato --checker Ito

    hitoku check submission-2 --ledger wages.ledger --since submission

    hitoku check cells.csv --by region --by job --value n --policy japan-2017

    hitoku check cells.csv --by region --value turnover --frequency n --safe argus.csv
    """
    # A command loads what it needs.
    from hitoku.checks import read_decisions
    from hitoku.checks.submission import changes, read_submission, recheck
    from hitoku.checks.submission import release as release_outputs
    from hitoku.io import write_report

    by_hand = require_path(path).suffix.lower() == ".csv"
    if not by_hand and _is_release(path):
        _audited(path, as_json=as_json)
        return
    folder = _report_folder(path, out, by_hand=by_hand)
    before = None if since is None or by_hand else read_submission(require_path(since))
    decided = () if decisions is None else read_decisions(require_path(decisions))
    gone: Released | None = None
    if by_hand:
        found = _by_hand(
            path, by or [], value, mark, safe, policy, frequency=frequency, largest=largest or ()
        )
    elif release:
        if ledger is None or data is None:
            raise ParameterError(
                "ledger_required_to_remember",
                "outputs are remembered in a ledger, by who is in their cells",
                where="--release",
                fix="give --ledger and --data as well",
            )
        if policy is not None or unit is not None:
            raise ParameterError(
                "policy_is_of_ledger",
                "policy and unit are the ledger's",
                where="--release",
                fix="leave --policy and --unit out",
            )
        gone = release_outputs(
            path,
            ledger=ledger,
            data=str(require_path(data)),
            checkers=checker or [],
            decisions=decided,
            partial=partial,
            out=released,
            disarmed=not keep_formulas,
        )
        found = gone.check
    else:
        known = None if data is None else str(require_path(data))
        found = recheck(path, policy=policy, ledger=ledger, data=known, unit=unit, decisions=decided)
    report, _ = write_report(folder, found, before=before, lang=spoken(lang))
    different = {} if before is None else changes(found.submission.outputs, before.outputs)
    if as_json:
        told = {"changes": different} if before is not None else {}
        print_json({"path": str(path), "report": str(report), **_left(gone), **found.to_dict(), **told})
    else:
        _print(found)
        for name, what in different.items():
            echo(f"since {since}: {name}: {what}")
        echo(f"report: {report}")
        if gone is not None:
            _print_released(gone)
    if not found.ok or (gone is not None and gone.blocked):
        raise typer.Exit(FOUND)


def _report_folder(path: Path, out: Path | None, *, by_hand: bool) -> Path:
    place = path.resolve()
    folder = out or place.with_name(f"{place.stem if by_hand else place.name}-report")
    if folder.resolve().is_relative_to(place):
        raise ParameterError(
            "report_inside_submission",
            "a report inside the submission would change it",
            where="--out",
            fix="choose another folder",
        )
    return folder


def _left(gone: Released | None) -> dict[str, Any]:
    if gone is None:
        return {}
    return {
        "receipt": None if gone.receipt is None else gone.receipt.to_dict(),
        "released": None if gone.folder is None else str(gone.folder),
        "again": gone.again,
        "blocked": gone.blocked,
    }


def _print_released(gone: Released) -> None:
    if gone.blocked:
        echo(f"NOTHING was released: {gone.blocked}")
    elif gone.receipt is None:
        echo("nothing was released: nothing may leave")
    elif gone.again:
        echo(f"released before, receipt {gone.receipt.number}: {gone.folder}")
    else:
        n_stayed = len(gone.receipt.stayed)
        stayed = f", {n_stayed} stayed behind" if n_stayed else ""
        number = gone.receipt.number
        echo(f"released: {len(gone.receipt.outputs)} output(s){stayed}, receipt {number}: {gone.folder}")


def _is_release(path: Path) -> bool:
    """Tell a table that somebody suppressed from a submission."""
    from hitoku.checks.submission import is_submission

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
    from hitoku.checks.submission import check_table
    from hitoku.io import read_marked_cells
    from hitoku.io.argus import read_suppressed_table

    if not by or policy is None:
        raise ParameterError(
            "not_a_submission",
            "{file} is no submission; as a table suppressed by hand, it needs columns and a policy",
            where=str(path),
            fix="hitoku check FILE --by COLUMN --value COLUMN --policy japan-2017",
            file=path.name,
        )
    table, withheld = read_marked_cells(path, by, value, None if safe else mark, **columns)
    findings: list[Finding] = []
    if safe is not None:
        withheld, findings = read_suppressed_table(require_path(safe), table)
    return check_table(table, withheld, policy, name=path.stem, findings=findings)


def _print(found: Recheck) -> None:
    for number, each in enumerate(found.outputs, start=1):
        echo(f"{number}. {each.output.name} ({each.output.kind}): {each.status}")
        verdict = found.verdict_of(each)
        echo(f"   {verdict.colour}: {verdict}")
        for row in verdict.rows:
            if row.applies:
                reason = f" ({row.reason})" if row.reason and not row.holds else ""
                echo(f"   {row.result}: {row.label}{reason}")
        for remark in (*each.findings, *each.verdicts, *each.decisions):
            echo(f"   {remark}")
        if each.state == "released":
            echo(f"   left before, with receipt {each.receipt}")
        echo("")
    for remark in found.findings:
        echo(f"{remark}")
    for decision in found.unused:
        echo(f"not used: {decision.output}: {decision}")
    principles = list(next(iter(found.matrix.values())))
    # Names as they are printed, or the columns beside a name with a control character are moved.
    lines = [["output", *principles]]
    lines += [[visible(name), *row.values()] for name, row in found.matrix.items()]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        echo("  ".join(map(str.ljust, line, widths)).rstrip())
    counts = ", ".join(f"{n} {status}" for status, n in found.tally.items() if n)
    echo(f"{'nothing fails' if found.ok else 'NOT to be released as it is'}: {counts}; {found.scope}")
    if found.undecided:
        echo(f"undecided: {', '.join(found.undecided)}")
