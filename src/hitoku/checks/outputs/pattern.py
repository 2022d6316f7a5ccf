"""One pattern for two outputs about the same cells: what the first withholds, the second does as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hitoku.checks.evidence import Evidence
from hitoku.checks.outputs.output import Output
from hitoku.checks.outputs.output_type import OutputType
from hitoku.errors import ParameterError


def take_over(asked: OutputType[Any], evidence: Evidence, like: Output) -> Evidence:
    """Withhold what another output withholds, wherever both have the same cell."""
    own, other = asked.cells(evidence), like.asked.cells(like.evidence)
    if own is None or other is None:
        return evidence
    gone = like.evidence.withheld.tolist()
    # A table that prints no totals has them in its evidence, withheld like all that does not leave.
    totals = len(next(iter(like.published.values()))) == like.evidence.n_parts
    hidden = {
        frozenset(codes.items())
        for codes, out in zip(other.named(), gone, strict=True)
        if out and (totals or len(codes) == len(other.codes))
    }
    more = np.array([frozenset(codes.items()) in hidden for codes in own.named()], dtype=np.bool_)
    return replace(evidence, withheld=evidence.withheld | more)


def withhold_cells(
    asked: OutputType[Any], evidence: Evidence, cells: Sequence[Mapping[str, str]]
) -> Evidence:
    """Withhold the cells that somebody chose by hand, and no others; what is no cell is refused."""
    own = asked.cells(evidence)
    if own is None:
        raise ParameterError(
            "output_type_without_cells",
            "a {type} has no cells that could be named",
            where="withhold",
            fix="leave it out",
            type=asked.kind,
        )
    places = {frozenset(codes.items()): at for at, codes in enumerate(own.named())}
    mask = np.zeros(evidence.n_parts, dtype=np.bool_)
    listed = isinstance(cells, Sequence) and not isinstance(cells, str)
    if not listed or not all(isinstance(cell, Mapping) for cell in cells):
        raise ParameterError(
            "cells_not_named_by_codes",
            "cells are named by their codes",
            where="withhold",
            fix="a list, such as [{fromkeys}]",
            fromkeys=dict.fromkeys(own.codes, "..."),
        )
    for cell in cells:
        at = places.get(frozenset((str(name), str(code)) for name, code in cell.items()))
        if at is None:
            said = ", ".join(f"{name}={code}" for name, code in cell.items()) or "the total"
            raise ParameterError(
                "unknown_cell",
                "there is no cell {cell}",
                where="withhold",
                fix="name codes of {codes}",
                cell=said,
                codes=", ".join(own.codes),
            )
        mask[at] = True
    return replace(evidence, withheld=mask)


def about_the_same_cells(one: Output, other: Output) -> bool:
    """Tell whether the cells of one are those of another or its totals, and that one withholds some."""
    return (
        bool(one.asked.variables)
        and set(one.asked.variables) <= set(other.asked.variables)
        and dict(one.where) == dict(other.where)
        and bool(one.asked.tells & other.asked.tells)
        and bool(other.evidence.withheld.any())
    )
