"""``hitoku reproduce``: the papers' tables and figures, computed again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hitoku.errors import DataError
from hitoku.files import require_path

if TYPE_CHECKING:
    from hitoku_papers.castro_2012 import TableInstance
    from hitoku_papers.reproduction import Reproduction

reproduce = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")

Jobs = Annotated[int | None, typer.Option(min=1, help="Processes; left out, one for each processor.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Seed = Annotated[int, typer.Option(min=0, help="Of everything that is drawn.")]


@reproduce.callback()
def papers() -> None:
    """Reproduce the tables and figures of a paper and compare them with the published numbers."""


@contextmanager
def counting() -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar for a count whose total may grow; nothing where standard error is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("")
        yield lambda done, total, label: bar.update(task, completed=done, total=total, description=label)


def processors(jobs: int | None) -> int:
    """Return the number of processes to start."""
    return jobs or os.cpu_count() or 1


@reproduce.command("castro-2012")
def castro_2012(
    instances: Annotated[
        Path | None,
        typer.Option(help="JJ file, plain or gzip, or a folder of them; left out, small tables are made up."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder to write; a run in it is taken up again.")] = Path(
        "castro-2012"
    ),
    replications: Annotated[int, typer.Option(min=1, help="Draws for each scenario.")] = 10,
    search: Annotated[
        int,
        typer.Option(min=0, help="Draws with which other readings are tried, 2 or more; 0 for none."),
    ] = 0,
    seed: Seed = 1,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Undo controlled tabular adjustment in scenarios B1, B2, B3 and C: Tables 1 to 9 of Castro (2012).

    An interrupted run goes on where it was when it is given the same folder again.

    [bold]Examples[/bold]

    hitoku reproduce castro-2012

    hitoku reproduce castro-2012 --instances csplib --out castro

    hitoku reproduce castro-2012 --instances csplib --out castro --search 5
    """
    from hitoku.metrics import BINS
    from hitoku_papers.castro_2012 import ExperimentPlan, made_up, report, run
    from hitoku_papers.castro_2012.bars import beside_published, by_protector
    from hitoku_papers.castro_2012.report import explained
    from hitoku_papers.castro_2012.search_report import refuse_search, searched_readings
    from hitoku_papers.page import Picture, write
    from hitoku_papers.plots.error_shares import error_shares

    tables = made_up(seed) if instances is None else _instances(require_path(instances))
    plan = ExperimentPlan(replications=replications, seed=seed)
    if search:
        refuse_search(tables, search)
    with counting() as progress:
        outcome = run(tables, plan, out / "answers", jobs=processors(jobs), progress=progress)
        searched = []
        if search:
            kept, n = out / "answers" / "search", processors(jobs)
            searched = searched_readings(
                tables, kept, replications=search, seed=seed, jobs=n, progress=progress
            )
    drawn = {"errors": (beside_published(outcome), "Mean over instances, by scenario.")}
    for norm in plan.norms:
        caption = f"The same attackers against other protectors, {norm.upper()}; mean over common instances."
        drawn[f"protectors_{norm}"] = (by_protector(outcome, norm), caption)
    pictures = [
        Picture(name, error_shares(bars, BINS), words) for name, (bars, words) in drawn.items() if bars
    ]
    text, page = write(report(outcome, pictures, searched), out)
    found = explained(outcome)
    if as_json:
        print_json(
            {
                "instances": [table.name for table in tables],
                "problems": sum(len(attack.counts) for attack in outcome.attacks),
                "conclusions": [asdict(conclusion) for conclusion in found],
                "failures": outcome.failures,
                "report": str(page),
            }
        )
        return
    for conclusion in found:
        typer.echo(f"{conclusion}")
    for failure in outcome.failures:
        typer.echo(f"not computed: {failure}")
    typer.echo(f"written: {text}, {page}")


@reproduce.command("kikuchi-minami-2017")
def kikuchi_minami_2017(
    out: Annotated[Path, typer.Option(help="Folder to write.")] = Path("kikuchi-minami-2017"),
    as_json: AsJson = False,
) -> None:
    """Try the rules and procedures for output checking of Kikuchi and Minami (2017), appendices included.

    [bold]Example[/bold]

    hitoku reproduce kikuchi-minami-2017
    """
    from hitoku_papers.kikuchi_minami_2017 import page, results
    from hitoku_papers.page import write

    found = results()
    _tell(found, write(page(found), out), as_json)


