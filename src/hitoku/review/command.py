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

Folder = Annotated[Path, typer.Argument(help="Folder of the application.")]
# Thread switch interval in seconds. A page runs about 20 queries and may wait for the GIL after each;
# Python's default of 5 ms adds 0.1 s.
TURN_S = 0.0005


@serve.callback()
def run(
    context: typer.Context,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Folder of the application, from 'hitoku serve init'.")
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Run a demo with synthetic submissions, in a temporary folder.")
    ] = False,
    host: Annotated[str, typer.Option(help="Address to listen on, behind a proxy.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8765,
) -> None:
    """Run the output-review web application.

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
            "nothing to serve",
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
        str, typer.Option(help="Database, postgresql+psycopg://... Default: a file in the folder.")
    ] = "",
    team: Annotated[str, typer.Option(help="Name of the centre on pages.")] = "Output checking",
    http: Annotated[
        bool, typer.Option("--http", help="Do not use https, for a trial on one machine.")
    ] = False,
) -> None:
    """Create an application folder, with settings and database.

    [bold]Examples[/bold]

    hitoku serve init /srv/review

    hitoku serve init /srv/review --database postgresql+psycopg://review@/review --team "Data centre"
    """
    _require_extra()
    from hitoku.review.setup import create_folder

    given = {
        "team": team,
        **({"database": database} if database else {}),
        **({"https": False} if http else {}),
    }
    create_folder(folder, **given)
    typer.echo(f"made {folder}: settings in {folder / 'review.toml'}")
    typer.echo(f"next: hitoku serve add-user {folder} LOGIN --role administrator")


@serve.command("add-user")
def add_user(
    folder: Folder,
    login: Annotated[str, typer.Argument(help="Login of the user.")],
    role: Annotated[
        list[str],
        typer.Option(help="Role: researcher, checker, senior or administrator. Repeat for several."),
    ],
    name: Annotated[str, typer.Option(help="Name on pages.")] = "",
    password_file: Annotated[
        Path | None, typer.Option(help="File with the password. Default: a random password, shown once.")
    ] = None,
    external: Annotated[
        bool, typer.Option("--external", help="No password: the user signs in through a proxy or OIDC.")
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
    login: Annotated[str, typer.Argument(help="Login of the user.")],
    password_file: Annotated[
        Path | None, typer.Option(help="File with the password. Default: a random password.")
    ] = None,
) -> None:
    """Set a password, and end all sessions of the user.

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
    login: Annotated[str | None, typer.Argument(help="Login. Default: all users.")] = None,
) -> None:
    """Reset failed sign-ins, so that a user can sign in at once.

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
    typer.echo(f"{n_forgotten} failed sign-in(s) reset")


@serve.command("add-project")
def add_project(
    folder: Folder,
    name: Annotated[str, typer.Argument(help="Name of the project.")],
    data: Annotated[Path | None, typer.Option(help="Data of the project, Parquet or CSV.")] = None,
    unit: Annotated[str, typer.Option(help="Column that identifies the unit.")] = "",
    ledger: Annotated[
        Path | None, typer.Option(help="Ledger of the data. Default: a ledger of the project.")
    ] = None,
    policy: Annotated[str, typer.Option(help="Policy of the project.")] = "japan-2017",
    member: Annotated[
        list[str] | None, typer.Option(help="Login of a researcher. Repeat for several.")
    ] = None,
) -> None:
    """Add a project and its researchers.

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
    """Upgrade the database schema. Back up first.

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
    out: Annotated[Path, typer.Argument(help="Folder to write. It must not exist.")],
) -> None:
    """Back up a running application: a consistent database, and the files that it refers to.

    [bold]Examples[/bold]

    hitoku serve backup /srv/review /backup/review-2026-11-16
    """
    _require_extra()
    from hitoku.review.backup import back_up

    kept = back_up(_open(folder), out)
    typer.echo(f"{out}: {kept.entries} log entries, {kept.files} files")


@serve.command()
def restore(
    backup_folder: Annotated[Path, typer.Argument(help="Backup, from 'hitoku serve backup'.")],
    folder: Annotated[Path, typer.Argument(help="Folder to write. It must not exist.")],
    database: Annotated[
        str, typer.Option(help="Empty database to restore to. Default: a file in the folder.")
    ] = "",
) -> None:
    """Restore an application from a backup, and verify it.

    [bold]Examples[/bold]

    hitoku serve restore /backup/review-2026-11-16 /srv/review-again
    """
    _require_extra()
    from hitoku.review.backup import restore

    kept = restore(backup_folder, folder, database)
    typer.echo(f"{folder}: {kept.entries} log entries, {kept.files} files; the log is whole")


@serve.command("verify-log")
def verify_log(
    folder: Folder,
    receipt: Annotated[
        list[Path] | None,
        typer.Option(help="log.json of a release, which the log must contain. Repeat for several."),
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Verify this export (log.csv) instead of the database.")
    ] = None,
) -> None:
    """Verify the log against its hashes, the receipts and the database.

    Exit code 1: it does not.

    [bold]Examples[/bold]

    hitoku serve verify-log /srv/review

    hitoku serve verify-log /srv/review --receipt request-3/log.json
    """
    _require_extra()
    from hitoku.review.log import verify_log

    heads = [json.loads(path.read_text("utf-8")) for path in receipt or []]
    entries, wrong = verify_log(_open(folder).engine, heads, export)
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
            "demo_is_local", "the demo runs on this machine only", where="--host", fix="omit --host"
        )
    typer.echo("creating the demo ...", err=True)
    context = make_demo(folder)
    typer.echo(f"\nopen http://{host}:{port}/ and sign in; every password is {PASSWORD}\n", err=True)
    for login, name, roles in PEOPLE:
        typer.echo(f"  {login:6} {name}, {', '.join(roles)}", err=True)
    typer.echo(
        "\nThree submissions arrive within the first minute. Ctrl+C ends the demo; nothing is kept.", err=True
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
