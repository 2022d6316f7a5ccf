"""Entry points that read files from others.

Each takes any bytes, and must return or raise :class:`~hitoku.errors.HitokuError`; any other exception is a
bug. For files with a hash, the content is mutated and the hash recomputed, as a forger would do.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from tests.checks.submissions import reseal

from hitoku.checks import read_decisions
from hitoku.checks.ledger import LedgerStore, create, receipts, verify_store
from hitoku.checks.policies import policy
from hitoku.checks.submission import recheck
from hitoku.evidence.verify import fingerprint, verify
from hitoku.io import read_code_tree, read_jj, read_jj_pattern, read_marked_cells
from hitoku.io.argus import (
    check_batch,
    parse_metadata,
    read_apriori,
    read_batch,
    read_code_value,
    read_metadata,
    read_microdata,
    read_recode,
    read_table,
    read_tree,
    write_metadata,
)
from hitoku.io.recipe import Recipe, draft_recipe
from hitoku.io.release import read_release
from hitoku.review import FILE, MANIFEST, ReviewSettings, faults, read_export, read_settings, unpack
from hitoku.tabulation import tabulate

EntryPoint = Callable[[bytes, Path], object]
ENTRY_POINTS: dict[str, EntryPoint] = {}
# Limits for an uploaded archive; larger ones are rejected before they are unpacked.
BOUNDS = ReviewSettings(unpacked_bytes=200_000, most_files=50)
FREE = parse_metadata('<SEPARATOR> ";"\nR 3\n<RECODEABLE>\nV 9 999\n<NUMERIC>')
FIXED = parse_metadata("R 1 2\n<RECODEABLE>\nV 4 4 9999\n<NUMERIC>")
CELLS = parse_metadata(
    '<SEPARATOR> ";"\nR\n<RECODEABLE>\nS\n<RECODEABLE>\n<HIERLEVELS> 1 1\n<HIERARCHICAL>\n'
    "V\n<NUMERIC>\nN\n<FREQUENCY>\nST\n<STATUS>\nT\n<MAXSCORE>"
)


def entry_point(name: str) -> Callable[[EntryPoint], EntryPoint]:
    """Register an entry point."""

    def put(function: EntryPoint) -> EntryPoint:
        ENTRY_POINTS[name] = function
        return function

    return put


def _file(content: bytes, scratch: Path, name: str) -> Path:
    path = scratch / name
    path.write_bytes(content)
    return path


def _register_readers(name: str, file: str, *reads: Callable[[Path], object]) -> None:
    """Register functions that read one file. If there are several, the first byte chooses one."""

    def read(content: bytes, scratch: Path) -> object:
        way = content[0] % len(reads) if len(reads) > 1 and content else 0
        return reads[way](_file(content[1:] if len(reads) > 1 else content, scratch, file))

    ENTRY_POINTS[name] = read


_register_readers(
    "csv",
    "x.csv",
    draft_recipe,
    lambda path: tabulate(path, ["a"], value="x"),
    lambda path: read_marked_cells(path, ["a"], "x", "mark"),
    read_code_tree,
)
_register_readers("recipe", "x.toml", Recipe.read)
_register_readers("jj", "x.jj", lambda path: (read_jj(path), read_jj_pattern(path)))
_register_readers("argus-rda", "x.rda", read_metadata)
_register_readers("argus-hrc", "x.hrc", read_tree)
_register_readers("argus-grc", "x.grc", read_recode)
_register_readers(
    "argus-asc", "x.asc", lambda path: read_microdata(path, FREE), lambda path: read_microdata(path, FIXED)
)
_register_readers(
    "argus-tab",
    "x.tab",
    lambda path: read_table(path, CELLS, additivity="open"),
    lambda path: read_table(path, CELLS, additivity="recompute"),
    lambda path: read_table(path, CELLS),
)
_register_readers("argus-hst", "x.hst", lambda path: read_apriori(path, 2))
_register_readers(
    "argus-safe",
    "x.csv",
    lambda path: read_code_value(path, 2),
    lambda path: read_code_value(path, 2, statuses=True),
)
_register_readers("policy", "x.toml", policy)
_register_readers("decisions", "x.toml", read_decisions)
_register_readers("settings", FILE, lambda path: read_settings(path.parent))
_register_readers("log", "log.csv", lambda path: faults(read_export(path)))


@entry_point("argus-arb")
def batch(content: bytes, scratch: Path) -> object:
    """Read a batch file in a folder with valid data files, which are written once."""
    folder = scratch / "folder"
    if not folder.is_dir():
        folder.mkdir()
        _file(b"N;1;10;3;S;5\n", folder, "x.tab")
        _file(b"N1;12.50\n", folder, "x.asc")
        _file(b"N;1;u\n", folder, "x.hst")
        write_metadata(folder / "x.rda", CELLS)
    return check_batch(read_batch(_file(content, folder, "x.arb")))


@entry_point("certificate")
def certificate(content: bytes, scratch: Path) -> object:
    """Verify a certificate, unchanged and with a recomputed fingerprint."""
    path = _file(content, scratch, "certificate.json")
    verify(path)
    given = _json(content)
    if not isinstance(given, dict):
        return None
    given["sha256"] = fingerprint(given)
    path.write_text(json.dumps(given), "utf-8")
    return verify(path)


@entry_point("certificate-value")
def certificate_value(content: bytes, scratch: Path) -> object:
    """Put any value anywhere into a valid certificate, with a recomputed fingerprint.

    The first byte chooses the certificate, the next two the position.
    """
    valid = _files(scratch / "whole" / "certificates")
    given = json.loads(valid[content[0] % len(valid) if content else 0].read_bytes())
    positions = list(_positions(given))
    holder, key = positions[int.from_bytes(content[1:3]) % len(positions)]
    holder[key] = _json(content[3:])
    given["sha256"] = fingerprint(given)
    return verify(_file(json.dumps(given).encode(), scratch, "certificate.json"))


def _positions(given: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the container and the key of every nested value."""
    inside = given.items() if isinstance(given, dict) else enumerate(given) if isinstance(given, list) else ()
    for key, value in inside:
        yield given, key
        yield from _positions(value)


