"""Base class of output types, and functions that apply any type.

``collect`` reads the records; ``membership`` and ``measures`` return the cells and amounts of the units for
the ledger. Everything else follows from the evidence alone, so that a checker can repeat it. A type states
its principles once, in ``tests``: the suppression mask and the verdicts both follow from them.

A data set keeps its hash and its ledger even if variables have missing values: each output leaves out the
records that lack a value it needs, and counts them. If a policy prescribes codes, all outputs use the same
groups, and subtracting outputs gives no new group (Kikuchi and Minami 2017, section 3).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from types import MappingProxyType
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from hitoku.attacks.differencing import COUNTS
from hitoku.checks.evidence import CodedCells, Evidence, LeftOut
from hitoku.checks.ledger import Measure
from hitoku.checks.outputs.membership import Membership
from hitoku.checks.policies import Policy
from hitoku.checks.principles import (
    Applied,
    Clearance,
    Principle,
    PrincipleVerdict,
    Said,
    unsafe_parts,
    verdicts,
    worst,
)
from hitoku.checks.unit_records import COMPLETE, ERROR, MISSING, Records
from hitoku.errors import some
from hitoku.messages import Text
from hitoku.model import Floats, Need, Release, Table
from hitoku.parameters import check_parameters

Kind = tuple[str | None, ...]


class Fact(NamedTuple):
    """A number that an output states about a group, for comparison with other outputs."""

    codes: Mapping[str, str]  # Codes of the group by variable.
    kind: Kind  # What the number counts or sums, such as ``("units",)``.
    amount: float  # The number.
    scale: float = 1.0  # Size of the summed terms, for tolerances.


def unit_facts(cells: CodedCells) -> Iterator[Fact]:
    """Yield the units of each cell."""
    for codes, n in zip(cells.named(), cells.n_units.tolist(), strict=True):
        yield Fact(codes, ("units",), n)


def record_facts(cells: CodedCells) -> Iterator[Fact]:
    """Yield the records of each cell."""
    for codes, n in zip(cells.named(), cells.n_records.tolist(), strict=True):
        yield Fact(codes, ("records",), n)


def contribution_facts(
    cells: CodedCells, value: str, holding: str | None, largest: Floats, size: Floats
) -> Iterator[Fact]:
    """Yield the sum of contributions to each cell, and the largest contributions."""
    for codes, own, whole in zip(cells.named(), largest.tolist(), size.tolist(), strict=True):
        yield Fact(codes, ("contributions", value, holding), whole, whole)
        for rank, amount in enumerate(own, start=1):
            yield Fact(codes, ("largest contributions", str(rank), value, holding), amount, whole)


def added_up(
    cells: CodedCells, terms: Mapping[Kind, Sequence[float]], sizes: Sequence[float]
) -> Iterator[Fact]:
    """Yield the totals of numbers over all subsets of the variables.

    Parameters
    ----------
    cells
        Groups, without totals.
    terms
        One number per group, by kind of fact.
    sizes
        Size of the summed terms of each group.
    """
    listed, names = list(cells.named()), list(cells.codes)
    for chosen in (kept for n in range(len(names) + 1) for kept in combinations(names, n)):
        for kind, amounts in terms.items():
            total: dict[tuple[str, ...], tuple[float, float]] = {}
            for codes, amount, size in zip(listed, amounts, sizes, strict=True):
                group = tuple(codes[name] for name in chosen)
                before, scale = total.get(group, (0.0, 0.0))
                total[group] = before + amount, scale + size
            for group, (amount, scale) in total.items():
                codes = dict(zip(chosen, group, strict=True))
                yield Fact(codes, kind, amount, scale if kind[0] == "sum" else 1.0)


E = TypeVar("E", bound=Evidence)

# Marks a field that is not part of the definition.
NOT_WRITTEN = MappingProxyType({"written": False})


class TableClaim(NamedTuple):
    """A table, its need and its release, which a certificate is about."""

    table: Table
    need: Need
    release: Release


class OutputType(Generic[E]):
    """Base class of output types.

    A subclass is a frozen dataclass whose fields are the definition of an output. It defines ``kind``,
    ``evidence``, ``collect``, ``tests`` and ``publish``. The defaults of the other methods suit outputs
    without coded groups, such as models, numbers and files.
    """

    # Name in files, the registry and the documentation.
    kind: ClassVar[str]
    # Class of the evidence.
    evidence: ClassVar[type[Evidence]]
    # Whether the cells are all combinations of codes; with two variables the frame is crossed.
    tabular: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_parameters(self)

    @property
    def variables(self) -> tuple[str, ...]:
        """Variables whose codes define the cells, in the order of the columns."""
        return ()

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns that a record must have to be used; none if missing values are an error."""
        return ()

    @property
    def publishes(self) -> frozenset[str]:
        """Published quantities of its cells: counts, or amounts by variable, which are never mixed."""
        return COUNTS

    @property
    def picture(self) -> str:
        """Usual chart of the output, a kind of ``hitoku.plots.chart``; empty if there is none."""
        return ""

    @property
    def repeatable(self) -> bool:
        """Whether the evidence can be collected again from the data."""
        return True

    def collect(self, records: Records) -> E:
        """Collect the evidence from the records."""
        raise NotImplementedError

    def tests(self, evidence: E, policy: Policy) -> Iterator[Applied]:
        """Yield tests of the parts, and verdicts on the output as a whole."""
        raise NotImplementedError

    def protect(self, evidence: E, policy: Policy) -> E:
        """Suppress the parts that fail a test."""
        return replace(evidence, withheld=unsafe_parts(self.tests(evidence, policy), evidence.n_parts))

    def judge(self, evidence: E, policy: Policy) -> tuple[PrincipleVerdict, ...]:
        """Return the verdicts of the principles on the published output."""
        return verdicts(self.tests(evidence, policy), evidence)

    def publish(self, evidence: E) -> dict[str, list[Any]]:
        """Return the published columns, with None for suppressed entries."""
        raise NotImplementedError

    def contradictions(self, evidence: E) -> Iterator[str]:  # noqa: ARG002 - none by default
        """Yield contradictions within the evidence."""
        return iter(())

    def facts(self, evidence: E) -> Iterator[Fact]:  # noqa: ARG002 - for groups
        """Yield numbers about groups, for comparison with other outputs on the same data."""
        return iter(())

    def cells(self, evidence: E) -> CodedCells | None:  # noqa: ARG002 - for coded groups
        """Return the cells with their codes; None if codes do not define the cells."""
        return None

    def claim(self, evidence: E, policy: Policy) -> TableClaim | None:  # noqa: ARG002 - for tables
        """Return the table, need and release of its certificate; None if it has no certificate."""
        return None

    def membership(self, records: Records, evidence: E) -> Membership | None:  # noqa: ARG002 - for groups
        """Return the published cell of each unit; None if it is not known."""
        return None

    def said(self, evidence: E) -> Iterator[Said]:  # noqa: ARG002 - for statistics of a variable
        """Yield the published statistics of variables by group, which are judged together."""
        return iter(())

    def measures(self, records: Records) -> dict[str, Measure]:  # noqa: ARG002 - for sums and means
        """Return the amounts of all units whose sums or means are published, by variable."""
        return {}


