"""``hitoku protect``: protect a table from a recipe or from records, and write a release."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hitoku.cli.recipe_options import parse_cells, parse_markers, parse_trees, read_recipe
from hitoku.cli.terminal import FOUND, AsJson, Lang, echo, notes, print_json, progress, spoken

# From this number of tables on, several processes are faster in spite of their start-up time of a second or
# two.
MANY_TABLES = 5

if TYPE_CHECKING:
    from hitoku.io.recipe import Recipe
    from hitoku.pipeline import Run


def protect(
    data: Annotated[Path, typer.Argument(help="Recipe (.toml), or records (CSV or Parquet).")],
    by: Annotated[list[str] | None, typer.Option(help="Column with codes. Repeat for several.")] = None,
    rule: Annotated[
        list[str] | None, typer.Option(help="Rule for unsafe cells, with its parameters. Repeat for several.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder to write. It must be empty or not exist. Overrides the recipe."),
    ] = None,
    value: Annotated[str | None, typer.Option(help="Column to sum. Default: count records.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column with weights.")] = None,
    unit: Annotated[str | None, typer.Option(help="Column that identifies the respondent.")] = None,
    holding: Annotated[
        str | None, typer.Option(help="Column that identifies the owner of respondents.")
    ] = None,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(help="column=file: a code list in CSV, Excel or .hrc format. Repeat for several."),
    ] = None,
    magnitude: Annotated[
        str | None, typer.Option(help="Ranking of negative contributions: signed or abs.")
    ] = None,
    missing: Annotated[
        str | None, typer.Option(help="Records without a code: error, or code to give them a code.")
    ] = None,
    unseen: Annotated[
        str | None,
        typer.Option(help="Codes that are not in the hierarchy: error, or code to give them a common code."),
    ] = None,
    total: Annotated[str | None, typer.Option(help="Code of the totals.")] = None,
    cells: Annotated[
        bool, typer.Option("--cells", help="DATA has one row per cell instead of one per respondent.")
    ] = False,
    frequency: Annotated[
        str | None, typer.Option(help="With --cells: column with the number of contributors.")
    ] = None,
    start: Annotated[
        Path | None, typer.Option(help="CSV file of cells suppressed by hand. They stay suppressed.")
    ] = None,
    mark: Annotated[str | None, typer.Option(help="Column that marks cells suppressed by hand.")] = None,
    width: Annotated[float | None, typer.Option(help="Required width of every feasibility interval.")] = None,
    method: Annotated[
        str | None,
        typer.Option(help="Method for secondary suppression: auto, optimal:cost=value, ..."),
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="Cells to publish, as region=N,size=1. Repeat for several.")
    ] = None,
    withhold: Annotated[
        list[str] | None, typer.Option(help="Cells to suppress, as region=N,size=1. Repeat for several.")
    ] = None,
    insiders: Annotated[
        str | None,
        typer.Option(
            help="Insiders considered: none, singletons, contributors. Default for magnitudes: singletons."
        ),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            help="Attacker in the scope of the verdict: outsider, groups, singletons, contributors, "
            "attributes, method, tables, released. Repeat for several. Default: the standard scope."
        ),
    ] = None,
    no_groups: Annotated[
        bool,
        typer.Option("--no-groups", help="Do not consider groups derivable from published cells."),
    ] = False,
    title: Annotated[str | None, typer.Option(help="Title of the published table.")] = None,
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format", help="Further format in public/: html, xlsx, parquet, ... Repeat for several."
        ),
    ] = None,
    decimals: Annotated[
        int | None,
        typer.Option(help="Number of decimals to which values are rounded before they are summed."),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Encoding of a text file: cp1252, shift-jis, ... Default: detected.")
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="Column separator of a text file, or tab. Default: detected.")
    ] = None,
    decimal: Annotated[
        str | None, typer.Option(help="Decimal separator of a text file, . or , Default: detected.")
    ] = None,
    thousands: Annotated[
        str | None, typer.Option(help="Thousands separator of a text file. Default: detected.")
    ] = None,
    na: Annotated[
        str | None, typer.Option(help="Entries that stand for a missing number, as x,-. Codes stay codes.")
    ] = None,
    missing_value: Annotated[
        str | None,
        typer.Option(help="Records without a value: error, zero (counted with the value 0) or drop."),
    ] = None,
    jobs: Annotated[
        str | None,
        typer.Option(
            help="Parallel work on independent groups of tables: number of processes, dask, spark, "
            "dask:tcp://host:8786, ... Default: one process, or all processors for many tables."
        ),
    ] = None,
    memory_limit: Annotated[
        str | None, typer.Option(help="Memory for tabulation, as 4GB. Default: most of it.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write the release even if it is not safe.")] = False,
    lang: Lang = None,
    as_json: AsJson = False,
) -> None:
    """Protect a table from a recipe or from records, and write a release.

    The records are tabulated, unsafe cells are found, secondary cells are suppressed, and the result is
    attacked and audited. A recipe contains all settings in one file (hitoku init drafts one); the options
    describe a single table.
    The verdict has one row for each attacker. If an attacker in scope succeeds, or the answer for a single
    table is not decided, nothing is written (exit code 1). With --force the release is written and marked as
    not safe.

    [bold]Examples[/bold]

    hitoku protect recipe.toml --out release

    hitoku protect firms.csv --by region --by activity --value turnover --holding owner
    --rule p_percent:p=10 --rule few_contributors:n=3 --hierarchy region=regions.csv
    --method optimal:cost=value,time_limit_s=60 --out release

    hitoku protect by_hand.csv --cells --by region --by job --value n --frequency n --mark status
    --rule min_frequency:n=5 --width 9 --out release
    """
    options: dict[str, Any] = {
        "cells" if cells else "data": str(data),
        "by": by,
        "rules": rule,
        "value": value,
        "weight": weight,
        "unit": unit,
        "holding": holding,
        "hierarchies": parse_trees(hierarchy),
        "magnitude": magnitude,
        "missing": missing,
        "unseen": unseen,
        "total": total,
        "frequency": frequency,
        "start": None if start is None else str(start),
        "mark": mark,
        "width": width,
        "method": method,
        "keep": parse_cells("--keep", keep),
        "withhold": parse_cells("--withhold", withhold),
        "insiders": insiders,
        "against": against,
        "groups": False if no_groups else None,
        "title": title,
        "formats": formats,
        "decimals": decimals,
        "encoding": encoding,
        "separator": "\t" if separator in {"tab", r"\t"} else separator,
        "decimal": decimal,
        "thousands": thousands,
        "na": parse_markers(na),
        "missing_value": missing_value,
    }
    with notes("hitoku.reading") as read, notes("hitoku.writing") as left_out:
        recipe = read_recipe(data, options, out)
        run = _run(recipe, out, force=force, n_jobs=jobs, memory_limit=memory_limit, lang=spoken(lang))
    if as_json:
        _print_counts(run, read)
    else:
        _show(run, read)
        for note in left_out:
            echo(note)
    if run.verdict.refused:
        raise typer.Exit(FOUND)


def _run(recipe: Recipe, out: Path | None, **options: Any) -> Run:
    """Run a recipe with a progress bar."""
    # Deferred imports keep --help fast.
    from hitoku.pipeline import STAGES, STEPS, run_recipe

    if options["n_jobs"] is None and recipe.keys.jobs is None and len(recipe.tables) >= MANY_TABLES:
        options["n_jobs"] = -1
    # Counts and magnitudes go through the same stages, one after the other.
    with progress(len(STEPS) + (len(STAGES) if recipe.counts else 0)) as step:
        return run_recipe(
            recipe,
            out,
            **options,
            report=lambda stage: step(STEPS[stage]),
            progress=lambda done, total: step(f"{STEPS['protect']}: {_share(done, total)}", begins=False),
        )


def _share(done: float, total: float) -> str:
    return f"{done / total:.0%}" if 0 < total < float("inf") else f"{done:,.0f}"


def _print_counts(run: Run, read: Sequence[str]) -> None:
    from hitoku.cli.summary import counts

    facts_by_kind = {kind: counts(outcome) for kind, outcome in run.outcomes.items()}
    facts: dict[str, Any] = (
        dict(facts_by_kind) if len(facts_by_kind) > 1 else next(iter(facts_by_kind.values()))
    )
    print_json(
        {
            **facts,
            "read": list(read),
            "out": None if run.folder is None else str(run.folder),
            "safe": run.safe,
            "verdict": run.verdict.as_dict(),
        }
    )


def _show(run: Run, read: Sequence[str]) -> None:
    from rich.console import Console

    from hitoku.cli.summary import show, show_groups

    console = Console()
    for note in read:
        console.print(note, style="dim", soft_wrap=True, markup=False, highlight=False)
    if run.several:
        show_groups(console, run)
    for kind, outcome in () if run.several else run.outcomes.items():
        if len(run.outcomes) > 1:
            console.rule(kind)
        show(console, outcome, naive=run.left_blank[kind])
    said = f"written to {run.folder}" if run.folder else "nothing was written: the release is not safe"
    warned = ", marked as NOT SAFE" if run.verdict.refused and run.folder else ""
    console.print(f"\n{said}{warned}", soft_wrap=True)
    if run.folder and any(run.places.values()):
        page = "checker/overview.html"
        console.print(f"overview of the tables and their links: {run.folder / page}", soft_wrap=True)
