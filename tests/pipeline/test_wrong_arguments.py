"""Arguments that changed places, classes for objects, numbers for names: answered in words, not by numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hitoku as ht
from hitoku.errors import HitokuError, ParameterError, TableError

RECORDS = pd.DataFrame({"town": list("AAABBB"), "ill": list("ynnyyn"), "days": [3, 1, 4, 1, 5, 9]})
TABLE = ht.Table.from_array([[20, 15], [72, 1]])
NEED = ht.Need(unsafe=TABLE.value == 1, lower=1.0, upper=1.0)
RELEASE = ht.Release.of(TABLE, ht.Protection.withhold(TABLE, TABLE.inner))


def _protect(**given: Any) -> object:
    return ht.protect(RECORDS, by=["town", "ill"], rules="min_frequency:n=2", **given)


@pytest.mark.parametrize(
    ("call", "where"),
    [
        (lambda: _protect(method=ht.Greedy), "method"),
        (lambda: _protect(method=3), "method"),
        (lambda: ht.tabulate(RECORDS, by=["town"], value=RECORDS["days"]), "value"),
        (lambda: ht.tabulate(RECORDS, by=["town"], weight=RECORDS["days"].to_numpy()), "weight"),
        (lambda: ht.tabulate(RECORDS, by=[RECORDS["town"]]), "by"),
        (lambda: ht.tabulate(RECORDS, by=3), "by"),  # type: ignore[arg-type]
        (lambda: ht.Greedy().protect(NEED, TABLE), "table"),  # type: ignore[arg-type]
        (lambda: ht.Optimal().protect(TABLE, RELEASE), "need"),  # type: ignore[arg-type]
        (lambda: ht.audit(NEED, TABLE, RELEASE), "table"),  # type: ignore[arg-type]
        (lambda: ht.audit(TABLE, RELEASE, NEED), "need"),  # type: ignore[arg-type]
        (lambda: ht.audit(TABLE, NEED, TABLE), "release"),  # type: ignore[arg-type]
        (lambda: ht.Interval().bounds(TABLE), "release"),  # type: ignore[arg-type]
        (lambda: ht.Release.of(ht.Protection.withhold(TABLE, TABLE.inner), TABLE), "table"),  # type: ignore[arg-type]
        (lambda: ht.Release.of(TABLE, TABLE.inner), "protection"),  # type: ignore[arg-type]
        (lambda: ht.Auto(time_limit_s="60"), "time_limit_s"),  # type: ignore[arg-type]
        (lambda: ht.Auto(time_limit_s=True), "time_limit_s"),
        (lambda: ht.Adjust(time_limit_s="60"), "time_limit_s"),  # type: ignore[arg-type]
        (lambda: ht.Adjust(gap="1%"), "gap"),  # type: ignore[arg-type]
        (lambda: ht.Adjust(penalty=[1.0]), "penalty"),  # type: ignore[arg-type]
        (lambda: ht.Interval(time_limit_s="60"), "time_limit_s"),  # type: ignore[arg-type]
        (lambda: ht.Optimal(time_limit_s="60"), "time_limit_s"),  # type: ignore[arg-type]
        (lambda: ht.Optimal(work_limit=[9]), "work_limit"),  # type: ignore[arg-type]
        (lambda: ht.Optimal(gap="1%"), "gap"),  # type: ignore[arg-type]
        (lambda: ht.Circulation(rounds="two"), "rounds"),  # type: ignore[arg-type]
        (lambda: ht.Circulation(time_limit_s="60"), "time_limit_s"),  # type: ignore[arg-type]
        (lambda: ht.Randomised(strength="much"), "strength"),  # type: ignore[arg-type]
        (lambda: ht.FlaggedGroups(group="two"), "group"),  # type: ignore[arg-type]
        (lambda: ht.Interval(most_cells="all"), "most_cells"),  # type: ignore[arg-type]
        (lambda: ht.Matching(method=ht.Optimal(), rules=[ht.MinFrequency(3)], limit="2000"), "limit"),  # type: ignore[arg-type]
    ],
)
def test_invalid_argument_is_named(call: Callable[[], object], where: str) -> None:
    with pytest.raises(ParameterError) as refused:
        call()
    # Classes name themselves before the argument: "Optimal, gap".
    assert refused.value.where.rpartition(", ")[2] == where
    assert refused.value.fix


@pytest.mark.parametrize("limit", [60, 0.5, np.float64(60), np.int64(60), None])
def test_every_number_type_is_accepted_as_limit(limit: Any) -> None:
    for made in (ht.Auto(time_limit_s=limit), ht.Adjust(time_limit_s=limit), ht.Interval(time_limit_s=limit)):
        assert made.time_limit_s == limit


def test_names_may_be_array_elements() -> None:
    by = list(np.array(["town", "ill"]))
    assert ht.tabulate(RECORDS, by=by, value=np.str_("days")).value[-1] == 23


# Each of them is True to numpy as a whole or in part, so that everything would have been withheld, or kept.
@pytest.mark.parametrize("mask", ["by_hand.csv", ["c"] * 9, [np.nan] * 9, np.arange(9), [None] * 9, 2])
@pytest.mark.parametrize(
    "take",
    [
        lambda mask: ht.Protection.withhold(TABLE, mask),
        lambda mask: ht.Greedy(start=mask).protect(TABLE, NEED),
        lambda mask: ht.Greedy(keep=mask).protect(TABLE, NEED),
        lambda mask: ht.Need(unsafe=np.asarray(mask).reshape(-1), lower=1.0, upper=1.0),
    ],
)
def test_mask_must_be_boolean(take: Callable[[Any], object], mask: Any) -> None:
    with pytest.raises(HitokuError):
        take(mask)


@pytest.mark.parametrize("mask", [[0, 0, 0, 0, 1, 0, 0, 0, 0], [0.0] * 4 + [1.0] + [0.0] * 4])
def test_zeros_and_ones_are_a_mask(mask: list[float]) -> None:
    assert np.flatnonzero(ht.Protection.withhold(TABLE, mask).withheld).tolist() == [4]
    frame = pd.Series(mask).astype(bool).astype(object)
    assert np.flatnonzero(ht.Protection.withhold(TABLE, frame).withheld).tolist() == [4]


def test_text_instead_of_mask_is_named() -> None:
    with pytest.raises(TableError, match="start cannot be read as bool") as refused:
        ht.Circulation(start="by_hand.csv").protect(TABLE, NEED)
    assert refused.value.fix == "give True or False for every cell"
