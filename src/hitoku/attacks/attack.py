"""Protocol of attacks: validated parameters, the assumed knowledge, and ``infer``.

An attack receives a :class:`Release` and nothing else about the table; additional knowledge of the attacker
(own contributions, the suppressor, the levels of an adjustment) is passed as parameters. So no attack can see
the true table, and none decides whether its inference comes too close to an unsafe cell: that requires the
true values, and is done in :mod:`hitoku.evidence.attributed`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from hitoku.model import Bounds, Estimates, Finding, Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """Inference of an attack from a release; parts that an attack does not provide are empty.

    Parameters
    ----------
    bounds
        Proved interval of every cell, under the assumed knowledge of the attacker: the true value
        lies inside, except possibly where ``bounds.unknown``.
    estimates
        Values that the attacker estimates, without proof.
    findings
        Statements that hold in every feasible table, in words, if intervals do not express them.

    Examples
    --------
    >>> Inference(bounds=Bounds(lower=[3, 0], upper=[3, 8]))
    Inference(Bounds(2 cells, 1 exact))
    >>> Inference()
    Inference(nothing)
    """

    bounds: Bounds | None = None
    estimates: Estimates | None = None
    findings: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        parts = [repr(part) for part in (self.bounds, self.estimates) if part is not None]
        parts += [f"{len(self.findings):_} findings"] if self.findings else []
        return f"Inference({', '.join(parts) or 'nothing'})"


@runtime_checkable
class Attack(Protocol):
    """Protocol of an attack: parameters in a frozen dataclass, three class attributes, and ``infer``.

    Attributes
    ----------
    name
        Registry key, command-line name, file and page.
    assumes
        Assumed knowledge of the attacker, and so when the attack is relevant; one sentence.
    adjusted
        True for attacks on adjusted releases, which publish other values; False for suppressed cells.
    """

    name: ClassVar[str]
    assumes: ClassVar[str]
    adjusted: ClassVar[bool]

    def infer(self, release: Release) -> Inference:
        """Return what the attacker can infer; deterministic."""
        ...
