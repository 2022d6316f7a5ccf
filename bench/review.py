"""The review application under load: 50 checkers, 10,000 outputs in the queue, tables of 10,000 cells.

A server in a process of its own, held to one core, receives requests at a steady rate, whether or not it has
answered the last one; beside each kind of page the milliseconds of the server's CPU that one costs, asked one
after another. On a machine that does other things only the latter means anything.
Results go to .bench/review.json.

    python -m bench.review
    python -m bench.review --rate 20 --seconds 30 --database postgresql+psycopg://review@127.0.0.1/bench
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import sqlalchemy as sa

from bench import keep
from hitoku.review import (
    COOKIE,
    add_person,
    add_project,
    create_folder,
    job,
    log,
    moment,
    now,
    output,
    pack_columns,
    read_moment,
    request,
    review,
    submission,
    users,
    vote,
    writing,
)

SEED = 20261117
SIDE = 100  # cells of a table: the square
PRINCIPLES = ("individual_value", "units", "freedom", "dominance", "group", "interval", "differencing")
REPORT = {"policy": {"name": "p", "version": "1"}, "differencing": "", "findings": []}
# The table that each checker has opened last.
OPENED = {}
# Pages and their relative frequencies.
MIX = {"queue": 0.15, "request": 0.15, "output": 0.25, "drawer": 0.2, "vote": 0.25}


def view(rng):
    """Draw a table as the worker does: a fifth of its cells withheld, with intervals."""
    counts = rng.integers(1, 400, SIDE * SIDE)
    withheld = rng.random(SIDE * SIDE) < 0.2
    cells = range(SIDE * SIDE)
    return {
        "name": "people",
        "kind": "frequency_table",
        "status": "pass",
        "asked": "frequency table: by region, job",
        "verdicts": [
            {"principle": each, "status": "pass", "reason": "met", "text": "met", "numbers": {}, "remedy": ""}
            for each in PRINCIPLES
        ],
        "findings": [],
        "published": {"region": [], "job": [], "count": []},
        "facts": [],
        "support": [],
        "withheld": {},
        "grid": [
            {
                "title": "",
                "stubs": ["region"],
                "across": "job",
                "columns": [{"code": f"job {k}", "depth": 0, "sum": False} for k in range(SIDE)],
                "rows": [
                    {
                        "heads": [{"code": f"region {k}", "depth": 0, "sum": False}],
                        "cells": list(range(SIDE * k, SIDE * (k + 1))),
                    }
                    for k in range(SIDE)
                ],
            }
        ],
        "cells": pack_columns(
            {
                "label": [f"region={k // SIDE}, job={k % SIDE}" for k in cells],
                "shown": [None if withheld[k] else f"{counts[k]:,}" for k in cells],
                "units": counts.tolist(),
                "share": None,
                "shared": [0.01] * len(cells),
                "low": [0.0 if withheld[k] else None for k in cells],
                "high": [400.0 if withheld[k] else None for k in cells],
                "need": [[0.0, 0.0, 10.0] if withheld[k] else None for k in cells],
                "decision": ["primary" if withheld[k] else "published" for k in cells],
                "failing": [False] * len(cells),
                "why": [""] * len(cells),
                "rules": [["min_frequency"] if withheld[k] else [] for k in cells],
            }
        ),
    }


def fill(folder, n_checkers, n_requests, n_outputs, database):
    """Make a centre with a full queue; return it, with a session for each checker."""
    rng = np.random.default_rng(SEED)
    context = create_folder(folder, https=False, **({"database": database} if database else {}))
    drawn = [json.dumps(view(rng)) for _ in range(4)]
    with writing(context.engine) as connection:
        author = add_person(connection, "ren", "Ren", ["researcher"], None, by="system")
        checkers = [
            add_person(connection, f"checker{k}", f"Checker {k}", ["checker"], None, by="system")
            for k in range(n_checkers)
        ]
        where = add_project(connection, context, "wages", data=None, unit="", policy="japan-2017")
        began = read_moment(now())
        for number in range(1, n_requests + 1):
            at = moment(began - timedelta(hours=number))
            connection.execute(
                sa.insert(request).values(
                    id=number, project=where, author=author, title=f"Request {number}", context="c " * 200,
                    controls="d " * 200, state="phase 1", turn=1, submitted=at, nonce=f"nonce-{number}",
                )
            )  # fmt: skip
            connection.execute(
                sa.insert(submission).values(
                    id=number, request=number, turn=1, digest="0" * 64, received=at, nonce=f"turn-{number}",
                    passing=n_outputs, to_review=0, failing=0,
                    report=json.dumps(REPORT),
                )
            )  # fmt: skip
            rows = [
                {
                    "id": (number - 1) * n_outputs + place + 1, "submission": number, "place": place,
                    "name": f"table {place}", "kind": "frequency_table", "status": "pass",
                    "digest": f"{number:032}{place:032}", "cells": SIDE * SIDE,
                    "principles": json.dumps(dict.fromkeys(PRINCIPLES, "pass")),
                }
                for place in range(n_outputs)
            ]  # fmt: skip
            connection.execute(sa.insert(output), rows)
            connection.execute(
                sa.insert(job).values(
                    kind="check", subject=number, state="done", asked=at, attempts=1, done=1, total=1, said=""
                )
            )
            # A reviewer for each, who is halfway through.
            mine = checkers[number % n_checkers]
            connection.execute(sa.insert(review).values(id=number, submission=number, person=mine))
            half = [{"review": number, "output": row["id"], "choice": "approve"} for row in rows[::2]]
            connection.execute(sa.insert(vote), half)
            log.append(connection, "ren", "submit", request=number, state="submitted")
            place = context.checked(number)
            place.mkdir(parents=True)
            for at_place in range(n_outputs):
                source = context.folder / f"view-{at_place % len(drawn)}.json"
                if not source.exists():
                    source.write_text(drawn[at_place % len(drawn)], "utf-8")
                (place / f"{at_place:03}.json").hardlink_to(source)
        tokens = {who: users.begin_session(connection, who) for who in checkers}
        if connection.dialect.name == "postgresql":
            for table in (request, submission, output, review):
                last = connection.scalar(sa.select(sa.func.max(table.c.id)))
                sequence = sa.func.pg_get_serial_sequence(table.name, "id")
                connection.execute(sa.select(sa.func.setval(sequence, last)))
    return context, tokens, checkers


class Served:
    """A server held to one core, and what its processor time is."""

    def __init__(self, context):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        words = [
            sys.executable,
            "-m",
            "hitoku",
            "serve",
            "--folder",
            str(context.folder),
            "--port",
            str(self.port),
        ]
        self.process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(self.process.pid, {max(cores)})
        if len(cores) > 1:  # clients and the database use the others
            os.sched_setaffinity(0, cores - {max(cores)})
        until = time.monotonic() + 120
        while time.monotonic() < until:
            try:
                if self.ask("GET", "/health")[0] == 200:
                    return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("the server did not start")

    def ask(self, method, path, token="", **form):
        """Ask for a page; return its status, its bytes, and the seconds that it took."""
        begun = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": f"{COOKIE}={token}"}
        if token:
            headers["x-form-token"] = users.form_token(token)
        connection.request(method, path, urlencode(form), headers)
        answer = connection.getresponse()
        size = len(answer.read())
        connection.close()
        return answer.status, size, time.perf_counter() - begun

    def cpu(self):
        """Seconds of the processor that the server has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text("utf-8").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def question(kind, rng, served, tokens, checkers, n_requests, n_outputs):
    """Request a page of a type as one of the checkers."""
    number = int(rng.integers(1, n_requests + 1))
    who = checkers[number % len(checkers)]
    place = (number - 1) * n_outputs + int(rng.integers(n_outputs)) + 1
    if kind == "output":
        OPENED[who] = place
    elif kind == "drawer" and who in OPENED:
        place = OPENED[who]  # a cell is clicked in a table that one has opened
    paths = {
        "queue": "/queue",
        "request": f"/requests/{number}",
        "output": f"/outputs/{place}",
        "drawer": f"/outputs/{place}/cells/{int(rng.integers(SIDE * SIDE))}",
        "vote": f"/outputs/{place}/vote",
    }
    if kind == "vote":
        return served.ask("POST", paths[kind], tokens[who], choice=str(rng.choice(["approve", "change"])))
    return served.ask("GET", paths[kind], tokens[who])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkers", type=int, default=50)
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--outputs", type=int, default=100, help="of each request")
    parser.add_argument("--rate", type=float, default=20.0, help="requests per second")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--each", type=int, default=40, help="pages of each kind, one after another")
    parser.add_argument("--database", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        context, tokens, checkers = fill(
            Path(place) / "centre", options.checkers, options.requests, options.outputs, options.database
        )
        asked = (tokens, checkers, options.requests, options.outputs)
        served = Served(context)
        try:
            results = {"cpu_ms": alone(served, options.each, asked), **load(served, options, asked)}
        finally:
            served.process.terminate()
            served.process.wait()
            context.engine.dispose()
    keep("review", results)
    print(f"{'page':10} {'CPU ms':>8} {'p50 ms':>8} {'p95 ms':>8}   {options.rate:g} a second")
    for kind in MIX:
        cpu, p50, p95 = (results[name][kind] for name in ("cpu_ms", "p50_ms", "p95_ms"))
        print(f"{kind:10} {cpu:8.1f} {p50:8.0f} {p95:8.0f}")
    print(f"server's core: {results['core']:.0%} busy; answers that were none: {results['failed']}")


def alone(served, each, asked):
    """CPU milliseconds of the server for each kind of page, asked one after another."""
    rng = np.random.default_rng(SEED)
    found = {}
    for kind in MIX:
        question(kind, rng, served, *asked)
        begun = served.cpu()
        for _ in range(each):
            question(kind, rng, served, *asked)
        found[kind] = round((served.cpu() - begun) / each * 1000, 2)
    return found


def load(served, options, asked):
    """Send requests at a steady rate in threads, so that none waits for another."""
    rng = np.random.default_rng(SEED + 1)
    kinds = rng.choice(list(MIX), int(options.rate * options.seconds), p=list(MIX.values()))
    took, failed, threads = {kind: [] for kind in MIX}, [], []

    def one(kind, seed):
        try:
            status, _, seconds = question(kind, np.random.default_rng(seed), served, *asked)
        except OSError:
            status, seconds = 0, float("nan")
        took[kind].append(seconds)
        if status not in {200, 303}:
            failed.append(status)

    begun, cpu = time.perf_counter(), served.cpu()
    for number, kind in enumerate(kinds):
        time.sleep(max(0.0, begun + number / options.rate - time.perf_counter()))
        threads.append(threading.Thread(target=one, args=(str(kind), SEED + number)))
        threads[-1].start()
    for each in threads:
        each.join()
    busy = (served.cpu() - cpu) / (time.perf_counter() - begun)
    percent = {
        f"p{p}_ms": {
            kind: round(float(np.percentile(own or [np.nan], p)) * 1000, 1) for kind, own in took.items()
        }
        for p in (50, 95)
    }
    return {**percent, "core": round(busy, 3), "failed": len(failed), "rate": options.rate}


if __name__ == "__main__":
    main()
