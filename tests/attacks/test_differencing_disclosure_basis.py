"""Who can single a group out: definitions, evaluated on every combination of codes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from hitoku.attacks.differencing import (
    MISSING,
    Definition,
    DifferencingSearch,
    DisclosureBasis,
    Nested,
    Partition,
    classify_certificate,
)
from hitoku.errors import DataError

ONE, TWO = ("one", 0, 1), ("two", 0, 1)


def bands(*codes, name="age"):
    return Definition.ungrouped({name: codes}, [[[code] for code in codes]])


def filtered(kept):
    return Definition.ungrouped({"age": ["0-64", "65+"]}, [[["0-64"], ["65+"]]], {"sex": kept})


@pytest.mark.parametrize(
    ("one", "two", "certificate", "basis", "group"),
    [
        pytest.param(
            bands("0-18", "19+"),
            bands("0-20", "21+"),
            {TWO: 1, ONE: -1},
            DisclosureBasis.BY_DEFINITION,
            "age=19-20",
            id="bands that hold each other",
        ),
        pytest.param(
            bands("20-49"),
            bands("21-50"),
            {ONE: 1, TWO: -1},
            DisclosureBasis.IN_DATA,
            "",
            id="shifted bands: only who knows that nobody is 50",
        ),
        pytest.param(
            bands("0-64", "65+"),
            filtered(["F"]),
            {ONE: 1, TWO: -1},
            DisclosureBasis.BY_DEFINITION,
            "age=0-64, sex=any other",
            id="without a subgroup",
        ),
        pytest.param(
            bands("0-64", "65+"),
            Definition.ungrouped({"age": ["0-64", "65+", MISSING]}, [[["0-64"], [MISSING]]]),
            {("two", 0, 2): 1},
            DisclosureBasis.MISSING_VALUES,
            "age=missing",
            id="missing values only",
        ),
        pytest.param(
            bands("0-18", "19+", name="age group"),
            bands("0-20", "21+", name="band"),
            {TWO: 1, ONE: -1},
            DisclosureBasis.NOT_CLASSIFIED,
            "",
            id="ranges under two names may be of one variable",
        ),
        pytest.param(
            bands("none", "degree", name="schooling"),
            bands("0-17", "18+"),
            {ONE: 1, TWO: -1},
            DisclosureBasis.IN_DATA,
            "",
            id="only who knows that nobody under 18 has a degree",
        ),
        pytest.param(
            bands("0-18", "19+"),
            bands("0-18", "19+"),
            {ONE: 1, TWO: -1},
            DisclosureBasis.BY_DEFINITION,
            "age=0-18, in one delivery of the data only",
            id="the same group, of records that are not the same",
        ),
        pytest.param(
            bands("0-64"), None, {ONE: 1, TWO: -1}, DisclosureBasis.NOT_CLASSIFIED, "", id="no definition"
        ),
    ],
)
def test_disclosure_basis_is_classified(one, two, certificate, basis, group):
    found = classify_certificate(certificate, {"one": one, "two": two})
    assert (found.basis, found.group) == (basis, group)


def test_declared_nesting_excludes_impossible_combinations():
    # A region less one of its municipalities: elsewhere there is no municipality of that name.
    region = bands("R1", "R2", name="region")
    towns = {"T1": "R1", "T2": "R1", "T3": "R2"}
    town = bands(*towns, name="town")
    certificate = {("region", 0, 1): 1, ("town", 0, 1): -1}
    definitions = {"region": region, "town": town}
    assert classify_certificate(certificate, definitions).basis is DisclosureBasis.IN_DATA
    found = classify_certificate(certificate, definitions, [Nested("town", "region", towns)])
    assert (found.basis, found.group) == (DisclosureBasis.BY_DEFINITION, "region=R1, town=T2")


def test_indistinguishable_codes_count_as_one():
    # Uncut, 3,000 x 3,000 combinations would be too many to look at.
    codes = {str(n): "low" if n < 10 else "high" for n in range(3000)}
    definition = Definition.of({"a": codes, "b": codes}, [[["low", None], ["low", "low"]]])
    found = classify_certificate({("x", 0, 1): 1, ("x", 0, 2): -1}, {"x": definition})
    assert (found.basis, found.group) == (DisclosureBasis.BY_DEFINITION, "a=0-9, b=10-2999")


def test_too_many_combinations_are_not_graded():
    wide = {str(n): str(n) for n in range(3000)}
    definition = Definition.of({"a": wide, "b": wide}, [[["1", "1"]]])
    assert classify_certificate({("x", 0, 1): 1}, {"x": definition}).basis is DisclosureBasis.NOT_CLASSIFIED


@pytest.mark.parametrize("seed", range(10))
def test_group_by_definition_matches_the_data(seed):
    """The words name exactly the units: read back as bands, they give the group that was found."""
    random = np.random.default_rng(seed)
    age = random.integers(0, 30, 300)
    ledger, definitions, n_found = DifferencingSearch(300, threshold=40), {}, 0
    for name in "ab":
        cuts = np.sort(random.choice(np.arange(1, 30), 3, replace=False))
        ends = [0, *cuts.tolist(), 30]
        codes = [f"{first}-{last - 1}" for first, last in pairwise(ends)]
        definitions[name] = bands(*codes)
        part = [Partition.published(name, np.digitize(age, cuts) + 1)]
        for group in ledger.check(part):
            found = classify_certificate(group.certificate, definitions)
            n_found += 1
            assert found.basis is DisclosureBasis.BY_DEFINITION
            inside = np.zeros(300, dtype=bool)
            for run in found.group.removeprefix("age=").split(" or "):
                first, _, last = run.partition("-")
                inside |= (age >= int(first)) & (age <= int(last or first))
            assert np.flatnonzero(inside).tolist() == sorted(group.units.tolist())
        ledger.release(part)
    assert n_found


@pytest.mark.parametrize(
    "plain",
    [
        pytest.param({"variables": {"a": {"1": "1"}}, "parts": [[["2"]]], "filter": {}}, id="unknown group"),
        pytest.param({"variables": {"a": {"1": "1"}}, "parts": [[["1", "1"]]], "filter": {}}, id="too many"),
        pytest.param({"variables": {"a": {"1": "1"}}, "parts": [], "filter": {"a": ["9"]}}, id="filter"),
        pytest.param({"variables": {}}, id="a part is missing"),
    ],
)
def test_unreadable_definition_raises(plain):
    with pytest.raises(DataError):
        Definition.from_dict(plain)
