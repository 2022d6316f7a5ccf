"""The method as a whole: what it withholds, what it promises, what its options add."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitoku.attacks import Group, Interval, derivable_cells, null_dimension
from hitoku.errors import NeedError, ParameterError
from hitoku.evidence import audit
from hitoku.evidence.verify import verify
from hitoku.methods.gauss import Gauss, by_coalition, eliminate, incidence_of, walk
from hitoku.model import Need, Release, Table
from hitoku.rules import DirectDisclosure, MinFrequency, assess
from hitoku.testing import covers

# Lupp and Langsrud, Table 1, and the cells of its Table 2: k = 3, an unknown injury says nothing.
INJURIES = ("None", "Light", "Serious", "Unknown")
TABLE_1 = Table.from_array(
    [[0, 0, 17, 0], [0, 3, 8, 0], [1, 0, 12, 0], [0, 1, 0, 14], [3, 2, 2, 0]],
    names=("group", "injury"),
    codes=(("Oslo driver", "Oslo passenger", "Bergen driver", "Bergen passenger", "Trondheim"), INJURIES),
)
TABLE_2 = ["x.x..", ".xx..", "x.x..", ".....", "....."]
NO_COLUMN_TOTALS = np.arange(30) >= 25


def drawn(withheld, width):
    return ["".join("x" if cell else "." for cell in row) for row in np.reshape(withheld, (-1, width))]


def direct(k, unknown=None, **options):
    rule = DirectDisclosure(k, sensitive="injury", unknown=unknown or {})
    attack = Group(k, sensitive="injury", unknown=unknown)
    method = Gauss(order=by_coalition(TABLE_1, k), zeros="withhold", attack=attack, **options)
    return rule, attack, method


def test_pattern_matches_table_2_of_the_paper():
    rule, _, method = direct(3, {"injury": "Unknown"}, hidden=NO_COLUMN_TOTALS)
    need = Need(unsafe=rule.assess(TABLE_1).unsafe & ~NO_COLUMN_TOTALS)
    assert drawn(method.protect(TABLE_1, need).withheld, 5)[:5] == TABLE_2


@pytest.mark.parametrize(("k", "same"), [(3, True), (1, False)])
def test_named_order_matches_table_2_of_the_paper(k, same):
    """By the rule's own coalition of three, or one that is given; with another k it is another table."""
    rule, _, _ = direct(3, {"injury": "Unknown"})
    found = rule.assess(TABLE_1)
    need = Need(unsafe=found.unsafe & ~NO_COLUMN_TOTALS)
    method = Gauss(order="coalition", k=k, zeros="withhold", hidden=NO_COLUMN_TOTALS)
    assert (drawn(method.protect(TABLE_1, need).withheld, 5)[:5] == TABLE_2) is same
    if same:
        printed = found.attributions.group < 25
        named = replace(need, attributions=found.attributions.take(printed))
        by_rule = replace(method, k=None)
        assert drawn(by_rule.protect(TABLE_1, named).withheld, 5)[:5] == TABLE_2


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_column_totals_reveal_no_group_to_coalitions(k):
    """The R original fails here: for k = 1 an attacker who knows that counts are not negative gets a cell."""
    rule, attack, method = direct(k)
    protection = method.protect(TABLE_1, Need(unsafe=rule.assess(TABLE_1).unsafe))
    assert attack.find(Release.of(TABLE_1, protection)) == ()


def test_elimination_alone_is_not_enough_for_direct_disclosure():
    rule, attack, method = direct(1)
    need = Need(unsafe=rule.assess(TABLE_1).unsafe)
    alone = Gauss(order=by_coalition(TABLE_1, 1), zeros="withhold")
    assert attack.find(Release.of(TABLE_1, alone.protect(TABLE_1, need)))
    assert not attack.find(Release.of(TABLE_1, method.protect(TABLE_1, need)))


COUNTS = st.lists(st.integers(0, 30), min_size=16, max_size=16)


def counted(counts, shape=(4, 4)):
    return Table.from_array(np.array(counts).reshape(shape))


