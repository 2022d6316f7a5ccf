"""What an output type is: a few validated parameters, and everything that is ever asked about such outputs.

``collect`` looks at the records, ``membership`` and ``measures`` tell the ledger who is in which cell and how
much they have. All the rest follows from the evidence alone, so that a checker can do it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

from hitoku.checks.evidence import CodedCells, Evidence
from hitoku.checks.ledger import Measure
from hitoku.checks.outputs.facts import Fact
from hitoku.checks.outputs.membership import Membership
from hitoku.checks.policies import Policy
from hitoku.checks.principles import PrincipleVerdict, Said
from hitoku.checks.records import Records
from hitoku.model import Need, Release, Table

E = TypeVar("E", bound=Evidence)

# Marks a field that is no part of the definition in a submission.
NOT_WRITTEN = MappingProxyType({"written": False})


class TableClaim(NamedTuple):
    """A table, what it needs, and what leaves: what a certificate is about."""

    table: Table
    need: Need
    release: Release


class OutputType(Protocol[E]):
    """A kind of output; a frozen dataclass whose fields are its definition in a submission."""

    # Its name in files, in the registry and in the documentation.
    kind: ClassVar[str]
    # How its evidence is read from a file.
    evidence: ClassVar[type[Evidence]]
    # Whether its cells are all combinations of codes: with two variables it is set crosswise.
    tabular: ClassVar[bool]

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables whose codes tell its cells apart, in the order of its columns."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns without which a record is left out; none where a missing value is an error."""

    @property
    def tells(self) -> frozenset[str]:
        """What it says of its cells: counts, amounts of a variable by its name; only like is subtracted."""

    @property
    def picture(self) -> str:
        """The chart that it is usually shown as, a kind of ``hitoku.plots.chart``; empty for numbers."""

    @property
    def repeatable(self) -> bool:
        """Whether the data are enough to collect its evidence again."""

    def collect(self, records: Records) -> E:
        """Look at the records once."""

    def protect(self, evidence: E, policy: Policy) -> E:
        """Decide what is withheld."""

    def judge(self, evidence: E, policy: Policy) -> tuple[PrincipleVerdict, ...]:
        """Apply the principles to what leaves."""

    def publish(self, evidence: E) -> dict[str, list[Any]]:
        """Return what leaves: columns and their entries, None where withheld."""

    def contradictions(self, evidence: E) -> Iterator[str]:
        """Name what cannot be true together in the evidence."""

    def facts(self, evidence: E) -> Iterator[Fact]:
        """Say what is known about groups, for comparison with other outputs about the same data."""

    def cells(self, evidence: E) -> CodedCells | None:
        """Return its cells with their codes; None when codes do not say who is in them."""

    def claim(self, evidence: E, policy: Policy) -> TableClaim | None:
        """Return what its certificate is about; None when it has none."""

    def membership(self, records: Records, evidence: E) -> Membership | None:
        """Tell in which published cell each unit is; None when nobody can say."""

    def said(self, evidence: E) -> Iterator[Said]:
        """Say which statistics of which variables leave, group by group: they are judged together."""

    def measures(self, records: Records) -> dict[str, Measure]:
        """Return the amounts whose sums or means it publishes, for every unit of the data."""
