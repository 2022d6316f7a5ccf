"""Policies: the numbers behind the principles, in named and versioned files; a centre may write its own."""

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
from hitoku.toml import load_toml, validated

# Sections that a policy need not have.
OPTIONAL = ("sampling", "squares", "segmentations", "against", "tests")
# Keys that sections did not have from the beginning.
LATER = ("between",)
FOLDER = resources.files("hitoku.checks.policies")


def _attackers(given: tuple[str, ...]) -> tuple[str, ...]:
    """Take words for attackers, in the order of a verdict's rows."""
    try:
        return parse_scope(given)
    except ParameterError as error:
        raise ValueError(f"{error.what}; {error.fix}") from None


class Section(BaseModel):
    """A part of a policy; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Units(Section):
    """At least so many unweighted units."""

    minimum: Count


class Freedom(Section):
    """Degrees of freedom above a limit, or at least at it."""

    limit: Count
    operator: Literal[">", ">="]

    def met(self, freedom: float) -> bool:
        """Compare as the operator says."""
        return freedom > self.limit if self.operator == ">" else freedom >= self.limit

    def __str__(self) -> str:
        return f"{self.operator} {self.limit}"


class DominanceRule(Section):
    """The n largest hold at most k percent; with p, the p% rule as well."""

    n: Annotated[int, whole(1, 3)]
    k: Percent
    p: Percent | None = None


class Squares(Section):
    """One unit makes at most k percent of a sum of squares, or of higher powers, and of a coefficient."""

    k: Percent
    # What it is when one does.
    verdict: Literal["fail", "review"]


class GroupSection(Section):
    """No cell above this share of its row or column."""

    share: Share


class Width(Section):
    """Length of the interval of a withheld cell: units for counts, a share of the value for magnitudes."""

    count: AtLeastZero
    share: AtLeastZero


class PercentileRule(Section):
    """Units that must lie on each side of a percentile, and from one percentile of a group to the next."""

    side: Whole
    # Both ends included; left out, the minimum of units.
    between: Count | None = None


class ComparedRule(Section):
    """Units of every group that enters a test."""

    units: Count


class ModeRule(Section):
    """No more than this share of the units may have the mode."""

    share: Share


class RegressionRule(Section):
    """Units behind every dummy and interaction; leverage from which a model fails, or needs review."""

    support: Count
    leverage_fail: Share
    leverage_review: Share


class Sampling(Section):
    """The data are a sample, and how far that makes up for few units.

    Fewer units than the minimum are enough where the population hardly has fewer than the minimum: the chance
    to find so many in the sample, if it had, is at most ``risk``.
    """

    # Of the population; with several strata the largest, for the chance grows with it.
    fraction: Annotated[float, real("(0, 1)")]
    risk: Annotated[float, real("(0, 0.5]")]
    # In the sample, whatever the chance: a number about one or two units is theirs.
    least: Annotated[int, whole(3)] = 3


class Policy(Section):
    """Everything that decides about an output.

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
    # Groups that can be derived from published counts have the minimum of units, too.
    groups: Annotated[bool, Field(strict=True)] = True
    sampling: Sampling | None = None
    squares: Squares | None = None
    # Attackers that the verdict on an output depends on; without it, all that its principles consider.
    against: Annotated[tuple[str, ...], AfterValidator(_attackers)] | None = None
    tests: ComparedRule | None = None
    # For some variables the sets of codes that outputs may use: with others nothing is published.
    segmentations: Mapping[str, tuple[tuple[str, ...], ...]] | None = None

    @property
    def least_units(self) -> int:
        """The fewest units that may be published: the minimum, or what a sample allows."""
        minimum, sample = self.units.minimum, self.sampling
        if sample is None:
            return minimum
        enough = (n for n in range(sample.least, minimum) if self.population_risk(n) <= sample.risk)
        return next(enough, minimum)

    @property
    def least_between(self) -> int:
        """The fewest units from one percentile of a group to the next, both ends included."""
        return self.units.minimum if self.percentile.between is None else self.percentile.between

    @property
    def least_tested(self) -> int:
        """The fewest units of a group that enters a test."""
        return self.units.minimum if self.tests is None else self.tests.units

    def population_risk(self, n_units: int) -> float:
        """Bound the chance that the population of a group has fewer units than the minimum."""
        if self.sampling is None:
            raise ParameterError(
                "policy_without_sample", "the policy knows no sample", where="sampling", fix="add the section"
            )
        return population_risk(n_units, self.sampling.fraction, self.units.minimum)

    @property
    def hash(self) -> str:
        """Tell policies apart by what they say, not by how the file is laid out."""
        # What need not be there is left out, so that policies older than it keep their hash.
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
    """Return a policy: one that comes with hitoku, by name, or a file.

    Parameters
    ----------
    name
        "japan-2017", "essnet-2009", or the path of a file that ends in .toml.
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
            return parsed(path.read_text("utf-8"), path.name)
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
    return parsed((FOLDER / f"{name}.toml").read_text("utf-8"), f"{name}.toml")


def policy_names() -> list[str]:
    """Return the names of the policies that come with hitoku: those of the TOML files beside this one.

    Examples
    --------
    >>> policy_names()
    ['essnet-2009', 'japan-2017']
    """
    files = (file.name for file in FOLDER.iterdir())
    return sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml"))


def parsed(text: str, where: str) -> Policy:
    """Read the text of a policy; the first thing that is wrong is named by line and key."""
    given, origin = load_toml(text, where, "policy")
    return validated(Policy, given, origin, otherwise="see docs/reference/policies.md")


def population_risk(n_units: int, fraction: float, minimum: int) -> float:
    """Bound the chance that a group of so many units in a sample has too few in the population.

    Each unit came into the sample with the same probability, independently of the others. If the population
    had fewer than m, the sample would show n or more with a probability of at most P(B >= n), with B
    binomial, m - 1 trials, the sampling fraction as the chance of each. No assumption about the population is
    needed: this is the largest error probability of a test of "fewer than m" that decides by n. It is also
    the posterior probability of fewer than m when F given n is negative binomial (Benedetti and Franconi
    1998).

    Parameters
    ----------
    n_units
        Units in the sample; at least one.
    fraction
        Share of the population in the sample.
    minimum
        Units that the population should have.

    Examples
    --------
    Four people of a sample of one in ten: if there were only nine in all, four or more of them would come
    into it once in 120 times.

    >>> round(population_risk(4, 0.1, 10), 4)
    0.0083
    """
    trials = minimum - 1
    return sum(
        comb(trials, hits) * fraction**hits * (1 - fraction) ** (trials - hits)
        for hits in range(n_units, trials + 1)
    )
