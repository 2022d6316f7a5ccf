"""Groups that a release gives away, by the list of all tables of counts that fit it."""

from __future__ import annotations

from itertools import product

import numpy as np

from hitoku.model import Table


def fitting(table, release):
    """Every table of counts that fits a release, one per row, by trying all inner cells up to the total.

    The list is complete where the grand total is published.
    """
    inner, shape = np.flatnonzero(table.inner), tuple(len(d.leaves) for d in table.dimensions)
    withheld = release.withheld
    most = int(table.value[-1])
    choices = [np.arange(most + 1) if withheld[c] else table.value[[c]] for c in inner]
    cells = np.stack(np.meshgrid(*choices), axis=-1).reshape(-1, len(inner))
    sums = np.stack([Table.from_array(one.reshape(shape)).value for one in np.eye(len(inner))])
    tables = cells @ sums
    return tables[np.all(tables[:, ~withheld] == table.value[~withheld], axis=1)]


def rows_of(table):
    """Groups and their parts: for a flat table, a line's total and each cell in that line."""
    codes = [range(len(d.codes)) for d in table.dimensions]
    place = {where: cell for cell, where in enumerate(product(*codes))}
    for axis, dimension in enumerate(table.dimensions):
        last = len(dimension.codes) - 1
        for where, cell in place.items():
            if where[axis] == last:
                yield cell, [place[(*where[:axis], code, *where[axis + 1 :])] for code in range(last)]


def given_away(table, release, *, k=None, share=None):
    """Groups and parts: in every table that fits and has somebody in the group, too many are in the part.

    Too many: all but at most k of more than k people; or more than a share.
    """
    tables = fitting(table, release)
    found = set()
    for group, parts in rows_of(table):
        people = tables[tables[:, group] > 0]
        for part in parts:
            size, inside = people[:, group], people[:, part]
            if share is not None:
                open_ = inside * 1000 <= round(share * 1000) * size
            else:
                # Where everybody sees how many there are, it is enough that all of them may be elsewhere.
                open_ = (size - inside > k) | ((inside == 0) & ~release.withheld[group])
            if len(people) and not open_.any():
                found.add((group, part))
    return found
