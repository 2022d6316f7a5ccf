"""Need, Protection, Release, Bounds, Finding: small values that check themselves."""

from __future__ import annotations

import numpy as np
import pytest

from hitoku.errors import NeedError, ProtectionError, TableError
from hitoku.model import Bounds, Finding, Need, Protection, Release, Severity, Table
from hitoku.testing import covers

TABLE = Table.from_array([[20, 15], [72, 1]], fixed=[False] * 8 + [True])


def test_merged_needs_keep_every_rule_and_the_largest_level():
    one = Need(
        unsafe=[True, False, False], lower=[2, 0, 0], upper=[1, 0, 0], rules={"a": [True, False, False]}
    )
    two = Need(unsafe=[True, True, False], upper=[3, 4, 0], width=[0, 9, 0], rules={"b": [True, True, False]})
    both = Need.merge([one, two])
    assert both.unsafe.tolist() == [True, True, False]
    assert both.lower.tolist() == [2, 0, 0]
    assert both.upper.tolist() == [3, 4, 0]
    assert both.width.tolist() == [0, 9, 0]
    assert both.why(0) == ("a", "b")
    assert both.why(2) == ()


@pytest.mark.parametrize(
    ("parts", "what"),
    [
        ({"lower": [-1, 0]}, "negative or not finite"),
        ({"upper": [np.inf, 0]}, "negative or not finite"),
        ({"width": [0, 3]}, "a safe cell has a required width"),
        ({"rules": {"a": [False, True]}}, "not marked unsafe"),
    ],
)
def test_need_validates_its_arguments(parts, what):
    with pytest.raises(NeedError, match=what):
        Need(unsafe=[True, False], **parts)


def test_scalar_level_applies_to_unsafe_cells_only():
    assert Need(unsafe=[True, False], width=9).width.tolist() == [9, 0]


def test_mask_of_wrong_shape_raises():
    with pytest.raises(TableError, match="shape"):
        Protection.withhold(TABLE, [True])


def test_fixed_cell_cannot_be_suppressed():
    with pytest.raises(ProtectionError, match="must stay published") as caught:
        Protection.withhold(TABLE, [True] * 9)
    assert "row=Total, column=Total" in caught.value.where


def test_secondary_cells_exclude_unsafe_cells():
    withheld = np.array([1, 1, 0, 1, 1, 0, 0, 0, 0], dtype=bool)
    need = Need(unsafe=TABLE.value == 1)
    protection = Protection.withhold(TABLE, withheld, need)
    assert np.flatnonzero(protection.secondary).tolist() == [0, 1, 3]
    with pytest.raises(ProtectionError):
        Protection(withheld=~withheld, value=TABLE.value, secondary=withheld)


def test_release_contains_only_published_values():
    release = Release.of(TABLE, Protection.withhold(TABLE, TABLE.value == 1))
    assert np.isnan(release.published[4])
    assert release.withheld.sum() == 1
    assert np.array_equal(release.published[~release.withheld], TABLE.value[~release.withheld])
    held = set(release.__dataclass_fields__)
    known = {
        "published",
        "relations",
        "labels",
        "dimensions",
        "lower",
        "upper",
        "integer",
        "measure",
        "backend",
    }
    assert held == known | {"backend"}


def test_protection_of_another_table_raises():
    other = Table.from_array([1, 2])
    with pytest.raises(ProtectionError, match="protection has 3 cells, table has 9"):
        Release.of(TABLE, Protection.withhold(other, [True, True, False]))


@pytest.mark.parametrize(("lower", "upper"), [([2.0], [1.0]), ([np.nan], [1.0])])
def test_invalid_bounds_raise(lower, upper):
    with pytest.raises(TableError):
        Bounds(lower=lower, upper=upper)


@pytest.mark.parametrize(
    ("low", "high", "safe"),
    [
        pytest.param(18, 23, True, id="wide enough"),
        pytest.param(19, 23, False, id="too high a lower bound"),
        pytest.param(18, 22, False, id="too low an upper bound"),
    ],
)
def test_covers_requires_every_level(low, high, safe):
    need = Need(unsafe=TABLE.value == 20, lower=2, upper=3)
    lower, upper = TABLE.value.copy(), TABLE.value.copy()
    lower[0], upper[0] = low, high
    assert covers(Bounds(lower=lower, upper=upper), TABLE, need) is safe
    assert not covers(Bounds(lower=lower, upper=upper, unknown=True), TABLE, need)


def test_finding_text_is_a_sentence():
    finding = Finding(severity=Severity.REVIEW, place="region=R03", reason="one holding")
    assert str(finding) == "review: region=R03: one holding"
