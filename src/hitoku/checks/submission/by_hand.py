"""A table that somebody suppressed, by hand or with another program, judged by a policy.

There is no evidence beside it: its counts and largest contributions are believed, and what they do not tell
is not testable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import numpy as np

from hitoku.checks.evidence import MagnitudeEvidence, TableEvidence
from hitoku.checks.outputs import FrequencyTable, MagnitudeTable, Output
from hitoku.checks.policies import Policy
from hitoku.checks.policies import policy as policy_named
from hitoku.checks.principles import Clearance, Principle, PrincipleVerdict, verdicts
from hitoku.checks.principles import table_principles as tables
from hitoku.checks.submission.differencing import not_tested
from hitoku.checks.submission.rechecked import Recheck, Rechecked
from hitoku.checks.submission.submission import Submission
from hitoku.errors import ParameterError
from hitoku.messages import Text
from hitoku.model import Finding, Mask, Need, Table
from hitoku.rules import merge_withheld


def check_table(
    table: Table,
    withheld: Mask,
    policy: str | Path | Policy,
    *,
    name: str = "table",
    findings: Sequence[Finding] = (),
) -> Recheck:
    """Judge a table by the principles of a policy, cell by cell and by what readers can work out.

    Parameters
    ----------
    table
        The true table. Its frequency counts units; a table of counts need not have one.
    withheld
        Cells that do not leave.
    policy
        Name of a policy, or the path of one.
    name
        What reports call it.
    findings
        What is wrong with it anyway.

    Examples
    --------
    >>> check_table(Table.from_array([[40, 30], [20, 3]]), np.zeros(9, dtype=bool), "japan-2017")
    Recheck('table': 1 fail)
    """
    own = policy_named(policy)
    evidence = _evidence(table, withheld)
    by = evidence.by
    counts = bool(np.array_equal(evidence.value, evidence.n_units))
    asked: FrequencyTable | MagnitudeTable
    if counts:
        asked = FrequencyTable(by)
        judged = asked.judge(evidence, own)
    else:
        asked = MagnitudeTable(by, table.measure)
        judged = (
            asked.judge(evidence, own)
            if isinstance(evidence, MagnitudeEvidence)
            else _by_counts(evidence, own)
        )
    output = Output(
        name=name,
        kind=asked.kind,
        definition={"by": list(by)} if counts else {"by": list(by), "value": table.measure},
        where={},
        evidence=evidence,
        published=asked.publish(evidence),
        policy={"name": own.name, "version": own.version, "hash": own.hash},
        data="",
        verdicts=judged,
    )
    alone = not_tested("a table alone; what else was released is not known")
    return Recheck(
        submission=Submission(
            path=Path(name),
            name=name,
            data="not given",
            version=metadata.version("hitoku"),
            policy=own,
            outputs=(output,),
            stems=(name,),
        ),
        policy=own,
        outputs=(Rechecked(output=output, verdicts=(*judged, alone), findings=tuple(findings)),),
        scope="not tested, for a table alone",
    )


def _evidence(table: Table, withheld: Mask) -> TableEvidence:
    """Take a table as the evidence of a session; nobody says more than one unit per record."""
    if table.frequency is None and not table.integer:
        raise ParameterError(
            "amounts_without_unit_counts",
            "a table of amounts does not say how many units are in its cells",
            where="frequency",
            fix="name the column with the number of units",
        )
    n_units = np.rint(table.value if table.frequency is None else table.frequency).astype(np.int64)
    known = replace(table, frequency=n_units, measures={**table.measures, "records": n_units})
    who = known.contributors
    # Nobody says which cells are withheld because of their counts; those that the rules hit are known.
    evidence = MagnitudeEvidence if who is not None and who.largest.shape[1] else TableEvidence
    return evidence.of(known, withheld=withheld)


def _by_counts(evidence: TableEvidence, policy: Policy) -> tuple[PrincipleVerdict, ...]:
    """Judge amounts without contributions: by their counts, and dominance not at all."""
    need = tables.count_need(evidence, policy)
    table = evidence.table
    nothing = Need(unsafe=np.zeros(table.n_cells, dtype=np.bool_))
    wide = merge_withheld(table, nothing, need.unsafe, policy.interval.share)
    unknown = PrincipleVerdict(
        principle=Principle.DOMINANCE,
        status=Clearance.REVIEW,
        reason="not_testable",
        text=Text("not testable: {text}", text=Text("the largest contributions are not given")),
        remedy="give the columns with the largest contributions of every cell",
    )
    asked = Text(
        "intervals of withheld values at least {share:.0%} of them wide", share=policy.interval.share
    )
    return (
        *verdicts(tables.count_tests(evidence, need.rules, policy), evidence),
        unknown,
        tables.interval_verdict(table, wide, evidence.withheld, asked),
    )
