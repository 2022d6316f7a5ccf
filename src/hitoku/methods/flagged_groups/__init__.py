"""A method of small groups of cells, which a reader may know: its refusals depend on the cells."""

from __future__ import annotations

from hitoku.methods.flagged_groups.flagged_groups import FlaggedGroups

__all__ = ["FlaggedGroups"]
