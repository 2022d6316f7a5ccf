"""Knowledge of an attacker about an adjustment, and scenarios that grant parts of it.

The protector solves a problem (Castro 2012, (4)-(8)) whose data are: the unsafe cells, the
bounds of all cells, whether an unsafe cell was raised or lowered, by how much at least, how far every cell
could have moved, and the weights. An attacker solves the same problem in reverse and must guess
what is not known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hitoku.errors import ParameterError, did_you_mean
from hitoku.model import Floats, Mask, Need, Release, frozen

# Facts that refer to others require them: levels and senses are those of the unsafe cells.
FACTS = ("unsafe", "bounds", "senses", "levels", "slack", "weights")
NEEDS = {"senses": ("unsafe",), "levels": ("unsafe",)}


@dataclass(frozen=True, slots=True)
class Scenario:
    """Facts known to an attacker; the others are drawn at random, again in every replication.

    Parameters
    ----------
    knows
        Any of:

        - ``unsafe``: the unsafe cells. Otherwise as many cells are drawn, among those that can move.
        - ``bounds``: the bounds of every cell, as in the release. Otherwise values are only assumed
          nonnegative, if no published one is negative.
        - ``senses``: which unsafe cells were raised and which lowered. Otherwise drawn with equal
        probability.
        - ``levels``: their minimum movement. Otherwise a share of the cell's value, known up to an error.
        - ``slack``: how far every cell could move from its true value, unsafe cells included: the bounds of
          the problem that the protector solved. Otherwise computed around a guessed value.
        - ``weights``: the weights of that problem. Otherwise those of a guessed value.
    name
        Name for reports.

    Examples
    --------
    >>> Scenario(knows={"unsafe", "bounds", "levels"}, name="no senses")
    Scenario(no senses: knows unsafe, bounds, levels)
    >>> SCENARIOS["B3"]
    Scenario(B3: knows unsafe, bounds, senses, levels)
    """

    knows: Iterable[str]
    name: str = "own"

    def __post_init__(self) -> None:
        knows = frozenset([self.knows] if isinstance(self.knows, str) else self.knows)
        for fact in sorted(knows):
            if fact not in FACTS:
                raise ParameterError(
                    "unknown_fact",
                    "no fact {fact!r} to know",
                    where="Scenario",
                    fix=did_you_mean(fact, FACTS),
                    fact=fact,
                )
            for needed in NEEDS.get(fact, ()):
                if needed not in knows:
                    raise ParameterError(
                        "unsafe_cells_not_known",
                        "{fact} are known of the unsafe cells, and these are not known",
                        where="Scenario",
                        fix="add {needed!r}, or take {fact!r} away",
                        fact=fact,
                        needed=needed,
                    )
        object.__setattr__(self, "knows", knows)

    def __contains__(self, fact: str) -> bool:
        return fact in self.knows

    def __repr__(self) -> str:
        facts = ", ".join(fact for fact in FACTS if fact in self)
        return f"Scenario({self.name}: knows {facts or 'nothing'})"


# Section 3 of the paper. B: the attacker guesses bounds and weights; C: the weights alone.
SCENARIOS = {
    "B1": Scenario(("unsafe", "bounds"), "B1"),
    "B2": Scenario(("unsafe", "bounds", "senses"), "B2"),
    "B3": Scenario(("unsafe", "bounds", "senses", "levels"), "B3"),
    "C": Scenario(("unsafe", "bounds", "senses", "levels", "slack"), "C"),
}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AttackerKnowledge:
    """Knowledge beyond the release; an attack uses only the parts that its scenario grants.

    Facts that the scenario does not grant may be omitted. Arrays have one entry per cell.
    :func:`hitoku.metrics.recovery.attacker_knowledge` derives all facts from a table and its need.

    Parameters
    ----------
    deviation
        Largest relative deviation of an unsafe cell, which a protector may publish as a measure of quality.
        One number for all cells, or one for each.
    unsafe
        Mask of the unsafe cells.
    senses
        1 if an unsafe cell was raised, -1 if it was lowered; other cells are ignored.
    lower, upper
        Minimum movement of an unsafe cell down or up.
    lower_share, upper_share
        The same as shares of the true value.
    slack
        Least and largest deviation that the protector allowed for each cell.
    weights
        The protector's weights.
    """

    deviation: float | Floats
    unsafe: Mask | None = None
    senses: Floats | None = None
    lower: Floats | None = None
    upper: Floats | None = None
    lower_share: Floats | None = None
    upper_share: Floats | None = None
    slack: tuple[Floats, Floats] | None = None
    weights: Floats | None = None

    def __post_init__(self) -> None:
        if not np.all(np.isfinite(self.deviation) & (np.asarray(self.deviation) >= 0)):
            raise ParameterError(
                "relative_deviation_range",
                "the largest relative deviation is negative or not finite",
                where="AttackerKnowledge",
                fix="give a share: 0.1 for ten percent",
            )

    @classmethod
    def of(
        cls, release: Release, need: Need, *, raised: ArrayLike = True, deviation: float | None = None
    ) -> AttackerKnowledge:
        """Derive unsafe cells and levels from a need alone, without the true table.

        Shares are those of the published values. ``slack`` and ``weights`` depend on the truth and are
        missing.

        Parameters
        ----------
        release, need
            The adjusted table, and its need.
        raised
            Unsafe cells that were raised; the others were lowered. One value for all, or one per cell.
        deviation
            Default: the largest level as a share of its published cell, as no unsafe cell moved by less.
        """
        if len(need) != release.n_cells:
            raise ParameterError(
                "need_of_other_release",
                "need has {n_need} cells, release has {n_cells}",
                where="AttackerKnowledge",
                fix="give the need of this table",
                n_need=len(need),
                n_cells=release.n_cells,
            )
        up = np.broadcast_to(np.asarray(raised, dtype=np.bool_), (release.n_cells,))
        size = np.abs(np.where(release.withheld, 0.0, release.published))
        lower, upper = (
            np.divide(level, size, out=np.zeros(len(size)), where=size > 0)
            for level in (need.lower, need.upper)
        )
        if deviation is None:
            deviation = float(np.max(np.where(up, upper, lower), initial=0.0, where=need.unsafe))
        return cls(
            deviation=deviation,
            unsafe=need.unsafe,
            senses=np.where(up, 1.0, -1.0),
            lower=need.lower,
            upper=need.upper,
            lower_share=lower,
            upper_share=upper,
        )

    def fact(self, name: str, n_cells: int) -> NDArray[Any]:
        """Return one of the arrays, or raise if it is missing."""
        given = getattr(self, name)
        if given is None:
            raise ParameterError(
                "knowledge_not_given",
                "this scenario requires {name}",
                where="AttackerKnowledge",
                fix="give {name}, or choose a scenario without it",
                name=name,
            )
        return frozen(given, np.bool_ if name == "unsafe" else np.float64, shape=(n_cells,), what=name)

    def __repr__(self) -> str:
        # Levels together with shares would reveal true values: the repr names the facts only.
        facts = [name for name in self.__dataclass_fields__ if getattr(self, name) is not None]
        return f"AttackerKnowledge({', '.join(facts)})"
