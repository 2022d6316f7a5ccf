"""A release as two folders: what leaves the house, and the evidence that stays.

``public/`` holds the table as CSV and as a web page. ``checker/`` is confidential: every cell with its true
value, its contributors, the rules that hit it and what they ask for; the audit, the certificate, the recipe.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from hitoku.evidence.audit import Audit
from hitoku.io.csv import printed, write_cells, write_release
from hitoku.io.folder import new_folder
from hitoku.io.jj import write_jj
from hitoku.io.page import page
from hitoku.model.need import Need
from hitoku.model.protection import Protection
from hitoku.model.release import Release
from hitoku.model.table import Table

NOTICE = """CONFIDENTIAL. This folder is for the person who signs the release. Do not publish it.

cells.csv            every cell: true value, respondents, largest share, rules, required levels, decision
audit.csv            every unsafe cell: what a reader can infer, what was required, met or not, and why not
certificate.json.gz  the proof of safety; check it without hitoku:  python verify.py <release folder>
table.jj.gz          table, relations, bounds and levels in the field's own format, for other programs
summary.json         counts, verdict, recipe, versions, hashes of the published files
"""


def write_release_folder(
    path: str | Path,
    table: Table,
    need: Need,
    protection: Protection,
    audit: Audit,
    *,
    title: str = "",
    recipe: Mapping[str, Any] | None = None,
) -> Path:
    """Write a release with its evidence; the folder appears whole or not at all.

    The same table, decision and recipe give the same bytes.
    """
    folder = Path(path)
    release = Release.of(table, protection)
    with new_folder(folder) as draft:
        public, checker = draft / "public", draft / "checker"
        public.mkdir()
        checker.mkdir()
        write_release(public / "table.csv", release)
        (public / "table.html").write_text(page(release, title=title or table.measure), encoding="utf-8")
        (checker / "README.txt").write_text(NOTICE, encoding="utf-8")
        write_cells(checker / "cells.csv", table.labels, _evidence(table, need, protection))
        _write_audit(checker / "audit.csv", audit)
        if audit.certificate is not None:
            audit.certificate.write(checker / "certificate.json.gz")
        write_jj(checker / "table.jj.gz", table, need, protection)
        summary = {
            "measure": table.measure,
            "integer": table.integer,
            "safe": audit.safe,
            "audit": dict(audit.summary),
            "method": protection.method,
            "proven": protection.proven,
            "recipe": dict(recipe or {}),
            "versions": _versions(),
            "sha256": {f"public/{f.name}": _sha256(f) for f in sorted(public.iterdir())},
        }
        text = json.dumps(summary, indent=2, sort_keys=True, default=str)
        (checker / "summary.json").write_text(text + "\n", encoding="utf-8")
    return folder


def _evidence(table: Table, need: Need, protection: Protection) -> dict[str, Any]:
    decision = np.where(
        protection.secondary, "secondary", np.where(protection.withheld, "primary", "published")
    )
    columns: dict[str, Any] = {"value": printed(table.value, integer=table.integer)}
    if table.frequency is not None:
        columns["respondents"] = table.frequency.tolist()
    who = table.contributors
    if who is not None and who.largest.shape[1]:
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(who.total > 0, who.largest[:, 0] / who.total, np.nan)
        columns["contributors"] = who.count.tolist()
        columns["largest_share"] = ["" if np.isnan(s) else f"{s:.4f}" for s in share]
    columns["rules"] = ["; ".join(need.why(cell)) if need.unsafe[cell] else "" for cell in range(len(need))]
    for name in ("lower", "upper", "width"):
        columns[f"required_{name}"] = printed(getattr(need, name), integer=table.integer)
    columns["decision"] = decision.tolist()
    return columns


def _write_audit(path: Path, audit: Audit) -> None:
    frame = nw.from_native(audit.cells, eager_only=True)
    path.write_text(str(frame.write_csv()), encoding="utf-8")


def _versions() -> dict[str, str]:
    names = ("hitoku", "numpy", "scipy", "highspy", "duckdb", "numba")
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in names}}


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
