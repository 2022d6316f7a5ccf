"""The least number of units that rules allow in a group whose total follows from published cells.

If every cell with units, but fewer than n, can hold n in a table that agrees with all published cells, then
no group whose total can be derived from these has fewer than n units: the group contains a cell with units,
its total is the same in both tables, and that cell alone holds n in one of them. See
``docs/explanation/derivable-groups.md``.

Levels that rules on contributions require of sets of records whose totals follow from published numbers.

Records are divided into atoms: records that are in the same published cells. In a single table these are
its inner cells. All rules of this kind have one form: a set violates the rule if its total is below ``w1 * v1
+ ... + wr * vr``, where ``v1 >= v2 >= ...`` are its largest contributions and the weights of the rule do not
increase. A derivable set has the same total in all tables x >= 0 that agree with everything published. So no
derivable set violates the rule if for every set of at most r atoms there is such a table in which these atoms
add up to the weighted sum of their own contributions: a derivable set contains a set of at most r atoms with
its r largest contributions, and adds up to no less than these atoms do. The proof, and what the levels do not
promise, are in ``docs/explanation/derivable-groups.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hitoku.errors import NeedError, some
from hitoku.model import (
    LIMIT,
    Contributors,
    Floats,
    Mask,
    Need,
    Table,
    adds_up,
    are_units,
    broken,
    counted_table,
    rational,
)
from hitoku.rules.dominance import Dominance
from hitoku.rules.p_percent import PPercent
from hitoku.rules.prior_posterior import PriorPosterior
from hitoku.rules.rule import Level, Rule

SEVERAL_CELLS = "units are in several cells, so that their numbers do not add up"
# What hidden cells are flagged by, beside the rules.
ATOMS = "derivable_groups"
AS_UNITS = "holdings are counted by their units: a group of one holding with several units counts as several"

# Reasons why nothing is known about sets of cells.
UNRANKED = "the largest contributions to its cells are not known"
NEGATIVE = "contributions below zero lower the totals of groups"
APART = "contributors are in several cells, so that sets of cells do not show what each of them holds"
SEVERAL_TABLES = "rules on contributions are applied to the cells of several tables, and not to sets of them"


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupSize:
    """The requirement of one rule."""

    n: int  # Least number of units of a group.
    counted: NDArray[Any]  # Units in every cell.
    # The units are what the table publishes, so that levels around its values express the requirement.
    own: bool
    # The numbers of units satisfy the relations of the table; otherwise nothing is known about groups.
    adds_up: bool = True
    note: str = ""  # How the units differ from those that the rule counts; empty where they do not.

    @property
    def small(self) -> Mask:
        """Cells with units, but fewer than n; hidden ones too, because they are sets of records."""
        return np.asarray((self.counted > 0) & (self.counted < self.n))

    def need(self) -> Need:
        """Return the requirement that every small cell can hold n units."""
        small = self.small
        return Need(unsafe=small, upper=np.where(small, self.n - self.counted, 0.0), rules={"groups": small})

    def units(self, table: Table) -> Table:
        """Return the table whose cells must be able to hold n units.

        Numbers that are published must be able to do so in whole numbers, because readers know that they are
        whole. For numbers that are not published fractions are enough: the total of a derivable group is the
        same in every solution, and nothing can be concluded from the numbers themselves.
        """
        if self.own:
            return table
        units = counted_table(table, self.counted)
        published = np.array_equal(self.counted, table.value)
        return replace(units, integer=units.integer and published)

    def within(self, table: Table, need: Need) -> Mask:
        """Return the small cells that can hold n units in every release that meets a need for the table."""
        far = self.counted + need.upper >= self.n
        wide = table.lower + need.width >= self.n
        return np.asarray(self.own & self.small & need.unsafe & (far | wide))


def group_sizes(table: Table, rules: Sequence[Rule]) -> list[GroupSize]:
    """Return the requirements on group sizes of rules that count units; other rules have none.

    Examples
    --------
    >>> from hitoku.rules import MinFrequency, PPercent
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> [(size.n, size.own, int(size.small.sum())) for size in group_sizes(table, [MinFrequency(5)])]
    [(5, True, 1)]
    """
    counts: list[tuple[int, NDArray[Any]]] = [
        (rule.n, rule.counted(table)) for rule in rules if hasattr(rule, "counted") and hasattr(rule, "n")
    ]
    return [_group_size(table, n, counted) for n, counted in counts]


def _group_size(table: Table, n: int, counted: NDArray[Any]) -> GroupSize:
    if are_units(table, counted):
        return GroupSize(n=n, counted=counted, own=True)
    if adds_up(table, counted):
        return GroupSize(n=n, counted=counted, own=False)
    of_holdings = table.holdings is not None and np.array_equal(counted, table.holdings.count)
    if of_holdings and table.units is not None and adds_up(table, table.units.count):
        return GroupSize(n=n, counted=table.units.count, own=False, note=AS_UNITS)
    return GroupSize(n=n, counted=counted, own=False, adds_up=False, note=SEVERAL_CELLS)


def require_groups(table: Table, rules: Sequence[Rule], need: Need) -> Need:
    """Add to a need that every unsafe count can hold n units, if the rules require n.

    Rules do not apply to hidden cells, but those with too few units become part of the need here. A width of
    at least n implies it, because counts are nonnegative; such cells keep their levels.

    Raises
    ------
    NeedError
        If publicly known upper bounds are below n.
    """
    for size in group_sizes(table, rules):
        if not size.own:
            continue
        small = size.small
        cells = small & (need.unsafe | ~table.shown)
        short = np.flatnonzero(cells & (table.upper < size.n))
        if len(short):
            raise NeedError(
                "group_sizes_known",
                "{n} unsafe cell(s) cannot be protected: readers know upper bounds below the "
                "number of units that the rule requires",
                where="cells {cells}",
                fix="widen the upper bounds of the table if readers do not know them, merge codes, or "
                "leave derivable groups out with groups=False",
                n=len(short),
                cells=some((table.describe(int(p)) for p in short[:4]), 3),
            )
        level = np.where(cells & ~size.within(table, need), size.n - size.counted, 0.0)
        atoms = {ATOMS: cells & ~table.shown} if np.any(cells & ~table.shown) else {}
        need = replace(
            need,
            unsafe=need.unsafe | cells,
            upper=np.maximum(need.upper, level),
            rules={**need.rules, **atoms},
        )
    return need


Number = TypeVar("Number", float, Fraction)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedLargest:
    """A rule on contributions as a condition on any set of records.

    Examples
    --------
    >>> rule = weighted_largest(PPercent(10))
    >>> rule.floors([[100.0], [80.0, 5.0]])  # the contribution to be protected, and the intruder's own
    [110.00000000000001, 80.0]
    """

    name: str  # The rule.
    # Weights of the largest contributions, not increasing. Below their weighted sum a total violates the
    # rule.
    weights: tuple[Fraction, ...]
    level: Level = "holding"  # Whose contributions are ranked, as in the rule.
    strict: bool = False  # A total of exactly the weighted sum violates the rule, too.
    # The rule is about the second largest contributor alone (p% and prior-posterior with ``n=1``). Then the
    # levels of :meth:`with_insider` are stronger than those of sets: no single contributor can prove from
    # published numbers that a contribution is below its protected value.
    insider: bool = False

    def least_total(self, atoms: Sequence[Sequence[Number]]) -> Number | int:
        """Return the least total of a set of atoms that satisfies the rule: the sum of its floors."""
        return sum(self.floors(atoms))

    def floors(self, atoms: Sequence[Sequence[Number]]) -> list[Number]:
        """Return for each atom of a set the part of the least total that its own contributions require.

        Parameters
        ----------
        atoms
            Contributions to each atom, the largest as far as there are weights.
        """
        ranked = sorted(((v, at) for at, own in enumerate(atoms) for v in own), key=lambda one: -one[0])
        floors: list[Any] = [0] * len(atoms)
        for weight, (v, at) in zip(self.weights, ranked, strict=False):
            floors[at] += type(v)(weight) * v
        return floors

    def with_insider(self, atom: Sequence[Number], intruder: Number) -> tuple[Number, Number]:
        """Return the levels of an atom and of another one with the largest contribution ``intruder``.

        The first must be attainable while the second holds no less than the intruder's own contribution.
        """
        return type(atom[0])(self.weights[0]) * atom[0], intruder

    def own(self, largest: Floats) -> Floats:
        """Return the least total of every atom separately, given its largest contributions."""
        return np.asarray(largest[:, : len(self.weights)] @ np.array([float(w) for w in self.weights]))

    def sets(self, largest: Floats, total: Floats) -> Iterator[tuple[int, ...]]:
        """Yield the sets of atoms whose own totals do not show that they keep the rule.

        Of each of these, and of no other set, it must be shown that its total could be the least one or more
        in a table that agrees with everything published.

        Parameters
        ----------
        largest
            Largest contributions of each atom in falling order, one for each weight at least.
        total
            Sum of all contributions to each atom.

        Examples
        --------
        Ten percent of 100 are more than what the others add up to in {0}, {1} and {0, 1}.

        >>> rule = weighted_largest(PPercent(10))
        >>> largest = np.array([[100.0, 0], [90.0, 5], [60.0, 50]])
        >>> sorted(rule.sets(largest, np.array([100.0, 95, 150])))
        [(0,), (0, 1), (1,)]
        """
        rounding = LIMIT * np.abs(total)
        enough = total - rounding if self.strict else total + rounding
        # A set lacks no more than its atoms do together, so that one of them must lack something.
        lacks = self.own(largest) - enough
        order = np.argsort(-lacks, kind="stable")
        order = order[largest[order, 0] > 0]
        top = [[v for v in row if v > 0] for row in largest[order, : len(self.weights)].tolist()]
        for places in self._lacking([], 0.0, top, lacks[order].tolist(), enough[order].tolist()):
            yield tuple(sorted(int(order[place]) for place in places))

    def _lacking(
        self,
        chosen: list[int],
        so_far: float,
        top: Sequence[Sequence[float]],
        lacks: Sequence[float],
        enough: Sequence[float],
    ) -> Iterator[list[int]]:
        """Yield the sets of chosen and later places whose totals do not show that they keep the rule."""
        left = len(self.weights) - len(chosen)
        for place in range(chosen[-1] + 1 if chosen else 0, len(top)):
            # Later atoms lack no more than this one.
            lack = so_far + lacks[place]
            if lack + (left - 1) * max(lacks[place], 0.0) <= 0:
                return
            places = [*chosen, place]
            floors = self.floors([top[one] for one in places])
            # Only the atoms with the largest contributions count.
            if all(floors) and sum(floors) > sum(enough[one] for one in places):
                yield places
            if left > 1:
                yield from self._lacking(places, lack, top, lacks, enough)


def weighted_largest(rule: Rule) -> WeightedLargest | None:
    """Return the form in which a rule applies to any set of records; None for rules of other kinds."""
    if isinstance(rule, Dominance):
        weights = (Fraction(100) / rational(rule.k),) * rule.n
        return WeightedLargest(name=rule.name, weights=weights, level=rule.level)
    if isinstance(rule, PPercent):
        share, strict = rational(rule.p) / 100, rule.at_limit == "unsafe"
    elif isinstance(rule, PriorPosterior):
        share, strict = rational(rule.p) / rational(rule.q), False
    else:
        return None
    weights = (1 + share, *(Fraction(1),) * rule.n)
    return WeightedLargest(
        name=rule.name, weights=weights, level=rule.level, strict=strict, insider=rule.n == 1
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupTotals:
    """The requirement of one rule on contributions to every group whose total can be derived."""

    form: WeightedLargest  # The rule.
    largest: Floats  # Largest contributions to each cell.
    total: Floats  # Sum of all contributions to each cell.
    why_not: str = ""  # Why the cells do not show what contributors of a group hold; empty if they do.


def group_totals(table: Table, rules: Sequence[Rule]) -> list[GroupTotals]:
    """Return the requirements on derivable groups of rules that compare contributions.

    Examples
    --------
    >>> from hitoku.testing import one_cell
    >>> [(one.form.name, one.why_not) for one in group_totals(one_cell(80, 15, 5), [PPercent(10)])]
    [('p_percent', '')]
    """
    found = []
    for rule in rules:
        form = weighted_largest(rule)
        if form is not None:
            own = table.units if form.level == "unit" else table.contributors
            why_not = _why_not(table, form, own)
            none = np.zeros((table.n_cells, len(form.weights)))
            largest, total = (none, none[:, 0]) if own is None else (own.largest, own.total)
            found.append(GroupTotals(form=form, largest=largest, total=total, why_not=why_not))
    return found


def _why_not(table: Table, form: WeightedLargest, own: Contributors | None) -> str:
    if own is None or own.largest.shape[1] < len(form.weights):
        return UNRANKED
    if own.negative and own.magnitude != "abs":
        return NEGATIVE
    if table.linked:
        return SEVERAL_TABLES
    return "" if adds_up(table, own.count) and not len(broken(table.relations, own.total)) else APART
