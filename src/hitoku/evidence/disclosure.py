"""Proof that a cell is not safe: a Farkas certificate, multipliers of the relations that bound the cell.

Multipliers combine the relations into one equation that holds for every table: the cell equals a sum
of published cells and of suppressed ones. Setting every suppressed one to its publicly known bound bounds
the cell (weak duality). Multipliers are the dual solution of a linear program, rounded to small fractions;
the bound is then recomputed from them exactly, so that it is valid for any multipliers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.evidence.grid import Grid, Row, exact_rows, solve, text
from hitoku.evidence.problem import AuditProblem
from hitoku.messages import Text, join
from hitoku.model import SOLVED, Floats, Release
from hitoku.solver.linear import BASIC, LinearProgram, Solution, open_program
from hitoku.solver.linear import solve as solve_linear
from hitoku.solver.solution import CountedWork

# Multipliers of tables are integers or small fractions; beyond the last denominator the basis is solved.
DENOMINATORS = (1, 12, 1000, 10**6)
# Maximum number of suppressed cells for the shortest combination, which needs a separate linear program.
SHORT_CELLS = 500


@dataclass(frozen=True)
class Disclosure:
    """A bound on one suppressed cell that every outsider can compute."""

    place: int
    """Position of the cell among the suppressed ones."""
    up: bool
    """Whether it bounds the cell from above; otherwise from below."""
    difference: Fraction
    """The bound, as a difference from the true value."""
    multipliers: Mapping[int, Fraction] = field(default_factory=dict)
    """Multiplier of each row of the problem; empty if the bound is the cell's own known bound."""
    taken: Mapping[int, bool] = field(default_factory=dict)
    """Other suppressed cells set to a known bound: True for the upper one."""
    whole: bool = False
    """Whether the bound holds over integer tables only, without such a sum."""

    @property
    def linear(self) -> bool:
        """Whether addition and subtraction of published cells suffice, without known bounds."""
        return bool(self.multipliers) and not self.taken


def bound_from(
    problem: AuditProblem, place: int, multipliers: Mapping[int, Fraction | int], *, up: bool
) -> Disclosure | None:
    """Return the bound that multipliers prove, in exact numbers; None if they prove none."""
    sums: dict[int, Fraction | int] = {}
    for number, times in multipliers.items():
        for cell, coefficient in problem.rows[number].items():
            sums[cell] = sums.get(cell, 0) + times * coefficient
    own = Fraction(sums.pop(place, 0))
    if own == 0:
        return None
    difference, taken = Fraction(0), {}
    for cell, total in sums.items():
        if total == 0:
            continue
        share = -total / own
        upper = (share > 0) == up
        end = problem.upper[cell] if upper else problem.lower[cell]
        if end is None:
            return None
        difference += share * end
        taken[cell] = upper
    scaled = {number: times / own for number, times in sorted(multipliers.items()) if times}
    return Disclosure(place, up, difference, scaled, dict(sorted(taken.items())))


def explain_bound(
    problem: AuditProblem,
    place: int,
    solution: Solution,
    reached: Fraction,
    work: CountedWork,
    *,
    up: bool,
) -> Disclosure | None:
    """Explain why a cell cannot move further than a witness shows; prefer a single relation.

    Parameters
    ----------
    problem, place, up
        The cell, and the side on which it is bounded.
    solution
        Solution of the linear program that pushed it, with the cell's own coefficient one.
    reached
        Exact distance reached.
    work
        Limits exact solves.
    """
    best: Disclosure | None = None
    for reason in _candidates(problem, place, solution, work, up=up):
        if reason.difference == reached:
            return reason
        if best is None or (reason.difference < best.difference) == up:
            best = reason
    return best


def _candidates(
    problem: AuditProblem, place: int, solution: Solution, work: CountedWork, *, up: bool
) -> Iterator[Disclosure]:
    own = problem.upper[place] if up else problem.lower[place]
    if own is not None:
        yield Disclosure(place, up, own)
    for guess in _guesses(problem, place, solution, work):
        reason = bound_from(problem, place, guess, up=up)
        if reason is not None:
            yield reason


