"""An attacker on research outputs: recover a person's value or attribute from released numbers.

Knows nothing of hitoku: numpy and scipy only. What is released comes in as numbers with their definition.
Beside them the attacker knows how many people each group has (who is in a group is often known), which codes
a variable can have, and how statistics are defined. Every claim is compared with the truth afterwards:
a claim that is not true is an error of this program, and is counted as such.

What counts as recovered, and no more than that:

* the value of one or two people; a mean of fewer people than the policy's minimum
* a count of people with an attribute that is above zero and below the minimum
* that more than the policy's share of a group has an attribute, or the same value
* a formula that determines every value from another variable
* two percentiles closer together than the minimum: both are values of people
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from tools.count_solver import CountSystem
from tools.equations import (
    count_solutions,
    f_test_groups,
    linear_basis,
    order_statistics,
    percent_of,
    sum_over,
    sum_without,
    welch_groups,
)
from tools.released import CLOSE, EVERYBODY, EXACT, Claim, Group, Released, in_group, words


@dataclass
class Attacker:
    """Works on the outputs of one session.

    Parameters
    ----------
    people
        The data. Used for sizes of groups and code lists, which are known, and to compare claims.
    codes
        Columns of codes.
    minimum, share
        Of the policy: people behind a number; largest share of a group that may be known to be alike.
    """

    people: pd.DataFrame
    codes: Sequence[str]
    minimum: int = 10
    share: float = 0.9
    facts: dict[tuple[Any, ...], float] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)

    def attack(self, outputs: Sequence[Released]) -> list[Claim]:
        """Return everything that follows from some outputs together."""
        for each in outputs:
            self._read(each)
        self._close()
        self._tests(outputs)
        self._close()
        self._differences()
        self._dependent()
        self._few_values()
        self._alike()
        self._percentiles()
        self._perfect()
        self._largest()
        self._curves(outputs)
        self._extremes()
        self._counts(outputs)
        return list(dict.fromkeys(self.claims))

    def _counts(self, outputs: Sequence[Released]) -> None:
        """Solve tables each by itself, then all of them together."""
        system = CountSystem(self.people, self.minimum, self.share)
        alone = {claim for each in outputs for claim in system.attack([each])}
        together = [claim for claim in system.attack(outputs) if claim not in alone]
        self.claims += [claim._replace(kind=f"{claim.kind}, one table") for claim in sorted(alone)]
        self.claims += together

    def members(self, group: Group) -> pd.DataFrame:
        """Return the people of a group: for its size, and to compare claims."""
        return self.people[self._holds(group) > 0]

    def size(self, group: Group) -> int:
        """Return how many people a group has."""
        return len(self.members(group))

    def claim(self, kind: str, text: str, *, true: bool) -> None:
        """Write down what follows."""
        self.claims.append(Claim(kind, text, bool(true)))

    def _read(self, each: Released) -> None:
        """Turn an output into facts: a statistic of a group, by name."""
        options = each.options
        if each.method == "regression":
            self._read_model(each)
            return
        if each.method in {"quantile_groups", "lorenz"}:
            self._read_quantiles(each)
            return
        value = options.get("value")
        for group, row in each.rows():
            for name, entry in row.items():
                if entry is None or name in each.by or not isinstance(entry, int | float):
                    continue
                statistic = self._named(each, name)
                if statistic:
                    self.facts[(statistic, group, value, options.get("other"))] = float(entry)

    @staticmethod
    def _named(each: Released, column: str) -> str:
        """Return the statistic that a column of an output holds, or nothing."""
        if each.method in {"mean", "sum", "concentration", "summary", "percentile"}:
            return column.partition("_")[0]
        if each.method == "magnitude_table":
            return "sum" if column == each.options["value"] else ""
        if each.method in {"table", "describe"}:
            return "p50" if column == "median" else column
        if each.method == "test":
            return column if column != "p_value" else f"p of {each.options['statistic']}"
        return ""

    def _read_model(self, each: Released) -> None:
        """Read a model: group means where all regressors are one variable of codes; else slope and errors."""
        outcome, _, regressors = (part.strip() for part in str(each.options["model"]).partition("~"))
        term = dict(zip(each.columns["term"], each.columns["coefficient"], strict=True))
        kept = each.filter
        if kept is None or any(entry is None for entry in term.values()):
            return
        found = re.fullmatch(r"C\((\w+)\)", regressors)
        if found:
            name = found[1]
            for code in sorted(self.members(kept)[name].astype(str).unique()):
                linear = term["Intercept"] + term.get(f"C({name})[T.{code}]", 0.0)
                mean = linear if each.options.get("family", "ols") == "ols" else 1 / (1 + np.exp(-linear))
                if each.options.get("family", "ols") != "probit":
                    self.facts[("mean", kept | {(name, code)}, outcome, None)] = float(mean)
            if each.options.get("family", "ols") == "ols":
                self._read_errors(each, kept, name, outcome)
        elif regressors in self.people and each.options.get("family", "ols") == "ols":
            errors = dict(zip(each.columns["term"], each.columns["standard_error"], strict=True))
            scale = abs(term[regressors]) + abs(term["Intercept"])
            if errors[regressors] is not None and errors[regressors] <= EXACT * scale:
                self._formula("model", kept, outcome, regressors, term[regressors], term["Intercept"])

    def _read_errors(self, each: Released, kept: Group, name: str, outcome: str) -> None:
        """Read the variance of all: the squares that standard errors leave, and those between the groups."""
        errors = dict(zip(each.columns["term"], each.columns["standard_error"], strict=True))
        groups = [kept | {(name, code)} for code in sorted(self.members(kept)[name].astype(str).unique())]
        n, error = self.size(kept), errors["Intercept"]
        means = [self._get("mean", group, outcome) for group in groups]
        if error is None or None in means or n <= len(groups):
            return
        sizes, levels = np.array([self.size(group) for group in groups]), np.array(means, dtype=float)
        # The intercept is the mean of the first group, so that its error is that of a mean.
        within = float(error) ** 2 * sizes[0] * (n - len(groups))
        between = float(sizes @ (levels - sizes @ levels / n) ** 2)
        self.facts[("variance", kept, outcome, None)] = (within + between) / (n - 1)
        self.facts[("mean", kept, outcome, None)] = float(sizes @ levels / n)

    def _read_quantiles(self, each: Released) -> None:
        """Read quantile groups: their means add up to a sum, and all alike means that people are."""
        value = each.options["value"]
        column = list(each.columns)[-1]
        parts: dict[Group, list[tuple[float, float]]] = {}
        for group, row in each.rows():
            if row[column] is not None:
                width = (row["to_percent"] - row["from_percent"]) / 100
                parts.setdefault(group, []).append((width, row[column]))
        for group, own in parts.items():
            widths, values = np.array(own).T
            if abs(widths.sum() - 1) > CLOSE or len(own) < 2:
                continue
            if column.startswith("lorenz"):
                values = np.diff(values, prepend=0.0)
            level = values if column.startswith("mean") else values / widths
            if np.ptp(level) <= EXACT * np.abs(level).max():
                self.facts[("gini", group, value, None)] = 0.0
            if column.startswith("mean"):
                n_people = np.round(widths * self.size(group))
                self.facts.setdefault(
                    ("mean", group, value, None), float(n_people @ values / self.size(group))
                )

    def _get(self, statistic: str, group: Group, value: str, other: str | None = None) -> float | None:
        return self.facts.get((statistic, group, value, other))

    def _close(self) -> None:
        """Add what follows within one group: sums from means, variances from deviations, and so on."""
        while True:
            before = len(self.facts)
            for (statistic, group, value, other), number in list(self.facts.items()):
                for name, about, found in self._follows(statistic, group, value, other, number):
                    if np.isfinite(found):
                        self.facts.setdefault((name, group, about, None), found)
            if len(self.facts) == before:
                return

    def _follows(
        self, statistic: str, group: Group, value: str, other: str | None, number: float
    ) -> Iterator[tuple[str, str, float]]:
        n, mean = self.size(group), self._get("mean", group, value)
        if statistic == "sum" and n:
            yield "mean", value, number / n
        elif statistic == "std":
            yield "variance", value, number**2
        elif statistic == "covariance" and other == value:
            yield "variance", value, number
        elif statistic == "cv" and mean is not None:
            yield "variance", value, (number * mean) ** 2
        elif statistic == "hhi" and mean is not None and n > 1:
            yield "variance", value, (number * (n * mean) ** 2 - n * mean**2) / (n - 1)
        elif statistic in {"ratio", "index"} and other is not None:
            ratio = number / (100 if statistic == "index" else 1)
            below = self._get("mean", group, other)
            if below is not None:
                yield "mean", value, ratio * below
            if mean is not None and ratio:
                yield "mean", other, mean / ratio

    def _tests(self, outputs: Sequence[Released]) -> None:
        """Compute the groups of a test from its statistic, p value, and overall mean and variance."""
        for each in outputs:
            if each.method != "test" or each.options["statistic"] not in {"t", "f"} or each.filter is None:
                continue
            value, other, whole = each.options["value"], each.options["other"], each.filter
            mean, variance = self._get("mean", whole, value), self._get("variance", whole, value)
            names = sorted(self.members(whole)[other].astype(str).unique())
            groups = [whole | {(other, name)} for name in names]
            numbers = [column[0] for column in each.columns.values()]
            if mean is None or variance is None or len(groups) != 2 or None in numbers:
                continue
            sizes = [self.size(group) for group in groups]
            found: Sequence[Any] = (
                welch_groups(float(numbers[0]), float(numbers[1]), *sizes, mean, variance)
                if each.options["statistic"] == "t"
                else f_test_groups(float(numbers[0]), *sizes, mean, variance)
            )
            small = min(groups, key=self.size)
            if self.size(small) >= self.minimum or not 0 < len(found) <= 2:
                continue
            own = self.members(small)[value].to_numpy(float)
            truth = [own.mean(), own.var(ddof=1)]
            picked = [moments[groups.index(small)] for moments in found]
            known = len(picked[0])
            true = any(np.allclose(each_one, truth[:known], rtol=1e-4) for each_one in picked)
            if true and known == 2 and len(own) == 2:
                best = min(picked, key=lambda pair: abs(pair[0] - truth[0]))
                half = np.sqrt(best[1] / 2)
                self.claim(
                    "test", f"{value} of two people: {best[0] - half:.6g}, {best[0] + half:.6g}", true=true
                )
            elif true:
                self.claim("test", f"mean {value} of {len(own)} people, one of {len(found)}", true=true)

    def _differences(self) -> None:
        """Subtract sums of groups from each other until few people are left."""
        known = {(value, name) for name, _, value, _ in self.facts if name in {"mean", "variance"}}
        for value in sorted({value for value, _ in known if value is not None}):
            means = {
                g: f for (name, g, about, _), f in self.facts.items() if (name, about) == ("mean", value)
            }
            means[EVERYBODY] = means.get(EVERYBODY, np.nan)
            means = {group: mean for group, mean in means.items() if np.isfinite(mean)}
            squares = {g: v for g in means if (v := self._get("variance", g, value)) is not None}
            self._subtract(value, means, squares)

    def _subtract(self, value: str, means: Mapping[Group, float], variances: Mapping[Group, float]) -> None:
        rows = {group: self._holds(group) for group in means}
        first = {group: means[group] * self.size(group) for group in means}
        second = {
            group: variances[group] * (self.size(group) - 1) + self.size(group) * means[group] ** 2
            for group in variances
        }
        own = self.people[value].to_numpy(float)
        for target in self._few_left(rows):
            total = sum_over(target, [rows[group] for group in first], list(first.values()))
            if total is None:
                continue
            people, n = own[target > 0], int(target.sum())
            true = np.isclose(total, people.sum(), rtol=CLOSE, atol=CLOSE)
            squares = sum_over(target, [rows[group] for group in second], list(second.values()))
            if n == 1:
                self.claim("difference", f"{value} of one person: {total:.6g}", true=true)
            elif n == 2 and squares is not None:
                half = np.sqrt(max(squares / 2 - (total / 2) ** 2, 0.0))
                true = true and np.isclose(total / 2 + half, people.max(), rtol=1e-4)
                self.claim("difference", f"{value} of two people", true=true)
            else:
                self.claim("difference", f"mean {value} of {n} people: {total / n:.6g}", true=true)

    def _dependent(self) -> None:
        """Add and subtract sums of variables that are sums of each other until one or two people are left."""
        known = [
            (group, value, mean)
            for (name, group, value, _), mean in self.facts.items()
            if name == "mean" and value in self.people
        ]
        names = sorted({value for _, value, _ in known})
        basis, factors = linear_basis({name: self.people[name].to_numpy(float) for name in names})
        if len(factors) == len(basis):
            return
        member = np.array([self._holds(group) for group, _, _ in known])
        lead = np.array([factors[value] for _, value, _ in known])
        # Readers know how many people each group has, and so the sums without the constants.
        sums = (np.array([mean for _, _, mean in known]) - lead[:, 0]) * member.sum(axis=1)
        shapes, atom, size = np.unique(member, axis=1, return_inverse=True, return_counts=True)
        for left in np.flatnonzero(size <= 2):
            found = sum_without(left, shapes, lead[:, 1:])
            if found is not None:
                people = self.people[basis].to_numpy(float)[atom.ravel() == left].sum(axis=0)
                true = np.isclose(found[0] @ sums, found[1] @ people, rtol=1e-4)
                self.claim("related", f"sum of {size[left]} people from {len(known)} sums", true=bool(true))

    def _few_left(self, rows: Mapping[Group, np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        """Return sets of few people that sums over groups could give: groups, differences, rests."""
        found = list(rows.values())
        labels = self._labels(sorted({name for group in rows for name, _ in group}))
        found += [(labels == each).astype(float) for each in range(labels.max() + 1)]
        for one, two in combinations(rows.values(), 2):
            found += [one - two, two - one]
        for group, row in rows.items():
            below: dict[str, list[np.ndarray[Any, Any]]] = {}
            for each in rows:
                if group < each and len(each) == len(group) + 1:
                    below.setdefault(next(iter(each - group))[0], []).append(rows[each])
            found += [row - np.sum(parts, axis=0) for parts in below.values()]
        few = [each for each in found if (each >= 0).all() and 0 < each.sum() < self.minimum]
        return list({each.tobytes(): each for each in few}.values())

    def _labels(self, used: Sequence[str]) -> np.ndarray[Any, Any]:
        if not used:
            return np.zeros(len(self.people), dtype=int)
        return self.people.groupby(list(used), observed=True).ngroup().to_numpy()

    def _holds(self, group: Group) -> np.ndarray[Any, Any]:
        """Return who is in a group, one entry per person: sums of groups are sums over them."""
        return in_group(self.people, group).astype(float)

    def _few_values(self) -> None:
        """Count the people with each value, of variables that have two or three."""
        groups = {(group, about) for _, group, about, _ in self.facts if about in self.people}
        for group, about in sorted(groups, key=repr):
            if about in self.codes or self.size(group) < 2:
                continue
            values = np.unique(self.people[about].to_numpy(float))
            if not 2 <= len(values) <= 3:
                continue
            n = self.size(group)
            counts = count_solutions(
                values, n, lambda k, a=about, g=group, v=values: self._agrees(k, v, g, a)
            )
            if not counts:
                continue
            rare = {tuple(sorted(each)) for each in counts}
            few = [k for k in counts[0] if 0 < k < self.minimum]
            if (len(counts) == 1 or len(rare) == 1) and few:
                own = self.members(group)[about].to_numpy(float)
                truth = tuple(int((own == each).sum()) for each in values)
                what = f"{about} in {words(group)}: {few[0]} of {n} people have one of {len(values)} values"
                self.claim("few values", what, true=truth in counts)

    def _agrees(
        self, counts: np.ndarray[Any, Any], values: np.ndarray[Any, Any], group: Group, about: str
    ) -> np.ndarray[Any, Any] | None:
        """Return which counts of values agree with what is released; None where nothing is."""
        n = counts.sum(axis=1)
        total, squares = counts @ values, counts @ values**2
        computed = {
            "mean": total / n,
            "variance": (squares - total**2 / n) / (n - 1),
        }
        if values[0] >= 0:
            with np.errstate(all="ignore"):
                computed["hhi"] = squares / total**2
                order = np.argsort(values)
                before = np.cumsum(counts[:, order] * values[order], axis=1)
                below = np.hstack([np.zeros((len(n), 1)), before])
                area = ((below[:, 1:] + below[:, :-1]) * counts[:, order]).sum(axis=1)
                computed["gini"] = 1 - area / (n * total)
        kept: np.ndarray[Any, Any] | None = None
        for name, found in computed.items():
            fact = self._get(name, group, about)
            if fact is None:
                continue
            with np.errstate(invalid="ignore"):
                fits = np.abs(found - fact) <= CLOSE * np.maximum(1e-3, np.abs(fact))
            kept = fits if kept is None else kept & fits
        return kept

    def _alike(self) -> None:
        """Find groups whose people all have the same value, which is known."""
        for (name, group, about, _), number in list(self.facts.items()):
            if about not in self.people or about in self.codes:
                continue
            n = self.size(group)
            none = {"variance": 0.0, "gini": 0.0, "hhi": 1 / n if n else 0.0, "cv": 0.0}
            level = self._level(group, about)
            if name not in none or level is None or n < 2:
                continue
            scale = level**2 if name == "variance" else 1.0
            if abs(number - none[name]) <= EXACT * max(scale, 1e-300):
                true = np.allclose(self.members(group)[about].to_numpy(float), level)
                self.claim(
                    "alike", f"{about} of all {n} in {words(group)}: {level:.6g} (by {name})", true=true
                )

    def _level(self, group: Group, about: str) -> float | None:
        found = [
            number
            for (name, own, value, _), number in self.facts.items()
            if (own, value) == (group, about) and (name == "mean" or percent_of(name) is not None)
        ]
        return found[0] if found else None

    def _percentiles(self) -> None:
        """Take percentiles as values of people in order: too close together, or the same far apart."""
        groups: dict[tuple[Group, str], dict[float, float]] = {}
        for (name, group, about, _), number in self.facts.items():
            percent = percent_of(name)
            if percent is not None and about in self.people:
                groups.setdefault((group, about), {})[percent] = number
        for (group, about), found in groups.items():
            own, n = np.sort(self.members(group)[about].to_numpy(float)), self.size(group)
            rank = {percent: (n - 1) * percent / 100 for percent in found}
            for low, high in combinations(sorted(found), 2):
                # The people from one rank to the other, all of them surely.
                inside = np.floor(rank[high] + EXACT) - np.ceil(rank[low] - EXACT) + 1
                if found[low] == found[high] and inside > self.share * n:
                    true = np.isclose((own == found[low]).mean(), inside / n, atol=1 - self.share)
                    self.claim(
                        "percentiles alike", f"{about} of {inside:.0f} of {n} in {words(group)}", true=true
                    )
            known = order_statistics(found, n)
            # The policy counts the people with values from one percentile to the next, both ends included.
            close = [
                (low, high)
                for low, high in zip(list(known), list(known)[1:], strict=False)
                if not np.isclose(known[low], known[high], rtol=CLOSE)
                and _n_between(own, known[low], known[high]) < self.minimum
            ]
            ranks = sorted({each for pair in close for each in pair})
            few = [k for k in ranks if 0 < np.isclose(own, known[k], rtol=CLOSE).sum() < self.minimum]
            if few:
                text = f"{about} of {len(ranks)} people in {words(group)} from {len(found)} percentiles"
                true = all(np.isclose(own[k], known[k], rtol=1e-4) for k in ranks)
                self.claim("percentiles close", text, true=true)

    def _perfect(self) -> None:
        """Find variables that follow from each other: a correlation of one, a chi square of n."""
        for (name, group, about, other), number in list(self.facts.items()):
            if name == "correlation" and about != other and abs(abs(number) - 1) < EXACT:
                moments = [self._get(s, group, v) for v in (about, other) for s in ("mean", "variance")]
                if None in moments or not moments[3]:
                    continue
                mean_y, var_y, mean_x, var_x = (float(m) for m in moments if m is not None)
                slope = number * np.sqrt(var_y / var_x)
                self._formula("correlation", group, about, other, slope, mean_y - slope * mean_x)
            elif name == "chi2":
                people = self.members(group)
                kinds = min(people[about].nunique(), people[str(other)].nunique()) - 1
                if kinds and number >= len(people) * kinds * (1 - EXACT):
                    follows = people.groupby(about)[str(other)].nunique().max() == 1
                    back = people.groupby(str(other))[about].nunique().max() == 1
                    self.claim(
                        "chi square", f"{about} and {other} follow from each other", true=follows or back
                    )

    def _formula(self, way: str, group: Group, value: str, other: str, slope: float, base: float) -> None:
        people = self.members(group)
        # A correlation of a two-valued variable with itself under another code is found by the counts.
        y, x = people[value].to_numpy(float), people[other].to_numpy(float)
        true = np.allclose(base + slope * x, y, rtol=1e-5, atol=1e-5 * np.abs(y).max())
        self.claim(
            f"formula by {way}", f"{value} = {base:.6g} + {slope:.6g} {other} in {words(group)}", true=true
        )

    def _largest(self) -> None:
        """Subtract shares of the largest: that of four less that of three is the fourth person's."""
        for (name, group, about, _), number in list(self.facts.items()):
            found = re.fullmatch(r"cr(\d+)", name)
            if not found:
                continue
            before = self._get(f"cr{int(found[1]) - 1}", group, about)
            mean = self._get("mean", group, about)
            if before is None or mean is None:
                continue
            total = mean * self.size(group)
            amount = (number - before) * total
            true_one = np.sort(self.members(group)[about].to_numpy(float))[-int(found[1])]
            self.claim(
                "largest",
                f"{about} of the {found[1]}th largest: {amount:.6g}",
                true=np.isclose(amount, true_one),
            )

    def _extremes(self) -> None:
        for (name, group, about, _), number in list(self.facts.items()):
            if name in {"min", "max"} and about in self.people:
                true = number in set(self.members(group)[about].to_numpy(float))
                self.claim("extreme", f"{name} of {about} in {words(group)}: {number:.6g}", true=true)

    def _curves(self, outputs: Sequence[Released]) -> None:
        """Find steps of a survival curve at which more than the share of those at risk had the event."""
        for each in outputs:
            if each.method != "survival" or each.filter is None:
                continue
            duration, event = each.options["duration"], each.options["event"]
            before: dict[Group, tuple[float, float]] = {}
            for group, row in each.rows():
                time, curve = row[duration], row["survival"]
                if time is None or curve is None:
                    continue
                last, height = before.get(group, (-np.inf, 1.0))
                before[group] = (time, curve)
                if height > 0 and 1 - curve / height > self.share + EXACT:
                    people = self.members(group)
                    at_risk = people[people[duration] > last]
                    had = (at_risk[duration] <= time) & (at_risk[event] == 1)
                    if had.mean() > self.share:
                        text = f"{1 - curve / height:.0%} of {words(group)} had {event} by {time:g}"
                        self.claim("survival", text, true=True)


def _n_between(own: np.ndarray[Any, Any], low: float, high: float) -> int:
    """Count the values from one number to another, both included."""
    slack = CLOSE * max(abs(low), abs(high))
    return int(((own >= low - slack) & (own <= high + slack)).sum())
