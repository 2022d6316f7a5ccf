"""Pairs of outputs that single a small group out together: which cells to add and subtract, for the page.

What is told here is what any reader can do with definitions and counts. The verdict on differencing stands on
more, the ledger and the data; this is its picture.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hitoku.attacks.differencing.defined import Defined, defined_differences
from hitoku.checks.principles.verdict import Clearance, worst
from hitoku.checks.submission.code_differences import MOST_OF_TWO, counted
from hitoku.checks.submission.rechecked import Recheck
from hitoku.errors import HitokuError

# So many pairs are drawn; the verdicts name all.
MOST_PAIRS = 50
# So many groups of a pair are drawn: they are alike.
MOST_GROUPS = 3


def pairs(found: Recheck) -> list[dict[str, Any]]:
    """Return for each pair of outputs the smallest group that it singles out, with the cells to subtract."""
    known: list[tuple[int, Defined, list[int]]] = []
    drawn: list[dict[str, Any]] = []
    for place, each in enumerate(found.outputs):
        own = [verdict for verdict in each.verdicts if verdict.principle != "differencing"]
        if each.findings or worst(own) is Clearance.FAIL:
            continue
        described = counted(each.output)
        if isinstance(described, str):
            continue
        kept = np.flatnonzero(~each.output.evidence.withheld).tolist()
        for other, earlier, others_kept in known:
            if len(drawn) >= MOST_PAIRS:
                return drawn
            try:
                disclosed = defined_differences(
                    [earlier, described], threshold=found.policy.units.minimum, most=MOST_OF_TWO
                )
            except HitokuError:
                continue  # too many combinations: the verdict says that it was not tested
            together = [one for one in disclosed if len(one.releases) > 1]
            for one in together[:MOST_GROUPS]:
                terms = [
                    {
                        "output": (other, place)[term.release],
                        "cell": (others_kept, kept)[term.release][term.cell],
                        "name": term.name,
                        "times": str(term.times),
                        "value": term.value,
                    }
                    for term in one.terms
                ]
                drawn.append(
                    {
                        "outputs": [other, place],
                        "group": one.group,
                        "most": one.most,
                        "exact": one.exact,
                        "text": one.describe({0: earlier.name, 1: described.name}, "unit"),
                        "terms": terms,
                        "more": len(together) - MOST_GROUPS if one is together[:MOST_GROUPS][-1] else 0,
                    }
                )
        known.append((place, described, kept))
    return drawn
