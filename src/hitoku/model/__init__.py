"""The vocabulary: what a table is, what it needs, what was decided, what an outsider sees.

A :class:`Table` is cells tied by linear relations, with codes (:class:`Labels`, :class:`Dimension`,
:class:`Hierarchy`) and contributors. A :class:`Need` says which cells are unsafe and how uncertain they
must stay, a :class:`Protection` what a method decided, a :class:`Release` what an outsider sees,
:class:`Bounds` what an attack proves about each cell, a :class:`Verdict` which attackers fail. All of them
are frozen and hold read-only arrays; nothing here computes a protection. Everything that other packages use
is exported here, but for readers of data frames (:mod:`hitoku.model.frames`) and for what links tables of
the same records (``link``, ``joint``, ``linked_groups``, ``record_sets``).
"""

from hitoku.model.arrays import Floats, Integers, Mask, frozen
from hitoku.model.attribution import Attributions
from hitoku.model.bounds import Bounds, Estimates
from hitoku.model.contributors import Contributors, Magnitude, Shares
from hitoku.model.dimension import Dimension, Labels
from hitoku.model.hierarchy import TOTAL, Hierarchy
from hitoku.model.markup import small_table
from hitoku.model.need import Need, reaches
from hitoku.model.protection import Moves, Protection, Reason, Step
from hitoku.model.rational import rational
from hitoku.model.relations import add_up, broken, cross_relations, only_categories, variable_of_relation
from hitoku.model.release import Release
from hitoku.model.table import Table, adds_up, are_units, counted_table, counts_units
from hitoku.model.table_parts import Hierarchies
from hitoku.model.tolerance import (
    ADDITIVITY,
    BOUND,
    EXACT_SUMS,
    LIMIT,
    MAX_DECIMALS,
    groups_by_size,
    level_slack,
    slack,
)
from hitoku.model.verdict import (
    ATTACKERS,
    DEFAULT_SCOPE,
    NOT_THERE,
    SCOPES,
    SYMBOLS,
    WORST_LAST,
    Colour,
    Finding,
    Row,
    Severity,
    Status,
    Verdict,
    parse_scope,
)

__all__ = [
    "ADDITIVITY",
    "ATTACKERS",
    "BOUND",
    "DEFAULT_SCOPE",
    "EXACT_SUMS",
    "LIMIT",
    "MAX_DECIMALS",
    "NOT_THERE",
    "SCOPES",
    "SYMBOLS",
    "TOTAL",
    "WORST_LAST",
    "Attributions",
    "Bounds",
    "Colour",
    "Contributors",
    "Dimension",
    "Estimates",
    "Finding",
    "Floats",
    "Hierarchies",
    "Hierarchy",
    "Integers",
    "Labels",
    "Magnitude",
    "Mask",
    "Moves",
    "Need",
    "Protection",
    "Reason",
    "Release",
    "Row",
    "Severity",
    "Shares",
    "Status",
    "Step",
    "Table",
    "Verdict",
    "add_up",
    "adds_up",
    "are_units",
    "broken",
    "counted_table",
    "counts_units",
    "cross_relations",
    "frozen",
    "groups_by_size",
    "level_slack",
    "only_categories",
    "parse_scope",
    "rational",
    "reaches",
    "slack",
    "small_table",
    "variable_of_relation",
]
