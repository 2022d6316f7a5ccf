"""A regression on dummies is a table: what it implies about the units of its estimation sample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from hitoku.attacks.differencing import Partition
from hitoku.errors import DataError


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
