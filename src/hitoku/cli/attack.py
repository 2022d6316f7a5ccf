"""``hitoku attack``: run disclosure attacks against a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hitoku.cli.terminal import FOUND, MAX_FINDINGS, AsJson, print_json, progress

if TYPE_CHECKING:
    from hitoku.model import Finding


def _list_attacks(wanted: bool) -> None:
    """Print every attack with the knowledge it assumes, and exit."""
    if not wanted:
        return
    from hitoku.attacks import ATTACKS

    for name, kind in ATTACKS.items():
        about = "adjusted values" if kind.adjusted else "suppressed cells"
        typer.echo(f"{name}: infers {about}; assumed knowledge: {kind.assumes}")
    raise typer.Exit


def attack(
    release: Annotated[Path, typer.Argument(help="Release folder, or the folder of a publication.")],
    attack: Annotated[
        list[str], typer.Option("--attack", help="Attack with its parameters. Repeat for several.")
    ] = ["interval"],  # noqa: B006 - typer copies it
    as_json: AsJson = False,
    list_attacks: Annotated[
        bool,
        typer.Option(
            "--list",
            callback=_list_attacks,
            is_eager=True,
            help="List the attacks and the knowledge that each assumes.",
        ),
    ] = False,
) -> None:
    """Run disclosure attacks against a release, and compare the results with its protection levels.

    interval: feasibility intervals of the suppressed cells from the published ones. insider: the same for
    contributors who know their own contributions. group: groups of a few units whose values follow for
    everybody else. matching: tables for which the same method would have published the same release.
    adjustment: estimates of the true values behind adjusted ones. Exit code 1: a disclosure was found.

    [bold]Examples[/bold]

    hitoku attack demo-release

    hitoku attack release --attack interval --attack insider:coalition=2

    hitoku attack release --attack group:k=1,sensitive=injury --json

    hitoku attack --list
    """
    del list_attacks  # its callback exits
    # Deferred imports keep --help fast.
    from hitoku.files import require_path
    from hitoku.io.release import release_folders
    from hitoku.model import Severity
    from hitoku.pipeline import AttackedFolder, attack_folder

    folders = release_folders(require_path(release))
    findings: dict[str, list[Finding]] = {word: [] for word in attack}
    with progress(len(folders) * (len(attack) + 1)) as step:
        for each in folders:
            step("reading the release")
            folder = AttackedFolder.read(each)
            for word in attack:
                step(f"attacking: {word}")
                findings[word] += _with_release_name(
                    attack_folder(folder, word), each if len(folders) > 1 else None
                )
    failed = {word: [f for f in found if f.severity is Severity.FAIL] for word, found in findings.items()}
    if as_json:
        listed = {word: [str(finding) for finding in found] for word, found in findings.items()}
        print_json({"path": str(release), "found": sum(map(len, failed.values())), "attacks": listed})
    else:
        for word, found in findings.items():
            typer.echo(f"{word}: {f'{len(failed[word]):,} found' if failed[word] else 'nothing found'}")
            for finding in found[:MAX_FINDINGS]:
                typer.echo(f"  {finding}")
            if len(found) > MAX_FINDINGS:
                typer.echo(f"  and {len(found) - MAX_FINDINGS:,} more; --json lists them all")
    if any(failed.values()):
        raise typer.Exit(FOUND)


def _with_release_name(findings: Sequence[Finding], folder: Path | None) -> list[Finding]:
    """Return the findings with the name of their release."""
    if folder is None:
        return list(findings)
    return [replace(finding, place=f"{folder.name}: {finding.place}") for finding in findings]
