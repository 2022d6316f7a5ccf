"""Risk per record the long way: every table that fits is listed, every record is looked at by itself."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from tests.oracles.enumeration import fitting_tables

from hitoku.model import Release

Records = list[tuple[tuple[str, ...], str, int]]  # codes, contributor, amount
TOTAL = "Total"


def listed_risk(
    release: Release, records: Records, largest: int, *, counts: bool
) -> dict[str, dict[str, Any]]:
    """By contributor: what a release of a flat table says, from all tables that fit."""
    codes = [release.labels.codes_of(cell) for cell in range(release.n_cells)]
    fits = []
    for chosen in fitting_tables(release, largest):
        values = release.published.copy()
        values[release.withheld] = chosen
        fits.append(dict(zip(codes, values.tolist(), strict=True)))
    amounts: dict[tuple[str, ...], dict[str, int]] = {code: {} for code in codes}
    for own, name, amount in records:
        for cell in product(*((code, TOTAL) for code in own)):
            amounts[cell][name] = amounts[cell].get(name, 0) + (1 if counts else amount)
    found = {}
    for name in sorted({name for _, name, _ in records}):
        mine = [cell for cell in codes if name in amounts[cell]]
        known = [cell for cell in mine if len({table[cell] for table in fits}) == 1]
        risk: dict[str, Any] = {"cells": len(mine), "known": len(known)}
        risk["fewest"] = min((len(amounts[cell]) for cell in known), default=None)
        if counts:
            risk["exposed"] = {
                variable
                for variable, _ in enumerate(release.labels.names)
                for cell in mine
                if cell[variable] != TOTAL and _nowhere_else(fits, codes, cell, variable)
            }
        else:
            far, near = [], []
            for cell in mine:
                own = amounts[cell][name]
                other = max((a for one, a in amounts[cell].items() if one != name), default=0)
                if own > 0:
                    most = max(table[cell] for table in fits)
                    far.append(100 * (most - own) / own)
                    near.append(100 * max(most - other - own, 0) / own)
            risk["outsider"], risk["insider"] = min(far, default=np.nan), min(near, default=np.nan)
        found[name] = risk
    return found


def _nowhere_else(
    fits: list[dict[Any, float]], codes: list[Any], cell: tuple[str, ...], variable: int
) -> bool:
    """Everybody with the other codes of a cell is in it, in every table that fits."""
    beside = [
        other
        for other in codes
        if other[variable] not in {TOTAL, cell[variable]}
        and other[:variable] + other[variable + 1 :] == cell[:variable] + cell[variable + 1 :]
    ]
    return bool(beside) and all(table[other] == 0 for table in fits for other in beside)
