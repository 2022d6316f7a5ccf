"""Groups disclosed by a pattern: every method continues until members of each group could be elsewhere.

Protecting cells is not enough: a row with a single nonzero cell reveals where its people are, even if the
cell and the total are suppressed. A need may name sums of cells that must be able to become large
(:class:`hitoku.model.attribution.Attributions`). This module handles them for every method. After a method
has
protected the cells:

* if no group is disclosed, nothing else is done;
* otherwise cells are added that allow the sum of each such group to grow: those that move least, at the
  method's own prices, in one linear program per group. Suppressing more cells reveals nothing, so
  requirements that are met stay met;
* a method that decides by the whole pattern is called again with a cell for each such sum: Optimal, for which
  the groups found so far are a relaxation, so that its answer is the cheapest of all; and Adjust;
* a method that must not add cells to its pattern raises an error.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.attacks import Interval
from hitoku.errors import NeedError, ScopeError, some
from hitoku.methods.costs import prices_of
from hitoku.methods.keep import staying
from hitoku.methods.method import Progress, traits_of
from hitoku.model import (
    BOUND,
    LEVEL,
    Attributions,
    Floats,
    Mask,
    Need,
    Protection,
    Reason,
    Release,
    Step,
    Table,
)
from hitoku.solver.linear import LinearProgram, solve

# Factor on levels of values that are adjusted, so that rounding does not miss a level.
MOVED = 1 + LEVEL
# Integers may need slightly more slack than reals; beyond this many units the cause is another one.
MAX_MORE = 3


def open_groups(
    method: Any, table: Table, need: Need, found: Protection, progress: Progress | None
) -> Protection:
    """Extend a pattern until no group named by the need is disclosed; raise an error if that is impossible.

    Parameters
    ----------
    method
        The method that decided. Its traits determine whether it decides again for a table with a cell for
        each disclosed sum (:meth:`Attributions.extend_table`), has cells added to its pattern, or neither.
    table, need, found
        The problem, and the pattern.
    progress
        Passed to a method that decides again.
    """
    traits = traits_of(method)
    if not traits.adds_cells:
        _refuse_given_away(table, given_away(table, need, found))
        return found
    if traits.decides_again:
        return _asked_again(method, table, need, found, progress)
    return _added_to(method, table, need, found)


def given_away(table: Table, need: Need, protection: Protection, *, whole: bool = True) -> Attributions:
    """Return the sums that cannot become as large as required, with the required size as their goal.

    Examples
    --------
    >>> drivers = Table.from_array([[0, 0, 17, 0], [1, 0, 12, 0]], names=("city", "injury"))
    >>> from hitoku.rules import DirectDisclosure
    >>> need = DirectDisclosure(k=0, sensitive="injury").assess(drivers)
    >>> row = np.isin(np.arange(15), [2, 4, 12, 14])  # Oslo: 0 0 x 0 x
    >>> given_away(drivers, need, Protection.withhold(drivers, row))
    Attributions(1 of 15 cells)
    """
    learnt = need.attributions
    if not protection.withheld.any():
        # An attacker takes the values of an adjusted table for the true ones.
        open_ = learnt.open(protection.value, protection.withheld)
        asked = learnt.asked(protection.value, protection.withheld)
        return replace(learnt, goal=asked).take(open_)
    learnt = learnt.take(learnt.open(table.value, protection.withheld))
    if not len(learnt):
        return learnt
    learnt = replace(learnt, goal=learnt.asked(table.value, protection.withheld))
    release = learnt.extend_release(Release.of(table, protection))
    nothing = np.full(table.n_cells, np.nan)
    no_low = np.full(release.n_cells, np.nan)
    attack = Interval(integer=whole and release.integer)
    _, reached = attack.meets(release, no_low, np.append(nothing, learnt.goal))
    return learnt.take(~reached[table.n_cells :])


def _asked_again(
    method: Any, table: Table, need: Need, found: Protection, progress: Progress | None
) -> Protection:
    """Protect the table with a cell for each sum that falls short, until none does.

    Requiring only the sums that fell short so far is a relaxation: the cheapest pattern that meets all sums
    is then the cheapest overall. This may fail only if the requirement of a group depends on whether its size
    is published.
    """
    known = Attributions.none(table.n_cells)
    relaxed = True
    while len(short := given_away(table, need, found)):
        before = _with_goals(known)
        again = [_key(short, i) in before for i in range(len(short))]
        if np.any([before.get(_key(short, i), -np.inf) >= short.goal[i] for i in range(len(short))]):
            # Already required, and attained only with fractions of people.
            raise unreachable(table, short)
        short, same = _asked_anyway(table, need, short)
        relaxed = relaxed and not any(again) and same
        known = Attributions.merge([known, short])
        wider = known.extend_table(table)
        n, sums = table.n_cells, known.sums @ table.value
        missing = np.maximum(known.goal - sums, 0.0)
        # Adjusted values are where the solver puts them, so require slightly more than the level.
        more = 1.0 if found.withheld.any() or getattr(method, "integer", False) else MOVED
        asked = Need(
            unsafe=np.append(need.unsafe, np.ones(len(known), dtype=np.bool_)),
            lower=np.append(_raise_levels(need.lower, more, table.value - table.lower), np.zeros(len(known))),
            upper=np.append(_raise_levels(need.upper, more, table.upper - table.value), more * missing),
            width=np.append(need.width, np.zeros(len(known))),
        )
        try:
            answer = method.with_sums(table, known).decide(wider, asked, progress)
        except NeedError as error:
            raise unreachable(table, known) from error
        found = replace(
            answer,
            withheld=answer.withheld[:n],
            secondary=answer.withheld[:n] & ~need.unsafe,
            value=answer.value[:n],
            proven=answer.proven and relaxed,
            gap=answer.gap if relaxed else float("nan"),
            canonical=answer.canonical and relaxed,
            deviations=(),
        )
    return found


def _raise_levels(level: Floats, more: float, slack: Floats) -> Floats:
    """Raise levels, but not beyond the slack of known bounds."""
    return np.maximum(level, np.minimum(more * level, slack))


def _asked_anyway(table: Table, need: Need, short: Attributions) -> tuple[Attributions, bool]:
    """Return sums with their requirement in every pattern, and whether patterns require no more than that.

    The requirement depends on the pattern for groups no larger than the coalition, and for shares: zero while
    the group is published, more while it is suppressed. Both are equal if no integer table with the published
    size has exactly the share.
    """
    value, sums = table.value, short.sums
    own = _with_goals(need.attributions)
    goal = np.array([own[_key(short, place)] for place in range(len(short))])
    seen = np.minimum(goal, value[short.group])
    unseen = replace(short, goal=goal).asked(value, np.ones(table.n_cells, dtype=np.bool_))
    # Of a published group: start of the sums that are not below zero.
    pair = np.diff(sums.indptr) == 2
    whole, inside = (np.asarray(sums.multiply(sums * sign > 0).sum(axis=1)).ravel() for sign in (1, -1))
    first = np.mod(whole * value[short.group], np.where(pair, -inside, 1.0))
    alike = (first >= unseen) & pair & table.integer
    asked = np.where(alike, np.maximum(short.goal, unseen), short.goal)
    return replace(short, goal=asked), bool(np.all((asked <= seen) | alike))


def _key(learnt: Attributions, place: int) -> tuple[bytes, bytes]:
    here = slice(learnt.sums.indptr[place], learnt.sums.indptr[place + 1])
    return learnt.sums.indices[here].tobytes(), learnt.sums.data[here].tobytes()


def _with_goals(learnt: Attributions) -> dict[tuple[bytes, bytes], float]:
    return {_key(learnt, place): float(learnt.goal[place]) for place in range(len(learnt))}


def _added_to(method: Any, table: Table, need: Need, found: Protection) -> Protection:
    """Suppress more cells, group by group, until none is disclosed."""
    price = _price(table, method)
    stay = staying(table, method) & ~found.withheld
    withheld, steps = np.array(found.withheld), list(found.steps)
    more: dict[tuple[bytes, bytes], int] = {}
    current = found
    while len(short := given_away(table, need, current)):
        for place in range(len(short)):
            one = short.take(np.array([place]))
            extra = more.get(_key(one, 0), 0)
            more[_key(one, 0)] = extra + 1
            moved = None if extra > MAX_MORE else _cells_moved(table, one, withheld, stay, price, extra)
            if moved is None:
                raise unreachable(table, one)
            inside = one.inside(0)[0]
            new = np.flatnonzero(moved & ~withheld).tolist()
            steps += [Step(cell, Reason.GROUP, protects=inside) for cell in new]
            withheld |= moved
        current = Protection.withhold(replace(table, fixed=None), withheld, need)
    if np.array_equal(withheld, found.withheld):
        return found
    return replace(
        found,
        withheld=withheld,
        secondary=withheld & ~need.unsafe,
        cost=float(prices_of(table, method)[withheld].sum()),
        proven=False,
        gap=float("nan"),
        canonical=False,
        steps=tuple(steps),
    )


def _cells_moved(
    table: Table, one: Attributions, withheld: Mask, stay: Mask, price: Floats, extra: int
) -> Mask | None:
    """Return the cells that move, at least cost, when the sum of a group reaches its goal; None if it cannot.

    Columns: upward movement of each cell, then downward movement.
    """
    cells = np.flatnonzero(~stay & (table.upper > table.lower))
    rise, fall = table.upper[cells] - table.value[cells], table.value[cells] - table.lower[cells]
    relations = sparse.csr_array(table.relations[:, cells])
    row = sparse.csr_array(one.sums[:, cells])
    missing = float(one.goal[0] - (one.sums @ table.value)[0]) + extra
    weight = np.where(withheld[cells], 0.0, price[cells])
    both = sparse.vstack([sparse.hstack([relations, -relations]), sparse.hstack([row, -row])], format="csr")
    n_rows = relations.shape[0]
    found = solve(
        LinearProgram(
            cost=np.append(weight, weight),
            relations=both,
            rhs=np.append(np.zeros(n_rows), 1.0),
            # In units of the missing amount, so that the solver's tolerances fit.
            lower=0.0,  # type: ignore[arg-type]  # a scalar is repeated
            upper=np.append(rise, fall) / missing,
            row_upper=np.append(np.zeros(n_rows), np.inf),
        )
    )
    if not found.optimal or found.x is None:
        return None
    k = len(cells)
    moved = np.zeros(table.n_cells, dtype=np.bool_)
    moved[cells[np.abs(found.x[:k] - found.x[k:]) > BOUND]] = True
    return moved


def _price(table: Table, method: Any) -> Floats:
    """Return the price per unit of movement: one for each new cell, plus its cost relative to others."""
    cost = prices_of(table, method)
    mean = float(cost.mean())
    return np.asarray(1.0 + (cost / mean if mean > 0 else 0.0))


def _refuse_given_away(table: Table, short: Attributions) -> None:
    if len(short):
        raise ScopeError(
            "pattern_gives_groups_away",
            "the pattern gives {n} group(s) away, and this method may not add cells to it",
            where=_describe_groups(table, short),
            fix="protect the table with greedy or optimal, or merge codes",
            n=len(short),
        )


def unreachable(table: Table, short: Attributions) -> NeedError:
    """Make the error for groups that no pattern can protect."""
    return NeedError(
        "groups_derivable",
        "{n} group(s) are given away, though everything in reach is withheld that may be",
        where=_describe_groups(table, short),
        fix="let more be withheld (keep, fixed: margins too), merge codes, take a smaller k, or leave out a "
        "variable of which one code is left",
        n=len(short),
    )


def _describe_groups(table: Table, short: Attributions) -> str:
    names = (short.describe(table.labels, place) for place in range(min(len(short), 4)))
    return f"groups {some(names, 3)}"
