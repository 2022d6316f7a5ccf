"""A folder, or a file, that appears whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hitoku.errors import OutputError


def refuse_occupied(path: Path) -> None:
    """Raise when a folder that is to be written already holds something."""
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise OutputError(
            f"the output folder {path.name!r} already holds something",
            where=str(path),
            fix="choose another folder, or move the old one away first",
        )


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a private temporary folder beside ``path``; rename it to ``path`` when the block succeeds.

    After an error nothing is left behind, neither there nor in the temporary place.
    """
    refuse_occupied(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    except OSError as error:
        raise OutputError(
            f"cannot write to {path.parent.name or path.parent}: {error.strerror}",
            where=str(path.parent),
            fix="choose a folder that you may write to",
        ) from error
    try:
        yield draft
        if path.is_dir():
            path.rmdir()  # empty: refuse_occupied looked
        draft.rename(path)
    except OSError as error:
        raise OutputError(f"cannot write {path.name!r}: {error.strerror}", where=str(path)) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a private temporary file beside ``path``; rename it to ``path`` when the block succeeds.

    Who may overwrite what is the caller's business. After an error nothing is left behind.
    """
    try:
        # A folder of its own: a private file would keep its private permissions when it is renamed.
        with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as draft:
            file = Path(draft) / path.name
            yield file
            file.replace(path)
    except OSError as error:
        raise OutputError(
            f"cannot write {path.name!r}: {error.strerror}",
            where=str(path.parent),
            fix="choose a folder that exists and that you may write to",
        ) from error
