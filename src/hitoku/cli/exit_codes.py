"""With what a command leaves."""

from __future__ import annotations

FOUND = 1  # the audit, attack or check found something
BAD_INPUT = 2
OUR_BUG = 70  # EX_SOFTWARE of sysexits.h: must not be taken for a finding
