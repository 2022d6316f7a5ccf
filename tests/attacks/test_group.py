"""Which groups can be pinned to a value: the paper's figure, and every table that fits, listed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitoku.attacks import Group, Pinned
from hitoku.errors import ParameterError
from hitoku.model import Dimension, Hierarchy, Protection, Release, Table, add_up

INJURIES = ("None", "Light", "Serious", "Unknown")
# Lupp and Langsrud, Figure 1: car drivers in Oslo and Bergen; no totals over the two are printed.
FIGURE_1 = Table.from_array(
    [[0, 0, 17, 0], [1, 0, 12, 0]], names=("city", "injury"), codes=(("Oslo", "Bergen"), INJURIES)
)


def shown(table, *withheld, rows_only=False):
    mask = np.isin(np.arange(table.n_cells), withheld)
    if rows_only:
        mask[-table.shape[-1] :] = True
    return Release.of(table, Protection.withhold(table, mask))


def rows(release, attack):
    """Pinned rows of the paper's tables, by (row, code)."""
    names = [
        (release.describe(g.total), tuple(release.labels.codes_of(c)[1] for c in g.inside))
        for g in attack.find(release)
    ]
    return [
        (where.split(",")[0].removeprefix("city="), codes)
        for where, codes in names
        if "city=Total" not in where
    ]


@pytest.mark.parametrize(
    ("withheld", "k", "pinned"),
    [
        pytest.param((), 1, ["Oslo", "Bergen"], id="first table, for one who knows themselves"),
        pytest.param((), 0, ["Oslo"], id="first table, for an attacker who knows nobody"),
        pytest.param((2, 4, 5, 6), 1, ["Oslo", "Bergen"], id="second table must be refused"),
        pytest.param((2, 4), 0, ["Oslo"], id="a row of zeros but for one cell, its total withheld"),
        pytest.param((1, 2, 5, 7), 1, [], id="third table is accepted"),
    ],
)
def test_figure_1_is_reproduced(withheld, k, pinned):
    release = shown(FIGURE_1, *withheld, rows_only=True)
    assert rows(release, Group(k=k, sensitive="injury")) == [(city, ("Serious",)) for city in pinned]


def test_small_counts_do_not_prevent_group_disclosure():
    """Section 2.4: to withhold the 1 in Bergen and a zero beside it leaves the 12 and the 13."""
    release = shown(FIGURE_1, 5, 6, rows_only=True)
    assert ("Bergen", ("Serious",)) in rows(release, Group(k=1, sensitive="injury"))


ROW = Table.from_array(
    [[0, 1, 14, 0], [5, 6, 7, 8]], names=("city", "injury"), codes=(("Oslo", "Bergen"), INJURIES)
)


@pytest.mark.parametrize(
    ("attack", "pinned"),
    [
        pytest.param(Group(k=1), {("Serious",)}, id="all but one"),
        pytest.param(Group(k=0), set(), id="nobody knows anything"),
        pytest.param(Group(k=1, harmless={"injury": "Serious"}), set(), id="a value that may be learnt"),
        pytest.param(Group(k=1, unknown={"injury": "Serious"}), set(), id="a value that says nothing"),
        pytest.param(Group(k=1, unknown={"city": "Oslo"}), set(), id="nobody can be placed in the row"),
        pytest.param(
            Group(k=0, forbidden={"injury": [("Light", "Serious")]}),
            {("Light", "Serious")},
            id="a set of values",
        ),
        pytest.param(Group(k=0, forbidden={"injury": [("None", "Light")]}), set(), id="another set"),
    ],
)
def test_group_disclosure_depends_on_attack_parameters(attack, pinned):
    attack = Group(attack.k, "injury", attack.forbidden, attack.harmless, attack.unknown)
    found = attack.find(shown(ROW))
    assert {
        tuple(INJURIES[cell % 5] for cell in group.inside) for group in found if group.total == 4
    } == pinned


