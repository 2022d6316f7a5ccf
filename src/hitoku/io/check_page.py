"""Report for checkers: a self-contained web page for signing, with JSON and CSV files."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from hitoku.checks.evidence import Unreadable
from hitoku.checks.outputs import WITHHELD, Output
from hitoku.checks.policies import Policy
from hitoku.checks.principles import Clearance, Principle, PrincipleVerdict
from hitoku.checks.submission import (
    OutputState,
    Recheck,
    Rechecked,
    Submission,
    changes,
    clock,
    csv_text,
    leaving,
)
from hitoku.errors import HitokuError
from hitoku.files import replaced_folder, sha256
from hitoku.io.language import ENGLISH, speaker
from hitoku.io.layout import LayoutSection, cross_codes, list_rows
from hitoku.io.number_texts import bound, entry, interval, number, percent
from hitoku.io.output_cells import OutputCells, asked_for
from hitoku.io.pages import MAX_ROWS, render
from hitoku.io.report import LIGHTS, Light, row_class
from hitoku.messages import Text
from hitoku.model import Colour, Verdict

# Styles of the release report, and differences for this page.
STYLES = ("style.css", "check.css")
# Two-way tables wider than this are listed.
MAX_COLUMNS = 12
# Text and sign of every status, so that colour is not the only difference.
SIGNS = {"pass": "✓", "fail": "✗", "review": "?", "exception granted": "!", "-": ""}
STATES = {
    OutputState.UNDECIDED: "undecided",
    OutputState.RELEASABLE: "to be released",
    OutputState.REFUSED: "not released: rejected",
    OutputState.BROKEN: "not released: invalid submission",
    OutputState.RELEASED: "released",
}
CELLS, FILES = "cells", "files"
HTML, JSON = "report.html", "report.json"
# Time format; catalogues have that of their language.
MINUTE = "%Y-%m-%d %H:%M UTC"


def write_report(
    folder: str | Path,
    check: Recheck,
    *,
    before: Submission | None = None,
    now: datetime | None = None,
    lang: str = ENGLISH,
) -> tuple[Path, Path]:
    """Write report.html, report.json, cell files and attached files, all or nothing.

    An earlier report in the folder is replaced.

    Parameters
    ----------
    folder
        Folder, which does not exist or contains only an earlier report.
    check
        Result of the check.
    before
        Previous submission of the same work, to show changes.
    now
        Time of the check. Default: now.
    lang
        Language of the page. Default: "en". Files for programs are in English.
    """
    place = Path(folder)
    known = [_cell_facts(each, check.policy) for each in check.outputs]
    with replaced_folder(place, (HTML, JSON, CELLS, FILES)) as draft:
        (draft / CELLS).mkdir()
        for (_, columns), stem in zip(known, check.submission.stems, strict=True):
            if columns:
                laid = {
                    name: ["" if each is None else each for each in column]
                    for name, column in columns.items()
                }
                (draft / CELLS / f"{stem}.csv").write_text(csv_text(laid), "utf-8")
        for each, stem in zip(check.outputs, check.submission.stems, strict=True):
            for suffix, content in each.output.evidence.files.items():
                (draft / FILES).mkdir(exist_ok=True)
                (draft / FILES / f"{stem}{suffix}").write_bytes(content)
        (draft / HTML).write_text(page(check, before=before, now=now, known=known, lang=lang), "utf-8")
        plain = check.to_dict()
        if before is not None:
            plain["changes"] = changes(check.submission.outputs, before.outputs)
        (draft / JSON).write_text(json.dumps(plain, indent=1) + "\n", "utf-8")
    return place / HTML, place / JSON


# Number of variables of an output, and its facts about cells by column, codes first.
Known = tuple[int, dict[str, list[Any]]]


def _cell_facts(each: Rechecked, policy: Policy) -> Known:
    """Return the facts about the cells of an output; none for broken evidence."""
    if each.state is OutputState.BROKEN:
        return 0, {}
    try:
        cells = OutputCells.of(each.output, policy)
        return (0, {}) if cells is None else (len(cells.variables), cells.columns())
    except HitokuError:
        return 0, {}


def page(
    check: Recheck,
    *,
    before: Submission | None = None,
    now: datetime | None = None,
    known: list[Known] | None = None,
    lang: str = ENGLISH,
) -> str:
    """Render a check as HTML: undecided outputs, released ones, the matrix, and a section per output."""
    say = speaker(lang)
    facts = [_cell_facts(each, check.policy) for each in check.outputs] if known is None else known
    different = {} if before is None else changes(check.submission.outputs, before.outputs)
    sections = [
        _section(check, place, facts[place], different.get(each.output.name, ""), say)
        for place, each in enumerate(check.outputs)
    ]
    states = [each.state for each in check.outputs]
    return render(
        "check.html",
        STYLES,
        pictures=any(file.picture for each in sections for file in each.shown),
        check=check,
        written=_when(check.submission.written, say(MINUTE)),
        checked=(now or clock()).strftime(say(MINUTE)),
        counts=", ".join(f"{n} {say(status)}" for status, n in check.tally.items() if n),
        states=", ".join(
            f"{states.count(state)} {say(STATES[state])}" for state in STATES if state in states
        ),
        lang=lang,
        _=say,
        remarks=[*map(str, check.findings), *(f"not used: {each}" for each in check.unused)],
        principles=[str(principle) for principle in Principle],
        outputs=sections,
        undecided=[each for each in sections if each.state in {"undecided", "broken"}],
        amber=any(each.verdict.colour is Colour.AMBER for each in sections),
        leaving=[each for each in sections if each.state in {"releasable", "released"}],
        different=different,
        signs=SIGNS,
        row_class=row_class,
        left_open=list(dict.fromkeys(said for each in sections for said in each.verdict.sentences(say)[1:])),
        withheld=WITHHELD,
        entry=entry,
    )


def _when(written: str, form: str = MINUTE) -> str:
    """Format the time of a manifest; an invalid one is returned unchanged.

    Examples
    --------
    >>> _when("2026-11-16T21:05:53+00:00"), _when("2026-11-17T06:05:53+09:00"), _when("yesterday")
    ('2026-11-16 21:05 UTC', '2026-11-16 21:05 UTC', 'yesterday')
    """
    try:
        return datetime.fromisoformat(written).astimezone(UTC).strftime(form)
    except (ValueError, OverflowError):
        return written


class ShownFile(NamedTuple):
    """A file to be reviewed: the first lines of a text, or an embedded picture."""

    name: str
    text: str = ""
    more: str = ""
    picture: str = ""


def _show_file(name: str, content: bytes) -> ShownFile:
    kind = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}.get(Path(name).suffix)
    if kind is not None:
        return ShownFile(name, picture=f"data:{kind};base64,{base64.b64encode(content).decode()}")
    lines = content.decode("utf-8", "replace").splitlines()
    more = (
        Text(", the first {shown} of {n:,} lines", shown=MAX_ROWS, n=len(lines))
        if len(lines) > MAX_ROWS
        else ""
    )
    return ShownFile(name, "\n".join(lines[:MAX_ROWS]), more)


@dataclass(frozen=True, kw_only=True)
class OutputSection:
    """Content of the section about one output; the template escapes all texts."""

    # number, name, status, state, words: name and status of the output; its state as a code and in words.
    number: int
    name: str
    status: str
    state: str
    words: str
    # asked, command: description of the output, and the call that makes it.
    asked: str
    command: str
    # comment, requests, changed: comment and requests of the researcher, and changes since the previous
    # submission.
    comment: str
    requests: list[str]
    changed: str
    # findings, decisions, verdicts: problems of the submission, decisions, and verdicts of the principles.
    findings: list[str]
    decisions: list[str]
    verdicts: tuple[PrincipleVerdict, ...]
    # verdict, headline, light: verdict with one row per attacker, its translated headline, and its colour.
    verdict: Verdict
    headline: str
    light: Light
    stopped: list[PrincipleVerdict]  # Verdicts without a decision.
    files: Mapping[str, str]  # Released files with their SHA-256.
    table: Leaving  # The output as it would be released.
    others: Mapping[str, Leaving]  # Outputs on the other side of differences, by name.
    shown: list[ShownFile]  # Files that a person must review.
    # variables, cells: facts about every cell.
    variables: list[str]
    cells: list[list[str]]
    more_cells: int  # Number of cells not shown.


def _section(
    check: Recheck, place: int, known: Known, changed: str, say: Callable[[str], str]
) -> OutputSection:
    each, submission = check.outputs[place], check.submission
    verdict = check.verdict_of(each)
    undecided = set(each.undecided)
    asks = [request for request in submission.requests if request.output == each.output.name]
    # Columns of different lengths indicate tampering and cannot be written.
    even = len({len(column) for column in each.output.published.values()}) <= 1
    leaves = each.state is OutputState.RELEASABLE and even
    files = leaving(submission.stems[place], each.output) if leaves else {}
    return OutputSection(
        number=place + 1,
        name=each.output.name,
        status=each.status,
        state=str(each.state),
        words=Text("released with receipt {receipt}", receipt=each.receipt)
        if each.receipt
        else STATES[each.state],
        asked=asked_for(each.output),
        command=_command(each.output),
        comment=submission.comments.get(each.output.name, ""),
        requests=[str(request) for request in asks],
        changed=changed,
        findings=[str(finding) for finding in each.findings],
        decisions=[str(decision) for decision in each.decisions],
        verdicts=each.verdicts,
        verdict=verdict,
        headline=" ".join(verdict.sentences(say)),
        light=LIGHTS[verdict.colour],
        stopped=[v for v in each.verdicts if v.principle in undecided and v.status is not Clearance.PASS],
        files={name: sha256(content) for name, content in files.items()},
        table=_cross_table(each.output) or _output_rows(each.output.published),
        others={name: _output_rows(published) for name, published in check.other_sides(each).items()},
        shown=[
            _show_file(f"{submission.stems[place]}{suffix}", content)
            for suffix, content in each.output.evidence.files.items()
        ],
        variables=list(known[1])[: known[0]],
        cells=_cells(known),
        more_cells=max(max(map(len, known[1].values()), default=0) - MAX_ROWS, 0),
    )


def _cells(known: Known) -> list[list[str]]:
    """Format the facts about the first cells: codes, numbers, decision, interval."""
    n_codes, columns = known
    found = []
    for row in islice(zip(*columns.values(), strict=True), MAX_ROWS):
        value, n_units, n_records, first, second, *shares, low, high, width, decision = row[n_codes:]
        counts = (value, entry), (n_units, entry), (n_records, entry)
        amounts = (first, number), (second, number), *((share, percent) for share in shares)
        within = "" if low is None else interval(low, high)
        if within and width is not None:
            within = Text("{interval}, {width} wide required", interval=within, width=bound(width))
        shown: list[tuple[Any, Callable[[Any], str]]] = [*counts, *amounts]
        printed = ["" if each is None else show(each) for each, show in shown]
        found.append([*row[:n_codes], *printed, decision, within])
    return found


def _command(output: Output) -> str:
    """Return the call that makes an output; a tampered definition may have any shape."""
    usual: tuple[object, ...] = (None, [], {}, "error")
    given = [f"{name}={value!r}" for name, value in output.definition.items() if value not in usual]
    if output.where:
        given.append(f"where={dict(output.where)!r}")
    return f"{output.kind}({', '.join([*given, f'name={output.name!r}'])})"


class Leaving(NamedTuple):
    """Published output: its layout, entries by cell, and a note on omitted rows."""

    section: LayoutSection
    entries: list[Any]
    caption: str = ""
    more: str = ""


def _output_rows(published: Mapping[str, list[Any]]) -> Leaving:
    """Return the published output row by row; a tampered one may have any shape."""
    rows = list(zip(*published.values(), strict=False))
    more = (
        Text(", the first {shown} of {n:,} rows", shown=MAX_ROWS, n=len(rows)) if len(rows) > MAX_ROWS else ""
    )
    labels: dict[int, tuple[str, ...]] = dict.fromkeys(range(min(len(rows), MAX_ROWS)), ())
    section = list_rows((), labels, [str(name) for name in published])
    return Leaving(section, [value for row in rows for value in row], more=more)


def _cross_table(output: Output) -> Leaving | None:
    """Return a small two-way table crossed; None for anything else."""
    columns = output.published
    *by, measure = columns or [""]
    if (
        isinstance(output.evidence, Unreadable)
        or not output.asked.tabular
        or tuple(by) != output.asked.variables
    ):
        return None
    section = cross_codes(by, list(zip(*(map(str, columns[name]) for name in by), strict=False)))
    if section is None or len(section.columns) > MAX_COLUMNS or len(section.rows) > MAX_ROWS:
        return None
    if len(columns[measure]) < len(section.cells):
        return None
    return Leaving(section, columns[measure], caption=measure)
