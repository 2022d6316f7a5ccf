"""The checker's report: one web page that needs no network and is enough to sign, and JSON and CSV beside."""

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
from hitoku.io.pages import render
from hitoku.io.report import LIGHTS, Light, row_class
from hitoku.messages import Text
from hitoku.model import Colour, Verdict

# Rows of what would leave that are shown; the CSV file has them all.
MOST_ROWS = 200
# The style of the report on a release, and what is different here.
STYLES = ("style.css", "check.css")
# Two-way tables wider than this are listed.
MOST_COLUMNS = 12
# A word and a sign for every status: colour is never the only difference.
SIGNS = {"pass": "✓", "fail": "✗", "review": "?", "exception granted": "!", "-": ""}
STATES = {
    OutputState.UNDECIDED: "undecided",
    OutputState.LEAVES: "leaves",
    OutputState.REFUSED: "stays: refused",
    OutputState.BROKEN: "stays: what was submitted is wrong",
    OutputState.RELEASED: "has left",
}
CELLS, FILES = "cells", "files"
HTML, JSON = "report.html", "report.json"
# How a time is written; catalogues have the form of their language.
MINUTE = "%Y-%m-%d %H:%M UTC"
# Lines of a text that are shown; the file beside the page has them all.
MOST_LINES = 400


def write_report(
    folder: str | Path,
    check: Recheck,
    *,
    before: Submission | None = None,
    now: datetime | None = None,
    lang: str = ENGLISH,
) -> tuple[Path, Path]:
    """Write report.html, report.json, what is known of every cell, and files to look at; all or nothing.

    An earlier report there is replaced as a whole.

    Parameters
    ----------
    folder
        Where; it does not exist, or holds an earlier report and nothing else.
    check
        What was found.
    before
        The last submission of the same work, to say what has changed.
    now
        The time of the check; left out, the clock's.
    lang
        Language of the page; files for programs are in English.
    """
    place = Path(folder)
    known = [_known(each, check.policy) for each in check.outputs]
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


# How many variables an output has, and what is known of its cells, by column: codes first.
Known = tuple[int, dict[str, list[Any]]]


def _known(each: Rechecked, policy: Policy) -> Known:
    """Describe the cells of an output; none where its evidence is not to be trusted."""
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
    """Render a check as HTML: what is undecided first, then what leaves, the matrix, a section per output."""
    say = speaker(lang)
    facts = [_known(each, check.policy) for each in check.outputs] if known is None else known
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
        written=say(_when(check.submission.written)),
        checked=say((now or clock()).strftime(MINUTE)),
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
        leaving=[each for each in sections if each.state in {"leaves", "released"}],
        different=different,
        signs=SIGNS,
        row_class=row_class,
        left_open=list(dict.fromkeys(said for each in sections for said in each.verdict.sentences(say)[1:])),
        withheld=WITHHELD,
        entry=entry,
    )


def _when(written: str) -> str:
    """Write a time of a manifest as the page writes its own; what was tampered with stays as it came.

    Examples
    --------
    >>> _when("2026-11-16T21:05:53+00:00"), _when("2026-11-17T06:05:53+09:00"), _when("yesterday")
    ('2026-11-16 21:05 UTC', '2026-11-16 21:05 UTC', 'yesterday')
    """
    try:
        return datetime.fromisoformat(written).astimezone(UTC).strftime(MINUTE)
    except (ValueError, OverflowError):
        return written


class ShownFile(NamedTuple):
    """A file to look at: a text with its first lines, or a picture inside the page."""

    name: str
    text: str = ""
    more: str = ""
    picture: str = ""


def _shown(name: str, content: bytes) -> ShownFile:
    kind = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}.get(Path(name).suffix)
    if kind is not None:
        return ShownFile(name, picture=f"data:{kind};base64,{base64.b64encode(content).decode()}")
    lines = content.decode("utf-8", "replace").splitlines()
    more = f", the first {MOST_LINES} of {len(lines):,} lines" if len(lines) > MOST_LINES else ""
    return ShownFile(name, "\n".join(lines[:MOST_LINES]), more)


