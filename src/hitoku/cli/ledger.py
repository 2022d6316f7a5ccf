"""``hitoku ledger``: manage the ledger of released outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hitoku.cli.terminal import AsJson, Command, echo, print_json
from hitoku.files import require_path

ledger = typer.Typer(no_args_is_help=True)

Place = Annotated[Path, typer.Argument(help="Ledger file.")]


@ledger.callback()
def about() -> None:
    """Manage the ledger of released outputs."""


@ledger.command(cls=Command)
def init(
    path: Annotated[Path, typer.Argument(help="Ledger file to create, readable only by its owner.")],
    policy: Annotated[str, typer.Option(help="Policy of the research centre: name or .toml file.")],
    unit: Annotated[
        str | None,
        typer.Option(help="Column that identifies the unit. Default: every record is a unit."),
    ] = None,
    unit_word: Annotated[str, typer.Option(help="Word for a unit in messages: person, enterprise.")] = "unit",
    checkers: Annotated[int, typer.Option(help="Number of people who must sign a release.")] = 2,
    depth: Annotated[int, typer.Option(help="Maximum number of outputs tested together.")] = 4,
    key: Annotated[
        Path | None, typer.Option(help="File with the key of the research centre. Default: a random key.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create a ledger with its policy, unit and key.

    From then on, the policy and unit named in a submission are compared with those of the ledger and not
    used. If the ledger exists without settings, they are added.

    [bold]Example[/bold]: hitoku ledger init wages.ledger --policy japan-2017 --unit person_id
    """
    from hitoku.checks.ledger import init as begin

    begin(path, policy=policy, unit=unit, unit_word=unit_word, checkers=checkers, depth=depth, key=key)
    show(path, as_json=as_json)


@ledger.command(cls=Command)
def show(path: Place, as_json: AsJson = False) -> None:
    """Show settings and releases.

    [bold]Example[/bold]: hitoku ledger show wages.ledger
    """
    from hitoku.checks.ledger import read_store, receipts_of, settings_of

    store = read_store(require_path(path))
    fixed, left = settings_of(store), receipts_of(store)
    n_outputs = len(store.of("output"))
    if as_json:
        known = None
        if fixed is not None:
            known = {
                "policy": {
                    "name": fixed.policy.name,
                    "version": fixed.policy.version,
                    "hash": fixed.policy.hash,
                },
                "unit": fixed.unit,
                "checkers": fixed.checkers,
                "depth": fixed.depth,
                "created": fixed.created,
            }
        print_json(
            {
                "path": str(path),
                "settings": known,
                "outputs": n_outputs,
                "receipts": [each.to_dict() for each in left],
                "head": store.head,
            }
        )
        return
    if fixed is None:
        echo("no settings yet: run hitoku ledger init LEDGER --policy NAME --unit COLUMN")
    else:
        echo(f"policy {fixed.policy.name} {fixed.policy.version}, {fixed.policy.hash}")
        by = f"column {fixed.unit}" if fixed.unit else "every record"
        echo(f"unit: {by}; {fixed.checkers} people sign; up to {fixed.depth} outputs are tested together")
    for each in left:
        outputs = ", ".join(output.name for output in each.outputs)
        echo(f"{each.number}. {each.released} {each.submission}: {outputs}; by {', '.join(each.checkers)}")
    echo(f"{n_outputs} output(s) recorded; head {store.head}")


@ledger.command(cls=Command)
def verify(
    path: Place,
    head: Annotated[str | None, typer.Option(help="Head printed on a receipt; must be in the log.")] = None,
    as_json: AsJson = False,
) -> None:
    """Verify all hashes. Exit code 2: the ledger was changed.

    [bold]Example[/bold]: hitoku ledger verify wages.ledger --head 5f3c...
    """
    from hitoku.checks.ledger import verify_store

    lines = verify_store(require_path(path), head)
    if as_json:
        print_json({"path": str(path), "lines": len(lines), "head": lines[-1].head})
        return
    echo(f"{len(lines)} lines, all hashes match; head {lines[-1].head}")


@ledger.command(cls=Command)
def receipt(
    path: Place,
    number: Annotated[int, typer.Argument(help="Number of the receipt in hitoku ledger show.")],
    out: Annotated[Path, typer.Option(help="Folder to write. It must be empty or not exist.")],
    as_json: AsJson = False,
) -> None:
    """Restore the files of a receipt from the ledger.

    [bold]Example[/bold]: hitoku ledger receipt wages.ledger 3 --out released-again
    """
    from hitoku.checks.submission import write_released

    found = write_released(require_path(path), number, out)
    if as_json:
        print_json({"path": str(path), "out": str(out), "receipt": found.to_dict()})
        return
    echo(f"receipt {found.number}, {len(found.outputs)} output(s): {out}")
