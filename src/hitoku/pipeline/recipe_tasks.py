"""The tasks of a recipe, one for each group of tables that shares nothing with others.

Tasks are independent, so several can run in parallel, in this process or in others. They include the records
that filters exclude (:func:`assess_filter_remainder`), which are not published, but follow by subtraction of
two tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from hitoku.evidence import Outcome
from hitoku.methods import Method, Progress, requires_groups
from hitoku.model import Attributions, Finding, Integers, Need, Table, parse_scope
from hitoku.pipeline.atom_pattern import SharedCells
from hitoku.pipeline.fan_out import Jobs, fan_out
from hitoku.pipeline.magnitude_tables import counts_of, suppress_magnitude
from hitoku.pipeline.protect import WritableOutcome, protect_table
from hitoku.rules import Given, Rule, assess


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FilterRemainder(Given):
    """Unsafe cells among the records that filters exclude, with requirements on groups there."""

    name: ClassVar[str] = "filter_remainder"

    learnt: Attributions = field(kw_only=True)

    def assess(self, table: Table) -> Need:
        """Flag the cells, and add the group requirements of their own table."""
        return replace(Given.assess(self, table), attributions=self.learnt)


def assess_filter_remainder(
    table: Table,
    rest: Sequence[tuple[Table, Integers]],
    rules: Sequence[Rule],
    width: Callable[[Table], Any],
    *,
    groups: bool = True,
) -> list[Rule]:
    """Return a rule that flags the hidden cells of a table as other rules do; empty if none is flagged.

    Parameters
    ----------
    table
        Several tables as one.
    rest
        Tables of the records that filters exclude, each with the positions of its cells in ``table``.
    rules
        The rules; rules about cells of ``table`` itself cannot be among them.
    width
        Function from a table to the width for :func:`hitoku.assess`.
    groups
        As passed to :func:`hitoku.assess`.
    """
    unsafe = np.zeros(table.n_cells, dtype=bool)
    levels = np.zeros((3, table.n_cells))
    learnt = [Attributions.none(table.n_cells)]
    for one, cells in rest if rules else ():
        need = assess(one, rules, width=width(one), groups=groups)
        learnt.append(need.attributions.placed(cells, table.n_cells))
        hidden = ~table.shown[cells]
        unsafe[cells[hidden & need.unsafe]] = True
        for level, asked in zip(levels, (need.lower, need.upper, need.width), strict=True):
            np.maximum.at(level, cells[hidden], asked[hidden])
    every = Attributions.merge(learnt)
    return [FilterRemainder(unsafe, *levels, learnt=every)] if unsafe.any() or len(every) else []


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupTask:
    """One group with the input of its protection.

    Parameters
    ----------
    table, rest, remarks
        As in :class:`hitoku.pipeline.recipe_tables.Built`.
    rules, method, width, insiders, groups
        Settings for the table.
    judges
        The rules of the recipe alone, which assess remainders of filters.
    counts
        For the counts of a magnitude table, arguments of :func:`suppress_magnitude`; None without.
    against
        Attackers that the verdict depends on; None for the default ones.
    shared
        Of tables with their atoms: the same without atoms, which are protected first.
    tables
        Why it is not decided what the tables of the recipe show together; empty for a single table.
    atoms
        The table has its atoms, so that it is decided what its tables show together.
    by_hand
        Whether cells were suppressed manually, so that the pattern does not follow from the method alone.
    """

    table: Table
    rest: tuple[tuple[Table, Integers], ...]
    remarks: tuple[Finding, ...]
    rules: Sequence[Rule]
    judges: Sequence[Rule]
    method: Method
    width: float | None
    insiders: Any
    groups: bool = True
    counts: Mapping[str, Any] | None = None
    against: Sequence[str] | None = None
    shared: SharedCells | None = None
    tables: str = ""
    atoms: bool = False
    by_hand: bool = False

    def run(
        self, tell: Callable[[str], None] | None = None, progress: Progress | None = None
    ) -> dict[str, Outcome]:
        """Protect the group; the keys are "counts" and "magnitudes", or "table"."""
        if self.counts is None:
            outcome = protect_table(
                self.table,
                [
                    *self.rules,
                    *self._of_filter_remainder(self.rest, self.judges, lambda _: self.width),
                ],
                method=self.method,
                width=self.width,
                insiders=self.insiders,
                against=self.against,
                groups=self.groups,
                shared=self.shared,
                report=tell,
                progress=progress,
            )
            return {"table": self._complete(outcome)}
        counts, share = dict(self.counts), self.counts["width_share"]
        judges, width = counts["frequency_rules"], counts["frequency_width"]
        rest = [(counts_of(one), places) for one, places in self.rest]
        counts["frequency_rules"] = [
            *judges,
            *self._of_filter_remainder(rest, judges, lambda _: width),
        ]
        both = suppress_magnitude(
            self.table,
            [
                *self.rules,
                *self._of_filter_remainder(self.rest, self.judges, lambda one: share * np.abs(one.value)),
            ],
            method=self.method,
            insiders=self.insiders,
            groups=self.groups,
            report=tell,
            progress=progress,
            **counts,
        )
        found = {"counts": both.frequency, "magnitudes": both.magnitude}
        return {kind: self._complete(outcome) for kind, outcome in found.items()}

    def _complete(self, outcome: WritableOutcome) -> WritableOutcome:
        """Add what the recipe says about the table and those published with it."""
        return replace(
            outcome,
            remarks=self.remarks,
            against=None if self.against is None else parse_scope(self.against),
            tables="; ".join(filter(None, (self.tables, outcome.tables))),
            atoms=self.atoms,
            made=None if self.by_hand else outcome.made,
        )

    def _of_filter_remainder(
        self,
        rest: Sequence[tuple[Table, Integers]],
        judges: Sequence[Rule],
        width: Callable[[Table], Any],
    ) -> list[Rule]:
        groups = self.groups and requires_groups(self.method)
        return assess_filter_remainder(self.table, rest, judges, width, groups=groups)


def run_tasks(
    tasks: Sequence[GroupTask],
    tell: Callable[[str], None],
    progress: Progress | None = None,
    jobs: Jobs = None,
) -> list[dict[str, Outcome]]:
    """Run tasks in parallel; results do not depend on the number of workers.

    Parameters
    ----------
    tasks
        Groups of tables.
    tell, progress
        For a single group, called with stages and the method's progress; for several with the number done.
    jobs
        Backend; see :mod:`hitoku.pipeline.fan_out`.
    """
    if len(tasks) == 1:
        return [tasks[0].run(tell, progress)]
    tell("protect")
    done: list[dict[str, Outcome]] = []
    for found in fan_out([task.run for task in tasks], jobs):
        done.append(found)
        if progress is not None:
            progress(len(done), len(tasks))
    return done