@given(counts=COUNTS, least=st.integers(2, 8))
@settings(max_examples=39, deadline=None)
def test_no_unsafe_cell_is_exposed_and_every_secondary_one_is_needed(counts, least):
    table = counted(counts, (2, 4, 2))
    need = assess(table, [MinFrequency(least)])
    protection = Gauss().protect(table, need)
    assert not np.any(derivable_cells(Release.of(table, protection)) & need.unsafe)
    for cell in np.flatnonzero(protection.secondary):
        fewer = protection.withheld.copy()
        fewer[cell] = False
        release = Release(
            published=np.where(fewer, np.nan, table.value), relations=table.relations, labels=table.labels
        )
        assert np.any(derivable_cells(release) & need.unsafe)


@given(counts=COUNTS, moves=st.integers(1, 6))
@settings(max_examples=26, deadline=None)
def test_required_null_dimension_is_left(counts, moves):
    table = counted(counts)
    need = assess(table, [MinFrequency(6)])
    plain = null_dimension(Release.of(table, Gauss().protect(table, need)))
    asked = null_dimension(Release.of(table, Gauss(moves=moves).protect(table, need)))
    assert asked == max(plain, moves)


@given(counts=COUNTS)
@settings(max_examples=16, deadline=None)
def test_width_continues_until_intervals_suffice(counts):
    table = counted(counts)
    need = assess(table, [MinFrequency(4)], width=7)
    try:
        protection = Gauss(width=True).protect(table, need)
    except NeedError:
        everything = np.full(table.n_cells, np.nan)
        release = Release(published=everything, relations=table.relations, labels=table.labels)
        assert not covers(Interval().bounds(release), table, need)
        return
    assert covers(Interval().bounds(Release.of(table, protection)), table, need)


def test_width_parameter_widens_intervals():
    # 1 and 2 protect each other exactly, yet to within three; 12 people more make room.
    table = Table.from_array([[1, 2, 12], [2, 1, 11], [13, 12, 10]])
    need = Need(unsafe=(table.value <= 2))
    narrow, wide = (Gauss(width=width).protect(table, need) for width in (None, 5))
    assert not narrow.secondary.any()
    bounds = Interval().bounds(Release.of(table, wide))
    assert np.all(bounds.width[need.unsafe] >= 5)


def test_order_decides_which_cells_are_withheld():
    table = Table.from_array([[20, 15, 9], [72, 1, 30], [16, 14, 13]])
    need = Need(unsafe=table.value == 1)
    # Rows and columns of the unsafe cell, from the cells that may go first: the last ones in the order.
    dear = [0, 1, 3]
    order = [*dear, *(cell for cell in range(16) if cell not in dear)]
    own = Gauss(order=order).protect(table, need).withheld
    assert not own[dear].any()
    assert Gauss(order="value").protect(table, need).withheld.sum() >= 4


def test_zeros_option_decides_treatment_of_zeros():
    table = Table.from_array([[1, 0, 40], [0, 30, 50], [60, 70, 80]])
    need = Need(unsafe=table.value == 1)
    zeros = table.value == 0
    assert not Gauss().protect(table, need).withheld[zeros].any()
    assert Gauss(zeros="withhold").protect(table, need).withheld[zeros].all()
    assert not Gauss(zeros="structural").protect(table, need).withheld[zeros].any()


def test_cell_protected_only_by_structural_zeros_raises():
    table = Table.from_array([[1, 0], [0, 30]])
    need = Need(unsafe=table.value == 1)
    # Each row and column total is the one cell that is not zero; only the sum of all may stay.
    assert drawn(Gauss(zeros="structural").protect(table, need).withheld, 3) == ["x.x", ".xx", "xx."]
    table = Table.from_array([[7, 0, 4], [0, 30, 5]])
    with pytest.raises(NeedError, match="follow from cells that must be published") as caught:
        Gauss(zeros="structural", keep="margins").protect(table, Need(unsafe=np.arange(12) == 5))
    assert "row=2, column=2" in caught.value.where


