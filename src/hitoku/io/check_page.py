"""The checker's report: one web page that needs no network, and the same as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hitoku.checks.evidence.evidence import Unreadable
from hitoku.checks.outputs.output import WITHHELD, Output
from hitoku.checks.principles.verdict import Principle, PrincipleVerdict
from hitoku.checks.submission.rechecked import Recheck, Rechecked
from hitoku.errors import OutputError
from hitoku.files import new_file
from hitoku.io.report.rendering import HERE, render

# Rows of what would leave that are shown; the CSV file has them all.
MOST_ROWS = 200
# The style of the report on a release, and what is different here.
STYLES = ("style.css", "check.css")
# Two-way tables wider than this are listed.
MOST_COLUMNS = 12
# A word and a sign for every status: colour is never the only difference.
SIGNS = {"pass": "✓", "fail": "✗", "look": "?", "excepted": "!", "-": ""}


def write_report(folder: str | Path, check: Recheck) -> tuple[Path, Path]:
    """Write report.html and report.json into a folder; an earlier report there is replaced."""
    place = Path(folder)
    html, plain = place / "report.html", place / "report.json"
    try:
        place.mkdir(parents=True, exist_ok=True)
        with new_file(html) as draft:
            draft.write_text(page(check), "utf-8")
        with new_file(plain) as draft:
            draft.write_text(json.dumps(check.to_dict(), indent=1) + "\n", "utf-8")
    except OSError as error:
        raise OutputError(
            f"cannot write the report: {error.strerror}",
            where=str(place),
            fix="give --out a folder that you may write to",
        ) from error
    return html, plain


def page(check: Recheck) -> str:
    """Render a check as HTML: the matrix first, then a section for each output."""
    return render(
        "check.html",
        style="".join((HERE / name).read_text("utf-8") for name in STYLES),
        check=check,
        counts=", ".join(f"{n} {status}" for status, n in check.tally.items() if n),
        remarks=[*map(str, check.findings), *(f"not used: {each}" for each in check.unused)],
        principles=[str(principle) for principle in Principle],
        outputs=[_section(each) for each in check.outputs],
        signs=SIGNS,
        withheld=WITHHELD,
    )


class ShownEntry(NamedTuple):
    """An entry of a table as text; None where it is withheld."""

    text: str | None
    number: bool = False


@dataclass(frozen=True, kw_only=True)
class OutputSection:
    """What the page says about one output; every text as it came, for the template escapes it.

    Parameters
    ----------
    name, status
        Of the output.
    asked
        What was asked for.
    findings, exceptions, verdicts
        What is wrong with the submission, what somebody decided, what the principles say.
    more
        How much of what would leave is not shown.
    caption, head, rows
        What would leave, as a table.
    crossed
        It is a two-way table set as it is printed, with codes in its first column.
    """

    name: str
    status: str
    asked: str
    findings: list[str]
    exceptions: list[str]
    verdicts: tuple[PrincipleVerdict, ...]
    more: str
    caption: str
    head: list[str]
    rows: list[list[ShownEntry]]
    crossed: bool


def _section(each: Rechecked) -> OutputSection:
    leaving = _crossed(each.output) or _listed(each.output)
    return OutputSection(
        name=each.output.name,
        status=each.status,
        asked=asked_for(each.output),
        findings=[str(finding) for finding in each.findings],
        exceptions=[str(exception) for exception in each.exceptions],
        verdicts=each.verdicts,
        **leaving._asdict(),
    )


class Leaving(NamedTuple):
    """What would leave, as a table."""

    head: list[str]
    rows: list[list[ShownEntry]]
    caption: str = ""
    more: str = ""
    crossed: bool = False


def asked_for(output: Output) -> str:
    """Say what was asked for: parameters that are not the usual ones, and the filter."""
    given = {name: value for name, value in output.definition.items() if value and name != "hierarchies"}
    if given.get("missing") == "error":
        del given["missing"]
    said = [f"{name} {_plain(value)}" for name, value in given.items()]
    said += [f"where {name} is {_plain(values)}" for name, values in output.where.items()]
    return output.kind.replace("_", " ") + (f": {'; '.join(said)}" if said else "")


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _listed(output: Output) -> Leaving:
    """List what would leave, row by row; what was tampered with may have any shape."""
    lines = list(zip(*output.published.values(), strict=False))
    more = f", the first {MOST_ROWS} of {len(lines):,} rows" if len(lines) > MOST_ROWS else ""
    rows = [[_entry(entry) for entry in line] for line in lines[:MOST_ROWS]]
    return Leaving([str(name) for name in output.published], rows, more=more)


def _crossed(output: Output) -> Leaving | None:
    """Set a small two-way table the way it is printed; None for anything else."""
    columns = output.published
    if isinstance(output.evidence, Unreadable) or not output.asked.tabular or len(columns) != 3:
        return None
    *by, measure = columns
    if tuple(by) != output.asked.variables:
        return None
    down_codes, across_codes, shown = columns.values()
    values = dict(zip(zip(down_codes, across_codes, strict=False), shown, strict=False))
    down, across = dict.fromkeys(down_codes), dict.fromkeys(across_codes)
    if len(across) > MOST_COLUMNS or len(down) > MOST_ROWS or len(values) < len(down) * len(across):
        return None
    corner = " \N{MULTIPLICATION SIGN} ".join(by)
    rows = [[ShownEntry(str(code)), *(_entry(values[code, other]) for other in across)] for code in down]
    return Leaving([corner, *map(str, across)], rows, caption=measure, crossed=True)


def _entry(entry: object) -> ShownEntry:
    if entry is None:
        return ShownEntry(None)
    if isinstance(entry, int | float):
        whole = isinstance(entry, float) and entry.is_integer()
        return ShownEntry(f"{entry:,.0f}" if whole else f"{entry:,}", number=True)
    return ShownEntry(str(entry))
