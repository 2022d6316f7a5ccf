"""Tables to protect and attack: those that are handed in, or small ones that are made up here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.model import Dimension, Floats, Hierarchy, Mask, Need, Table, add_up
from hitoku_papers.resumable import fingerprint


@dataclass(frozen=True, eq=False, repr=False)
class TableInstance:
    """A table and its need as plain arrays, so that they can be handed to another process."""

    name: str
    value: Floats
    relations: Any
    lower: Floats
    upper: Floats
    fixed: Mask
    additive: bool
    unsafe: Mask
    levels: tuple[Floats, Floats, Floats]

    @classmethod
    def of(cls, name: str, table: Table, need: Need) -> TableInstance:
        fixed = np.zeros(table.n_cells, dtype=np.bool_) if table.fixed is None else table.fixed
        levels = (need.lower, need.upper, need.width)
        parts = (table.value, table.relations, table.lower, table.upper, fixed, table.additive)
        return cls(name, *parts, need.unsafe, levels)

    @property
    def table(self) -> Table:
        return Table(
            value=self.value,
            relations=self.relations,
            lower=self.lower,
            upper=self.upper,
            fixed=self.fixed if self.fixed.any() else None,
            additive=self.additive,
        )

    @property
    def need(self) -> Need:
        lower, upper, width = self.levels
        return Need(unsafe=self.unsafe, lower=lower, upper=upper, width=width)

    @property
    def key(self) -> str:
        """A hash of all numbers; the name does not count."""
        matrix = sparse.csr_array(self.relations)
        rows = (matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data)
        return fingerprint(self.value, *rows, self.lower, self.upper, self.fixed, self.unsafe, *self.levels)

    def __repr__(self) -> str:
        return f"TableInstance({self.name}: {len(self.value):_} cells, {int(self.unsafe.sum()):_} unsafe)"


def made_up(seed: int = 1) -> tuple[TableInstance, ...]:
    """Invent four small tables: two two-way, one three-way, one with a hierarchy; turnover-like values.

    One inner cell in eight is unsafe and requires five to twenty percent, as in the instances of the paper.

    Examples
    --------
    >>> [instance.name for instance in made_up()], made_up()[3]
    (['two_way', 'two_way_sparse', 'three_way', 'hierarchy'], TableInstance(hierarchy: 91 cells, 6 unsafe))
    """
    rng = np.random.default_rng(seed)
    towns = {"North": ["N1", "N2", "N3"], "South": ["S1", "S2", "S3", "S4"], "East": ["E1", "E2"]}
    shapes: dict[str, tuple[tuple[Dimension, ...], float]] = {
        "two_way": (_flat(10, 8), 0.0),
        "two_way_sparse": (_flat(12, 10), 0.3),
        "three_way": (_flat(5, 4, 4), 0.05),
        "hierarchy": ((Dimension.of("region", Hierarchy.from_tree(towns)), *_flat(6)), 0.1),
    }
    return tuple(_made_up(rng, name, *shape) for name, shape in shapes.items())


def _flat(*sides: int) -> tuple[Dimension, ...]:
    trees = [Hierarchy.from_tree({f"{code + 1}": None for code in range(side)}) for side in sides]
    return tuple(Dimension.of(f"v{axis + 1}", tree) for axis, tree in enumerate(trees))


def _made_up(
    rng: np.random.Generator, name: str, dimensions: tuple[Dimension, ...], empty: float
) -> TableInstance:
    shape = tuple(len(d.leaves) for d in dimensions)
    inner = np.round(rng.lognormal(6.0, 1.3, shape)) + 20
    inner[rng.random(shape) < empty] = 0.0
    value = add_up(inner, dimensions).astype(np.float64)
    plain = Table(value=value, dimensions=dimensions)
    candidates = np.flatnonzero(plain.inner & (value > 0))
    unsafe = np.zeros(len(value), dtype=np.bool_)
    unsafe[rng.choice(candidates, max(len(candidates) // 8, 2), replace=False)] = True
    level = np.where(unsafe, np.ceil(value * rng.uniform(0.05, 0.2, len(value))), 0.0)
    # Zeros stay: a positive value would imply a firm that does not exist.
    zero = value == 0
    table = Table(
        value=value,
        dimensions=dimensions,
        upper=np.where(zero, 0.0, 2 * value.max()),
        fixed=zero if zero.any() else None,
    )
    return TableInstance.of(name, table, Need(unsafe=unsafe, lower=level, upper=level))
