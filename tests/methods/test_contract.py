"""What every registered method promises, including the one added tomorrow."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from tests.strategies import count_tables, dimension_tuples, magnitude_tables

import hitoku.methods
from hitoku.attacks import Interval, derivable_cells
from hitoku.errors import NeedError, ScopeError
from hitoku.methods import METHODS, Method, Promise, Traits, traits_of, with_known_rules
from hitoku.model import Need, Protection, Release, Table, add_up
from hitoku.rules import MinFrequency, PPercent, assess
from hitoku.testing import covers

# The first table found will do: nobody reads it.
UNSHRUNK = settings(phases=[Phase.generate], derandomize=True, database=None, max_examples=500)


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


def made(name):
    """Make a method as the pipeline hands it out: knowing how unsafe counts are found, if it asks."""
    return with_known_rules(METHODS[name](), [MinFrequency(4)], 5)


KINDS = {
    "two dimensions": (count_tables(max_side=4), small_counts),
    "three dimensions": (count_tables(max_side=2, dims=3), small_counts),
    "hierarchy": (count_tables(max_side=4, hierarchical=True), small_counts),
    "linked": (linked_tables(), small_counts),
    "magnitudes": (magnitude_tables(max_side=3), PPercent(p=10).assess),
    "magnitudes in a hierarchy": (magnitude_tables(max_side=3, hierarchical=True), PPercent(p=10).assess),
}


def adjusts(table: Table, need: Need, release: Release) -> bool:
    """Nothing is withheld, what is published adds up, and every unsafe cell left its interval."""
    moved = release.published - table.value
    rise = need.upper + np.maximum(need.width - need.lower - need.upper, 0) / 2
    fall = need.lower + np.maximum(need.width - need.lower - need.upper, 0) / 2
    far = ((moved >= rise - 1e-9) & (rise > 0)) | ((moved <= 1e-9 - fall) & (fall > 0))
    whole = np.allclose(release.relations @ release.published, 0, atol=1e-9 * np.abs(table.value).sum())
    return bool(not release.withheld.any() and whole and np.all(far[need.unsafe]))


def keeps_its_promise(method, table: Table, need: Need) -> bool:
    release = Release.of(table, method.protect(table, need))
    if traits_of(method).promise is Promise.ADJUSTED:
        return adjusts(table, need, release)
    if np.any(derivable_cells(release) & need.unsafe):
        return False
    if traits_of(method).promise is Promise.EXACT_ONLY:
        return bool(np.all(release.withheld[need.unsafe]))
    bounds = Interval().bounds(release)
    return covers(bounds, table, need) and bool(np.all(bounds.width[need.unsafe] > 0))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", METHODS)
@settings(deadline=None, max_examples=12)
@given(data=st.data())
def test_method_meets_its_contract(name, kind, data):
    tables, assess_it = KINDS[kind]
    table = data.draw(tables)
    need = assess_it(table)
    try:
        assert keeps_its_promise(made(name), table, need)
    except ScopeError:
        # Only a method that says what it treats may refuse a table; see below for those it may not refuse.
        assert traits_of(METHODS[name]()).scope
    except NeedError as refused:
        if traits_of(METHODS[name]()).may_refuse and refused.code == "no_witnesses_found":
            return
        everything = np.ones(table.n_cells, dtype=bool)
        bounds = Interval().bounds(Release.of(table, Protection.withhold(table, everything)))
        assert not covers(bounds, table, need)


@pytest.mark.parametrize("name", [name for name in METHODS if traits_of(METHODS[name]()).scope])
@settings(deadline=None, max_examples=10)
@given(data=st.data())
def test_scoped_method_accepts_plain_count_tables(name, data):
    # Every total is at least nine, so that no total tells too much by itself.
    counts = data.draw(st.lists(st.sampled_from([3, 6, 9, 12]), min_size=12, max_size=12))
    table = Table.from_array(np.array(counts).reshape(3, 4))
    try:
        assert keeps_its_promise(made(name), table, small_counts(table))
    except NeedError:
        # Whether it publishes anything at all is for its own tests.
        assert traits_of(METHODS[name]()).may_refuse


class OnlyUnsafe:
    """Withholds the unsafe cells and nothing else."""

    def protect(self, table, need, progress=None):  # noqa: ARG002 - as the protocol has it
        return Protection.withhold(table, need.unsafe, need)


class Untouched:
    """Publishes everything as it is, and calls it adjusted."""

    promise = Promise.ADJUSTED

    def protect(self, table, need, progress=None):  # noqa: ARG002 - as the protocol has it
        return Protection.withhold(table, np.zeros(table.n_cells, dtype=bool), need)


@pytest.mark.parametrize("kind", KINDS)
def test_publishing_true_values_is_not_an_adjustment(kind):
    tables, assess_it = KINDS[kind]
    hard = find(
        tables, lambda table: not keeps_its_promise(Untouched(), table, assess_it(table)), settings=UNSHRUNK
    )
    assert assess_it(hard).unsafe.any()


@pytest.mark.parametrize("kind", KINDS)
def test_suppressing_only_unsafe_cells_fails_somewhere(kind):
    tables, assess_it = KINDS[kind]
    hard = find(
        tables, lambda table: not keeps_its_promise(OnlyUnsafe(), table, assess_it(table)), settings=UNSHRUNK
    )
    assert assess_it(hard).unsafe.any()


def test_every_method_in_the_folder_is_registered():
    found = set()
    for place in pkgutil.walk_packages(hitoku.methods.__path__, "hitoku.methods."):
        for _, thing in inspect.getmembers(importlib.import_module(place.name), inspect.isclass):
            if thing.__module__ == place.name and hasattr(thing, "protect"):
                found.add(thing)
    assert found - {Method} == set(METHODS.values())


@pytest.mark.parametrize("name", METHODS)
def test_traits_name_parameters_and_verbs_of_the_method(name):
    method = METHODS[name]()
    traits = traits_of(method)
    named = {*traits.prices, *traits.keeps, traits.start, traits.width} - {""}
    assert named <= {field.name for field in fields(method)}
    assert hasattr(method, "with_sums") is traits.decides_again
    assert not traits.informed or {"rules", "width"} <= {field.name for field in fields(method)}


def test_plugin_without_traits_has_defaults():
    assert traits_of(object()) == Traits()
