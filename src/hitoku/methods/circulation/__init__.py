"""Large tables: a pattern built from its own witnesses."""

from __future__ import annotations

from hitoku.methods.circulation.circulation import Circulation

__all__ = ["Circulation"]
