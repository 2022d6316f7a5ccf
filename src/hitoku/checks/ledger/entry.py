"""One output as the ledger remembers it, and what follows from its sums or its coefficients.

A group of any size whose sum follows from published ones meets the rules for magnitudes. A regression on
dummies is a table: it implies sums over the units of its estimation sample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from hitoku.attacks.differencing import (
    COUNTS,
    Alike,
    Cell,
    Certificate,
    Definition,
    Partition,
    SingledOut,
)
from hitoku.checks.principles import Said
from hitoku.errors import DataError
from hitoku.model import Contributors, Floats, Integers, Table
from hitoku.rules import Rule

# No rule in use takes more of the largest contributors than this together.
TOP = 5


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Measure:
    """A variable whose sums or means an output publishes, by unit.

    Parameters
    ----------
    values
        What each unit has of it; confidential, used when an output is checked and never kept.
    kind
        Whether the output publishes sums or means.
    rounded
        Published numbers are rounded to multiples of this; 0 when they are not.
    """

    values: Floats
    kind: Literal["sum", "mean"] = "sum"
    rounded: float = 0.0

    @classmethod
    def of(cls, values: ArrayLike, kind: Literal["sum", "mean"] = "sum", rounded: float = 0.0) -> Measure:
        """Make a measure from any list of numbers; a unit without one counts as zero."""
        array = np.nan_to_num(np.array(values, dtype=np.float64), nan=0.0)
        if array.ndim != 1 or not np.isfinite(array).all() or rounded < 0:
            raise DataError(
                "measure_invalid",
                "a measure needs one finite number per unit, and a rounding of 0 or more",
                where="ledger",
                fix="give NaN where a unit has none",
            )
        return cls(values=array, kind=kind, rounded=rounded)

    def as_dict(self) -> dict[str, Any]:
        """Return what an archive may know of it."""
        return {"kind": self.kind, "rounded": self.rounded}

    def __repr__(self) -> str:
        return f"Measure({self.kind} over {len(self.values):_} units, rounded to {self.rounded:g})"


Carried = Mapping[str, Mapping[str, Any]]


def half_width(
    group: SingledOut, name: str, carried: Mapping[str, Carried], size: Callable[[Cell], int]
) -> float:
    """How far off the group's sum may be because its cells were rounded."""
    total = 0.0
    for cell, times in group.certificate.items():
        how = carried[cell[0]][name]
        # A mean off by half a unit is a sum off by half a unit for everybody in the cell.
        total += 0.5 * how["rounded"] * abs(times) * (size(cell) if how["kind"] == "mean" else 1)
    return total


def failing(
    groups: Sequence[SingledOut], values: Floats, blur: Floats, rules: Sequence[Rule], percent: float
) -> dict[int, str]:
    """Return the groups, by position, whose sum tells too much of a contributor, and the rule that says so.

    Parameters
    ----------
    groups
        What follows exactly.
    values
        The measure by unit.
    blur
        For each group the half-width that rounding leaves.
    rules
        Rules for magnitudes.
    percent
        Rounding protects where it blurs the sum by at least so much of the largest contribution.
    """
    if not groups or not rules:
        return {}
    blocks: dict[int, _Blocks] = {}
    own = [_contributed(group, values, blocks) for group in groups]
    largest = np.array([each.largest for each in own])
    units = Contributors(
        count=np.array([len(group) for group in groups]),
        largest=largest,
        total=np.array([each.size for each in own]),
        negative=bool(np.any(values < 0)),
        magnitude="abs",
    )
    table = Table(
        value=np.array([each.amount for each in own]),
        relations=np.zeros((0, len(own))),
        frequency=units.count,
        units=units,
    )
    sharp = blur < percent / 100 * largest[:, 0]
    found: dict[int, str] = {}
    for rule in rules:
        for place in np.flatnonzero(rule.assess(table).unsafe & sharp):
            found.setdefault(int(place), getattr(rule, "name", type(rule).__name__))
    return found


@dataclass(frozen=True, slots=True, repr=False)
class _Contributed:
    """What the units of a group have: in all, in all by size, and the largest sizes, falling."""

    amount: float
    size: float
    largest: Floats


class _Blocks:
    """The same of blocks of units that are alike: groups of many units are added up from few blocks."""

    def __init__(self, alike: Alike, values: Floats) -> None:
        from hitoku.kernels.joint_cells import largest_in_blocks  # noqa: PLC0415 - numba takes a second to load

        sizes = np.abs(values)
        self._amount = np.bincount(alike.block, weights=values, minlength=len(alike))
        self._size = np.bincount(alike.block, weights=sizes, minlength=len(alike))
        self._largest = np.zeros((len(alike), TOP))
        largest_in_blocks(alike.block, sizes, self._largest)

    def contributed(self, members: Integers) -> _Contributed:
        largest = _largest(self._largest[members].ravel())
        return _Contributed(float(self._amount[members].sum()), float(self._size[members].sum()), largest)


