"""Stored output of the ledger, and consequences of its sums or coefficients.

A derived group of any size must meet the rules for magnitudes if its sum follows from published ones. A
regression on dummies is a table: it implies sums over the units of its estimation sample.

Receipts of releases: released files, checkers, and the state of the ledger afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from hitoku.attacks.differencing import COUNTS, Alike, Cell, Certificate, Definition, Partition, SingledOut
from hitoku.checks.ledger.store import LedgerStore, as_written, read_store
from hitoku.checks.principles import Said
from hitoku.errors import DataError, ParameterError
from hitoku.model import Contributors, Floats, Integers, Table
from hitoku.rules import Rule

# No rule considers more of the largest contributors than this.
TOP = 5


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Measure:
    """Variable of which an output publishes sums or means, by unit."""

    values: Floats  # Value of each unit; confidential, used for the check and not stored.
    kind: Literal["sum", "mean"] = "sum"  # "sum" or "mean".
    rounded: float = 0.0  # Rounding base of published numbers; 0 if they are not rounded.

    @classmethod
    def of(cls, values: ArrayLike, kind: Literal["sum", "mean"] = "sum", rounded: float = 0.0) -> Measure:
        """Create a measure from numbers; NaN counts as zero."""
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
        """Return the parts that may be stored."""
        return {"kind": self.kind, "rounded": self.rounded}

    def __repr__(self) -> str:
        return f"Measure({self.kind} over {len(self.values):_} units, rounded to {self.rounded:g})"


Carried = Mapping[str, Mapping[str, Any]]


def half_width(
    group: SingledOut, name: str, carried: Mapping[str, Carried], size: Callable[[Cell], int]
) -> float:
    """Return the maximum rounding error of a derived group's sum."""
    total = 0.0
    for cell, times in group.certificate.items():
        how = carried[cell[0]][name]
        # An error of half a unit in a mean is half a unit per unit of the cell in the sum.
        total += 0.5 * how["rounded"] * abs(times) * (size(cell) if how["kind"] == "mean" else 1)
    return total


def failing(
    groups: Sequence[SingledOut], values: Floats, blur: Floats, rules: Sequence[Rule], percent: float
) -> dict[int, str]:
    """Return the groups whose sum fails a rule, by index, with the name of the rule.

    Parameters
    ----------
    groups
        Groups whose sums follow exactly.
    values
        Value of the measure for each unit.
    blur
        Maximum rounding error of each group's sum.
    rules
        Rules for magnitudes.
    percent
        Rounding protects if its error is at least this percentage of the largest contribution.
    """
    if not groups or not rules:
        return {}
    blocks: dict[int, _Blocks] = {}
    own = [_group_contributions(group, values, blocks) for group in groups]
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
    """Contributions of the units of a group: total, total of absolute values, and largest absolute values."""

    amount: float
    size: float
    largest: Floats


class _Blocks:
    """Contributions of blocks of identical units, from which large groups are computed."""

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


def _group_contributions(group: SingledOut, values: Floats, blocks: dict[int, _Blocks]) -> _Contributed:
    """Return the contributions of a group; ``blocks`` caches those of blocks."""
    if group.alike is None:
        own = values[group.units]
        sizes = np.abs(own)
        return _Contributed(float(own.sum()), float(sizes.sum()), _largest(sizes))
    if id(group.alike) not in blocks:
        blocks[id(group.alike)] = _Blocks(group.alike, values)
    return blocks[id(group.alike)].contributed(group.members)


def _largest(sizes: Floats) -> Floats:
    # A derived group may be almost the whole population: sort only its largest values.
    few = np.partition(sizes, len(sizes) - TOP)[-TOP:] if len(sizes) > TOP else sizes
    ranked = np.sort(few)[::-1]
    return np.concatenate([ranked, np.zeros(TOP - len(ranked))])


