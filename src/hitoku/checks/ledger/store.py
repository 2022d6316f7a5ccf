"""File of the ledger: an append-only log in SQLite, with lines chained by hashes.

| line | content |
|---|---|
| ``begin`` | the data, the number of outputs tested together, a hash of the key |
| ``settings`` | policy, unit and number of checkers, fixed by the centre |
| ``output`` | a released output; the members of its cells are stored outside the log |
| ``release`` | a receipt, and the released files |

A writer holds a lock from before the check until everything is on disk, all or nothing. Only the owner may
read the file, which contains microdata and the key.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hitoku.errors import DataError, OutputError, ParameterError
from hitoku.files import private_folder

VERSION = 4
KEY_BYTES = 32
MAGIC = b"SQLite format 3\0"
NOTHING = "0" * 64
SCHEMA = """
create table log (number integer primary key, kind text not null, body text not null, head text not null);
create table vector (name text primary key, content blob not null);
create table file (
    receipt integer not null, name text not null, content blob not null, primary key (receipt, name)
);
create table secret (key blob not null);
"""


@dataclass(frozen=True)
class LogLine:
    """Line of the log; its head is the hash of all lines up to it."""

    kind: str
    body: Mapping[str, Any]
    head: str


@dataclass
class LedgerStore:
    """Content of a ledger file, and access for writing."""

    path: Path  # Path of the file.
    lines: list[LogLine]  # Lines of the log.
    key: bytes  # Secret key for pseudonyms and hashes of units.
    # Membership vectors and pseudonyms read so far, by name.
    vectors: dict[str, bytes] = field(default_factory=dict, repr=False)
    # Open transaction of the holder of the lock; None for reading.
    database: sqlite3.Connection | None = field(default=None, repr=False)

    @property
    def head(self) -> str:
        """Hash of all lines."""
        return self.lines[-1].head if self.lines else NOTHING

    @property
    def by_name(self) -> bool:
        """Whether units are identified by pseudonyms of their names, so that extracts can be matched."""
        return bool(self.lines[0].body["by_name"])

    @property
    def depth(self) -> int:
        """Maximum number of outputs tested together."""
        return int(self.lines[0].body["depth"])

    def of(self, kind: str) -> list[Mapping[str, Any]]:
        """Return the bodies of the lines of a kind."""
        return [line.body for line in self.lines if line.kind == kind]

    def add(self, kind: str, body: Mapping[str, Any]) -> None:
        """Add a line to a ledger in memory."""
        self.lines.append(_chain_line(self.head, kind, body))

    def append(
        self,
        kind: str,
        body: Mapping[str, Any],
        vectors: Mapping[str, bytes] | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> str:
        """Write a line, in a transaction of its own unless the lock is held. Returns the new head.

        Parameters
        ----------
        kind, body
            Kind and body of the line.
        vectors
            Membership vectors by name.
        files
            Released files of a receipt.
        """
        line = _chain_line(self.head, kind, body)
        if self.database is not None:
            _insert(self.database, len(self.lines) + 1, line, vectors or {}, files or {})
        else:
            self._alone(line, vectors or {})
        self.lines.append(line)
        return line.head

    def _alone(self, line: LogLine, vectors: Mapping[str, bytes]) -> None:
        if not self.path.exists() and len(self.lines) == 1:
            create(self.path, self.lines, self.key)
        with _connect(self.path, 60.0) as database, _transaction(database, self.path):
            if _head(database) != self.head:
                raise DataError(
                    "ledger_written_meanwhile",
                    "another process has written to the ledger since it was opened",
                    where=str(self.path),
                    fix="open it again and repeat the check",
                )
            _insert(database, len(self.lines) + 1, line, vectors, {})

    def release_file(self, receipt: int, name: str) -> bytes:
        """Return a released file."""
        wanted = "select content from file where receipt=? and name=?"
        with _translate_errors(self.path):
            if self.database is not None:
                found = self.database.execute(wanted, (receipt, name)).fetchone()
            else:
                with _connect(self.path, 60.0, only_read=True) as database:
                    found = database.execute(wanted, (receipt, name)).fetchone()
        if found is None:
            raise damage_error(self.path, f"file {name} of receipt {receipt} is gone")
        return _bytes(self.path, found[0])


def fresh_store(path: Path, body: Mapping[str, Any], key: bytes | None = None) -> LedgerStore:
    """Create a ledger in memory; it is written with its first output."""
    drawn = key or secrets.token_bytes(KEY_BYTES)
    begun = {"version": VERSION, **body, "key": hashlib.sha256(drawn).hexdigest()}
    return LedgerStore(path, [_chain_line(NOTHING, "begin", begun)], drawn)


def read_store(path: Path) -> LedgerStore:
    """Read a ledger in its current state, and verify the hashes of its log."""
    with as_written(path), _connect(path, 60.0, only_read=True) as database, _translate_errors(path):
        database.execute("begin")
        return _load(path, database)


def verify_store(path: Path, head: str | None = None) -> list[LogLine]:
    """Verify all hashes of a ledger, including vectors and released files; return its log.

    Parameters
    ----------
    path
        Path of the ledger.
    head
        Head of a receipt that must be in the log.
    """
    store = read_store(path)
    with as_written(path):
        _compare(store, path)
    if head is not None and head not in {line.head for line in store.lines}:
        raise damage_error(
            path, "the head of the receipt is not in its log: lines were taken out, or it is another ledger"
        )
    return store.lines


def _compare(store: LedgerStore, path: Path) -> None:
    """Compare vectors and released files with their hashes in the log."""
    for body in store.of("output"):
        own = body.get("units")
        named = [*(body["parts"] or ()), *([own, *own.get("contents", ())] if own else ())]
        for entry in named:
            content = store.vectors.get(entry["file"])
            if content is None or hashlib.sha256(content).hexdigest() != entry["sha256"]:
                raise damage_error(path, f"vector {entry['file']} is not the one in its log")
    for body in store.of("release"):
        for output in body["outputs"]:
            for name, digest in output["files"].items():
                if hashlib.sha256(store.release_file(body["number"], name)).hexdigest() != digest:
                    raise damage_error(path, f"file {name} of receipt {body['number']} is not what left")


@contextmanager
def locked_store(path: Path, wait_s: float = 60.0) -> Iterator[LedgerStore]:
    """Lock a ledger; appended lines are written when the block ends, all or nothing.

    Parameters
    ----------
    path
        Path of an existing ledger.
    wait_s
        Time to wait for the lock, in seconds.
    """
    with _connect(path, wait_s) as database, _transaction(database, path):
        store = _load(path, database)
        store.database = database
        try:
            yield store
        finally:
            store.database = None


def create(
    path: Path, lines: Iterable[LogLine], key: bytes, vectors: Mapping[str, bytes] | None = None
) -> None:
    """Write a new ledger atomically; an existing one is never replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with private_folder(path.parent, path.name) as folder:
        draft = folder / path.name
        _write_new(draft, lines, key, vectors or {})
        try:
            os.link(draft, path)
        except FileExistsError:
            raise DataError(
                "ledger_exists",
                "a ledger exists already",
                where=str(path),
                fix="open it, or choose another name",
            ) from None
        except OSError as error:
            raise _cannot_write(path, str(error.strerror)) from error


