"""Templates of the application, and shared functions for displaying values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from hitoku.io.report import LIGHTS, Light
from hitoku.model import NOT_THERE, SYMBOLS, Colour, Status
from hitoku.review.drawing import layer_entry, mark
from hitoku.review.states import OWNERS, Role
from hitoku.web import Site, in_language

# Text and sign of every status, so that colour is not the only difference.
SIGNS = {"pass": "✓", "fail": "✗", "review": "?", "exception granted": "!", "-": "·"}
# CSS classes of the results in a verdict.
RESULTS = {
    Status.PROVED: "pass",
    Status.PASSED: "pass",
    Status.FAILED: "fail",
    Status.NOT_DECIDED: "review",
    Status.NOT_CONSIDERED: "review",
}
MINUS = "\N{MINUS SIGN}"
# Messages about completed actions, by the key in the address; other texts cannot be injected.
SAID = {
    "submitted": "Your submission was received and is being checked.",
    "resubmitted": "Your new turn was received and is being checked.",
    "review-submitted": "Your review is submitted and frozen.",
    "settled": "Settled: the request is in phase 2.",
    "returned": "The request was returned to the researcher.",
    "approved": "Phase 2 is finished: approved outputs can be released.",
    "rejected": "Phase 2 is finished: no output will be released.",
    "withdrawn": "The request was withdrawn.",
    "releasing": "The release is under way.",
    "commented": "Your comment was saved.",
    "claimed": "You claimed this request.",
    "unclaimed": "You no longer claim this request.",
    "decided": "Your decision was saved.",
    "retried": "The job was restarted.",
    "policy-added": "The policy has a new version.",
    "dry-run": "The dry run is under way.",
    "person-added": "The user was added.",
    "person-changed": "The change is in effect.",
}


@in_language
@cache
def status(say: Callable[..., str], word: str) -> Markup:
    """Return a status as sign and text. Cached: pages have hundreds of them."""
    sign, said = SIGNS[word], say("not applicable" if word == "-" else word)
    kind = "none" if word == "-" else word
    return Markup(
        '<span class="st {}"><span aria-hidden="true">{}</span><span class="w">{}</span></span>'
    ).format(kind, sign, said)


@in_language
def result(say: Callable[..., str], row: Mapping[str, Any]) -> Markup:
    """Return the result of a verdict's row as sign and text; grey outside the scope."""
    found = Status(row["status"])
    kind = RESULTS[found] if row["applies"] and row["in_scope"] else "none"
    sign, said = (SYMBOLS[found], found) if row["applies"] else (NOT_THERE, "does not apply")
    return Markup('<span class="st {}"><span aria-hidden="true">{}</span> {}</span>').format(
        kind, sign, say(said)
    )


def light(verdict: Mapping[str, Any]) -> Light:
    """Return the display of a verdict's colour."""
    return LIGHTS[Colour(verdict["colour"])]


def lines(
    cells: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    layer: str,
    terms: Mapping[int, Mapping[str, Any]] | None,
) -> Markup:
    """Return the rows of a table. Faster than a template for thousands of cells.

    Parameters
    ----------
    cells
        Facts about the cells.
    rows
        Row headings and cell indices.
    layer
        Layer to show.
    terms
        Cells that are terms of a sum, with their coefficients.
    """
    made: list[str] = []
    for row in rows:
        made.append("<tr>")
        for head in row["heads"]:
            kind = f"d{min(head['depth'], 6)}{' sum' if head['sum'] else ''}"
            made.append(f'<th scope="row" class="{kind}">{escape(head["code"])}</th>')
        for cell in row["cells"]:
            sign = mark(cells, cell)
            kind = f"n {sign}" if sign else "n"
            before = ""
            if terms and cell in terms:
                kind += " term"
                before = f'<b class="times">{MINUS if terms[cell]["times"].startswith("-") else "+"}</b> '
            text = escape(layer_entry(cells, cell, layer))
            made.append(f'<td data-cell="{cell}" tabindex="-1" class="{kind}">{before}{text}</td>')
        made.append("</tr>\n")
    # Codes and entries are escaped above; the other parts are constants.
    return Markup("".join(made))  # noqa: S704


SITE = Site(
    Path(__file__).parent,
    {
        "status": status,
        "result": result,
        "light": light,
        "lines": lines,
        "owners": OWNERS,
        "roles": list(Role),
    },
)
