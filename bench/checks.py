"""Output checking: a 47 by 20 table of a million people, with dominance, compared with a group-by of pandas.

CPU seconds of one process: "open" loads the data into a session (once), then each output from call to
verdict, the second time round, when the kernels are in memory; "rules" leaves out the ledger. "After" are
outputs of one session, each compared with those before it; the check of these four is made with the data.
With a ledger of the centre, which knows its units by pseudonym, the same is done again.
"many unsafe" spreads a tenth of the people over a table many cells of which are unsafe; more with --jobs.
Results go to .bench/checks.json.

    python -m bench.checks
    python -m bench.checks --jobs 400
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import hitoku as ht
from bench import OUT, keep
from hitoku.checks.ledger import init
from hitoku.checks.outputs import MagnitudeTable
from hitoku.checks.submission import recheck

SEED = 20261116


def people(n, n_regions, n_jobs):
    rng = np.random.default_rng(SEED)
    regions = rng.choice(n_regions, n, p=rng.dirichlet(np.full(n_regions, 2.0)))
    jobs = rng.choice(n_jobs, n, p=rng.dirichlet(np.full(n_jobs, 0.6)))
    return pd.DataFrame(
        {
            "id": rng.permutation(n),
            "region": np.array([f"R{k:02}" for k in range(n_regions)])[regions],
            "job": np.array([f"J{k:03}" for k in range(n_jobs)])[jobs],
            "income": np.round(rng.lognormal(8, 1.5, n)),
            "employer": rng.integers(0, max(1, n // 20), n),
        }
    )


def seconds(work):
    start = time.process_time()
    work()
    return round(time.process_time() - start, 3)


def in_a_row(frame, ledger=None):
    """Four outputs of one session, one after the other, and their check with the data."""
    held, by, found = {}, ["region", "job"], {}
    if ledger is not None:
        init(ledger, policy="japan-2017", unit="id")
    opened = seconds(lambda: held.update(work=ht.Session("bench", frame, unit="id", ledger=ledger)))
    work = held["work"]
    asked = {
        "counts": lambda: work.frequency_table(by),
        "sums after counts": lambda: work.magnitude_table(by, "income"),
        "deviations after both": lambda: work.summary("std", "income", by=by),
        "cross table after three": lambda: work.crosstab("region", "job"),
    }
    for name, make in asked.items():
        found[name] = seconds(make)
        if work.outputs[-1].status == "fail":
            raise SystemExit(f"{name}: {work.outputs[-1].status}")
    with tempfile.TemporaryDirectory() as folder:
        path = work.submit(Path(folder) / "four")
        check = seconds(lambda: recheck(path, data=frame, unit="id", ledger=ledger))
    found["check of the four"] = check
    return (
        found
        if ledger is None
        else {f"{name}, ledger": took for name, took in {"open": opened, **found}.items()}
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=100, help="columns of the table with many unsafe cells")
    parser.add_argument("--keep", action="store_true", help="leave the records in .bench/people.parquet")
    options = parser.parse_args()
    frame = people(options.records, 47, 20)
    OUT.mkdir(exist_ok=True)
    if options.keep:
        frame.to_parquet(OUT / "people.parquet")
    found = {"records": options.records}
    by = ["region", "job"]
    found["pandas crosstab"] = seconds(lambda: pd.crosstab(frame["region"], frame["job"]))
    held = {}
    found["open"] = seconds(lambda: held.update(work=ht.Session("bench", frame, unit="id")))
    outputs = {
        "frequency table": lambda work: work.frequency_table(by),
        "magnitude table": lambda work: work.magnitude_table(by, "income"),
        "magnitude table, holdings": lambda work: work.magnitude_table(by, "income", holding="employer"),
        "mean": lambda work: work.mean("income", by),
        "median": lambda work: work.percentile("income", 50, by),
        "standard deviation": lambda work: work.summary("std", "income", by=by),
    }
    table, session = MagnitudeTable(tuple(by), "income"), held["work"]

    def rules():
        evidence = table.protect(table.collect(session.records), session.policy)
        table.judge(evidence, session.policy)

    rules()
    found["magnitude table, rules"] = seconds(rules)
    for name, make in outputs.items():
        make(held["work"])
        # A session of its own, so that the ledger has as little to compare as the first time.
        again = ht.Session("bench", frame, unit="id")
        found[name] = seconds(lambda make=make, again=again: make(again))
    found |= in_a_row(frame)
    with tempfile.TemporaryDirectory() as folder:
        found |= in_a_row(frame, Path(folder) / "bench.ledger")
    for name, value in found.items():
        print(f"{name:30} {value:>12}", flush=True)
    sparse = people(options.records // 10, 47, options.jobs)
    work = ht.Session("bench", sparse, unit="id")
    many = {}
    many[f"many unsafe (47 x {options.jobs})"] = seconds(lambda: held.update(many=work.frequency_table(by)))
    many["withheld of them"] = int(held["many"].evidence.withheld.sum())
    for name, value in many.items():
        print(f"{name:30} {value:>12}")
    found |= many
    keep("checks", found)


if __name__ == "__main__":
    main()
