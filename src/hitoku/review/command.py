"""``hitoku serve``: the review application and its administration."""

from __future__ import annotations

import json
import logging
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hitoku.errors import HitokuError, ParameterError

if TYPE_CHECKING:
    from hitoku.review.context import Context

serve = typer.Typer(name="serve", invoke_without_command=True, no_args_is_help=False, rich_markup_mode="rich")

Folder = Annotated[Path, typer.Argument(help="The folder of the application.")]
# Thread switch interval in seconds. A page runs about 20 queries and may wait for the GIL after each;
# Python's default of 5 ms adds 0.1 s.
TURN_S = 0.0005


@serve.callback()
def run(
    context: typer.Context,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="The folder that 'hitoku serve init' made.")
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="A made-up centre in a temporary folder, with a queue to work on.")
    ] = False,
    host: Annotated[str, typer.Option(help="Address to listen on; a proxy stands before it.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8765,
) -> None:
    """Review outputs in a browser: the workplace of an output-checking team.

    [bold]Examples[/bold]

    hitoku serve --demo

    hitoku serve init /srv/review

    hitoku serve --folder /srv/review
    """
    if context.invoked_subcommand is not None:
        return
    if demo == (folder is not None):
        raise ParameterError(
            "nothing_to_serve",
            "what should be served?",
            where="--folder",
            fix="give --folder FOLDER, or --demo to try it",
        )
    _require_extra()
    if demo:
        with tempfile.TemporaryDirectory(prefix="hitoku-demo-", ignore_cleanup_errors=True) as place:
            _demo(Path(place) / "centre", host, port)
    elif folder is not None:
        _serve(_open(folder), host, port)


@serve.command()
def init(
    folder: Folder,
    database: Annotated[
        str, typer.Option(help="postgresql+psycopg://... ; a file in the folder by default.")
    ] = "",
    team: Annotated[str, typer.Option(help="What pages call the centre.")] = "Output checking",
    http: Annotated[bool, typer.Option("--http", help="Without https, for a try on one machine.")] = False,
) -> None:
    """Make the folder of a new application, with settings and database.

    [bold]Examples[/bold]

    hitoku serve init /srv/review

    hitoku serve init /srv/review --database postgresql+psycopg://review@/review --team "Data centre"
    """
    _require_extra()
    from hitoku.review.setup import found

    given = {
        "team": team,
        **({"database": database} if database else {}),
        **({"https": False} if http else {}),
    }
    found(folder, **given)
    typer.echo(f"made {folder}: settings in {folder / 'review.toml'}")
    typer.echo(f"next: hitoku serve add-user {folder} LOGIN --role administrator")


@serve.command("add-user")
def add_user(
    folder: Folder,
    login: Annotated[str, typer.Argument(help="What they sign in with.")],
    role: Annotated[
        list[str], typer.Option(help="researcher, checker, senior, administrator; repeat for more.")
    ],
    name: Annotated[str, typer.Option(help="What pages call them.")] = "",
    password_file: Annotated[
        Path | None, typer.Option(help="Where their password is; otherwise one is made and shown once.")
    ] = None,
    external: Annotated[
        bool, typer.Option("--external", help="Without a password: they come through a proxy or OIDC.")
    ] = False,
) -> None:
    """Add user.

    [bold]Examples[/bold]

    hitoku serve add-user /srv/review yui --name "Yui Tanaka" --role checker

    hitoku serve add-user /srv/review haru --role senior --external
    """
    _require_extra()
    from hitoku.review.storage import writable, writing
    from hitoku.review.users import add_person

    given = password_file.read_text("utf-8").strip() if password_file else secrets.token_urlsafe(12)
    context = _open(folder)
    with writable(context.engine), writing(context.engine) as connection:
        add_person(connection, login, name, role, None if external else given, by="command line")
    typer.echo(f"added {login}" + ("" if external or password_file else f", password: {given}"))


@serve.command("set-password")
def set_password(
    folder: Folder,
    login: Annotated[str, typer.Argument(help="Whose.")],
    password_file: Annotated[Path | None, typer.Option(help="Where it is; otherwise one is made.")] = None,
) -> None:
    """Give somebody another password; they are signed out everywhere.

    [bold]Examples[/bold]

    hitoku serve set-password /srv/review yui
    """
    _require_extra()
    from hitoku.review import users
    from hitoku.review.storage import writable, writing

    given = password_file.read_text("utf-8").strip() if password_file else secrets.token_urlsafe(12)
    context = _open(folder)
    with writable(context.engine), writing(context.engine) as connection:
        users.set_password(connection, login, given, by="command line")
    typer.echo("done" if password_file else f"password: {given}")


@serve.command()
def unlock(
    folder: Folder,
    login: Annotated[str | None, typer.Argument(help="Whose; left out, everybody's.")] = None,
) -> None:
    """Forget wrong passwords, so that a person can sign in at once.

    [bold]Examples[/bold]

    hitoku serve unlock /srv/review haru

    hitoku serve unlock /srv/review
    """
    _require_extra()
    from hitoku.review import users
    from hitoku.review.storage import writable, writing

    context = _open(folder)
    with writable(context.engine), writing(context.engine) as connection:
        n_forgotten = users.unlock(connection, login, by="command line")
    typer.echo(f"{n_forgotten} wrong password(s) forgotten")


@serve.command("add-project")
def add_project(
    folder: Folder,
    name: Annotated[str, typer.Argument(help="What it is called.")],
    data: Annotated[Path | None, typer.Option(help="The data, Parquet or CSV.")] = None,
    unit: Annotated[str, typer.Option(help="Column that names the unit.")] = "",
    ledger: Annotated[Path | None, typer.Option(help="Everything released about the data.")] = None,
    policy: Annotated[str, typer.Option(help="Name of the policy.")] = "japan-2017",
    member: Annotated[list[str] | None, typer.Option(help="Login of a researcher; repeat for more.")] = None,
) -> None:
    """Add a project, and the researchers who may submit to it.

    [bold]Examples[/bold]

    hitoku serve add-project /srv/review wages --data /data/wages.parquet --unit person --member ren
    """
    _require_extra()
    from hitoku.review import setup
    from hitoku.review.storage import writable, writing

    context = _open(folder)
    place = None if data is None else data.resolve()
    kept = None if ledger is None else ledger.resolve()
    with writable(context.engine), writing(context.engine) as connection:
        setup.add_project(connection, context, name, data=place, unit=unit, policy=policy, ledger=kept)
        for login in member or []:
            setup.add_member(connection, name, login)
    typer.echo(f"added {name}, with {len(member or [])} researcher(s)")


@serve.command()
def migrate(folder: Folder) -> None:
    """Bring the database to the form of this version; back up first.

    [bold]Examples[/bold]

    hitoku serve migrate /srv/review
    """
    _require_extra()
    from hitoku.review import storage
    from hitoku.review.context import Context

    context = Context.open(folder)
    with storage.writable(context.engine):
        form = storage.migrate(context.engine)
    typer.echo(f"form {form}")


@serve.command()
def backup(
    folder: Folder,
    out: Annotated[Path, typer.Argument(help="Folder to write; must not exist yet.")],
) -> None:
    """Copy everything while the application runs: a consistent database, then the files it knows.

    [bold]Examples[/bold]

    hitoku serve backup /srv/review /backup/review-2026-11-16
    """
    _require_extra()
    from hitoku.review.backup import back_up

    kept = back_up(_open(folder), out)
    typer.echo(f"{out}: {kept.entries} log entries, {kept.files} files")


@serve.command()
def restore(
    backup_folder: Annotated[Path, typer.Argument(help="What 'hitoku serve backup' wrote.")],
    folder: Annotated[Path, typer.Argument(help="Folder to write; must not exist yet.")],
    database: Annotated[str, typer.Option(help="Where it goes instead of a file; an empty database.")] = "",
) -> None:
    """Make an application again from a backup, and verify it.

    [bold]Examples[/bold]

    hitoku serve restore /backup/review-2026-11-16 /srv/review-again
    """
    _require_extra()
    from hitoku.review.backup import restored

    kept = restored(backup_folder, folder, database)
    typer.echo(f"{folder}: {kept.entries} log entries, {kept.files} files; the log is whole")


@serve.command("verify-log")
def verify_log(
    folder: Folder,
    receipt: Annotated[
        list[Path] | None, typer.Option(help="log.json of something that left; repeat for more.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Verify this export (log.csv) instead of the database.")
    ] = None,
) -> None:
    """Verify that the log is whole, holds every receipt, and tells what the database says.

    Exit code 1: it does not.

    [bold]Examples[/bold]

    hitoku serve verify-log /srv/review

    hitoku serve verify-log /srv/review --receipt request-3/log.json
    """
    _require_extra()
    from hitoku.review.log import verified

    heads = [json.loads(path.read_text("utf-8")) for path in receipt or []]
    entries, wrong = verified(_open(folder).engine, heads, export)
    for each in wrong:
        typer.echo(f"WRONG: {each}")
    typer.echo(
        f"{entries} entries, {len(heads)} receipt(s) from outside: {'NOT whole' if wrong else 'whole'}"
    )
    if wrong:
        raise typer.Exit(1)


def _open(folder: Path) -> Context:
    from hitoku.review.context import Context
    from hitoku.review.storage import require_current

    context = Context.open(folder)
    require_current(context.engine)
    return context


def _demo(folder: Path, host: str, port: int) -> None:
    from hitoku.review.demo import PASSWORD, PEOPLE, make_demo

    if host not in {"127.0.0.1", "localhost", "::1"}:
        raise ParameterError(
            "demo_is_local", "the demo stays on this machine", where="--host", fix="leave --host out"
        )
    typer.echo("making up a centre ...", err=True)
    context = make_demo(folder)
    typer.echo(f"\nopen http://{host}:{port}/ and sign in; everybody's password is {PASSWORD}\n", err=True)
    for login, name, roles in PEOPLE:
        typer.echo(f"  {login:6} {name}, {', '.join(roles)}", err=True)
    typer.echo(
        "\nThree submissions arrive within the first minute. Ctrl+C ends it, and nothing is kept.", err=True
    )
    # Submissions are made in another process, so that the queue is shown meanwhile.
    researchers = subprocess.Popen([sys.executable, "-m", "hitoku.review.demo", str(folder)])  # noqa: S603 - ours
    try:
        _serve(context, host, port)
    finally:
        researchers.kill()
        researchers.wait()


def _serve(context: Context, host: str, port: int) -> None:
    import uvicorn

    from hitoku.review.application import make_app

    sys.setswitchinterval(TURN_S)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    # The application logs requests itself; server logs would contain user text in addresses.
    uvicorn.run(
        make_app(context),
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=5,
    )


def _require_extra() -> None:
    """Raise an error with installation instructions if a required package is missing."""
    try:
        import alembic  # noqa: F401
        import argon2  # noqa: F401
        import sqlalchemy  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise HitokuError(
            "review_package_missing",
            "the review application needs {package}",
            where="hitoku serve",
            fix="pip install 'hitoku[review]'",
            package=error.name,
        ) from error
