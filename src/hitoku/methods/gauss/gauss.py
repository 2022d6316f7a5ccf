"""Secondary cells by elimination, so that no unsafe cell can be derived by addition and subtraction.

Candidates are processed in order of importance. One becomes secondary if publishing it would allow
an unsafe cell to be derived exactly. Arithmetic is modulo a prime of 61 bits, so nothing overflows and there
is no tolerance. Only exact derivation is excluded; interval widths are a separate requirement (``width``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from hitoku.errors import ParameterError
from hitoku.methods.gauss.elimination import EliminationProblem
from hitoku.methods.gauss.incidence import by_coalition, by_frequency, by_value, columns_of, relations_of
from hitoku.methods.gauss.proof import proof
from hitoku.methods.gauss.singletons import singleton_treatment
from hitoku.methods.gauss.table_problem import TableProblem, next_to_withhold, owners_of, too_narrow, unpin
from hitoku.methods.keep import Keep, kept_cells, refuse_unsafe
from hitoku.methods.method import Progress, Promise, Traits
from hitoku.methods.run import run
from hitoku.model import Integers, Mask, Need, Protection, Release, Table
from hitoku.parameters import AtLeastZero, LimitOrZero, Whole, check_parameters
from hitoku.solver.solution import MINUTES, Deadline

Zeros = Literal["publish", "withhold", "structural"]
STOPPED = "stopped at its work limit: intervals may be narrower than asked"
Order = Literal["size", "frequency", "value", "coalition"]


def secondary(
    incidence: Any,
    order: ArrayLike,
    unsafe: ArrayLike,
    *,
    forced: ArrayLike = (),
    hidden: ArrayLike = (),
    singleton: ArrayLike | None = None,
    singletons: str = "none",
) -> Mask:
    """Find the secondary columns of an incidence matrix.

    Parameters
    ----------
    incidence
        One row per inner cell, one column per cell to publish; dense or sparse.
    order
        Candidates, the most important first; unsafe ones among them are skipped. Columns that are not named
        anywhere are neither published nor protected.
    unsafe
        Columns to protect, as a mask or as positions.
    forced
        Columns that are published without a test. Unsafe ones among them are not protected.
    hidden
        Columns that are not published and need no protection.
    singleton
        For each row whether it is a singleton, or its only firm (zero: none).
    singletons
        Treatment of singletons, by a name of :mod:`hitoku.methods.gauss.singletons`; R's names too.

    Examples
    --------
    >>> cells = [[1, 0, 1, 0, 1], [0, 1, 1, 0, 1], [0, 0, 0, 1, 1]]  # two cells, their sum; one more; total
    >>> secondary(cells, order=[4, 3, 2, 1], unsafe=[0]).nonzero()[0].tolist()
    [1]
    """
    matrix = sparse.csc_array(incidence)
    n_rows, n = matrix.shape
    published = as_mask(forced, n, "forced")
    protected = as_mask(unsafe, n, "unsafe") & ~published
    unseen = as_mask(hidden, n, "hidden") & ~published & ~protected
    places = _order(order, n)
    places = places[~(published | protected | unseen)[places]]
    candidate = np.zeros(n, dtype=bool)
    candidate[places] = True
    columns = columns_of(matrix)
    return (
        EliminationProblem(
            n_cells=n,
            order=places,
            unsafe=protected,
            hidden=~(published | protected | candidate),
            forced=published,
            columns=lambda: columns,
            relations=lambda: relations_of(matrix),
            owner=_owner(singleton, n_rows),
            singletons=singleton_treatment(singletons),
        )
        .solve()
        .secondary
    )


def as_mask(which: Any, n: int, what: str) -> Mask:
    """Read a mask or a list of positions.

    Examples
    --------
    >>> as_mask([2, 0], 3, "unsafe").tolist()
    [True, False, True]
    """
    given = np.asarray(which)
    if given.dtype == np.bool_:
        if given.shape != (n,):
            raise ParameterError(
                "mask_size",
                "{what} is a mask of {n_mask} for {n_cells} cells",
                where=what,
                what=what,
                n_mask=given.size,
                n_cells=n,
            )
        return given.copy()
    mask = np.zeros(n, dtype=bool)
    mask[_positions(given, n, what)] = True
    return mask


def _positions(given: Any, n: int, what: str) -> Integers:
    if given.size == 0:
        return np.zeros(0, dtype=np.int64)
    if given.ndim != 1 or given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= n:
        raise ParameterError(
            "neither_mask_nor_positions",
            "{what} is neither a mask nor a list of positions",
            where=what,
            fix="give {n} booleans, or whole numbers from 0 to {n_2}",
            what=what,
            n=n,
            n_2=n - 1,
        )
    return np.asarray(given, dtype=np.int64)


def _order(order: ArrayLike, n: int) -> Integers:
    places = _positions(np.asarray(order), n, "order")
    _, first = np.unique(places, return_index=True)
    return places[np.sort(first)]


def _owner(singleton: ArrayLike | None, n_rows: int) -> Integers | None:
    """Return one number per row: zero, or the only contributor; each unnamed mark is one contributor."""
    if singleton is None or np.size(singleton) == 0:
        return None
    given = np.asarray(singleton)
    if given.shape != (n_rows,) or given.dtype.kind not in "biu":
        raise ParameterError(
            "singleton_shape",
            "singleton has shape {shape}, the incidence {n_rows} rows",
            where="singleton",
            fix="give one boolean, or one whole number (zero: no singleton), per row",
            shape=given.shape,
            n_rows=n_rows,
        )
    if given.dtype == np.bool_:
        return np.where(given, np.arange(1, n_rows + 1), 0)
    return given.astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Gauss:
    """Publish cells in order of importance, unless an unsafe cell could then be derived exactly.

    Fast on any table; the result depends on the order alone. It guarantees that no unsafe cell is a
    combination of published ones; an interval may still be narrow, which ``width`` and ``attack`` address.

    Parameters
    ----------
    order
        "frequency" or "value" (large cells are published first; "size" is one or the other, frequency where
        cells are counts), "coalition" (as for direct disclosure: zeros are withheld rather than cells of more
        than k people), or positions, the most important first.
    k
        For the order "coalition": number of people who share their knowledge. Default: the largest that the
        rules of the need specify, or one.
    singletons
        Treatment of people who know their own cell, by a name of :mod:`hitoku.methods.gauss.singletons`.
    singleton
        The only contributor of each cell: a mask over cells, or integers that name firms (zero: none). Only
        inner cells count. Default: cells of one respondent; empty cells if zeros may be suppressed.
    zeros
        "publish" whenever possible; "withhold" like any other cell; "structural": everyone knows them, so
        they are published and protect nothing.
    moves
        Minimum null-space dimension to preserve. With only one, learning one suppressed value reveals all.
    width
        Continue until the interval of every unsafe cell is this wide, and meets its need; True: as the need
        requires.
    attack
        Continue until this attack on groups finds nothing: :class:`hitoku.attacks.group.Group`.
    differences
        Differences of cells that must not be derivable either: an object with ``differences(table)``, such as
        :class:`hitoku.rules.k_disclosure.KDisclosure`.
    prove
        Prove the result in integers, see :mod:`hitoku.methods.gauss.proof`; an error if that fails.
        The proof is stored in ``protection.deviations``, where the audit looks for witnesses.
        It covers the unsafe cells only, not what singletons or differences require.
    forced
        Cells that are published even if that exposes others, as a mask or positions.
    hidden
        Cells that are not part of the publication: suppressed, but without protection.
    keep
        Cells that stay published: a mask, or "margins". If that exposes an unsafe cell, it is an error.
    work_limit
        Work limit of the attacks of ``width``, in all rounds, the same on every computer. Intervals may then
        be narrow, and ``note`` reports it. None: no limit. Elimination itself
        does not search.

    Examples
    --------
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> protection = Gauss().protect(table, Need(unsafe=table.value == 1))
    >>> np.where(protection.withheld, "x", ".").reshape(3, 3).tolist()
    [['x', 'x', '.'], ['x', 'x', '.'], ['.', '.', '.']]
    """

    traits: ClassVar[Traits] = Traits(
        promise=Promise.EXACT_ONLY, keeps=("keep", "forced", "zeros"), width="width"
    )

    order: Order | ArrayLike = "size"
    singletons: str = "none"
    singleton: ArrayLike | None = None
    zeros: Zeros = "publish"
    moves: Whole | None = None
    width: AtLeastZero | bool | None = None
    attack: Any = None
    differences: Any = None
    prove: bool = False
    forced: ArrayLike = ()
    hidden: ArrayLike = ()
    keep: Keep | ArrayLike | None = None
    k: Whole | None = None
    work_limit: LimitOrZero | None = MINUTES

    def __post_init__(self) -> None:
        check_parameters(self)
        object.__setattr__(self, "singletons", singleton_treatment(self.singletons))

    def __repr__(self) -> str:
        order = self.order if isinstance(self.order, str) else "own"
        return f"Gauss(order={order!r}, singletons={self.singletons!r}, zeros={self.zeros!r})"

    def protect(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Suppress the unsafe cells and the candidates that would disclose one of them."""
        return run(self, table, need, progress)

    def decide(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Decide over the reals; :func:`hitoku.methods.run.run` does the rest."""
        problem = self._problem(table, need)
        extra = np.zeros(table.n_cells, dtype=bool)
        rounds = 0
        deadline = Deadline.of(work_limit=self.work_limit)
        while True:
            outcome = problem.solve(extra)
            withheld = (need.unsafe | outcome.secondary | extra | problem.hidden) & ~problem.forced
            if self.attack is not None:
                withheld = unpin(table, need, withheld, problem.forced, self.attack)
            protection = Protection(
                withheld=withheld,
                value=table.value,
                secondary=withheld & ~need.unsafe,
                cost=float(withheld.sum()),
                method="gauss",
            )
            narrow = self._narrow(table, need, Release.of(table, protection), deadline)
            if deadline.over:
                return replace(protection, note=STOPPED)
            if not len(narrow):
                if not self.prove:
                    return protection
                unsafe = need.unsafe & ~outcome.exposed & ~problem.forced
                return replace(protection, deviations=proof(table.relations, withheld, unsafe))
            extra |= next_to_withhold(table, problem.order, narrow, withheld | problem.forced)
            rounds += 1
            if progress is not None:
                progress(float(rounds), float("inf"))

    def _problem(self, table: Table, need: Need) -> TableProblem:
        stay = kept_cells(table, self.keep)
        refuse_unsafe(table, need, stay)
        n = table.n_cells
        forced = as_mask(self.forced, n, "forced")
        empty = table.value == 0 if table.frequency is None else (table.frequency == 0) & (table.value == 0)
        if self.zeros == "structural":
            stay = stay | empty & ~need.unsafe
        matrix = None if self.differences is None else self.differences.differences(table)
        return TableProblem(
            table=table,
            need=need,
            order=self._order(table, need),
            forced=forced | stay,
            hidden=as_mask(self.hidden, n, "hidden"),
            excused=bool(forced.any()),
            owner=owners_of(
                table, need, self.singletons, self.singleton, zeros_withheld=self.zeros == "withhold"
            ),
            singletons=self.singletons,
            moves=self.moves or 0,
            differences=matrix if matrix is not None and matrix.shape[1] else None,
        )

    def _order(self, table: Table, need: Need) -> Integers:
        """Return all cells, the most important first; cells missing in a given order come before it."""
        first = self.zeros == "publish"
        if isinstance(self.order, str):
            if self.order == "coalition":
                named = need.attributions.goal.max(initial=0.0) if self.k is None else self.k + 1.0
                return by_coalition(table, k=int(named) - 1 if named >= 1 else 1)
            counts = table.frequency is not None and np.array_equal(table.frequency, table.value)
            if self.order == "frequency" or (self.order == "size" and counts):
                return by_frequency(table, zeros_first=first)
            return by_value(table, zeros_first=first)
        own = _order(self.order, table.n_cells)
        return np.concatenate([np.setdiff1d(np.arange(table.n_cells), own), own])

    def _narrow(self, table: Table, need: Need, release: Release, deadline: Deadline) -> Integers:
        """Return the unsafe cells whose intervals are too narrow, if ``width`` is set."""
        if self.width is None:
            return np.zeros(0, dtype=np.int64)
        width = 0.0 if self.width is True else float(self.width)
        return too_narrow(table, need, release, width, deadline)
