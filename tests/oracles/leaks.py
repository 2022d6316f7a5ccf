"""Everything that somebody with time can find in a file: numbers and words in any part of it.

A workbook is unpacked and every part read, hidden or not; Parquet is read down to its statistics and
metadata; everything else is text. Numbers count however they are written: 1234.5, 1,234.50, 1.2345E3.
"""

from __future__ import annotations

import base64
import re
import struct
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

NUMBER = re.compile(rb"[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
BASE64 = re.compile(rb"[A-Za-z0-9+/]{16,}={0,2}")


def numbers_in(path: Path) -> set[float]:
    """Every number that is written anywhere in a file."""
    found: set[float] = set()
    for part in parts_of(path):
        for token in NUMBER.findall(part):
            # "1,234" is one number for a person and two for a machine.
            for text in {token.replace(b",", b""), *token.split(b",")}:
                if text.strip(b"+-"):
                    found.add(abs(float(text)))
    return found


def words_in(path: Path) -> bytes:
    """Every text in a file, in lower case."""
    return b"\n".join(parts_of(path)).lower()


def leaked(path: Path, values: Iterable[float]) -> set[float]:
    """Which of these values stand anywhere in a file, as text or as eight bytes."""
    written, raw = numbers_in(path), b"\n".join(parts_of(path)) + path.read_bytes()
    found = set()
    for value in values:
        near = any(abs(other - abs(value)) <= 1e-9 * abs(value) for other in written)
        packed = [struct.pack("<d", value)]
        if float(value).is_integer():
            packed.append(struct.pack("<q", int(value)))
        if near or any(eight in raw for eight in packed):
            found.add(value)
    return found


def parts_of(path: Path) -> Iterator[bytes]:
    """The parts of a file, unpacked."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            yield archive.comment
            for item in archive.infolist():
                yield item.filename.encode() + b" " + item.comment + b" " + item.extra
                yield archive.read(item)
    elif path.suffix == ".parquet":
        yield from _parquet(path)
    else:
        yield path.read_bytes()


def _parquet(path: Path) -> Iterator[bytes]:
    file = pq.ParquetFile(path)
    yield from (str(column.to_pylist()).encode() for column in file.read().columns)
    for group in range(file.metadata.num_row_groups):
        for column in range(file.metadata.num_columns):
            chunk: Any = file.metadata.row_group(group).column(column)
            yield str(chunk.statistics.to_dict() if chunk.statistics else "").encode()
    for key, text in (file.metadata.metadata or {}).items():
        yield key + b" " + text
        for encoded in BASE64.findall(text):
            yield base64.b64decode(encoded + b"=" * (-len(encoded) % 4), validate=False)
