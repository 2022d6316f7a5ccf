"""What every attack is: a few validated parameters, what its reader is assumed to know, and one verb.

An attack is handed a :class:`Release` and nothing else about the table; what its reader knows beside it (own
contributions, the suppressor, the levels of an adjustment) is among its parameters. So no attack can see the
truth, and none judges: whether what it infers comes too close to an unsafe cell takes the true values, and is
asked in :mod:`hitoku.evidence.attacked`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from hitoku.model import Bounds, Estimates, Finding, Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """What an attack infers from a release; an attack gives the parts that it has.

    Parameters
    ----------
    bounds
        An interval for every cell that is proved, given what the reader is assumed to know: the true value
        lies inside, except perhaps where ``bounds.unknown``.
    estimates
        Values that the reader arrives at; nothing is proved about them.
    findings
        What holds in every table that fits, in words, where intervals do not say it.

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
    """A reader of a release: parameters in a frozen dataclass, three things about its kind, one verb.

    Attributes
    ----------
    name
        Registry key, command-line word, file and page.
    assumes
        What the reader is assumed to know, and so when the attack matters; one sentence.
    adjusted
        It is about adjusted releases, which publish other values; otherwise about withheld cells.
    """

    name: ClassVar[str]
    assumes: ClassVar[str]
    adjusted: ClassVar[bool]

    def infer(self, release: Release) -> Inference:
        """Return what the reader can infer; the same release gives the same answer."""
        ...
