"""The findings in words: verdict, key figures, attacks and their outcome."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hitoku.evidence.loss import loss
from hitoku.io.report.cells import Cells
from hitoku.io.report.numbers import percent, times
from hitoku.model.finding import Finding, Severity

# How often a requirement is met, in classes; the first one fails.
CLASSES = (1.0, 1.5, 2.0, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class HeadlineVerdict:
    """The answer at the top: a sign, a word, a sentence; ``kind`` is good, bad or look."""

    kind: str
    sign: str
    word: str
    text: str


@dataclass(frozen=True, slots=True)
class Figure:
    """One key figure with its unit and what stands behind it."""

    name: str
    value: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tried:
    """An attack: who reads the release, what happened, or how to run it.

    ``kind`` is good, bad, look, or none where it was not run.
    """

    name: str
    reader: str
    outcome: str = ""
    kind: str = "none"
    how: str = ""

    @property
    def sign(self) -> str:
        return {"good": "✓ held", "bad": "✗ broken", "look": "? open", "none": "not run"}[self.kind]


def verdict(cells: Cells) -> HeadlineVerdict:
    """Say whether the release may leave, as far as the audit can tell."""
    audit, unsafe = cells.audit, int(cells.need.unsafe.sum())
    if not audit.safe:
        n = int(cells.failing.sum())
        what = f"{n:,} of {_many(unsafe, 'unsafe cell')} {'is' if n == 1 else 'are'} not protected"
        if cells.adjusted is not None and cells.adjusted.n_broken:
            what += f"; {_many(cells.adjusted.n_broken, 'sum')} of the published values do not add up"
        given_away = _given_away(cells)
        if given_away:
            what += f"; {_many(given_away, 'group')} {'is' if given_away == 1 else 'are'} given away"
        return HeadlineVerdict("bad", "✗", "Not safe", f"{what}. Do not publish this release.")
    if cells.protection.caution:
        text = f"The audit found nothing, and still: {cells.protection.caution}"
        return HeadlineVerdict("bad", "✗", "Not for publication", text)
    how = "published with another value" if cells.adjusted else "withheld"
    away = (
        "as far from its own as its rules require"
        if cells.adjusted
        else "and blurred as far as its rules require"
    )
    text = f"Every one of {_many(unsafe, 'unsafe cell')} is {how}, {away}."
    if audit.groups is not None:
        text += f" Of {_many(len(audit.groups), 'group')} no more can be learnt than they allow."
    if unsafe == 0:
        text = "No rule finds an unsafe cell in this table."
    left_open = [remark for remark in cells.remarks if remark.severity is Severity.LOOK]
    if left_open:
        told = "; ".join(f"{remark.place}: {remark.reason}" for remark in left_open)
        return HeadlineVerdict(
            "look", "?", "Safe as far as sums tell", f"{text} That is not a proof, for {told}."
        )
    if audit.certificate is None:
        reason = "There is no certificate, because the values do not add up exactly."
        return HeadlineVerdict("look", "✓", "Safe, without a certificate", f"{text} {reason}")
    proof = (
        "The certificate proves it; anybody can check it again." if unsafe else "There is nothing to prove."
    )
    return HeadlineVerdict("good", "✓", "Safe", f"{text} {proof}")


def _given_away(cells: Cells) -> int:
    """Count the groups of which more can be learnt than a rule allows."""
    if cells.adjusted is not None:
        return int(cells.adjusted.given_away.sum())
    return 0 if cells.audit.groups is None else cells.audit.groups.n_open


def figures(cells: Cells) -> tuple[Figure, ...]:
    """Count what was found and what is lost."""
    table, need, protection, audit = cells.table, cells.need, cells.protection, cells.audit
    lost = loss(table, protection)
    n = lost.n_cells
    withheld, unsafe = protection.withheld, need.unsafe
    rules = tuple(f"{name}: {int(hits.sum()):,}" for name, hits in need.rules.items())
    found = [
        Figure("cells", f"{n:,}", (f"{lost.n_inner:,} inner cells", f"{n - lost.n_inner:,} sums")),
        Figure("unsafe", f"{int(unsafe.sum()):,}", (f"{percent(unsafe.sum() / n)} of all cells", *rules)),
    ]
    if cells.adjusted is not None:
        useful = cells.adjusted.utility
        found += [
            Figure("cells changed", f"{lost.n_changed:,}", (f"{percent(lost.n_changed / n)} of all cells",)),
            Figure(
                "mean change",
                percent(useful["mean"]),
                (f"largest {percent(useful['largest'])}", f"safe cells {percent(useful['safe_mean'])}"),
            ),
        ]
    else:
        primary = int((withheld & unsafe & table.shown).sum())
        secondary = lost.n_withheld - primary
        found += [
            Figure(
                "withheld",
                f"{lost.n_withheld:,}",
                (f"{primary:,} unsafe (primary)", f"{secondary:,} to protect them (secondary)"),
            ),
            Figure(
                "cells lost",
                percent(lost.share),
                (f"{percent(_share(lost.n_inner_withheld, lost.n_inner))} of inner cells",),
            ),
            Figure(
                "value lost",
                percent(lost.inner_value_share),
                ("of the sum of inner cells", f"{percent(lost.value_share)} with all sums"),
            ),
        ]
    known = cells.reached[unsafe & np.isfinite(cells.reached)]
    if len(known):
        notes = ("of what is required", f"median {times(float(np.median(known)))}")
        found.append(Figure("tightest cell", times(float(known.min())), notes))
    if cells.adjusted is None and lost.n_withheld:
        free = audit.summary["free_dimensions"]
        found.append(Figure("free directions", f"{free:,}", ("ways to move withheld cells",)))
    return tuple(found)


def classes(cells: Cells) -> tuple[tuple[str, int], ...]:
    """Count the unsafe cells by how many times their requirement is met."""
    found = cells.reached[cells.need.unsafe]
    failing = cells.failing[cells.need.unsafe]
    found = np.where(failing, 0.0, np.maximum(found, 1.0))
    edges = (*CLASSES, np.inf)
    counts = [("not protected", int(failing.sum()))]
    for low, high in pairwise(edges):
        named = f"{low:g} to {high:g} times" if np.isfinite(high) else f"{low:g} times or more"
        inside = (found >= low) & (found < high) if np.isfinite(high) else found >= low
        counts.append((named, int(inside.sum())))
    return tuple(counts)


# The claim about a reader who knows the method is verified for the report up to so many cells.
VERIFIED = 50_000
REFUTED = "the method claims that this reader is left with enough, and the claim is refuted"


def _not_gone_into(cells: Cells) -> str:
    """Say of a large table that intervals are longer than what is shown."""
    found = cells.inferable
    n = 0 if found is None else int((found.unknown & cells.protection.withheld).sum())
    shown = "for unsafe ones the report shows how far witnesses go, which is less"
    return f"; the intervals of {_many(n, 'cell')} were not worked out, {shown}" if n else ""


def attacks(cells: Cells) -> tuple[Tried, ...]:
    """Tell which attacks were run, and which were not."""
    audit = cells.audit
    s = audit.summary
    if cells.adjusted is not None:
        close, broken = s["published"] + s["narrow"], cells.adjusted.n_broken
        return (
            Tried(
                "distance",
                "takes what is published for the truth",
                f"{close:,} unsafe cells are published closer to their value than required",
                "bad" if close else "good",
            ),
            Tried(
                "sums",
                "adds up what is published",
                f"{broken:,} sums do not hold",
                "bad" if broken else "good",
            ),
            Tried(
                "adjustment",
                "undoes the adjustment from what is known about the method",
                how="hitoku attack release --attack adjustment",
            ),
        )
    own, given = s["recomputable"] + s["published"], s["withheld_recomputable"]
    more = given - s["recomputable"]
    also = f"; {_many(more, 'secondary cell')} can, which is no danger but a waste" if more > 0 else ""
    tried = [
        Tried(
            "adding and subtracting",
            "combines published cells, knows nothing else",
            f"{own:,} unsafe cells can be worked out exactly{also}",
            "bad" if own else "good",
        ),
        Tried(
            "interval",
            f"also knows that {_knowledge(cells)}, and solves linear programs",
            f"{s['narrow']:,} unsafe cells can be inferred more closely than required"
            + (f", {s['undecided']:,} could not be decided" if s["undecided"] else "")
            + f"; {s['programs']:,} linear programs, {s['witnesses']:,} witnesses{_not_gone_into(cells)}",
            "bad" if s["narrow"] else "look" if s["undecided"] else "good",
        ),
    ]
    if audit.groups is not None:
        tried.append(
            Tried(
                "group",
                "asks where the people of a whole group must be, whatever the counts are",
                f"{s['groups']:,} groups looked at; {s['open_groups']:,} are given away",
                "bad" if s["open_groups"] else "good",
            )
        )
    if audit.insiders is None:
        how = "hitoku attack release --attack insider"
        tried.append(Tried("insider", "contributed to withheld cells and knows the own amounts", how=how))
    else:
        tried.append(
            Tried(
                "insider",
                "contributed to withheld cells and knows the own amounts",
                f"{s['insiders_tried']:,} contributors or coalitions tried; they come too close to "
                f"{s['open_to_insiders']:,} unsafe cells",
                "bad" if s["open_to_insiders"] else "good",
            )
        )
    knows = "knows the method and asks which tables it would have treated like this"
    if audit.reader is None:
        tried.append(Tried("matching", knows, how="hitoku attack release --attack matching"))
    elif cells.table.n_cells > VERIFIED:
        tried.append(
            Tried("matching", knows, how="verify.py checks what the certificate claims about this reader")
        )
    else:
        held = bool(audit.withstands_known_method)
        found = "proved: this reader is left with what every unsafe cell needs"
        tried.append(Tried("matching", knows, found if held else REFUTED, "good" if held else "bad"))
    tried += [
        Tried(
            "differencing",
            "compares this release with others about the same population",
            how="ht.differencing([release, *earlier])",
        ),
    ]
    return tuple(tried)


def remarks(cells: Cells) -> list[Finding]:
    """Return what else deserves a look; cells that fail are in the list of cells already."""
    named = {cells.table.describe(int(cell)) for cell in np.flatnonzero(cells.failing)}
    found = [*cells.remarks, *cells.audit.findings]
    return [f for f in found if f.severity is not Severity.PASS and f.place not in named]


def _knowledge(cells: Cells) -> str:
    """Say what an outsider is assumed to know beforehand."""
    table = cells.table
    known = ["values are whole numbers"] if table.integer else []
    if np.all(table.lower == 0) and np.all(np.isinf(table.upper)):
        known.append("no value is below zero")
    elif np.isfinite(table.lower).any() or np.isfinite(table.upper).any():
        known.append("values lie within bounds given with the table")
    return " and that ".join(known) or "the table adds up"


def _many(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
