"""The checker's report: one web page that needs no network, and the same as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from pathlib import Path

from hitoku.checks.outputs.output import WITHHELD, Output
from hitoku.checks.principles.verdict import Principle
from hitoku.checks.submission.recheck import Recheck, Rechecked
from hitoku.errors import OutputError
from hitoku.files import new_file

# Rows of what would leave that are shown; the CSV file has them all.
MOST_ROWS = 200
# Two-way tables wider than this are listed.
MOST_COLUMNS = 12
# A word and a sign for every status: colour is never the only difference.
SIGNS = {"pass": "✓", "fail": "✗", "look": "?", "excepted": "!", "-": ""}

STYLE = """
:root { color-scheme: light dark; --ink: #1b2a38; --paper: #fff; --line: #d4dce3; --faint: #5d7389;
  --pass: #e7f3ea; --fail: #fbe3e0; --look: #fdf3d6; --excepted: #e6e4f6; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4ebf1; --paper: #141b22; --line: #33414e; --faint: #93a7ba;
    --pass: #1d3526; --fail: #4a211d; --look: #43381a; --excepted: #2d2a4a; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; } h3 { font-size: 1rem; }
p, li { max-width: 52rem; } .faint { color: var(--faint); overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .3rem 0; }
th, td { border: 1px solid var(--line); padding: .25rem .6rem; text-align: left; }
td.number { text-align: right; }
.pass { background: var(--pass); } .fail { background: var(--fail); font-weight: 700; }
.look { background: var(--look); font-style: italic; }
.excepted { background: var(--excepted); text-decoration: underline; }
td.status { white-space: nowrap; }
@page { margin: 14mm; }
@media print { body { margin: 0; padding: 0; max-width: none; font-size: 10.5px; color: #000; }
  h1 { font-size: 17px; } h2 { font-size: 14px; margin-top: 0; } h3 { font-size: 12px; break-after: avoid; }
  p, li { max-width: none; } section { break-before: page; } .scroll { overflow: visible; }
  table { max-width: 100%; } th, td { padding: .12rem .35rem; } td { overflow-wrap: break-word; }
  .matrix { font-size: 9px; } .matrix th, .matrix td { padding: .12rem .25rem; }
  tr { break-inside: avoid; } thead { display: table-header-group; }
  a { color: inherit; text-decoration: none; } }
""".strip()


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
    """Render a check as HTML: the matrix first, then a page for each output."""
    sent, rules = check.submission, check.policy
    title = f"Output check: {escape(sent.name)}"
    counts = ", ".join(f"{n} {status}" for status, n in check.tally.items() if n)
    answer = "nothing fails" if check.ok else "do not release as it is"
    head = (
        f"<h1>{title}</h1>\n<p><b>{'✓' if check.ok else '✗'} {answer}</b>: "
        f"{len(check.outputs)} output(s): {escape(counts)}.</p>\n"
        f"<p>Policy {escape(rules.name)} {escape(rules.version)}, the checker's own copy. Every verdict was "
        "computed again from the evidence; those of the session were compared and not believed. "
        f"Differencing: {escape(check.scope)}.</p>\n"
        f'<p class="faint">written by hitoku {escape(sent.version)}; data {escape(sent.data)}; '
        f"policy {rules.hash}</p>\n"
    )
    remarks = [*map(str, check.findings), *(f"not used: {each}" for each in check.unused)]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>\n{STYLE}\n</style></head>\n<body>{head}{_list('About the submission', remarks)}"
        f"{_matrix(check)}\n{''.join(map(_section, range(1, len(check.outputs) + 1), check.outputs))}"
        "</body></html>\n"
    )


def _matrix(check: Recheck) -> str:
    head = "".join(f'<th scope="col">{principle.replace("_", " ")}</th>' for principle in Principle)
    rows = []
    for number, each in enumerate(check.outputs, start=1):
        cells = "".join(_status(status) for status in each.row.values())
        rows.append(
            f'<tr><th scope="row"><a href="#output-{number}">{escape(each.output.name)}</a></th>'
            f"{cells}{_status('fail' if each.findings else 'pass')}{_status(each.status)}</tr>"
        )
    key = "✓ pass, ✗ fail, ? look (a person decides), ! excepted (somebody decided), empty: not asked"
    return (
        f'<div class="scroll"><table class="matrix"><caption>Outputs by principles: {key}</caption>\n'
        f'<thead><tr><th>output</th>{head}<th scope="col">as submitted</th>'
        f'<th scope="col">in all</th></tr></thead>\n'
        f"<tbody>{chr(10).join(rows)}</tbody></table></div>"
    )


def _status(status: str) -> str:
    word = "" if status == "-" else f"{SIGNS[status]} {status}"
    return f'<td class="status {status if word else ""}">{word}</td>'


def _section(number: int, each: Rechecked) -> str:
    output = each.output
    rows = "".join(
        f'<tr><th scope="row">{verdict.principle.replace("_", " ")}</th>{_status(str(verdict.status))}'
        f"<td>{escape(verdict.text)}</td><td>{escape(verdict.remedy)}</td></tr>\n"
        for verdict in each.verdicts
    )
    return (
        f'<section id="output-{number}"><h2>{number}. {escape(output.name)}: {SIGNS[each.status]} '
        f"{each.status}</h2>\n<p>{output.kind.replace('_', ' ')}{escape(_asked(output))}</p>\n"
        f"{_list('Wrong with the submission', map(str, each.findings))}"
        f"{_list('Exceptions', map(str, each.exceptions))}"
        '<div class="scroll"><table><thead><tr><th>principle</th><th>verdict</th><th>why</th>'
        f"<th>way out</th></tr></thead>\n<tbody>{rows}</tbody></table></div>\n{_leaving(each)}</section>\n"
    )


def _asked(output: Output) -> str:
    """Say what was asked for: parameters that are not the usual ones, and the filter."""
    given = {name: value for name, value in output.definition.items() if value and name != "hierarchies"}
    if given.get("missing") == "error":
        del given["missing"]
    said = [f"{name} {_plain(value)}" for name, value in given.items()]
    said += [f"where {name} is {_plain(values)}" for name, values in output.where.items()]
    return f": {'; '.join(said)}" if said else ""


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _leaving(each: Rechecked) -> str:
    columns = each.output.published
    crossed = _crossed(each.output)
    if crossed is not None:
        return f"<h3>What would leave ({WITHHELD}: withheld)</h3>\n{crossed}"
    head = "".join(f'<th scope="col">{escape(str(name))}</th>' for name in columns)
    lines = list(zip(*columns.values(), strict=False))
    rows = "".join(f"<tr>{''.join(map(_entry, line))}</tr>\n" for line in lines[:MOST_ROWS])
    more = f", the first {MOST_ROWS} of {len(lines):,} rows" if len(lines) > MOST_ROWS else ""
    return (
        f"<h3>What would leave{more} ({WITHHELD}: withheld)</h3>\n"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div>\n'
    )


def _crossed(output: Output) -> str | None:
    """Set a small two-way table the way it is printed; None for anything else."""
    columns = output.published
    by = list(output.definition.get("by") or ())
    if not output.asked.tabular or len(columns) != 3 or list(columns)[:2] != by:
        return None
    measure = list(columns)[-1]
    # What was tampered with may have any shape.
    rows, codes, shown = (list(column) for column in columns.values())
    values = dict(zip(zip(rows, codes, strict=False), shown, strict=False))
    down, across = dict.fromkeys(rows), dict.fromkeys(codes)
    if len(across) > MOST_COLUMNS or len(down) > MOST_ROWS or len(values) < len(down) * len(across):
        return None
    corner = escape(" \N{MULTIPLICATION SIGN} ".join(list(columns)[:2]))
    head = "".join(f'<th scope="col">{escape(str(code))}</th>' for code in across)
    lines = (
        f'<th scope="row">{escape(str(code))}</th>{"".join(_entry(values[code, other]) for other in across)}'
        for code in down
    )
    body = "".join(f"<tr>{line}</tr>\n" for line in lines)
    return (
        f'<div class="scroll"><table><caption>{escape(measure)}</caption>\n<thead><tr><th>{corner}</th>{head}'
        f"</tr></thead>\n<tbody>{body}</tbody></table></div>\n"
    )


def _entry(entry: object) -> str:
    if entry is None:
        return f'<td class="number"><i>{WITHHELD}</i></td>'
    if isinstance(entry, int | float):
        whole = isinstance(entry, float) and entry.is_integer()
        return f'<td class="number">{entry:,.0f}</td>' if whole else f'<td class="number">{entry:,}</td>'
    return f"<td>{escape(str(entry))}</td>"


def _list(title: str, remarks: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(remark)}</li>" for remark in remarks)
    return f"<h3>{title}</h3>\n<ul>{items}</ul>\n" if items else ""
