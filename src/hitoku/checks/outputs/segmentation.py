"""Predefined segmentations: codes that a policy allows, so that no two outputs cut a variable differently.

Kikuchi and Minami (2017, section 3) name them as the simple solution to differencing: where all outputs use
the same groups, subtracting one from another gives no new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hitoku.checks.evidence import Evidence
from hitoku.checks.outputs.output_type import OutputType
from hitoku.checks.policies import Policy
from hitoku.checks.principles import Clearance, Principle, PrincipleVerdict, worst
from hitoku.checks.records import MISSING
from hitoku.errors import some


def judge(
    asked: OutputType[Any], evidence: Evidence, where: Mapping[str, Any], policy: Policy
) -> tuple[PrincipleVerdict, ...]:
    """Apply the principles to what leaves, and the policy's segmentations to its codes and its filter."""
    found = (*asked.judge(evidence, policy), *_segmented(asked, evidence, where, policy))
    return found if worst(found) is Clearance.FAIL else (*found, *_nothing_left(asked, evidence))


def _nothing_left(asked: OutputType[Any], evidence: Evidence) -> tuple[PrincipleVerdict, ...]:
    """Fail an output of which every number is withheld: it passes by saying nothing."""
    columns = [column for name, column in asked.publish(evidence).items() if name not in asked.variables]
    if not any(all(entry is None for entry in column) for column in columns):
        return ()
    return (
        PrincipleVerdict(
            principle=Principle.UNITS,
            status=Clearance.FAIL,
            reason="nothing_left",
            text="every number is withheld, by itself or with what it is a share of",
            remedy="merge categories, or take fewer variables",
        ),
    )


def _segmented(
    asked: OutputType[Any], evidence: Evidence, where: Mapping[str, Any], policy: Policy
) -> tuple[PrincipleVerdict, ...]:
    """Hold codes against those that are allowed; nothing where the policy names no variable of the output."""
    cells = asked.cells(evidence)
    used = {name: set(codes) for name, codes in ({} if cells is None else cells.codes).items()}
    for name, groups in ({} if cells is None else cells.above).items():
        used[name] |= set(groups)
    for name, codes in where.items():
        used.setdefault(name, set()).update(MISSING if code is None else str(code) for code in codes)
    allowed = {name: sets for name, sets in (policy.segmentations or {}).items() if name in used}
    if not allowed:
        return ()
    wrong = {
        name: min((sorted(used[name] - {*codes, MISSING}) for codes in sets), key=len)
        for name, sets in allowed.items()
    }
    strangers = {name: codes for name, codes in wrong.items() if codes}
    told = "; ".join(f"{name} {some(codes, 3)}" for name, codes in strangers.items())
    rule = f"predefined codes of {', '.join(allowed)}"
    return (
        PrincipleVerdict(
            principle=Principle.DIFFERENCING,
            status=Clearance.FAIL if strangers else Clearance.PASS,
            reason="segmentation" if strangers else "met",
            text=f"{rule}: not {told}" if strangers else f"{rule}: met",
            numbers={"variables": len(allowed), "strangers": sum(map(len, strangers.values()))},
            remedy="recode the variable as the policy lists it" if strangers else "",
        ),
    )
