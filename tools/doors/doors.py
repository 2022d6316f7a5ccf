"""Every door through which bytes of others come in: each takes any bytes, and reads or refuses them.

A door returns, or raises :class:`~hitoku.errors.HitokuError`; everything else is our mistake. Where a file
carries its own hash, what is inside is drawn and the hash is made to fit, as a clever forger would.
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

Door = Callable[[bytes, Path], object]
DOORS: dict[str, Door] = {}
# What a submission may hold; an archive that says more is refused before it is unpacked.
BOUNDS = ReviewSettings(unpacked_bytes=200_000, most_files=50)
FREE = parse_metadata('<SEPARATOR> ";"\nR 3\n<RECODEABLE>\nV 9 999\n<NUMERIC>')
FIXED = parse_metadata("R 1 2\n<RECODEABLE>\nV 4 4 9999\n<NUMERIC>")
CELLS = parse_metadata(
    '<SEPARATOR> ";"\nR\n<RECODEABLE>\nS\n<RECODEABLE>\n<HIERLEVELS> 1 1\n<HIERARCHICAL>\n'
    "V\n<NUMERIC>\nN\n<FREQUENCY>\nST\n<STATUS>\nT\n<MAXSCORE>"
)


def door(name: str) -> Callable[[Door], Door]:
    """Register a door."""

    def put(function: Door) -> Door:
        DOORS[name] = function
        return function

    return put


def _file(content: bytes, scratch: Path, name: str) -> Path:
    path = scratch / name
    path.write_bytes(content)
    return path


def _of_a_file(name: str, file: str, *reads: Callable[[Path], object]) -> None:
    """Register a door that is one file; the first byte says which way it is read, where there are several."""

    def read(content: bytes, scratch: Path) -> object:
        way = content[0] % len(reads) if len(reads) > 1 and content else 0
        return reads[way](_file(content[1:] if len(reads) > 1 else content, scratch, file))

    DOORS[name] = read


_of_a_file(
    "csv",
    "x.csv",
    draft_recipe,
    lambda path: tabulate(path, ["a"], value="x"),
    lambda path: read_marked_cells(path, ["a"], "x", "mark"),
    read_code_tree,
)
_of_a_file("recipe", "x.toml", Recipe.read)
_of_a_file("jj", "x.jj", lambda path: (read_jj(path), read_jj_pattern(path)))
_of_a_file("argus-rda", "x.rda", read_metadata)
_of_a_file("argus-hrc", "x.hrc", read_tree)
_of_a_file("argus-grc", "x.grc", read_recode)
_of_a_file(
    "argus-asc", "x.asc", lambda path: read_microdata(path, FREE), lambda path: read_microdata(path, FIXED)
)
_of_a_file(
    "argus-tab",
    "x.tab",
    lambda path: read_table(path, CELLS, additivity="open"),
    lambda path: read_table(path, CELLS, additivity="recompute"),
    lambda path: read_table(path, CELLS),
)
_of_a_file("argus-hst", "x.hst", lambda path: read_apriori(path, 2))
_of_a_file(
    "argus-safe",
    "x.csv",
    lambda path: read_code_value(path, 2),
    lambda path: read_code_value(path, 2, statuses=True),
)
_of_a_file("policy", "x.toml", policy)
_of_a_file("decisions", "x.toml", read_decisions)
_of_a_file("settings", FILE, lambda path: read_settings(path.parent))
_of_a_file("log", "log.csv", lambda path: faults(read_export(path)))


@door("argus-arb")
def batch(content: bytes, scratch: Path) -> object:
    """Read a batch beside the files that ours name; they are only read, and written once."""
    beside = scratch / "beside"
    if not beside.is_dir():
        beside.mkdir()
        _file(b"N;1;10;3;S;5\n", beside, "x.tab")
        _file(b"N1;12.50\n", beside, "x.asc")
        _file(b"N;1;u\n", beside, "x.hst")
        write_metadata(beside / "x.rda", CELLS)
    return check_batch(read_batch(_file(content, beside, "x.arb")))


@door("certificate")
def certificate(content: bytes, scratch: Path) -> object:
    """Verify a certificate: as it is, and with a fingerprint that fits."""
    path = _file(content, scratch, "certificate.json")
    verify(path)
    given = _json(content)
    if not isinstance(given, dict):
        return None
    given["sha256"] = fingerprint(given)
    path.write_text(json.dumps(given), "utf-8")
    return verify(path)


@door("certificate-value")
def certificate_value(content: bytes, scratch: Path) -> object:
    """Put any value in any place of a certificate of ours, with a fingerprint that fits.

    The first byte chooses the certificate, the next two the place.
    """
    ours = _files(scratch / "whole" / "certificates")
    given = json.loads(ours[content[0] % len(ours) if content else 0].read_bytes())
    places = list(_places(given))
    holder, key = places[int.from_bytes(content[1:3]) % len(places)]
    holder[key] = _json(content[3:])
    given["sha256"] = fingerprint(given)
    return verify(_file(json.dumps(given).encode(), scratch, "certificate.json"))


def _places(given: Any) -> Iterator[tuple[Any, Any]]:
    """List every place of a value in others."""
    inside = given.items() if isinstance(given, dict) else enumerate(given) if isinstance(given, list) else ()
    for key, value in inside:
        yield given, key
        yield from _places(value)


@door("ledger")
def ledger(content: bytes, scratch: Path) -> object:
    """Verify a ledger: any file, or a log whose chain is whole."""
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


@door("upload")
def upload(content: bytes, scratch: Path) -> object:
    """Unpack an archive in quarantine; whatever it says, nothing lies beside its folder."""
    quarantine = scratch / "quarantine"
    quarantine.mkdir(exist_ok=True)
    outside = {path.name for path in scratch.iterdir()}
    packed = _file(content, scratch, "x.zip")
    try:
        return unpack(packed, quarantine, "one", BOUNDS)
    finally:
        shutil.rmtree(quarantine)
        assert {path.name for path in scratch.iterdir()} <= outside | {"x.zip"}, (
            "something was unpacked outside"
        )


@door("submission")
def submission(content: bytes, scratch: Path) -> object:
    """Check a submission of which one file is other people's, with a manifest that fits where it can."""
    return _in_folder(content, scratch / "whole" / "submission", recheck)


@door("release")
def release(content: bytes, scratch: Path) -> object:
    """Read a release of which one file is other people's."""
    return _in_folder(content, scratch / "whole" / "release", read_release)


def _in_folder(content: bytes, folder: Path, read: Callable[[Path], object]) -> object:
    """Put bytes in the place of a file, which the first byte chooses, and read the folder."""
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
    """List what is in a folder; that stays as it is, but for the bytes."""
    return tuple(sorted(path for path in folder.rglob("*") if path.is_file()))


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
