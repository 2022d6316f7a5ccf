"""The rule of direct disclosure, for frequency tables.

k people who pool their knowledge can subtract themselves from a row. If everyone
else in the row is then in one cell, they know that cell's attribute for each of the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hitoku.errors import RuleError, did_you_mean
from hitoku.model import Attributions, Floats, Integers, Mask, Need, Table
from hitoku.parameters import Codes, CodeSets, Names, Whole, as_names, codes_of, sets_of
from hitoku.rules.levels import need_of_rule, per_person, respondents_of, tells_of_people
from hitoku.rules.parts import Parts, parts_of, require_variables
from hitoku.rules.rule import check_rule


@dataclass(frozen=True, slots=True)
class DirectDisclosure:
    """Flag cells that contain all but at most k of the people in their row of a sensitive variable.

    Parameters
    ----------
    k
        Number of people who share their knowledge; 0 for an attacker who is not in the data.
    sensitive
        Variables whose codes must not be inferred about anyone. Default: all of them. In a hierarchy, the
        codes at the lowest level count, each in its immediate group.
    unknown
        Codes that carry no information: ``{"injury": "Unknown"}``. Inferring one of them reveals nothing, and
        no person can be identified by one, so cells with such a code are not flagged.
    harmless
        Informative codes that may be inferred: ``{"injury": "None"}``.
    forbidden
        Sets of codes that must not be inferred either: ``{"injury": [("Light", "Serious")]}`` if it is
        sensitive
        that everyone was hurt. A code that is a group of others is its own set:
        ``{"injury": ["Hurt"]}``. All cells of the set are flagged.
    identifying
        Variables that identify people. Default: all of them. A row described by a code of
        another variable identifies no one, so only rows over its total count.

    Examples
    --------
    >>> table = Table.from_array([[0, 0, 17], [1, 0, 12], [3, 2, 2]], names=("group", "injury"))
    >>> DirectDisclosure(k=1, sensitive="injury").assess(table).unsafe.nonzero()[0].tolist()
    [2, 6]
    """

    name: ClassVar[str] = "direct_disclosure"
    about_groups: ClassVar[bool] = True

    k: Whole = 1
    sensitive: Names | None = None
    unknown: Codes = ()
    harmless: Codes = ()
    forbidden: CodeSets = ()
    identifying: Names | None = None

    def __post_init__(self) -> None:
        check_rule(self)

    def assess(self, table: Table) -> Need:
        """Flag cells with frequency(parent) - k <= frequency(cell), except empty cells and unknowns."""
        frequency = respondents_of(table, self.name)
        sensitive = table.labels.names if self.sensitive is None else self.sensitive
        sensitive = as_names(sensitive)
        require_variables(table, sensitive, self.name)
        unknown, harmless = self._carries(table, "unknown"), self._carries(table, "harmless")
        unsafe = np.zeros(table.n_cells, dtype=bool)
        lower = np.zeros(table.n_cells)
        counts, people = np.array_equal(frequency, table.value), tells_of_people(table)
        learnt = [Attributions.none(table.n_cells)]
        for variable in sensitive:
            pairs = parts_of(table, [variable]).of_totals(self._placeable(table, variable))
            # By the variable's own hierarchy: relations added by linked tables do not define groups.
            single = ~np.isin(pairs.part, pairs.groups())
            found = [
                (pairs.total[single], pairs.part[single, None], pairs.weight[single], ~unknown & ~harmless)
            ]
            found += [
                (*self._in_set(table, codes, variable, pairs), ~unknown)
                for name, codes in sets_of(self.forbidden)
                if name == variable
            ]
            for total, parts, weight, allowed in found:
                outside = frequency[total] - weight * frequency[parts].sum(axis=1)
                close = (outside <= self.k) & allowed[parts].any(axis=1)
                if people:
                    pair = np.stack([np.ones(len(weight)), weight], axis=1)[close]
                    goal = (self.k + 1) * per_person(table, total[close])
                    learnt.append(Attributions.within(table.n_cells, total[close], parts[close], goal, pair))
                # An empty cell discloses no one, even in a row no larger than the coalition.
                hit = close[:, None] & allowed[parts] & (frequency[parts] > 0)
                unsafe[parts[hit]] = True
                # With one more person outside the cell than the coalition knows, it cannot be sure.
                more = np.broadcast_to(self.k + 1 - outside[:, None], parts.shape)
                np.maximum.at(lower, parts[hit], more[hit])
        if not counts:
            lower[:] = 0.0
        return need_of_rule(table, self.name, unsafe, lower, attributions=Attributions.merge(learnt))

    def _placeable(self, table: Table, sensitive: str) -> Mask:
        """Return which cells are described by identifying variables alone, except for the sensitive one."""
        found = np.ones(table.n_cells, dtype=bool)
        if self.identifying is None:
            return found
        require_variables(table, self.identifying, self.name)
        for place, variable in enumerate(table.labels.names):
            if variable != sensitive and variable not in self.identifying:
                codes = table.labels.column(place)
                pairs = parts_of(table, [variable])
                found &= ~np.isin(codes, codes[pairs.part[pairs.own]])
        return found

    def _in_set(
        self, table: Table, codes: tuple[str, ...], variable: str, pairs: Parts
    ) -> tuple[Integers, Integers, Floats]:
        """Return rows that contain a whole set: their totals, the cells of the set, and their weights."""
        place = table.labels.names.index(variable)
        numbers = [_number(table, place, code, f"rule {self.name}, forbidden") for code in codes]
        inside = np.isin(table.labels.column(place)[pairs.part], numbers) & (pairs.weight == 1)
        total, part = np.unique(np.stack([pairs.total[inside], pairs.part[inside]]), axis=1)
        row, first, held = np.unique(total, return_index=True, return_counts=True)
        whole = held == len(codes)
        cells = part[first[whole, None] + np.arange(len(codes))]
        return row[whole], cells, np.ones(len(cells))

    def _carries(self, table: Table, what: str) -> Mask:
        found = np.zeros(table.n_cells, dtype=bool)
        for variable, code in codes_of(getattr(self, what)):
            require_variables(table, [variable], self.name)
            place = table.labels.names.index(variable)
            number = _number(table, place, code, f"rule {self.name}, {what}")
            found |= table.labels.column(place) == number
        return found


def _number(table: Table, place: int, code: str, where: str) -> int:
    codes = table.labels.codes[place]
    if code not in codes:
        raise RuleError(
            "unknown_code_of_variable",
            "variable {variable!r} has no code {code!r}",
            where=where,
            fix=did_you_mean(code, codes),
            variable=table.labels.names[place],
            code=code,
        )
    return codes.index(code)
