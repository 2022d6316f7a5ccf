"""Base class of output types: a few validated parameters, and every question about such outputs.

``collect`` looks at the records, ``membership`` and ``measures`` tell the ledger who is in which cell and how
much they have. All the rest follows from the evidence alone, so that a checker can do it again. A type states
its principles once, in ``tests``: what is withheld and the verdicts on what leaves both follow from them.

The functions below apply any type. The data set stays the data set, with one hash and one ledger, however
many of its variables have gaps: each output leaves out the records that lack a value it needs, counts them,
and says so. Where a policy predefines codes, all outputs use the same groups, and subtracting one from
another gives no new one (Kikuchi and Minami 2017, section 3).
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

Kind = tuple[str | None, ...]


class Fact(NamedTuple):
    """What an output says about a group: its codes, of which kind, the number, how large its terms are."""

    codes: Mapping[str, str]
    kind: Kind
    amount: float
    scale: float = 1.0


def unit_facts(cells: CodedCells) -> Iterator[Fact]:
    """Say how many units each cell has."""
    for codes, n in zip(cells.named(), cells.n_units.tolist(), strict=True):
        yield Fact(codes, ("units",), n)


def record_facts(cells: CodedCells) -> Iterator[Fact]:
    """Say how many records each cell has."""
    for codes, n in zip(cells.named(), cells.n_records.tolist(), strict=True):
        yield Fact(codes, ("records",), n)


def contribution_facts(
    cells: CodedCells, value: str, holding: str | None, largest: Floats, size: Floats
) -> Iterator[Fact]:
    """Say what the contributions to each cell add up to, and how large the largest are."""
    for codes, own, whole in zip(cells.named(), largest.tolist(), size.tolist(), strict=True):
        yield Fact(codes, ("contributions", value, holding), whole, whole)
        for rank, amount in enumerate(own, start=1):
            yield Fact(codes, ("largest contributions", str(rank), value, holding), amount, whole)


def added_up(
    cells: CodedCells, terms: Mapping[Kind, Sequence[float]], sizes: Sequence[float]
) -> Iterator[Fact]:
    """Add numbers up over every choice of variables: the groups are all there is.

    Parameters
    ----------
    cells
        Groups without totals.
    terms
        For each kind of fact one number per group.
    sizes
        How large the terms of a sum are.
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

# Marks a field that is no part of the definition in a submission.
NOT_WRITTEN = MappingProxyType({"written": False})


class TableClaim(NamedTuple):
    """A table, what it needs, and what leaves: what a certificate is about."""

    table: Table
    need: Need
    release: Release