def _write_new(draft: Path, lines: Iterable[LogLine], key: bytes, vectors: Mapping[str, bytes]) -> None:
    with _connect(draft, 0.0, new=True) as database, _transaction(database, draft):
        for statement in filter(str.strip, SCHEMA.split(";")):
            database.execute(statement)
        database.execute("insert into secret values (?)", (key,))
        for number, line in enumerate(lines, start=1):
            _insert(database, number, line, vectors if number == 1 else {}, {})


def _load(path: Path, database: sqlite3.Connection) -> LedgerStore:
    lines: list[LogLine] = []
    head = NOTHING
    for number, kind, text, said in database.execute(
        "select number, kind, body, head from log order by number"
    ):
        if number != len(lines) + 1 or _hash(head, kind, text) != said:
            raise damage_error(path, f"line {number} of its log does not follow from those before it")
        head = said
        lines.append(LogLine(kind, json.loads(text), head))  # its hash fits, so it is what was written
    if not lines or lines[0].kind != "begin":
        raise damage_error(path, "its log has no first entry")
    version = lines[0].body.get("version")
    if version != VERSION:
        raise DataError(
            "ledger_version_unknown",
            "the ledger is of version {version}, this program reads {known}",
            where=str(path),
            fix="use the version of hitoku that wrote it, or a newer one",
            version=version,
            known=VERSION,
        )
    found = database.execute("select key from secret").fetchone()
    key = _bytes(path, found[0]) if found else b""
    if hashlib.sha256(key).hexdigest() != lines[0].body["key"]:
        raise damage_error(path, "the key is not the one the ledger was created with")
    rows = database.execute("select name, content from vector")
    return LedgerStore(path, lines, key, {name: _bytes(path, content) for name, content in rows})


