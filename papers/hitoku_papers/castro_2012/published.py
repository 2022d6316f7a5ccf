"""The numbers of Tables 1 to 9 as they are printed in the paper."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

SCENARIOS = ("B1", "B2", "B3", "C")
NORMS = ("l1", "l2")


@dataclass(frozen=True, slots=True)
class Dimensions:
    """A line of Table 1.

    Parameters
    ----------
    cells, unsafe, relations, terms
        Size of the instance; terms are the non-zero coefficients of the relations.
    seconds
        CPU time of the protection and all forty attacks, by norm.
    multipliers
        Sum of the absolute Lagrange multipliers of the bounds, by norm.
    """

    cells: int
    unsafe: int
    relations: int
    terms: int
    seconds: dict[str, float]
    multipliers: dict[str, float]


def _lines(name: str) -> list[dict[str, str]]:
    text = files(__package__).joinpath(name).read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


@cache
def dimensions() -> dict[str, Dimensions]:
    """Table 1, by instance.

    Examples
    --------
    >>> dimensions()["targus"].cells, dimensions()["targus"].multipliers["l2"]
    (162, 0.46)
    """
    return {
        line["instance"]: Dimensions(
            cells=int(line["cells"]),
            unsafe=int(line["unsafe"]),
            relations=int(line["relations"]),
            terms=int(line["terms"]),
            seconds={norm: float(line[f"{norm}_seconds"]) for norm in NORMS},
            multipliers={norm: float(line[f"{norm}_multipliers"]) for norm in NORMS},
        )
        for line in _lines("table_1.csv")
    }


@cache
def shares() -> dict[tuple[str, str], dict[str, tuple[float, ...]]]:
    """Tables 2 to 9: by scenario and norm, by instance, the percentages in the eight intervals.

    Examples
    --------
    >>> shares()["C", "l2"]["targus"][:2]
    (97.7, 2.3)
    """
    found: dict[tuple[str, str], dict[str, tuple[float, ...]]] = {}
    for line in _lines("tables_2_to_9.csv"):
        _, scenario, norm, instance, *percent = line.values()
        found.setdefault((scenario, norm), {})[instance] = tuple(float(share) for share in percent)
    return found


def printed_name(instance: str) -> str:
    """Return the name under which an instance stands in the paper.

    ``targus_additive`` is targus with the digits that make it add up, all else equal.
    """
    return instance.removesuffix("_additive")


def number(scenario: str, norm: str) -> int:
    """Return the number of the table of a scenario and norm.

    Examples
    --------
    >>> number("B1", "l1"), number("C", "l2")
    (2, 9)
    """
    return 2 + 2 * SCENARIOS.index(scenario) + NORMS.index(norm)
