"""``hitoku protect``: from a recipe, or from records and options, to a release with its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from hitoku.cli.exit_codes import FOUND
from hitoku.cli.terminal import AsJson, print_json, progress
from hitoku.errors import ParameterError

RECIPE = ".toml"


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
        typer.Option(help="What chooses the cells withheld with them: greedy, optimal:cost=value, ..."),
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="Cells that stay published, as region=N,size=1; repeat.")
    ] = None,
    withhold: Annotated[
        list[str] | None, typer.Option(help="Cells withheld in any case, as region=N,size=1; repeat.")
    ] = None,
    insiders: Annotated[
        bool, typer.Option("--insiders", help="Protect from contributors who know their own amounts.")
    ] = False,
    title: Annotated[str | None, typer.Option(help="Heading of the published table.")] = None,
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", help="File in public/ beside table.csv: html, xlsx, parquet, ...; repeat."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write the release even if it is not safe.")] = False,
    as_json: AsJson = False,
) -> None:
    """Tabulate records, find the unsafe cells, withhold others with them, attack, audit, and write a release.

    A recipe says everything in one file; hitoku init writes one. The options say the same for a single table.
    Nothing is written when the audit fails (exit code 1), unless --force says so; the release is then marked
    as not safe.

    [bold]Examples[/bold]

    hitoku protect recipe.toml --out release

    hitoku protect firms.csv --by region --by activity --value turnover --holding owner
    --rule p_percent:p=10 --rule few_contributors:n=3 --hierarchy region=regions.csv
    --method optimal:cost=value,time_limit_s=60 --out release

    hitoku protect by_hand.csv --cells --by region --by job --value n --frequency n --mark status
    --rule min_frequency:n=5 --width 9 --out release
    """
    # A command loads what it needs.
    from rich.console import Console

    from hitoku.cli.summary import counts, show
    from hitoku.files import require_path
    from hitoku.io.recipe.recipe import Recipe
    from hitoku.pipeline import STAGES, recomputable
    from hitoku.pipeline.recipe import STEPS, run_recipe

    path = str(require_path(data))
    options: dict[str, Any] = {
        "cells" if cells else "data": path,
        "by": by,
        "rules": rule,
        "value": value,
        "weight": weight,
        "unit": unit,
        "holding": holding,
        "hierarchies": _trees(hierarchy),
        "magnitude": magnitude,
        "frequency": frequency,
        "start": None if start is None else str(start),
        "mark": mark,
        "width": width,
        "method": method,
        "keep": _selections("--keep", keep),
        "withhold": _selections("--withhold", withhold),
        "insiders": insiders or None,
        "title": title,
        "formats": formats,
    }
    if data.suffix.lower() == RECIPE:
        _refuse_options([name for name, given in options.items() if given and name != "data"])
        recipe = Recipe.read(data)
    else:
        recipe = Recipe.of(options)
    if out is None and recipe.keys.out is None:
        raise ParameterError(
            "nothing says where to write the release",
            where=data.name if data.suffix.lower() == RECIPE else "--out",
            fix='give --out release, or add out = "release" to the recipe',
        )
    # Counts and magnitudes go through the same stages one after the other.
    with progress(len(STEPS) + (len(STAGES) if recipe.counts else 0)) as step:
        run = run_recipe(
            recipe,
            out,
            force=force,
            report=lambda stage: step(STEPS[stage]),
            progress=lambda done, total: step(f"{STEPS['protect']}: {_share(done, total)}", begins=False),
        )
    if as_json:
        told = {kind: counts(outcome) for kind, outcome in run.outcomes.items()}
        facts = told if len(told) > 1 else told["table"]
        print_json({**facts, "out": None if run.folder is None else str(run.folder), "safe": run.safe})
    else:
        console = Console()
        for kind, outcome in run.outcomes.items():
            if len(run.outcomes) > 1:
                console.rule(kind)
            show(console, outcome, naive=recomputable(outcome.table, outcome.need))
        said = f"written to {run.folder}" if run.folder else "nothing was written: the release is not safe"
        warned = "" if run.safe or not run.folder else ", marked as NOT SAFE"
        console.print(f"\n{said}{warned}", soft_wrap=True)
    if not run.safe:
        raise typer.Exit(FOUND)


def _share(done: float, total: float) -> str:
    return f"{done / total:.0%}" if 0 < total < float("inf") else f"{done:,.0f}"


def _refuse_options(given: Sequence[str]) -> None:
    """Raise when a recipe is given and options besides: one of them would be ignored."""
    if given:
        option = {"rules": "rule", "hierarchies": "hierarchy", "formats": "format"}.get(given[0], given[0])
        raise ParameterError(
            "a recipe says everything itself, an option for the table would contradict it",
            where=f"--{option}",
            fix=f"write {given[0]} into the recipe; only --out, --force and --json go with one",
        )


def _trees(words: Sequence[str] | None) -> dict[str, list[str]] | None:
    """Gather files by column; a column may have several groupings."""
    trees: dict[str, list[str]] = {}
    for name, file in _pairs("--hierarchy", words, "region=regions.csv"):
        trees.setdefault(name, []).append(file)
    return trees or None


def _pairs(option: str, words: Sequence[str] | None, example: str) -> list[tuple[str, str]]:
    """Split words of the form name=text."""
    pairs = []
    for word in words or ():
        name, equals, text = (part.strip() for part in word.partition("="))
        if not equals or not name or not text:
            what = "names no column and file" if option == "--hierarchy" else "names no variable and code"
            raise ParameterError(f"{word!r} {what}", where=option, fix=f"write {option} {example}")
        pairs.append((name, text))
    return pairs


def _selections(option: str, words: Sequence[str] | None) -> list[dict[str, list[str]]] | None:
    """Read cells by their codes: region=North,size=1+2."""
    if not words:
        return None
    example = "region=North,size=1+2"
    return [
        {name: codes.split("+") for name, codes in _pairs(option, word.split(","), example)} for word in words
    ]
