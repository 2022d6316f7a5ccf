"""Records for every engine, as hard as they get, and tables compared bit by bit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hitoku.errors import HitokuError
from hitoku.model import Hierarchy
from hitoku.tabulation import tabulate

REGION = Hierarchy.from_tree({"N": {"N1": ["N11", "N12"], "N2": None}, "S": ["S1", "S2", "S3"]})
COAST = Hierarchy.from_tree({"Coast": ["N11", "S1"], "Inland": ["N12", "N2", "S2", "S3"]})
HIERARCHIES = {"region": (REGION, COAST)}
BY = ["region", "activity", "year"]


def make_records(n, seed=1):
    """Half of the records belong to one holding, a third has none; keys are skewed, units may be missing."""
    random = np.random.default_rng(seed)
    holding = np.array([f"h{number}" for number in np.minimum(random.zipf(1.5, n), n)], dtype=object)
    holding[random.random(n) < 0.5] = "giant"
    holding[random.random(n) < 0.3] = None
    holding[random.random(n) < 0.01] = "  "
    unit = pd.array(random.integers(0, max(n // 3, 1), n), dtype="Int64")
    unit[random.random(n) < 0.1] = pd.NA
    value = random.lognormal(3, 2, n)
    return pd.DataFrame(
        {
            "region": random.choice(REGION.leaves, n),
            "activity": random.choice(["A", "B", "C", "D"], n, p=[0.9, 0.05, 0.04, 0.01]),
            "year": random.choice([2020, 2021], n),
            "u": unit,
            "h": holding,
            "cents": np.round(value, 2),
            "any": value * random.choice([1, 1, 1, -1], n),
            "whole": random.integers(0, 1000, n),
            "w": random.choice([0.7, 1, 1.5, 2.25], n),
            "odd": random.uniform(0.5, 3, n),
            "rate": random.choice([1e10, 0.5, -0.0, 0.0, 3.0], n),
        }
    )


def assert_same_bytes(one, other):
    """Every array of two tables."""
    assert [(d.name, d.codes) for d in one.dimensions] == [(d.name, d.codes) for d in other.dimensions]
    assert one.integer == other.integer
    assert set(one.measures) == set(other.measures)
    for name in one.measures:
        assert one.measures[name].tobytes() == other.measures[name].tobytes(), name
    for name in ("value", "frequency", "lower", "upper", "fixed"):
        arrays = [getattr(table, name) for table in (one, other)]
        assert (arrays[0] is None) == (arrays[1] is None), name
        if arrays[0] is not None:
            assert arrays[0].tobytes() == arrays[1].tobytes(), name
    for level in ("units", "holdings"):
        mine, theirs = getattr(one, level), getattr(other, level)
        assert (mine is None) == (theirs is None), level
        if mine is not None:
            for name in ("count", "largest", "total"):
                assert getattr(mine, name).tobytes() == getattr(theirs, name).tobytes(), (level, name)
            assert (mine.negative, mine.magnitude) == (theirs.negative, theirs.magnitude)


# Codes that are missing, unseen, empty, or numbers that are written in more than one way.
ODD_CODES = pd.DataFrame(
    {
        "g": ["a", None, "b", "zz", "", "a"],
        "rate": [1e10, 0.0, -0.0, 2.0, None, 2.0],
        "x": [1.5, 2.5, 3.25, 4.0, 5.0, 6.0],
    }
)
ODD_CODES_ASKED = {
    "by": ["g", "rate"],
    "value": "x",
    "missing": "code",
    "unseen": "code",
    "hierarchies": {"g": Hierarchy.flat(["a", "b", "c", "missing", "other"])},
    "structural_zeros": pd.DataFrame({"g": ["c"], "rate": ["Total"]}),
}
# Records that fit nothing, and what is refused about them.
UNFIT = pd.DataFrame(
    {
        "g": ["a", None, "c"],
        "year": [2020, 2021, 2021],
        "text": ["1,5", "2", "3"],
        "holes": [1.0, None, np.inf],
        "below": [1.0, -1.0, 2.0],
    }
)
REFUSED = [
    {"by": ["regoin"]},
    {"by": ["g"]},
    {"by": ["year"], "value": "text"},
    {"by": ["year"], "value": "holes"},
    {"by": ["year"], "weight": "below"},
    {"by": ["year"], "hierarchies": {"year": Hierarchy.flat(["2020"])}},
    {"by": ["year"], "where": {"year": ["1999"]}},
    {"by": ["year"], "where": {"year": ["2020"], "g": ["c"]}},
]


def assert_refused_alike(frames, options):
    """Every engine refuses the same request, with the same words."""
    told = []
    for data in frames:
        with pytest.raises(HitokuError) as caught:
            tabulate(data, **options)
        told.append((type(caught.value), str(caught.value)))
    assert len(told) > 1
    assert len(set(told)) == 1
