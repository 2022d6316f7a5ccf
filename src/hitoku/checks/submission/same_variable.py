"""Find the same variable and the same group in several outputs, and judge their statistics together.

Columns that are one variable under another name, in another unit, or added up from others are found in the
data, because an attacker could subtract them. A group is identified by its codes and its filter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from hitoku.checks.ledger import NUMBERS, Measure, Related, largest_of, published_ranks
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
from hitoku.model import ADDITIVITY, Floats, Integers, Mask

# Number of records compared first; most columns without a relation show it there.
SAMPLE = 1000
# Samples of as many records as a relation has coefficients: one of them without exceptions is enough.
TRIES = 12
# Largest relative error of a linear relation, and least share of a column that another one must explain.
EXACT, SHARE = 1e-9, 1e-7


def same_variable(records: Records, name: str) -> dict[str, tuple[float, float]]:
    """Return the other columns that are a numeric column in another unit or with another zero.

    Returns
    -------
    dict
        For each of them the factor and the shift.

    Examples
    --------
    >>> import pandas as pd
    >>> pay = pd.DataFrame({"pay": [2000, 3000, 1000, 7000, 4000, 5000], "age": [30, 50, 40, 60, 20, 40]})
    >>> same_variable(Records.open(pay.assign(k=pay.pay / 1000 + 1)), "pay")
    {'k': (0.001, 1.0)}
    """
    numeric = numeric_columns(records)
    if name not in numeric:
        return {}
    found = {}
    relations = LinearRelations(records, minimum=1)
    for other in numeric:
        if other != name:
            parts = relations.among([name, other]).parts[other]
            if parts.keys() == {name}:
                values, its = _numbers(records, name), _numbers(records, other)
                shift = float(f"{np.nanmedian(its - parts[name] * values):.10g}")
                scale = float(np.nanmax(np.abs(its)))
                found[other] = (parts[name], shift if abs(shift) > EXACT * scale else 0.0)
    return found


def numeric_columns(records: Records) -> list[str]:
    """Return the columns of numbers."""
    return [field.name for field in records.table.schema if str(field.type).startswith(NUMBERS)]


def publishes_alike(publishes: frozenset[str], records: Records) -> frozenset[str]:
    """Add the published quantities of columns that are the same variable."""
    found = set(publishes)
    for name in publishes:
        found |= same_variable(records, name).keys()
    for value, numbers in published_ranks(publishes).items():
        same = [other for other, (factor, _) in same_variable(records, value).items() if factor > 0]
        found |= {largest_of(n, other) for n in numbers for other in same}
    return frozenset(found)


def measured_alike(measures: Mapping[str, Measure], records: Records) -> dict[str, Measure]:
    """Add the amounts of columns that are the same variable, in their units."""
    found = dict(measures)
    for name, measure in measures.items():
        for other, (factor, shift) in same_variable(records, name).items():
            values = factor * measure.values
            # Of weighted sums the weights are not known here.
            if shift and np.allclose(measure.values, records.per_unit(name), rtol=ADDITIVITY):
                values = records.per_unit(other)
            found.setdefault(other, Measure.of(values, measure.kind, abs(factor) * measure.rounded))
    return found


def _numbers(records: Records, name: str) -> Floats:
    plain = records.table.column(name).cast("double", safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(plain, dtype=np.float64)


class LinearRelations:
    """Linear relations between columns of numbers, such as total = part + part; constants are known.

    A relation may have exceptions, because the difference of two columns that differ for a few units is what
    these units have.

    Parameters
    ----------
    records
        All data.
    minimum
        Number of units from which on exceptions make another variable.

    Examples
    --------
    >>> import pandas as pd
    >>> pay = pd.DataFrame({"a": [3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3], "b": [2.0, 7, 1, 8, 2, 8, 1, 8, 2, 8]})
    >>> found = LinearRelations(Records.open(pay.assign(both=pay.a + 2 * pay.b + 5)), minimum=2)
    >>> {name: dict(parts) for name, parts in found.among(["a", "b", "both"]).parts.items()}
    {'a': {'a': 1.0}, 'b': {'b': 1.0}, 'both': {'a': 1.0, 'b': 2.0}}
    """

    def __init__(self, records: Records, minimum: int) -> None:
        self._records, self._minimum = records, minimum
        self._numeric = frozenset(numeric_columns(records))
        self._known: tuple[str, ...] = ()
        self._related = Related()
        self._samples: dict[str, Floats] = {}

    def among(self, names: Iterable[str]) -> Related:
        """Return the relations between some columns; later ones are explained by earlier ones."""
        listed = tuple(dict.fromkeys(names))
        if listed[: len(self._known)] != self._known:
            self._known, self._related = (), Related()
        for name in listed[len(self._known) :]:
            if name in self._numeric:
                self._related = self._add_column(name, self._related)
            elif name not in self._records.table.column_names:
                self._related = replace(self._related, undecided=self._related.undecided | {name})
        self._known = listed
        return self._related

    def _add_column(self, name: str, before: Related) -> Related:
        """Add a column to those that are related."""
        basis = [other for other, parts in before.parts.items() if parts.keys() == {other}]
        own = replace(before, parts={**before.parts, name: {name: 1.0}})
        if not basis:
            return own
        least = 2 * (len(basis) + 2)
        few = _complete_records([self._sample_column(each) for each in (name, *basis)])
        if len(few) < least:
            whole = _complete_records([_numbers(self._records, each) for each in (name, *basis)])
            if len(whole) < least:
                return replace(own, undecided=own.undecided | {name})
            few = whole[_choose_records(len(whole))]
        for factors in _candidates(few, TRIES if self._minimum > 1 else 0):
            columns = [_numbers(self._records, each) for each in (name, *basis)]
            used = np.flatnonzero(np.isfinite(columns).all(axis=0))
            rows = _complete_records(columns)
            apart = ~_explains(rows, factors)
            spread = rows[~apart, 0].std()
            parts = {
                other: float(f"{factor:.10g}")
                for other, factor, column in zip(basis, factors[1:], rows.T[1:], strict=True)
                if abs(factor) * column[~apart].std() > SHARE * spread
            }
            exceptions = len(np.unique(self._records.unit[used[apart]]))
            # Columns of few values agree in most records without having to do with each other.
            chance = exceptions and len(np.unique(rows[~apart, 0])) < 2 * self._minimum
            if parts and exceptions < self._minimum and not chance:
                nearly = {frozenset({name, *parts}): exceptions} if exceptions else {}
                return replace(
                    before, parts={**before.parts, name: parts}, nearly={**before.nearly, **nearly}
                )
        return own

    def _sample_column(self, name: str) -> Floats:
        """Return some entries of a column."""
        if name not in self._samples:
            column = self._records.table.column(name).take(_choose_records(len(self._records)))
            self._samples[name] = np.asarray(
                column.cast("double", safe=False).to_numpy(zero_copy_only=False), dtype=np.float64
            )
        return self._samples[name]


def _choose_records(n: int) -> Integers:
    """Return a sample of records, the same each time."""
    return np.sort(np.random.default_rng(0).choice(n, min(SAMPLE, n), replace=False))


def _complete_records(columns: Sequence[Floats]) -> Floats:
    """Return the records without missing values, by columns."""
    stacked = np.column_stack(columns)
    return stacked[np.isfinite(stacked).all(axis=1)]


def _candidates(few: Floats, tries: int) -> Iterator[Floats]:
    """Yield a constant and factors by which the first column of a sample follows from the others, mostly."""
    generator = np.random.default_rng(0)
    rows = np.column_stack([np.ones(len(few)), few[:, 1:]])
    scale = np.maximum(np.abs(rows).max(axis=0), 1.0)
    for number in range(tries + 1):
        # All records first: a relation without exceptions needs no luck.
        chosen = generator.choice(len(few), rows.shape[1], replace=False) if number else slice(None)
        factors, _, rank, _ = np.linalg.lstsq(rows[chosen] / scale, few[chosen, 0], rcond=EXACT)
        agree = _explains(few, factors / scale)
        if (number and rank < rows.shape[1]) or 2 * agree.sum() < len(few):
            continue
        yield np.linalg.lstsq(rows[agree] / scale, few[agree, 0], rcond=EXACT)[0] / scale


def _explains(records: Floats, factors: Floats) -> Mask:
    """Return the records whose first entry is a constant and the others times factors."""
    terms = records[:, 1:] * factors[1:]
    scale = np.abs(records[:, 0]) + np.abs(terms).sum(axis=1) + abs(factors[0])
    apart = np.abs(records[:, 0] - factors[0] - terms.sum(axis=1))
    return np.asarray(apart <= EXACT * np.maximum(scale, np.median(scale)))


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
            same = {} if records is None else same_variable(records, each.variable)
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
