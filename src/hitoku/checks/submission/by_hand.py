"""Judge a table that was suppressed by hand or with another program.

The table has no evidence: its counts and largest contributions are taken as given, and anything else is not
testable.
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
    """Judge a table by the principles of a policy, including the audit of suppressed cells.

    Parameters
    ----------
    table
        The true table. Its frequency counts units; a table of counts does not need one.
    withheld
        Mask of the suppressed cells.
    policy
        Name or path of a policy.
    name
        Name used in reports.
    findings
        Findings known beforehand.

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
    """Build evidence from a table, assuming one record per unit."""
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
    # Cells suppressed because of their counts are unknown; those that the count rules flag are known.
    evidence = MagnitudeEvidence if who is not None and who.largest.shape[1] else TableEvidence
    return evidence.of(known, withheld=withheld)


def _by_counts(evidence: TableEvidence, policy: Policy) -> tuple[PrincipleVerdict, ...]:
    """Judge a magnitude table without contributions: by its counts; dominance is not testable."""
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
