"""Contributors against a table of a session, by hand: who is tried, what is said, what is withheld."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hitoku.checks.principles import Clearance, attack_on, insider_verdicts, kept_out
from hitoku.errors import NeedError
from hitoku.model import Contributors, Need, Protection, Table


def behind(value, count, largest=0.0):
    """Make a table with so many contributors behind each cell; of several, the largest is given."""
    plain = Table.from_array(np.asarray(value, dtype=float), integer=False)
    cells = np.asarray(count).ravel()
    first = np.where(cells == 1, plain.value, largest)
    units = Contributors(count=cells, largest=first[:, None], total=plain.value)
    return Table(value=plain.value, relations=plain.relations, labels=plain.labels, units=units)


# The 7 and the 11 belong to one firm each: either has the other, as 18 is published.
ALONE = behind([[7, 11], [10, 60]], [[1, 1, 2], [5, 5, 10], [6, 6, 12]])
# Five behind every cell, nobody with more than 1 of it.
MANY = behind([[7, 11], [10, 60]], [[5, 5, 10], [5, 5, 10], [10, 10, 20]], largest=1.0)
INNER = ALONE.inner
WIDE = Need(unsafe=INNER, width=5.0)


def test_close_insider_is_reported_with_remedy():
    (found,) = insider_verdicts(ALONE, WIDE, INNER)
    assert (found.status, found.reason) == (Clearance.REVIEW, "open_to_insiders")
    # Each firm has three cells of the square, and with them the fourth.
    assert found.numbers == {"insiders": found.numbers["insiders"], "open": 4, "largest": 1}
    assert "[row=1, column=1], [row=1, column=2], [row=2, column=1] and 1 more" in found.text
    assert found.remedy


def test_no_close_insider_needs_no_remedy():
    (found,) = insider_verdicts(MANY, WIDE, INNER)
    assert (found.status, found.reason, found.remedy) == (Clearance.PASS, "insiders_kept_out", "")
    assert found.numbers["open"] == 0


@pytest.mark.parametrize("withheld", [np.zeros(9, dtype=bool), np.ones(9, dtype=bool)], ids=["none", "all"])
def test_fully_published_or_suppressed_table_has_no_insiders(withheld):
    assert insider_verdicts(ALONE, WIDE, withheld) == ()


@pytest.mark.parametrize(
    ("alone", "others", "tried"),
    [
        pytest.param(400, 600, (1000, True), id="a thousand are tried"),
        pytest.param(400, 601, (400, False), id="of more those who are alone"),
        pytest.param(1000, 10, (1000, False), id="a thousand of them"),
        pytest.param(1001, 0, (None, False), id="of more than that nobody"),
    ],
)
def test_insider_check_tries_at_most_1000_contributors(alone, others, tried):
    count = np.r_[np.ones(alone, dtype=int), np.full(others, 5)]
    table = behind(np.full(alone + others, 9.0), [*count, count.sum()], largest=2.0)
    attack, largest = attack_on(table, table.inner)
    assert (attack and len(attack.contributions), largest) == tried


class Stubborn:
    """A method that must not be asked, or that cannot help."""

    name = "stubborn"

    def protect(self, *_given, **_more):
        raise NeedError("out_of_reach", "no way", fix="none")


def test_table_without_suppression_stays_unchanged():
    nothing = Protection.withhold(ALONE, np.zeros(9, dtype=bool))
    assert not kept_out(ALONE, Need(unsafe=np.zeros(9, dtype=bool)), nothing, Stubborn()).any()


def test_irreparable_pattern_is_kept():
    """Totals must be published: the firms behind the 7 and the 11 find each other."""
    table = replace(ALONE, fixed=~INNER)
    withheld = Protection.withhold(table, INNER, WIDE)
    assert kept_out(table, WIDE, withheld, Stubborn()).tolist() == INNER.tolist()


def test_too_many_insiders_add_no_suppression():
    table = behind(np.full(1001, 9.0), [*np.ones(1001, dtype=int), 1001])
    need = Need(unsafe=table.inner, width=5.0)
    withheld = Protection.withhold(table, table.inner, need)
    assert kept_out(table, need, withheld, Stubborn()).tolist() == table.inner.tolist()
    (found,) = insider_verdicts(table, need, table.inner)
    assert (found.status, found.reason) == (Clearance.REVIEW, "insiders_not_tried")
