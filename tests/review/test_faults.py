"""When things die: the server and the worker by kill -9, the disk full, the database gone and back.

Whatever was confirmed is there afterwards, whatever was not is undone, and nothing leaves twice.
"""

from __future__ import annotations

import http.client
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
import sqlalchemy as sa
from tests.review.conftest import packed

from hitoku.checks.ledger import receipts
from hitoku.review import (
    COOKIE,
    Worker,
    differences,
    log,
    moment,
    read_moment,
    reading,
    user_by_login,
    users,
    verify_log,
    writing,
)

SRC = Path(__file__).resolve().parents[2] / "src"


@contextmanager
def files_of_at_most(n_bytes):
    """Let no file grow beyond some bytes, as if the disk were full there; Python ignores the signal."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def require_sqlite(centre):
    if centre.context.engine.dialect.name != "sqlite":
        pytest.skip("the files of PostgreSQL belong to its server")


def is_whole(context):
    with reading(context.engine) as connection:
        found = list(log.entries(connection))
        assert differences(connection, found) == []
    assert verify_log(context.engine)[1] == []


def votes_of(context):
    with reading(context.engine) as connection:
        rows = connection.execute(
            sa.text(
                "SELECT p.login, v.output, v.choice FROM vote v JOIN review r ON r.id = v.review "
                "JOIN person p ON p.id = r.person"
            )
        )
        return {(row.login, row.output): row.choice for row in rows}


def test_full_disk_rejects_vote_and_allows_retry(centre):
    require_sqlite(centre)
    number = centre.submit()
    [first, *_] = centre.outputs(number)
    yui = centre.browser("yui")
    centre.context.engine.dispose()  # a new connection finds the write-ahead log empty
    confirmed, refused = "", 0
    with files_of_at_most(100_000):
        for step in range(60):
            choice = ("approve", "change")[step % 2]
            answer = yui.post(f"/outputs/{first}/vote", data={"choice": choice})
            if answer.status_code == 303:
                confirmed = choice
            else:
                assert answer.status_code == 503
                assert "nothing was saved" in answer.text
                refused += 1
    assert refused
    found = votes_of(centre.context)
    assert found.get(("yui", first), "") == confirmed
    is_whole(centre.context)
    assert yui.post(f"/outputs/{first}/vote", data={"choice": "approve"}).status_code == 303
    assert votes_of(centre.context)["yui", first] == "approve"


def test_full_disk_upload_leaves_nothing(centre):
    require_sqlite(centre)
    ren = centre.browser("ren")
    sent = {"project": "1", "title": "t", "context": "c", "controls": "d", "nonce": "full-disk-nonce"}
    content = packed(centre.submission / "first")
    with files_of_at_most(2_000):
        answer = ren.post("/requests", data=sent, files={"submission": ("s.zip", content, "application/zip")})
    assert answer.status_code in {422, 503}
    assert list(centre.context.quarantine.iterdir()) == []
    assert centre.context.engine.connect().scalar(sa.text("SELECT count(*) FROM request")) == 0
    again = ren.post("/requests", data=sent, files={"submission": ("s.zip", content, "application/zip")})
    assert again.status_code == 303


def test_database_reconnects_after_outage(centre, request):
    if centre.context.engine.dialect.name != "postgresql":
        pytest.skip("a file does not go away and come back")
    server = request.getfixturevalue("postgresql")
    number = centre.submit()
    first, second, _ = centre.outputs(number)
    yui = centre.browser("yui")
    assert yui.post(f"/outputs/{first}/vote", data={"choice": "approve"}).status_code == 303
    server.stop()
    try:
        assert yui.get("/health").status_code == 503
        assert yui.get("/queue").status_code == 503
        answer = yui.post(f"/outputs/{second}/vote", data={"choice": "approve"})
        assert answer.status_code == 503
        assert "nothing was saved" in answer.text
        worker = Worker(centre.context)
        worker.start()
        time.sleep(0.5)
        worker.stop()
    finally:
        server.start()
    assert yui.get("/health").json()["database"] is True
    assert votes_of(centre.context) == {("yui", first): "approve"}
    assert yui.post(f"/outputs/{second}/vote", data={"choice": "change"}).status_code == 303
    is_whole(centre.context)


class Process:
    """The application as people run it, in a process that can be killed."""

    def __init__(self, context):
        self.context = context
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hitoku", "serve", "--folder", context.folder, "--port", str(self.port)],
            env={**os.environ, "PYTHONPATH": str(SRC)},
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def send(self, method, path, token="", **form):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": f"{COOKIE}={token}"}
        if token:
            headers["x-form-token"] = users.form_token(token)
        try:
            connection.request(method, path, urlencode(form), headers)
            return connection.getresponse().status
        finally:
            connection.close()

    def wait(self):
        until = time.monotonic() + 240
        while time.monotonic() < until:
            try:
                if self.send("GET", "/health") == 200:
                    return
            except OSError:
                time.sleep(0.1)
        raise AssertionError("the server did not start")

    def kill(self, *, orphan=False):
        """Kill the server, and what it started unless that is to live on."""
        if orphan:
            self.process.kill()
        else:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def end(self):
        """End what is left of the session."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def token_of(context, login):
    with writing(context.engine) as connection:
        return users.begin_session(connection, user_by_login(connection, login).id)


