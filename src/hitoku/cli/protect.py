"""``hitoku protect``: from a recipe, or from records and options, to a release with its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hitoku.cli.recipe_options import parse_cells, parse_trees, read_recipe
from hitoku.cli.terminal import FOUND, AsJson, Lang, notes, print_json, progress, spoken

# Starting other processes takes a second or two: worth it from so many tables on.
MANY_TABLES = 5

if TYPE_CHECKING:
    from hitoku.io.recipe import Recipe
    from hitoku.pipeline import Run


def protect(
    data: Annotated[Path, typer.Argument(help="A recipe (.toml), or records: a CSV or Parquet file.")],
    by: Annotated[list[str] | None, typer.Option(help="Column with codes; repeat for more.")] = None,
    rule: Annotated[list[str] | None, typer.Option(help="What makes a cell unsafe; repeat for more.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder to write, must not hold anything yet; instead of the recipe's."),
    ] = None,
    value: Annotated[
        str | None, typer.Option(help="Column to add up; left out, records are counted.")
    ] = None,
    weight: Annotated[str | None, typer.Option(help="Column with weights.")] = None,
    unit: Annotated[str | None, typer.Option(help="Column that names the respondent.")] = None,
    holding: Annotated[str | None, typer.Option(help="Column that names the owner of respondents.")] = None,
    hierarchy: Annotated[
        list[str] | None, typer.Option(help="column=file.csv with the columns code and parent; repeat.")
    ] = None,
    magnitude: Annotated[str | None, typer.Option(help="Contributions below zero: signed or abs.")] = None,
    missing: Annotated[
        str | None, typer.Option(help="Records without a code: error, or code to put them under one.")
    ] = None,
    unseen: Annotated[
        str | None, typer.Option(help="Codes that the hierarchy lacks: error, or code to put them under one.")
    ] = None,
    total: Annotated[str | None, typer.Option(help="Code of the totals.")] = None,
    cells: Annotated[
        bool, typer.Option("--cells", help="DATA has one row per cell, not one per respondent.")
    ] = False,
    frequency: Annotated[str | None, typer.Option(help="With --cells: column with the respondents.")] = None,
    start: Annotated[
        Path | None, typer.Option(help="CSV file of cells withheld by hand; they stay so.")
    ] = None,
    mark: Annotated[str | None, typer.Option(help="Column that marks cells withheld by hand.")] = None,
    width: Annotated[float | None, typer.Option(help="Required width of every interval.")] = None,
    method: Annotated[
        str | None,
        typer.Option(help="What chooses the cells withheld with them: auto, optimal:cost=value, ..."),
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="Cells that stay published, as region=N,size=1; repeat.")
    ] = None,
    withhold: Annotated[
        list[str] | None, typer.Option(help="Cells withheld in any case, as region=N,size=1; repeat.")
    ] = None,
    insiders: Annotated[
        str | None,
        typer.Option(
            help="Who knows own amounts: none, singletons, contributors; left out, singletons of magnitudes."
        ),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            help="Attacker that the verdict depends on: outsider, groups, singletons, contributors, "
            "attributes, method, tables, released; repeat for more. Left out, the default scope."
        ),
    ] = None,
    no_groups: Annotated[
        bool,
        typer.Option("--no-groups", help="Consider cells only, not groups that published cells add up to."),
    ] = False,
    title: Annotated[str | None, typer.Option(help="Heading of the published table.")] = None,
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", help="File in public/ beside table.csv: html, xlsx, parquet, ...; repeat."),
    ] = None,
    decimals: Annotated[
        int | None, typer.Option(help="Round values to so many decimals before they are added.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Encoding of a text file: cp1252, shift-jis, ...; left out, found.")
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="Sign between columns of a text file, or tab; left out, found.")
    ] = None,
    decimal: Annotated[
        str | None, typer.Option(help="Sign before decimals in a text file, . or ,; left out, found.")
    ] = None,
    thousands: Annotated[
        str | None, typer.Option(help="Sign between groups of three digits in a text file; left out, found.")
    ] = None,
    jobs: Annotated[
        str | None,
        typer.Option(
            help="Where groups of tables that share nothing are worked on: so many processes, dask, spark, "
            "dask:tcp://host:8786, ...; left out, one or all processors."
        ),
    ] = None,
    memory_limit: Annotated[
        str | None, typer.Option(help="Memory for reading and adding up records: 4GB; left out, most of it.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write the release even if the verdict refuses it.")
    ] = False,
    lang: Lang = None,
    as_json: AsJson = False,
) -> None:
    """Tabulate records, find the unsafe cells, withhold others with them, attack, audit, and write a release.

    A recipe says everything in one file; hitoku init writes one. The options say the same for a single table.
    The verdict has one row per attacker. Nothing is written when one in scope fails, or is not decided for a
    single table (exit code 1), unless --force says so; the release is then marked as not safe.

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
    }
    with notes("hitoku.reading") as read:
        recipe = read_recipe(data, options, out)
        run = _run(recipe, out, force=force, n_jobs=jobs, memory_limit=memory_limit, lang=spoken(lang))
    if as_json:
        _print_counts(run, read)
    else:
        _show(run, read)
    if run.verdict.refused:
        raise typer.Exit(FOUND)


def _run(recipe: Recipe, out: Path | None, **options: Any) -> Run:
    """Run a recipe with a progress bar."""
    # A command loads what it needs.
    from hitoku.pipeline import STAGES, STEPS, run_recipe

    if options["n_jobs"] is None and recipe.keys.jobs is None and len(recipe.tables) >= MANY_TABLES:
        options["n_jobs"] = -1
    # Counts and magnitudes go through the same stages one after the other.
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

    told = {kind: counts(outcome) for kind, outcome in run.outcomes.items()}
    facts: dict[str, Any] = dict(told) if len(told) > 1 else next(iter(told.values()))
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
        console.print(
            f"which tables link where, and what is left of them: {run.folder / page}", soft_wrap=True
        )
