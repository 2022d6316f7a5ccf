"""Atomic writing of files and folders, hashes, and reading with limits.

Everything is written under a private temporary name and renamed when it is complete: readers see all of it or
nothing, and errors leave nothing behind. Leftovers of killed programs are removed by the next one that writes
to the same place.
"""

from __future__ import annotations

import csv
import errno
import gzip
import hashlib
import io
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from hitoku.errors import DataError, OutputError, did_you_mean
from hitoku.messages import Text

try:
    import fcntl
except ImportError:  # not on Windows, where leftovers of killed runs stay
    fcntl = None  # type: ignore[assignment]

# Suffix of unfinished files and folders.
DRAFT = ".draft"
# Attempts to rename a folder while other processes do the same.
ATTEMPTS = 20

# Limits of decompression: this size, or this many times the compressed size, whichever is larger.
LEAST_UNPACKED, MAX_GROWTH = 64 * 2**20, 100

# Path of a workbook, and a sheet, a range or both after the sign #.
SHEET = re.compile(r"(.+\.xls[xm])#(.*)", re.IGNORECASE | re.DOTALL)


def split_sheet(path: str | Path) -> tuple[Path, str]:
    """Split the path of a workbook from the sheet and range after it; the second part may be empty.

    Examples
    --------
    >>> split_sheet("figures/book.xlsx#Sheet1!A3:H40")
    (PosixPath('figures/book.xlsx'), 'Sheet1!A3:H40')
    """
    found = SHEET.fullmatch(str(path))
    return (Path(found[1]), found[2]) if found else (Path(path), "")


# Bytes of a text that a person writes or a service answers.
MAX_TEXT_BYTES = 1_000_000


def require_path(path: Path) -> Path:
    """Return an existing path, possibly with a sheet; raise ParameterError with a suggestion otherwise."""
    given = path
    path, _ = split_sheet(path)
    try:
        if path.exists():
            return given
    except (OSError, ValueError) as error:  # name too long, or with NUL
        raise DataError(
            "not_a_path", "invalid path", where="{path!s:.40}", fix="check the path", path=path
        ) from error
    beside = sorted(entry.name for entry in path.parent.iterdir()) if path.parent.is_dir() else []
    raise DataError(
        "no_file_or_folder",
        "no file or folder {file!r}",
        where="the current folder" if path.parent == Path() else str(path.parent),
        fix=did_you_mean(path.name, beside, otherwise="check the path"),
        file=path.name,
    )


def refuse_occupied(path: Path) -> None:
    """Raise OutputError if an output folder is not empty."""
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise OutputError(
            "folder_not_empty",
            "the output folder {folder!r} is not empty",
            where=str(path),
            fix="choose another folder, or move the old one away first",
            folder=path.name,
        )


