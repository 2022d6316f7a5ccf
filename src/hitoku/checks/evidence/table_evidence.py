"""Evidence of tables: all that is needed to rebuild a table, with records and largest contributions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import product
from math import prod
from typing import Annotated, Any, Self

import numpy as np
from pydantic import PlainValidator, StrictBool, StrictStr
from pydantic.dataclasses import dataclass

from hitoku.checks.evidence.evidence import (
    STRICT,
    CodedCells,
    Counts,
    Evidence,
    Flags,
    NumberRows,
    Numbers,
    Texts,
    compare_units,
    refuse,
)
from hitoku.checks.evidence.group_evidence import FEW_VALUES, count_each
from hitoku.checks.evidence.trees import dimension_of, layers, plain_trees, read_trees, unions
from hitoku.checks.unit_records import Groups
from hitoku.errors import DataError
from hitoku.model import TOTAL, Contributors, Dimension, Floats, Hierarchy, Integers, Table

# Fields of cells whose units have few distinct values.
FEW_FIELDS = ("few_cells", "few_values", "few_most", "few_least")

Trees = Annotated[Mapping[str, tuple[Hierarchy, ...]] | None, PlainValidator(read_trees)]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class TableEvidence(Evidence):
    """A table, cell by cell in the order of :class:`hitoku.Table`."""

    # by, codes: variables and their codes, without totals and the groups of hierarchies.
    by: Texts
    codes: tuple[Texts, ...]
    value: Numbers  # Published measure: counts or sums.
    # records, n_units: records and units of each cell.
    records: Counts
    n_units: Counts
    integer: StrictBool  # Whether the values are integers.
    measure: StrictStr  # Name of the measure.
    hierarchies: Trees = None  # Hierarchies of the variables that have one.
    # Variable whose codes are periods, each with the same units; None if there is none.
    period: StrictStr | None = None
    # Variables reduced to a single code by a filter on others; None if there are none.
    only: Texts | None = None

    @classmethod
    def of(cls, table: Table, **own: Any) -> Self:
        """Build the evidence of a table."""
        trees = {
            d.name: d.hierarchies for d in table.dimensions if len(d) > len(d.leaves) + 1 or d.total != TOTAL
        }
        return cls(
            by=tuple(d.name for d in table.dimensions),
            codes=tuple(d.leaves for d in table.dimensions),
            value=table.value,
            records=table.measures["records"],
            n_units=np.zeros(0, dtype=np.int64) if table.frequency is None else table.frequency,
            integer=table.integer,
            measure=table.measure,
            hierarchies=trees or None,
            **own,
        )

    @property
    def whole(self) -> bool:
        return self.integer

    @property
    def n_parts(self) -> int:
        return len(self.value)

    @property
    def n_used(self) -> int | None:
        return int(self.records[-1])

    def label(self, place: int) -> Sequence[str]:
        """Return the codes of a cell, used in messages."""
        return self.table.labels.codes_of(place)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(len(set(self.by)) == len(self.by) > 0, "by: a variable named twice, or none")
        self.require(
            len(self.codes) == len(self.by) and all(self.codes), "codes: not one list for each variable"
        )
        # Checked before memory is allocated for all cells: evidence is untrusted.
        self.require(
            len(self.value) == prod(map(len, self.dimensions)), "value: there is not one value for each cell"
        )
        self._require_cells("records", "n_units")
        self.require(self.period is None or self.period in self.by, "period: no variable of the table")
        single = {name for name, codes in zip(self.by, self.codes, strict=True) if len(codes) == 1}
        self.require(single.issuperset(self.only or ()), "only: a variable with several codes, or none")

    @cached_property
    def repeats(self) -> bool:
        """Whether units come back in other periods; if not, the word means nothing."""
        return self.period is not None and self.comes_back(self.period)

    def comes_back(self, variable: str) -> bool:
        """Return whether at least half of the units recur in several codes of a variable."""
        axis = self.by.index(variable)
        cube = self.n_units.reshape([len(d) for d in self.dimensions])
        whole = tuple(slice(len(d.leaves)) if at == axis else -1 for at, d in enumerate(self.dimensions))
        return bool(cube[whole].sum() >= 1.5 * cube.ravel()[-1])

    def _require_cells(self, *names: str) -> None:
        for name in names:
            one_each = len(getattr(self, name)) == self.n_parts
            self.require(one_each, f"{name}: there is not one entry for each cell")

    @cached_property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Variables with their totals and groups."""
        trees = self.hierarchies or {}
        pairs = zip(self.by, self.codes, strict=True)
        return tuple(dimension_of(name, codes, trees.get(name)) for name, codes in pairs)

    @property
    def contributors(self) -> Contributors | None:
        """Contributions to each cell; None for counts."""
        return None

    @cached_property
    def table(self) -> Table:
        """The table, rebuilt. Raises if values do not add up."""
        return Table(
            value=self.value,
            dimensions=self.dimensions,
            frequency=self.n_units,
            units=self.contributors,
            integer=self.integer,
            measure=self.measure,
        )

    @cached_property
    def counts(self) -> Table:
        """Table of the records, with its units as frequency."""
        return Table(
            value=self.records.astype(np.float64),
            dimensions=self.dimensions,
            frequency=self.n_units,
            integer=True,
            measure="count",
        )

    @cached_property
    def cells(self) -> CodedCells:
        """Cells with their codes."""
        totals, labels = [dimension.total for dimension in self.dimensions], self.table.labels
        return CodedCells(
            codes=dict(zip(self.by, self.codes, strict=True)),
            above={d.name: own for d in self.dimensions if (own := unions(d))},
            labels=tuple(
                tuple(
                    None if code == total else code
                    for code, total in zip(labels.codes_of(cell), totals, strict=True)
                )
                for cell in range(self.n_parts)
            ),
            n_units=self.n_units,
            n_records=self.records,
        )

    def contradictions(self) -> Iterator[str]:
        """Yield inconsistencies in the counts of a table."""
        # Built as a table, which raises if the values do not add up.
        records, n_units = self.counts.value, self.n_units
        yield from compare_units(n_units, self.records)
        # A total may have fewer units than its parts together, because a unit may be in several, but never
        # more.
        if n_units[-1] == records[-1] and not np.array_equal(n_units, records):
            yield "every record is a unit in total, but not in every cell"
        cube = n_units.reshape([len(d) for d in self.dimensions])
        for axis, dimension in enumerate(self.table.dimensions):
            for code, below in dimension.groups:
                parts = cube.take([dimension.position[part] for part in below], axis)
                whole = cube.take(dimension.position[code], axis)
                if np.any((whole > parts.sum(axis=axis)) | (whole < parts.max(axis=axis))):
                    yield f"units do not fit their totals by {dimension.name}"
                    break

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-compatible values, in the order of the file."""
        found = super().to_dict()
        if self.hierarchies is not None:
            found["hierarchies"] = plain_trees(self.hierarchies, self.by)
        return found


@dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class MagnitudeEvidence(TableEvidence):
    """A table of sums, and who contributes how much to them."""

    # n_contributors, largest, size: contributors to each cell, their largest contributions by absolute value,
    # and the sum of all absolute values.
    n_contributors: Counts
    largest: NumberRows
    size: Numbers
    negative: StrictBool  # Whether some amount is negative.
    # Cells suppressed because of their counts; none until the table is protected.
    counts_withheld: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    # few_cells, few_values, few_most, few_least: cells whose units have few distinct values, the number of
    # these, and the units with the most frequent and the rarest of them. None in evidence of earlier
    # versions.
    few_cells: Counts | None = None
    few_values: Counts | None = None
    few_most: Counts | None = None
    few_least: Counts | None = None

    @classmethod
    def of(cls, table: Table, **own: Any) -> Self:
        """Build the evidence of a table with known contributions."""
        who = table.contributors
        if who is None or not who.largest.shape[1]:
            raise DataError(
                "largest_contributions_unknown",
                "the table does not know its largest contributions",
                where="table",
                fix="tabulate the records",
            )
        return super().of(
            table,
            n_contributors=who.count,
            largest=who.largest,
            size=who.total,
            negative=who.negative,
            **own,
        )

    def __post_init__(self) -> None:
        if not self.counts_withheld.size:
            object.__setattr__(self, "counts_withheld", np.zeros(self.n_parts, dtype=np.bool_))
        super().__post_init__()
        self._require_cells("n_contributors", "largest", "size", "counts_withheld")
        self.require(self.largest.shape[1] > 0, "largest: none is given")
        few = [getattr(self, name) for name in FEW_FIELDS]
        self.require(len({None if each is None else len(each) for each in few}) == 1, "few: unequal lengths")
        cells = self.few_cells
        inside = cells is None or (np.all(np.diff(cells) > 0) and np.all(cells < self.n_parts))
        self.require(bool(inside), "few_cells: not cells of the table, in order")

    def contradictions(self) -> Iterator[str]:
        """Yield inconsistencies in the counts of a table."""
        yield from super().contradictions()
        cells, values, most, least = (getattr(self, name) for name in FEW_FIELDS)
        if cells is None:
            return
        records = self.records[cells]
        wrong = (least < 1) | (most < least) | (values < 1) | ((values == 1) & (most != least))
        if np.any(wrong) or np.any(values * most < self.n_units[cells]) or np.any(values * least > records):
            yield "few values that more or fewer units have than there are"

    @classmethod
    def from_dict(cls, plain: object, where: str) -> Self:
        """Read what :meth:`to_dict` wrote; raise DataError that names an invalid field."""
        made = super().from_dict(plain, where)
        if not isinstance(plain, Mapping) or len(plain.get("counts_withheld", ())) != made.n_parts:
            raise refuse("counts_withheld: there is not one entry for each cell", where)
        return made

    @cached_property
    def contributors(self) -> Contributors:
        """Contributions to each cell."""
        return Contributors(
            count=self.n_contributors,
            largest=self.largest,
            total=self.size,
            negative=self.negative,
            magnitude="abs",
        )


def count_few(
    dimensions: Sequence[Dimension], groups: Groups, who: Integers, values: Floats
) -> dict[str, Integers]:
    """Find cells with few distinct values, including totals, as fields of the evidence.

    Parameters
    ----------
    dimensions
        Variables of the table.
    groups
        Records grouped by their codes.
    who, values
        Unit and value of each record.
    """
    owner, _ = count_each(groups.codes, who, values)
    few = np.bincount(owner, minlength=len(groups)) <= FEW_VALUES
    # A total that includes a cell with many values has many as well: only the other totals are computed.
    own = few[groups.codes]
    codes, unit, value = groups.codes[own], who[own], values[own]
    leaf = [
        np.array([d.position[label[at]] for label in groups.labels], dtype=np.int64)
        for at, d in enumerate(dimensions)
    ]
    shape = [len(d) for d in dimensions]
    found: dict[int, tuple[int, int, int]] = {}
    for chosen in product(*(list(layers(d)) for d in dimensions)):
        at = [layer[place] for layer, place in zip(chosen, leaf, strict=True)]
        inside = np.logical_and.reduce([each >= 0 for each in at])
        cell = np.ravel_multi_index([np.where(inside, each, 0) for each in at], shape)
        many = np.unique(cell[inside & ~few])
        kept = inside & ~np.isin(cell, many)
        mine = kept[codes]
        if mine.any():
            found |= _count_values(cell[codes[mine]], unit[mine], value[mine])
    cells = sorted(found)
    columns = np.array([found[cell] for cell in cells], dtype=np.int64).reshape(len(cells), 3)
    return {
        "few_cells": np.array(cells, dtype=np.int64),
        "few_values": columns[:, 0],
        "few_most": columns[:, 1],
        "few_least": columns[:, 2],
    }


def _count_values(cell: Integers, who: Integers, value: Floats) -> dict[int, tuple[int, int, int]]:
    """Count the values of cells, and the units with the most frequent and the rarest value."""
    owner, count = count_each(cell, who, value)
    start = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    n = np.diff(np.r_[start, len(owner)])
    most, least = np.maximum.reduceat(count, start), np.minimum.reduceat(count, start)
    rows = zip(*(column[n <= FEW_VALUES].tolist() for column in (owner[start], n, most, least)), strict=True)
    return {at: (values, high, low) for at, values, high, low in rows}
