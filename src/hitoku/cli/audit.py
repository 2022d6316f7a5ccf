"""``hitoku audit``: check that a release protects every unsafe cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hitoku.cli.recipe_options import parse_trees
from hitoku.cli.terminal import FOUND, MAX_FINDINGS, AsJson, echo, notes, print_json, progress
from hitoku.errors import ParameterError
from hitoku.files import refuse_existing, require_path

if TYPE_CHECKING:
    from hitoku.evidence import Audit
    from hitoku.model import Finding, Mask, Table, Verdict
    from hitoku.rules import Rule

# With a null space of one dimension, a single leaked value determines all suppressed values.
FEW_MOVES = 3
NO_ARITHMETIC: Mapping[str, str] = MappingProxyType({})


def audit(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="Release folder, JJ file or CSV file of marked cells. Several folders are audited together."
        ),
    ],
    by: Annotated[list[str] | None, typer.Option(help="CSV: column with codes. Repeat for several.")] = None,
    value: Annotated[str, typer.Option(help="CSV: column with the true values.")] = "value",
    frequency: Annotated[
        str | None, typer.Option(help="CSV: column with the number of contributors.")
    ] = None,
    mark: Annotated[str, typer.Option(help="CSV: column that marks suppressed cells.")] = "status",
    rule: Annotated[
        list[str] | None, typer.Option(help="CSV: rule with its parameters. Repeat for several.")
    ] = None,
    hierarchy: Annotated[
        list[str] | None, typer.Option(help="CSV: column=file, a code list. Repeat for several.")
    ] = None,
    total: Annotated[str, typer.Option(help="CSV: code of the totals.")] = "Total",
    width: Annotated[
        float | None, typer.Option(help="CSV: required width of every feasibility interval.")
    ] = None,
    no_groups: Annotated[
        bool,
        typer.Option("--no-groups", help="CSV: do not consider groups derivable from published cells."),
    ] = False,
    integer: Annotated[
        bool, typer.Option("--integer", help="JJ file: values are counts, and the attacker knows it.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(help="Several folders: the file of their records. Default: the one that they name."),
    ] = None,
    certificate: Annotated[Path | None, typer.Option(help="File for the proof. It must not exist.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check that a release protects every unsafe cell.

    A table that was suppressed by hand is a CSV file with one row per cell: codes, true value, and a mark on
    suppressed cells. In a JJ file, cells with status u (unsafe) or m count as suppressed.
    A published table from elsewhere has x, c or other marks instead of some values; without --rule, the
    intervals that its sums imply are computed.
    Several release folders are judged together, for an attacker who has all their public files. The folder of
    a publication stands for all its groups of tables.
    Exit code 1: an attacker in scope succeeds, or the answer for a single table is not decided. Contributors
    as attackers are tried by hitoku attack.

    [bold]Examples[/bold]

    hitoku audit demo-release

    hitoku audit turnover-by-town turnover-by-size

    hitoku audit table.jj --certificate proof.json.gz

    hitoku audit cells.csv --by region --by job --value n --frequency n --rule min_frequency:n=5 --width 9

    hitoku audit "book.xlsx#Table 1" --by region --by job --value n
    """
    # Deferred imports keep --help fast.
    from hitoku.evidence import audit as examine
    from hitoku.io import read_jj, read_jj_pattern
    from hitoku.io.release import release_folders
    from hitoku.model import Protection, Release
    from hitoku.pipeline import AttackedFolder, judge_cells, judge_folder
    from hitoku.rules import assess
    from hitoku.tabulation import is_text_file

    paths = [each for path in paths for each in release_folders(path)]
    if certificate is not None:
        _refuse_place(certificate, len(paths))
    if len(paths) > 1:
        _audit_together(paths, data, as_json=as_json)
        return
    (path,) = paths
    is_text = is_text_file(require_path(path))
    if is_text and by and not rule:
        _audit_public(path, by, value, parse_trees(hierarchy), total, as_json=as_json)
        return
    folder, rules = None, None
    if path.is_dir():
        folder = AttackedFolder.read(path)
        table, need, release = folder.units, folder.need, folder.release
    elif is_text:
        trees = parse_trees(hierarchy) or {}
        with notes("hitoku.reading") as read:
            table, withheld, rules = _read_by_hand(path, by, value, mark, rule, trees, total, frequency)
        for note in () if as_json else read:
            echo(note)
        need = assess(table, rules, width=width, groups=not no_groups)
        release = Release.of(table, Protection.withhold(table, withheld, need))
    else:
        table, need = read_jj(path, integer=integer)
        release = Release.of(table, Protection.withhold(table, read_jj_pattern(path), need))
    with progress(1) as step:
        step("unsafe cells")
        found = examine(
            table,
            need,
            release,
            progress=lambda done, most: step(f"{done:,} of {most:,} unsafe cells settled", begins=False),
        )
    verdict = (
        judge_cells(found, rules, groups=not no_groups) if folder is None else judge_folder(folder, found)
    )
    _report(path, verdict, found, certificate, as_json=as_json)


def _report(path: Path, verdict: Verdict, found: Audit, certificate: Path | None, *, as_json: bool) -> None:
    """Write the certificate, print the result, and exit."""
    proof = found.certificate
    if certificate is not None and proof is not None:
        proof.write(certificate)
    if as_json:
        remarks = [str(finding) for finding in found.findings]
        print_json(
            {
                "path": str(path),
                "safe": found.safe,
                "verdict": verdict.as_dict(),
                **found.summary,
                "findings": remarks,
                "arithmetic": _arithmetic(found),
            }
        )
    else:
        _show([path], verdict, found, found.findings, _arithmetic(found))
        if certificate is not None and proof is not None:
            typer.echo(f"  proof: {certificate}")
    if verdict.refused:
        raise typer.Exit(FOUND)


