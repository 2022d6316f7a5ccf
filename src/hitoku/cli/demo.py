"""``hitoku demo``: the whole way on a made-up register."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from hitoku.cli.exit_codes import FOUND
from hitoku.cli.terminal import AsJson, print_json, progress
from hitoku.errors import ParameterError, did_you_mean

BY = ("region", "activity", "size")
SMALL = ["activity", "size"]  # small enough for every method to finish at once


def demo(
    out: Annotated[Path, typer.Option(help="Folder to write; must not hold anything yet.")] = Path(
        "demo-release"
    ),
    records: Annotated[int, typer.Option(min=1, help="Enterprises to invent.")] = 50_000,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, another country.")] = 1,
    by: Annotated[list[str], typer.Option(help="Variable of the table; repeat for more.")] = list(BY),  # noqa: B006 - typer copies it
    as_json: AsJson = False,
) -> None:
    """Invent a register of enterprises, tabulate, protect, attack and audit it, and write a release.

    Every place, industry and firm is made up.

    [bold]Examples[/bold]

    hitoku demo

    hitoku demo --out elsewhere --records 5000 --by region --by size
    """
    from rich.console import Console

    from hitoku.cli.summary import counts, show, show_compared
    from hitoku.files import refuse_occupied
    from hitoku.io.publication import PublicationPlan
    from hitoku.io.release.write import write_release
    from hitoku.methods.gauss import Gauss
    from hitoku.methods.greedy import Greedy
    from hitoku.methods.method import Method
    from hitoku.methods.optimal import Optimal
    from hitoku.pipeline import STAGES, compare, protect, recomputable
    from hitoku.rules.assess import assess
    from hitoku.rules.few_contributors import FewContributors
    from hitoku.rules.p_percent import PPercent
    from hitoku.rules.rule import Rule
    from hitoku.samples import register
    from hitoku.tabulation.tabulate import tabulate

    for name in by:
        if name not in BY:
            raise ParameterError(f"no variable {name!r}", where="--by", fix=did_you_mean(name, BY))
    refuse_occupied(out)
    rules: list[Rule] = [PPercent(p=10), FewContributors(n=3)]
    method = Greedy(prefer="closing")
    with progress(len(STAGES) + 4) as step:
        step("inventing enterprises")
        firms = register(records, seed)
        step("tabulating")
        table, small = (
            tabulate(
                firms.records,
                by=names,
                value="turnover",
                unit="enterprise",
                holding="holding",
                hierarchies={name: tree for name, tree in firms.hierarchies.items() if name in names},
            )
            for names in (by, SMALL)
        )
        outcome = protect(
            table,
            rules,
            method=method,
            report=lambda stage: step(STAGES[stage]),
            progress=lambda done, total: step(f"{STAGES['protect']}: {done / total:.0%}", begins=False),
        )
        step("comparing methods on a smaller table")
        methods: list[Method] = [Greedy(tidy=True), Gauss(), Optimal(cost="value", work_limit=5_000)]
        compared = compare(small, assess(small, rules), methods)
        step("writing the release")
        naive = recomputable(table, outcome.need)
        plan = PublicationPlan(
            title=f"Turnover by {', '.join(by)} (made up)",
            recipe={
                "by": by,
                "records": records,
                "seed": seed,
                "rules": [repr(r) for r in rules],
                "method": repr(method),
            },
        )
        write_release(out, outcome, plan)
    if as_json:
        print_json(
            {
                "enterprises": len(firms.records),
                "out": str(out),
                "left_blank": naive,
                **counts(outcome),
                "compared": [asdict(row) for row in compared],
            }
        )
    else:
        console = Console()
        console.print(
            f"[bold]{len(firms.records):,} enterprises[/], all made up: turnover by {', '.join(by)}\n"
        )
        show(console, outcome, naive=naive)
        console.print()
        show_compared(console, compared, title=f"Three methods on turnover by {' and '.join(SMALL)}")
        console.print(
            f"\n[bold]{out}/public[/]   what leaves: table.csv, table.html, table.xlsx"
            f"\n[bold]{out}/checker[/]  the evidence, confidential: open report.html in a browser,"
            f"\n{' ' * len(str(out))}          or check the proof: [bold]hitoku verify {out}[/]",
            soft_wrap=True,  # a path is copied from the terminal: no line break inside
        )
    if not outcome.audit.safe:
        raise typer.Exit(FOUND)