@reproduce.command("lupp-langsrud-2021")
def lupp_langsrud_2021(
    out: Annotated[Path, typer.Option(help="Folder to write.")] = Path("lupp-langsrud-2021"),
    as_json: AsJson = False,
) -> None:
    """Suppress directly disclosive cells: Tables 1 and 2, Figure 1 of Lupp and Langsrud (2021).

    [bold]Example[/bold]

    hitoku reproduce lupp-langsrud-2021
    """
    from hitoku_papers.lupp_langsrud_2021 import page, results
    from hitoku_papers.page import write

    found = results()
    _tell(found, write(page(found), out), as_json)


@reproduce.command("minami-abe-2019")
def minami_abe_2019(
    tables: Annotated[int, typer.Option(min=1, help="Tables of each size.")] = 50,
    side: Annotated[
        list[int] | None,
        typer.Option(min=3, max=8, help="Side of the tables; repeat for more. Left out: 4 to 7."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder to write; a run in it is taken up again.")] = Path(
        "minami-abe-2019"
    ),
    negatives: Annotated[
        str, typer.Option(help="What becomes of negative draws: abs, zero, redraw.")
    ] = "abs",
    zeros: Annotated[bool, typer.Option(help="Whether empty cells are unsafe.")] = True,
    wider: Annotated[
        bool, typer.Option("--wider/--as-wide", help="Widths must exceed 8, or 8 is enough.")
    ] = True,
    ties: Annotated[
        str, typer.Option(help="How ties between patterns are broken: codes, other-codes, values, any.")
    ] = "codes",
    limit: Annotated[
        int,
        typer.Option(
            min=1, help="Most candidates where each is suppressed in turn; larger tables are left out."
        ),
    ] = 2000,
    variants: Annotated[
        int,
        typer.Option(min=0, help="Largest side on which other readings and methods are tried; 0 for none."),
    ] = 6,
    search: Annotated[
        int,
        typer.Option(min=0, help="Tables of 16 and 25 cells on which all readings are combined; 0 for none."),
    ] = 0,
    seed: Seed = 1,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Attack optimally suppressed tables by matching: Tables 2 to 5, Figures 6 to 8 of Minami and Abe (2019).

    Where the paper leaves a choice there is an option; the report shows what each choice changes, and attacks
    methods that the paper does not have.

    [bold]Examples[/bold]

    hitoku reproduce minami-abe-2019

    hitoku reproduce minami-abe-2019 --tables 10 --side 4 --side 5 --variants 0
    """
    from hitoku_papers.minami_abe_2019 import Reading, StudyPlan, page, run, summary
    from hitoku_papers.minami_abe_2019.figures import by_method, figure_6, figure_7, figure_8
    from hitoku_papers.minami_abe_2019.search import search as search_readings
    from hitoku_papers.page import Drawable, write
    from hitoku_papers.plots.candidates_by_dimension import candidates_by_dimension
    from hitoku_papers.plots.grouped_bars import grouped_bars
    from hitoku_papers.plots.width_histograms import width_histograms

    reading = Reading(negatives=negatives, zeros=zeros, wider=wider, ties=ties)  # type: ignore[arg-type]  # refused there
    sides = tuple(sorted(set(side))) if side else (4, 5, 6, 7)
    plan = StudyPlan(reading=reading, sides=sides, tables=tables, seed=seed, limit=limit, variants=variants)
    with counting() as progress:
        found = run(plan, out / "answers", jobs=processors(jobs), progress=progress)
        searched = None
        if search:
            kept, n = out / "answers" / "search", processors(jobs)
            searched = search_readings(kept, tables=search, seed=seed, jobs=n, progress=progress)
    drawn: dict[str, Drawable] = {
        "figure-6": grouped_bars(*figure_6(plan, found), axis="cells"),
        "figure-7": candidates_by_dimension(figure_7(plan, found)),
        "figure-8": width_histograms(figure_8(plan, found)),
    }
    if plan.small:
        drawn["methods"] = grouped_bars(*by_method(plan, found), axis="share compromised")
    text, html = write(page(plan, found, drawn, searched), out)
    shares = summary(plan, found)
    if as_json:
        print_json({"shares": shares, "report": str(html)})
        return
    for name, row in shares.items():
        typer.echo(f"{name}: {row['compromised']} of {row['unsafe']} unsafe cells compromised")
    typer.echo(f"written: {text}, {html}")


@reproduce.command("overview")
def overview(
    instances: Annotated[
        Path | None,
        typer.Option(help="JJ file or folder of them, for castro-2012; left out, small tables are made up."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder to write; a run in it is taken up again.")] = Path(
        "papers"
    ),
    tables: Annotated[int, typer.Option(min=2, help="Tables of each size, for minami-abe-2019.")] = 50,
    side: Annotated[
        list[int] | None,
        typer.Option(min=3, max=8, help="Their sides; repeat for more. Left out: 4 to 6."),
    ] = None,
    replications: Annotated[int, typer.Option(min=1, help="Draws for each scenario of castro-2012.")] = 10,
    seed: Seed = 1,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Put all papers on one page: published, ours, how far apart, and why.

    [bold]Examples[/bold]

    hitoku reproduce overview

    hitoku reproduce overview --instances csplib --out papers
    """
    from hitoku_papers import castro_2012, kikuchi_minami_2017, lupp_langsrud_2021, minami_abe_2019
    from hitoku_papers.overview import page
    from hitoku_papers.page import write

    sides = tuple(sorted(set(side))) if side else (4, 5, 6)
    study = minami_abe_2019.StudyPlan(sides=sides, tables=tables, seed=seed, variants=0)
    # The paper's protector alone: what it did not ask is on the paper's own page.
    plan = castro_2012.ExperimentPlan(replications=replications, seed=seed, senses=("up",), other_readings=())
    chosen = castro_2012.made_up(seed) if instances is None else _instances(require_path(instances))
    with counting() as progress:
        kept, n = out / "answers", processors(jobs)
        attacked = minami_abe_2019.run(study, kept / "minami-abe-2019", jobs=n, progress=progress)
        adjusted = castro_2012.run(chosen, plan, kept / "castro-2012", jobs=n, progress=progress)
    found = {
        "minami-abe-2019": minami_abe_2019.comparisons(study, attacked),
        "castro-2012": castro_2012.comparisons(adjusted),
        "lupp-langsrud-2021": lupp_langsrud_2021.results(),
        "kikuchi-minami-2017": kikuchi_minami_2017.results(),
    }
    text, html = write(page(found), out)
    if as_json:
        lines = {paper: [asdict(line) for line in some] for paper, some in found.items()}
        print_json({"papers": lines, "report": str(html)})
        return
    for paper, some in found.items():
        same = sum(line.agrees is True for line in some)
        apart = sum(line.agrees is False for line in some)
        typer.echo(f"{paper}: {len(some)} results, {same} the same, {apart} differ")
    typer.echo(f"written: {text}, {html}")


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON object."""
    typer.echo(json.dumps(content, sort_keys=True, default=str))


def _tell(found: Sequence[Reproduction], written: tuple[Path, Path], as_json: bool) -> None:
    """Print what differs from a paper, and how much does not."""
    text, page = written
    if as_json:
        print_json({"results": [asdict(line) for line in found], "report": str(page)})
        return
    for line in found:
        if line.agrees is False:
            typer.echo(f"differs: {line.place}, {line.what}: {line.published}, ours {line.ours}")
            typer.echo(f"  {line.how_far}; {line.why or 'why is not known'}")
    same = sum(line.agrees is True for line in found)
    typer.echo(f"{same} of {len(found)} results are as in the paper")
    typer.echo(f"written: {text}, {page}")


def _instances(folder: Path) -> tuple[TableInstance, ...]:
    from hitoku.io import read_jj
    from hitoku_papers.castro_2012 import TableInstance

    paths = {
        path.name.removesuffix(".gz").removesuffix(".jj"): path
        for path in (sorted(folder.iterdir()) if folder.is_dir() else [folder])
        if path.name.endswith((".jj", ".jj.gz"))
    }
    if not paths:
        raise DataError(
            "no_jj_file",
            "no JJ file there",
            where=str(folder),
            fix="give a folder with files *.jj or *.jj.gz, or one of them",
        )
    return tuple(TableInstance.of(name, *read_jj(path)) for name, path in paths.items())