def implied_tables(name: str, dummies: Sequence[ArrayLike], sample: ArrayLike) -> list[Partition]:
    """Return the partitions whose counts and sums a regression on dummies reveals.

    The normal equations contain sums of the dependent variable over every set of dummies, and can be solved
    with the counts published with most models. Each set therefore counts as a table of sums, and the sample
    as a total. Crossed terms are a set of their own: pass their crossed codes.

    Parameters
    ----------
    name
        Name of the output.
    dummies
        For each set of dummies, the category of each unit from 0, including the reference category.
    sample
        Mask of the units used, that is, without missing values.

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
    """Output as stored in the ledger; its memberships are stored separately."""

    name: str
    project: str
    data_hash: str
    definition: Definition | None
    published: Any
    measures: Carried
    parts: tuple[dict[str, Any], ...] | None
    derived: tuple[tuple[Certificate, ...], ...]
    # Quantities published for every cell; in earlier versions counts, and amounts of the measures.
    publishes: frozenset[str] = COUNTS
    # Comparisons omitted at release: derived groups may be incomplete.
    left_out: int = 0
    # Released statistics of variables, by group; unknown in earlier versions.
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


@dataclass(frozen=True, kw_only=True)
class Left:
    """Released output."""

    # name, kind: name and type of the output.
    name: str
    kind: str
    files: Mapping[str, str]  # Released files with their SHA-256.
    decisions: tuple[str, ...] = ()  # Decisions about it as text; empty if every principle passed.


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """Record of a release."""

    number: int  # Number of the release, from 1.
    # submission, submission_sha256: name of the submission, and the hash of its manifest.
    submission: str
    submission_sha256: str
    # researcher, checkers: names of the researcher, and of the checkers who signed.
    researcher: str
    checkers: tuple[str, ...]
    released: str  # Time of the release.
    policy: Mapping[str, str]  # Name, version and hash of the policy.
    # data, unit: hash of the data, and the unit.
    data: str
    unit: str | None
    outputs: tuple[Left, ...]  # Released outputs.
    stayed: Mapping[str, str]  # Outputs that were not released, with reasons.
    # previous, head: hash of the ledger before the receipt, and including it.
    previous: str
    head: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-compatible values."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], head: str) -> Receipt:
        """Create a receipt from a line of the ledger and its head."""
        outputs = tuple(Left(**{**each, "decisions": tuple(each["decisions"])}) for each in plain["outputs"])
        return cls(**{**plain, "outputs": outputs, "checkers": tuple(plain["checkers"]), "head": head})

    @property
    def text(self) -> str:
        """Text of the receipt."""
        lines = [
            f"Receipt {self.number}: {len(self.outputs)} output(s) of {self.submission} left",
            "",
            f"on            {self.released}",
            "",
            f"submitted by  {self.researcher or 'an unnamed researcher'}",
            f"released by   {', '.join(self.checkers)}",
            f"policy        {self.policy['name']} {self.policy['version']}, {self.policy['hash']}",
            f"submission    {self.submission_sha256}",
            f"data          {self.data}",
            f"unit          {self.unit or 'every record'}",
            f"ledger        {self.head}",
            "",
        ]
        for each in self.outputs:
            lines += [f"{each.name} ({each.kind})", *(f"  {decision}" for decision in each.decisions)]
            lines += [f"  {digest}  {name}" for name, digest in each.files.items()]
        lines += ["", "stayed behind:"] if self.stayed else []
        lines += [f"{name}: {why}" for name, why in self.stayed.items()]
        return "\n".join(lines).rstrip() + "\n"


def receipts_of(store: LedgerStore) -> tuple[Receipt, ...]:
    """Return the receipts of a ledger, in order."""
    return tuple(Receipt.from_dict(line.body, line.head) for line in store.lines if line.kind == "release")


def receipts(path: str | Path) -> tuple[Receipt, ...]:
    """Return the receipts of a ledger file, in order."""
    with as_written(Path(path)):
        return receipts_of(read_store(Path(path)))


def output_key(project: str, name: str) -> str:
    """Return the key of an output among those of all projects."""
    if "/" in project:
        raise ParameterError(
            "project_name_has_slash",
            "a project's name cannot have a slash",
            where="ledger",
            fix="use a dash instead",
        )
    return f"{project}/{name}"
