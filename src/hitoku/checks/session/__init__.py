"""What a researcher holds: a data set, and the outputs that were asked for."""

from hitoku.checks.session.session import Session

__all__ = ["Session"]
