"""Suppression by Gaussian elimination: no unsafe cell can be worked out by adding and subtracting."""

from __future__ import annotations

from hitoku.methods.gauss.gauss import Gauss, secondary

__all__ = ["Gauss", "secondary"]
