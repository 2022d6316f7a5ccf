"""The command line: every command parses, calls one library function and prints."""

from __future__ import annotations

import errno
import gc
import os
import sys
import traceback
from collections.abc import Callable, Sequence

from hitoku.cli.terminal import BAD_INPUT, OUR_BUG, lines, write_in_any_encoding
from hitoku.errors import HitokuError, visible
from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)

# Objects made before unreachable cycles are looked for, of which a command makes few. Python's own 700 cost
# the demo a second: every search goes through much of what was ever imported.
COLLECT_AFTER = 500_000
# How hard kernels are optimised where nobody says otherwise: numba's own 3 takes a tenth longer to compile,
# and what it compiles is not faster.
OPTIMISE = "2"
INTERRUPTED = 130


def main(args: Sequence[str] | None = None) -> None:
    """Run ``hitoku`` and leave with its exit code.

    0 fine, 1 something was found, 2 bad input (what, where, fix), 70 a bug of ours, 130 interrupted.
    """
    gc.set_threshold(COLLECT_AFTER)
    os.environ.setdefault("NUMBA_OPT", OPTIMISE)  # read when numba is loaded: not before a command needs it
    from hitoku.cli.commands import app

    write_in_any_encoding()
    sys.exit(guarded(lambda: app(args=args, prog_name="hitoku")))


def guarded(command: Callable[[], object]) -> int:
    """Run a command and turn what it raises into words and an exit code."""
    try:
        command()
    except SystemExit as leaving:
        stopped = _interrupt_behind(leaving)
        if stopped is not None:
            return _interrupted(stopped)
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except HitokuError as error:
        told = "\n  ".join(map(visible, lines(error)))  # names in it may hold anything
        sys.stderr.write(f"{type(error).__name__}: {told}\n")
        return BAD_INPUT
    except KeyboardInterrupt as stopped:
        return _interrupted(stopped)
    except Exception as error:  # noqa: BLE001 - the last line of defence; the traceback is shown
        return _full_disk(error) if _is_full(error) else _our_bug()
    return 0


def _interrupt_behind(leaving: SystemExit) -> KeyboardInterrupt | None:
    """Return the interruption that Typer turned into an exit code, which drops what it says."""
    cause = None if leaving.__context__ is None else leaving.__context__.__cause__
    return cause if isinstance(cause, KeyboardInterrupt) else None


def _interrupted(stopped: KeyboardInterrupt) -> int:
    told = f"{stopped}; " if str(stopped) else ""
    sys.stderr.write(f"interrupted: {told}nothing was written\n")
    return INTERRUPTED


def _our_bug() -> int:
    traceback.print_exc()
    sys.stderr.write(
        "This is a bug in hitoku. Please report the lines above;\n"
        "read them first, and take out whatever is confidential.\n"
    )
    return OUR_BUG


def _is_full(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}


def _full_disk(error: Exception) -> int:
    """Tell of a full disk met beside the target: copies of files, the sorting of large tables."""
    place = getattr(error, "filename", None) or "a temporary place"
    sys.stderr.write(
        "OutputError: the disk is full\n"
        f"  where: {visible(str(place))}\n"
        "  fix: make room, or name another place for temporary files with TMPDIR\n"
    )
    return BAD_INPUT
