"""Policies: the numbers behind the principles, in named and versioned files. A centre may write its own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib import resources
from math import comb
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from hitoku.errors import ParameterError, did_you_mean
from hitoku.model import parse_scope
from hitoku.parameters import AtLeastZero, Count, Percent, Share, Whole, real, whole
from hitoku.rules import Dominance, GroupDisclosure, MinFrequency, PPercent, Rule
from hitoku.toml import load_toml, validate_keys

# Optional sections.
OPTIONAL = ("sampling", "squares", "segmentations", "against", "tests")
# Optional keys, added in later versions.
LATER = ("between",)
FOLDER = resources.files("hitoku.checks.policies")


def _attackers(given: tuple[str, ...]) -> tuple[str, ...]:
    """Parse attacker names, in the order of the rows of a verdict."""
    try:
        return parse_scope(given)
    except ParameterError as error:
        raise ValueError(f"{error.what}; {error.fix}") from None


class Section(BaseModel):
    """Section of a policy; unknown keys are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Units(Section):
    """Minimum number of unweighted units."""

    minimum: Count


class Freedom(Section):
    """Limit for degrees of freedom, exclusive or inclusive."""

    limit: Count
    operator: Literal[">", ">="]

    def met(self, freedom: float) -> bool:
        """Return whether degrees of freedom meet the limit."""
        return freedom > self.limit if self.operator == ">" else freedom >= self.limit

    def __str__(self) -> str:
        return f"{self.operator} {self.limit}"


class DominanceRule(Section):
    """Dominance rule: the n largest contributors have at most k percent. With p, the p% rule as well."""

    n: Annotated[int, whole(1, 3)]
    k: Percent
    p: Percent | None = None


class Squares(Section):
    """Maximum share of one unit in a sum of squares, higher powers, or a coefficient, in percent."""

    k: Percent
    # Verdict if the share is exceeded.
    verdict: Literal["fail", "review"]


class GroupSection(Section):
    """Maximum share of a cell in its row or column."""

    share: Share


class Width(Section):
    """Required interval width of a suppressed cell: units for counts, a share of the value for magnitudes."""

    count: AtLeastZero
    share: AtLeastZero


class PercentileRule(Section):
    """Required units on each side of a percentile, and between two percentiles of a group."""

    side: Whole
    # Including both ends. Default: the minimum of units.
    between: Count | None = None


class ComparedRule(Section):
    """Required units of every group that enters a test."""

    units: Count


class ModeRule(Section):
    """Maximum share of the units that have the mode."""

    share: Share


class RegressionRule(Section):
    """Required units behind every dummy and interaction, and leverage limits for fail and review."""

    support: Count
    leverage_fail: Share
    leverage_review: Share


class Sampling(Section):
    """Sampling design, and how far it compensates for few units.

    Fewer units than the minimum are accepted if the population is unlikely to have fewer than the minimum: if
    it had, so many would be found in the sample with a probability of at most ``risk``.
    """

    # Share of the population; with several strata the largest, because the chance grows with it.
    fraction: Annotated[float, real("(0, 1)")]
    risk: Annotated[float, real("(0, 0.5]")]
    # Minimum in the sample, whatever the chance: a number about one or two units reveals them.
    least: Annotated[int, whole(3)] = 3


