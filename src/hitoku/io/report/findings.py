"""Findings of a report: colour of the verdict, key figures, steps of the audit, and disclosures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice, pairwise

import numpy as np

from hitoku.evidence import Disclosure, arithmetic, explain_recomputable
from hitoku.io.number_texts import percent, times
from hitoku.io.pages import MAX_LISTED
from hitoku.io.release_cells import Cells
from hitoku.io.report.pictures import Waterfall, group_sum, waterfall
from hitoku.messages import Text, join
from hitoku.metrics import loss
from hitoku.model import Colour, Finding, Row, Severity, Status, Verdict

# Class limits for how many times a requirement is met; the first class fails.
CLASSES = (1.0, 1.5, 2.0, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Light:
    """Display of a verdict's colour: class of the box, sign, name and meaning."""

    kind: str
    sign: str
    name: str
    meaning: str


# Sign and sentence of each colour, so that colour is not the only difference.
LIGHTS = {
    Colour.GREEN: Light("good", "✓", "Green", "every attacker in scope was considered, and none succeeds"),
    Colour.AMBER: Light("review", "?", "Amber", "an attacker in scope was not considered, or not decided"),
    Colour.RED: Light("bad", "✗", "Red", "an attacker in scope succeeds: do not publish this release"),
}
CAUTION = Light("bad", "✗", "Not for publication", "")
# CSS classes of the rows, by result.
KINDS = {
    Status.PROVED: "good",
    Status.PASSED: "good",
    Status.FAILED: "bad",
    Status.NOT_DECIDED: "review",
    Status.NOT_CONSIDERED: "review",
}


def light(verdict: Verdict, caution: str = "") -> Light:
    """Return the display of the verdict; a caution of the method overrides a verdict that is not red."""
    found = LIGHTS[verdict.colour]
    return replace(CAUTION, meaning=caution) if caution and verdict.colour is not Colour.RED else found


def row_class(row: Row) -> str:
    """Return the CSS class of a verdict's row; grey outside the scope."""
    return KINDS[row.status] if row.applies and row.in_scope else "out"


@dataclass(frozen=True, slots=True)
class Figure:
    """Key figure with its unit and notes."""

    name: str
    value: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AuditStep:
    """Step of the audit: attacker, and outcome; ``kind`` is good, bad or review."""

    name: str
    attacker: str
    outcome: str
    kind: str

    @property
    def sign(self) -> str:
        """Outcome as text with a symbol."""
        return {"good": "✓ no disclosure", "bad": "✗ disclosure", "review": "? inconclusive"}[self.kind]


def figures(cells: Cells) -> tuple[Figure, ...]:
    """Return the key figures: unsafe cells, and loss."""
    table, need, protection, audit = cells.table, cells.need, cells.protection, cells.audit
    lost = loss(table, protection)
    n = lost.n_cells
    withheld, unsafe = protection.withheld, need.unsafe
    rules = tuple(f"{name}: {int(hits.sum()):,}" for name, hits in need.rules.items())
    found = [
        Figure(
            "cells",
            f"{n:,}",
            (Text("{n_inner:,} inner cells", n_inner=lost.n_inner), Text("{n:,} sums", n=n - lost.n_inner)),
        ),
        Figure(
            "unsafe",
            f"{int(unsafe.sum()):,}",
            (Text("{share} of all cells", share=percent(unsafe.sum() / n)), *rules),
        ),
    ]
    if cells.adjusted is not None:
        useful = cells.adjusted.utility
        found += [
            Figure(
                "cells changed",
                f"{lost.n_changed:,}",
                (Text("{share} of all cells", share=percent(lost.n_changed / n)),),
            ),
            Figure(
                "mean change",
                percent(useful["mean"]),
                (
                    Text("largest {share}", share=percent(useful["largest"])),
                    Text("safe cells {share}", share=percent(useful["safe_mean"])),
                ),
            ),
        ]
    else:
        primary = int((withheld & unsafe & table.shown).sum())
        secondary = lost.n_withheld - primary
        found += [
            Figure(
                "withheld",
                f"{lost.n_withheld:,}",
                (
                    Text("{primary:,} unsafe (primary)", primary=primary),
                    Text("{secondary:,} to protect them (secondary)", secondary=secondary),
                ),
            ),
            Figure(
                "cells suppressed",
                percent(lost.share),
                (Text("{share} of inner cells", share=percent(_share(lost.n_inner_withheld, lost.n_inner))),),
            ),
            Figure(
                "value suppressed",
                percent(lost.inner_value_share),
                ("of the sum of inner cells", Text("{share} with all sums", share=percent(lost.value_share))),
            ),
        ]
    known = unsafe & np.isfinite(cells.reached)
    if known.any():
        # Witnesses show that a range is possible; only a computed interval shows that no more is.
        reached, exact = cells.reached[known], bool(cells.computed[known].all())
        least, median = times(float(reached.min())), times(float(np.median(reached)))
        notes = (
            "of the requirement",
            Text("median {times}", times=median) if exact else Text("median at least {times}", times=median),
        )
        found.append(
            Figure("least protected cell", least if exact else Text("at least {times}", times=least), notes)
        )
    if cells.adjusted is None and lost.n_withheld:
        free = audit.summary["null_dimension"]
        found.append(Figure("null-space dimension", f"{free:,}", ("independent deviations",)))
    return tuple(found)