def _guesses(
    problem: AuditProblem, place: int, solution: Solution, work: CountedWork
) -> Iterator[Mapping[int, Fraction]]:
    for number in problem.users[place]:
        yield {number: Fraction(1)}
    yield from _guess_fractions(solution.duals)
    exact = _from_basis(problem, place, solution, work)
    if exact is not None:
        yield exact


def shorten(problem: AuditProblem, reason: Disclosure) -> Disclosure:
    """Search for fewer relations that prove the same."""
    if len(reason.multipliers) < 2 or len(problem.cells) > SHORT_CELLS:
        return reason
    for guess in _guess_fractions(_shortest(problem, reason)):
        other = bound_from(problem, reason.place, guess, up=reason.up)
        same = other is not None and other.difference == reason.difference
        if same and other is not None and len(other.multipliers) < len(reason.multipliers):
            return other
    return reason


def explain_recomputable(problem: AuditProblem, places: Iterable[int]) -> dict[int, Disclosure]:
    """Return proofs for cells that can be derived by addition and subtraction.

    First cells derivable from one relation, then from a relation given those, and so on; cells that need
    a combination of relations last.
    """
    wanted = set(places)
    known = _chains(problem, wanted)
    found = {
        place: reason
        for place, times in known.items()
        if (reason := bound_from(problem, place, times, up=True))
    }
    left = sorted(wanted - found.keys())
    if not left:
        return found
    matrix = problem.matrix
    no_bound = np.full(matrix.shape[1], np.inf)
    free = LinearProgram(np.zeros(matrix.shape[1]), matrix, np.zeros(matrix.shape[0]), -no_bound, no_bound)
    with open_program(free) as warm:
        for place in left:
            reasons = (
                bound_from(problem, place, g, up=True) for g in _guess_fractions(warm.maximise(place).duals)
            )
            plain = next((reason for reason in reasons if reason is not None and reason.linear), None)
            found[place] = plain or _solve_combination(problem, place)
    return found


def _chains(problem: AuditProblem, wanted: set[int]) -> dict[int, dict[int, Fraction]]:
    """Return multipliers of cells that can be derived successively from relations with one unknown."""
    unknown = [set(row) for row in problem.rows]
    ready = deque(number for number, left in enumerate(unknown) if len(left) == 1)
    known: dict[int, dict[int, Fraction]] = {}
    while ready:
        number = ready.popleft()
        if len(unknown[number]) != 1:
            continue
        (place,) = unknown[number]
        row = problem.rows[number]
        times = {number: Fraction(1, row[place])}
        for other, coefficient in row.items():
            if other != place:
                for earlier, share in known[other].items():
                    times[earlier] = (
                        times.get(earlier, Fraction(0)) - Fraction(coefficient, row[place]) * share
                    )
        known[place] = {earlier: share for earlier, share in times.items() if share}
        for user in problem.users[place]:
            unknown[user].discard(place)
            if len(unknown[user]) == 1:
                ready.append(user)
    return {place: times for place, times in known.items() if place in wanted}


def _solve_combination(problem: AuditProblem, place: int) -> Disclosure:
    """Solve exactly for a combination of rows that isolates one cell."""
    rows: list[Row] = [
        {number: problem.rows[number][cell] for number in users} for cell, users in enumerate(problem.users)
    ]
    found = solve(rows, [int(cell == place) for cell in range(len(rows))])
    multipliers = {number: Fraction(times) for number, times in (found or {}).items() if times}
    return bound_from(problem, place, multipliers, up=True) or Disclosure(place, True, Fraction(0))


def _guess_fractions(duals: Floats | None) -> Iterator[dict[int, Fraction]]:
    """Guess the fractions behind doubles, simple ones first."""
    if duals is None:
        return
    used = np.flatnonzero(np.abs(duals) > SOLVED).tolist()
    for limit in DENOMINATORS:
        guess = {number: Fraction(float(duals[number])).limit_denominator(limit) for number in used}
        yield {number: times for number, times in guess.items() if times}


