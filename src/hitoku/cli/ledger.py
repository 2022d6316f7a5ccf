"""``hitoku ledger``: what was released, and what the centre fixed for it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hitoku.cli.terminal import AsJson, Command, echo, print_json
from hitoku.files import require_path

ledger = typer.Typer(no_args_is_help=True)

Place = Annotated[Path, typer.Argument(help="The ledger.")]


@ledger.callback()
def about() -> None:
    """Begin the ledger of a data set, look at it, verify it."""


@ledger.command(cls=Command)
def init(
    path: Annotated[Path, typer.Argument(help="The ledger to begin; only its owner may read it.")],
    policy: Annotated[str, typer.Option(help="The centre's policy: a name, or a .toml file.")],
    unit: Annotated[
        str | None,
        typer.Option(help="Column that names the unit in the data; left out, every record is one."),
    ] = None,
    unit_word: Annotated[str, typer.Option(help="What texts call a unit: person, enterprise.")] = "unit",
    checkers: Annotated[int, typer.Option(help="How many people sign a release.")] = 2,
    depth: Annotated[int, typer.Option(help="How many outputs are tested together.")] = 4,
    key: Annotated[
        Path | None, typer.Option(help="File with the centre's key; left out, one is drawn.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fix policy, unit and key for everything that will be released about some data.

    What a researcher names is compared with it from then on, and never used. A ledger that exists and has no
    settings yet gets them.

    [bold]Example[/bold]: hitoku ledger init wages.ledger --policy japan-2017 --unit person_id
    """
    from hitoku.checks.ledger import init as begin

    begin(path, policy=policy, unit=unit, unit_word=unit_word, checkers=checkers, depth=depth, key=key)
    show(path, as_json=as_json)


@ledger.command(cls=Command)
def show(path: Place, as_json: AsJson = False) -> None:
    """Say what was fixed, and what has left.

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
        echo("nobody has fixed policy and unit: hitoku ledger init LEDGER --policy NAME --unit COLUMN")
    else:
        echo(f"policy {fixed.policy.name} {fixed.policy.version}, {fixed.policy.hash}")
        by = f"column {fixed.unit}" if fixed.unit else "every record"
        echo(f"unit: {by}; {fixed.checkers} people sign; up to {fixed.depth} outputs are tested together")
    for each in left:
        outputs = ", ".join(output.name for output in each.outputs)
        echo(f"{each.number}. {each.released} {each.submission}: {outputs}; by {', '.join(each.checkers)}")
    echo(f"{n_outputs} output(s) remembered; head {store.head}")


@ledger.command(cls=Command)
def verify(
    path: Place,
    head: Annotated[str | None, typer.Option(help="The head on a receipt: it must be in the log.")] = None,
    as_json: AsJson = False,
) -> None:
    """Read everything and compare every hash; exit code 2 when something was changed.

    [bold]Example[/bold]: hitoku ledger verify wages.ledger --head 5f3c...
    """
    from hitoku.checks.ledger import verify_store

    lines = verify_store(require_path(path), head)
    if as_json:
        print_json({"path": str(path), "lines": len(lines), "head": lines[-1].head})
        return
    echo(f"{len(lines)} lines, nothing was changed; head {lines[-1].head}")


@ledger.command(cls=Command)
def receipt(
    path: Place,
    number: Annotated[int, typer.Argument(help="Of the receipt, as hitoku ledger show lists them.")],
    out: Annotated[Path, typer.Option(help="Folder to write; must not hold anything yet.")],
    as_json: AsJson = False,
) -> None:
    """Write what left with a receipt once more, from the ledger alone.

    [bold]Example[/bold]: hitoku ledger receipt wages.ledger 3 --out released-again
    """
    from hitoku.checks.submission import write_released

    found = write_released(require_path(path), number, out)
    if as_json:
        print_json({"path": str(path), "out": str(out), "receipt": found.to_dict()})
        return
    echo(f"receipt {found.number}, {len(found.outputs)} output(s): {out}")
