"""What the rules are computed from: collected once from the records, and enough to judge an output again."""

from __future__ import annotations

from typing import Any

# Plain values that JSON can hold, all lists of equal length where they are about cells or groups.
Evidence = dict[str, Any]
