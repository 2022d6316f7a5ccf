"""Greedy secondary suppression, after suppressFT: one cell at a time."""

from __future__ import annotations

from hitoku.methods.greedy.greedy import Greedy

__all__ = ["Greedy"]