@entry_point("ledger")
def ledger(content: bytes, scratch: Path) -> object:
    """Verify a ledger: any file, or a log with a valid hash chain."""
    path = scratch / "x.ledger"
    path.unlink(missing_ok=True)
    lines = _json(content)
    if not isinstance(lines, list):
        path.write_bytes(content)
        return verify_store(path)
    store = LedgerStore(path, [], b"k" * 32)
    for line in lines:
        if isinstance(line, list) and len(line) == 2 and isinstance(line[0], str):
            store.add(line[0], line[1])
    create(path, store.lines, store.key, {"0": b"\0" * 8})
    verify_store(path)
    return receipts(path)


@entry_point("upload")
def upload(content: bytes, scratch: Path) -> object:
    """Unpack an archive in quarantine. Nothing may be written outside its folder."""
    quarantine = scratch / "quarantine"
    quarantine.mkdir(exist_ok=True)
    outside = {path.name for path in scratch.iterdir()}
    packed = _file(content, scratch, "x.zip")
    try:
        return unpack(packed, quarantine, "one", BOUNDS)
    finally:
        shutil.rmtree(quarantine)
        assert {path.name for path in scratch.iterdir()} <= outside | {"x.zip"}, (
            "a file was unpacked outside the quarantine"
        )


@entry_point("submission")
def submission(content: bytes, scratch: Path) -> object:
    """Check a submission with one file replaced, and its manifest updated if possible."""
    return _in_folder(content, scratch / "whole" / "submission", recheck)


@entry_point("release")
def release(content: bytes, scratch: Path) -> object:
    """Read a release with one file replaced."""
    return _in_folder(content, scratch / "whole" / "release", read_release)


def _in_folder(content: bytes, folder: Path, read: Callable[[Path], object]) -> object:
    """Replace a file, which the first byte chooses, and read the folder."""
    files = _files(folder)
    path, manifest = files[content[0] % len(files) if content else 0], folder / MANIFEST
    before = {each: each.read_bytes() for each in (path, manifest) if each in files}
    path.write_bytes(content[1:])
    try:
        if manifest in before:
            with suppress(ValueError, TypeError, LookupError, AttributeError, RecursionError, OSError):
                reseal(folder)
        return read(folder)
    finally:
        for each, old in before.items():
            each.write_bytes(old)


@cache
def _files(folder: Path) -> tuple[Path, ...]:
    """List the files of a folder. The list is cached: only contents change."""
    return tuple(sorted(path for path in folder.rglob("*") if path.is_file()))


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