@pytest.mark.long
def test_killed_server_keeps_confirmed_votes(centre):
    """Two checkers change their votes as fast as they can while the server is killed, again and again."""
    number = centre.submit()
    places = centre.outputs(number)
    tokens = {login: token_of(centre.context, login) for login in ("yui", "sota")}
    dice = np.random.default_rng(20)
    confirmed, tried = {}, {}

    def vote(served, login, seed):
        own = np.random.default_rng(seed)
        while True:
            place, choice = int(own.choice(places)), str(own.choice(("approve", "change")))
            tried[login, place] = choice
            try:
                status = served.send("POST", f"/outputs/{place}/vote", tokens[login], choice=choice)
            except (OSError, http.client.HTTPException):
                return
            assert status == 303
            confirmed[login, place] = choice
            del tried[login, place]

    for kill in range(4):
        served = Process(centre.context)
        try:
            served.wait()
            tried.clear()
            people = [
                threading.Thread(target=vote, args=(served, login, 10 * kill + at))
                for at, login in enumerate(tokens)
            ]
            for each in people:
                each.start()
            time.sleep(dice.uniform(0.2, 1.5))
            served.kill()
            for each in people:
                each.join()
        finally:
            served.end()
        found = votes_of(centre.context)
        for key, choice in confirmed.items():
            # What was on its way when the server died may have been written, or not.
            assert found[key] in {choice, tried.get(key, choice)}
        confirmed.update({key: found[key] for key in tried if key in found})
        is_whole(centre.context)
    assert len(confirmed) == 2 * len(places)


def forget_the_worker(context):
    """Let the silence of a dead worker be over, which takes twenty seconds otherwise."""
    with writing(context.engine) as connection:
        beat = connection.scalar(sa.text("SELECT max(beat) FROM job WHERE state = 'running'"))
        if beat is not None:
            old = read_moment(beat).replace(year=2000)
            connection.execute(
                sa.text("UPDATE job SET beat = :b WHERE state = 'running'"), {"b": moment(old)}
            )


@pytest.mark.long
@pytest.mark.parametrize("orphan", [False, True], ids=["with its worker", "and its worker lives on"])
def test_killed_release_happens_exactly_once(centre, orphan):
    number = centre.submit()
    for login in ("yui", "sota"):
        centre.vote(number, login, ["approve"] * 3)
    centre.browser("yui").post(f"/requests/{number}/settle")
    haru = centre.browser("haru")
    haru.post(f"/requests/{number}/approve-passing")
    haru.post(f"/requests/{number}/finish")
    haru.post(f"/requests/{number}/release")
    assert centre.state(number) == "approved"
    dice = np.random.default_rng(7 + orphan)
    for kill in range(3):
        served = Process(centre.context)
        try:
            served.wait()
            if kill < 2:
                until = time.monotonic() + 120
                while job_state(centre.context) == "waiting" and time.monotonic() < until:
                    time.sleep(0.02)
                time.sleep(dice.uniform(0, 4))
                served.kill(orphan=orphan)
            else:
                until = time.monotonic() + 240
                while centre.state(number) != "released" and time.monotonic() < until:
                    time.sleep(0.1)
        finally:
            if not orphan or kill == 2:
                served.end()
        forget_the_worker(centre.context)
    assert centre.state(number) == "released"
    time.sleep(5 if orphan else 0)  # whatever lives on has had its chance
    with reading(centre.context.engine) as connection:
        ledger = connection.scalar(sa.text("SELECT ledger FROM project"))
        assert connection.scalar(sa.text("SELECT count(*) FROM log WHERE event = 'release'")) == 1
        digest = connection.scalar(sa.text("SELECT digest FROM release"))
    [receipt] = receipts(ledger)
    written = centre.context.released(number) / "receipt.json"
    assert json.loads(written.read_text("utf-8"))["number"] == receipt.number == 1
    assert centre.browser("ren").get(f"/requests/{number}/release.zip").status_code == 200
    assert len(digest) == 64
    is_whole(centre.context)


def job_state(context):
    with reading(context.engine) as connection:
        return connection.scalar(sa.text("SELECT state FROM job WHERE kind = 'release'"))
