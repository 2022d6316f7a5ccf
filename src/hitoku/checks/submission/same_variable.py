"""Find the same variable and the same group in several outputs, and judge their statistics together.

Columns that are one variable under another name or in another unit are found in the data, because an attacker
could subtract them. A group is identified by its codes and its filter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hitoku.checks.ledger import NUMBERS, Measure, largest_of, published_ranks
from hitoku.checks.outputs import Output
from hitoku.checks.policies import Policy
from hitoku.checks.principles import (
    REMEDIES,
    Clearance,
    Determined,
    Principle,
    PrincipleVerdict,
    Said,
    problems,
    rules,
    variable_label,
)
from hitoku.checks.submission.judge_output import group_of
from hitoku.checks.unit_records import Records
from hitoku.messages import Text, join
from hitoku.model import ADDITIVITY, Floats

# Number of records compared first; most different columns differ there.
SAMPLE = 1000


def multiples(records: Records, name: str) -> dict[str, float]:
    """Return the other columns that are a positive multiple of a numeric column, with the factor.

    Examples
    --------
    >>> import pandas as pd
    >>> given = pd.DataFrame({"pay": [2000, 3000, None], "k": [2.0, 3.0, None], "age": [30, 40, 50]})
    >>> multiples(Records.open(given), "pay")
    {'k': 0.001}
    """
    numeric = [field.name for field in records.table.schema if str(field.type).startswith(NUMBERS)]
    if name not in numeric:
        return {}
    sample = _numbers(records, name, SAMPLE)
    known = np.where(np.isfinite(sample), np.abs(sample), 0.0)
    place = int(known.argmax())
    if known[place] == 0:
        return {}
    found = {}
    for other in numeric:
        if other == name:
            continue
        its = _numbers(records, other, SAMPLE)
        factor = float(its[place] / sample[place])
        if not (np.isfinite(factor) and factor > 0 and _same(its, factor * sample)):
            continue
        if _same(_numbers(records, other), factor * _numbers(records, name)):
            found[other] = factor
    return found


def publishes_alike(publishes: frozenset[str], records: Records) -> frozenset[str]:
    """Add the published quantities of columns that are multiples."""
    found = set(publishes)
    for name in publishes:
        found |= multiples(records, name).keys()
    for value, numbers in published_ranks(publishes).items():
        found |= {largest_of(n, other) for n in numbers for other in multiples(records, value)}
    return frozenset(found)


def measured_alike(measures: Mapping[str, Measure], records: Records) -> dict[str, Measure]:
    """Add the amounts of columns that are multiples, in their units."""
    found = dict(measures)
    for name, measure in measures.items():
        for other, factor in multiples(records, name).items():
            scaled = Measure.of(factor * measure.values, measure.kind, factor * measure.rounded)
            found.setdefault(other, scaled)
    return found


def _numbers(records: Records, name: str, most: int | None = None) -> Floats:
    column = records.table.column(name).slice(0, most)
    plain = column.cast("double", safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(plain, dtype=np.float64)


def _same(one: Floats, other: Floats) -> bool:
    return bool(np.allclose(one, other, rtol=ADDITIVITY, atol=0, equal_nan=True))


# Group with its filter, and variable.
Place = tuple[frozenset[tuple[str, str]], str]


def said_by(output: Output, records: Records | None = None) -> list[Said]:
    """Return the published statistics of an output, with their groups and its filter.

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
    """Find what the statistics of an output determine together with those of others.

    Parameters
    ----------
    own
        Statistics published by the output.
    before
        Statistics released before or with it, by output.
    name
        Name of the output.
    policy
        Policy with the requirements.
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
    text = Text(
        "{rule}: not met by {place}, from {outputs}",
        rule=rule,
        place=variable_label(group, variable),
        outputs=" and ".join([*others, name]),
    )
    more = Text("{n} more", n=len(ordered) - 1) if len(ordered) > 1 else ""
    return PrincipleVerdict(
        principle=Principle.DIFFERENCING,
        status=Clearance.FAIL,
        reason=str(problem),
        text=join([text, more]),
        outputs=(*others, name),
        numbers={"outputs": len(others) + 1, "groups": len(ordered)},
        remedy=REMEDIES[problem],
    )