class OutputType(Generic[E]):
    """A kind of output; a subclass is a frozen dataclass whose fields are its definition in a submission.

    A subclass has ``kind``, ``evidence``, ``collect``, ``tests`` and ``publish``. The other answers
    given here are those of an output whose parts have no codes: a model, or numbers and files from elsewhere.
    """

    # Name in files, in the registry and in the documentation.
    kind: ClassVar[str]
    # How its evidence is read from a file.
    evidence: ClassVar[type[Evidence]]
    # Whether its cells are all combinations of codes: with two variables it is set crosswise.
    tabular: ClassVar[bool] = False

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables whose codes tell its cells apart, in the order of its columns."""
        return ()

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns without which a record is left out; none where a missing value is an error."""
        return ()

    @property
    def publishes(self) -> frozenset[str]:
        """What it says of its cells: counts, amounts of a variable by its name; only like is subtracted."""
        return COUNTS

    @property
    def picture(self) -> str:
        """The chart that it is usually shown as, a kind of ``hitoku.plots.chart``; empty for numbers."""
        return ""

    @property
    def repeatable(self) -> bool:
        """Whether the data are enough to collect its evidence again."""
        return True

    def collect(self, records: Records) -> E:
        """Look at the records once."""
        raise NotImplementedError

    def tests(self, evidence: E, policy: Policy) -> Iterator[Applied]:
        """Apply the principles: tests of its parts, and verdicts on the output as a whole."""
        raise NotImplementedError

    def protect(self, evidence: E, policy: Policy) -> E:
        """Withhold the parts that do not meet a principle."""
        return replace(evidence, withheld=unsafe_parts(self.tests(evidence, policy), evidence.n_parts))

    def judge(self, evidence: E, policy: Policy) -> tuple[PrincipleVerdict, ...]:
        """Return the verdict of every principle on what leaves."""
        return verdicts(self.tests(evidence, policy), evidence)

    def publish(self, evidence: E) -> dict[str, list[Any]]:
        """Return what leaves: columns and their entries, None where withheld."""
        raise NotImplementedError

    def contradictions(self, evidence: E) -> Iterator[str]:  # noqa: ARG002 - for types that can tell
        """Name what cannot be true together in the evidence."""
        return iter(())

    def facts(self, evidence: E) -> Iterator[Fact]:  # noqa: ARG002 - for groups
        """Say what is known about groups, for comparison with other outputs about the same data."""
        return iter(())

    def cells(self, evidence: E) -> CodedCells | None:  # noqa: ARG002 - for coded groups
        """Return its cells with their codes; None when codes do not say who is in them."""
        return None

    def claim(self, evidence: E, policy: Policy) -> TableClaim | None:  # noqa: ARG002 - for tables
        """Return what its certificate is about; None when it has none."""
        return None

    def membership(self, records: Records, evidence: E) -> Membership | None:  # noqa: ARG002 - for groups
        """Return in which published cell each unit is; None when that is not known."""
        return None

    def said(self, evidence: E) -> Iterator[Said]:  # noqa: ARG002 - for statistics of a variable
        """Say which statistics of which variables leave, group by group: they are judged together."""
        return iter(())

    def measures(self, records: Records) -> dict[str, Measure]:  # noqa: ARG002 - for sums and means
        """Return the amounts whose sums or means it publishes, for every unit of the data."""
        return {}


def needed(by: tuple[str, ...], numbers: tuple[str | None, ...], missing: str) -> tuple[str, ...]:
    """Return the columns without which a record is left out.

    Parameters
    ----------
    by
        Variables whose codes may be missing; with "code" they have one then.
    numbers
        Columns that must have a number, None for those that are not given.
    missing
        What becomes of missing values.
    """
    if missing == ERROR:
        return ()
    return (*(by if missing == COMPLETE else ()), *(name for name in numbers if name is not None))


def collect_complete(asked: OutputType[Any], records: Records) -> Evidence:
    """Look at the complete cases once; the evidence says how many others there are."""
    used, missing = records.complete(asked.needs)
    evidence: Evidence = asked.collect(used)
    if not missing:
        return evidence
    gone = LeftOut(records=len(records) - len(used), of=len(records), columns=missing)
    return replace(evidence, left_out=gone)


def find_membership(asked: OutputType[Any], records: Records, evidence: Evidence) -> Membership | None:
    """Tell in which published cell each unit is; those left out are in none."""
    return asked.membership(records.complete(asked.needs)[0], evidence)


def find_contradictions(asked: OutputType[Any], evidence: Evidence) -> Iterator[str]:
    """Name what cannot be true together in the evidence, what it says of missing values included."""
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
    used = _used_codes(asked.cells(evidence), where)
    allowed = {name: sets for name, sets in (policy.segmentations or {}).items() if name in used}
    if not allowed:
        return ()
    wrong = {
        name: min((sorted(used[name] - {*codes, MISSING}) for codes in sets), key=len)
        for name, sets in allowed.items()
    }
    strangers = {name: codes for name, codes in wrong.items() if codes}
    told = "; ".join(f"{name} {some(codes, 3)}" for name, codes in strangers.items())
    rule = Text("predefined codes of {names}", names=", ".join(allowed))
    return (
        PrincipleVerdict(
            principle=Principle.DIFFERENCING,
            status=Clearance.FAIL if strangers else Clearance.PASS,
            reason="segmentation" if strangers else "met",
            text=Text("{rule}: not {names}" if strangers else "{rule}: met", rule=rule, names=told),
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
