"""What every registered method promises, including the one added tomorrow."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st
from tests.strategies import count_tables, dimension_tuples, magnitude_tables

import hitoku.methods
from hitoku.attacks.exposure import exposed
from hitoku.attacks.interval import Interval
from hitoku.errors import NeedError
from hitoku.methods import METHODS
from hitoku.methods.method import Method, Promise
from hitoku.model.need import Need
from hitoku.model.protection import Protection
from hitoku.model.relations import add_up
from hitoku.model.release import Release
from hitoku.model.table import Table
from hitoku.rules import MinFrequency, PPercent, assess
from hitoku.testing import covers


@st.composite
def linked_tables(draw):
    """Draw two tables of counts over a common variable."""
    first = draw(dimension_tuples(dims=3, max_side=2))
    shape = tuple(len(d.leaves) for d in first)
    size = int(np.prod(shape))
    counts = np.array(draw(st.lists(st.integers(0, 12), min_size=size, max_size=size))).reshape(shape)
    tables = [
        Table(value=add_up(counts.sum(axis=axis), dims), dimensions=dims, integer=True, measure="count")
        for axis, dims in ((2, first[:2]), (1, (first[0], first[2])))
    ]
    table = Table.link(tables)
    return Table(value=table.value, relations=table.relations, labels=table.labels, frequency=table.value)


def small_counts(table):
    return assess(table, [MinFrequency(4)], width=5)


KINDS = {
    "two dimensions": (count_tables(max_side=4), small_counts),
    "three dimensions": (count_tables(max_side=2, dims=3), small_counts),
    "hierarchy": (count_tables(max_side=4, hierarchical=True), small_counts),
    "linked": (linked_tables(), small_counts),
    "magnitudes": (magnitude_tables(max_side=3), PPercent(p=10).assess),
    "magnitudes in a hierarchy": (magnitude_tables(max_side=3, hierarchical=True), PPercent(p=10).assess),
}


def keeps_its_promise(method, table: Table, need: Need) -> bool:
    release = Release.of(table, method.protect(table, need))
    if np.any(exposed(release) & need.unsafe):
        return False
    if getattr(method, "promise", Promise.INTERVALS) is Promise.EXACT_ONLY:
        return bool(np.all(release.withheld[need.unsafe]))
    bounds = Interval().bounds(release)
    return covers(bounds, table, need) and bool(np.all(bounds.width[need.unsafe] > 0))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", METHODS)
@settings(deadline=None, max_examples=20)
@given(data=st.data())
def test_every_method_keeps_its_promise(name, kind, data):
    tables, assess_it = KINDS[kind]
    table = data.draw(tables)
    need = assess_it(table)
    try:
        assert keeps_its_promise(METHODS[name](), table, need)
    except NeedError:
        everything = np.ones(table.n_cells, dtype=bool)
        bounds = Interval().bounds(Release.of(table, Protection.withhold(table, everything)))
        assert not covers(bounds, table, need)


class OnlyUnsafe:
    """Withholds the unsafe cells and nothing else."""

    def protect(self, table, need, progress=None):  # noqa: ARG002 - as the protocol has it
        return Protection.withhold(table, need.unsafe, need)


@pytest.mark.parametrize("kind", KINDS)
def test_the_tables_are_too_hard_for_withholding_unsafe_cells_alone(kind):
    tables, assess_it = KINDS[kind]
    hard = find(tables, lambda table: not keeps_its_promise(OnlyUnsafe(), table, assess_it(table)))
    assert assess_it(hard).unsafe.any()


def test_every_method_in_the_folder_is_registered():
    found = set()
    for place in pkgutil.walk_packages(hitoku.methods.__path__, "hitoku.methods."):
        for _, thing in inspect.getmembers(importlib.import_module(place.name), inspect.isclass):
            if thing.__module__ == place.name and hasattr(thing, "protect"):
                found.add(thing)
    assert found - {Method} == set(METHODS.values())
