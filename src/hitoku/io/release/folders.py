"""Which releases are in a folder: one, or those of the groups of a publication."""

from __future__ import annotations

from pathlib import Path

EVIDENCE = "checker/table.jj.gz"


def release_folders(path: str | Path) -> list[Path]:
    """Return the releases in a folder: mostly itself, else those of the groups of a publication."""
    folder = Path(path)
    if not folder.is_dir() or (folder / EVIDENCE).is_file():
        return [folder]
    inside = sorted(file.parents[1] for depth in ("*", "*/*") for file in folder.glob(f"{depth}/{EVIDENCE}"))
    return inside or [folder]
