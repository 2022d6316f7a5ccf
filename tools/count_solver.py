"""Counts and percentages of tables, solved as one system of whole numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize
from tools.released import CLOSE, EVERYBODY, EXACT, Claim, Group, Released, in_group, words

# Tables of more combinations of codes are left alone, and one question takes no longer than this.
MAX_ATOMS, TIME_LIMIT_S = 200, 5.0


@dataclass
class CountSystem:
    """Counts and percentages of tables as one system of whole numbers."""

    people: pd.DataFrame
    minimum: int
    share: float

    def attack(self, outputs: Sequence[Released]) -> list[Claim]:
        """Find withheld counts that only one number fits, and shares that are surely too large."""
        tables = [each for each in outputs if each.filter is not None and self._values(each)]
        withheld = any(entry is None for each in tables for entry in each.columns[self._values(each)])
        used = sorted({name for each in tables for name in (*each.by, *(n for n, _ in each.filter or ()))})
        if not withheld or not used:
            return []
        lists = [sorted(self.people[name].astype(str).unique()) for name in used]
        atoms = list(product(*lists))
        if len(atoms) > MAX_ATOMS:
            return []
        self.places = {name: np.array([atom[at] for atom in atoms]) for at, name in enumerate(used)}
        self.n_atoms = len(atoms)
        rows = [np.ones(self.n_atoms)]
        low, high = [float(len(self.people))], [float(len(self.people))]
        for each in tables:
            for row, least, most in self._constraints(each):
                rows.append(row)
                low.append(least)
                high.append(most)
        self.system = optimize.LinearConstraint(np.array(rows), np.array(low), np.array(high))
        claims: list[Claim] = []
        for each in tables:
            claims += self._targets(each)
        return list(dict.fromkeys(claims))

    @staticmethod
    def _values(each: Released) -> str:
        """Return the column of counts or percentages of an output, or nothing."""
        if each.method in {"frequency_table", "percentages"}:
            return list(each.columns)[-1]
        return "count" if "count" in each.columns and each.by else ""

    def _cells(self, group: Group) -> np.ndarray[Any, Any]:
        kept = np.ones(self.n_atoms, dtype=bool)
        for name, code in group:
            kept &= self.places[name] == code
        return kept.astype(float)

    def _lines(self, each: Released, group: Group) -> list[Group]:
        """Return the totals that a cell is a part of: all but one of its codes.

        That all have the only code of a variable is known from the list of its codes.
        """
        return [
            group - {(name, code)}
            for name, code in group
            if name in each.by and len(set(self.places[name])) > 1
        ]

    def _whole(self, each: Released, group: Group) -> Group:
        """Return what a percentage is a share of."""
        of = each.options.get("of", "row")
        kept = {"row": each.by[:-1], "column": each.by[-1:], "all": []}[of if len(each.by) > 1 else "all"]
        return (each.filter or EVERYBODY) | {(name, code) for name, code in group if name in kept}

    def _constraints(self, each: Released) -> Iterator[tuple[np.ndarray[Any, Any], float, float]]:
        column = self._values(each)
        for group, row in each.rows():
            entry = row[column]
            if entry is None:
                continue
            if each.method != "percentages":
                yield self._cells(group), float(entry), float(entry)
                continue
            decimals = each.options.get("decimals", 1)
            half = 0.5 * 10.0 ** -(10 if decimals is None else decimals) + EXACT
            part, whole = self._cells(group), self._cells(self._whole(each, group))
            yield 100 * part - (entry - half) * whole, 0.0, np.inf
            yield 100 * part - (entry + half) * whole, -np.inf, 0.0

    def _targets(self, each: Released) -> Iterator[Claim]:
        column = self._values(each)
        for group, row in each.rows():
            if row[column] is not None:
                continue
            truth = self._count(group)
            cells = self._cells(group)
            if 0 < truth < self.minimum:
                most = self._best(-cells)
                if most is not None and round(-most) <= truth:
                    least = self._best(cells)
                    if least is not None and round(least) == round(-most):
                        text = f"{truth} people in {words(group)}"
                        yield Claim("withheld count", text, round(least) == truth)
            if each.method not in {"frequency_table", "percentages"}:
                continue
            for line in self._lines(each, group):
                whole = self._count(line)
                if not whole or truth <= self.share * whole:
                    continue
                total = self._cells(line)
                least = self._best(cells - self.share * total, total)
                if least is not None and least > CLOSE:
                    text = f"more than {self.share:.0%} of {words(line)} are in {words(group)}"
                    yield Claim("withheld share", text, True)

    def _count(self, group: Group) -> int:
        return int(in_group(self.people, group).sum())

    def _best(
        self, cost: np.ndarray[Any, Any], at_least_one: np.ndarray[Any, Any] | None = None
    ) -> float | None:
        """Return the least value of a sum of counts; None where the solver does not say."""
        systems = [self.system]
        if at_least_one is not None:
            systems.append(optimize.LinearConstraint(at_least_one[None, :], 1.0, np.inf))
        found = optimize.milp(
            cost,
            constraints=systems,
            integrality=np.ones(self.n_atoms),
            bounds=optimize.Bounds(0, len(self.people)),
            options={"time_limit": TIME_LIMIT_S},
        )
        return float(found.fun) if found.status == 0 else None
