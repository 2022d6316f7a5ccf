"""What a search among insiders finds: who comes too close to which cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hitoku.attacks.contribution import Coalition
from hitoku.coalitions.knowledge import KnownBounds
from hitoku.model import Finding, Integers, Severity


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TooClose:
    """A coalition, and the unsafe cells about which it can infer more than they allow.

    Parameters
    ----------
    members
        Contributors, numbered as they first appear in what was given.
    cells
        Positions of the cells.
    known
        What the coalition knows without any release.
    """

    members: Coalition
    cells: Integers
    known: KnownBounds

    def __repr__(self) -> str:
        return f"TooClose({len(self.members)} contributor(s), {len(self.cells)} cell(s))"


@dataclass(frozen=True, slots=True)
class InsiderVerdict:
    """How many coalitions were tried, and the cells that some of them can infer too closely."""

    tried: int
    cells: tuple[int, ...]

    def findings(self, describe: Callable[[int], str]) -> list[Finding]:
        """Say so to the checker; ``describe`` names a cell."""
        if not self.cells:
            tried = f"{self.tried:,} contributor(s), or coalitions of them, were tried"
            return [
                Finding(
                    severity=Severity.PASS,
                    place="insiders",
                    reason=f"{tried}: none comes too close by knowing their own amounts",
                )
            ]
        return [
            Finding(
                severity=Severity.FAIL,
                place=describe(cell),
                reason="what a contributor can infer who knows their own amounts is closer than required",
                advice="withhold more cells in its relations, those of several contributors",
            )
            for cell in self.cells
        ]
