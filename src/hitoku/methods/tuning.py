"""Numbers that steer the methods, one frozen class for each method with a sentence for every number.

Answers depend on them, safety does not. Tolerances are in :mod:`hitoku.model.tolerance`, work limits that
several parts of the library share in :mod:`hitoku.solver.solution`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AdjustTuning:
    """Numbers of :class:`hitoku.methods.adjust.Adjust`."""

    gap: float = 1e-6
    """Costs that differ by a smaller share are equal: neither solvers nor six decimals are more exact."""
    unprinted_weight: float = 1e-6
    """Weight of a sum of cells that is not printed, as a share of the smallest weight."""
    grid_slack: float = 0.05
    """A double closer to a grid point than this, in steps of the grid, stands for that point."""
    max_tie_entries: int = 40_000_000
    """Above this many entries the dependences among inner cells are not eliminated."""
    max_tie_coefficient: int = 1_000
    """Stop eliminating when a coefficient exceeds this: rounding errors would add up to more than a step."""
    rounding_attempts: int = 4
    """Attempts to round inner cells and add up totals, before controlled rounding."""
    rounding_gap: float = 1e-3
    """Controlled rounding stops when no other rounding can be closer by a larger share."""


@dataclass(frozen=True, slots=True)
class AutoTuning:
    """Numbers of :class:`hitoku.methods.auto.Auto`; see bench/large.py."""

    max_small: int = 500
    """Up to this many cells the optimal method is tried first."""
    small_work: int = 2_000
    """Work limit of the optimal method on small tables."""
    max_compared: int = 1_500
    """Up to this many cells circulation is compared with a tidied greedy pattern."""
    max_flat: int = 20_000
    """Up to this many cells the optimal method improves the greedy pattern of a flat two-way table."""
    flat_work: int = 8_000
    """Work limit of the optimal method on flat tables: seconds, as its subproblems are flows."""
    max_randomised: int = 25
    """Up to this many inner cells patterns are drawn at random when attackers may know the method."""


@dataclass(frozen=True, slots=True)
class BlocksTuning:
    """Numbers of :class:`hitoku.methods.blocks.Blocks`."""

    max_total: int = 2**31
    """Largest total of a table: products of two of them fit 64 bits."""
    plenty: int = 2
    """Expected counts are cut off at this multiple of the smallest safe count."""
    max_decimals: int = 9
    """Magnitudes are worked on as whole numbers of at most this many decimals."""
    fine_total: int = 10**9
    """Maximum grand total in units if the totals are not decimal numbers."""
    many_contributors: int = 1_000
    """Number of equal contributors that makes a cell safe by every rule of contributors."""
    family_rounds: int = 3
    """Rounds in which lines are excluded whose single unit would not be protected far enough."""


@dataclass(frozen=True, slots=True)
class FlaggedGroupsTuning:
    """Numbers of :class:`hitoku.methods.flagged_groups.FlaggedGroups`."""

    ample_share: int = 6
    """A further cell is expected to hold at least this multiple of the width."""
    max_flagged: int = 6
    """A line needs no further cell if it has this many flagged cells for each one required."""
    rounds: int = 6
    """Rounds over all cells that are too narrow, and over all groups without an unsafe cell."""


@dataclass(frozen=True, slots=True)
class GaussTuning:
    """Numbers of :class:`hitoku.methods.gauss.Gauss`."""

    tie_weight: float = 0.99
    """Weight of the tie-break between equal counts: less than one, as in GaussSuppression."""
    max_weight: int = 64
    """Largest random weight of a free column: small weights keep the fractions of a proof small."""
    max_vectors: int = 60
    """Random vectors tried until each unsafe cell is moved by one of them."""
    unpin_rounds: int = 50
    """Attacks on groups, each followed by further suppression."""


@dataclass(frozen=True, slots=True)
class GreedyTuning:
    """Numbers of :class:`hitoku.methods.greedy.Greedy`."""

    max_recorded: int = 3_000
    """Up to this many cells steps record intervals by default: three times the work, about a second."""
    propagation_rounds: int = 60
    """Rounds of bound propagation before a linear program: longer chains of relations are rare."""
    large_share: float = 0.15
    """A group with a larger share of the movable cells is pushed in one program of the whole table, which
    outlives the next suppression: its last basis is worth more than fewer columns."""
    min_flows: int = 50
    """Maximum flows are set up for more than this many unsafe cells of a group."""


ADJUST = AdjustTuning()
AUTO = AutoTuning()
BLOCKS = BlocksTuning()
FLAGGED_GROUPS = FlaggedGroupsTuning()
GAUSS = GaussTuning()
GREEDY = GreedyTuning()
