"""Which way each unsafe cell moves, where that is not left to the optimiser.

A cell that appears in two tables must move the same way in both, or a reader sees two values for one number.
So its sense may depend on the cell alone: on who is behind it, not on the table around it.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np

from hitoku.errors import ParameterError, did_you_mean
from hitoku.methods.adjust.allowed_deviations import DOWN, UP, AllowedDeviations
from hitoku.model import Floats, Table

SENSES = ("up", "down", "hash", "optimal")
# Contributions may be added up in another order in another table: so many digits are compared.
DIGITS = 9


def senses(table: Table, levels: AllowedDeviations, chosen: Any, key: str) -> Floats:
    """Return 1 for an unsafe cell that rises, -1 for one that falls, 0 for the others.

    "down" and "hash" turn around where a cell's own bounds leave no way: a count of 1 cannot fall by 3. That
    too depends on the cell alone.

    Parameters
    ----------
    table
        Supplies contributors and codes for "hash".
    levels
        Unsafe cells and what they must reach.
    chosen
        "up", "down", "hash", or one number per cell whose sign counts.
    key
        Secret of the hash.
    """
    unsafe = levels.unsafe
    if isinstance(chosen, str):
        if chosen == "up":
            wanted = np.full(len(unsafe), UP)
        elif chosen == "down":
            wanted = np.full(len(unsafe), DOWN)
        elif chosen == "hash":
            wanted = hashed(table, np.flatnonzero(unsafe), key)
        else:
            raise ParameterError(
                "unknown_senses",
                "no senses named {senses!r}",
                where="senses",
                fix=did_you_mean(chosen, SENSES),
                senses=chosen,
            )
        # Where only one way is asked for, that is the way.
        wanted = np.where((wanted == UP) & (levels.up == 0) & (levels.down > 0), DOWN, wanted)
        if chosen != "up":
            wanted = np.where((wanted == UP) & ~levels.can(UP), DOWN, wanted)
            wanted = np.where((wanted == DOWN) & ~levels.can(DOWN), UP, wanted)
    else:
        wanted = given(chosen, len(unsafe))
        if np.any(unsafe & (wanted == 0)):
            raise ParameterError(
                "unsafe_cell_without_sense",
                "an unsafe cell has no sense",
                where="senses",
                fix="give 1 (up) or -1 (down) for each",
            )
    return np.where(unsafe, wanted, 0).astype(np.float64)


def given(chosen: Any, n_cells: int) -> Floats:
    """Read senses from an array."""
    try:
        array = np.sign(np.array(chosen, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise ParameterError(
            "senses_wrong_kind",
            "senses are neither a word nor numbers",
            where="senses",
            fix="use one of: {senses}",
            senses=", ".join(SENSES),
        ) from error
    if array.shape != (n_cells,) or np.isnan(array).any():
        raise ParameterError(
            "senses_shape",
            "senses have shape {shape}, the table {n_cells} cells",
            where="senses",
            fix="give 1 (up) or -1 (down) per cell in the order of table.cells; safe cells do not matter",
            shape=array.shape,
            n_cells=n_cells,
        )
    return np.asarray(array)


def hashed(table: Table, cells: Any, key: str) -> Floats:
    """Draw a sense for some cells from a keyed hash of what identifies them; zero elsewhere.

    Where the table knows contributors: how many there are and the largest contributions, the same in every
    table of the same records. Where it does not: the codes, totals left out, so that ``region=N`` and
    ``region=N, nace=Total`` agree.

    Examples
    --------
    >>> one = Table.from_array([3, 5], names=["region"])
    >>> two = Table.from_array([[1, 2], [4, 1]], names=["region", "nace"])
    >>> same = hashed(one, [0, 1], "secret")[:2] == hashed(two, [2, 5], "secret")[[2, 5]]
    >>> bool(same.all())
    True
    """
    drawn = np.zeros(table.n_cells)
    secret = blake2b(key.encode(), digest_size=32).digest()
    known = table.contributors
    totals = {d.name: d.total for d in table.dimensions}
    for cell in cells:
        if known is not None and known.largest.shape[1]:
            largest = ",".join(f"{share:.{DIGITS}g}" for share in known.largest[cell])
            text = f"{table.measure}\x1e{known.count[cell]}\x1e{largest}"
        else:
            codes = zip(table.labels.names, table.labels.codes_of(int(cell)), strict=True)
            named = sorted(f"{name}={code}" for name, code in codes if totals.get(name) != code)
            text = "\x1f".join([table.measure, *named])
        digest = blake2b(text.encode(), digest_size=8, key=secret).digest()
        drawn[cell] = UP if digest[0] % 2 else DOWN
    return drawn