class Policy(Section):
    """All numbers on which the verdicts about an output depend.

    Examples
    --------
    >>> rules = policy("japan-2017")
    >>> rules.units.minimum, str(rules.freedom), rules.dominance.k
    (10, '> 11', 50.0)
    """

    name: Annotated[str, Field(min_length=1)]
    version: Annotated[str, Field(min_length=1)]
    source: str = ""
    individual_values: Literal["confidential"]
    units: Units
    freedom: Freedom
    dominance: DominanceRule
    group: GroupSection
    interval: Width
    percentile: PercentileRule
    mode: ModeRule
    regression: RegressionRule
    # Whether groups derived from published counts need the minimum of units.
    groups: Annotated[bool, Field(strict=True)] = True
    sampling: Sampling | None = None
    squares: Squares | None = None
    # Attackers that the verdict covers. Default: all that its principles consider.
    against: Annotated[tuple[str, ...], AfterValidator(_attackers)] | None = None
    tests: ComparedRule | None = None
    # Permitted sets of codes by variable; outputs with other sets are rejected.
    segmentations: Mapping[str, tuple[tuple[str, ...], ...]] | None = None

    @property
    def least_units(self) -> int:
        """Smallest number of units that may be published: the minimum, or less if the sample allows it."""
        minimum, sample = self.units.minimum, self.sampling
        if sample is None:
            return minimum
        enough = (n for n in range(sample.least, minimum) if self.population_risk(n) <= sample.risk)
        return next(enough, minimum)

    @property
    def least_between(self) -> int:
        """Required units from one percentile of a group to the next, including both ends."""
        return self.units.minimum if self.percentile.between is None else self.percentile.between

    @property
    def least_tested(self) -> int:
        """Required units of a group that enters a test."""
        return self.units.minimum if self.tests is None else self.tests.units

    def population_risk(self, n_units: int) -> float:
        """Return an upper bound for the chance that the population of a group is below the minimum."""
        if self.sampling is None:
            raise ParameterError(
                "policy_without_sample", "the policy knows no sample", where="sampling", fix="add the section"
            )
        return population_risk(n_units, self.sampling.fraction, self.units.minimum)

    @property
    def hash(self) -> str:
        """SHA-256 of the policy, independent of the layout of its file."""
        # Unset optional parts are omitted, so that older policies keep their hash.
        gone: dict[str, Any] = {name: True for name in OPTIONAL if getattr(self, name) is None}
        for name, section in self:
            later = {key for key in LATER if getattr(section, key, ...) is None}
            gone |= {name: later} if later else {}
        gone |= {"groups": True} if self.groups else {}
        said = self.model_dump(exclude=gone)
        text = json.dumps(said, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def count_rules(self) -> list[Rule]:
        """Rules on the counts of a table."""
        return [MinFrequency(self.least_units), GroupDisclosure(self.group.share)]

    @property
    def magnitude_rules(self) -> list[Rule]:
        """Rules on the contributions to a table."""
        rules: list[Rule] = [Dominance(n=self.dominance.n, k=self.dominance.k)]
        return rules if self.dominance.p is None else [*rules, PPercent(self.dominance.p)]


def policy(name: str | Path | Policy) -> Policy:
    """Return a policy by name, or read one from a file.

    Parameters
    ----------
    name
        "japan-2017", "essnet-2009", or the path of a TOML file.
    """
    if isinstance(name, Policy):
        return name
    if str(name).endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise ParameterError(
                "no_policy_file",
                "no policy file {file!r}",
                where=str(path),
                fix="check the path",
                file=path.name,
            )
        try:
            return parse_policy_text(path.read_text("utf-8"), path.name)
        except UnicodeDecodeError:
            raise ParameterError(
                "not_utf8", "not UTF-8 text", where=path.name, fix="save it as UTF-8"
            ) from None
    known = policy_names()
    if name not in known:
        fix = did_you_mean(
            str(name), known, otherwise=f"use {' or '.join(known)}, or the path of a .toml file"
        )
        raise ParameterError(
            "unknown_policy", "no policy {policy!r}", where="policy", fix=fix, policy=str(name)
        )
    return parse_policy_text((FOLDER / f"{name}.toml").read_text("utf-8"), f"{name}.toml")


def policy_names() -> list[str]:
    """Return the names of the bundled policies.

    Examples
    --------
    >>> policy_names()
    ['essnet-2009', 'japan-2017']
    """
    files = (file.name for file in FOLDER.iterdir())
    return sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml"))


def parse_policy_text(text: str, where: str) -> Policy:
    """Parse the text of a policy.

    Raises ParameterError that names the line and key of the first problem.
    """
    given, origin = load_toml(text, where, "policy")
    return validate_keys(Policy, given, origin, otherwise="see docs/reference/policies.md")


def population_risk(n_units: int, fraction: float, minimum: int) -> float:
    """Return an upper bound for the chance that a sampled group has too few units in the population.

    Each unit came into the sample with the same probability, independently of the others. If the population
    had fewer than m, the sample would show n or more with a probability of at most P(B >= n), with B
    binomial, m - 1 trials, the sampling fraction as the chance of each. No assumption about the population is
    needed: this is the largest error probability of a test of "fewer than m" that decides by n. It is also
    the posterior probability of fewer than m when F given n is negative binomial (Benedetti and Franconi
    1998).

    Parameters
    ----------
    n_units
        Units of the group in the sample; at least one.
    fraction
        Sampling fraction.
    minimum
        Required units in the population.

    Examples
    --------
    Four people in a sample of one in ten: if the population had only nine, four or more of them would be
    sampled once in 120 times.

    >>> round(population_risk(4, 0.1, 10), 4)
    0.0083
    """
    trials = minimum - 1
    return sum(
        comb(trials, hits) * fraction**hits * (1 - fraction) ** (trials - hits)
        for hits in range(n_units, trials + 1)
    )
