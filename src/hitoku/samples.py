"""Synthetic register of enterprises for examples and tests.

Every place, industry and firm is invented. The numbers resemble a business register: towns and industries of
very different sizes, heavy-tailed turnover, a few industries with one dominant firm, empty combinations, and
holdings whose enterprises are spread over many cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from hitoku.errors import ParameterError
from hitoku.model import TOTAL, Floats, Hierarchy, Integers

if TYPE_CHECKING:
    import pandas as pd

REGIONS = {
    "Upper Fennmark": {
        "Gull Coast": ["Gullhaven", "Saltwick", "Little Herring"],
        "Fenn Valley": ["Fennbridge", "Mossford"],
        "The Teeth": ["Icicle Pass", "Yonderpeak"],
    },
    "Lower Fennmark": {
        "Reedland": ["Eelmouth", "Dampstead", "Ducksworth"],
        "Butter Plain": ["Butterby", "Churnham", "Creamley"],
    },
    "Thistlemoor": {
        "Old Moor": ["Thistleton", "Gorsewick", "Boggart Cross"],
        "New Moor": ["Heatherstead", "Peatbury"],
        "Whispering Wood": ["Mushroomford", "Owlstone"],
    },
    "Lantern Isles": {
        "Great Lantern": ["Port Lantern", "Wickbay", "Tallow Town"],
        "Small Lanterns": ["Glimmer Rock", "Snuff Island", "Farther Flicker"],
    },
}

ACTIVITIES = {
    "Cloud farming": {
        "Cloud rearing": ["Rain cloud rearing", "Fleece cloud rearing", "Fog bottling"],
        "Wind growing": ["Breeze growing", "Gale pressing"],
    },
    "Moon mining": {
        "Cheese quarrying": ["Blue cheese quarrying", "Hard cheese quarrying"],
        "Moonlight works": ["Moonlight refining", "Moondust sifting"],
    },
    "Clockwork making": {
        "Clockwork animals": ["Clockwork birds", "Clockwork cats", "Clockwork beetles"],
        "Fine clockwork": ["Pocket suns", "Music boxes", "Sleep counters"],
        "Heavy clockwork": ["Tide engines", "Walking bridges"],
    },
    "Lantern trade": {
        "Light selling": ["Candle wholesale", "Firefly retail", "Shadow repair"],
        "Carrying": ["Parcel by gull", "Ferries by night"],
    },
    "Tales and riddles": {
        "Storytelling": ["Bedtime stories", "Sea yarns"],
        "Advice": ["Riddle solving", "Map drawing", "Weather excuses"],
        "Rest": ["Nap houses"],
    },
}

# Size classes, with the smallest number of employees of each.
SIZES = {"1 micro": 1, "2 small": 10, "3 medium": 50, "4 large": 250}

# Industries with a dominant firm, and its size as a multiple of a random one.
RULED = {
    "Moonlight refining": 60.0,
    "Tide engines": 40.0,
    "Blue cheese quarrying": 30.0,
    "Fog bottling": 30.0,
}


@dataclass(frozen=True, eq=False, repr=False)
class Register:
    """Enterprises, one per record, and the hierarchies of their variables.

    Examples
    --------
    >>> sample = register(n=1000, seed=1)
    >>> sample
    Register(1_000 enterprises, 41 regions, 46 activities, 4 sizes)
    >>> list(sample.records.columns)
    ['enterprise', 'holding', 'region', 'activity', 'size', 'employees', 'turnover']
    """

    # Columns ``enterprise``, ``holding``, ``region``, ``activity``, ``size``, ``employees`` and ``turnover``
    # (whole thousands).
    records: pd.DataFrame
    # Hierarchies of ``region`` and ``activity``, three levels each below the total; ``size`` is flat.
    hierarchies: Mapping[str, Hierarchy]

    def __repr__(self) -> str:
        region, activity = (len(self.hierarchies[name].codes) for name in ("region", "activity"))
        n = len(self.records)
        return f"Register({n:_} enterprises, {region} regions, {activity} activities, {len(SIZES)} sizes)"


def register(
    n: int = 50_000,
    seed: int = 1,
    *,
    regions: Sequence[int] | None = None,
    activities: Sequence[int] | None = None,
) -> Register:
    """Create a synthetic register of enterprises, reproducible for the same arguments.

    Parameters
    ----------
    n
        Number of enterprises. Default: 50,000.
    seed
        Random seed. Default: 1.
    regions, activities
        Number of children on each level of a generated hierarchy instead of the named one: ``(8, 12)`` has
        eight codes below the total and twelve below each of them.

    Examples
    --------
    >>> register(n=200, seed=7, regions=(8, 12), activities=(9, 11))
    Register(200 enterprises, 105 regions, 109 activities, 4 sizes)
    >>> sample = register(n=200, seed=7)
    >>> sample.records["turnover"].equals(register(n=200, seed=7).records["turnover"])
    True
    """
    import pandas as pd  # noqa: PLC0415 - deferred: hitoku imports faster

    if n < 1:
        raise ParameterError(
            "register_size",
            "a register of {n} enterprises",
            where="n",
            fix="give at least 1; the demo has 50000",
            n=n,
        )
    if seed < 0:
        raise ParameterError(
            "seed_negative",
            "seed must not be negative, got {seed}",
            where="seed",
            fix="use 0, 1, 2, ...",
            seed=seed,
        )
    rng = np.random.default_rng(seed)
    hierarchies = {
        "region": Hierarchy.from_tree(REGIONS) if regions is None else _tree("R", regions),
        "activity": Hierarchy.from_tree(ACTIVITIES) if activities is None else _tree("A", activities),
    }
    towns, industries = (hierarchies[name].leaves for name in ("region", "activity"))
    town, industry = _places(rng, n, towns, industries)
    employees = _employees(rng, industry, industries)
    turnover = _turnover(rng, employees, industry, len(industries))
    classes = np.searchsorted(list(SIZES.values()), employees, side="right") - 1
    records = pd.DataFrame(
        {
            "enterprise": [f"E{number:06d}" for number in range(1, n + 1)],
            "holding": [f"H{number:06d}" for number in _holdings(rng, employees)],
            "region": np.array(towns, dtype=object)[town],
            "activity": np.array(industries, dtype=object)[industry],
            "size": np.array(list(SIZES), dtype=object)[classes],
            "employees": employees,
            "turnover": turnover,
        }
    )
    return Register(records, MappingProxyType(hierarchies))


def _tree(stem: str, children: Sequence[int]) -> Hierarchy:
    """Return a hierarchy with a number of children on each level."""
    if not children or min(children) < 2:
        raise ParameterError(
            "tree_needs_children",
            "a tree needs at least two children on each level",
            where="regions, activities",
            fix="give one number per level, such as (8, 12)",
        )
    pairs, above = [], [(TOTAL, stem)]
    for size in children:
        below = [(f"{name}{i + 1:02d}", code) for code, name in above for i in range(size)]
        pairs += below
        above = [(name, name + ".") for name, _ in below]
    return Hierarchy.from_pairs(pairs)


def _dominated_industries(industries: tuple[str, ...]) -> dict[int, float]:
    """Return the industries with a dominant firm, and its relative size; generated ones are spaced evenly."""
    if set(RULED) <= set(industries):
        return {industries.index(name): times for name, times in RULED.items()}
    step = max(1, len(industries) // len(RULED))
    return dict(zip(range(0, len(industries), step), RULED.values(), strict=False))


def _places(
    rng: np.random.Generator, n: int, towns: tuple[str, ...], industries: tuple[str, ...]
) -> tuple[Integers, Integers]:
    """Draw town and industry of every enterprise: both skewed, some pairs frequent, some impossible."""
    town_size = rng.permutation(np.arange(1, len(towns) + 1) ** -0.8)
    industry_size = rng.permutation(np.arange(1, len(industries) + 1) ** -1.0)
    # An industry with a dominant firm has few others.
    industry_size[list(_dominated_industries(industries))] = 0.008
    affinity = rng.lognormal(0.0, 0.9, (len(towns), len(industries)))
    absent = rng.random(affinity.shape) < 0.12
    weight = np.where(absent, 0.0, town_size[:, None] * industry_size * affinity).ravel()
    cell = rng.choice(len(weight), size=n, p=weight / weight.sum())
    return cell // len(industries), cell % len(industries)


def _employees(rng: np.random.Generator, industry: Integers, industries: tuple[str, ...]) -> Integers:
    """Draw heavy-tailed sizes, larger in some industries, with one very large firm in dominated ones."""
    typical = rng.normal(0.9, 0.5, len(industries))
    spread = rng.uniform(1.1, 1.8, len(industries))
    staff = rng.lognormal(typical[industry], spread[industry])
    for ruled, times in _dominated_industries(industries).items():
        members = np.flatnonzero(industry == ruled)
        if len(members):
            giant = members[np.argmax(staff[members])]
            staff[giant] *= times
    return np.ceil(np.minimum(staff, 60_000.0)).astype(np.int64)


def _turnover(
    rng: np.random.Generator, employees: Integers, industry: Integers, n_industries: int
) -> Integers:
    """Draw turnover in thousands: per head it varies by industry and firm; some firms are dormant."""
    per_head = rng.lognormal(4.3, 0.5, n_industries)
    thousands: Floats = employees * per_head[industry] * rng.lognormal(0.0, 0.6, len(employees))
    resting = rng.random(len(employees)) < 0.01
    return np.where(resting, 0, np.round(thousands)).astype(np.int64)


def _holdings(rng: np.random.Generator, employees: Integers) -> Integers:
    """Draw the holding of every enterprise: mostly itself, some large groups, many small ones."""
    n = len(employees)
    # One enterprise in twelve belongs to a group, larger ones more often: exponential keys draw a weighted
    # sample without replacement.
    keys = rng.exponential(size=n) / np.sqrt(employees)
    grouped = rng.permutation(np.argsort(keys, kind="stable")[: n // 12])
    sizes = np.concatenate([rng.integers(20, 80, max(n // 2_500, 1)), rng.integers(2, 6, n // 12 + 1)])
    group = np.repeat(np.arange(len(sizes)), sizes)[: len(grouped)]
    holding = np.arange(1, n + 1)
    holding[grouped] = n + 1 + group
    return holding
