"""A method made of whole rectangles, which a reader may know."""

from __future__ import annotations

from hitoku.methods.blocks.blocks import Blocks
from hitoku.methods.blocks.terms import treated

__all__ = ["Blocks", "treated"]