@dataclass(frozen=True, kw_only=True)
class OutputSection:
    """What the page says about one output; every text as it came, for the template escapes it.

    Parameters
    ----------
    number, name, status, state, words
        Of the output; what becomes of it, as a word and in words.
    asked, command
        What was asked for, and the call that asks for it.
    comment, requests, changed
        What the researcher says and asks for, and what is different from the last submission.
    findings, decisions, verdicts
        What is wrong with the submission, what somebody decided, what the principles say.
    verdict, headline, light
        The same as one row per attacker; its headline in the language of the page, and its colour.
    stopped
        The verdicts that nobody has decided about.
    files
        What leaves, with the SHA-256 of each file.
    table
        What would leave.
    others
        What stands on the other side of differences, by name.
    shown
        Files that a person has to look at.
    variables, cells
        What is known of every cell.
    more_cells
        How many of them are not shown.
    """

    number: int
    name: str
    status: str
    state: str
    words: str
    asked: str
    command: str
    comment: str
    requests: list[str]
    changed: str
    findings: list[str]
    decisions: list[str]
    verdicts: tuple[PrincipleVerdict, ...]
    verdict: Verdict
    headline: str
    light: Light
    stopped: list[PrincipleVerdict]
    files: Mapping[str, str]
    table: Leaving
    others: Mapping[str, Leaving]
    shown: list[ShownFile]
    variables: list[str]
    cells: list[list[str]]
    more_cells: int


def _section(
    check: Recheck, place: int, known: Known, changed: str, say: Callable[[str], str]
) -> OutputSection:
    each, submission = check.outputs[place], check.submission
    verdict = check.verdict_of(each)
    undecided = set(each.undecided)
    asks = [request for request in submission.requests if request.output == each.output.name]
    # Columns of different lengths were tampered with, and are no file.
    even = len({len(column) for column in each.output.published.values()}) <= 1
    leaves = each.state is OutputState.LEAVES and even
    files = leaving(submission.stems[place], each.output) if leaves else {}
    return OutputSection(
        number=place + 1,
        name=each.output.name,
        status=each.status,
        state=str(each.state),
        words=STATES[each.state] + (f" with receipt {each.receipt}" if each.receipt else ""),
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
        table=_crossed(each.output) or _listed(each.output.published),
        others={name: _listed(published) for name, published in check.other_sides(each).items()},
        shown=[
            _shown(f"{submission.stems[place]}{suffix}", content)
            for suffix, content in each.output.evidence.files.items()
        ],
        variables=list(known[1])[: known[0]],
        cells=_cells(known),
        more_cells=max(max(map(len, known[1].values()), default=0) - MOST_ROWS, 0),
    )


def _cells(known: Known) -> list[list[str]]:
    """Print what is known of the first cells: codes, numbers, what becomes of them, the interval."""
    n_codes, columns = known
    found = []
    for row in islice(zip(*columns.values(), strict=True), MOST_ROWS):
        value, n_units, n_records, first, second, *shares, low, high, width, decision = row[n_codes:]
        counts = (value, entry), (n_units, entry), (n_records, entry)
        amounts = (first, number), (second, number), *((share, percent) for share in shares)
        within = "" if low is None else interval(low, high)
        if within and width is not None:
            within += f", {bound(width)} wide asked"
        shown: list[tuple[Any, Callable[[Any], str]]] = [*counts, *amounts]
        printed = ["" if each is None else show(each) for each, show in shown]
        found.append([*row[:n_codes], *printed, decision, within])
    return found


def _command(output: Output) -> str:
    """Write the call that asks for an output; what was tampered with may have any shape."""
    usual: tuple[object, ...] = (None, [], {}, "error")
    given = [f"{name}={value!r}" for name, value in output.definition.items() if value not in usual]
    if output.where:
        given.append(f"where={dict(output.where)!r}")
    return f"{output.kind}({', '.join([*given, f'name={output.name!r}'])})"


class Leaving(NamedTuple):
    """What would leave: its layout, the entries by the numbers of the cells, and what is left out."""

    section: LayoutSection
    entries: list[Any]
    caption: str = ""
    more: str = ""


def _listed(published: Mapping[str, list[Any]]) -> Leaving:
    """List what would leave, row by row; what was tampered with may have any shape."""
    rows = list(zip(*published.values(), strict=False))
    more = (
        Text(", the first {shown} of {n:,} rows", shown=MOST_ROWS, n=len(rows))
        if len(rows) > MOST_ROWS
        else ""
    )
    labels: dict[int, tuple[str, ...]] = dict.fromkeys(range(min(len(rows), MOST_ROWS)), ())
    section = list_rows((), labels, [str(name) for name in published])
    return Leaving(section, [value for row in rows for value in row], more=more)


def _crossed(output: Output) -> Leaving | None:
    """Set a small two-way table the way it is printed; None for anything else."""
    columns = output.published
    *by, measure = columns or [""]
    if (
        isinstance(output.evidence, Unreadable)
        or not output.asked.tabular
        or tuple(by) != output.asked.variables
    ):
        return None
    section = cross_codes(by, list(zip(*(map(str, columns[name]) for name in by), strict=False)))
    if section is None or len(section.columns) > MOST_COLUMNS or len(section.rows) > MOST_ROWS:
        return None
    if len(columns[measure]) < len(section.cells):
        return None
    return Leaving(section, columns[measure], caption=measure)
