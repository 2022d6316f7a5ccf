"""Groups that can be pinned to one value: what k people who pool their knowledge infer about the others.

Every member of a group has some value of a sensitive variable. If at most k of them can have a value other
than one (or than one of a set), then k people who know themselves can be sure of all the others. The count
itself may stay unknown: a row whose only nonzero cell is suppressed together with its total reveals the value
of all its members.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from hitoku.attacks.attack import Inference
from hitoku.attacks.interval import Interval
from hitoku.errors import ParameterError, did_you_mean
from hitoku.model import (
    Attributions,
    Bounds,
    Finding,
    Floats,
    Integers,
    Labels,
    Mask,
    Release,
    Severity,
    only_categories,
    rational,
    slack,
    variable_of_relation,
)
from hitoku.parameters import LimitOrZero, Names, Share, Whole, check_parameters
from hitoku.solver.solution import MINUTES, Deadline


@dataclass(frozen=True, slots=True)
class Pinned:
    """A group and the values that all but at most k of its members must have.

    ``total`` is the cell of the whole group, ``inside`` the cells of those values, ``outside`` the others.
    """

    total: int
    inside: tuple[int, ...]
    outside: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Find groups that a coalition of k can pin to one value, or to a forbidden set of values.

    Parameters
    ----------
    k
        Number of people who share their knowledge; 0 for an attacker who is not a member.
    sensitive
        Variables whose values must not be inferred. Default: all of them. Codes at the lowest level are
        single values.
    forbidden
        Additional sets of codes that must not be inferred: ``{"injury": [("Light", "Serious")]}``. A code
        that is a group of others is its own set: ``{"injury": ["Injured"]}``.
    harmless
        Codes that may be inferred: ``{"injury": "None"}``.
    unknown
        Codes that carry no information and identify no person: ``{"injury": "Unknown"}``. They may be
        inferred, and a group described by one of them cannot be identified.
    identifying
        Variables that identify people. Default: all of them. A group described by a code of
        another variable cannot be identified.
    share
        Instead of k: find groups of which more than this share must be in one cell, in every feasible table
        with a nonempty group. Groups within groups count as cells,
        too.
    work_limit
        Limit on the work of flows and programs, the same on every computer. Groups that are undecided
        then are among those found, and the report says so. None: no limit.

    Examples -------- The second table of Figure 1 of Lupp and Langsrud: the injury of all drivers of the
    first row is known and, for the one driver of the second row who was not hurt, that of the others, there
    and overall.

    >>> from hitoku.model import Protection
    >>> from hitoku.model import Table
    >>> drivers = Table.from_array([[0, 0, 17, 0], [1, 0, 12, 0]], names=("city", "injury"))
    >>> hidden = np.isin(np.arange(15), [2, 4, 5, 6])
    >>> release = Release.of(drivers, Protection.withhold(drivers, hidden | (np.arange(15) >= 10)))
    >>> for finding in Group(k=1, sensitive="injury").report(release):
    ...     print(finding.place)
    city=1, injury=Total: injury=3
    city=2, injury=Total: injury=3
    city=Total, injury=Total: injury=3
    """

    name: ClassVar[str] = "group"
    assumes: ClassVar[str] = (
        "as for interval, and also who belongs to a group and the values of k of its people (their own)"
    )
    adjusted: ClassVar[bool] = False

    k: Whole = 1
    sensitive: Names | None = None
    forbidden: Mapping[str, Sequence[Any]] | None = None
    harmless: Mapping[str, Any] | None = None
    unknown: Mapping[str, Any] | None = None
    identifying: Names | None = None
    share: Share | None = None
    work_limit: LimitOrZero | None = MINUTES

    def __post_init__(self) -> None:
        check_parameters(self)

    def infer(self, release: Release) -> Inference:
        """Return the pinned groups, in words; intervals of counts do not show them."""
        return Inference(findings=self.report(release))

    def find(self, release: Release) -> tuple[Pinned, ...]:
        """Return the groups that are pinned, or undecided, in the order of their totals."""
        return self._search(release, self._deadline())

    def _deadline(self) -> Deadline:
        return Deadline.of(work_limit=self.work_limit)

    def _search(self, release: Release, deadline: Deadline) -> tuple[Pinned, ...]:
        """Return the groups that are pinned; after the deadline, undecided ones, too."""
        if self.share is not None:
            return self._find_crowded(release, self.share, deadline)
        groups = sorted(self._groups(release), key=lambda group: (group.total, group.inside))
        return tuple(groups[i] for i in np.flatnonzero(self._find_pinned(release, groups, deadline)))

    def bounds(self, release: Release) -> Bounds:
        """Return the intervals of all cells; pinned groups imply nothing more about counts."""
        return Interval(work_limit=self.work_limit).bounds(release)

    def report(self, release: Release) -> tuple[Finding, ...]:
        """Describe the groups that are pinned, or undecided, by their codes."""
        deadline = self._deadline()
        found = self._search(release, deadline)
        reason = (
            f"{self.k} of the group can be sure of the others"
            if self.share is None
            else f"more than {self.share:.0%} of the group must be there"
        )
        severity, advice = (
            Severity.FAIL,
            "withhold another cell of the group, so that some could be elsewhere",
        )
        if deadline.work.over:
            severity, reason = Severity.REVIEW, f"not decided within the work limit whether {reason}"
            advice = f"give a higher work_limit, or {advice}"
        return tuple(
            Finding(
                severity=severity,
                place=f"{release.describe(group.total)}: {self._values(release, group)}",
                reason=reason,
                advice=advice,
            )
            for group in found
        )

    def _values(self, release: Release, group: Pinned) -> str:
        codes = [release.labels.codes_of(cell) for cell in group.inside]
        whole = release.labels.codes_of(group.total)
        name, place = next(
            (name, place)
            for place, name in enumerate(release.labels.names)
            if codes[0][place] != whole[place]
        )
        return f"{name}={' or '.join(code[place] for code in codes)}"

    def _find_pinned(self, release: Release, groups: Sequence[Pinned], deadline: Deadline) -> Mask:
        """Return which nonempty groups can have no more than k people elsewhere."""
        if not groups:
            return np.zeros(0, dtype=bool)
        n, m = release.n_cells, len(groups)
        wider = _with_outside(release, groups)
        total = np.array([g.total for g in groups], dtype=np.int64)
        size = release.published[total]
        # If the whole group is no larger than k, it is enough that all may be elsewhere.
        goal = np.where(np.isnan(size), self.k + 1.0, np.minimum(size, self.k + 1.0))
        high = np.full(n + m, np.nan)
        high[n:] = goal
        _, reached = Interval().meets(wider, np.full(n + m, np.nan), high, deadline)
        pinned = ~reached[n:] & (goal > 0)
        open_total = pinned & np.isnan(size)
        if open_total.any():
            bounds = Interval().bounds(wider, deadline)
            most_outside, most = bounds.upper[n:], bounds.upper[total]
            if release.integer:
                most_outside, most = np.floor(most_outside + 1e-6), np.floor(most + 1e-6)
            decided = ~(bounds.unknown[n:] | bounds.unknown[total])
            pinned &= ~(open_total & decided) | (most > most_outside + slack(most_outside))
        return pinned

    def _find_crowded(self, release: Release, share: float, deadline: Deadline) -> tuple[Pinned, ...]:
        """Return groups of which more than a share is in one cell, in every feasible table."""
        labels, sums, exact = release.labels, _Sums.of(release), rational(share)
        harmless = self._carries(labels, self.harmless, "harmless")
        harmless |= self._carries(labels, self.unknown, "unknown")
        found: list[Pinned] = []
        for variable in labels.names if self.sensitive is None else self.sensitive:
            rows = sums.along(labels.column(_place(labels, variable, "sensitive")).astype(np.int64))
            rows = rows[self._placeable(labels, sums, variable)[sums.total[rows]]]
            for row in rows.tolist():
                found += [sums.pinned(row, [cell]) for cell in sums.parts(row) if not harmless[cell]]
        found = sorted(dict.fromkeys(found), key=lambda group: (group.total, group.inside))
        n, weights = release.n_cells, (float(exact.numerator), float(exact.denominator))
        total = np.array([group.total for group in found], dtype=np.int64)
        inside = np.array([group.inside[0] for group in found], dtype=np.int64)
        wider = Attributions.within(n, total, inside, 0.0, weights).extend_release(release)
        bounds = Interval().bounds(release, deadline)
        # An empty group has no shares. If a group may be empty, the sum must exceed zero, which
        # it cannot in an empty one.
        empty = bounds.lower[total] <= slack(bounds.lower[total])
        goal = np.append(np.full(n, np.nan), np.where(empty, 1.0, 0.0))
        _, far = Interval().meets(wider, np.full(len(goal), np.nan), goal, deadline)
        far = np.array(far[n:])
        if not release.integer and (empty & ~far).any():
            wide = Interval().bounds(wider, deadline)
            high, decided = wide.upper[n:], ~wide.unknown[n:]
            far |= empty & decided & (high > slack(high))
        crowded = ~far & (bounds.upper[total] > 0)
        return tuple(found[place] for place in np.flatnonzero(crowded))

    def _groups(self, release: Release) -> list[Pinned]:
        """Return groups with so few people certainly elsewhere that they may be pinned."""
        labels = release.labels
        uninformative = self._carries(labels, self.unknown, "unknown")
        harmless = self._carries(labels, self.harmless, "harmless") | uninformative
        sums = _Sums.of(release)
        # People who are certainly there; with more than k of them outside no member can be sure.
        least = np.where(release.withheld, np.maximum(release.lower, 0.0), release.published)
        found: list[Pinned] = []
        for variable in labels.names if self.sensitive is None else self.sensitive:
            place = _place(labels, variable, "sensitive")
            rows = sums.along(labels.column(place).astype(np.int64))
            rows = rows[
                ~uninformative[sums.total[rows]] & self._placeable(labels, sums, variable)[sums.total[rows]]
            ]
            # By the variable's own hierarchy: relations added by linked tables do not define groups.
            group = np.zeros(release.n_cells, dtype=bool)
            group[sums.total[rows[sums.tree[rows] >= 0]]] = True
            certain = sums.add(least)
            for row in rows.tolist():
                parts = sums.parts(row)
                few = certain[row] - least[parts] <= self.k
                found += [sums.pinned(row, [cell]) for cell in parts[few & ~harmless[parts] & ~group[parts]]]
            found += self._sets(labels, place, sums, rows, uninformative)
        return [
            one
            for one in dict.fromkeys(found)
            if least[list(one.outside)].sum() <= self.k
            and (release.withheld[list(one.inside)].any() or least[list(one.inside)].sum() > 0)
        ]

    def _placeable(self, labels: Labels, sums: _Sums, sensitive: str) -> Mask:
        """Return which cells are described by identifying variables alone, except for the sensitive one."""
        found = np.ones(len(labels), dtype=bool)
        for variable in labels.names if self.identifying is not None else ():
            if variable != sensitive and variable not in (self.identifying or ()):
                column = labels.column(labels.names.index(variable)).astype(np.int64)
                parts = [sums.parts(row) for row in sums.along(column).tolist() if sums.tree[row] >= 0]
                found &= ~np.isin(column, column[np.concatenate(parts)] if parts else [])
        for variable in self.identifying or ():
            _place(labels, variable, "identifying")
        return found

    def _sets(
        self, labels: Labels, place: int, sums: _Sums, rows: Integers, uninformative: Mask
    ) -> list[Pinned]:
        """Return groups with the parts that make up a forbidden set."""
        column = labels.column(place)
        found: list[Pinned] = []
        for codes in (self.forbidden or {}).get(labels.names[place], ()):
            numbers = _numbers(labels, place, codes, "forbidden")
            for row in rows.tolist():
                parts = sums.parts(row)
                inside = parts[np.isin(column[parts], numbers)]
                if len(inside) == len(numbers) and not uninformative[inside].all():
                    found.append(sums.pinned(row, inside.tolist()))
        return found

    def _carries(self, labels: Labels, given: Mapping[str, Any] | None, what: str) -> Mask:
        """Return the cells that have one of these codes."""
        found = np.zeros(len(labels), dtype=bool)
        for variable, codes in (given or {}).items():
            place = _place(labels, variable, what)
            found |= np.isin(labels.column(place), _numbers(labels, place, codes, what))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """Relations of the form "parts add up to a total", as CSR parts.

    ``tree`` is the variable whose hierarchy contains a relation, -1 if it connects several.
    """

    relations: Any
    total: Integers
    plain: Mask
    tree: Integers

    @classmethod
    def of(cls, release: Release) -> _Sums:
        relations = sparse.csr_array(release.relations)
        n_rows = relations.shape[0]
        row = np.repeat(np.arange(n_rows), np.diff(relations.indptr))
        below = relations.data == -1
        plain = np.bincount(row, weights=below, minlength=n_rows) == 1
        plain &= np.bincount(row, weights=~below & (relations.data != 1), minlength=n_rows) == 0
        tree = variable_of_relation(relations, release.labels)
        plain &= (np.diff(relations.indptr) > 2) | only_categories(relations, tree)
        total = np.zeros(n_rows, dtype=np.int64)
        total[row[below]] = relations.indices[below]
        return cls(relations, total, plain, tree)

    def along(self, column: Integers) -> Integers:
        """Return relations whose parts differ from their total in a variable."""
        relations = self.relations
        row = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
        differs = column[relations.indices] != column[self.total[row]]
        return np.flatnonzero(self.plain & (np.bincount(row, weights=differs, minlength=len(self.plain)) > 0))

    def parts(self, row: int) -> Integers:
        cells = self.relations.indices[self.relations.indptr[row] : self.relations.indptr[row + 1]]
        return np.asarray(cells[cells != self.total[row]], dtype=np.int64)

    def add(self, values: Floats) -> Floats:
        """Sum over the parts of every relation."""
        return np.asarray(self.relations @ values + values[self.total])

    def pinned(self, row: int, inside: Sequence[int]) -> Pinned:
        chosen = {int(cell) for cell in inside}
        outside = tuple(int(cell) for cell in self.parts(row) if int(cell) not in chosen)
        return Pinned(int(self.total[row]), tuple(sorted(chosen)), outside)


