"""Runs commands in forks of one process that has loaded hitoku: each costs what it does, not what it imports.

A line of JSON on standard input says the words, the folder, the environment, and where output and errors go;
the exit code comes back on standard output.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import sys
import time
from pathlib import Path

import hitoku
from hitoku.cli import main

STAGE = Path(__file__).with_name("sitecustomize.py")


def load() -> None:
    for found in pkgutil.walk_packages(hitoku.__path__, "hitoku."):
        if not found.name.endswith(("__main__", ".env")) and ".migrations" not in found.name:
            importlib.import_module(found.name)


def become(asked: dict) -> None:
    """Be the process that was asked for."""
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["env"])
    time.tzset()
    for stream, path in ((1, asked["out"]), (2, asked["err"])):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    runpy.run_path(str(STAGE))
    sys.argv = ["hitoku", *asked["words"]]
    code = main()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # taking everything apart that was loaded costs more than most commands


if __name__ == "__main__":
    load()
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            become(json.loads(line))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()
