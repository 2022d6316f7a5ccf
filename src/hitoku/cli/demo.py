"""``hitoku demo``: protect a synthetic business register."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hitoku.cli.terminal import FOUND, AsJson, Lang, print_json, progress, spoken
from hitoku.errors import ParameterError, did_you_mean

if TYPE_CHECKING:
    from hitoku.pipeline import DemoRun

BY = ("region", "activity", "size")


def demo(
    out: Annotated[Path, typer.Option(help="Folder to write. It must be empty or not exist.")] = Path(
        "demo-release"
    ),
    records: Annotated[int, typer.Option(min=1, help="Number of synthetic enterprises.")] = 50_000,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 1,
    by: Annotated[list[str], typer.Option(help="Variable of the table. Repeat for several.")] = list(BY),  # noqa: B006 - typer copies it
    methods: Annotated[
        bool, typer.Option("--methods", help="Also compare three methods on a smaller table.")
    ] = False,
    lang: Lang = None,
    as_json: AsJson = False,
) -> None:
    """Protect a synthetic business register and write a release.

    The register is tabulated, protected, attacked and audited. All regions, activities and enterprises are
    synthetic.

    [bold]Examples[/bold]

    hitoku demo

    hitoku demo --out elsewhere --records 5000 --by region --by size

    hitoku demo --methods
    """
    # Deferred imports keep --help fast.
    from hitoku.pipeline import COMPARING, DEMO_STEPS, run_demo

    for name in by:
        if name not in BY:
            raise ParameterError(
                "unknown_variable",
                "no variable {variable!r}",
                where="--by",
                fix=did_you_mean(name, BY),
                variable=name,
            )
    steps = {**DEMO_STEPS, **(COMPARING if methods else {})}
    with progress(len(steps)) as step:
        done = run_demo(
            out,
            records=records,
            seed=seed,
            by=by,
            report=lambda stage: step(steps[stage]),
            progress=lambda n, total: step(f"{steps['protect']}: {n / total:.0%}", begins=False),
            lang=spoken(lang),
            methods=methods,
        )
    if as_json:
        _print_counts(done, out)
    else:
        _show(done, out, by)
    if done.run.verdict.refused:
        raise typer.Exit(FOUND)


def _print_counts(done: DemoRun, out: Path) -> None:
    from hitoku.cli.summary import counts

    print_json(
        {
            "enterprises": done.n_enterprises,
            "out": str(out),
            "left_blank": done.run.left_blank["table"],
            **counts(done.run.outcome),
            "compared": [asdict(row) for row in done.compared or ()],
        }
    )


def _show(done: DemoRun, out: Path, by: Sequence[str]) -> None:
    from rich.console import Console

    from hitoku.cli.summary import show, show_compared
    from hitoku.pipeline import SMALL

    console = Console()
    console.print(f"[bold]{done.n_enterprises:,} synthetic enterprises[/]: turnover by {', '.join(by)}\n")
    show(console, done.run.outcome, naive=done.run.left_blank["table"])
    if done.compared is not None:
        console.print()
        show_compared(console, done.compared, title=f"Three methods on turnover by {' and '.join(SMALL)}")
    console.print(
        f"\n[bold]{out}/public[/]   published files: table.csv, table.html, table.xlsx"
        f"\n[bold]{out}/checker[/]  evidence, confidential: open report.html in a browser,"
        f"\n{' ' * len(str(out))}          or verify the proof: [bold]hitoku verify {out}[/]",
        soft_wrap=True,  # no line break inside a path that users copy
    )
