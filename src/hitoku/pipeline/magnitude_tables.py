"""Magnitude tables: their own rules, and the cells suppressed in the table of counts, in one procedure.

The procedure of Kikuchi and Minami (2017), Figure 5. Rules on the contributions (dominance, p%) flag cells of
the magnitudes; the table of counts of the same breakdown is protected; cells suppressed there are suppressed
in the magnitudes as well; then further cells are suppressed until every one of these is protected.

Both tables are published together, so bounds of cells express what one reveals about the other: a cell with a
magnitude has a contributor, and one without contributors has no magnitude
(:mod:`hitoku.evidence.counts_beside`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hitoku.coalitions import Insiders, choose_insiders
from hitoku.errors import ParameterError, RuleError, TableError
from hitoku.evidence import (
    ANY_CONTRIBUTION,
    Beside,
    amounts_that_fit,
    checked_contribution,
    combine,
    companion_of,
    counts_that_fit,
)
from hitoku.messages import Arguments
from hitoku.methods import Method, Progress, extend_protection, requires_groups
from hitoku.model import Mask, Need, Protection, Table, Verdict, broken, counted_table
from hitoku.pipeline.known_method import Made
from hitoku.pipeline.protect import Report, WritableOutcome, attack_and_audit, promises_intervals
from hitoku.rules import Rule, assess, merge_withheld

# Requirement of the paper: no count known to within fewer than 10, no magnitude to within 30 % of its value.
COUNT_WIDTH = 10.0
# Row "tables" of both verdicts if a method has a guarantee of its own, which holds for single tables.
SEPARATELY = (
    "counts and magnitudes were judged separately: a published count may narrow a withheld magnitude, and a "
    "published magnitude a withheld count; auto, optimal, circulation and greedy protect both together"
)
WIDTH_SHARE = 0.3


@dataclass(frozen=True, eq=False, kw_only=True)
class MagnitudeOutcome:
    """The two releases of one breakdown: counts and magnitudes, each with its audit."""

    frequency: WritableOutcome
    magnitude: WritableOutcome

    @property
    def safe(self) -> bool:
        """Whether both releases passed their audits."""
        return self.frequency.audit.safe and self.magnitude.audit.safe

    @property
    def verdict(self) -> Verdict:
        """Combination of both verdicts: each row has the worse result."""
        return combine({"counts": self.frequency.verdict, "magnitudes": self.magnitude.verdict})

    def __repr__(self) -> str:
        said = "safe" if self.safe else "NOT safe"
        return (
            f"MagnitudeOutcome({said}: counts {self.frequency.protection!r}, "
            f"magnitudes {self.magnitude.protection!r})"
        )


def suppress_magnitude(
    table: Table,
    rules: Sequence[Rule],
    *,
    method: Method,
    frequency_rules: Sequence[Rule],
    frequency_method: Method | None = None,
    frequency_width: ArrayLike | None = COUNT_WIDTH,
    frequency_withheld: ArrayLike | Protection | None = None,
    width_share: ArrayLike = WIDTH_SHARE,
    contribution_bounds: tuple[float, float] = ANY_CONTRIBUTION,
    insiders: Any = None,
    groups: bool = True,
    report: Report | None = None,
    progress: Progress | None = None,
) -> MagnitudeOutcome:
    """Protect a magnitude table together with the counts of its contributors.

    Parameters
    ----------
    table
        Magnitudes with contributors, as :func:`hitoku.tabulate` makes them with ``value=``. The counts are
        its ``frequency``, which must add up.
    rules
        Rules on the magnitudes: dominance, p%; see :func:`hitoku.assess`.
    method
        Method that chooses secondary suppressions.
    frequency_rules
        Rules on the counts: minimum frequency, group disclosure.
    frequency_method
        The method for the counts. Default: ``method``.
    frequency_width
        Required length of the interval of every unsafe count. None: as the rules require.
    frequency_withheld
        Manually suppressed counts, a mask or a protection. No method runs on the counts then; the
        audit decides whether the pattern is sufficient.
    width_share
        Required length of the interval of every unsafe cell, and of every cell whose count is suppressed, as
        a share of its size: one number, or one per cell.
    contribution_bounds
        Publicly known bounds of one contribution to a cell.
    insiders
        Insiders from whom to protect the magnitudes; see :func:`hitoku.protect`.
    groups
        Keep groups that can be derived from published cells large enough; see :func:`hitoku.protect`.
    report, progress
        As in :func:`hitoku.protect`; the stages occur twice, for the counts and for the magnitudes.

    Notes
    -----
    A share of zero is zero: a suppressed zero must not be exactly derivable, without a required width
    (the rule ``zero`` requires one). Structural zeros are published in both tables. With negative
    values, shares are those of the absolute value, and no lower bound is known.

    Readers of both tables know that a cell with a magnitude has a contributor and that one without
    contributors has no magnitude. Counts are protected from an attacker who knows all magnitudes, and
    magnitudes from one who knows of every published count, and every count that follows from these, whether
    it is zero. Methods with guarantees of their own (``Gauss``, ``Blocks``, ``Randomised``, ``Adjust``)
    protect each table separately.

    Examples
    --------
    >>> import pandas as pd
    >>> from hitoku.methods.greedy import Greedy
    >>> from hitoku.rules import MinFrequency, PPercent
    >>> from hitoku.tabulation import tabulate
    >>> firms = pd.DataFrame({
    ...     "region": list("NNNNNSSSSSSWWWWW"),
    ...     "trade": list("AABBBAAABBBAABBB"),
    ...     "turnover": [40, 70, 30, 5, 30, 25, 25, 20, 70, 15, 5, 30, 60, 45, 45, 10],
    ... })
    >>> table = tabulate(firms, by=["region", "trade"], value="turnover")
    >>> outcome = suppress_magnitude(
    ...     table, [PPercent(10)], method=Greedy(), frequency_rules=[MinFrequency(3)], frequency_width=3
    ... )
    >>> outcome.safe, bool(np.all(outcome.magnitude.release.withheld >= outcome.frequency.release.withheld))
    (True, True)
    """
    tell = report or (lambda _stage: None)
    share = _share(table, width_share)
    inside = choose_insiders(table, insiders, with_intervals=promises_intervals(method))
    by = frequency_method or method
    together = requires_groups(method) and requires_groups(by)
    tell("assess")
    own = _own_need(table, rules, share, groups=groups and requires_groups(method))
    counts = counts_of(table)
    contribution = checked_contribution(table, counts, contribution_bounds)
    if together:
        counts = counts_that_fit(counts, table, contribution)
    made: Made | None = None
    need = assess(counts, frequency_rules, width=frequency_width, groups=groups and requires_groups(by))
    tell("protect")
    if frequency_withheld is None:
        chosen = by.protect(counts, need, progress)
        # Bounds of the counts follow from the magnitudes, and the matching attack on the counts does not use
        # them.
        made = None if together else Made(frequency_rules, by, frequency_width, groups)
    else:
        given = frequency_withheld
        chosen = Protection.withhold(counts, given.withheld if isinstance(given, Protection) else given, need)
    frequency = attack_and_audit(
        counts, need, chosen, by, Insiders(None, "none"), tell, rules=frequency_rules, groups=groups
    )
    tell("assess")
    # A hidden cell is not published, so a suppressed count reveals nothing about it.
    withheld = frequency.release.withheld & (table.shown | need.unsafe)
    companion = counts.value
    if together:
        companion = counts.value if contribution[0] > 0 else companion_of(counts, frequency.release)
        table = amounts_that_fit(table, companion, contribution)
        own = _own_need(table, rules, share, groups=groups and requires_groups(method))
    merged = merge_withheld(table, own, withheld & ~_known_cells(table), share)
    tell("protect")
    chosen = method.protect(table, merged, progress)
    if np.any(withheld & ~chosen.withheld):
        # Known to be empty, and suppressed like the count.
        more = chosen.withheld | withheld
        chosen = extend_protection(table, merged, chosen, method, more, steps=chosen.steps, purpose="counts")
    magnitude = attack_and_audit(
        table, merged, chosen, method, inside, tell, progress, rules=rules, groups=groups
    )
    if not together:
        return MagnitudeOutcome(
            frequency=replace(frequency, tables=SEPARATELY, made=made),
            magnitude=replace(magnitude, tables=SEPARATELY),
        )
    beside_counts = Beside(
        kind="amounts",
        table=table,
        withheld=magnitude.release.withheld,
        companion=table.value,
        contribution=contribution,
    )
    beside_amounts = Beside(
        kind="counts",
        table=counts,
        withheld=frequency.release.withheld,
        companion=companion,
        contribution=contribution,
    )
    return MagnitudeOutcome(
        frequency=replace(frequency, audit=replace(frequency.audit, beside=beside_counts)),
        magnitude=replace(magnitude, audit=replace(magnitude.audit, beside=beside_amounts)),
    )


def _own_need(table: Table, rules: Sequence[Rule], share: Any, *, groups: bool) -> Need:
    """Apply the rules on the magnitudes, except to cells that are known from the counts."""
    return assess(table, rules, width=share * np.abs(table.value), groups=groups).only(~_known_cells(table))


def _known_cells(table: Table) -> Mask:
    """Return which cells are known without the release."""
    return np.asarray(table.lower == table.upper)


def counts_of(table: Table) -> Table:
    """Return the table of counts behind a magnitude table: same cells, same relations, same fixed cells.

    Examples
    --------
    >>> table = Table.from_array([[30.5, 8.0], [4.0, 61.0]], frequency=[[5, 1], [2, 9]])
    >>> counts_of(table).value.reshape(3, 3)[-1].tolist()
    [7.0, 10.0, 17.0]
    """
    if table.frequency is None:
        raise RuleError(
            "contributor_counts_unknown",
            "the table does not say how many contributors are in its cells",
            where="frequency",
            fix="start from records with {arguments}, or give from_array {counts}",
            arguments=Arguments("tabulate", value=...),
            counts=Arguments(frequency=...),
        )
    failing = broken(table.relations, table.frequency.astype(np.float64))
    if len(failing):
        raise TableError(
            "counts_not_additive",
            "the counts do not add up: {n_failing} of {n_relations} relations fail",
            where="frequency",
            fix="units are in several cells: to count records, tabulate without {units}; {holdings} may stay",
            units=Arguments(unit=...),
            holdings=Arguments(holding=...),
            n_failing=len(failing),
            n_relations=table.relations.shape[0],
        )
    return counted_table(table, table.frequency)


def _share(table: Table, share: ArrayLike) -> Any:
    given = np.asarray(share, dtype=np.float64)
    if given.ndim and given.shape != (table.n_cells,):
        raise ParameterError(
            "width_share_shape",
            "width_share has shape {shape}, the table {n_cells} cells",
            where="width_share",
            fix="give one number, or one per cell in the order of table.cells",
            shape=given.shape,
            n_cells=table.n_cells,
        )
    if not np.isfinite(given).all() or np.any(given < 0):
        raise ParameterError(
            "width_share_invalid",
            "a share is negative or not finite",
            where="width_share",
            fix="0.3 stands for 30 percent",
        )
    return given
