"""Many small computations, in parallel, that can be interrupted and taken up again.

Every answer is a JSON file of its own, named by a hash of everything that it depends on and moved into place
whole. Whatever is there already is not computed again, so an interrupted run goes on where it was, and a run
with one more instance computes that instance only.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.files import write_file

Facts = dict[str, Any]
# Told after every answer: how many are there, how many there will be, and a word about the last one.
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Task:
    """A computation: a module-level function, its arguments, and its identifier.

    Parameters
    ----------
    work
        Returns facts that JSON can hold. Facts that say "failed" are handed on and not kept, so that the next
        run tries again.
    given
        Handed to ``work``; the computation depends on nothing else.
    depends
        What the name of the answer is made from: words, numbers, arrays.
    label
        For the progress bar.
    """

    work: Callable[..., Facts]
    given: tuple[Any, ...]
    depends: tuple[Any, ...]
    label: str = ""

    @property
    def key(self) -> str:
        return fingerprint(self.work.__module__, self.work.__qualname__, *self.depends)


def fingerprint(*things: Any) -> str:
    """Hash words, numbers and arrays; equal things, equal hash, on every machine.

    Examples
    --------
    >>> fingerprint("a", 1.0) == fingerprint("a", 1.0), fingerprint("ab") == fingerprint("a", "b")
    (True, False)
    """
    digest = hashlib.sha256()
    for thing in things:
        if isinstance(thing, np.ndarray):
            whole = np.ascontiguousarray(thing, dtype=thing.dtype.newbyteorder("<"))
            head, body = f"{whole.dtype.str}{whole.shape}", whole.tobytes()
        else:
            head, body = type(thing).__name__, json.dumps(thing, sort_keys=True).encode()
        digest.update(f"{head}:{len(body)}:".encode() + body)
    return digest.hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Store:
    """A folder of answers."""

    folder: Path

    def get(self, key: str) -> Facts | None:
        """Return an answer, or None; a file that cannot be read counts as absent."""
        try:
            facts = json.loads((self.folder / f"{key}.json").read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return facts if isinstance(facts, dict) else None

    def put(self, key: str, facts: Facts) -> None:
        """Write an answer atomically."""
        write_file(self.folder / f"{key}.json", json.dumps(facts).encode())


def run_all(
    tasks: Sequence[Task], store: Store, *, jobs: int = 1, progress: Progress | None = None
) -> list[Facts]:
    """Answer every task, those first that are stored; answers come in the order of the tasks.

    Parameters
    ----------
    tasks
        What to compute.
    store
        Where answers are kept.
    jobs
        Processes; one computes here. Changes no answer.
    progress
        Told after every answer.
    """
    tell = progress or (lambda _done, _total, _label: None)
    answers = [store.get(task.key) for task in tasks]
    missing = [place for place, answer in enumerate(answers) if answer is None]
    done = len(tasks) - len(missing)
    tell(done, len(tasks), "")
    for place, facts in _computed(tasks, missing, jobs):
        if "failed" not in facts:
            store.put(tasks[place].key, facts)
        # Read back, so that a fresh answer and a stored one are the same thing.
        answers[place] = json.loads(json.dumps(facts))
        done += 1
        tell(done, len(tasks), tasks[place].label)
    return [answer for answer in answers if answer is not None]


def _leave_interrupts_alone() -> None:
    """Let Ctrl-C end the run once, in the process that started it, and not in every worker as well."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _computed(tasks: Sequence[Task], missing: Sequence[int], jobs: int) -> Iterator[tuple[int, Facts]]:
    if jobs <= 1 or len(missing) <= 1:
        for place in missing:
            yield place, tasks[place].work(*tasks[place].given)
        return
    # Fresh processes: one that is forked shares locks with the threads of the solver.
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_leave_interrupts_alone)
    with contextlib.ExitStack() as leaving:
        # After an error or Ctrl-C, what has not begun is not begun.
        leaving.callback(pool.shutdown, wait=True, cancel_futures=True)
        waiting = iter(missing)
        running: dict[Future[Facts], int] = {}
        while True:
            # Few at a time: what a task is given waits in memory.
            for place in islice(waiting, 2 * jobs - len(running)):
                running[pool.submit(tasks[place].work, *tasks[place].given)] = place
            if not running:
                return
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                yield running.pop(future), future.result()