def test_kept_fixed_and_forced_cells_stay_published():
    table = Table.from_array([[20, 15], [72, 1]])
    need = Need(unsafe=table.value == 1)
    keep = table.value == 15
    with pytest.raises(NeedError):
        Gauss(keep=keep | ~table.inner).protect(table, need)
    assert not Gauss(keep=keep).protect(table, need).withheld[keep].any()
    forced = Gauss(forced=keep | ~table.inner).protect(table, need)
    assert drawn(forced.withheld, 3) == ["...", ".x.", "..."], "nothing can be done for the unsafe cell"
    with pytest.raises(NeedError, match="may not be withheld"):
        Gauss(keep=table.value == 1).protect(table, need)


def test_hidden_cells_count_as_unknown():
    table = Table.from_array([[20, 15], [72, 1]])
    need = Need(unsafe=table.value == 1)
    column, everything = table.value == 16, table.value == 108
    # The total of the column follows from the other totals: not to print it is no help at all.
    assert drawn(Gauss(hidden=column).protect(table, need).withheld, 3) == ["xx.", "xx.", ".x."]
    # Without the sum of everything it does not: the row total, last in this order, is enough.
    fewer = Gauss(hidden=column | everything, order=[6, 0, 1, 3, 2, 5]).protect(table, need).withheld
    assert drawn(fewer, 3) == ["...", ".xx", ".xx"]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"order": "big"}, "order cannot be 'big'"),
        ({"zeros": "drop"}, "zeros cannot be 'drop'"),
        ({"singletons": "any_sum"}, "no way to handle singletons"),
        ({"moves": -1}, "moves"),
        ({"width": -2}, "width"),
        ({"order": "coalition"}, "respondents"),
        ({"order": "frequency"}, "respondents"),
        ({"forced": [99]}, "forced"),
    ],
)
def test_invalid_options_raise(options, what):
    table = Table.from_array([[2.5, 1.5], [7.25, 1.0]])
    with pytest.raises(ParameterError, match=what):
        Gauss(**options).protect(table, Need(unsafe=table.value == 1))


def test_repr_omits_table_values():
    assert repr(Gauss(order=[3, 1])) == "Gauss(order='own', singletons='none', zeros='publish')"


def test_relations_and_incidence_give_the_same_secondary_cells():
    rng = np.random.default_rng(3)
    table = Table.from_array(rng.poisson(6.0, size=(9, 8, 7)))
    need = MinFrequency(3).assess(table)
    problem = Gauss()._problem(table, need)
    order = problem.order[~need.unsafe[problem.order]]
    by_relations = eliminate(table.relations, order, need.unsafe, np.zeros(table.n_cells, dtype=bool))
    columns, inner = incidence_of(table)
    unsafe = [columns[cell] for cell in np.flatnonzero(need.unsafe)]
    by_incidence = walk(columns, order.tolist(), unsafe, n_rows=len(inner))
    assert np.flatnonzero(by_relations.secondary).tolist() == sorted(by_incidence.secondary)
    assert by_relations.moves == by_incidence.moves


def test_gauss_pattern_has_audit_and_certificate(tmp_path):
    table = Table.from_array(np.random.default_rng(7).poisson(12.0, size=(8, 9)))
    need = assess(table, [MinFrequency(8)], width=4)
    release = Release.of(table, Gauss(width=True).protect(table, need))
    found = audit(table, need, release)
    assert found.safe
    found.certificate.write(tmp_path / "certificate.json")
    assert verify(tmp_path / "certificate.json").ok


@given(counts=st.lists(st.integers(0, 4), min_size=9, max_size=9), k=st.integers(0, 2))
@settings(max_examples=27, deadline=None)
def test_coalition_of_k_finds_no_direct_disclosure(counts, k):
    table = Table.from_array(np.array(counts).reshape(3, 3), names=("group", "value"))
    attack = Group(k, sensitive="value")
    need = Need(unsafe=DirectDisclosure(k, sensitive="value").assess(table).unsafe)
    method = Gauss(order=by_coalition(table, k), zeros="withhold", attack=attack)
    assert attack.find(Release.of(table, method.protect(table, need))) == ()