def _from_basis(
    problem: AuditProblem, place: int, solution: Solution, work: CountedWork
) -> dict[int, Fraction] | None:
    """Solve for the multipliers exactly: basic columns have no reduced cost, basic rows no multiplier."""
    if solution.basis is None:
        return None
    tight = np.flatnonzero(solution.basis.rows != BASIC).tolist()
    free = set(tight)
    n = len(problem.cells)
    basic = [c for c in np.flatnonzero(solution.basis.columns == BASIC).tolist() if c < n]
    rows: list[Row] = [
        {number: problem.rows[number][cell] for number in problem.users[cell] if number in free}
        for cell in basic
    ]
    found = solve(rows, [int(cell == place) for cell in basic], work)
    return None if found is None else {number: Fraction(times) for number, times in found.items() if times}


def _shortest(problem: AuditProblem, reason: Disclosure) -> Floats | None:
    """Return multipliers of least total size that prove the bound.

    Columns: multipliers up and down, then for every cell the amount set to its upper and to its
    lower bound. Rows: the remaining coefficient of each cell; the bound itself.
    """
    n_rows, n, place, up = len(problem.rows), len(problem.cells), reason.place, reason.up
    ends = (problem.upper, problem.lower) if up else (problem.lower, problem.upper)
    high = np.array([np.nan if b is None else float(b) for b in ends[0]])
    low = np.array([np.nan if b is None else float(b) for b in ends[1]])
    # Unknown bounds cannot be used, nor the cell's own, nor any if none was needed.
    most = 0.0 if reason.linear else np.inf
    usable = [np.where(np.isnan(high), 0.0, most), np.where(np.isnan(low), 0.0, most)]
    for limit in usable:
        limit[place] = 0.0
    one: Any = sparse.identity(n, format="csr")
    across = problem.matrix.T
    bound = np.concatenate([np.zeros(2 * n_rows), np.nan_to_num(high), -np.nan_to_num(low)])
    sign = 1.0 if up else -1.0
    relations = sparse.vstack(
        [sparse.hstack([across, -across, one, -one]), sparse.csr_array(sign * bound[None, :])]
    )
    target = np.zeros(n + 1)
    target[place] = 1.0
    allowed = target.copy()
    target[n], allowed[n] = -np.inf, sign * float(reason.difference)
    program = LinearProgram(
        cost=np.concatenate([np.ones(2 * n_rows), np.zeros(2 * n)]),
        relations=relations,
        rhs=target,
        lower=np.zeros(2 * n_rows + 2 * n),
        upper=np.concatenate([np.full(2 * n_rows, np.inf), *usable]),
        row_upper=allowed,
    )
    solution = solve_linear(program)
    if not solution.optimal or solution.x is None:
        return None
    return np.asarray(solution.x[:n_rows] - solution.x[n_rows : 2 * n_rows])


@dataclass(frozen=True, slots=True)
class Summand:
    """One summand of a disclosure: a published cell, or a suppressed one at a known bound."""

    cell: int
    """Number of the cell in the table."""
    share: Fraction
    """Coefficient; negative if it is subtracted."""
    number: Fraction
    """Its published value, or its bound."""
    bound: str = ""
    """"upper" or "lower" for a withheld cell at a known bound; empty for a published cell."""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """A disclosure as a checkable sum. It contains confidential numbers: for the checker."""

    cell: int
    """Number of the disclosed cell in the table."""
    word: str
    """"exactly", "at most" or "at least"."""
    bound: Fraction
    """Result of the sum."""
    terms: tuple[Summand, ...] = ()
    """Summands, added ones first; empty if there is no such sum."""
    totals: tuple[int, ...] = ()
    """The relations used, by the cells that are their totals."""