def _contributed(group: SingledOut, values: Floats, blocks: dict[int, _Blocks]) -> _Contributed:
    """Add up what the units of a group have; ``blocks`` keeps what was found about blocks."""
    if group.alike is None:
        own = values[group.units]
        sizes = np.abs(own)
        return _Contributed(float(own.sum()), float(sizes.sum()), _largest(sizes))
    if id(group.alike) not in blocks:
        blocks[id(group.alike)] = _Blocks(group.alike, values)
    return blocks[id(group.alike)].contributed(group.members)


def _largest(sizes: Floats) -> Floats:
    # A derived group may be nearly everybody: only its largest are put in order.
    few = np.partition(sizes, len(sizes) - TOP)[-TOP:] if len(sizes) > TOP else sizes
    ranked = np.sort(few)[::-1]
    return np.concatenate([ranked, np.zeros(TOP - len(ranked))])


def implied_tables(name: str, dummies: Sequence[ArrayLike], sample: ArrayLike) -> list[Partition]:
    """Return the partitions whose counts and sums a regression on dummies gives away.

    The normal equations hold sums of the dependent variable over every set of dummies; with the counts that
    are printed beside most models, anybody solves them. So every set counts as a table of sums, and the
    sample as a total. Terms that are crossed are a set of their own: give their crossed codes.

    Parameters
    ----------
    name
        The output.
    dummies
        For every set of dummies the category of each unit, from 0, the reference category among them.
    sample
        Which units were used: those with a missing value anywhere were not.

    Examples
    --------
    >>> tables = implied_tables("wages", [[0, 1, 1, 0]], [True, True, True, False])
    >>> [table.sizes.tolist() for table in tables]
    [[1, 3], [1, 1, 2]]
    """
    used = np.asarray(sample)
    if used.dtype != np.bool_ or used.ndim != 1:
        raise DataError(
            "estimation_sample_invalid",
            "an estimation sample must be true or false for every unit",
            where="output {output}",
            fix="mark the units that the model was fitted on",
            output=name,
        )
    tables = [Partition.published(name, used.astype(np.int64))]
    for place, each in enumerate(dummies, start=1):
        given = np.asarray(each)
        if (
            given.shape != used.shape
            or given.dtype.kind not in "iu"
            or (used.any() and given[used].min() < 0)
        ):
            raise DataError(
                "dummies_invalid",
                "dummies {dummies} must be whole numbers from 0, one per unit",
                where="output {output}",
                fix="number the categories of every set, the reference category included",
                dummies=place,
                output=name,
            )
        tables.append(Partition.published(name, np.where(used, given + 1, 0), part=place))
    return tables


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One output as the ledger remembers it; its memberships are beside."""

    name: str
    project: str
    data_hash: str
    definition: Definition | None
    published: Any
    measures: Carried
    parts: tuple[dict[str, Any], ...] | None
    derived: tuple[tuple[Certificate, ...], ...]
    # What is said of every cell; of an output of before counts, and amounts of what it measures.
    publishes: frozenset[str] = COUNTS
    # Comparisons left out when it was released: not all that follows from it is known.
    left_out: int = 0
    # Statistics of variables that left, group by group; of an output of before nothing is known.
    said: tuple[Said, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "project": self.project,
            "data_hash": self.data_hash,
            "definition": None if self.definition is None else self.definition.as_dict(),
            "published": self.published,
            "measures": {name: dict(how) for name, how in self.measures.items()},
            "parts": None if self.parts is None else list(self.parts),
            "derived": [
                [[[*cell, times] for cell, times in group.items()] for group in batch]
                for batch in self.derived
            ],
            "publishes": sorted(self.publishes),
            **({"left_out": self.left_out} if self.left_out else {}),
            **({"said": [each.to_dict() for each in self.said]} if self.said else {}),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Entry:
        definition = plain["definition"]
        return cls(
            name=plain["name"],
            project=plain["project"],
            data_hash=plain["data_hash"],
            definition=None if definition is None else Definition.from_dict(definition),
            published=plain["published"],
            measures=plain["measures"],
            parts=None if plain["parts"] is None else tuple(plain["parts"]),
            derived=tuple(
                tuple({(name, part, cell): times for name, part, cell, times in group} for group in batch)
                for batch in plain["derived"]
            ),
            publishes=frozenset(plain["publishes"]),
            left_out=plain.get("left_out", 0),
            said=tuple(map(Said.from_dict, plain.get("said", ()))),
        )
