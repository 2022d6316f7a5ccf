"""Controlled tabular adjustment: publish the closest safe table instead of the true one."""

from __future__ import annotations

from hitoku.methods.adjust.adjust import Adjust, Adjusted

__all__ = ["Adjust", "Adjusted"]
