"""Receive submissions by upload or through the watched folder; their content is untrusted.

Uploads are unpacked in quarantine within limits, and become a plain folder. Users who cannot upload place a
submission into the watched folder, as PROJECT/LOGIN/NAME.zip or as a folder, with title, context and controls
in NAME.toml. Accepted submissions are removed from the folder; rejected ones are moved to ``refused``, with a
file that gives the reason.
"""

from __future__ import annotations

import shutil
import stat
import struct
import time
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import sqlalchemy as sa

from hitoku.errors import DataError, HitokuError
from hitoku.files import MAX_TEXT_BYTES, private_folder, read_file, sha256
from hitoku.review import users
from hitoku.review.context import Context, ReviewSettings
from hitoku.review.storage import reading, writing
from hitoku.review.submitting import new_request
from hitoku.review.tables import project
from hitoku.toml import load_toml

MANIFEST = "manifest.json"
# Exceptions of the standard library for invalid archives, including messages without text.
BROKEN = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError, ValueError,
    LookupError, OSError,
)  # fmt: skip


def unpack(packed: Path, quarantine: Path, name: str, settings: ReviewSettings) -> tuple[Path, str]:
    """Unpack a submission into a quarantine folder; return the folder and the digest of the archive.

    Raises DataError, and leaves nothing behind, for links, absolute paths, paths outside the folder, repeated
    names, encrypted files, and more bytes or files than the settings allow.
    """
    digest = sha256(packed)
    target = quarantine / name
    with private_folder(quarantine, "unpacking") as draft:
        inner = draft / "submission"
        inner.mkdir()
        try:
            with zipfile.ZipFile(packed) as archive:
                _extract(archive, inner, settings)
        except BROKEN as error:
            raise submission_error("it is not a readable zip archive") from error
        whole = _root(inner)
        if target.exists():
            shutil.rmtree(target)
        whole.rename(target)
    return target, digest


def copy_folder(source: Path, quarantine: Path, name: str, settings: ReviewSettings) -> tuple[Path, str]:
    """Copy a folder into quarantine with the same limits; return it and its digest."""
    target = quarantine / name
    remaining, seen = settings.unpacked_bytes, 0
    with private_folder(quarantine, "copying") as draft:
        inner = draft / "submission"
        inner.mkdir()
        for path in sorted(source.rglob("*")):
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                raise submission_error(f"{path.name!r} is a link, or no file")
            if path.is_dir():
                continue
            seen += 1
            if seen > settings.most_files:
                raise submission_error(f"it has more than {settings.most_files:_} files")
            place = inner / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            with path.open("rb") as read:
                remaining -= _copy(read, place, remaining)
        digest = sha256(
            "\n".join(f"{sha256(each)} {each.relative_to(inner)}" for each in files_in(inner)).encode()
        )
        if target.exists():
            shutil.rmtree(target)
        inner.rename(target)
    return target, digest


