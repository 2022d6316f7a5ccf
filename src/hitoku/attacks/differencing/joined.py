"""Releases without their records: what their codes alone disclose together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from hitoku.attacks.differencing.atoms import Atoms, Disclosed, number_of_atoms
from hitoku.attacks.differencing.axes import Axis, Meanings, axes_of
from hitoku.model import Integers, Release


@dataclass(frozen=True, eq=False, repr=False)
class Differences:
    """Groups that several releases disclose together.

    Parameters
    ----------
    found
        Groups below the threshold, the smallest first.
    threshold
        Minimum size of a group.
    untested
        Positions of releases whose cells have no machine-readable definition: they were not tested.
    """

    found: tuple[Disclosed, ...]
    threshold: float
    untested: tuple[int, ...] = field(default=())

    def __repr__(self) -> str:
        missing = f", {len(self.untested)} release(s) not testable" if self.untested else ""
        return f"Differences({len(self.found)} group(s) below {self.threshold:g}{missing})"


def differencing(
    releases: Sequence[Release], *, threshold: float = 10, meanings: Meanings | None = None
) -> Differences:
    """Find groups that several releases of counts about the same units single out together.

    Only the releases are needed: their codes define their cells. All are assumed to cover the
    same population; a variable that a release does not have is summed over in it.

    Parameters
    ----------
    releases
        Tables of counts as published.
    threshold
        Minimum size of a group; smaller ones must not be singled out.
    meanings
        For a variable, the finer codes of a code: ``{"area": {"North": ["N1", "N2"]}}``. Ranges
        of integers and hierarchies need none.

    Returns
    -------
    Differences
        Groups below the threshold, and releases that were not testable.

    Examples
    --------
    Table 1 of Kikuchi and Minami (2017): every cell has ten units or more, and one person is aged 19 or 20.

    >>> from hitoku.model import Protection
    >>> from hitoku.model import Table
    >>> def ages(counts, codes):
    ...     table = Table.from_array(counts, names=["age"], codes=[codes])
    ...     return Release.of(table, Protection.withhold(table, table.value < 0))
    >>> first = ages([18, 19, 20], ["0-18", "19-25", "26-30"])
    >>> second = ages([19, 18, 20], ["0-20", "21-25", "26-30"])
    >>> for one in differencing([first, second]).found:
    ...     print(one)
    age=19-20: 19 - 18 = 1, from output 1 and output 2
    """
    testable = [place for place, release in enumerate(releases) if release.dimensions]
    untested = tuple(sorted(set(range(len(releases))) - set(testable)))
    if not testable:
        return Differences((), threshold, untested)
    known = [releases[place] for place in testable]
    axes = axes_of(known, meanings or {})
    joint = _joint(known, axes, testable)
    return Differences(tuple(joint.disclosed(threshold)), threshold, untested)


def _joint(releases: Sequence[Release], axes: Sequence[Axis], places: Sequence[int]) -> Atoms:
    """Write all published cells as sums over atoms."""
    n_atoms = number_of_atoms([len(axis.points) for axis in axes])
    blocks, values, cells, names = [], [], [], []
    for number, release in enumerate(releases):
        block = sparse.csr_array(np.ones((1, 1)))
        for axis in axes:
            members = axis.members[number]
            whole = np.ones((1, len(axis.points))) if members is None else members.astype(np.float64)
            block = sparse.csr_array(sparse.kron(block, sparse.csr_array(whole), format="csr"))
        there = _in_order(release, axes, number)
        shown = np.flatnonzero(~release.withheld)
        blocks.append(block[there[shown]])
        values.append(release.published[shown])
        cells += [(places[number], int(cell)) for cell in shown]
        names += [release.describe(int(cell)) for cell in shown]
    return Atoms(
        names=[axis.name for axis in axes],
        points=[axis.points for axis in axes],
        possible=np.arange(n_atoms),
        sums=sparse.csr_array(sparse.vstack(blocks)),
        value=np.concatenate(values),
        cells=cells,
        labels=names,
    )


def _in_order(release: Release, axes: Sequence[Axis], number: int) -> Integers:
    """Return the position of each cell of a release, with its variables in the order of the axes."""
    place = np.zeros(release.n_cells, dtype=np.int64)
    names = list(release.labels.names)
    for axis in axes:
        members = axis.members[number]
        if members is not None:
            place = place * len(members) + release.labels.column(names.index(axis.name))
    return place