def arithmetic(problem: AuditProblem, release: Release, grid: Grid, reason: Disclosure) -> Arithmetic:
    """Return a disclosure as a sum of published cells and of suppressed ones at known bounds."""
    cell = int(problem.cells[reason.place])
    bound = grid.value(cell) + reason.difference
    word = "exactly" if reason.linear else "at most" if reason.up else "at least"
    if reason.whole or not reason.multipliers:
        return Arithmetic(cell, word, bound)
    shares, totals = _shares(problem, release, reason)
    ends = {int(problem.cells[place]): upper for place, upper in reason.taken.items()}
    terms: list[Summand] = []
    for i, share in sorted(shares.items(), key=lambda item: (item[1] < 0, item[0])):
        if i == cell or share == 0:
            continue
        number, side = grid.value(i), ""
        if i in ends:
            place = int(np.searchsorted(problem.cells, i))
            number += (problem.upper[place] if ends[i] else problem.lower[place]) or 0
            side = "upper" if ends[i] else "lower"
        terms.append(Summand(i, share, number, side))
    return Arithmetic(cell, word, bound, tuple(terms), tuple(totals))


LIMITS = {"exactly": "exactly {bound}", "at most": "at most {bound}", "at least": "at least {bound}"}
ENDS = {"upper": "[{cell}] at its upper bound", "lower": "[{cell}] at its lower bound"}
AND = "{first} and {second}"


def write_arithmetic(problem: AuditProblem, release: Release, grid: Grid, reason: Disclosure) -> str:
    """Write a disclosure as a checkable sum. It contains confidential numbers: for the checker."""
    found = arithmetic(problem, release, grid, reason)
    bound = text(found.bound)
    limit = Text(LIMITS[found.word], bound=bound)
    if reason.whole:
        return Text("{limit}: no table of whole numbers goes further", limit=limit)
    if not reason.multipliers:
        return Text("{limit}: known beforehand", limit=limit)
    names = join((f"[{release.describe(total)}]" for total in found.totals), AND)
    ends = (Text(ENDS[term.bound], cell=release.describe(term.cell)) for term in found.terms if term.bound)
    known = join(ends, AND)
    terms = " ".join(_term(term, first=place == 0) for place, term in enumerate(found.terms)) or "0"
    if known:
        template = "{limit} by {names}, with {known}: {terms} = {bound}"
        return Text(template, limit=limit, names=names, known=known, terms=terms, bound=bound)
    return Text("{limit} by {names}: {terms} = {bound}", limit=limit, names=names, terms=terms, bound=bound)


def write_combination(problem: AuditProblem, release: Release, grid: Grid, reason: Disclosure) -> str:
    """Write the published cells that are added and subtracted, without values; empty without such a sum."""
    found = arithmetic(problem, release, grid, reason)
    signed = [
        f"{'-' if term.share < 0 else '+'} {_times(term.share)}[{release.describe(term.cell)}]"
        for term in found.terms
        if not term.bound
    ]
    cells = " ".join(signed).removeprefix("+ ")
    return Text(LIMITS[found.word], bound=cells) if cells else ""


def _shares(
    problem: AuditProblem, release: Release, reason: Disclosure
) -> tuple[dict[int, Fraction], list[int]]:
    """Return the weighted sum of relations: the coefficient of every cell, and the relations' totals."""
    shares: dict[int, Fraction] = {}
    totals = []
    for number, times in reason.multipliers.items():
        relation = int(problem.relation[number])
        ((cells, coefficients),) = exact_rows(release.relations[[relation]])
        # A row of the problem is the relation's suppressed part, scaled to integer coefficients separately.
        withheld, scaled = next(iter(problem.rows[number].items()))
        of_relation = dict(zip(cells, coefficients, strict=True))
        ratio = times * scaled / of_relation[int(problem.cells[withheld])]
        for i, c in of_relation.items():
            shares[i] = shares.get(i, Fraction(0)) - ratio * c
        totals.append(next((i for i, c in of_relation.items() if c < 0), cells[0]))
    return shares, totals


def _times(share: Fraction) -> str:
    return "" if abs(share) == 1 else f"{text(abs(share))} * "


def _term(term: Summand, *, first: bool) -> str:
    share, number = term.share, term.number
    sign = "-" if share < 0 else "" if first else "+"
    times = _times(share)
    shown = f"({text(number)})" if number < 0 else f"{text(number)}"
    space = "" if not sign else " " if not first else ""
    return f"{sign}{space}{times}{shown}"
