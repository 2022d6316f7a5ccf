"""Contributors who know their own amounts: what is withheld for their sake, and a verdict on it.

Whoever is alone in a withheld cell of a magnitude table knows it and takes it out of the sums; anybody knows
that a cell is no less than their own amount.
"""

from __future__ import annotations

from collections.abc import Mapping

from hitoku.attacks import Contribution, Insider
from hitoku.checks.principles.verdict import Clearance, Principle, PrincipleVerdict
from hitoku.coalitions import CoalitionSearch, contributions_in
from hitoku.errors import NeedError, some
from hitoku.methods import Method, against_insiders
from hitoku.model import Mask, Need, Protection, Release, Table

# More than so many are not tried: the largest of each cell first, then those who are alone in one.
MOST = 1_000


def kept_out(table: Table, need: Need, protection: Protection, method: Method) -> Mask:
    """Withhold more until no contributor comes too close; where that does not help, the verdict says so."""
    attack, _ = attack_on(table, protection.withheld)
    if attack is None or not protection.withheld.any():
        return protection.withheld
    try:
        return against_insiders(table, need, protection, method=method, attack=attack).withheld
    except NeedError:
        return protection.withheld


def attack_on(table: Table, withheld: Mask) -> tuple[Insider | None, str]:
    """Return the contributors to withheld cells, as far as they can be tried, and who they are in words."""
    inside = [one for one in contributions_in(table) if withheld[one.cell]]
    alone = [one for one in inside if one.sole]
    for some_of_them, words in ((inside, "sole and largest contributors"), (alone, "sole contributors")):
        if _n_people(some_of_them) <= MOST:
            return Insider(tuple(some_of_them)), words
    return None, "sole contributors"


def _n_people(contributions: list[Contribution]) -> int:
    return len({one.contributor for one in contributions})


def insider_verdicts(table: Table, need: Need, withheld: Mask) -> tuple[PrincipleVerdict, ...]:
    """Let contributors attack; nothing to say when nothing, or everything, is withheld."""
    if not withheld.any() or withheld.all():
        return ()
    attack, words = attack_on(table, withheld)
    if attack is None:
        text = f"{words} to withheld cells who know their own amounts: more than {MOST:,}, not tried"
        return (_verdict(Clearance.LOOK, "insiders_not_tried", text, {"limit": MOST}),)
    release = Release.of(table, Protection.withhold(table, withheld, need))
    found = CoalitionSearch(table, need, release, attack).verdict()
    told = f"{words} to withheld cells who know their own amounts, {found.tried:,} of them:"
    numbers = {"insiders": found.tried, "open": len(found.cells)}
    if found.undecided and not found.cells:
        text = f"{told} not decided for {found.undecided:,} of them within the work limit"
        return (_verdict(Clearance.LOOK, "insiders_not_tried", text, numbers),)
    if not found.cells:
        return (_verdict(Clearance.PASS, "insiders_kept_out", f"{told} none comes too close", numbers),)
    places = some((f"[{table.describe(cell)}]" for cell in found.cells), 3)
    text = f"{told} some come too close to {len(found.cells)} cell(s): {places}"
    return (_verdict(Clearance.LOOK, "open_to_insiders", text, numbers),)


def _verdict(status: Clearance, reason: str, text: str, numbers: Mapping[str, float]) -> PrincipleVerdict:
    remedy = "merge categories, so that nobody is alone in a withheld cell"
    return PrincipleVerdict(
        principle=Principle.INTERVAL,
        status=status,
        reason=reason,
        text=text,
        numbers=numbers,
        remedy="" if status is Clearance.PASS else remedy,
    )
