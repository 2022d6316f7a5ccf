"""The watched folder: who cannot upload drops a submission there, as PROJECT/LOGIN/NAME.zip or as a folder.

Title, context and controls stand in NAME.toml beside it. What is taken is gone from the folder; what is
refused is moved to ``refused``, with a file that says why.
"""

from __future__ import annotations

import shutil
import time
import tomllib
from pathlib import Path

import sqlalchemy as sa

from hitoku.errors import DataError, HitokuError
from hitoku.files import read_file, sha256
from hitoku.review import people
from hitoku.review.desk import Desk
from hitoku.review.intake import MANIFEST, copy_folder, unpack
from hitoku.review.storage import reading, writing
from hitoku.review.submitting import new_request
from hitoku.review.tables import project

# Something that changed less than so many seconds ago may still be written.
SETTLED_S = 2.0
REFUSED = "refused"
MOST_WORDS = 100_000


def look(desk: Desk) -> int:
    """Take in what was dropped; return how much."""
    if not desk.inbox.is_dir():
        return 0
    taken = 0
    for place in sorted(desk.inbox.glob("*/*/*")):
        is_zip, is_folder = place.suffix == ".zip", place.is_dir() and (place / MANIFEST).is_file()
        if place.is_symlink() or not (is_zip or is_folder) or not _settled(place):
            continue
        try:
            _take(desk, place)
        except (HitokuError, OSError) as error:
            _refuse(desk, place, error)
        taken += 1
    return taken


def _settled(place: Path) -> bool:
    changed = max(path.lstat().st_mtime for path in [place, *(place.rglob("*") if place.is_dir() else [])])
    return time.time() - changed > SETTLED_S


def _take(desk: Desk, place: Path) -> None:
    login, name = place.parent.name, place.parent.parent.name
    with reading(desk.engine) as connection:
        who = people.known(connection, login)
        row = connection.execute(sa.select(project.c.id).where(project.c.name == name)).first()
    if who is None or row is None:
        raise DataError(
            "nobody of this login, or no such project", where="inbox", fix="ask the administrator"
        )
    words = _words(place.with_suffix(".toml") if place.is_file() else place.with_name(f"{place.name}.toml"))
    # The same bytes at the same place are the same submission, however often a worker dies over them.
    nonce = sha256(f"{name}\0{login}\0{place.name}\0{place.lstat().st_mtime_ns}".encode())
    put = unpack if place.is_file() else copy_folder
    folder, digest = put(place, desk.quarantine, nonce, desk.settings)
    with writing(desk.engine) as connection:
        new_request(
            connection,
            desk,
            who,
            project_id=row.id,
            title=words.get("title", place.stem),
            context=words.get("context", "Not given: dropped in the watched folder without words."),
            controls=words.get("controls", "Not given."),
            folder=folder,
            digest=digest,
            nonce=nonce,
        )
    _remove(place)


def _words(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    try:
        given = tomllib.loads(read_file(path, MOST_WORDS).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path.name!r} is no TOML file", where="inbox", fix="write title, context, controls"
        ) from error
    path.unlink()
    return {name: text for name, text in given.items() if isinstance(text, str)}


def _refuse(desk: Desk, place: Path, error: Exception) -> None:
    away = desk.inbox / REFUSED
    away.mkdir(exist_ok=True)
    target = away / f"{int(time.time())}-{place.parent.name}-{place.name}"
    place.rename(target)
    said = error.what if isinstance(error, HitokuError) else type(error).__name__
    target.with_name(f"{target.name}.txt").write_text(f"{said}\n", "utf-8")


def _remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink()
