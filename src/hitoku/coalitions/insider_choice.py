"""Contributions of a table, choice of contributors that attack, and results of a search over coalitions."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hitoku.attacks import MAX_COALITIONS, Coalition, Contribution, Insider
from hitoku.coalitions.near_cell import KnownBounds
from hitoku.errors import NeedError, ParameterError, did_you_mean
from hitoku.messages import Arguments, Text
from hitoku.model import Finding, Integers, Severity, Table


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TooClose:
    """A coalition, and the unsafe cells that it can infer too closely."""

    members: Coalition
    """Contributors, numbered by first occurrence in the given contributions."""
    cells: Integers
    """Indices of the cells."""
    known: KnownBounds
    """Knowledge of the coalition without any release."""

    def __repr__(self) -> str:
        return f"TooClose({len(self.members)} contributor(s), {len(self.cells)} cell(s))"


@dataclass(frozen=True, slots=True)
class InsiderVerdict:
    """Number of coalitions, and the cells that some of them can infer too closely."""

    tried: int
    """Number of coalitions that were examined."""
    cells: tuple[int, ...]
    """Cells that some of them can infer too closely."""
    undecided: int = 0
    """Number of coalitions with undecided cells at the work limit."""

    def findings(self, describe: Callable[[int], str]) -> list[Finding]:
        """Return the findings for the checker; ``describe`` names a cell."""
        if self.undecided:
            open_ones = Finding(
                severity=Severity.REVIEW,
                place="insiders",
                reason=Text(
                    "not decided: the work limit was reached with {undecided:,} contributor(s) or "
                    "coalitions open",
                    undecided=self.undecided,
                ),
                advice="give the attack a higher work_limit, or withhold more",
            )
            return [*self._too_close(describe), open_ones]
        if not self.cells:
            return [
                Finding(
                    severity=Severity.PASS,
                    place="insiders",
                    reason=Text(
                        "{n:,} contributor(s), or coalitions of them, were tried: none comes too close by "
                        "knowing their own amounts",
                        n=self.tried,
                    ),
                )
            ]
        return self._too_close(describe)

    def _too_close(self, describe: Callable[[int], str]) -> list[Finding]:
        return [
            Finding(
                severity=Severity.FAIL,
                place=describe(cell),
                reason="a contributor who knows their own amounts can infer it more closely than required",
                advice="withhold more cells in its relations, those of several contributors",
            )
            for cell in self.cells
        ]


# Insiders from which a release may be protected; each choice includes those before it.
INSIDERS = ("none", "singletons", "contributors")
# Above this number of cells insiders are not tried by default: each contributor takes linear programs.
LARGEST_BY_DEFAULT = 5_000


@dataclass(frozen=True, slots=True, eq=False)
class Insiders:
    """Insiders from which a release is protected, in addition to outsiders."""

    attack: Insider | None
    """Contributions and coalitions; None for no insiders."""
    words: str
    """Description for a summary: the name of the choice, and the reason for a default."""


def choose_insiders(table: Table, given: Any, *, with_intervals: bool = True) -> Insiders:
    """Return the insiders for a name, an attack, contributions, or None for the default.

    By default, magnitudes are protected from ``singletons``: a sole contributor who subtracts their own
    contribution from a sum may learn another contribution exactly, and other programs protect against that,
    too. The largest contributors learn bounds only, and keeping those wide costs several times as many cells.
    In counts every contributor knows one unit, so no insiders are considered.

    Parameters
    ----------
    table
        The table, with the largest contributions of its cells.
    given
        "none"; "singletons", the sole contributors of cells; "contributors", also the largest of each cell;
        the latter two optionally with ``:coalition=2`` for pairs that pool what they know. True and False
        stand for "contributors" and "none". Or an :class:`Insider`, or its contributions. Default: None.
    with_intervals
        Whether the method protects intervals; otherwise the default is no insiders.

    Examples
    --------
    >>> from hitoku.testing import one_cell
    >>> choose_insiders(one_cell(80, 15, 5), "contributors:coalition=2").attack
    Insider(1 contributions, coalition=2)
    >>> choose_insiders(one_cell(7), None).words
    'singletons, the default for magnitudes'
    """
    if given is None:
        return _default(table, with_intervals=with_intervals)
    if isinstance(given, bool):
        given = "contributors" if given else "none"
    if not isinstance(given, str):
        attack = given if isinstance(given, Insider) else Insider(given)
        return Insiders(attack, Text("{n:,} given contributions", n=len(attack.contributions)))
    word, size = parse_insiders(given)
    if word == "none":
        return Insiders(None, word)
    known = contributions_in(table)
    if word == "singletons":
        known = tuple(one for one in known if one.sole)
    # All single contributors are tried; the number of larger coalitions is limited by the attack.
    attack = Insider(known, coalition=size, limit=max(MAX_COALITIONS, len(known)))
    return Insiders(attack, word if size == 1 else _because(word, Text("up to {n} together", n=size)))


def parse_insiders(word: str, where: str = "insiders") -> tuple[str, int]:
    """Return the name of a choice of insiders, and the largest size of coalitions.

    Examples
    --------
    >>> parse_insiders("singletons:coalition=2"), parse_insiders("contributors")
    (('singletons', 2), ('contributors', 1))
    """
    name, _, rest = word.partition(":")
    if name not in INSIDERS:
        raise ParameterError(
            "unknown_insiders",
            "no insiders {insiders!r}",
            where=where,
            fix=did_you_mean(name, INSIDERS),
            insiders=name,
        )
    found = re.fullmatch(r"(?:coalition=([1-9][0-9]?))?", rest)
    if found is None or (rest and name == "none"):
        raise ParameterError(
            "argument_unreadable",
            "cannot read {word!r}",
            where=where,
            fix="write singletons, or contributors:coalition=2",
            word=word,
        )
    return name, int(found[1] or 1)


def _default(table: Table, *, with_intervals: bool) -> Insiders:
    known = table.contributors
    if known is None or not known.largest.shape[1]:
        return Insiders(None, _because("none", "the default where contributions are not known"))
    if not with_intervals:
        return Insiders(None, _because("none", "the default of a method that promises no intervals"))
    if table.n_cells > LARGEST_BY_DEFAULT:
        return Insiders(None, _because("none", Text("the default beyond {n:,} cells", n=LARGEST_BY_DEFAULT)))
    attack = choose_insiders(table, "singletons").attack
    return Insiders(attack, _because("singletons", "the default for magnitudes"))


def _because(word: str, why: str) -> Text:
    return Text("{word}, {why}", word=word, why=why if isinstance(why, Text) else Text(why))


def contributions_in(table: Table) -> tuple[Contribution, ...]:
    """Return the contributions that a table contains: sole contributors, and the largest of each cell.

    A table contains contributions without names. The sole contributor of a total is also that of its parts,
    and a total with a single non-empty part has the contributors of that part. Otherwise the largest
    contributors of different cells count as different; finding a firm in several cells takes records.

    Examples
    --------
    >>> from hitoku.testing import one_cell
    >>> contributions_in(one_cell(80, 15, 5)), contributions_in(one_cell(7))
    ((Contribution(cell 0),), (Contribution(cell 0, sole),))
    """
    contributors = table.contributors
    if contributors is None:
        raise NeedError(
            "contributors_unknown",
            "the table does not say who contributes to its cells",
            where="insiders",
            fix="start from records with {arguments}, or choose insiders none",
            arguments=Arguments("tabulate", value=..., unit=...),
        )
    sole = contributors.count == 1
    owner = _owners(table, contributors.count)
    found = [
        Contribution(("sole", int(owner[cell])), int(cell), float(table.value[cell]), sole=True)
        for cell in np.flatnonzero(sole)
    ]
    # Contributions below zero bound nothing, and those of another variable say nothing about this one.
    comparable = not contributors.negative and np.array_equal(contributors.total, table.value)
    if comparable and contributors.largest.shape[1]:
        largest = np.minimum(contributors.largest[:, 0], table.value)
        found += [
            Contribution(("largest", int(owner[cell])), int(cell), float(largest[cell]))
            for cell in np.flatnonzero(~sole & (largest > 0))
        ]
    return tuple(found)


def _owners(table: Table, count: Integers) -> Integers:
    """Return a number for each cell, equal for cells that are known to have the same contributors.

    The sole contributor of a total is also that of its non-empty parts. A total with a single non-empty part
    has the contributors of that part: if its largest contributor counted as different, it would seem to learn
    the part from the published zeros beside it.
    """
    relations = table.relations
    row = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
    cells, total = relations.indices, relations.data < 0
    behind = count[cells] > 0
    parts = np.bincount(row[~total & behind], minlength=relations.shape[0])
    alone = np.zeros(relations.shape[0], dtype=np.bool_)
    alone[row[total & (count[cells] == 1)]] = True
    keep = behind & ((parts[row] == 1) | (alone[row] & (count[cells] == 1)))
    owner = np.arange(table.n_cells)
    changed = True
    while changed:
        first = np.full(relations.shape[0], table.n_cells)
        np.minimum.at(first, row[keep], owner[cells[keep]])
        lower = owner.copy()
        np.minimum.at(lower, cells[keep], first[row[keep]])
        changed = not np.array_equal(lower, owner)
        owner = lower
    return owner
