"""The same group through several statistics: what outputs say of a variable is judged together.

A group is known by its codes and the filter it is under, as a reader knows it, so that this is done with the
data and without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hitoku.checks.outputs import Output
from hitoku.checks.policies import Policy
from hitoku.checks.principles import (
    REMEDIES,
    Clearance,
    Determined,
    Principle,
    PrincipleVerdict,
    Said,
    named,
    problems,
    rules,
)
from hitoku.checks.records import Records
from hitoku.checks.submission.judge_output import group_of
from hitoku.checks.submission.same_variable import multiples

# A group with its filter, and a variable.
Place = tuple[frozenset[tuple[str, str]], str]


def said_by(output: Output, records: Records | None = None) -> list[Said]:
    """Return the statistics that leave with an output, their groups with the codes of its filter.

    Parameters
    ----------
    output
        Which.
    records
        All data, which say what columns are the same variable; they are called by the first of their names.
    """
    found: list[Said] = []
    names: dict[str, str] = {}
    gone = output.evidence.left_out
    for each in output.asked.said(output.evidence):
        group = group_of(each.codes, output.where, gone)
        codes = {name: code if isinstance(code, str) else " / ".join(code) for name, code in group}
        if each.variable not in names:
            same = {} if records is None else multiples(records, each.variable)
            names[each.variable] = min([each.variable, *same])
        found.append(replace(each, codes=dict(sorted(codes.items())), variable=names[each.variable]))
    return found


def judge_together(
    own: Sequence[Said], before: Mapping[str, Sequence[Said]], name: str, policy: Policy
) -> tuple[PrincipleVerdict, ...]:
    """Find what an output determines together with others; what it does by itself it is judged for itself.

    Parameters
    ----------
    own
        Statistics that leave with it.
    before
        Those that left before or leave with it, by output.
    name
        Of the output.
    policy
        What is asked of them.
    """
    mine: dict[Place, list[Said]] = {}
    for each in own:
        mine.setdefault(_place(each), []).append(each)
    earlier: dict[Place, dict[str, list[Said]]] = {}
    for output, said in before.items():
        for each in said:
            if (place := _place(each)) in mine:
                earlier.setdefault(place, {}).setdefault(output, []).append(each)
    found: dict[Determined, list[tuple[Place, list[str]]]] = {}
    for place, others in earlier.items():
        known = [each for said in others.values() for each in said]
        new = (
            problems([*known, *mine[place]], policy) - problems(known, policy) - problems(mine[place], policy)
        )
        for problem in new:
            found.setdefault(problem, []).append((place, sorted(others)))
    asked = rules(policy)
    return tuple(
        _verdict(problem, asked[problem], found[problem], name) for problem in Determined if problem in found
    )


def _place(said: Said) -> Place:
    return frozenset(said.codes.items()), said.variable


def _verdict(
    problem: Determined, rule: str, places: Sequence[tuple[Place, list[str]]], name: str
) -> PrincipleVerdict:
    ordered = sorted(places, key=lambda each: (sorted(each[0][0]), each[0][1]))
    (group, variable), others = ordered[0]
    more = f"; {len(ordered) - 1} more" if len(ordered) > 1 else ""
    return PrincipleVerdict(
        principle=Principle.DIFFERENCING,
        status=Clearance.FAIL,
        reason=str(problem),
        text=f"{rule}: not met by {named(group, variable)}, from {' and '.join([*others, name])}{more}",
        numbers={"outputs": len(others) + 1, "groups": len(ordered)},
        remedy=REMEDIES[problem],
    )
