"""Write a release as two folders: public files, and confidential evidence.

``public/`` contains the table in one or more formats, and a folder for each linked table. ``checker/`` is
confidential: every cell with its true value, contributors, rules and requirements; the audit, the
certificate, the recipe.
"""

from __future__ import annotations

import json
import logging
import platform
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import Any

import narwhals as nw

from hitoku.evidence import Audit, Outcome, hash_files
from hitoku.files import new_folder, sha256, write_csv
from hitoku.io.formats import write_formats
from hitoku.io.jj import write_jj
from hitoku.io.number_texts import write_cells
from hitoku.io.publication import Publication, PublicationPlan
from hitoku.io.release.evidence_files import (
    write_fingerprints,
    write_groups,
    write_hierarchies,
    write_judged_groups,
    write_nested,
    write_steps,
)
from hitoku.io.release.overview import OverviewGroup, write_overview, write_overview_page
from hitoku.io.release_cells import Cells
from hitoku.io.report import write_report
from hitoku.model import Release
from hitoku.rules import Rule, name_of

# Reports what was left out, for the person who runs a command.
WRITING = logging.getLogger("hitoku.writing")
NOTICE = "CONFIDENTIAL. This folder is for the person who signs the release. Do not publish it.\n\n"
# Possible files of the folder; the notice lists those written.
FILES = {
    "report.html": "all of it on one page, to read in a browser, print and sign",
    "cells.csv": "every cell: true value, contributors, rules, required levels, decision",
    "audit.csv": "every unsafe cell: range that stays possible at least, what was required, met or not, why",
    "intervals.csv": "every withheld cell: the least and the largest value that a reader must hold possible;"
    " empty where that was not worked out",
    "groups.csv": "groups of which too much could be learnt: what was required, met or not, and why not",
    "groups.json": "what must not be learnt about groups, for another audit",
    "certificate.json.gz": "proof of the rows that the verdict calls proved; check it with hitoku verify, "
    "or without hitoku with verify.py and the files verify_*.py of its source",
    "table.jj.gz": "table, relations, bounds and levels in the field's own format, for other programs",
    "hierarchies.json": "which code is the sum of which others, for each variable",
    "fingerprints.json": "which records are behind each cell, as hashes, for an audit with other releases",
    "nested.json": "columns of the records that group codes of a variable, for an audit with other releases",
    "overview.html": "which tables link where, what each withholds, what is left of it",
    "overview.csv": "every linked table: what it withholds, and which others it shares cells with",
    "linked.json": "which cell of the whole each cell of a linked table is",
    "summary.json": "counts, verdict, recipe, versions, hashes of the published files",
    "steps.csv": "what was withheld when, why and for whom, where the method decides cell by cell",
    "recipe.toml": "recipe, if one was run",
}

NOT_SAFE = """NOT SAFE. The verdict refuses this release; it was written because force was given.
Do not publish it. checker/report.html shows what is disclosed, checker/audit.csv the cells that fail.

"""


def write_release(path: str | Path, outcome: Outcome, publication: PublicationPlan | None = None) -> Path:
    """Write a release with its evidence, atomically and reproducibly.

    A release that is not safe is marked as such, in a file at the top and in all headings.

    Parameters
    ----------
    path
        Folder to write, which must not exist or be empty.
    outcome
        Outcome of the protection.
    publication
        Title, texts, formats, linked tables and recipe. Default: none.
    """
    plan = publication or PublicationPlan()
    folder = Path(path)
    shown = {"table": outcome.public, **plan.parts}
    with new_folder(folder) as draft:
        public, checker = draft / "public", draft / "checker"
        public.mkdir()
        checker.mkdir()
        words = plan.words(_write_warning(draft, outcome))
        left_out: dict[str, str] = {}
        for name, release in shown.items():
            one = Publication(release=release, adjusted=outcome.adjusted, **words)
            own = public / name if name in plan.parts else public
            own.mkdir(exist_ok=True)
            left_out |= write_formats(own, name, one, plan.formats)
        for name, why in left_out.items():
            WRITING.info("public/%s was not written: %s", name, why)
        files = hash_files(public)
        _write_evidence(checker, outcome, shown, plan, files)
        if plan.recipe_text:
            (checker / "recipe.toml").write_text(plan.recipe_text, encoding="utf-8")
        versions = _versions()
        hashes = {f"public/{name}": digest for name, digest in files.items()}
        summary = {
            **_summary(outcome),
            "protected_together": sorted(plan.parts),
            "measures": {name: release.measure for name, release in shown.items()},
            "words": words,
            "not_written": left_out,
            "recipe": dict(plan.recipe),
            "versions": versions,
            "sha256": hashes,
        }
        text = json.dumps(summary, indent=2, sort_keys=True, default=str)
        (checker / "summary.json").write_text(text + "\n", encoding="utf-8")
        proofs = {f"checker/{file.name}": sha256(file) for file in checker.glob("certificate.json.gz")}
        write_report(checker / "report.html", outcome, plan, versions=versions, sha256=hashes | proofs)
        (checker / "README.txt").write_text(_notice(checker, outcome, left_out), encoding="utf-8")
    return folder


