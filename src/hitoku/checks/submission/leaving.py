"""The files of what leaves: a table as CSV and as JSON, and what an output has beside it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from hitoku.checks.outputs import WITHHELD, Output
from hitoku.files import write_csv


def file_stem(number: int, name: str) -> str:
    """Return the name of an output's files, without ending.

    Examples
    --------
    >>> file_stem(3, "Ages / by region")
    '03-ages-by-region'
    """
    slug = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()[:40]
    return f"{number:02}-{slug or 'output'}"


def leaving(stem: str, output: Output, *, disarmed: bool = True) -> dict[str, bytes]:
    """Return the files of what leaves, by name.

    Parameters
    ----------
    stem
        Of their names.
    output
        What leaves.
    disarmed
        As of :func:`csv_text`.
    """
    published = dict(output.published)
    beside = {f"{stem}{suffix}": content for suffix, content in output.evidence.files.items()}
    text = csv_text(published, disarmed=disarmed)
    return {f"{stem}.json": plain_json(published), f"{stem}.csv": text.encode(), **beside}


def csv_text(published: Mapping[str, Sequence[Any]], *, disarmed: bool = True) -> str:
    """Write what leaves as CSV, "x" where it is withheld.

    Parameters
    ----------
    published
        Columns and their entries.
    disarmed
        A code that a spreadsheet would run as a formula has a quote before it; :func:`hitoku.files.rearm`
        takes it away. The JSON file has the codes as they are.

    Examples
    --------
    >>> print(csv_text({"age": ["0-18", "19-20"], "count": [18, None]}), end="")
    age,count
    0-18,18
    19-20,x
    >>> print(csv_text({"code": ["=1+1"]}), csv_text({"code": ["=1+1"]}, disarmed=False))
    code
    '=1+1
     code
    =1+1
    <BLANKLINE>
    """
    rows = zip(*published.values(), strict=True)
    shown = ([WITHHELD if entry is None else entry for entry in row] for row in rows)
    text = io.StringIO()
    write_csv(text, chain([published], shown), disarmed=disarmed)
    return text.getvalue()


def plain_json(content: Any) -> bytes:
    """Write plain values as JSON; there is one way to do so."""
    # In the order given: columns of a table stay where they are.
    return json.dumps(content, indent=1, default=str).encode() + b"\n"