def refuse_unwritable(path: Path) -> None:
    """Raise OutputError if a file or folder cannot be created at this path, before any work."""
    parent = next(each for each in path.absolute().parents if each.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        kind = PermissionError if parent.is_dir() else NotADirectoryError
        raise _unwritten(repr(path.name), parent, kind())


def refuse_existing(path: Path) -> None:
    """Raise OutputError if an output file exists."""
    if path.exists():
        raise OutputError(
            "file_exists",
            "the file {file!r} exists already",
            where=str(path),
            fix="choose another name, or move the old one away first",
            file=path.name,
        )


@contextmanager
def private_folder(parent: Path, name: str) -> Iterator[Path]:
    """Yield a temporary folder in ``parent``, readable by its owner only and removed when the block ends.

    Parameters
    ----------
    parent
        Parent folder, on the same disk as the target, so that files can be renamed.
    name
        Name of the target; the hidden name begins with it.
    """
    try:
        _remove_drafts(parent, name)
        draft, lock = _locked_folder(parent, name)
    except OSError as error:
        raise _unwritten(f"to {parent.name or parent}", parent, error) from error
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        if lock is not None:
            os.close(lock)


@contextmanager
def spill_folder() -> Iterator[Path]:
    """Yield a private folder for temporary records; leftovers of killed runs are removed first."""
    with private_folder(Path(tempfile.gettempdir()), "hitoku-spill") as folder:
        yield folder


def _locked_folder(parent: Path, name: str) -> tuple[Path, int | None]:
    """Create a folder that is locked while this program runs."""
    while True:
        draft = Path(tempfile.mkdtemp(prefix=f".{name}-", suffix=DRAFT, dir=parent))
        if fcntl is None:
            return draft, None
        try:
            lock = os.open(draft, os.O_RDONLY)
        except FileNotFoundError:
            continue  # another process removed it as stale
        with suppress(OSError):  # a disk without locks: no process removes it as stale
            fcntl.flock(lock, fcntl.LOCK_SH)
        if draft.exists():
            return draft, lock
        os.close(lock)  # removed before it was locked


def _remove_drafts(parent: Path, name: str) -> None:
    """Remove stale temporary folders, on which no process holds a lock."""
    if fcntl is None:
        return
    for entry in os.scandir(parent):
        left = re.fullmatch(rf"\.{re.escape(name)}-[a-z0-9_]{{8}}{re.escape(DRAFT)}", entry.name)
        if not left or not entry.is_dir(follow_symlinks=False):
            continue
        with suppress(OSError):  # removed meanwhile, owned by another user, or in use
            lock = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(entry.path, ignore_errors=True)
            finally:
                os.close(lock)


@contextmanager
def new_folder(path: Path, *, shared: bool = False) -> Iterator[Path]:
    """Yield a temporary folder next to ``path``; rename it to ``path`` if the block succeeds.

    Parameters
    ----------
    path
        Target folder, which does not exist or is empty.
    shared
        Whether the owner's group may read it. Default: owner only.
    """
    refuse_occupied(path)
    make_parent(path, f"to {path.parent.name or path.parent}")
    with private_folder(path.parent, path.name) as draft:
        try:
            yield draft
            if shared:
                for each in (draft, *draft.rglob("*")):
                    each.chmod(0o750 if each.is_dir() else 0o640)
            if path.is_dir():
                path.rmdir()  # empty: checked by refuse_occupied
            draft.rename(path)
        except OSError as error:
            raise _unwritten(repr(path.name), path, error) from error


@contextmanager
def replaced_folder(path: Path, known: Collection[str]) -> Iterator[Path]:
    """Yield a temporary folder; replace ``path`` by it if the block succeeds.

    Parameters
    ----------
    path
        Target folder, which does not exist or contains only known files; it is replaced.
    known
        Names of files that an earlier folder of this kind contains.
    """
    others = (
        sorted(entry.name for entry in path.iterdir() if entry.name not in known) if path.is_dir() else []
    )
    fix = "choose another folder: this one would be replaced"
    if path.is_file():
        raise OutputError("folder_is_file", "{file!r} is a file", where=str(path), fix=fix, file=path.name)
    if others:
        raise OutputError(
            "folder_holds_other_files",
            "{folder!r} also holds {file!r}",
            where=str(path),
            fix=fix,
            folder=path.name,
            file=others[0],
        )
    make_parent(path, f"to {path.parent.name or path.parent}")
    with private_folder(path.parent, path.name) as draft:
        try:
            new = draft / "new"
            new.mkdir(mode=0o700)
            yield new
            for attempt in range(ATTEMPTS):
                with suppress(FileNotFoundError):
                    path.rename(draft / f"old-{attempt}")
                try:
                    new.rename(path)
                except OSError as error:
                    # Another process put its folder there in between.
                    if error.errno not in {errno.ENOTEMPTY, errno.EEXIST} or attempt == ATTEMPTS - 1:
                        raise
                else:
                    break
        except OSError as error:
            raise _unwritten(repr(path.name), path, error) from error


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a temporary file next to ``path``; rename it to ``path`` if the block succeeds.

    Callers decide whether files may be overwritten: commands call :func:`refuse_existing` first.
    """
    try:
        # In its own folder: a private file would keep its private permissions when renamed.
        with private_folder(path.parent, path.name) as draft:
            file = draft / path.name
            yield file
            file.replace(path)
    except OSError as error:
        raise _unwritten(repr(path.name), path.parent, error) from error


@contextmanager
def new_files(files: Sequence[tuple[Path, Path]]) -> Iterator[None]:
    """Copy finished files next to their targets; rename all of them if the block succeeds.

    They are copied first because a target may be on another disk, which may be full; afterwards only renaming
    remains.

    Parameters
    ----------
    files
        Pairs of source and target paths.
    """
    with ExitStack() as places:
        beside: dict[Path, Path] = {}
        for file, target in files:
            if target.parent not in beside:
                beside[target.parent] = places.enter_context(private_folder(target.parent, "hitoku"))
            shutil.copyfile(file, beside[target.parent] / target.name)
        yield
        for _, target in files:
            (beside[target.parent] / target.name).replace(target)


def write_file(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write a file atomically; its content is on disk before its name.

    Parameters
    ----------
    path
        Path of the file; its folder is created if necessary.
    content
        Content; an existing file is replaced.
    private
        Whether only the owner may read it. Default: False.
    """
    make_parent(path)
    with new_file(path) as draft, draft.open("wb") as file:
        if private:
            draft.chmod(0o600)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def make_parent(path: Path, what: str = "") -> None:
    """Create the parent folder of a file or folder.

    Parameters
    ----------
    path
        Path of the file or folder.
    what
        Description for the error message. Default: its name.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritten(what or repr(path.name), path.parent, error) from error


def _unwritten(what: str, where: Path, error: OSError) -> OutputError:
    """Return the error for a failed write, which leaves nothing behind."""
    full = error.errno in {errno.ENOSPC, errno.EDQUOT}
    return OutputError(
        "cannot_write",
        "cannot write {what}: {kind}",
        where=str(where),
        fix="free disk space, or choose a folder on another disk; no files were left behind"
        if full
        else "choose a folder that exists and that you may write to",
        what=what,
        kind=Text("the disk is full") if full else error.strerror,
    )


def read_file(path: Path, most_bytes: int, *, links: bool = True) -> bytes:
    """Read a file of limited size; a longer one is rejected before it fills the memory.

    Parameters
    ----------
    path
        Path of a regular file; pipes and devices are rejected, because they may never end.
    most_bytes
        Maximum size in bytes.
    links
        Whether symbolic links are followed. Default: True.
    """
    try:
        # Non-blocking: opening a pipe would wait for a writer.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | (0 if links else getattr(os, "O_NOFOLLOW", 0))
        with open(os.open(path, flags), "rb") as file:  # noqa: PTH123 - pathlib takes no flags
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise DataError(
                    "not_a_regular_file",
                    "{file!r} is not a regular file",
                    where=str(path.parent),
                    fix="give a file",
                    file=path.name,
                )
            content = file.read(most_bytes + 1)
    except OSError as error:
        raise DataError(
            "cannot_read",
            "cannot read {file!r}: {reason}",
            where=str(path.parent),
            file=path.name,
            reason=error.strerror,
        ) from error
    if len(content) > most_bytes:
        raise DataError(
            "file_too_long",
            "{file!r} is longer than {most_bytes:_} bytes",
            where=str(path.parent),
            fix="give a shorter one",
            file=path.name,
            most_bytes=most_bytes,
        )
    return content


# Texts that a spreadsheet runs as formulas, including quotes before them; signed numbers are not formulas.
FORMULA = re.compile(r"(?=('*[=+\-@\t\r]))\1(?!\Z)(?!(?<=[+\-])[\d.,]+\Z)")
# First characters of such texts.
SIGNS = frozenset(("'", "=", "+", "-", "@", "\t", "\r"))


def unpack(raw: bytes) -> bytes:
    """Decompress gzip data; other bytes are returned unchanged.

    Tables of numbers compress to about a tenth. Data that expand far beyond any table are an attack on the
    memory and raise :class:`OSError`, like other damage.

    Examples
    --------
    >>> unpack(gzip.compress(b"0 1 2")), unpack(b"0 1 2")
    (b'0 1 2', b'0 1 2')
    """
    if raw[:2] != b"\x1f\x8b":
        return raw
    most = max(LEAST_UNPACKED, MAX_GROWTH * len(raw))
    with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
        plain = file.read(most + 1)
    if len(plain) > most:
        raise OSError(f"more than {most} bytes when unpacked")
    return plain


def disarm(text: str) -> str:
    """Quote a text that a spreadsheet would run as a formula; :func:`rearm` removes the quote.

    Examples
    --------
    >>> disarm("=1+1"), disarm("-18"), disarm("Total"), disarm("'=a"), rearm(disarm("'=a"))
    ("'=1+1", '-18', 'Total', "''=a", "'=a")
    """
    # Check the first character first: it decides for nearly all of millions of texts.
    return f"'{text}" if text[:1] in SIGNS and FORMULA.match(text) else text


def rearm(text: str) -> str:
    """Undo :func:`disarm`."""
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text


def write_csv(file: TextIO | Path, rows: Iterable[Iterable[Any]], *, disarmed: bool = True) -> None:
    r"""Write rows as CSV, quoting texts that a spreadsheet would run as formulas.

    Parameters
    ----------
    file
        Path, or file opened for writing with ``newline=""``.
    rows
        Rows, beginning with the header.
    disarmed
        Whether to quote formulas. False for files read by programs only. Default: True.

    Examples
    --------
    >>> text = io.StringIO()
    >>> write_csv(text, [["code", "value"], ["=1+1", -18]])
    >>> text.getvalue()
    "code,value\n'=1+1,-18\n"
    >>> list(read_csv(text.getvalue().splitlines()))
    [['code', 'value'], ['=1+1', '-18']]
    """
    if isinstance(file, Path):
        with file.open("w", newline="", encoding="utf-8") as opened:
            write_csv(opened, rows, disarmed=disarmed)
        return
    writer = csv.writer(file, lineterminator="\n")
    if disarmed:
        rows = ([disarm(entry) if isinstance(entry, str) else entry for entry in row] for row in rows)
    writer.writerows(rows)


def read_csv(lines: Iterable[str]) -> Iterator[list[str]]:
    """Read rows that :func:`write_csv` wrote, without its quotes."""
    return ([rearm(entry) for entry in row] for row in csv.reader(lines))


def sha256(content: bytes | Path) -> str:
    """Return the SHA-256 of bytes or of a file of any size, as hexadecimal digits.

    Examples
    --------
    >>> sha256(b"")[:8]
    'e3b0c442'
    """
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    with content.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
