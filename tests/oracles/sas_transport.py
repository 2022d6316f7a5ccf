"""SAS transport files (version 5), written by the book: SAS Institute, TS-140, "The Record Layout"."""

from __future__ import annotations

import struct
from math import frexp

import pandas as pd

HEAD = "HEADER RECORD*******{:<8}HEADER RECORD!!!!!!!{:<30}  "
WHEN = "01JAN20:00:00:00"


def ibm_double(value: float) -> bytes:
    """Write a number as IBM mainframes do: a power of sixteen, then a fraction of 56 bits."""
    if value == 0:
        return bytes(8)
    fraction, power = frexp(abs(value))
    sixteens = -(-power // 4)
    bits = int(fraction * 2 ** (56 + power - 4 * sixteens))
    return bytes([(0x80 if value < 0 else 0) | (sixteens + 64)]) + bits.to_bytes(7, "big")


def transport_file(frame: pd.DataFrame, encoding: str = "utf-8") -> bytes:
    """Return a transport file with the columns of a frame, texts and numbers."""
    texts = {name: frame[name].dtype.kind not in "if" for name in frame.columns}
    width = {name: 8 if not texts[name] else 12 for name in frame.columns}
    lines = [
        HEAD.format("LIBRARY", "0" * 30),
        f"{'SAS':<8}{'SAS':<8}{'SASLIB':<8}{'9.4':<8}{'X':<8}{'':<24}{WHEN}",
        f"{WHEN:<80}",
        HEAD.format("MEMBER", "000000000000000001600000000140"),
        HEAD.format("DSCRPTR", "0" * 30),
        f"{'SAS':<8}{'DATA':<8}{'SASDATA':<8}{'9.4':<8}{'X':<8}{'':<24}{WHEN}",
        f"{WHEN:<80}",
        HEAD.format("NAMESTR", f"000000{len(frame.columns):04d}" + "0" * 20),
    ]
    named, place = b"", 0
    for number, name in enumerate(frame.columns, 1):
        kind = 2 if texts[name] else 1
        words = name.upper().encode().ljust(8), b"".ljust(40), b"".ljust(8)
        named += struct.pack(">hhhh8s40s8s", kind, 0, width[name], number, *words)
        named += struct.pack(">hhh2s8shhl52s", 0, 0, 0, b"", b"".ljust(8), 0, 0, place, b"")
        place += width[name]
    rows = b"".join(
        str(entry).encode(encoding).ljust(12) if texts[name] else ibm_double(float(entry))
        for row in frame.itertuples(index=False)
        for name, entry in zip(frame.columns, row, strict=True)
    )
    obs = HEAD.format("OBS", "0" * 30).encode()
    return "".join(lines).encode() + _filled(named) + obs + _filled(rows)


def _filled(content: bytes) -> bytes:
    return content + b" " * (-len(content) % 80)
