"""The checker's report: one web page that needs no network, and the same as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from pathlib import Path

from hitoku.checks.output import WITHHELD
from hitoku.checks.recheck import Recheck, Rechecked
from hitoku.checks.verdict import Principle
from hitoku.errors import OutputError

# Rows of what would leave that are shown; the CSV file has them all.
MOST_ROWS = 200
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
@media print { body { margin: 0; max-width: none; font-size: 11px; } section { break-before: page; }
  tr { break-inside: avoid; } thead { display: table-header-group; } a { color: inherit; } }
""".strip()


def write_report(folder: str | Path, check: Recheck) -> tuple[Path, Path]:
    """Write report.html and report.json into a folder; an earlier report there is replaced."""
    place = Path(folder)
    html, plain = place / "report.html", place / "report.json"
    try:
        place.mkdir(parents=True, exist_ok=True)
        html.write_text(page(check), "utf-8")
        plain.write_text(json.dumps(check.to_dict(), indent=1) + "\n", "utf-8")
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
        f'<div class="scroll"><table><caption>Outputs by principles: {key}</caption>\n<thead><tr><th>output'
        f'</th>{head}<th scope="col">as submitted</th><th scope="col">in all</th></tr></thead>\n'
        f"<tbody>{chr(10).join(rows)}</tbody></table></div>"
    )


def _status(status: str) -> str:
    word = "" if status == "-" else f"{SIGNS[status]} {status}"
    return f'<td class="status {status if word else ""}">{word}</td>'


def _section(number: int, each: Rechecked) -> str:
    output = each.output
    parameters = {**output.definition, **({"where": output.where} if output.where else {})}
    said = ", ".join(f"{name} {json.dumps(value)}" for name, value in parameters.items() if value)
    rows = "".join(
        f'<tr><th scope="row">{verdict.principle.replace("_", " ")}</th>{_status(str(verdict.status))}'
        f"<td>{escape(verdict.text)}</td><td>{escape(verdict.remedy)}</td></tr>\n"
        for verdict in each.verdicts
    )
    return (
        f'<section id="output-{number}"><h2>{number}. {escape(output.name)}: {SIGNS[each.status]} '
        f"{each.status}</h2>\n<p>{output.kind.replace('_', ' ')}: {escape(said)}</p>\n"
        f"{_list('Wrong with the submission', map(str, each.findings))}"
        f"{_list('Exceptions', map(str, each.exceptions))}"
        '<div class="scroll"><table><thead><tr><th>principle</th><th>verdict</th><th>why</th>'
        f"<th>way out</th></tr></thead>\n<tbody>{rows}</tbody></table></div>\n{_leaving(each)}</section>\n"
    )


def _leaving(each: Rechecked) -> str:
    columns = each.output.published
    head = "".join(f'<th scope="col">{escape(str(name))}</th>' for name in columns)
    lines = list(zip(*columns.values(), strict=False))
    rows = "".join(f"<tr>{''.join(map(_entry, line))}</tr>\n" for line in lines[:MOST_ROWS])
    more = f", the first {MOST_ROWS} of {len(lines):,} rows" if len(lines) > MOST_ROWS else ""
    return (
        f"<h3>What would leave{more} ({WITHHELD}: withheld)</h3>\n"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div>\n'
    )


def _entry(entry: object) -> str:
    if entry is None:
        return f'<td class="number"><i>{WITHHELD}</i></td>'
    if isinstance(entry, int | float):
        return f'<td class="number">{entry:,}</td>'
    return f"<td>{escape(str(entry))}</td>"


def _list(title: str, remarks: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(remark)}</li>" for remark in remarks)
    return f"<h3>{title}</h3>\n<ul>{items}</ul>\n" if items else ""
