"""Results of a search over coalitions: which cells each can infer too closely."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hitoku.attacks import Coalition
from hitoku.coalitions.knowledge import KnownBounds
from hitoku.messages import Text
from hitoku.model import Finding, Integers, Severity


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TooClose:
    """A coalition, and the unsafe cells that it can infer too closely."""

    members: Coalition
    """Contributors, numbered by first occurrence in the given contributions."""
    cells: Integers
    """Indices of the cells."""
    known: KnownBounds
    """Knowledge of the coalition without any release."""

    def __repr__(self) -> str:
        return f"TooClose({len(self.members)} contributor(s), {len(self.cells)} cell(s))"


@dataclass(frozen=True, slots=True)
class InsiderVerdict:
    """Number of coalitions, and the cells that some of them can infer too closely."""

    tried: int
    """Number of coalitions that were examined."""
    cells: tuple[int, ...]
    """Cells that some of them can infer too closely."""
    undecided: int = 0
    """Number of coalitions with undecided cells at the work limit."""

    def findings(self, describe: Callable[[int], str]) -> list[Finding]:
        """Return the findings for the checker; ``describe`` names a cell."""
        if self.undecided:
            open_ones = Finding(
                severity=Severity.REVIEW,
                place="insiders",
                reason=Text(
                    "not decided: the work limit was reached with {undecided:,} contributor(s) or "
                    "coalitions open",
                    undecided=self.undecided,
                ),
                advice="give the attack a higher work_limit, or withhold more",
            )
            return [*self._too_close(describe), open_ones]
        if not self.cells:
            return [
                Finding(
                    severity=Severity.PASS,
                    place="insiders",
                    reason=Text(
                        "{n:,} contributor(s), or coalitions of them, were tried: none comes too close by "
                        "knowing their own amounts",
                        n=self.tried,
                    ),
                )
            ]
        return self._too_close(describe)

    def _too_close(self, describe: Callable[[int], str]) -> list[Finding]:
        return [
            Finding(
                severity=Severity.FAIL,
                place=describe(cell),
                reason="what a contributor can infer who knows their own amounts is closer than required",
                advice="withhold more cells in its relations, those of several contributors",
            )
            for cell in self.cells
        ]
