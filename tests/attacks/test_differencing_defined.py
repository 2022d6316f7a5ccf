from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from hitoku.attacks.differencing import Defined, Definition, Nested, defined_differences
from hitoku.errors import DataError, ParameterError

ALL = {"a": ["0", "1", "2"], "b": ["x", "y"], "c": ["p", "q"]}


def counted(name, people, by, kept=None, withheld=()):
    """Count people by some variables under a filter, totals included."""
    kept = kept or {}
    inside = [one for one in people if all(one[v] in codes for v, codes in kept.items())]
    cells, sizes = [], []
    for cell in product(*([*ALL[v], None] for v in by)):
        n = sum(all(code in (None, one[v]) for v, code in zip(by, cell, strict=True)) for one in inside)
        if cell not in withheld and n:
            cells.append(list(cell))
            sizes.append(n)
    return Defined(name, Definition.ungrouped({v: ALL[v] for v in by}, [cells], kept), (tuple(sizes),))


def test_filter_difference_is_the_excluded_units():
    people = [{"a": "0", "b": "x", "c": "p"}] * 30 + [{"a": "0", "b": "x", "c": "q"}] * 2
    people += [{"a": "1", "b": "y", "c": "p"}] * 30
    (one,) = defined_differences(
        [counted("first", people, ["a"]), counted("second", people, ["a"], {"c": ["p"]})]
    )
    assert one.describe({0: "first", 1: "second"}) == "a=0, c=any other: 32 - 30 = 2, from first and second"


def test_complementary_filters_reveal_nothing():
    people = [{"a": a, "b": "x", "c": c} for a in "01" for c in "pq" for _ in range(20)]
    outputs = [counted("one", people, ["a"], {"c": ["p"]}), counted("two", people, ["a"], {"c": ["q"]})]
    assert defined_differences(outputs) == []


def test_nested_variables_exclude_impossible_combinations():
    # Places 0 and 1 lie in x, place 2 in y: without that, x and place 2 might meet.
    places = Defined("places", Definition.ungrouped({"a": ["0", "1", "2"]}, [[["0"], ["1"]]]), ((20, 20),))
    areas = Defined("areas", Definition.ungrouped({"b": ["x", "y"]}, [[["x"]]]), ((43,),))
    assert defined_differences([places, areas]) == []
    bigger = Definition.ungrouped({"a": ["0", "1", "2", "3"]}, [[["0"], ["1"]]])
    nested = [Nested("a", "b", {"0": "x", "1": "x", "2": "y", "3": "x"})]
    (one,) = defined_differences([Defined("places", bigger, ((20, 20),)), areas], nested=nested)
    assert one.describe({0: "places", 1: "areas"}).endswith(": 43 - 20 - 20 = 3, from places and areas")


def test_too_many_combinations_raise():
    codes = [str(n) for n in range(700)]
    wide = [
        Defined(name, Definition.ungrouped({name: codes}, [[[code] for code in codes]]), ((20,) * 700,))
        for name in ("u", "v")
    ]
    with pytest.raises(ParameterError, match="combinations"):
        defined_differences(wide)


def test_wrong_number_of_counts_raises():
    with pytest.raises(DataError, match="one count for each cell"):
        Defined("x", Definition.ungrouped({"a": ["0", "1"]}, [[["0"], ["1"]]]), ((20,),))


def upper_bounds(outputs, points):
    """Bound every combination from above by linear programming, over all of them and nothing left out."""
    rows, values = [], []
    for each in outputs:
        (cells,), (sizes,) = each.definition.parts, each.sizes
        for cell, size in zip(cells, sizes, strict=True):
            wanted = dict(zip(each.definition.variables, cell, strict=True))
            rows.append(
                [
                    all(code in (None, point[v]) for v, code in wanted.items())
                    and all(point[v] in codes for v, codes in each.definition.filter.items())
                    for point in points
                ]
            )
            values.append(size)
    matrix = np.array(rows, dtype=float)
    found = []
    for place in range(len(points)):
        cost = np.zeros(len(points))
        cost[place] = -1
        solved = linprog(cost, A_eq=matrix, b_eq=values)
        found.append(np.inf if solved.status == 3 else -solved.fun)
    return np.array(found), matrix, np.array(values)


@settings(deadline=None, max_examples=23)
@given(seed=st.integers(0, 2**32 - 1))
def test_findings_match_combinations_below_threshold(seed):
    random = np.random.default_rng(seed)
    people = [{v: str(random.choice(codes)) for v, codes in ALL.items()} for _ in range(60)]
    outputs = []
    for number in range(random.integers(2, 4)):
        by = sorted(random.choice(list(ALL), random.integers(1, 3), replace=False).tolist())
        left = [v for v in ALL if v not in by]
        kept = {left[0]: [ALL[left[0]][0]]} if left and random.random() < 0.6 else {}
        outputs.append(counted(str(number), people, by, kept))
    points = [dict(zip(ALL, codes, strict=True)) for codes in product(*ALL.values())]
    upper, matrix, values = upper_bounds(outputs, points)
    threshold = 4
    small = matrix[values < threshold].any(axis=0)
    exposed = (upper < threshold - 1e-6) & (upper > 1e-6) & ~small & matrix.any(axis=0)
    found = defined_differences(outputs, threshold=threshold)
    assert bool(found) == bool(exposed.any())
    for one in found:
        assert sum(float(term.times) * term.value for term in one.terms) == pytest.approx(one.most)