def required_columns(by: tuple[str, ...], numbers: tuple[str | None, ...], missing: str) -> tuple[str, ...]:
    """Return the columns that a record must have to be used.

    Parameters
    ----------
    by
        Grouping variables; with "code" a missing code is a code of its own.
    numbers
        Columns of numbers; None entries are ignored.
    missing
        Treatment of missing values: "complete", "error" or "code".
    """
    if missing == ERROR:
        return ()
    return (*(by if missing == COMPLETE else ()), *(name for name in numbers if name is not None))


def collect_complete(asked: OutputType[Any], records: Records) -> Evidence:
    """Collect the evidence from the complete records, with the number of records left out."""
    used, missing = records.complete(asked.needs)
    evidence: Evidence = asked.collect(used)
    if not missing:
        return evidence
    gone = LeftOut(records=len(records) - len(used), of=len(records), columns=missing)
    return replace(evidence, left_out=gone)


def find_membership(asked: OutputType[Any], records: Records, evidence: Evidence) -> Membership | None:
    """Return the published cell of each unit; units left out are in none."""
    return asked.membership(records.complete(asked.needs)[0], evidence)


def find_contradictions(asked: OutputType[Any], evidence: Evidence) -> Iterator[str]:
    """Yield contradictions within the evidence, including its counts of missing values."""
    yield from asked.contradictions(evidence)
    gone = evidence.left_out
    if gone is None:
        return
    if evidence.n_used is not None:
        yield from gone.contradictions(evidence.n_used)
    if not set(gone.columns) <= set(asked.needs):
        yield "records left out for a column that the output does not need"


def judge_published(
    asked: OutputType[Any], evidence: Evidence, where: Mapping[str, Any], policy: Policy
) -> tuple[PrincipleVerdict, ...]:
    """Return the verdicts on the published output, including the codes that the policy prescribes."""
    found = (*asked.judge(evidence, policy), *_compare_segments(asked, evidence, where, policy))
    return found if worst(found) is Clearance.FAIL else (*found, *_nothing_left(asked, evidence))


def _nothing_left(asked: OutputType[Any], evidence: Evidence) -> tuple[PrincipleVerdict, ...]:
    """Fail an output without any published number, which would otherwise pass."""
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


def _compare_segments(
    asked: OutputType[Any], evidence: Evidence, where: Mapping[str, Any], policy: Policy
) -> tuple[PrincipleVerdict, ...]:
    """Compare the codes of the output with those that the policy prescribes for its variables."""
    used = _used_codes(asked.cells(evidence), where)
    allowed = {name: sets for name, sets in (policy.segmentations or {}).items() if name in used}
    if not allowed:
        return ()
    wrong = {
        name: min((sorted(used[name] - {*codes, MISSING}) for codes in sets), key=len)
        for name, sets in allowed.items()
    }
    strangers = {name: codes for name, codes in wrong.items() if codes}
    listed_codes = "; ".join(f"{name} {some(codes, 3)}" for name, codes in strangers.items())
    rule = Text("predefined codes of {names}", names=", ".join(allowed))
    return (
        PrincipleVerdict(
            principle=Principle.DIFFERENCING,
            status=Clearance.FAIL if strangers else Clearance.PASS,
            reason="segmentation" if strangers else "met",
            text=Text("{rule}: not {names}" if strangers else "{rule}: met", rule=rule, names=listed_codes),
            numbers={"variables": len(allowed), "strangers": sum(map(len, strangers.values()))},
            remedy="recode the variable as the policy lists it" if strangers else "",
        ),
    )


def _used_codes(cells: CodedCells | None, where: Mapping[str, Any]) -> dict[str, set[str]]:
    """Return the codes of each variable that the cells of an output or its filter use."""
    used: dict[str, set[str]] = {}
    if cells is not None:
        used = {name: {*codes, *cells.above.get(name, ())} for name, codes in cells.codes.items()}
    for name, codes in where.items():
        used.setdefault(name, set()).update(MISSING if code is None else str(code) for code in codes)
    return used
