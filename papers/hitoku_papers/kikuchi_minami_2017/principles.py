"""Table 1 and the five principles: on each side of every threshold, what the paper says and what is decided.

Principles are put to small tables and to a session with made-up records; the policy is ``japan-2017``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hitoku.attacks.differencing import differencing
from hitoku.checks.outputs import OUTPUT_TYPES
from hitoku.checks.policies import policy
from hitoku.checks.principles import Clearance, Principle, PrincipleVerdict
from hitoku.checks.session import Session
from hitoku.model import Protection, Release, Table
from hitoku.rules import PPercent, Rule
from hitoku.testing import one_cell
from hitoku_papers.kikuchi_minami_2017.published import (
    COUNT_WIDTH,
    DOMINANCE,
    FREEDOM,
    GROUP,
    OUTPUTS,
    SHARE_WIDTH,
    SINGLED_OUT,
    TABLE_1,
    UNITS,
)
from hitoku_papers.kikuchi_minami_2017.records import records
from hitoku_papers.reproduction import Reproduction, same

POLICY = "japan-2017"
ALLOWED = {True: "refused", False: "allowed"}


def results() -> tuple[Reproduction, ...]:
    """Compare Table 1, the principles and the types of output."""
    return (*_differences(), *_units(), *_amounts(), *_sessions(), *_outputs())


def _release(codes: Sequence[str], counts: Sequence[int]) -> Release:
    table = Table.from_array(counts, names=["age"], codes=[codes])
    return Release.of(table, Protection.withhold(table, np.zeros(table.n_cells, dtype=bool)))


def _differences() -> Iterator[Reproduction]:
    smallest = min(min(row) for row in TABLE_1.values())
    unsafe = sum(
        int(_few(Table.from_array(counts, names=["age"], codes=[codes])).sum())
        for codes, counts in TABLE_1.items()
    )
    yield same(
        "Table 1", "cells below 10 units, each table alone", "0", str(unsafe), f"the smallest has {smallest}"
    )
    releases = [_release(codes, counts) for codes, counts in TABLE_1.items()]
    found = differencing(releases, threshold=UNITS).found
    ours = "; ".join(f"{one.group}: {one.most:g}" for one in found) or "none"
    yield same("Table 1", "singled out by both together", SINGLED_OUT, ours)
    names = ("narrow", "wide")
    bands = zip(names, TABLE_1.items(), strict=True)
    with records({name: np.repeat(codes, counts) for name, (codes, counts) in bands}) as ages:
        work = Session("ages", ages, policy=POLICY)
        statuses = [work.frequency_table(by=name).status for name in names]
    yield Reproduction(
        place="Table 1",
        what="the two as outputs of one session",
        published="a measure is still under consideration",
        ours=", then ".join(statuses),
        agrees=None,
        why="here the second table does not leave",
    )


def _few(table: Table) -> np.ndarray:
    return np.asarray(policy(POLICY).count_rules[0].assess(table).unsafe)


def _units() -> Iterator[Reproduction]:
    table = Table.from_array([[UNITS - 1, 40], [UNITS, 40]])
    unsafe = _few(table)
    for cell, n in ((0, UNITS - 1), (3, UNITS)):
        said = ALLOWED[n < UNITS]
        yield same("Appendix C, 10 units", f"a cell of {n} units", said, ALLOWED[bool(unsafe[cell])])
    rule = policy(POLICY).freedom
    for freedom in (FREEDOM, FREEDOM + 1):
        yield same(
            "Appendix C, 11 degrees of freedom",
            f"{freedom} degrees of freedom",
            ALLOWED[freedom <= FREEDOM],
            ALLOWED[not rule.met(freedom)],
            "section 2.5 has 10; the appendix 'greater than 11', which is what the policy says",
        )
    group = policy(POLICY).count_rules[1]
    for n in (GROUP, GROUP + 1):
        shares = Table.from_array([[n, 100 - n], [50, 50]])
        flagged = bool(group.assess(shares).unsafe[0])
        yield same(
            "Appendix C, group disclosure", f"{n} of the 100 of its row", ALLOWED[n > GROUP], ALLOWED[flagged]
        )


def _flagged(rule: Rule, *contributions: float) -> str:
    return ALLOWED[bool(rule.assess(one_cell(*contributions)).unsafe[0])]


def _amounts() -> Iterator[Reproduction]:
    rule = policy(POLICY).magnitude_rules[0]
    for largest in (DOMINANCE, DOMINANCE + 1):
        rest = [(100 - largest) / 10] * 10
        yield same(
            "Appendix C, dominance",
            f"the largest holds {largest} % of the cell",
            ALLOWED[largest > DOMINANCE],
            _flagged(rule, largest, *rest),
        )
    # The largest has 80, so 10 percent are 8; the second has 12; what is left decides.
    for left, said in ((7, "refused"), (8, "refused"), (9, "allowed")):
        yield same(
            "Appendix C, p% rule",
            f"p = 10, largest 80, all but the two largest hold {left}",
            said,
            _flagged(PPercent(10, at_limit="unsafe"), 80, 12, left),
            "PPercent(at_limit='unsafe'); by default exactly p is safe, as in τ-ARGUS" if left == 8 else "",
        )


def _people(n_units: int) -> dict[str, Any]:
    random = np.random.default_rng(2017)
    return {
        "person": np.arange(n_units),
        "region": np.where(np.arange(n_units) % 2, "North", "South"),
        "income": np.round(random.lognormal(8, 0.3, n_units)),
    }


def _mode_units(n_units: int) -> PrincipleVerdict:
    with records(_people(n_units)) as path:
        output = Session("mode", path, unit="person", policy=POLICY).mode("region")
    return next(verdict for verdict in output.verdicts if verdict.principle is Principle.UNITS)


def _sessions() -> Iterator[Reproduction]:
    for n, said in ((UNITS, "refused"), (UNITS + 1, "allowed")):
        ours = ALLOWED[_mode_units(n).status is Clearance.FAIL]
        yield Reproduction(
            place="section 3, mode",
            what=f"the mode of {n} units",
            published=said,
            ours=ours,
            agrees=said == ours,
            distance="" if said == ours else "one unit",
            why="section 3 says 'more than 10 units', the principle 'at least 10'; the policy has the latter"
            if said != ours
            else "",
        )
    with records(_people(300)) as path:
        yield from _statistics(Session("incomes", path, unit="person", policy=POLICY))


def _statistics(work: Session) -> Iterator[Reproduction]:
    highest = work.summary("max", "income")
    yield same(
        "Appendix C, individual values",
        "the highest income of an area",
        "refused",
        ALLOWED[highest.status is Clearance.FAIL],
    )
    for name, output in (
        ("average", work.mean("income", by="region")),
        ("sum", work.sum("income", by="region")),
        ("standard deviation", work.summary("std", "income", by="region")),
    ):
        applied = any(v.principle is Principle.DOMINANCE for v in output.verdicts)
        said = "no" if name == "standard deviation" else "yes"
        ours = "yes" if applied else "no"
        why = (
            "stricter here: a value that dominates the squares can be worked out from the standard deviation"
        )
        yield Reproduction(
            place="Appendix D",
            what=f"dominance applied to: {name}",
            published=said,
            ours=ours,
            agrees=said == ours,
            distance="" if said == ours else "one rule more",
            why="" if said == ours else why,
        )


def _outputs() -> Iterator[Reproduction]:
    found = [name for name, word in OUTPUTS.items() if word in OUTPUT_TYPES]
    yield same("section 3", "types of output", ", ".join(OUTPUTS), ", ".join(found))
    width = policy(POLICY).interval
    yield same(
        "section 3",
        "least width of an interval: counts, magnitudes",
        f"{COUNT_WIDTH}, {SHARE_WIDTH:.0%}",
        f"{width.count:g}, {width.share:.0%}",
        "a width of 10 is eleven possible counts; ten 'elements' would be a width of 9, so this is stricter",
    )
