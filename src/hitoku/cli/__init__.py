"""Command line. Every command parses its arguments, calls one library function and prints the result."""

from __future__ import annotations

import errno
import gc
import os
import sys
import traceback
from collections.abc import Callable, Sequence

from hitoku.cli.terminal import BAD_INPUT, INTERRUPTED, OUR_BUG, lines, write_in_any_encoding
from hitoku.errors import HitokuError, visible
from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)

# Allocations between runs of the garbage collector. Commands create few reference cycles, and with Python's
# default of 700 the collector costs the demo a second.
COLLECT_AFTER = 500_000
# Optimisation level of compiled kernels. Numba's default of 3 compiles 10 % slower and gives no faster code.
OPTIMISE = "2"


def main(args: Sequence[str] | None = None) -> None:
    """Run ``hitoku`` and exit with its code.

    0: success; 1: a check or attack found a problem; 2: invalid input; 70: a bug in hitoku; 130: interrupted.
    """
    gc.set_threshold(COLLECT_AFTER)
    os.environ.setdefault("NUMBA_OPT", OPTIMISE)  # numba reads it when it is imported
    from hitoku.cli.commands import app

    write_in_any_encoding()
    sys.exit(guarded(lambda: app(args=args, prog_name="hitoku")))


def guarded(command: Callable[[], object]) -> int:
    """Run a command, print its errors, and return the exit code."""
    try:
        command()
    except SystemExit as leaving:
        stopped = _interrupt_behind(leaving)
        if stopped is not None:
            return _report_interrupt(stopped)
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except HitokuError as error:
        text = "\n  ".join(map(visible, lines(error)))  # names may contain control characters
        sys.stderr.write(f"{type(error).__name__}: {text}\n")
        return BAD_INPUT
    except KeyboardInterrupt as stopped:
        return _report_interrupt(stopped)
    except Exception as error:  # noqa: BLE001 - the traceback is printed
        return _full_disk(error) if _is_full(error) else _our_bug()
    return 0


def _interrupt_behind(leaving: SystemExit) -> KeyboardInterrupt | None:
    """Return the KeyboardInterrupt that Typer turned into an exit code, or None."""
    cause = None if leaving.__context__ is None else leaving.__context__.__cause__
    return cause if isinstance(cause, KeyboardInterrupt) else None


def _report_interrupt(stopped: KeyboardInterrupt) -> int:
    text = f"{stopped}; " if str(stopped) else ""
    sys.stderr.write(f"interrupted: {text}nothing was written\n")
    return INTERRUPTED


def _our_bug() -> int:
    traceback.print_exc()
    sys.stderr.write(
        "This is a bug in hitoku. Please report the lines above.\nRemove confidential text from them first.\n"
    )
    return OUR_BUG


def _is_full(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}


def _full_disk(error: Exception) -> int:
    """Report a full disk, for instance the one with temporary files."""
    place = getattr(error, "filename", None) or "temporary files"
    sys.stderr.write(
        "OutputError: the disk is full\n"
        f"  where: {visible(str(place))}\n"
        "  fix: free some space, or set TMPDIR to a folder on another disk\n"
    )
    return BAD_INPUT
