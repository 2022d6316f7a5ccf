"""What outputs have in common whose parts have no codes of variables: models, numbers from elsewhere, files.

Nobody can say by their definition who is behind a part of them, so that they have no cells, no certificate,
and nothing in common with a group of another output.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Generic

from hitoku.attacks.differencing import COUNTS
from hitoku.checks.evidence import CodedCells
from hitoku.checks.ledger import Measure
from hitoku.checks.outputs.facts import Fact
from hitoku.checks.outputs.membership import Membership
from hitoku.checks.outputs.output_type import E, TableClaim
from hitoku.checks.policies import Policy
from hitoku.checks.principles import Said
from hitoku.checks.records import Records


class Uncoded(Generic[E]):
    """An output without codes; a subclass says what it knows all the same."""

    tabular: ClassVar[bool] = False

    @property
    def variables(self) -> tuple[str, ...]:
        """Rows are no codes of variables."""
        return ()

    @property
    def needs(self) -> tuple[str, ...]:
        """Nothing of the data: whoever computed it left out what could not be used."""
        return ()

    @property
    def tells(self) -> frozenset[str]:
        """Counts: nobody can say, and n is mostly printed."""
        return COUNTS

    @property
    def picture(self) -> str:
        """It is shown as numbers."""
        return ""

    @property
    def repeatable(self) -> bool:
        """The data are not enough to compute it again."""
        return False

    def facts(self, evidence: E) -> Iterator[Fact]:  # noqa: ARG002 - for groups
        """Say nothing: nobody knows which groups it is about."""
        return iter(())

    def cells(self, evidence: E) -> CodedCells | None:  # noqa: ARG002 - for coded groups
        """Return nothing: codes do not say who is behind a row."""
        return None

    def claim(self, evidence: E, policy: Policy) -> TableClaim | None:  # noqa: ARG002 - for tables
        """Return nothing: there is no table to prove anything about."""
        return None

    def membership(self, records: Records, evidence: E) -> Membership | None:  # noqa: ARG002
        """Return nothing: nobody can say who is behind a row."""
        return None

    def said(self, evidence: E) -> Iterator[Said]:  # noqa: ARG002 - for groups
        """Say nothing: nobody knows which groups it is about."""
        return iter(())

    def measures(self, records: Records) -> dict[str, Measure]:  # noqa: ARG002 - for sums and means
        """Return nothing: what was added up is not known."""
        return {}
