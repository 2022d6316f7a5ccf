"""Base class of output types: a few validated parameters, and every question about such outputs.

``collect`` looks at the records, ``membership`` and ``measures`` tell the ledger who is in which cell and how
much they have. All the rest follows from the evidence alone, so that a checker can do it again. A type states
its principles once, in ``tests``: what is withheld and the verdicts on what leaves both follow from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from hitoku.attacks.differencing import COUNTS
from hitoku.checks.evidence import CodedCells, Evidence
from hitoku.checks.ledger import Measure
from hitoku.checks.outputs.facts import Fact
from hitoku.checks.outputs.membership import Membership
from hitoku.checks.policies import Policy
from hitoku.checks.principles import Applied, PrincipleVerdict, Said, unsafe_parts, verdicts
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
    def tells(self) -> frozenset[str]:
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