def _notice(checker: Path, outcome: Outcome, left_out: Mapping[str, str]) -> str:
    """Return the notice: files written and not written, and limits of the proof."""
    width = max(map(len, FILES)) + 2
    listed = "".join(f"{name:<{width}}{what}\n" for name, what in FILES.items() if (checker / name).exists())
    missing = "".join(f"\npublic/{name} was not written: {why}\n" for name, why in left_out.items())
    verdict = f"\nVerdict: {outcome.verdict}\n" + "".join(f"  {line}\n" for line in outcome.verdict.lines)
    return NOTICE + listed + missing + verdict + "".join(f"{remark}\n" for remark in outcome.remarks)


def _write_warning(draft: Path, outcome: Outcome) -> str:
    """Write a warning file if the release must not be published; return the warning for headings."""
    if outcome.verdict.refused:
        text = NOT_SAFE + "".join(f"{line}\n" for line in (outcome.verdict, *outcome.verdict.lines))
        (draft / "NOT_SAFE.txt").write_text(text, encoding="utf-8")
        return "NOT SAFE, not for publication"
    if outcome.protection.caution:
        text = f"NOT FOR PUBLICATION. {outcome.protection.caution}\n"
        (draft / "NOT_FOR_PUBLICATION.txt").write_text(text, encoding="utf-8")
        return "NOT FOR PUBLICATION"
    return ""


def _write_evidence(
    checker: Path,
    outcome: Outcome,
    shown: Mapping[str, Release],
    plan: PublicationPlan,
    files: Mapping[str, str],
) -> None:
    table, need, protection, audit = outcome.table, outcome.need, outcome.protection, outcome.audit
    cells = Cells.of(outcome)
    write_cells(checker / "cells.csv", table.labels, cells.columns())
    _write_audit(checker / "audit.csv", audit)
    if outcome.bounds is not None and not outcome.adjusted:
        write_cells(checker / "intervals.csv", table.labels, *cells.interval_columns(outcome.bounds))
    if audit.groups is not None:
        judged = audit.groups.rows(table.labels, additive=audit.additive)
        write_judged_groups(checker / "groups.csv", judged)
    if len(need.attributions):
        write_groups(checker / "groups.json", need.attributions)
    if audit.certificate is not None:
        proof = replace(
            audit.certificate,
            remarks=tuple(f"{remark.place}: {remark.reason}" for remark in outcome.left_open),
            tables={name: (shown[name].labels, places.tolist()) for name, places in plan.places.items()},
            files=files,
            verdict=outcome.verdict.as_dict(),
        )
        proof.write(checker / "certificate.json.gz")
    write_jj(checker / "table.jj.gz", table, need, protection)
    if plan.places:
        places_by_table = {name: places.tolist() for name, places in plan.places.items()}
        (checker / "linked.json").write_text(json.dumps(places_by_table) + "\n", encoding="utf-8")
        group = OverviewGroup.of("table", "..", outcome, plan.parts, plan.places)
        write_overview(checker / "overview.csv", [group])
        write_overview_page(checker / "overview.html", [group], plan.title)
    if plan.fingerprints:
        write_fingerprints(checker, plan.fingerprints)
    if plan.nested:
        write_nested(checker, plan.nested)
    write_hierarchies(checker / "hierarchies.json", {name: one.dimensions for name, one in shown.items()})
    if protection.steps:
        write_steps(checker / "steps.csv", table, protection)


def _summary(outcome: Outcome) -> dict[str, Any]:
    table, protection, audit = outcome.table, outcome.protection, outcome.audit
    return {
        "measure": table.measure,
        "integer": table.integer,
        "safe": audit.safe,
        "verdict": outcome.verdict.as_dict(),
        "certificate": audit.certificate is not None,
        "remarks": [str(remark) for remark in outcome.remarks],
        "hidden": int((~table.shown).sum()),
        # Sets of records that follow from several tables are among the hidden cells.
        "atoms": outcome.atoms and not outcome.tables,
        "audit": dict(audit.summary),
        "method": protection.method,
        "proven": protection.proven,
        "canonical": protection.canonical,
        "caution": protection.caution,
        "adjusted": outcome.adjusted,
        "insiders": outcome.insiders,
        "rules": [_parameters(rule) for rule in outcome.rules],
        "warning": outcome.warning,
    }


def _parameters(rule: Rule) -> dict[str, Any]:
    """Return the name of a rule, and its parameters that are texts or numbers."""
    names: list[str] = [field.name for field in fields(rule)] if is_dataclass(rule) else []
    given: dict[str, Any] = {name: getattr(rule, name) for name in names}
    plain = {name: one for name, one in given.items() if isinstance(one, bool | int | float | str)}
    return {**plain, "rule": name_of(rule)}


def _write_audit(path: Path, audit: Audit) -> None:
    frame = nw.from_native(audit.cells, eager_only=True)
    # As elsewhere, NaN, the only entry different from itself, is left empty.
    rows = ([None if entry != entry else entry for entry in row] for row in frame.iter_rows())  # noqa: PLR0124
    write_csv(path, chain([frame.columns], rows))


def _versions() -> dict[str, str]:
    names = ("hitoku", "numpy", "scipy", "highspy", "duckdb", "numba", "pyarrow", "xlsxwriter")
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in names}}