def files_in(folder: Path) -> list[Path]:
    """Return all files below a folder, sorted."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def submission_error(what: str) -> DataError:
    """Return the error for a rejected submission."""
    return DataError(
        "submission_not_taken",
        "submission rejected: {reason}",
        where="upload",
        fix="send the unmodified folder written by Session.submit, as a zip archive",
        reason=what,
    )


def _extract(archive: zipfile.ZipFile, target: Path, settings: ReviewSettings) -> None:
    listed = [each for each in archive.infolist() if not each.is_dir()]
    if not listed:
        raise submission_error("it is empty")
    if len(listed) > settings.most_files:
        raise submission_error(f"it has more than {settings.most_files:_} files")
    _require_plain(listed)
    if sum(each.file_size for each in listed) > settings.unpacked_bytes:
        raise submission_error(f"it is larger than {settings.unpacked_bytes:_} bytes when unpacked")
    remaining = settings.unpacked_bytes
    for each in listed:
        # Text does not reach this compression ratio; small files are not tested.
        if each.file_size > max(10_000_000, 300 * each.compress_size):
            raise submission_error(f"{_short(each.filename)!r} is packed far too tightly")
        place = target / each.filename
        place.parent.mkdir(parents=True, exist_ok=True)
        # Sizes stated in the archive are not trusted: bytes are counted during extraction.
        with archive.open(each) as read:
            remaining -= _copy(read, place, min(remaining, each.file_size))


def _require_plain(listed: Iterable[zipfile.ZipInfo]) -> None:
    seen: set[str] = set()
    for each in listed:
        parts = PurePosixPath(each.filename).parts
        odd = (
            any(ord(letter) < 32 for letter in each.filename) or "\\" in each.filename or ":" in each.filename
        )
        if (
            odd
            or each.filename.startswith("/")
            or ".." in parts
            or len(each.filename) > 300
            or len(parts) > 6
        ):
            raise submission_error(
                f"{_short(each.filename)!r} leads outside the submission, or has an odd name"
            )
        kind = stat.S_IFMT(each.external_attr >> 16)
        if kind not in {0, stat.S_IFREG}:
            raise submission_error(f"{_short(each.filename)!r} is a link, or no file")
        if each.flag_bits & 0x1:
            raise submission_error("it is encrypted")
        folded = each.filename.casefold()
        if folded in seen:
            raise submission_error(f"{_short(each.filename)!r} is in it twice")
        seen.add(folded)


def _copy(read: object, place: Path, remaining: int) -> int:
    """Copy a file of limited size; return its number of bytes."""
    done = 0
    with place.open("xb") as write:
        while chunk := read.read(2**20):  # type: ignore[attr-defined]
            done += len(chunk)
            if done > remaining:
                raise submission_error("it is larger than allowed, or than it says")
            write.write(chunk)
    return done


def _root(folder: Path) -> Path:
    """Return the folder of the submission: the given one, or its only subfolder."""
    if (folder / MANIFEST).is_file():
        return folder
    inside = list(folder.iterdir())
    if len(inside) == 1 and (inside[0] / MANIFEST).is_file():
        return inside[0]
    raise submission_error(f"there is no {MANIFEST} in it")


def _short(name: str) -> str:
    return name[:60]


# A file changed less than this many seconds ago may still be written.
SETTLED_S = 2.0
REFUSED = "refused"


def take_from_inbox(context: Context) -> int:
    """Take submissions from the watched folder; return their number."""
    if not context.inbox.is_dir():
        return 0
    taken = 0
    for place in sorted(context.inbox.glob("*/*/*")):
        is_zip, is_folder = place.suffix == ".zip", place.is_dir() and (place / MANIFEST).is_file()
        if place.is_symlink() or not (is_zip or is_folder) or not _is_settled(place):
            continue
        try:
            _take(context, place)
        except (HitokuError, OSError) as error:
            _refuse(context, place, error)
        taken += 1
    return taken


def _is_settled(place: Path) -> bool:
    changed = max(path.lstat().st_mtime for path in [place, *(place.rglob("*") if place.is_dir() else [])])
    return time.time() - changed > SETTLED_S


def _take(context: Context, place: Path) -> None:
    login, name = place.parent.name, place.parent.parent.name
    with reading(context.engine) as connection:
        who = users.user_by_login(connection, login)
        row = connection.execute(sa.select(project.c.id).where(project.c.name == name)).first()
    if who is None or row is None:
        raise DataError(
            "unknown_login_or_project",
            "no such user or project",
            where="inbox",
            fix="ask the administrator",
        )
    words = _words(place.with_suffix(".toml") if place.is_file() else place.with_name(f"{place.name}.toml"))
    # Same bytes at the same path are one submission, even if a worker crashes and repeats this.
    nonce = sha256(f"{name}\0{login}\0{place.name}\0{place.lstat().st_mtime_ns}".encode())
    put = unpack if place.is_file() else copy_folder
    folder, digest = put(place, context.quarantine, nonce, context.settings)
    with writing(context.engine) as connection:
        new_request(
            connection,
            context,
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
        given, _ = load_toml(read_file(path, MAX_TEXT_BYTES).decode("utf-8"), path.name)
    except UnicodeDecodeError as error:
        raise DataError(
            "file_not_toml",
            "{file!r} is not a TOML file",
            where="inbox",
            fix="write title, context, controls",
            file=path.name,
        ) from error
    path.unlink()
    return {name: text for name, text in given.items() if isinstance(text, str)}


def _refuse(context: Context, place: Path, error: Exception) -> None:
    away = context.inbox / REFUSED
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
