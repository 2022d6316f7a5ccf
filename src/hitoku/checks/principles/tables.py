"""Tables as evidence: plain lists that make the table again, its protection, and the verdicts on it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod
from typing import Any

import numpy as np

from hitoku.checks.evidence import Evidence
from hitoku.checks.evidence.groups import own_name
from hitoku.checks.evidence.trees import dimensions_in, plain_trees, siblings
from hitoku.checks.policies.policy import Policy
from hitoku.checks.principles.groups import in_order, judged, withheld_of
from hitoku.checks.principles.insiders import kept_out
from hitoku.checks.principles.verdict import Principle, Status, Verdict
from hitoku.errors import DataError, NeedError, some
from hitoku.evidence.audit import audit
from hitoku.methods.greedy import Greedy
from hitoku.model.arrays import Mask
from hitoku.model.contributors import Contributors
from hitoku.model.hierarchy import TOTAL
from hitoku.model.need import Need
from hitoku.model.protection import Protection
from hitoku.model.release import Release
from hitoku.model.table import Table
from hitoku.rules.assess import assess
from hitoku.rules.withheld_counts import merge_withheld


def evidence_of(table: Table) -> Evidence:
    """Write a table as plain lists."""
    found: Evidence = {
        "by": [d.name for d in table.dimensions],
        "codes": [list(d.leaves) for d in table.dimensions],
        "value": table.value.tolist(),
        "records": table.measures["records"].tolist(),
        "n_units": table.frequency.tolist() if table.frequency is not None else [],
        "integer": table.integer,
        "measure": table.measure,
    }
    trees = {
        d.name: d.hierarchies for d in table.dimensions if len(d) > len(d.leaves) + 1 or d.total != TOTAL
    }
    if trees:
        found["hierarchies"] = plain_trees(trees, found["by"])
    who = table.contributors
    if who is not None and who.largest.shape[1]:
        found |= {
            "n_contributors": who.count.tolist(),
            "largest": who.largest.tolist(),
            "size": who.total.tolist(),
            "negative": who.negative,
        }
    return found


def table_of(evidence: Mapping[str, Any]) -> Table:
    """Make the table again."""
    who = None
    if "largest" in evidence:
        who = Contributors(
            count=evidence["n_contributors"],
            largest=evidence["largest"],
            total=evidence["size"],
            negative=evidence["negative"],
            magnitude="abs",
        )
    dimensions = dimensions_in(evidence)
    if len(evidence["value"]) != prod(len(dimension) for dimension in dimensions):
        # Before room is made for all of them: evidence may come from anybody.
        raise DataError(
            "there is not one value for each cell", where="evidence", fix="have the output made again"
        )
    return Table(
        value=evidence["value"],
        dimensions=dimensions,
        frequency=evidence["n_units"],
        units=who,
        integer=evidence["integer"],
        measure=evidence["measure"],
    )


def counts_of(evidence: Mapping[str, Any]) -> Table:
    """Make the table of records behind it, with its units as frequency."""
    return table_of(
        {key: evidence[key] for key in ("by", "codes", "hierarchies", "n_units") if key in evidence}
        | {"value": evidence["records"], "integer": True, "measure": "count"}
    )


def count_need(evidence: Mapping[str, Any], policy: Policy) -> Need:
    """Apply the rules on counts."""
    return assess(counts_of(evidence), policy.count_rules, width=policy.interval.count)


def magnitude_need(evidence: Mapping[str, Any], policy: Policy, counts: Mask) -> Need:
    """Apply the rules on magnitudes, and add the cells whose counts are withheld."""
    table = table_of(evidence)
    share = policy.interval.share
    own = assess(table, policy.magnitude_rules, width=share * np.abs(table.value))
    return merge_withheld(table, own, counts, share)


def protected(table: Table, need: Need, *, insiders: bool = False) -> Mask:
    """Choose what to withhold; everything when no choice is enough.

    With ``insiders``, further cells are withheld from contributors who know their own amounts.
    """
    method = Greedy(record="cells")
    try:
        chosen = method.protect(table, need)
    except NeedError:
        return np.ones(table.n_cells, dtype=np.bool_)
    return kept_out(table, need, chosen, method) if insiders else chosen.withheld


def rule_verdict(
    principle: Principle,
    reason: str,
    evidence: Mapping[str, Any],
    unsafe: Mask,
    rule: str,
    numbers: Mapping[str, float],
    remedy: str,
) -> Verdict:
    """Say whether the cells that a rule hits stay behind."""
    label = table_of(evidence).labels.codes_of
    return judged(principle, reason, unsafe, withheld_of(evidence), label, rule, numbers, remedy)


def interval_verdict(table: Table, need: Need, withheld: Mask, asked: str) -> Verdict:
    """Attack what leaves: every unsafe cell must stay as uncertain as the policy asks."""
    release = Release.of(table, Protection.withhold(table, withheld, need))
    found = audit(table, need, release)
    numbers = {key: found.summary[key] for key in ("unsafe", "withheld", "secondary", "open")}
    if found.safe:
        text = f"{asked}: proved for {numbers['unsafe']} cell(s), {numbers['withheld']} withheld in all"
        return Verdict(
            principle=Principle.INTERVAL, status=Status.PASS, reason="proved", text=text, numbers=numbers
        )
    places = some((f"[{f.place}]" for f in found.findings if f.severity == "fail"), 3)
    return Verdict(
        principle=Principle.INTERVAL,
        status=Status.FAIL,
        reason="interval_too_narrow",
        text=f"{asked}: not met in {numbers['open']} cell(s): {places}",
        numbers=numbers,
        remedy="withhold further cells in the same rows and columns, or merge categories",
    )


def merge_remedy(evidence: Mapping[str, Any], policy: Policy) -> str:
    """Propose categories to merge so that cells reach the number of units, from the counts alone."""
    dimensions = dimensions_in(evidence)
    counts = np.asarray(evidence["n_units"]).reshape([len(d) for d in dimensions])
    counts = counts[tuple(slice(len(d.leaves)) for d in dimensions)]
    small = (counts > 0) & (counts < policy.least_units)
    proposed: list[tuple[int, int, str]] = []
    for axis, dimension in enumerate(dimensions):
        name, codes, together = dimension.name, dimension.leaves, siblings(dimension)
        hit = small.sum(axis=tuple(a for a in range(counts.ndim) if a != axis))
        order = sorted(range(len(codes)), key=lambda at: (together[at], in_order(codes[at])))
        for rank, step in product(range(len(order)), (1, -1)):
            place, other = order[rank], order[(rank + step) % len(order)]
            if hit[place] and 0 <= rank + step < len(order) and together[place] == together[other]:
                # Somebody in both cells is counted twice here: a proposal, which the merged table will be
                # judged on afresh.
                joined = counts.take(place, axis) + counts.take(other, axis)
                left = int(((joined > 0) & (joined < policy.least_units)).sum())
                gained = int(hit[place] + hit[other]) - left
                if gained > 0:
                    text = f"merge {name} {codes[place]} with {codes[other]}"
                    proposed.append((int(small.sum()) - gained, int(step < 0), text))
    return min(proposed)[2] if proposed else ""


def published_columns(evidence: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return what leaves: codes and the value, None where withheld."""
    labels = table_of(evidence).labels
    columns: dict[str, list[Any]] = {
        name: [labels.codes[v][int(p)] for p in labels.column(v)] for v, name in enumerate(labels.names)
    }
    whole = evidence["integer"]
    columns[own_name(evidence["measure"], columns)] = [
        None if gone else int(value) if whole else value
        for value, gone in zip(evidence["value"], evidence["withheld"], strict=True)
    ]
    return columns