def _bytes(path: Path, content: Any) -> bytes:
    # Not bytes(content): for a number n it would create n zero bytes.
    if not isinstance(content, bytes):
        raise damage_error(path, "bytes expected")
    return content


@contextmanager
def as_written(path: Path) -> Iterator[None]:
    """Raise DataError for a log with valid hashes but unexpected content."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise damage_error(path, "its log has entries that this program does not write") from error


def _chain_line(head: str, kind: str, body: Mapping[str, Any]) -> LogLine:
    try:
        text = json.dumps(body, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise ParameterError(
            "published_values_invalid",
            "published values must be numbers, texts, lists and dictionaries",
            where="ledger",
            fix="give what JSON can hold",
        ) from error
    return LogLine(kind, json.loads(text), _hash(head, kind, text))


def _hash(head: str, kind: str, text: str) -> str:
    return hashlib.sha256(f"{head}\n{kind}\n{text}".encode()).hexdigest()


def _insert(
    database: sqlite3.Connection,
    number: int,
    line: LogLine,
    vectors: Mapping[str, bytes],
    files: Mapping[str, bytes],
) -> None:
    text = json.dumps(line.body, separators=(",", ":"))
    database.execute("insert into log values (?, ?, ?, ?)", (number, line.kind, text, line.head))
    database.executemany("insert into vector values (?, ?)", vectors.items())
    rows = ((line.body.get("number", 0), name, content) for name, content in files.items())
    database.executemany("insert into file values (?, ?, ?)", rows)


def _head(database: sqlite3.Connection) -> str:
    found = database.execute("select head from log order by number desc limit 1").fetchone()
    return str(found[0]) if found else NOTHING


@contextmanager
def _connect(
    path: Path, wait_s: float, *, only_read: bool = False, new: bool = False
) -> Iterator[sqlite3.Connection]:
    if not new:
        _require(path)
    writable = os.access(path, os.W_OK) if path.exists() else True
    # Opening must not create a file: a mistyped path must not start a ledger.
    mode = "rwc" if new else "ro" if only_read and not writable else "rw"
    with _translate_errors(path):
        if new:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        address = f"{path.resolve().as_uri()}?mode={mode}"
        database = sqlite3.connect(address, uri=True, timeout=wait_s, isolation_level=None)
    with closing(database):
        with _translate_errors(path):
            # After a power failure the disk has the whole transaction or nothing, including file names.
            database.execute("pragma synchronous=extra")
        yield database


@contextmanager
def _transaction(database: sqlite3.Connection, path: Path) -> Iterator[None]:
    with _translate_errors(path):
        database.execute("begin immediate")
        try:
            yield
            database.execute("commit")
        except BaseException:
            if database.in_transaction:
                database.execute("rollback")
            raise


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """Translate SQLite errors."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise DataError(
                "ledger_locked",
                "another process is releasing into the ledger",
                where=str(path),
                fix="wait until they are done, and try again",
            ) from error
        raise _cannot_write(path, str(error)) from error
    except sqlite3.DatabaseError as error:
        raise damage_error(path, "it cannot be read as a database") from error


def _require(path: Path) -> None:
    try:
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
    except OSError as error:
        raise DataError(
            "ledger_unreadable",
            "the ledger cannot be read",
            where=str(path),
            fix="check that it is a file, and permissions",
        ) from error
    if start.startswith(b"{"):
        raise DataError(
            "ledger_version_not_supported",
            "the ledger is of an earlier version, this program reads version {known}",
            where=str(path),
            fix="begin a new one with hitoku ledger init",
            known=VERSION,
        )
    if start != MAGIC:
        raise damage_error(path, "it is not a ledger")


def _cannot_write(path: Path, why: str) -> OutputError:
    return OutputError(
        "ledger_not_writable",
        "cannot write the ledger: {reason}",
        where=str(path),
        fix="nothing was written; free disk space, and check permissions",
        reason=why,
    )


def damage_error(path: Path, what: str) -> DataError:
    """Return the error for a changed or damaged file."""
    return DataError(
        "ledger_file_changed",
        "{file} was changed or damaged: {problem}",
        where=str(path.parent),
        fix="restore the ledger from a copy; nothing was read from it",
        file=path.name,
        problem=what,
    )
