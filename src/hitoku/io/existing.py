"""A path that must exist."""

from __future__ import annotations

from pathlib import Path

from hitoku.errors import DataError, did_you_mean


def existing(path: Path) -> Path:
    """Return a path that exists, or say which one was meant."""
    if path.exists():
        return path
    beside = sorted(entry.name for entry in path.parent.iterdir()) if path.parent.is_dir() else []
    raise DataError(
        f"no file or folder {path.name!r}",
        where=str(path.parent),
        fix=did_you_mean(path.name, beside, otherwise="check the path"),
    )