def classes(cells: Cells) -> tuple[tuple[str, int], ...]:
    """Return the number of unsafe cells by how many times their requirement is met."""
    found = cells.reached[cells.need.unsafe]
    failing = cells.failing[cells.need.unsafe]
    found = np.where(failing, 0.0, np.maximum(found, 1.0))
    edges = (*CLASSES, np.inf)
    counts = [("not protected", int(failing.sum()))]
    for low, high in pairwise(edges):
        named = (
            Text("{low:g} to {high:g} times", low=low, high=high)
            if np.isfinite(high)
            else Text("{low:g} times or more", low=low)
        )
        inside = (found >= low) & (found < high) if np.isfinite(high) else found >= low
        counts.append((named, int(inside.sum())))
    return tuple(counts)


def _not_computed(cells: Cells) -> str:
    """Return a note if intervals of a large table were not computed."""
    found = cells.inferable
    n = 0 if found is None else int((found.unknown & cells.protection.withheld).sum())
    if not n:
        return ""
    return Text(
        "the intervals of {n:,} cell(s) were not computed; for unsafe cells the report shows the range "
        "of the witnesses, which is narrower",
        n=n,
    )


def steps(cells: Cells) -> tuple[AuditStep, ...]:
    """Return the steps of the audit."""
    audit = cells.audit
    s = audit.summary
    if cells.adjusted is not None:
        close, broken = s["published"] + s["narrow"], cells.adjusted.n_broken
        return (
            AuditStep(
                "distance",
                "takes published values as true values",
                Text("{close:,} unsafe cells are published closer to their value than required", close=close),
                "bad" if close else "good",
            ),
            AuditStep(
                "sums",
                "adds up published values",
                Text("{broken:,} sums do not hold", broken=broken),
                "bad" if broken else "good",
            ),
        )
    own, given = s["recomputable"] + s["published"], s["withheld_recomputable"]
    more = given - s["recomputable"]
    wasted = (
        Text("{n:,} secondary cell(s) can, which is harmless but unnecessary", n=more) if more > 0 else ""
    )
    tried = [
        AuditStep(
            "adding and subtracting",
            "combines published cells without other knowledge",
            join([Text("{n:,} unsafe cells can be derived exactly", n=own), wasted]),
            "bad" if own else "good",
        ),
        AuditStep(
            "interval",
            Text("also knows that {knowledge} and solves linear programs", knowledge=_knowledge(cells)),
            join(
                [
                    Text("{n:,} unsafe cells can be inferred more closely than required", n=s["narrow"]),
                    Text("{n:,} could not be decided", n=s["undecided"]) if s["undecided"] else "",
                    Text(
                        "{programs:,} linear programs, {witnesses:,} witnesses",
                        programs=s["programs"],
                        witnesses=s["witnesses"],
                    ),
                    _not_computed(cells),
                ]
            ),
            "bad" if s["narrow"] else "review" if s["undecided"] else "good",
        ),
    ]
    if audit.groups is not None:
        tried.append(
            AuditStep(
                "group",
                "computes which cells all members of a group must be in, for any possible counts",
                Text(
                    "{groups:,} groups examined; {open_groups:,} are disclosed",
                    groups=s["groups"],
                    open_groups=s["open_groups"],
                ),
                "bad" if s["open_groups"] else "good",
            )
        )
    if audit.insiders is not None:
        n_open = s.get("insiders_undecided", 0)
        tried.append(
            AuditStep(
                "insider",
                "contributed to suppressed cells and knows their own contributions",
                join(
                    [
                        Text(
                            "{insiders_tried:,} contributors or coalitions tried; they come too close to "
                            "{open_to_insiders:,} unsafe cells",
                            insiders_tried=s["insiders_tried"],
                            open_to_insiders=s["open_to_insiders"],
                        ),
                        Text("{n:,} are not decided within the work limit", n=n_open) if n_open else "",
                    ]
                ),
                "bad" if s["open_to_insiders"] else "review" if n_open else "good",
            )
        )
    return tuple(tried)


def remarks(cells: Cells) -> list[Finding]:
    """Return further remarks; failing cells are in the list of cells."""
    named = {cells.table.describe(int(cell)) for cell in np.flatnonzero(cells.failing)}
    found = [*cells.remarks, *cells.audit.findings]
    return [f for f in found if f.severity is not Severity.PASS and f.place not in named]


