"""Variables of a table, their codes, and the labels of cells."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse

from hitoku.errors import HierarchyError, TableError, some
from hitoku.model.arrays import Mask, Positions
from hitoku.model.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False, repr=False)
class Dimension:
    """A variable with one or several hierarchies of its codes.

    The first hierarchy contains every leaf. Further ones are groupings that need not nest with it: their
    leaves are codes of the first, their groups are new codes, and each adds relations.

    ``codes`` contains the leaves, then the groups from the bottom up, and the total last. For a flat variable
    the total is the last row of the printed table.

    Examples
    --------
    >>> coast = Hierarchy.from_tree({"Coast": ["N1", "S1"], "Inland": ["N2", "S2"]})
    >>> region = Hierarchy.from_tree({"North": ["N1", "N2"], "South": ["S1", "S2"]})
    >>> Dimension("region", (region, coast)).codes
    ('N1', 'N2', 'S1', 'S2', 'North', 'South', 'Coast', 'Inland', 'Total')
    """

    name: str
    hierarchies: tuple[Hierarchy, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "hierarchies", tuple(self.hierarchies))
        if not self.hierarchies:
            raise HierarchyError(
                "variable_without_hierarchy",
                "variable {variable!r} has no hierarchy",
                fix="give a list of codes at least",
                variable=self.name,
            )
        _ = self.groups, self.closure  # raises for groupings that do not fit

    @classmethod
    def of(cls, name: str, hierarchy: Hierarchy | Sequence[Hierarchy]) -> Dimension:
        """Return a dimension for one hierarchy or several groupings of a variable."""
        one = isinstance(hierarchy, Hierarchy)
        return cls(name, (hierarchy,) if one else tuple(hierarchy))  # type: ignore[arg-type]

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        return self.hierarchies[0].leaves

    @property
    def total(self) -> str:
        return self.hierarchies[0].total

    @cached_property
    def codes(self) -> tuple[str, ...]:
        inner = dict.fromkeys(code for code, _ in self.groups if code != self.total)
        return (*self.leaves, *inner, self.total)

    @cached_property
    def position(self) -> dict[str, int]:
        """Index of each code in ``codes``."""
        return {code: place for place, code in enumerate(self.codes)}

    @cached_property
    def groups(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Each code that is a total, with its parts. There is one relation for each, parts before totals.

        A code may have several lists of parts, one for each grouping.
        """
        splits: dict[tuple[str, frozenset[str]], tuple[str, ...]] = {}
        known = set(self.hierarchies[0].codes)
        for place, hierarchy in enumerate(self.hierarchies):
            strangers = [code for code in hierarchy.leaves if code not in known]
            if place and strangers:
                raise HierarchyError(
                    "grouping_leaves_unknown",
                    "grouping {number} of {variable!r} has leaves that are not in the first hierarchy",
                    where="codes {codes}",
                    fix="a further grouping collects codes of the first hierarchy; add them there",
                    number=place + 1,
                    variable=self.name,
                    codes=some(strangers),
                )
            for code, parts in hierarchy.groups():
                splits.setdefault((code, frozenset(parts)), parts)
        ordered = [(code, parts) for (code, _), parts in splits.items()]
        return tuple(sorted(ordered, key=lambda group: group[0] == self.total))

    @cached_property
    def closure(self) -> sparse.csr_array:
        """Matrix of codes by leaves, one where the leaf belongs to the code."""
        position = {leaf: place for place, leaf in enumerate(self.leaves)}
        below: dict[str, frozenset[int]] = {leaf: frozenset([place]) for leaf, place in position.items()}
        for code, parts in self.groups:
            members = frozenset[int]().union(*(below[part] for part in parts))
            if sum(len(below[part]) for part in parts) != len(members):
                raise HierarchyError(
                    "parts_overlap",
                    "the parts of {code!r} overlap",
                    where="variable {variable!r}",
                    fix="list every leaf once",
                    code=code,
                    variable=self.name,
                )
            if below.setdefault(code, members) != members:
                raise HierarchyError(
                    "code_ambiguous",
                    "code {code!r} has two different meanings",
                    where="groupings of variable {variable!r}",
                    fix="give the second group another code, or the same leaves",
                    code=code,
                    variable=self.name,
                )
        rows = [sorted(below[code]) for code in self.codes]
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
        indices = np.concatenate(rows).astype(np.int32)
        return sparse.csr_array(
            (np.ones(len(indices)), indices, indptr.astype(np.int32)),
            shape=(len(self.codes), len(self.leaves)),
        )

    @cached_property
    def sums(self) -> sparse.csr_array:
        """Matrix of groups by codes: one for each part, minus one for the total."""
        rows: list[int] = []
        columns: list[int] = []
        data: list[float] = []
        for row, (code, parts) in enumerate(self.groups):
            columns += [self.position[part] for part in parts] + [self.position[code]]
            data += [1.0] * len(parts) + [-1.0]
            rows += [row] * (len(parts) + 1)
        matrix = sparse.csr_array((data, (rows, columns)), shape=(len(self.groups), len(self.codes)))
        matrix.sort_indices()
        return matrix

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        groupings = f", {len(self.hierarchies)} groupings" if len(self.hierarchies) > 1 else ""
        return f"Dimension({self.name!r}, {len(self.codes)} codes, {len(self.leaves)} leaves{groupings})"


