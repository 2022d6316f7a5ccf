"""Files checked by a person: accepted types, and removal of hidden content.

Accepted are files that a checker sees completely: plain texts, programs, and raster pictures. Hidden content
of a picture (texts, positions, thumbnails, anything after its end) is removed. Data sets, documents,
notebooks and vector graphics are rejected with a suggested fix.
"""

from __future__ import annotations

import struct
import unicodedata
from collections.abc import Callable, Iterator
from enum import IntEnum
from pathlib import PurePath

from hitoku.errors import DataError
from hitoku.files import MAX_TEXT_BYTES

MAX_PICTURE_BYTES = 10_000_000
# A decoded picture with more pixels could exhaust the memory of the viewer.
MAX_PIXELS = 60_000_000

TEXTS = (".txt", ".md", ".rst", ".tex", ".log")
PROGRAMS = (".py", ".r", ".do", ".ado", ".sas", ".sps", ".sql", ".jl", ".m", ".sh")
WAYS_OUT = {
    **dict.fromkeys(
        (".csv", ".tsv", ".xlsx", ".xls", ".ods", ".json"),
        "hand numbers over with hand_over, so that they are judged row by row",
    ),
    **dict.fromkeys(
        (".parquet", ".feather", ".dta", ".sav", ".rds", ".rdata", ".pkl", ".sas7bdat", ".npz", ".npy"),
        "data do not leave; ask the session for a statistic of them",
    ),
    **dict.fromkeys(
        (".svg", ".pdf", ".eps", ".gph", ".html", ".fig"),
        "it holds its points as numbers: save the picture as PNG",
    ),
    **dict.fromkeys((".ipynb", ".rmd", ".qmd", ".docx"), "hand over the program or the text alone"),
}

# Visible parts of a PNG.
PNG = b"\x89PNG\r\n\x1a\n"
SEEN = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND", b"gAMA", b"cHRM", b"sRGB", b"sBIT", b"bKGD", b"pHYs")


class _Marker(IntEnum):
    """JPEG markers, by their names in the standard."""

    SOI = 0xD8
    EOI = 0xD9
    SOS = 0xDA
    APP0 = 0xE0


# Start-of-frame markers: their segments contain height and width.
FRAMES = tuple(marker for marker in range(0xC0, 0xD0) if marker not in {0xC4, 0xC8, 0xCC})
# Application data and comments, which viewers do not show.
UNSEEN = (*range(0xE1, 0xF0), 0xFE)


def clean_file(name: str, content: bytes) -> bytes:
    """Return a file without hidden content.

    Raises DataError if the content does not match the file-name suffix.

    Parameters
    ----------
    name
        File name; the suffix determines the type.
    content
        Content in bytes.
    """
    suffix = PurePath(name).suffix.lower()
    if suffix in {*TEXTS, *PROGRAMS}:
        return _clean_text(name, content)
    if suffix in PICTURES:
        if len(content) > MAX_PICTURE_BYTES:
            raise _file_error(name, f"is longer than {MAX_PICTURE_BYTES:_} bytes", "save it smaller")
        try:
            return PICTURES[suffix](content)
        except (ValueError, IndexError, struct.error) as error:
            raise _file_error(name, f"is not a picture of that type: {error}", "save it again") from None
    fix = WAYS_OUT.get(
        suffix, f"texts ({_join_suffixes(TEXTS)}), programs ({_join_suffixes(PROGRAMS)}), PNG and JPEG are"
    )
    raise _file_error(name, "has an unsupported type", fix)


def word_of(name: str) -> str:
    """Return the kind of a file: "text", "program" or "picture"."""
    suffix = PurePath(name).suffix.lower()
    return "text" if suffix in TEXTS else "program" if suffix in PROGRAMS else "picture"


def _join_suffixes(suffixes: tuple[str, ...]) -> str:
    return " ".join(suffixes)


def _file_error(name: str, what: str, fix: str) -> DataError:
    return DataError(
        "attached_file_invalid",
        "the file {file!r} {problem}",
        where="hand_over_file",
        fix=fix,
        file=name,
        problem=what,
    )


def _clean_text(name: str, content: bytes) -> bytes:
    """Return a text unchanged; raise DataError for hidden characters."""
    if len(content) > MAX_TEXT_BYTES:
        raise _file_error(
            name, f"is longer than {MAX_TEXT_BYTES:_} bytes", "pass a file that a person can read"
        )
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise _file_error(name, "is not a text in UTF-8", "save it as UTF-8") from None
    for number, line in enumerate(text.split("\n"), start=1):
        # Control characters, and characters that reverse or hide the text around them.
        hidden = [c for c in line.rstrip("\r") if c != "\t" and unicodedata.category(c) in {"Cc", "Cf", "Co"}]
        if hidden:
            code = f"U+{ord(hidden[0]):04X}"
            raise _file_error(name, f"has a character that is not seen, {code} in line {number}", "remove it")
    return content


def _clean_png(content: bytes) -> bytes:
    """Keep the visible chunks of a PNG."""
    if not content.startswith(PNG):
        raise ValueError("it does not begin as one")
    kept, width, height = [PNG], 0, 0
    for kind, chunk in _chunks(content):
        if kind == b"IHDR":
            width, height = struct.unpack(">II", chunk[8:16])
        if kind in SEEN:
            kept.append(chunk)
        elif not kind[0] & 0x20:
            raise ValueError("it has unknown parts")
    if not 0 < width * height <= MAX_PIXELS:
        raise ValueError("it has no dots, or too many")
    return b"".join(kept)


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = len(PNG)
    while True:
        length, kind = struct.unpack(">I4s", content[place : place + 8])
        end = place + 12 + length
        if end > len(content):
            raise ValueError("it ends too early")
        yield kind, content[place:end]
        if kind == b"IEND":
            return
        place = end


def _clean_jpeg(content: bytes) -> bytes:
    """Keep the visible segments of a JPEG."""
    if content[:2] != bytes([0xFF, _Marker.SOI]):
        raise ValueError("it does not begin as one")
    kept, dots = [content[:2]], 0
    for marker, segment in _segments(content):
        if marker in FRAMES:
            height, width = struct.unpack(">HH", segment[5:9])
            dots = height * width
        if marker == _Marker.APP0:  # a thumbnail may follow in it
            kept.append(segment[:2] + b"\x00\x10" + segment[4:16] + b"\0\0")
        elif marker not in UNSEEN:
            kept.append(segment)
    if not 0 < dots <= MAX_PIXELS:
        raise ValueError("it has no dots, or too many")
    return b"".join(kept)


def _segments(content: bytes) -> Iterator[tuple[int, bytes]]:
    place = 2
    while True:
        if content[place] != 0xFF:
            raise ValueError("its parts do not follow one another")
        marker = content[place + 1]
        if marker == _Marker.EOI:
            yield marker, content[place : place + 2]
            return
        end = place + 2 + struct.unpack(">H", content[place + 2 : place + 4])[0]
        if end > len(content):
            raise ValueError("it ends too early")
        if marker == _Marker.SOS:
            # Compressed image data end at a marker that is neither a restart nor a stuffed byte.
            while content[end] != 0xFF or content[end + 1] == 0 or 0xD0 <= content[end + 1] <= 0xD7:
                end += 1
        yield marker, content[place:end]
        place = end


PICTURES: dict[str, Callable[[bytes], bytes]] = {
    ".png": _clean_png,
    ".jpg": _clean_jpeg,
    ".jpeg": _clean_jpeg,
}