def test_hierarchy_compares_lowest_codes_by_default():
    tree = Hierarchy.from_tree({"hurt": ["light", "serious"], "well": None})
    dimensions = (Dimension.of("city", Hierarchy.flat("ab")), Dimension.of("injury", tree))
    value = add_up(np.array([[0, 9, 1], [7, 7, 7]]), dimensions)
    table = Table(value=value, dimensions=dimensions, frequency=value, integer=True)
    codes = dimensions[1].codes  # light, serious, well, hurt, Total
    found = Group(k=1, sensitive="injury").find(shown(table))
    assert [(g.total, g.inside) for g in found] == [(codes.index("hurt"), (codes.index("serious"),))]
    named = Group(k=1, sensitive="injury", forbidden={"injury": ["hurt"]}).find(shown(table))
    assert (codes.index("Total"), (codes.index("hurt"),)) in [(g.total, g.inside) for g in named]


def test_group_within_coalition_size_is_not_found():
    table = Table.from_array([[1, 0], [9, 9]], names=("city", "status"))
    hidden = shown(table, 0, 1, 3, 4)
    assert Group(k=1, sensitive="status").find(hidden) == ()
    assert Group(k=1, sensitive="status").find(shown(table)) == (Pinned(2, (0,), (1,)),)


def test_findings_name_codes_and_no_counts():
    (finding,) = Group(k=0, sensitive="injury").report(shown(FIGURE_1))
    assert finding.place == "city=Oslo, injury=Total: injury=Serious"
    assert "17" not in str(finding)


@pytest.mark.parametrize(
    "attack",
    [
        Group(sensitive="injry"),
        Group(unknown={"injury": "Unknwon"}),
        Group(sensitive="injury", forbidden={"injury": [("Light", "Serius")]}),
    ],
)
def test_misspelt_name_raises(attack):
    with pytest.raises(ParameterError, match="no ") as caught:
        attack.find(shown(FIGURE_1))
    assert "did you mean" in caught.value.fix


@pytest.mark.parametrize("k", [-1, 0.5])
def test_k_is_a_number_of_people(k):
    with pytest.raises(ParameterError):
        Group(k=k)


def fitting(release):
    """Every two-way table of counts that fits a release whose row totals are published."""
    shape = tuple(len(codes) for codes in release.labels.codes)
    printed = release.published.reshape(shape)
    dimensions = [Dimension.of(str(i), Hierarchy.flat(range(side - 1))) for i, side in enumerate(shape)]
    rows_that_fit = [
        [
            counts
            for counts in itertools.product(
                *(range(int(row[-1]) + 1) if np.isnan(cell) else (int(cell),) for cell in row[:-1])
            )
            if sum(counts) == row[-1]
        ]
        for row in printed[:-1]
    ]
    for counts in itertools.product(*rows_that_fit):
        cells = add_up(np.array(counts), dimensions)
        if np.all(np.isnan(release.published) | (cells == release.published)):
            yield cells


@given(data=st.data(), k=st.integers(0, 2))
@settings(max_examples=52, deadline=None)
def test_attack_matches_enumeration(data, k):
    side = data.draw(st.sampled_from([(2, 2), (2, 3), (3, 2)]))
    counts = data.draw(st.lists(st.integers(0, 3), min_size=side[0] * side[1], max_size=side[0] * side[1]))
    table = Table.from_array(np.array(counts).reshape(side), names=("group", "value"))
    # Row totals stay published, so that the list is finite.
    inner = np.flatnonzero(table.inner)
    withheld = data.draw(st.sets(st.sampled_from(inner.tolist())))
    columns = data.draw(st.booleans())
    hide = {*withheld, *(range(side[0] * (side[1] + 1), table.n_cells) if columns else ())}
    release = shown(table, *hide)
    n = side[1] + 1
    everything = list(fitting(release))
    expected = set()
    for row in range(side[0]):
        total = row * n + side[1]
        for cell in range(row * n, total):
            outside = max(cells[total] - cells[cell] for cells in everything)
            largest = max(cells[total] for cells in everything)
            # Some j <= k people can be sure of the rest: nobody else is outside, and there is a rest.
            if outside <= k and largest > outside:
                expected.add((total, cell))
    found = Group(k=k, sensitive="value").find(release)
    assert {(g.total, g.inside[0]) for g in found if g.total < side[0] * n} == expected
