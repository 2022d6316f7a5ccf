"""Principles for tables: unsafe cells, suppression, and verdicts.

Contributors who know their own amounts are attackers, too. A sole contributor to a suppressed cell of a
magnitude table knows its value and subtracts it from sums; every contributor knows that a cell is at least
their own amount.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

import numpy as np

from hitoku.attacks import Contribution, Insider
from hitoku.checks.evidence import FEW_VALUES, MagnitudeEvidence, TableEvidence, siblings
from hitoku.checks.policies import Policy
from hitoku.checks.principles.group_principles import UnitsTest, in_order
from hitoku.checks.principles.principle_verdict import (
    Applied,
    Clearance,
    Principle,
    PrincipleTest,
    PrincipleVerdict,
)
from hitoku.checks.principles.value_principles import unknown
from hitoku.coalitions import CoalitionSearch, contributions_in
from hitoku.errors import NeedError, some
from hitoku.evidence import audit
from hitoku.messages import Text
from hitoku.methods import Method, against_insiders
from hitoku.methods.greedy import Greedy
from hitoku.model import LIMIT, Floats, Integers, Mask, Need, Protection, Release, Table
from hitoku.rules import GroupDisclosure, assess, line_shares, merge_withheld

# Above this many contributors, only sole contributors are tried as attackers, and above this many of these
# none is.
MAX_INSIDERS = 1_000


def kept_out(table: Table, need: Need, protection: Protection, method: Method) -> Mask:
    """Suppress further cells until no contributor comes too close; if that fails, the verdict reports it."""
    attack, _ = attack_on(table, protection.withheld)
    if attack is None or not protection.withheld.any():
        return protection.withheld
    try:
        return against_insiders(table, need, protection, method=method, attack=attack).withheld
    except NeedError:
        return protection.withheld


def attack_on(table: Table, withheld: Mask) -> tuple[Insider | None, bool]:
    """Return the contributors to suppressed cells, and whether this includes the largest, not only sole ones.

    The first is None if even the sole contributors are too many.
    """
    inside = [one for one in contributions_in(table) if withheld[one.cell]]
    alone = [one for one in inside if one.sole]
    for some_of_them, largest in ((inside, True), (alone, False)):
        if _n_people(some_of_them) <= MAX_INSIDERS:
            return Insider(tuple(some_of_them)), largest
    return None, False


def _n_people(contributions: list[Contribution]) -> int:
    return len({one.contributor for one in contributions})


# Contributors tried, with and without the largest ones.
WHO = {
    True: Text("sole and largest contributors to withheld cells who know their own amounts"),
    False: Text("sole contributors to withheld cells who know their own amounts"),
}


def insider_verdicts(table: Table, need: Need, withheld: Mask) -> tuple[PrincipleVerdict, ...]:
    """Return the verdicts on insider attacks; none if nothing, or everything, is suppressed."""
    if not withheld.any() or withheld.all():
        return ()
    attack, largest = attack_on(table, withheld)
    who = WHO[largest]
    if attack is None:
        text = Text("{who}: more than {n:,}, not tried", who=who, n=MAX_INSIDERS)
        return (_of_insiders(Clearance.REVIEW, "insiders_not_tried", text, {"limit": MAX_INSIDERS}),)
    release = Release.of(table, Protection.withhold(table, withheld, need))
    found = CoalitionSearch(table, need, release, attack).verdict()
    who_n = Text("{who}, {n:,} of them:", who=who, n=found.tried)
    numbers = {"insiders": found.tried, "open": len(found.cells), "largest": int(largest)}
    if found.undecided and not found.cells:
        text = Text(
            "{who_n} not decided for {undecided:,} of them within the work limit",
            who_n=who_n,
            undecided=found.undecided,
        )
        return (_of_insiders(Clearance.REVIEW, "insiders_not_tried", text, numbers),)
    if not found.cells:
        return (
            _of_insiders(
                Clearance.PASS,
                "insiders_kept_out",
                Text("{who_n} none comes too close", who_n=who_n),
                numbers,
            ),
        )
    places = some((f"[{table.describe(cell)}]" for cell in found.cells), 3)
    text = Text(
        "{who_n} some come too close to {n} cell(s): {places}", who_n=who_n, n=len(found.cells), places=places
    )
    return (_of_insiders(Clearance.REVIEW, "open_to_insiders", text, numbers),)


def _of_insiders(status: Clearance, reason: str, text: str, numbers: Mapping[str, float]) -> PrincipleVerdict:
    remedy = "merge categories, so that no unit is alone in a suppressed cell"
    return PrincipleVerdict(
        principle=Principle.INTERVAL,
        status=status,
        reason=reason,
        text=text,
        numbers=numbers,
        remedy="" if status is Clearance.PASS else remedy,
    )


def count_need(evidence: TableEvidence, policy: Policy) -> Need:
    """Return the requirements of the count rules; in a panel, shares are computed within a period.

    A variable with a single category is skipped if it is the filter variable, or constant in the whole file.
    If a filter on other variables left only that category, it describes every remaining unit and is not
    skipped.
    """
    rules = policy.count_rules
    others = _share_variables(evidence)
    if others is not None:
        within = GroupDisclosure(policy.group.share, by=others) if others else GroupDisclosure(1.0)
        rules = [within if isinstance(rule, GroupDisclosure) else rule for rule in rules]
    return assess(evidence.counts, rules, width=policy.interval.count, groups=policy.groups)


def count_shares(evidence: TableEvidence) -> Floats:
    """Return the largest share of each cell in its lines, as the group rule counts it, by units.

    NaN for a cell that is in no line.
    """
    return line_shares(evidence.counts, _share_variables(evidence))


def _share_variables(evidence: TableEvidence) -> tuple[str, ...] | None:
    """Return the variables along which shares are judged; None for all."""
    # Units that recur in the next year are expected and reveal nothing.
    period = evidence.period if evidence.repeats else None
    own = zip(evidence.by, evidence.codes, strict=True)
    only = evidence.only or ()
    others = tuple(name for name, codes in own if name != period and (len(codes) > 1 or name in only))
    return None if others == tuple(evidence.by) else others


def magnitude_need(evidence: TableEvidence, policy: Policy, counts: Mask) -> Need:
    """Return the requirements of the magnitude rules, including cells suppressed because of their counts."""
    table = evidence.table
    share = policy.interval.share
    own = assess(table, policy.magnitude_rules, width=share * np.abs(table.value), groups=policy.groups)
    return merge_withheld(table, own, counts, share)


def choose_withheld(table: Table, need: Need, *, insiders: bool = False) -> Mask:
    """Return the cells to suppress; all cells if no pattern suffices.

    With ``insiders``, further cells are withheld from contributors who know their own amounts.
    """
    method = Greedy(record="cells")
    try:
        chosen = method.protect(table, need)
    except NeedError:
        return np.ones(table.n_cells, dtype=np.bool_)
    return kept_out(table, need, chosen, method) if insiders else chosen.withheld


def withhold_counts(evidence: TableEvidence, policy: Policy) -> Mask:
    """Return the counts to suppress, so that derivable sums of them have enough units as well.

    Two unsafe cells of a row are revealed together, by the total minus the others. While these have too few
    units together, the smallest other cell of the row counts as unsafe, too.
    """
    need, table = count_need(evidence, policy), evidence.counts
    while True:
        withheld = choose_withheld(table, need)
        more = _companions(table, evidence.n_units, withheld, policy.least_units)
        if not more.any():
            return withheld
        need = replace(
            need,
            unsafe=need.unsafe | more,
            width=np.where(more, np.maximum(need.width, policy.interval.count), need.width),
        )


def _companions(table: Table, n_units: Integers, withheld: Mask, minimum: int) -> Mask:
    """Find the smallest cell to add to each derivable sum of too few units."""
    relations = table.relations.tocsr()
    found = np.zeros(table.n_cells, dtype=np.bool_)
    for row in range(relations.shape[0]):
        place = slice(relations.indptr[row], relations.indptr[row + 1])
        cells, signs = relations.indices[place], relations.data[place] > 0
        # One cell is the sum of the others, with the opposite sign.
        whole = cells[signs == (signs.sum() == 1)]
        parts = np.setdiff1d(cells, whole)
        hidden = parts[withheld[parts]]
        units = int(n_units[hidden].sum())
        if withheld[whole].any() or not 0 < units < minimum:
            continue
        open_parts = parts[~withheld[parts] & (n_units[parts] > 0)]
        if len(open_parts):
            found[open_parts[np.argmin(n_units[open_parts])]] = True
    return found


def interval_verdict(table: Table, need: Need, withheld: Mask, asked: str) -> PrincipleVerdict:
    """Audit the published table: every unsafe cell must be as uncertain as the policy requires."""
    release = Release.of(table, Protection.withhold(table, withheld, need))
    found = audit(table, need, release)
    numbers = {key: found.summary[key] for key in ("unsafe", "withheld", "secondary", "open")}
    if found.safe:
        text = Text(
            "{asked}: proved for {unsafe} cell(s), {withheld} withheld in all",
            asked=asked,
            unsafe=numbers["unsafe"],
            withheld=numbers["withheld"],
        )
        return PrincipleVerdict(
            principle=Principle.INTERVAL, status=Clearance.PASS, reason="proved", text=text, numbers=numbers
        )
    failing = [f"[{f.place}]" for f in found.findings if f.severity == "fail"]
    text = Text(
        "{asked}: not met in {n} cell(s): {places}"
        if numbers["open"]
        else "{asked}: not met in {n} group(s): {places}",
        asked=asked,
        n=numbers["open"] or len(failing),
        places=some(failing, 3),
    )
    return PrincipleVerdict(
        principle=Principle.INTERVAL,
        status=Clearance.FAIL,
        reason="interval_too_narrow",
        text=text,
        numbers=numbers,
        remedy="withhold further cells in the same rows and columns, or merge categories",
    )


def few_revealed(evidence: MagnitudeEvidence, policy: Policy) -> Mask:
    """Return the cells whose sums reveal unsafe counts of a few distinct values."""
    found = np.zeros(evidence.n_parts, dtype=np.bool_)
    cells, values, most, least = (
        evidence.few_cells,
        evidence.few_values,
        evidence.few_most,
        evidence.few_least,
    )
    if cells is None or values is None or most is None or least is None:
        return found
    n_units = evidence.n_units[cells]
    alike = most - policy.group.share * n_units > LIMIT * n_units
    revealed = (values <= 2) & (least < policy.least_units) | (values <= FEW_VALUES) & alike
    # Cells with too few units are suppressed for that reason.
    found[cells] = revealed & (n_units >= policy.least_units)
    return found


def few_tests(evidence: MagnitudeEvidence, policy: Policy) -> Iterator[Applied]:
    """Judge cells with few distinct values as the counts that their sums reveal."""
    if evidence.few_cells is None:
        yield unknown()
        return
    unsafe = few_revealed(evidence, policy)
    if unsafe.any():
        yield PrincipleTest(
            principle=Principle.GROUP,
            reason="two_values",
            unsafe=unsafe,
            rule=Text(
                "{variable} with few values, so a count: each of two that of at least {least_units} units, "
                "and none that of more than {share:.0%}",
                variable=Text("a variable"),
                least_units=policy.least_units,
                share=policy.group.share,
            ),
            numbers={"minimum": policy.least_units, "share": policy.group.share},
            remedy="merge these categories with others, or request a frequency table",
        )


def merge_remedy(evidence: TableEvidence, policy: Policy) -> str:
    """Return the advice which categories to merge so that cells have enough units, based on the counts."""
    dimensions = evidence.dimensions
    counts = evidence.n_units.reshape([len(d) for d in dimensions])
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
                # Units in both cells are counted twice; the merged table will be judged again.
                joined = counts.take(place, axis) + counts.take(other, axis)
                left = int(((joined > 0) & (joined < policy.least_units)).sum())
                gained = int(hit[place] + hit[other]) - left
                if gained > 0:
                    one = f"{name} {codes[place]}"
                    text = Text("merge {one} with {other}", one=one, other=codes[other])
                    proposed.append((int(small.sum()) - gained, int(step < 0), text))
    return min(proposed)[2] if proposed else ""


def group_remedy(evidence: TableEvidence) -> str:
    """Return the advice for cells with almost all units of their row or column."""
    periods = [] if evidence.period else [name for name in evidence.by if evidence.comes_back(name)]
    if periods:
        name = periods[0]
        return Text(
            'the same units come back in {name}: if it is a period, open the session with period="{name}"',
            name=name,
        )
    return "merge the category with others, or leave this breakdown out"


def count_tests(
    evidence: TableEvidence, rules: Mapping[str, Mask], policy: Policy
) -> Iterator[PrincipleTest]:
    """Return the tests of the rules on counts."""
    counts = evidence.n_units
    smallest = int(counts[counts > 0].min(initial=counts.max()))
    yield UnitsTest(
        principle=Principle.UNITS,
        reason="too_few_units",
        unsafe=rules["min_frequency"],
        rule=Text("at least {least_units} units", least_units=policy.least_units),
        numbers={"minimum": policy.least_units, "smallest": smallest},
        remedy=merge_remedy(evidence, policy),
        n_units=counts,
        policy=policy,
    )
    yield PrincipleTest(
        principle=Principle.GROUP,
        reason="group_disclosure",
        unsafe=rules["group_disclosure"],
        rule=Text(
            "no cell above {share:.0%} of its row or column, within each {period}"
            if evidence.repeats
            else "no cell above {share:.0%} of its row or column",
            share=policy.group.share,
            period=evidence.period,
        ),
        numbers={"share": policy.group.share},
        remedy=group_remedy(evidence),
    )
