"""``hitoku check``: re-check a research submission, and optionally release it."""

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
    path: Annotated[Path, typer.Argument(help="Submission, CSV table, release folder or JJ file.")],
    ledger: Annotated[
        Path | None, typer.Option(help="Ledger of earlier releases about the same data.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Data (Parquet or CSV) from which evidence is collected again.")
    ] = None,
    unit: Annotated[str | None, typer.Option(help="Column of the data that identifies the unit.")] = None,
    policy: Annotated[str | None, typer.Option(help="Policy of the checker: name or .toml file.")] = None,
    decisions: Annotated[
        Path | None,
        typer.Option("--decisions", help="Decisions about outputs (.toml file)."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the report. Default: next to the submission.")
    ] = None,
    release: Annotated[
        bool,
        typer.Option(
            "--release", help="Release outputs that pass or are approved, and record them in the ledger."
        ),
    ] = False,
    checker: Annotated[
        list[str] | None, typer.Option(help="Name of a person who signs the release. Repeat for several.")
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Release what is decided; keep the rest pending.")
    ] = False,
    released: Annotated[
        Path | None, typer.Option(help="Folder for released files. Default: next to the submission.")
    ] = None,
    keep_formulas: Annotated[
        bool,
        typer.Option(
            "--keep-formulas",
            help="With --release: do not escape text in CSV files that looks like a formula.",
        ),
    ] = False,
    since: Annotated[Path | None, typer.Option(help="Earlier submission to compare with.")] = None,
    by: Annotated[list[str] | None, typer.Option(help="CSV: column with codes. Repeat for several.")] = None,
    value: Annotated[str, typer.Option(help="CSV: column with the true values.")] = "value",
    frequency: Annotated[str | None, typer.Option(help="CSV: column with the number of units.")] = None,
    largest: Annotated[
        list[str] | None,
        typer.Option(help="CSV: column with the largest contribution. Repeat for the next ones."),
    ] = None,
    mark: Annotated[str, typer.Option(help="CSV: column that marks suppressed cells.")] = "status",
    safe: Annotated[
        Path | None,
        typer.Option(help="CSV: τ-ARGUS safe file with the suppression pattern, instead of --mark."),
    ] = None,
    lang: Lang = None,
    as_json: AsJson = False,
) -> None:
    """Re-check a research submission from its evidence, and optionally release it.

    Prints the result of each output and a matrix of outputs and principles. Writes report.html and
    report.json. With --release, outputs that pass, or have an approving decision, are written to a folder
    with a receipt, and recorded in the ledger in the same step. A table suppressed by hand or by τ-ARGUS is a
    CSV file with one row per cell: codes, true value, and a mark on suppressed cells. Exit code 1: an output
    fails, or, with --release, is undecided. 2: the submission was modified.

    [bold]Examples[/bold]

    hitoku check submission --ledger wages.ledger

    hitoku check submission --ledger wages.ledger --data people.parquet --decisions decided.toml

    hitoku check submission --ledger wages.ledger --data people.parquet --release --checker Sato --checker Ito

    hitoku check submission-2 --ledger wages.ledger --since submission

    hitoku check cells.csv --by region --by job --value n --policy japan-2017

    hitoku check cells.csv --by region --value turnover --frequency n --safe argus.csv
    """
    # Deferred imports keep --help fast.
    from hitoku.checks import read_decisions
    from hitoku.checks.submission import changes, read_submission, recheck
    from hitoku.checks.submission import release as release_outputs
    from hitoku.io import write_report

    by_hand = require_path(path).suffix.lower() == ".csv"
    if not by_hand and _is_release(path):
        _audit_release(path, as_json=as_json)
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
                "--release requires --ledger and --data",
                where="--release",
                fix="add --ledger and --data",
            )
        if policy is not None or unit is not None:
            raise ParameterError(
                "policy_is_of_ledger",
                "policy and unit are set by the ledger",
                where="--release",
                fix="omit --policy and --unit",
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
        entry = {"changes": different} if before is not None else {}
        print_json(
            {"path": str(path), "report": str(report), **_release_facts(gone), **found.to_dict(), **entry}
        )
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


def _release_facts(gone: Released | None) -> dict[str, Any]:
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
        echo("nothing was released: no output may be released")
    elif gone.again:
        echo(f"released before, receipt {gone.receipt.number}: {gone.folder}")
    else:
        n_stayed = len(gone.receipt.stayed)
        stayed = f", {n_stayed} not released" if n_stayed else ""
        number = gone.receipt.number
        echo(f"released: {len(gone.receipt.outputs)} output(s){stayed}, receipt {number}: {gone.folder}")


def _is_release(path: Path) -> bool:
    """Return whether a path is a release or a suppressed table, not a submission."""
    from hitoku.checks.submission import is_submission

    return not path.is_dir() or ((path / "checker" / "summary.json").is_file() and not is_submission(path))


def _audit_release(path: Path, *, as_json: bool) -> None:
    """Audit a release."""
    from hitoku.cli.audit import audit

    typer.echo(f"{path.name} is a release, not a submission: running hitoku audit", err=True)
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
    """Check a table that was suppressed by hand or by τ-ARGUS."""
    from hitoku.checks.submission import check_table
    from hitoku.io import read_marked_cells
    from hitoku.io.argus import read_suppressed_table

    if not by or policy is None:
        raise ParameterError(
            "not_a_submission",
            "{file} is not a submission; for a hand-suppressed table, pass --by, --value and --policy",
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
            echo(f"   released before, with receipt {each.receipt}")
        echo("")
    for remark in found.findings:
        echo(f"{remark}")
    for decision in found.unused:
        echo(f"not used: {decision.output}: {decision}")
    principles = list(next(iter(found.matrix.values())))
    # Escape names first, so that the columns stay aligned.
    lines = [["output", *principles]]
    lines += [[visible(name), *row.values()] for name, row in found.matrix.items()]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        echo("  ".join(map(str.ljust, line, widths)).rstrip())
    counts = ", ".join(f"{n} {status}" for status, n in found.tally.items() if n)
    echo(f"{'nothing fails' if found.ok else 'NOT to be released as it is'}: {counts}; {found.scope}")
    if found.undecided:
        echo(f"undecided: {', '.join(found.undecided)}")