def _knowledge(cells: Cells) -> str:
    """Describe the assumed prior knowledge of an outsider."""
    table = cells.table
    known = [Text("values are integers")] if table.integer else []
    if np.all(table.lower == 0) and np.all(np.isinf(table.upper)):
        known.append(Text("no value is negative"))
    elif np.isfinite(table.lower).any() or np.isfinite(table.upper).any():
        known.append(Text("values lie within bounds given with the table"))
    return join(known, "{first} and that {second}") or Text("the table adds up")


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


UNITS, ELSEWHERE = "number of units", "units of the group that may be in other cells"


@dataclass(frozen=True, slots=True)
class SumPicture:
    """Disclosed cell or group, with the sums that disclose it."""

    name: str  # Name of the cell or group.
    places: tuple[str, ...]  # Cells in the picture, as named in findings.
    sums: tuple[Waterfall, ...]  # Sums of published cells that disclose it.
    # rules, required: rules that a cell breaks, and its requirement; for a group, the counted quantity.
    rules: str = ""
    required: str = ""


@dataclass(frozen=True, slots=True)
class DisclosedRow:
    """Disclosures found by one attacker."""

    row: Row  # Row of the verdict.
    pictures: tuple[SumPicture, ...]  # First cells, with the sums that disclose them.
    # Other findings: reason, advice, and cells or groups.
    listed: tuple[tuple[str, str, tuple[str, ...]], ...]
    n_more: int  # Number of findings not listed.


def list_disclosures(cells: Cells, rows: Iterable[Row]) -> list[DisclosedRow]:
    """Return the disclosures of every failed row."""
    found = []
    for row in rows:
        if row.status is not Status.FAILED or not row.applies:
            continue
        pictures = _pictures(cells, row)
        drawn = {place for each in pictures for place in each.places}
        left = [each for each in row.findings if each.place not in drawn]
        alike: dict[tuple[str, str], list[str]] = {}
        for each in left[:MAX_LISTED]:
            alike.setdefault((each.reason, each.advice), []).append(each.place)
        listed = tuple((*about, tuple(places)) for about, places in alike.items())
        found.append(DisclosedRow(row, pictures, listed, max(len(left) - MAX_LISTED, 0)))
    return found


def _pictures(cells: Cells, row: Row) -> tuple[SumPicture, ...]:
    """Draw the sums behind the first findings of a row; exact numbers only."""
    if not cells.audit.additive or cells.adjusted is not None:
        return ()
    drawn = {"outsider": _of_cells, "groups": _of_units, "attributes": _of_attributes}.get(row.attacker)
    # Maximum number of sums drawn for each row of the verdict.
    return () if drawn is None else tuple(islice(drawn(cells), 3))


def _of_cells(cells: Cells) -> Iterable[SumPicture]:
    audit = cells.audit
    for place, reasons in audit.disclosures.items():
        cell = int(audit.problem.cells[place])
        sums = (arithmetic(audit.problem, audit.release, audit.grid, reason) for reason in reasons)
        drawn = tuple(waterfall(each, cells.codes) for each in sums)
        if any(each.bars for each in drawn):
            name, rules = cells.table.describe(cell), ", ".join(cells.need.why(cell))
            yield SumPicture(name, (name,), drawn, rules, cells.required(cell))


def _of_units(cells: Cells) -> Iterable[SumPicture]:
    """Draw groups with too few units; numbers are units, also for magnitude tables."""
    drawn: set[tuple[int, ...]] = set()
    for audit in () if cells.groups is None else cells.groups.audits:
        for reasons in audit.disclosures.values():
            for reason in reasons:
                found, members = group_sum(arithmetic(audit.problem, audit.release, audit.grid, reason))
                if members in drawn or not found.terms:
                    continue
                drawn.add(members)
                together = " + ".join(map(cells.codes, members))

                def codes(cell: int, own: int = found.cell, together: str = together) -> str:
                    return together if cell == own else cells.codes(cell)

                places = tuple(map(cells.table.describe, members))
                yield SumPicture(together, places, (waterfall(found, codes),), UNITS)


def _of_attributes(cells: Cells) -> Iterable[SumPicture]:
    """Draw how many units of a group can be outside the cells where published values place them."""
    groups, labels = cells.audit.groups, cells.table.labels
    if groups is None:
        return
    exposed = explain_recomputable(groups.problem, groups.proof.exposed)
    reasons: dict[int, tuple[Disclosure, ...]] = dict(groups.proof.failed)
    reasons |= {place: (reason,) for place, reason in exposed.items()}
    n = len(labels)
    for place in sorted(reasons):
        number = int(groups.problem.cells[place]) - n
        sums = [
            arithmetic(groups.problem, groups.release, groups.grid, reason)
            for reason in reasons[place]
            if reason.linear or reason.up
        ]
        name = groups.learnt.describe(labels, number)

        def codes(cell: int, name: str = name) -> str:
            return name if cell >= n else cells.codes(cell)

        drawn = tuple(waterfall(each, codes) for each in sums)
        if any(each.bars for each in drawn):
            yield SumPicture(name, (name,), drawn, ELSEWHERE)
