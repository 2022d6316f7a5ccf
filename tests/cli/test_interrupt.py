"""Ctrl-C during ``hitoku protect``: a safe pattern is written, or the command says that there is none.

The command runs in a process of its own with a terminal for its progress, and is interrupted once that says
where it is.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from hitoku.cli import main

pty = pytest.importorskip("pty", reason="needs a terminal for the progress")

STAGE = "choosing the cells to withhold with them"
pytestmark = pytest.mark.long
# A shell lets its background jobs ignore Ctrl-C, and the tests may be one of them.
COMMAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from hitoku.cli import main
main()
"""


def write_cells(path, side):
    """Write a cube of counts with the given side, of which three in ten are one or two."""
    random = np.random.default_rng(1)
    count = 3 + np.floor(np.exp(random.normal(2.6, 1.3, side**3))).astype(int)
    count = np.where(random.random(side**3) < 0.3, random.integers(1, 3, side**3), count)
    codes = np.array(np.unravel_index(np.arange(side**3), (side,) * 3)).T
    rows = [f"{a},{b},{c},{n}" for (a, b, c), n in zip(codes.tolist(), count.tolist(), strict=True)]
    path.write_text("\n".join(["a,b,c,n", *rows]) + "\n", encoding="utf-8")
    return path


def interrupted(cells, out, seen):
    """Protect a table, press Ctrl-C once the progress shows some words, and return exit code and output."""
    words = ["protect", str(cells), "--cells", "--by", "a", "--by", "b", "--by", "c", "--value", "n"]
    words += ["--frequency", "n", "--rule", "min_frequency:n=3", "--method", "circulation", "--no-groups"]
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words, "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "COLUMNS": "200", "TERM": "xterm"},
    )
    os.close(theirs)
    told, pressed = b"", False
    try:
        while part := _read(ours):
            told += part
            if not pressed and seen.encode() in told:
                child.send_signal(signal.SIGINT)
                pressed = True
        child.communicate()
    finally:
        child.kill()
        os.close(ours)
    assert pressed, told
    return child.returncode, told.decode(errors="replace")


def _read(terminal):
    try:
        return os.read(terminal, 4096)
    except OSError:  # Linux: the other end is closed
        return b""


def test_interrupt_before_first_pattern_writes_nothing(tmp_path):
    out = tmp_path / "release"
    code, told = interrupted(write_cells(tmp_path / "cells.csv", 40), out, STAGE)
    assert code == 130
    nothing = "circulation had not protected every cell yet, so it keeps nothing; nothing was written"
    assert f"interrupted: {nothing}" in told
    assert "Traceback" not in told
    assert not out.exists()


def test_interrupt_after_first_pass_writes_a_safe_release(tmp_path, capsys):
    out = tmp_path / "release"
    code, told = interrupted(write_cells(tmp_path / "cells.csv", 16), out, f"{STAGE}: 50%")
    assert code == 0
    assert "interrupted: the pattern found so far is safe and kept" in told
    assert "Traceback" not in told
    with pytest.raises(SystemExit) as left:
        main(["verify", str(out)])
    assert left.value.code == 0, capsys.readouterr()
