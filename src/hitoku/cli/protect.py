"""``hitoku protect``: from records to a release with its evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hitoku.cli import FOUND
from hitoku.cli.terminal import AsJson, existing, print_json, progress
from hitoku.errors import ParameterError, did_you_mean


def protect(
    data: Annotated[Path, typer.Argument(help="Records: a CSV or Parquet file.")],
    by: Annotated[list[str], typer.Option(help="Column with codes; repeat for more.")],
    rule: Annotated[list[str], typer.Option(help="What makes a cell unsafe; repeat for more.")],
    out: Annotated[Path, typer.Option(help="Folder to write; must not hold anything yet.")],
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
    width: Annotated[float | None, typer.Option(help="Required width of every interval.")] = None,
    method: Annotated[str, typer.Option(help="What chooses the cells withheld with them.")] = "greedy",
    force: Annotated[bool, typer.Option("--force", help="Write the release even if it is not safe.")] = False,
    as_json: AsJson = False,
) -> None:
    """Tabulate records, find the unsafe cells, withhold others with them, attack, audit, and write a release.

    Nothing is written when the audit fails (exit code 1), unless --force says so; the summary then says
    that the release is not safe.

    [bold]Example[/bold]

    hitoku protect firms.csv --by region --by activity --value turnover --holding owner
    --rule p_percent:p=10 --rule few_contributors:n=3 --hierarchy region=regions.csv --out release
    """
    # A command loads what it needs.
    from rich.console import Console

    from hitoku.cli.summary import counts, show
    from hitoku.io.code_tree import read_code_tree
    from hitoku.io.folder import refuse_occupied
    from hitoku.io.release_folder import write_release_folder
    from hitoku.methods import METHODS
    from hitoku.pipeline import STAGES, recomputable
    from hitoku.pipeline import protect as run
    from hitoku.rules import RULES, rule_from_word
    from hitoku.tabulate.tabulate import tabulate

    refuse_occupied(out)
    if method not in METHODS:
        raise ParameterError(f"no method {method!r}", where="--method", fix=did_you_mean(method, METHODS))
    rules = [rule_from_word(word, RULES) for word in rule]
    trees = dict(_named(word) for word in hierarchy or [])
    with progress(len(STAGES) + 2) as step:
        step("tabulating")
        table = tabulate(
            existing(data),
            by,
            value=value,
            weight=weight,
            unit=unit,
            holding=holding,
            hierarchies={name: read_code_tree(existing(path)) for name, path in trees.items()},
            magnitude=magnitude,  # type: ignore[arg-type]  # tabulate refuses any other word
        )
        outcome = run(
            table,
            rules,
            method=METHODS[method](),
            width=width,
            report=lambda stage: step(STAGES[stage]),
            progress=lambda done, total: step(f"{STAGES['protect']}: {done / total:.0%}", begins=False),
        )
        written = outcome.audit.safe or force
        if written:
            step("writing the release")
            recipe = {"by": by, "rules": [repr(r) for r in rules], "method": method, "width": width}
            write_release_folder(out, table, outcome.need, outcome.protection, outcome.audit, recipe=recipe)
    if as_json:
        print_json({"out": str(out) if written else None, **counts(outcome)})
    else:
        console = Console()
        show(console, outcome, naive=recomputable(table, outcome.need))
        console.print(f"\nwritten to {out}" if written else "\nnothing was written: the release is not safe")
    if not outcome.audit.safe:
        raise typer.Exit(FOUND)


def _named(word: str) -> tuple[str, Path]:
    name, equals, path = word.partition("=")
    if not equals or not name or not path:
        raise ParameterError(
            f"{word!r} names no column and file",
            where="--hierarchy",
            fix="write --hierarchy region=regions.csv",
        )
    return name, Path(path)
