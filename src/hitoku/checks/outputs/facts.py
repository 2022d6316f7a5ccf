"""What outputs say about groups: units, records, sums and contributions, so that outputs can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from hitoku.checks.evidence import CodedCells
from hitoku.model import Floats

Kind = tuple[str | None, ...]


class Fact(NamedTuple):
    """What an output says about a group: its codes, of which kind, the number, how large its terms are."""

    codes: Mapping[str, str]
    kind: Kind
    amount: float
    scale: float = 1.0


def unit_facts(cells: CodedCells) -> Iterator[Fact]:
    """Say how many units each cell has."""
    for codes, n in zip(cells.named(), cells.n_units.tolist(), strict=True):
        yield Fact(codes, ("units",), n)


def record_facts(cells: CodedCells) -> Iterator[Fact]:
    """Say how many records each cell has."""
    for codes, n in zip(cells.named(), cells.n_records.tolist(), strict=True):
        yield Fact(codes, ("records",), n)


def contribution_facts(
    cells: CodedCells, value: str, holding: str | None, largest: Floats, size: Floats
) -> Iterator[Fact]:
    """Say what the contributions to each cell add up to, and how large the largest are."""
    for codes, own, whole in zip(cells.named(), largest.tolist(), size.tolist(), strict=True):
        yield Fact(codes, ("contributions", value, holding), whole, whole)
        for rank, amount in enumerate(own, start=1):
            yield Fact(codes, ("largest contributions", str(rank), value, holding), amount, whole)


def added_up(
    cells: CodedCells, terms: Mapping[Kind, Sequence[float]], sizes: Sequence[float]
) -> Iterator[Fact]:
    """Add numbers up over every choice of variables: the groups are all there is.

    Parameters
    ----------
    cells
        Groups without totals.
    terms
        For each kind of fact one number per group.
    sizes
        How large the terms of a sum are.
    """
    listed, names = list(cells.named()), list(cells.codes)
    for chosen in (kept for n in range(len(names) + 1) for kept in combinations(names, n)):
        for kind, amounts in terms.items():
            total: dict[tuple[str, ...], tuple[float, float]] = {}
            for codes, amount, size in zip(listed, amounts, sizes, strict=True):
                group = tuple(codes[name] for name in chosen)
                before, scale = total.get(group, (0.0, 0.0))
                total[group] = before + amount, scale + size
            for group, (amount, scale) in total.items():
                codes = dict(zip(chosen, group, strict=True))
                yield Fact(codes, kind, amount, scale if kind[0] == "sum" else 1.0)
