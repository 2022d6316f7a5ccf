"""A method made of whole rectangles, which a reader may know."""

from __future__ import annotations

from hitoku.methods.blocks.blocks import Blocks

__all__ = ["Blocks"]