def _audit_public(
    path: Path,
    by: list[str],
    value: str,
    hierarchies: dict[str, list[str]] | None,
    total: str,
    *,
    as_json: bool,
) -> None:
    """Print what the sums of a published table from elsewhere reveal."""
    from hitoku.pipeline import read_public_table

    with notes("hitoku.reading") as read:
        found = read_public_table(path, by, value, hierarchies=hierarchies, total=total)
    rows, n_exact = found.rows(), len(found.recomputable)
    if as_json:
        facts = {"cells": found.release.n_cells, "withheld": len(rows), "recomputable": n_exact}
        print_json({"path": str(path), **facts, "null_dimension": found.null_dimension, "intervals": rows})
    else:
        for note in read:
            echo(note)
        typer.echo(f"{len(rows):,} cells are suppressed; {n_exact:,} of them can be recomputed exactly")
        for row in rows[:MAX_FINDINGS]:
            echo(f"  {row['cell']}: {row['low']:,.10g} to {row['high']:,.10g}")
        if len(rows) > MAX_FINDINGS:
            typer.echo(f"  and {len(rows) - MAX_FINDINGS:,} more; --json lists them all")
        typer.echo(f"null-space dimension of the suppressed cells: {found.null_dimension:,}")
        typer.echo(
            "Not judged: whether suppressed or published cells are unsafe, and what contributors can infer. "
            "That needs the true values, the contributors and --rule."
        )
    if n_exact:
        raise typer.Exit(FOUND)


def _read_by_hand(
    path: Path,
    by: list[str] | None,
    value: str,
    mark: str,
    specs: list[str] | None,
    trees: Mapping[str, list[str]],
    total: str,
    frequency: str | None,
) -> tuple[Table, Mask, list[Rule]]:
    """Read a table that was suppressed by hand, the suppressed cells and the rules."""
    from hitoku.io import read_code_tree, read_marked_cells
    from hitoku.rules import RULES, rule_from_spec

    if not by or not specs:
        raise ParameterError(
            "csv_without_codes_and_rules",
            "a CSV or Excel file says neither which columns are codes nor which rules apply",
            where=str(path),
            fix="give --by for every column of codes, and at least one --rule; without --rule, only what the "
            "published sums reveal is computed",
        )
    rules = [rule_from_spec(spec, RULES) for spec in specs]
    read = {name: [read_code_tree(each, total) for each in files] for name, files in trees.items()}
    columns: dict[str, Any] = {"frequency": frequency, "hierarchies": read, "total": total}
    return *read_marked_cells(path, by, value, mark, **columns), rules


def _arithmetic(found: Audit) -> dict[str, str]:
    """Return the published numbers that disclose each failing cell."""
    from hitoku.evidence import CellOutcome

    return {
        found.table.describe(cell): found.why(cell)
        for cell, outcome in found.outcomes.items()
        if outcome in {CellOutcome.RECOMPUTABLE, CellOutcome.NARROW}
    }


def _refuse_place(certificate: Path, n_folders: int) -> None:
    """Raise if the proof cannot be written to this file."""
    if n_folders > 1:
        raise ParameterError(
            "joint_audit_has_no_proof_file",
            "a joint audit of several folders cannot write one proof file",
            where="--certificate",
            fix="omit it; each folder keeps its own proof in checker/",
        )
    refuse_existing(certificate)


def _show(
    paths: Sequence[Path],
    verdict: Verdict,
    found: Audit,
    findings: Sequence[Finding],
    arithmetic: Mapping[str, str] = NO_ARITHMETIC,
) -> None:
    """Print the verdict with the main figures and findings."""
    from rich.console import Console

    from hitoku.cli.summary import show_verdict

    counted = found.summary
    typer.echo(", ".join(map(str, paths)))
    show_verdict(Console(), verdict)
    typer.echo(
        f"  {counted['unsafe']:,} unsafe cells of {counted['cells']:,}, {counted['withheld']:,} suppressed"
    )
    moves = counted["null_dimension"]
    risk = "; few: one leaked value may disclose others" if found.safe and moves < FEW_MOVES else ""
    left = f"null-space dimension of the suppressed cells: {moves:,}{risk}"
    typer.echo(f"  {left if counted['withheld'] else 'no cell is suppressed'}")
    for finding in findings[:MAX_FINDINGS]:
        typer.echo(f"  {finding}")
        if finding.place in arithmetic:
            echo(f"    {arithmetic[finding.place]}")
    if len(findings) > MAX_FINDINGS:
        typer.echo(f"  and {len(findings) - MAX_FINDINGS:,} more; --json lists them all")


def _audit_together(paths: list[Path], data: Path | None, *, as_json: bool) -> None:
    """Audit several release folders together."""
    from hitoku.pipeline import audit_together, judge_together

    for path in paths:
        if not require_path(path).is_dir():
            raise ParameterError(
                "joint_audit_needs_folders",
                "only release folders can be audited together",
                where=str(path),
                fix="pass folders written by hitoku protect, or a single file",
            )
    found = audit_together(paths, data=data)
    verdict = judge_together(found.audit, found.groups, found.undecided)
    disclosed = verdict["tables"].findings
    places = {finding.place for finding in disclosed}
    findings = [*disclosed, *(finding for finding in found.findings if finding.place not in places)]
    if as_json:
        print_json(
            {
                "paths": [str(path) for path in paths],
                "safe": found.audit.safe,
                "verdict": verdict.as_dict(),
                **found.audit.summary,
                "findings": [str(finding) for finding in findings],
            }
        )
    else:
        _show(paths, verdict, found.audit, findings)
    if verdict.refused:
        raise typer.Exit(FOUND)
