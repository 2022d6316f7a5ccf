"""Disclosure control report: one self-contained page, reproducible byte for byte.

The page is confidential: it shows true values. Its security policy allows only the embedded style and script,
by their hashes; it makes no network requests.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from hitoku.evidence import (
    Outcome,
    verify,
    verify_beside,
    verify_blocks,
    verify_files,
    verify_premises,
    verify_rows,
    verify_witnesses,
)
from hitoku.files import new_file
from hitoku.io.language import ENGLISH, speaker
from hitoku.io.layout import LayoutSection, margins, sections
from hitoku.io.number_texts import interval, number, percent, times
from hitoku.io.pages import MAX_CELLS, MAX_LISTED, render
from hitoku.io.publication import PublicationPlan
from hitoku.io.release_cells import Cells
from hitoku.io.report.findings import classes, figures, light, list_disclosures, remarks, row_class, steps
from hitoku.io.report.pictures import adjusted_bar, interval_bar
from hitoku.model import Mask, Verdict

# Maximum number of suppressed and unsafe cells listed, least protected first; audit.csv and cells.csv have
# all.
MAX_ROWS = 1_500
# Maximum number of cells of a printed table: paper is for signing.
MAX_PRINTED = 3_000


class PaperWidth(float, Enum):
    """Widths on paper, in millimetres."""

    PORTRAIT, LANDSCAPE = 186.0, 273.0
    """A4 without margins, in both orientations."""
    LETTER, COLUMN = 1.75, 4.5
    """A letter, and column padding in style.css."""


# Example cells for the legend, for suppressed and adjusted tables.
SAMPLES = (interval_bar(50, 38, 90, lower=9, upper=9, width=45), adjusted_bar(50, 65, down=10, up=10))
NOTHING, UNKNOWN = "·", "not computed"
# Layers with translated texts.
SAID = ("interval", "required")
# Texts of the script.
WORDS = (
    "adjusted",
    "decision",
    "no",
    "published",
    "rules",
    "times required",
    "verdict",
    "secondary suppression",
    "primary suppression",
    "{shown} of {all} lines",
)


def write_report(
    path: str | Path,
    outcome: Outcome,
    publication: PublicationPlan | None = None,
    *,
    versions: Mapping[str, str] | None = None,
    sha256: Mapping[str, str] | None = None,
) -> Path:
    """Write the report, replacing an earlier one.

    Parameters
    ----------
    path
        Path of the HTML file.
    outcome
        Outcome of the protection.
    publication
        Title (default: the measure), recipe, and names of tables protected together.
    versions, sha256
        Programs and their versions; files of the release and their hashes.
    """
    plan = publication or PublicationPlan()
    recipe = json.dumps(plan.recipe, indent=2, sort_keys=True, default=str) if plan.recipe else ""
    text = page(
        Cells.of(outcome),
        title=plan.title or outcome.table.measure,
        verdict=outcome.verdict,
        asked=plan.recipe_text or recipe,
        versions=versions or {},
        sha256=sha256 or {},
        linked=tuple(plan.parts),
        lang=plan.lang,
    )
    target = Path(path)
    with new_file(target) as draft:
        draft.write_text(text, encoding="utf-8", newline="\n")
    return target


def page(
    cells: Cells,
    *,
    title: str,
    verdict: Verdict | None = None,
    asked: str = "",
    versions: Mapping[str, str] | None = None,
    sha256: Mapping[str, str] | None = None,
    linked: tuple[str, ...] = (),
    lang: str = ENGLISH,
) -> str:
    """Render the evidence as HTML.

    Parameters
    ----------
    cells
        Evidence, cell by cell.
    title
        Title of the release.
    verdict
        Verdict on the release. Default: computed from the audit alone.
    asked, versions, sha256, linked
        Recipe, programs, files and tables shown in the report.
    lang
        Language of the page.

    Examples
    --------
    >>> from hitoku.evidence import audit
    >>> from hitoku.model import Need
    >>> from hitoku.model import Protection
    >>> from hitoku.model import Release
    >>> from hitoku.model import Table
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> need = Need(unsafe=table.value == 1, lower=1.0, upper=1.0)
    >>> protection = Protection.withhold(table, need.unsafe, need)
    >>> evidence = Cells(table, need, protection, audit(table, need, Release.of(table, protection)))
    >>> "do not publish this release" in page(evidence, title="Persons")
    True
    """
    say = speaker(lang)
    whole = cells.table.n_cells <= MAX_CELLS
    overview = margins(cells.table)
    shown = sections(cells.table) if whole else (overview,) if overview else ()
    order = [cell for section in shown for cell in section.cells]
    listed = cells.listed[:MAX_ROWS]
    layers = _layers(cells, order)
    if verdict is None:
        verdict = Outcome(
            cells.protection, cells.audit, cells.attacked, remarks=cells.remarks, groups=cells.groups
        ).verdict
    return render(
        "page.html",
        ("style.css",),
        "script.js",
        title=title,
        cells=cells,
        verdict=verdict,
        sentences=verdict.sentences(say),
        light=light(verdict, cells.protection.caution),
        row_class=row_class,
        disclosed=list_disclosures(cells, verdict.rows),
        figures=figures(cells),
        classes=classes(cells),
        remarks=remarks(cells)[:MAX_LISTED],
        steps=steps(cells),
        whole=whole,
        sections=[_section(cells, section) for section in shown],
        layers=[(key, label) for key, label, _ in layers],
        data=_data(cells, order, {key: texts for key, _, texts in layers}, say),
        rows=[_row(cells, cell) for cell in listed],
        columns=_columns(cells),
        on_page=set(order),
        sample=SAMPLES[cells.adjusted is not None],
        published=lambda cell: number(float(cells.protection.value[cell])),
        n_listed=len(cells.listed),
        asked=asked,
        versions=dict(versions or {}),
        sha256=dict(sha256 or {}),
        fingerprint=fingerprint(sha256 or {}),
        verifiers=_verifiers(cells.audit),
        linked=linked,
        lang=lang,
        _=say,
    )


def _verifiers(audit: Any) -> dict[str, str]:
    """Return the verifier files and their hashes; further claims need further files."""
    modules = [verify, verify_files, verify_premises, verify_rows]
    known_method = getattr(audit, "known_method", None)
    if getattr(audit, "beside", None) is not None:
        modules.append(verify_beside)
    if known_method is not None:
        modules.append(verify_blocks)
    if known_method is not None and "steps" in known_method:
        modules.append(verify_witnesses)
    files = [Path(str(module.__file__)) for module in modules]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def fingerprint(sha256: Mapping[str, str]) -> str:
    """Return a combined hash of all files of a release: the SHA-256 of the output of ``sha256sum``.

    Examples
    --------
    >>> fingerprint({"public/table.csv": "0" * 64})[:12]
    '4fb16388d57a'
    """
    lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(sha256.items()))
    return hashlib.sha256(lines.encode()).hexdigest() if lines else ""


def _layers(cells: Cells, order: list[int]) -> list[tuple[str, str, dict[int, str]]]:
    """Return the layers of the table: key, name, and texts by position on the page.

    A cell without a text shows its published value.
    """
    table, count, share, adjusted = cells.table, cells.count, cells.share, cells.adjusted
    low, high = cells.ends

    def texts(text: Callable[[int], str], where: Mask | None = None) -> dict[int, str]:
        chosen = ((place, cell) for place, cell in enumerate(order) if where is None or where[cell])
        return {place: text(cell) for place, cell in chosen}

    hidden = cells.protection.withheld | (cells.protection.value != table.value)
    found = [
        ("published", "published", {}),
        ("true", "true value", texts(lambda c: number(float(table.value[c])), hidden)),
    ]
    if count is not None:
        found.append(("count", "contributors", texts(lambda c: f"{count[c]:,}")))
    if share is not None:
        found.append(("share", "largest share", texts(lambda c: percent(float(share[c])) or NOTHING)))
    if adjusted is not None:
        moved, relative = adjusted.deviation, adjusted.relative
        found.append(("moved", "change", texts(lambda c: _with_sign(float(moved[c])))))
        found.append(("relative", "relative change", texts(lambda c: percent(abs(float(relative[c]))))))
    else:
        inferred = texts(lambda c: interval(low[c], high[c]) or UNKNOWN, cells.protection.withheld)
        found.append(("interval", "interval", inferred))
    asked = texts(lambda c: cells.required(c) if cells.need.unsafe[c] else NOTHING)
    return [*found, ("required", "required", asked)]


def _with_sign(change: float) -> str:
    return f"+{number(change)}" if change > 0 else number(change)


def _section(cells: Cells, section: LayoutSection) -> dict[str, Any]:
    """Return the values that the template needs about a table."""
    inside, wide = section.cells, _width_mm(cells, section)
    # Of a long table, the part with the grand total (the last cell) is printed if it is short.
    chosen = cells.table.n_cells <= MAX_PRINTED or cells.table.n_cells - 1 in inside
    return {
        "section": section,
        "withheld": int(cells.protection.withheld[inside].sum()),
        "unsafe": int(cells.need.unsafe[inside].sum()),
        "failing": int(cells.failing[inside].sum()),
        "wide": wide > PaperWidth.PORTRAIT,
        "printed": chosen and wide <= PaperWidth.LANDSCAPE and len(inside) <= MAX_PRINTED,
    }


def _width_mm(cells: Cells, section: LayoutSection) -> float:
    """Return the estimated printed width of a table, from the longest text of each column."""
    withheld, value = cells.protection.withheld, cells.protection.value
    heads = [[len(row.heads[k].code) for row in section.rows] for k in range(len(section.stubs))]
    numbers = [
        [len(column.code), *(0 if withheld[c] else len(number(float(value[c]))) for c in along)]
        for column, along in zip(
            section.columns, zip(*(row.cells for row in section.rows), strict=True), strict=True
        )
    ]
    return sum(PaperWidth.COLUMN + PaperWidth.LETTER * max(texts) for texts in [*heads, *numbers])


def _columns(cells: Cells) -> list[tuple[str, str, str]]:
    """Return the columns of the list of cells: key, heading, and sort order."""
    counts = [("count", "contributors", "number")] if cells.count is not None else []
    adjusted = cells.adjusted is not None
    return [
        ("verdict", "verdict", "number"),
        ("cell", " · ".join(cells.table.labels.names), "number"),
        ("rules", "rules", "text"),
        ("value", "true value", "number"),
        *counts,
        ("interval", "published" if adjusted else "can be inferred", "none"),
        ("required", "required", "none"),
        ("bar", "published against required" if adjusted else "inferred against required", "none"),
        ("times", "\N{MULTIPLICATION SIGN} required", "number"),
    ]


def _row(cells: Cells, cell: int) -> dict[str, Any]:
    """Return a row of the list of suppressed and unsafe cells."""
    sign, word = cells.verdict(cell)
    low, high = (float(end[cell]) for end in cells.ends)
    quotient = float(cells.reached[cell])
    if not cells.protection.withheld[cell] and cells.adjusted is None:
        low = high = float(cells.table.value[cell])
    return {
        "cell": cell,
        "codes": cells.table.labels.codes_of(cell),
        "sign": sign,
        "word": word,
        "failing": bool(cells.failing[cell]),
        "unsafe": bool(cells.need.unsafe[cell]),
        "decision": cells.decision[cell],
        "rules": ", ".join(cells.need.why(cell)),
        "value": number(float(cells.table.value[cell])),
        "plain": repr(float(cells.table.value[cell])),
        "count": cells.count[cell] if cells.count is not None else None,
        "interval": interval(low, high) or UNKNOWN,
        "shown": number(float(cells.protection.value[cell])) if cells.adjusted is not None else "",
        "required": cells.required(cell) if cells.need.unsafe[cell] else "",
        "times": times(quotient),
        "quotient": f"{quotient:.6g}",
        "bar": cells.bar(cell),
        "why": cells.why(cell) if cells.failing[cell] else "",
    }


def _data(
    cells: Cells, order: list[int], layers: dict[str, dict[int, str]], say: Callable[[str], str]
) -> dict[str, Any]:
    """Return the data of the script: layers, and details for the panel."""
    labels, rules = cells.table.labels, list(cells.need.rules)
    columns = [labels.column(variable) for variable in range(len(labels.names))]
    reasons = {
        place: cells.why(cell) for place, cell in enumerate(order) if cells.decision[cell] != "published"
    }
    return {
        "names": labels.names,
        "codes": labels.codes,
        "at": [[int(column[cell]) for column in columns] for cell in order],
        "layers": {
            key: {place: say(text) for place, text in texts.items()} if key in SAID else texts
            for key, texts in layers.items()
        },
        "rules": rules,
        "hits": {
            place: [rules.index(name) for name in cells.need.why(cell)]
            for place, cell in enumerate(order)
            if cells.need.unsafe[cell]
        },
        "verdict": {
            place: " ".join(map(say, cells.verdict(cell)))
            for place, cell in enumerate(order)
            if cells.need.unsafe[cell]
        },
        "times": {
            place: times(float(cells.reached[cell]))
            for place, cell in enumerate(order)
            if cells.need.unsafe[cell]
        },
        "why": {place: say(text) for place, text in reasons.items() if text},
        "words": {text: say(text) for text in WORDS if say(text) != text},
    }