def _with_outside(release: Release, groups: Sequence[Pinned]) -> Release:
    """Add to a release, for each group, a suppressed cell for all people outside."""
    n, m = release.n_cells, len(groups)
    row = [i for i, group in enumerate(groups) for _ in range(len(group.outside) + 1)]
    cell = [c for i, group in enumerate(groups) for c in (*group.outside, n + i)]
    data = [x for group in groups for x in (*(1.0 for _ in group.outside), -1.0)]
    more = sparse.csr_array((data, (row, cell)), shape=(m, n + m))
    wider = sparse.hstack([release.relations, sparse.csr_array((release.relations.shape[0], m))])
    return replace(
        release,
        published=np.append(release.published, np.full(m, np.nan)),
        relations=sparse.vstack([wider, more], format="csr"),
        labels=Labels.numbered(n + m),
        lower=np.append(release.lower, [release.lower[list(group.outside)].sum() for group in groups]),
        upper=np.append(release.upper, np.full(m, np.inf)),
    )


def _place(labels: Labels, variable: str, what: str) -> int:
    if variable not in labels.names:
        raise ParameterError(
            "variable_not_in_release",
            "the release has no variable {variable!r}",
            where="attack group, {what}",
            fix=did_you_mean(str(variable), labels.names),
            variable=variable,
            what=what,
        )
    return labels.names.index(variable)


def _numbers(labels: Labels, place: int, codes: Any, what: str) -> list[int]:
    """Return positions of one or several codes of a variable."""
    known = labels.codes[place]
    listed = [codes] if isinstance(codes, str) else list(codes)
    for code in listed:
        if code not in known:
            raise ParameterError(
                "unknown_code_of_variable",
                "variable {variable!r} has no code {code!r}",
                where="attack group, {what}",
                fix=did_you_mean(str(code), known),
                variable=labels.names[place],
                code=code,
                what=what,
            )
    return [known.index(code) for code in listed]
