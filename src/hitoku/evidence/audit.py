"""Audit: whether a release protects every unsafe cell as required, cell by cell, with proof.

The prover is the audit: the linear programs that decide also provide the witnesses or, if they fail, the
sum of published numbers that discloses the cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hitoku.attacks import Insider, Interval
from hitoku.coalitions import CoalitionSearch
from hitoku.errors import ProtectionError, TableError, must_be
from hitoku.evidence.adjusted import audit_adjusted
from hitoku.evidence.attributed import decide_groups
from hitoku.evidence.audit_result import Audit, CellOutcome
from hitoku.evidence.grid import Grid
from hitoku.evidence.problem import AuditProblem
from hitoku.evidence.prover import prove
from hitoku.evidence.witness_search import Progress, Proof
from hitoku.feasibility import fixed_columns
from hitoku.model import Bounds, Need, Release, Table


def audit(
    table: Table,
    need: Need,
    release: Release,
    *,
    intervals: bool | Bounds = False,
    insiders: Insider | None = None,
    deviations: Sequence[Mapping[int, int]] = (),
    known_method: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Check that a release protects every unsafe cell as the need requires, and prove it.

    An unsafe cell that is published, or that can be derived exactly, is never safe, for any need.
    Tables of counts are compared with integer tables only. A release that suppresses nothing and shows
    other values is an adjusted one: see :class:`hitoku.evidence.adjusted.AdjustedAudit`.

    Parameters
    ----------
    table
        True values; the release must be one of this table.
    need
        Unsafe cells and their required protection.
    release
        Published values and public knowledge.
    intervals
        Also compute the exact interval of every suppressed cell; the verdict does not depend on it. Or the
        bounds of all cells, if an attack has computed them already.
    insiders
        An attack by contributors that the release must also withstand. The certificate covers outsiders.
    deviations
        Candidates for witnesses: ``protection.deviations``, as provided by ``Gauss(prove=True)``. They
        are checked like any other; the verdict does not depend on them.
    known_method
        Claim about an attacker who knows the method, ``protection.known_method``. The certificate includes
        it, and :func:`hitoku.verify` checks it; the verdict of the audit is about an attacker who does not.
    progress
        Called with the number of unsafe cells that are settled, and their total, if that takes long.

    Returns
    -------
    Audit
        Outcome of every unsafe cell, findings, and the certificate; for an adjusted release, an
        :class:`hitoku.evidence.AdjustedAudit`.

    Raises
    ------
    NeedError, ProtectionError
        If the need or the release belongs to another table.
    TableError
        If the release claims integers, and the table has other values.

    Examples
    --------
    >>> from hitoku.model import Protection
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> need = Need(unsafe=table.value == 1, lower=1.0, upper=1.0)
    >>> alone = Release.of(table, Protection.withhold(table, need.unsafe))
    >>> audit(table, need, alone)
    Audit(NOT safe: 1 open, 1 unsafe of 9 cells, 1 withheld)
    >>> audit(table, need, alone).cells["why"][0]
    'exactly 1 by [row=Total, column=2]: 16 - 15 = 1'
    >>> inner = table.inner
    >>> audit(table, need, Release.of(table, Protection.withhold(table, inner)))
    Audit(safe: 1 unsafe of 9 cells, 4 withheld, 2 witnesses)
    """
    for kind, given, where in ((Table, table, "table"), (Need, need, "need"), (Release, release, "release")):
        must_be(kind, given, where)
    grid = Grid.of(table.value)
    if _refuse_strangers(table, need, release, grid):
        return audit_adjusted(table, need, release, grid, insiders)
    if release.integer and grid.scale != 1:
        raise TableError(
            "release_claims_whole_numbers",
            "the release says that values are whole numbers, the table has others",
            where="release.integer",
            fix="make the release from this table",
        )
    problem = AuditProblem.of(grid, need, release)
    given_away, rank = fixed_columns(problem.matrix)
    proof = prove(problem, np.flatnonzero(given_away).tolist(), deviations, release, progress)
    place = {int(cell): number for number, cell in enumerate(problem.cells.tolist())}
    outcomes = {cell: _outcome(place.get(cell), proof) for cell in np.flatnonzero(need.unsafe).tolist()}
    return Audit(
        table=table,
        need=need,
        release=release,
        grid=grid,
        problem=problem,
        proof=proof,
        outcomes=outcomes,
        recomputable=int((given_away & (table.shown | need.unsafe)[problem.cells]).sum()),
        null_dimension=len(problem.cells) - rank,
        additive=table.additive and grid.adds_up(release.relations),
        intervals=_intervals(release, intervals),
        groups=decide_groups(table, need, release, proof, problem.cells.tolist()),
        insiders=None if insiders is None else CoalitionSearch(table, need, release, insiders).verdict(),
        known_method=known_method,
    )


def _intervals(release: Release, asked: bool | Bounds) -> Bounds | None:
    if isinstance(asked, Bounds):
        return asked
    return Interval(integer=release.integer).bounds(release) if asked else None


def _outcome(place: int | None, proof: Proof) -> CellOutcome:
    if place is None:
        return CellOutcome.PUBLISHED
    if place in proof.undecided:
        return CellOutcome.UNDECIDED
    reasons = proof.failed.get(place)
    if reasons is None:
        return CellOutcome.SAFE
    given_away = place in proof.exposed or any(reason.linear for reason in reasons)
    return CellOutcome.RECOMPUTABLE if given_away else CellOutcome.NARROW


def _refuse_strangers(table: Table, need: Need, release: Release, grid: Grid) -> bool:
    """Raise if need or release belong to another table; return whether its values were adjusted."""
    need.require_size(table.n_cells)
    if release.n_cells != table.n_cells:
        raise ProtectionError(
            "release_size_differs",
            "release has {n_release} cells, table has {n_table}",
            fix="audit its own table",
            n_release=release.n_cells,
            n_table=table.n_cells,
        )
    withheld = release.withheld
    differs = np.flatnonzero(~withheld & ~grid.same(release.published))
    if len(differs) == 0 or not withheld.any():
        return len(differs) > 0
    raise ProtectionError(
        "release_of_other_table",
        "{n} published value(s) are not the table's: this is a release of another table",
        where="first cell {cell}",
        fix="audit the table that the release was made from",
        n=len(differs),
        cell=table.describe(int(differs[0])),
    )
