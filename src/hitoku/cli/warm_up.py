"""``hitoku warm-up``: compile and cache the kernels."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pkgutil import iter_modules

import typer

from hitoku.cli.terminal import AsJson, print_json, progress


def tabulate_a_little() -> None:
    """Tabulate a few enterprises, with and without weights."""
    from hitoku.samples import register
    from hitoku.tabulation import tabulate

    firms = register(n=300)
    for records, weight in ((firms.records, None), (firms.records.assign(weight=1.5), "weight")):
        tabulate(
            records,
            by=["region", "activity"],
            value="turnover",
            weight=weight,
            unit="enterprise",
            holding="holding",
            hierarchies=firms.hierarchies,
        )
        tabulate(records, by=["size"], value="turnover", weight=weight)  # every record is a contributor


def attack_a_little() -> None:
    """Compute feasibility intervals by flows (two dimensions) and by elimination (three dimensions)."""
    import numpy as np

    from hitoku.attacks import Interval, derivable_cells
    from hitoku.model import Protection, Release, Table

    for shape in ((3, 3), (3, 3, 3)):
        table = Table.from_array(np.arange(1, 1 + np.prod(shape)).reshape(shape))
        release = Release.of(table, Protection.withhold(table, table.inner))
        Interval().bounds(release)
        derivable_cells(release)


def eliminate_a_little() -> None:
    """Choose secondary cells of a small table by elimination."""
    import numpy as np

    from hitoku.methods.gauss import eliminate
    from hitoku.model import Table

    table = Table.from_array(np.arange(1, 10).reshape(3, 3))
    unsafe = table.value == 1
    eliminate(table.relations, np.flatnonzero(~unsafe), unsafe, np.zeros_like(unsafe))


def walk_a_little() -> None:
    """Publish two cells of a sum of three."""
    from hitoku.methods.gauss import Span, walk

    cells = [{0: 1}, {1: 1}, {2: 1}, {0: 1, 1: 1, 2: 1}]
    walk(cells, [3, 2, 1], [cells[0]], n_rows=3)
    Span(3).finish({0: 1})


def circulate_a_little() -> None:
    """Protect a small table with hypercubes."""
    import numpy as np

    from hitoku.methods.circulation import Circulation
    from hitoku.model import Need, Table

    table = Table.from_array(np.arange(1, 10).reshape(3, 3))
    Circulation().protect(table, Need(unsafe=table.value == 1, upper=np.where(table.value == 1, 1.0, 0.0)))


def look_inside_a_little() -> None:
    """Attack a table of nine cells as an insider who knows one of them."""
    import numpy as np

    from hitoku.attacks import Contribution, Insider
    from hitoku.coalitions import CoalitionSearch
    from hitoku.model import Need, Protection, Release, Table

    table = Table.from_array(np.arange(10, 19).reshape(3, 3))
    release = Release.of(table, Protection.withhold(table, table.inner))
    need = Need(unsafe=table.inner, upper=np.where(table.inner, 1.0, 0.0))
    people = (Contribution(cell, cell, float(table.value[cell]), sole=True) for cell in (0, 1, 5))
    CoalitionSearch(table, need, release, Insider(tuple(people))).verdict()


def call_warm_up(name: str) -> None:
    """Call ``warm_up`` of a module of kernels."""
    import_module(f"hitoku.kernels.{name}").warm_up()


# Modules of kernels that are warmed up through the package that calls them, on a small table.
BY_THEIR_CALLERS: Mapping[Callable[[], None], tuple[str, ...]] = {
    tabulate_a_little: ("topk", "cell_rows", "record_order", "fixed_point"),
    attack_a_little: ("residues", "propagate"),
    eliminate_a_little: ("basis", "gauss_passes"),
    walk_a_little: ("echelon",),
    circulate_a_little: ("cheapest_hypercube", "hypercube_routing", "packing"),
    look_inside_a_little: ("repair",),
    # Its kernels are called by those of the tableau.
    partial(call_warm_up, "attacker_tableau"): ("attacker_cuts",),
}


def jobs() -> dict[str, Callable[[], None]]:
    """Return a job for each module of kernels that calls its functions with the types used in production."""
    import hitoku.kernels

    of_callers = {name: job for job, names in BY_THEIR_CALLERS.items() for name in names}
    modules = sorted({found.name for found in iter_modules(hitoku.kernels.__path__)} - {"compiled"})
    return {name: of_callers.get(name) or partial(call_warm_up, name) for name in modules}


def warm_up(as_json: AsJson = False) -> None:
    """Compile and cache the kernels.

    Run it once after installation or when building a container image, so that later commands start fast.

    [bold]Example[/bold]: hitoku warm-up
    """
    import os
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    began = time.perf_counter()
    named = jobs()
    distinct = {job: name for name, job in named.items()}  # several modules may share a job
    # Numba compiles one kernel at a time in each process. Processes are spawned, because forking a process
    # with threads may hang.
    fresh = get_context("spawn")
    with progress(len(distinct)) as step, ProcessPoolExecutor(os.cpu_count(), mp_context=fresh) as pool:
        for name, done in [(name, pool.submit(job)) for job, name in distinct.items()]:
            step(name.replace("_", " "))
            done.result()
    took = time.perf_counter() - began
    if as_json:
        print_json({"kernels": list(named), "seconds": round(took, 3)})
    else:
        typer.echo(f"{len(named)} groups of kernels ready after {took:.1f} s")
