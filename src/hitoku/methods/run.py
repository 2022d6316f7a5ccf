"""The whole sequence of protecting a table with a method: what surrounds the method's own decision."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from hitoku.errors import SolverError, must_be
from hitoku.methods.attribution import open_groups
from hitoku.methods.method import Progress, promised, traits_of
from hitoku.methods.scale import out_of_scale, refuse_cramped, within_scale
from hitoku.methods.whole_numbers import close_in_whole_numbers
from hitoku.model import Need, Protection, Table


class Decides(Protocol):
    """A method whose own decision is one step of :func:`run`."""

    def decide(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Return a protection under which every unsafe cell meets its requirement over real numbers."""


def run(method: Decides, table: Table, need: Need, progress: Progress | None = None) -> Protection:
    """Protect a table: the sequence is the same for every method.

    1. Tighten bounds that are far wider than the levels (:mod:`hitoku.methods.scale`).
    2. Let the method decide.
    3. Extend the pattern until no group is disclosed that the need names (:mod:`hitoku.methods.attribution`).
    4. Extend the pattern of counts until intervals are wide enough over whole numbers
       (:mod:`hitoku.methods.whole_numbers`).
    5. Refuse levels that are too small beside the values to be told from rounding.

    Raises
    ------
    NeedError
        If a cell or group cannot be protected.
    ScopeError
        If the method's pattern may not be extended, and must be.
    """
    must_be(Table, table, "table")
    must_be(Need, need, "need")
    try:
        near = within_scale(table, need) if traits_of(method).adds_cells else table
        found = method.decide(near, need, progress)
        if near is not table:
            # Tighter bounds leave fewer safe patterns, so the cheapest of them need not be the cheapest.
            found = replace(found, proven=False, gap=float("nan"))
        if len(need.attributions):
            found = open_groups(method, table, need, found, progress)
        found = close_in_whole_numbers(method, table, need, found)
        intervals = promised(method, need)
        if intervals is not None:
            refuse_cramped(table, intervals, found.withheld)
    except SolverError as error:
        raise out_of_scale(table, need, error) from error
    except KeyboardInterrupt as stopped:
        # A method that has a safe pattern when it is interrupted returns it, and does not raise.
        told = f"{type(method).__name__.lower()} had not protected every cell yet, so it keeps nothing"
        raise KeyboardInterrupt(str(stopped) or told) from None
    else:
        return found
