"""Compare the published files of a release with its certificate; verify.py loads this file for a folder.

The certificate has the SHA-256 of every file in public/. For tables, this file also reads the published
values. It needs only Python's standard library.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Any

Demand = Callable[..., None]
Exact = Callable[[Any, str], Fraction]


def check_public_files(content: dict[str, Any], public: Path, demand: Demand, number: Exact) -> str:
    """Check that public/ is what was certified; return a description of its content."""
    return f"{same_files(content, public, demand)}; {same_tables(content, public, demand, number)}"


def plain(code: str) -> str:
    """Remove the quote that keeps a spreadsheet from running a code as a formula."""
    return code[1:] if re.match(r"'+[=+\-@\t\r]", code) else code


def shown_in(
    content: dict[str, Any], path: Path, table: dict[str, Any], demand: Demand, number: Exact
) -> tuple[int, set[int]]:
    """Compare one public file with the certified table; return the number of values, and its cells."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        head, *rows = list(csv.reader(file))
    withheld, size = set(content["withheld"]), len(content["codes"])
    certified = content.get("published", content["values"])
    # Which values were changed is confidential: all of them have the same status.
    status = "adjusted" if certified != content["values"] else "published"
    agreed = [*table["variables"], "value", "status"]
    demand(agreed in (head, [*map(plain, head)]), f"{path.name}: other columns than agreed")
    places = [int(cell) for cell in table["cells"]]
    demand(all(0 <= cell < size for cell in places), f"{path.name}: a cell that is not in the table")
    cells = dict(zip(map(tuple, table["codes"]), places, strict=True))
    demand(len(cells) == len(places), "two cells have the same codes")
    seen = set(cells.values())
    n_shown = 0
    for line, (*codes, shown, said) in enumerate(rows, 2):
        key = tuple(codes) if tuple(codes) in cells else tuple(map(plain, codes))
        cell, what = cells.pop(key, None), f"{path.name}, line {line}, cell {' / '.join(codes)}"
        demand(cell is not None, f"{what}: no such cell, or twice")
        demand(cell not in withheld or shown == "", f"{what}: shown although it is withheld")
        same = cell in withheld or number(shown, what) == number(certified[cell], what)
        demand(same, f"{what}: not the certified value")
        demand(said == ("withheld" if cell in withheld else status), f"{what}: another status than certified")
        n_shown += cell not in withheld
    demand(not cells, f"{path.name}: {len(cells)} cells are missing")
    return n_shown, seen


def same_files(content: dict[str, Any], public: Path, demand: Demand) -> str:
    """Check that public/ contains the certified files, byte by byte, and no others."""
    listed: Any = content.get("files", {})
    demand(type(listed) is dict and len(listed) > 0, "the certificate lists no files of public/", 2)
    demand(public.is_dir() and not public.is_symlink(), "public/ is missing, or is a link")
    expected = set(listed)
    folders = {parent.as_posix() for name in expected for parent in PurePosixPath(name).parents[:-1]}
    for path in sorted(public.rglob("*")):
        name = path.relative_to(public).as_posix()
        demand(not path.is_symlink(), f"public/{name}: a link, not a file")
        if path.is_dir():
            demand(name in folders, f"public/{name}/: a folder that was not certified")
            continue
        demand(path.is_file() and name in expected, f"public/{name}: a file that was not certified")
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        demand(found == listed[name], f"public/{name}: not the file that was certified, it was changed")
        expected.remove(name)
    demand(not expected, f"public/{min(expected, default='')}: a certified file is missing")
    return f"public/ holds exactly the {len(listed)} certified files"


def same_tables(content: dict[str, Any], public: Path, demand: Demand, number: Exact) -> str:
    """Compare the published tables with the certified one."""
    every, size = content["codes"], len(content["codes"])
    hidden = set(content.get("hidden", []))
    demand(hidden <= set(content["withheld"]), "a hidden cell is not withheld")
    seen = [cell for cell in range(size) if cell not in hidden]
    linked = dict(content.get("tables", {}))
    # Columns that only tell hidden cells apart are in no published file.
    own = {name for table in linked.values() for name in table["variables"]} | {"measure", "table"}
    kept = [place for place, name in enumerate(content["variables"]) if name in own or not linked]
    whole = {
        "variables": [content["variables"][place] for place in kept],
        "codes": [[every[cell][place] for place in kept] for cell in seen],
        "cells": seen,
    }
    n_shown, _ = shown_in(content, public / "table.csv", whole, demand, number)
    for name, table in linked.items():
        demand(re.fullmatch(r"[A-Za-z0-9_-]+", name) is not None, "a linked table has no name for a file", 2)
        cells = shown_in(content, public / name / f"{name}.csv", table, demand, number)[1]
        demand(not cells & hidden, f"{name}.csv: shows a cell that is in no published table")
    also = f", and {len(linked)} linked tables show the same" if linked else ""
    return f"table.csv shows exactly the {n_shown} cells that are not withheld{also}"
