"""Loaded by Python itself when this folder is on its path: lets the n-th change to the disk go wrong.

FAULT is "count", "kill:n" (the process is gone before its n-th change), "full:n", "read-only:n" or "denied:n"
(from the n-th change on there is no room, or nothing may be written). FAULT_CLOCK is by how many seconds
``time.time`` is wrong. Only changes below FAULT_FOLDER count; with "count" their number goes to FAULT_COUNT.

SQLite writes without asking Python: there a statement counts as a change unless it asks or begins to, and
where nothing may be written any more, no file may grow, which is the next thing that the system offers.
"""
# ruff: noqa: PTH100, PTH123 - loaded before everything else, by every Python below

import atexit
import errno
import os
import resource
import signal
import sqlite3
import sys

KIND, _, AT = os.environ.get("FAULT", "").partition(":")
FOLDER = os.environ.get("FAULT_FOLDER", "")
CHANGES = {"os.mkdir", "os.rename", "os.link", "os.symlink", "os.truncate"}
REFUSED = {"full": errno.ENOSPC, "read-only": errno.EROFS, "denied": errno.EACCES}
# Not a page of a database, but room for what a command says.
ROOM = 4_000
QUESTIONS = ("SELECT", "PRAGMA", "EXPLAIN", "BEGIN")
seen = [0]


def changes(event, args):
    if event == "open":
        path, mode, flags = args
        wants = isinstance(mode, str) and set(mode) & set("wax+")
        if not (wants or (mode is None and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))):
            return False
        return isinstance(path, (str, bytes)) and os.path.abspath(os.fsdecode(path)).startswith(FOLDER)
    return event in CHANGES and os.path.abspath(os.fsdecode(args[0])).startswith(FOLDER)


def is_refused():
    seen[0] += 1
    if KIND == "kill" and seen[0] == int(AT):
        os.kill(os.getpid(), signal.SIGKILL)
    return KIND in REFUSED and seen[0] >= int(AT)


def hook(event, args):
    if changes(event, args) and is_refused():
        raise OSError(REFUSED[KIND], os.strerror(REFUSED[KIND]))


def statement(sql):
    if not sql.lstrip().upper().startswith(QUESTIONS) and is_refused():
        resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, resource.RLIM_INFINITY))


def connect(*args, **options):
    connection = sqlite3.Connection(*args, **options)
    connection.set_trace_callback(statement)
    return connection


def tell():
    n_changes = seen[0]
    with open(os.environ["FAULT_COUNT"], "w") as file:
        file.write(str(n_changes))


if KIND:
    if KIND == "count":
        atexit.register(tell)
    sys.addaudithook(hook)
    sqlite3.connect = sqlite3.dbapi2.connect = connect

if os.environ.get("FAULT_CLOCK"):
    import time

    WRONG, right = float(os.environ["FAULT_CLOCK"]), time.time
    time.time = lambda: right() + WRONG
