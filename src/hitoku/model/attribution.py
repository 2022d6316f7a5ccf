"""Requirements on groups: it must not be known that all their members, except a few, share an attribute.

No cell need be known for that. A row with a single nonzero cell reveals the attribute of all its members,
even if the cell and its total are suppressed. It must stay possible that some people are elsewhere: a
weighted sum of cells, such as "total of the row, less that cell", must be able to reach a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from hitoku.errors import NeedError
from hitoku.model.arrays import Floats, Integers, Mask, frozen, frozen_relations
from hitoku.model.dimension import Labels

# A release or a table; neither is imported here, because both import this module.
Cells = TypeVar("Cells")


@dataclass(frozen=True, eq=False, repr=False)
class Attributions:
    """Sums of cells that must be able to reach a number, each to protect the members of one group.

    Examples
    --------
    Of 17 people in the row, one more than the single person who knows themselves might be elsewhere.

    >>> one = Attributions(sums=[[0, 0, -1, 1]], goal=[2], group=[3])
    >>> one, one.asked(np.array([0.0, 0.0, 17.0, 17.0]), np.zeros(4, dtype=bool)).tolist()
    (Attributions(1 of 4 cells), [2.0])
    """

    sums: Any
    """One row per attribution, over the cells: what must be able to become large. "All members of the group,
    less those with the attribute" is a one at the group's total and a minus one at each cell of the
    attribute."""
    goal: Floats
    """Required value of each sum: one person more than the people who share their knowledge. Zero
    for rules with a share; an empty group attains that, too, so more is required if its size is suppressed:
    see :meth:`asked`."""
    group: Integers
    """Cell of the whole group, which the sum counts and from which its attribute is subtracted. If its size
    is published, at most all of it is required."""

    def __post_init__(self) -> None:
        sums = sparse.csr_array(self.sums, dtype=np.float64)
        m, n = sums.shape
        object.__setattr__(self, "sums", frozen_relations(sums, n))
        object.__setattr__(self, "goal", frozen(self.goal, np.float64, shape=(m,), what="goals"))
        object.__setattr__(self, "group", frozen(self.group, np.int64, shape=(m,), what="groups"))
        if m and (not np.isfinite(self.goal).all() or self.group.min() < 0 or self.group.max() >= n):
            raise NeedError(
                "attribution_empty", "an attribution has no goal, or is about no cell", where="attributions"
            )

    @classmethod
    def none(cls, n_cells: int) -> Attributions:
        """Return empty requirements."""
        return _none(n_cells)

    def placed(self, cells: Integers, n_cells: int) -> Attributions:
        """Return the same requirements for a larger table, in which these cells have other positions."""
        if not len(self):
            return Attributions.none(n_cells)
        # Copies: combined sums are modified, and those of an attribution are frozen.
        parts = (self.sums.data.copy(), cells[self.sums.indices], self.sums.indptr.copy())
        sums = sparse.csr_array(parts, shape=(len(self), n_cells))
        sums.sum_duplicates()
        return Attributions(sums, self.goal, cells[self.group])

    @classmethod
    def within(
        cls,
        n_cells: int,
        group: Integers,
        inside: Integers,
        goal: float | Floats,
        weight: tuple[float, float] | Floats = (1.0, 1.0),
    ) -> Attributions:
        """Require that ``weight[0] * group - weight[1] * inside`` can reach a goal, for each group.

        Parameters
        ----------
        n_cells
            Cells of the table.
        group
            Cells of whole groups.
        inside
            For each group the cell of the attribute; or a row of several.
        goal
            Required value of the sums, one number for all or one per group.
        weight
            One pair of weights for all, or one row of two weights per group.
        """
        m = len(group)
        pairs = np.broadcast_to(np.asarray(weight, dtype=np.float64), (m, 2))
        cells = np.asarray(inside, dtype=np.int64).reshape(m, inside.size // m if m else 1)
        count = np.full(m, cells.shape[1])
        row = np.concatenate([np.arange(m), np.repeat(np.arange(m), count)])
        column = np.concatenate([group, cells.ravel()])
        data = np.concatenate([pairs[:, 0], -np.repeat(pairs[:, 1], count)])
        sums = sparse.csr_array((data, (row, column)), shape=(m, n_cells))
        return cls(sums, np.array(np.broadcast_to(goal, m)), group)

    @classmethod
    def merge(cls, several: Sequence[Attributions]) -> Attributions:
        """Return all of them without duplicates; of equal sums the one with the largest goal."""
        several = [one for one in several if len(one)] or list(several[:1])
        if len(several) == 1:
            return several[0]
        joined = cls(
            sparse.vstack([one.sums for one in several], format="csr"),
            np.concatenate([one.goal for one in several]),
            np.concatenate([one.group for one in several]),
        )
        best: dict[tuple[bytes, bytes], int] = {}
        sums = joined.sums
        for i in range(len(joined)):
            here = slice(sums.indptr[i], sums.indptr[i + 1])
            key = (sums.indices[here].tobytes(), sums.data[here].tobytes())
            if key not in best or joined.goal[best[key]] < joined.goal[i]:
                best[key] = i
        return joined.take(np.array(sorted(best.values()), dtype=np.int64))

    def take(self, chosen: Mask | Integers) -> Attributions:
        """Return some of them."""
        if not len(self):
            return self
        return Attributions(self.sums[chosen], self.goal[chosen], self.group[chosen])

    def asked(self, value: Floats, withheld: Mask) -> Floats:
        """Return the required value of each sum if these cells are suppressed, and the others published.

        If a group is known to be no larger than the coalition, it is enough
        that all of it may be elsewhere. If the size of the group is suppressed, the sum must be able to be
        positive, which is possible only if the group is not empty, because the parts of an empty group are
        empty. An empty group would not show that its members may be elsewhere.

        Examples
        --------
        At most nine of ten people in one cell; this must be possible for a nonempty group.

        >>> one = Attributions(sums=[[-10, 0, 9]], goal=[0], group=[2])
        >>> [one.asked(np.array([17.0, 0.0, 17.0]), np.full(3, hides)).tolist() for hides in (False, True)]
        [[0.0], [1.0]]
        """
        unseen = np.maximum(self.goal, self._somebody(value))
        return np.where(withheld[self.group], unseen, np.minimum(self.goal, value[self.group]))

    def _somebody(self, value: Floats) -> Floats:
        """Return the smallest positive value of each sum: at least one; for magnitudes, a small share."""
        if np.array_equal(value, np.rint(value)) and np.array_equal(self.sums.data, np.rint(self.sums.data)):
            return np.ones(len(self))
        # Share of a group's magnitude that counts as one contributor, as magnitudes have no smallest unit.
        return np.asarray(1e-3 * np.abs(self.sums.multiply(self.sums > 0) @ np.abs(value)))

    def open(self, value: Floats, withheld: Mask) -> Mask:
        """Return which ones the true table itself does not show to be harmless."""
        asked = self.asked(value, withheld)
        return np.asarray(self.sums @ value < asked - 1e-9 * np.maximum(1.0, np.abs(asked)))

    def describe(self, labels: Labels, place: int) -> str:
        """Describe one of them: the group, and the attribute."""
        return f"{labels.describe(int(self.group[place]))}: {self.attribute(labels, place)}"

    def extend_release(self, release: Cells) -> Cells:
        """Add to a release one suppressed cell for each sum."""
        wider: Cells = self._extended_release(release)
        return wider

    def _extended_release(self, release: Any) -> Any:
        m = len(self)
        return replace(
            release,
            published=np.append(release.published, np.full(m, np.nan)),
            relations=self._relations(release.relations),
            labels=self._labels(release.labels),
            dimensions=(),
            lower=np.append(release.lower, np.full(m, -np.inf)),
            upper=np.append(release.upper, np.full(m, np.inf)),
        )

    def extend_table(self, table: Cells) -> Cells:
        """Add to a table one unpublished cell for each sum."""
        wider: Cells = self._extended_table(table)
        return wider

    def _extended_table(self, table: Any) -> Any:
        m = len(self)
        return replace(
            table,
            value=np.append(table.value, self.sums @ table.value),
            relations=self._relations(table.relations),
            dimensions=(),
            labels=self._labels(table.labels),
            frequency=None,
            units=None,
            holdings=None,
            measures={},
            lower=np.append(table.lower, np.full(m, -np.inf)),
            upper=np.append(table.upper, np.full(m, np.inf)),
            cost=None,
            fixed=None if table.fixed is None else np.append(table.fixed, np.zeros(m, dtype=np.bool_)),
            hidden=None if table.hidden is None else np.append(table.hidden, np.zeros(m, dtype=np.bool_)),
        )

    def _relations(self, relations: Any) -> Any:
        m = len(self)
        old = sparse.hstack([relations, sparse.csr_array((relations.shape[0], m))])
        return sparse.vstack([old, sparse.hstack([self.sums, -sparse.identity(m)])], format="csr")

    def _labels(self, labels: Labels) -> Labels:
        """Label the sums like their groups, with a new code in the variable of the attribute."""
        codes = [list(known) for known in labels.codes]
        rows = np.stack([labels.column(v) for v in range(len(labels.names))], axis=1)
        more = np.array(rows[self.group])
        for place in range(len(self)):
            variable = self._variable(labels, place)
            codes[variable].append(f"{self.attribute(labels, place)} ({place + 1})")
            more[place, variable] = len(codes[variable]) - 1
        return Labels(labels.names, tuple(tuple(known) for known in codes), np.concatenate([rows, more]))

    def inside(self, place: int) -> list[int]:
        """Return the cells of the attribute."""
        here = slice(self.sums.indptr[place], self.sums.indptr[place + 1])
        cells, weights = self.sums.indices[here], self.sums.data[here]
        return [int(c) for c in cells[weights < 0]]

    def _variable(self, labels: Labels, place: int) -> int:
        whole = labels.codes_of(int(self.group[place]))
        parts = [labels.codes_of(cell) for cell in self.inside(place)]
        differs = (v for v in range(len(whole)) if any(part[v] != whole[v] for part in parts))
        return next(differs, 0)

    def attribute(self, labels: Labels, place: int) -> str:
        """Describe the attribute: the codes in which its cells differ from the group."""
        whole = labels.codes_of(int(self.group[place]))
        parts = [labels.codes_of(cell) for cell in self.inside(place)]
        differs = [v for v in range(len(whole)) if any(part[v] != whole[v] for part in parts)] or [0]
        return ", ".join(
            f"{labels.names[v]}={' or '.join(dict.fromkeys(part[v] for part in parts))}" for v in differs
        )

    def __len__(self) -> int:
        return len(self.goal)

    def __repr__(self) -> str:
        return f"Attributions({len(self):_} of {self.sums.shape[1]:_} cells)"


@lru_cache(maxsize=64)
def _none(n_cells: int) -> Attributions:
    # Most needs have none, and the object is immutable: one for all tables of a size.
    return Attributions(sparse.csr_array((0, n_cells)), np.zeros(0), np.zeros(0, dtype=np.int64))
