"""A small centre, on SQLite and on PostgreSQL where that is installed: people, a project, a submission."""

from __future__ import annotations

import io
import json
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa
from argon2 import PasswordHasher
from starlette.testclient import TestClient
from tests.checks.submissions import PEOPLE, session

from hitoku.checks.ledger import init
from hitoku.checks.session import Session
from hitoku.checks.submission import release
from hitoku.review import (
    COOKIE,
    Context,
    ReviewSettings,
    add_member,
    add_person,
    add_project,
    add_shipped,
    check_done,
    checking,
    copy_folder,
    make_app,
    migrate,
    new_request,
    open_database,
    user_by_login,
    users,
    write_settings,
    writing,
)

PASSWORD = "correct horse battery"  # noqa: S105 - of people who do not exist
TEAM = (
    ("ren", "Ren Aoki", ("researcher",)),
    ("mio", "Mio Sato", ("researcher",)),
    ("yui", "Yui Tanaka", ("checker",)),
    ("sota", "Sota Mori", ("checker",)),
    ("emi", "Emi Ono", ("checker",)),
    ("haru", "Haru Ito", ("senior",)),
    ("kai", "Kai Abe", ("researcher", "checker", "senior")),
    ("aki", "Aki Kondo", ("administrator",)),
)
BIN = Path("/usr/lib/postgresql")


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch):
    """Passwords that are quick to check: how slow they are is argon2's affair."""
    monkeypatch.setattr(users, "HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    monkeypatch.setattr(users, "_hash_of_nobody", [])


@dataclass(frozen=True)
class Server:
    """A PostgreSQL server of our own; stopping it is as if it had died."""

    url: str
    start: Callable[[], object]
    stop: Callable[[], object]

    def __str__(self):
        return self.url


@pytest.fixture(scope="session")
def postgresql():
    """Start a PostgreSQL server of our own, in a temporary folder; return the address of its databases."""
    found = sorted(BIN.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if not found:
        pytest.skip("PostgreSQL is not installed (Debian: apt install postgresql)")
    tools = found[-1].parent
    # Not among pytest's folders: a second pytest closes those to everybody else, and the server with them.
    with tempfile.TemporaryDirectory(prefix="hitoku-postgresql-") as folder:
        server = _served(tools, Path(folder))
        yield server
        server.stop()


def _served(tools, folder):
    """Start a server in a folder, as its own user where we are root."""
    owner = {}
    if os.getuid() == 0:
        try:
            entry = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
        owner = {"user": entry.pw_uid, "group": entry.pw_gid}
        os.chown(folder, entry.pw_uid, entry.pw_gid)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = f"-p {port} -h 127.0.0.1 -k {folder} -c fsync=off -c full_page_writes=off"
    quiet = {
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
        "cwd": folder,
        **owner,
    }
    subprocess.run(
        [tools / "initdb", "-D", folder / "data", "-A", "trust", "-U", "review", "-E", "UTF8"],
        check=True,
        **quiet,
    )
    control = [tools / "pg_ctl", "-D", folder / "data", "-w"]
    server = Server(
        f"postgresql+psycopg://review@127.0.0.1:{port}",
        start=lambda: subprocess.run(
            [*control, "-l", folder / "log", "-o", options, "start"], check=True, **quiet
        ),
        # The folder goes with the server; one that has gone already is no failure.
        stop=lambda: subprocess.run([*control, "-m", "immediate", "stop"], check=False, **quiet),
    )
    server.start()
    return server


@pytest.fixture(scope="session", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def template(request, tmp_path_factory):
    """Make a database with the team once; every test gets a copy."""
    hasher, users.HASHER = users.HASHER, PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    folder = tmp_path_factory.mktemp("template")
    server = request.getfixturevalue("postgresql") if request.param == "postgresql" else None
    if server:
        # Made again for every file that comes to this process after one on SQLite.
        _administer(server, "DROP DATABASE IF EXISTS template_review")
        _administer(server, "CREATE DATABASE template_review")
    url = f"{server}/template_review" if server else f"sqlite:///{folder / 'review.sqlite'}"
    context = Context(folder, ReviewSettings(https=False), open_database(url))
    migrate(context.engine)
    PEOPLE.to_parquet(folder / "people.parquet")
    with writing(context.engine) as connection:
        add_shipped(connection)
        for login, name, roles in TEAM:
            add_person(connection, login, name, roles, PASSWORD, by="system")
        add_project(
            connection, context, "wages", data=folder / "people.parquet", unit="id", policy="japan-2017"
        )
        for login in ("ren", "mio", "kai"):
            add_member(connection, "wages", login)
    context.engine.dispose()
    users.HASHER = hasher
    return server, folder


def _administer(server, command):
    engine = sa.create_engine(f"{server}/postgres", isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(command))
    engine.dispose()


@pytest.fixture
def context(template, tmp_path):
    """Give an application of its own to a test."""
    server, made = template
    folder = tmp_path / "centre"
    for name in ("quarantine", "inbox", "ledgers"):
        (folder / name).mkdir(parents=True)
    if server:
        name = f"t_{os.getpid()}_{abs(hash(str(tmp_path)))}"
        _administer(server, f"CREATE DATABASE {name} TEMPLATE template_review")
        url = f"{server}/{name}"
    else:
        shutil.copy(made / "review.sqlite", folder / "review.sqlite")
        url = ""
    write_settings(folder, https=False, **({"database": url} if url else {}))
    context = Context.open(folder)
    with writing(context.engine) as connection:
        connection.execute(
            sa.text("UPDATE project SET ledger = :ledger"),
            {"ledger": str(folder / "ledgers" / "wages.ledger")},
        )
    yield context
    context.engine.dispose()


@pytest.fixture(scope="session")
def submission(tmp_path_factory):
    """Give a submission as a session wrote it, and what a check found in it, in this process."""
    folder = tmp_path_factory.mktemp("submission")
    work = session()
    work.submit(folder / "first")
    task = {"kind": "check", "submission": str(folder / "first"), "out": str(folder / "first-check")}
    checking.check(task, lambda *_: None)
    return folder


@pytest.fixture(scope="session")
def after_a_release(tmp_path_factory):
    """Release everybody by region; then somebody hands in those without job c, and two charts."""
    folder = tmp_path_factory.mktemp("differences")
    data = folder / "people.parquet"
    PEOPLE.to_parquet(data)
    first = Session("wages", PEOPLE, unit="id")
    first.frequency_table(by=["region"], name="everybody")
    first.submit(folder / "first")
    ledger = folder / "ledger"
    init(ledger, policy="japan-2017", unit="id", checkers=1)
    release(folder / "first", ledger=ledger, data=data, checkers=["Yui Tanaka"], out=folder / "out")
    second = Session("wages", PEOPLE, unit="id")
    second.frequency_table(by=["region"], where={"job": ["a", "b"]}, name="without c")
    second.frequency_table(by=["job"], name="jobs")
    second.histogram("income", bins=[25, 35, 45], name="income bars")
    second.submit(folder / "second")
    told = []
    task = {"submission": str(folder / "second"), "out": str(folder / "found"), "data": str(data)}
    checking.check({**task, "ledger": str(ledger), "unit": "id"}, lambda *step: told.append(step))
    return folder, told


def packed(folder):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as made:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                made.write(path, path.relative_to(folder))
    return content.getvalue()


class Centre:
    """Drives an application the way people do."""

    def __init__(self, context, submission):
        self.context, self.submission = context, submission
        self.app = make_app(context, work=False)

    def person(self, login):
        with writing(self.context.engine) as connection:
            return user_by_login(connection, login)

    def browser(self, login=None, **options):
        """Return a browser with a session of somebody."""
        client = TestClient(self.app, base_url="http://127.0.0.1", follow_redirects=False, **options)
        if login is not None:
            with writing(self.context.engine) as connection:
                token = users.begin_session(connection, user_by_login(connection, login).id)
            client.cookies.set(COOKIE, token)
            client.headers["x-form-token"] = users.form_token(token)
        return client

    def submit(self, login="ren", title="Wages", *, folder=None, checked=None, nonce=None):
        """Hand a submission in and write down what the check found; return the request's number."""
        source = folder or self.submission / "first"
        nonce = nonce or f"nonce-{os.urandom(8).hex()}"
        place, digest = copy_folder(source, self.context.quarantine, nonce, self.context.settings)
        with writing(self.context.engine) as connection:
            number = new_request(
                connection,
                self.context,
                user_by_login(connection, login),
                project_id=1,
                title=title,
                context="people of three regions",
                controls="small cells are withheld",
                folder=place,
                digest=digest,
                nonce=nonce,
            )
        self.check(number, checked or self.submission / "first-check")
        return number

    def check(self, number, source):
        """Do what the worker does when a check is over."""
        with writing(self.context.engine) as connection:
            turn = connection.scalar(
                sa.text("SELECT max(id) FROM submission WHERE request = :number"), {"number": number}
            )
            shutil.copytree(source, self.context.checked(turn))
            check_done(connection, turn, json.loads((source / "summary.json").read_text("utf-8")))
            connection.execute(sa.text("UPDATE job SET state = 'done' WHERE subject = :turn"), {"turn": turn})

    def outputs(self, number):
        with self.context.engine.connect() as connection:
            rows = connection.execute(
                sa.text(
                    "SELECT o.id FROM output o JOIN submission s ON s.id = o.submission JOIN request r ON "
                    "r.id = s.request AND r.turn = s.turn WHERE r.id = :number ORDER BY o.place"
                ),
                {"number": number},
            )
            return [row.id for row in rows]

    def vote(self, number, login, choices):
        """Vote on every output and freeze the review."""
        browser = self.browser(login)
        for place, choice in zip(self.outputs(number), choices, strict=True):
            sent = {
                "choice": choice,
                **({"text": f"{login}: too small", "public": "yes"} if choice == "change" else {}),
            }
            assert browser.post(f"/outputs/{place}/vote", data=sent).status_code == 303
        return browser.post(f"/requests/{number}/review")

    def state(self, number):
        with self.context.engine.connect() as connection:
            return connection.scalar(sa.text("SELECT state FROM request WHERE id = :n"), {"n": number})


@pytest.fixture
def centre(context, submission):
    return Centre(context, submission)