def dimensions_of(names: Sequence[str], codes: Sequence[Sequence[Any]], total: str) -> tuple[Dimension, ...]:
    """Return flat dimensions for lists of codes."""
    return tuple(Dimension.of(name, Hierarchy.flat(c, total)) for name, c in zip(names, codes, strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class Labels:
    """Codes of every cell, one column per variable."""

    names: tuple[str, ...]
    """Names of the variables."""
    codes: tuple[tuple[str, ...], ...]
    """Codes of each variable."""
    positions: Positions | None = None
    """Index of the code, cells by variables. None: all combinations of codes, row-major."""

    def __post_init__(self) -> None:
        if len(self.names) != len(self.codes):
            raise TableError("labels_per_variable", "labels need one list of codes per variable")
        if len(set(self.names)) != len(self.names):
            raise TableError(
                "variable_names_repeated",
                "a variable is named twice: {names}",
                fix="name each variable once",
                names=", ".join(self.names),
            )
        if self.positions is not None:
            positions = np.array(self.positions, dtype=np.int32)
            positions.setflags(write=False)
            object.__setattr__(self, "positions", positions)

    @classmethod
    def cross(cls, dimensions: Sequence[Dimension]) -> Labels:
        """Return labels for all combinations of codes."""
        return cls(tuple(d.name for d in dimensions), tuple(d.codes for d in dimensions))

    @classmethod
    def numbered(cls, n_cells: int, name: str = "cell") -> Labels:
        """Return labels for numbered cells, as in a JJ file."""
        return cls((name,), (tuple(str(i) for i in range(n_cells)),))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of codes of each variable."""
        return tuple(len(codes) for codes in self.codes)

    def __len__(self) -> int:
        if self.positions is not None:
            return len(self.positions)
        return int(np.prod(self.shape, dtype=np.int64))

    def column(self, variable: int) -> Positions:
        """Return the index of each cell's code for one variable."""
        if self.positions is not None:
            return self.positions[:, variable]
        before = int(np.prod(self.shape[:variable], dtype=np.int64))
        after = int(np.prod(self.shape[variable + 1 :], dtype=np.int64))
        own = np.repeat(np.arange(self.shape[variable], dtype=np.int32), after)
        return np.tile(own, before)

    def only(self, cells: Mask) -> Labels:
        """Return the labels of some of the cells. The codes do not change."""
        columns = [self.column(variable)[cells] for variable in range(len(self.names))]
        return Labels(self.names, self.codes, np.stack(columns, axis=1))

    def by(self, names: Collection[str]) -> Labels:
        """Return the labels without the other variables."""
        kept = [place for place, name in enumerate(self.names) if name in names]
        columns = np.stack([self.column(place) for place in kept], axis=1)
        return Labels(tuple(self.names[p] for p in kept), tuple(self.codes[p] for p in kept), columns)

    def codes_of(self, cell: int) -> tuple[str, ...]:
        """Return the codes of one cell."""
        if self.positions is not None:
            places: Iterable[Any] = self.positions[cell]
        else:
            places = np.unravel_index(cell, self.shape)
        return tuple(codes[int(place)] for codes, place in zip(self.codes, places, strict=True))

    def describe(self, cell: int) -> str:
        """Return a readable name of a cell, such as ``region=R03, nace=B``."""
        pairs = zip(self.names, self.codes_of(cell), strict=True)
        return ", ".join(f"{name}={code}" for name, code in pairs)

    def frame(self, backend: str = "pandas", further: Mapping[str, list[Any]] | None = None) -> Any:
        """Return the codes as a data frame with one row per cell, followed by further columns.

        A further column has one entry per cell, which may be None. If its name is that of a variable, an
        underscore is appended.
        """
        columns = {f"{name}_" if name in self.names else name: data for name, data in (further or {}).items()}
        if backend == "pandas":
            import pandas as pd  # noqa: PLC0415 - polars users need not load it

            codes = {
                name: pd.Categorical.from_codes(self.column(v), categories=pd.Index(codes, dtype=str))
                for v, (name, codes) in enumerate(zip(self.names, self.codes, strict=True))
            }
            # An extension array keeps integers next to missing values.
            return pd.DataFrame(codes | {name: pd.array(data) for name, data in columns.items()})
        texts = {
            name: np.array(codes)[self.column(v)].tolist()
            for v, (name, codes) in enumerate(zip(self.names, self.codes, strict=True))
        }
        chosen: Any = backend
        return nw.from_dict(texts | columns, backend=chosen).to_native()
