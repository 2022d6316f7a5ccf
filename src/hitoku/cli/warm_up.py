"""``hitoku warm-up``: compile ahead of time what would otherwise be compiled on first use."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import typer

from hitoku.cli.terminal import AsJson, print_json, progress


def tabulate_a_little() -> None:
    """Add up a few enterprises, with weights and without."""
    from hitoku.samples import register
    from hitoku.tabulation.tabulate import tabulate

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
        tabulate(records, by=["size"], value="turnover", weight=weight)  # every record a contributor


def attack_a_little() -> None:
    """Work out intervals: in a plane table by flows, in a solid one by elimination."""
    import numpy as np

    from hitoku.attacks.exposure import exposed
    from hitoku.attacks.interval import Interval
    from hitoku.model import Protection, Release, Table

    for shape in ((3, 3), (3, 3, 3)):
        table = Table.from_array(np.arange(1, 1 + np.prod(shape)).reshape(shape))
        release = Release.of(table, Protection.withhold(table, table.inner))
        Interval().bounds(release)
        exposed(release)


def eliminate_a_little() -> None:
    """Choose secondary cells of a small table by elimination."""
    import numpy as np

    from hitoku.methods.gauss.elimination import eliminate
    from hitoku.model import Table

    table = Table.from_array(np.arange(1, 10).reshape(3, 3))
    unsafe = table.value == 1
    eliminate(table.relations, np.flatnonzero(~unsafe), unsafe, np.zeros_like(unsafe))


def walk_a_little() -> None:
    """Publish two cells of a sum of three."""
    from hitoku.methods.gauss.span import Span, walk

    cells = [{0: 1}, {1: 1}, {2: 1}, {0: 1, 1: 1, 2: 1}]
    walk(cells, [3, 2, 1], [cells[0]], n_rows=3)
    Span(3).finish({0: 1})


def search_a_little() -> None:
    """Cut, combine and search as the optimal method does, on the smallest inputs there are."""
    from hitoku.kernels import (
        acceptable,
        bits,
        capacity_cuts,
        fibre,
        line_masks,
        mincut,
        patterns,
        zero_half,
    )

    for kernel in (bits, line_masks, fibre, zero_half, mincut, capacity_cuts, patterns, acceptable):
        kernel.warm_up()


def relax_a_little() -> None:
    """Push a cell and solve a relaxation on a tableau, on the smallest inputs there are."""
    from hitoku.kernels import attacker_tableau, dual_simplex, row_pool, sparse_rows

    for kernel in (attacker_tableau, dual_simplex, row_pool, sparse_rows):
        kernel.warm_up()


def compare_a_little() -> None:
    """Hold two outputs against each other, on the smallest inputs there are."""
    from hitoku.kernels import joint_graph, joint_partition

    for kernel in (joint_partition, joint_graph):
        kernel.warm_up()


def prove_a_little() -> None:
    """Push cells in circles, on the smallest input there is."""
    from hitoku.kernels import circulation

    circulation.warm_up()


def circulate_a_little() -> None:
    """Protect a small table along boxes."""
    import numpy as np

    from hitoku.methods.circulation import Circulation
    from hitoku.model import Need, Table

    table = Table.from_array(np.arange(1, 10).reshape(3, 3))
    Circulation().protect(table, Need(unsafe=table.value == 1, upper=np.where(table.value == 1, 1.0, 0.0)))


def look_inside_a_little() -> None:
    """Try somebody who knows one of nine cells, and the box that moves it."""
    import numpy as np

    from hitoku.attacks.contribution import Contribution
    from hitoku.attacks.insider import Insider
    from hitoku.coalitions.coalition_search import CoalitionSearch
    from hitoku.model import Need, Protection, Release, Table

    table = Table.from_array(np.arange(10, 19).reshape(3, 3))
    release = Release.of(table, Protection.withhold(table, table.inner))
    need = Need(unsafe=table.inner, upper=np.where(table.inner, 1.0, 0.0))
    people = (Contribution(cell, cell, float(table.value[cell]), sole=True) for cell in (0, 1, 5))
    CoalitionSearch(table, need, release, Insider(tuple(people))).verdict()


def match_a_little() -> None:
    """Attack a release as somebody who knows the optimal method, on the smallest inputs there are."""
    from hitoku.kernels import boxes, random_walk, rivals, shave, widening

    for kernel in (boxes, rivals, widening, shave, random_walk):
        kernel.warm_up()


# For every module of kernels a small job that calls what is in it, with the types that real work uses.
JOBS: Mapping[str, Callable[[], None]] = {
    "topk": tabulate_a_little,
    "cell_rows": tabulate_a_little,
    "record_order": tabulate_a_little,
    "fixed_point": tabulate_a_little,
    "flow": attack_a_little,
    "elimination": attack_a_little,
    "presolve": attack_a_little,
    "basis": eliminate_a_little,
    "gauss": eliminate_a_little,
    "echelon": walk_a_little,
    "zero_half": search_a_little,
    "mincut": search_a_little,
    "capacity_cuts": search_a_little,
    "attacker_cuts": relax_a_little,
    "attacker_tableau": relax_a_little,
    "dual_simplex": relax_a_little,
    "row_pool": relax_a_little,
    "sparse_rows": relax_a_little,
    "patterns": search_a_little,
    "bits": search_a_little,
    "line_masks": search_a_little,
    "fibre": search_a_little,
    "acceptable": search_a_little,
    "boxes": match_a_little,
    "rivals": match_a_little,
    "widening": match_a_little,
    "shave": match_a_little,
    "random_walk": match_a_little,
    "joint_partition": compare_a_little,
    "joint_graph": compare_a_little,
    "circulation": prove_a_little,
    "cheapest_box": circulate_a_little,
    "box_search": circulate_a_little,
    "packing": circulate_a_little,
    "repair": look_inside_a_little,
}


def warm_up(as_json: AsJson = False) -> None:
    """Compile the kernels once and keep them, so that the next command starts at full speed.

    Worth running after an installation, and in the recipe of a container image.

    [bold]Example[/bold]: hitoku warm-up
    """
    import os
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    began = time.perf_counter()
    jobs = list(dict.fromkeys(JOBS.values()))  # several modules may share one
    # Processes, since numba compiles one kernel at a time in each; started afresh, since a fork of a program
    # with threads may hang.
    fresh = get_context("spawn")
    with progress(len(jobs)) as step, ProcessPoolExecutor(os.cpu_count(), mp_context=fresh) as pool:
        for job, done in [(job, pool.submit(job)) for job in jobs]:
            step(job.__name__.replace("_", " "))
            done.result()
    took = time.perf_counter() - began
    if as_json:
        print_json({"kernels": list(JOBS), "seconds": round(took, 3)})
    else:
        typer.echo(f"{len(JOBS)} groups of kernels ready after {took:.1f} s")
