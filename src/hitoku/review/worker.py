"""Worker that takes jobs from the database and runs them in a separate process with a time limit.

The server never reads a submission itself. A job whose worker was killed is taken over after a while without
heartbeat; all jobs are idempotent.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Row
from sqlalchemy.exc import SQLAlchemyError

from hitoku.errors import HitokuError
from hitoku.review import jobs
from hitoku.review.context import Context
from hitoku.review.intake import take_from_inbox
from hitoku.review.jobs import Job, Stage
from hitoku.review.policies import as_file, dry_run_task, keep_dry_run
from hitoku.review.releases import finish_release, release_task
from hitoku.review.storage import reading, writing
from hitoku.review.submitting import check_done, check_refused
from hitoku.review.tables import job, project, request, submission

LOGGER = logging.getLogger("hitoku.review.worker")
# Interval for polling, and for the heartbeat, in seconds.
PAUSE, PULSE = 0.5, 2.0


class Worker:
    """Thread that runs jobs one after another."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.seen = 0.0
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name="worker", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop; an unfinished job is left for the next worker."""
        self._stopping.set()
        if self._process is not None:
            self._process.kill()
        if self._thread is not None:
            self._thread.join(timeout=10)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self.seen = time.time()
            try:
                take_from_inbox(self.context)
                if not self.work():
                    self._stopping.wait(PAUSE)
            except (SQLAlchemyError, OSError, HitokuError) as error:
                # Database or disk unavailable: the job will be retried.
                LOGGER.warning(json.dumps({"worker": type(error).__name__}))
                self._stopping.wait(PULSE)

    def work(self) -> bool:
        """Run the next job; return whether there was one."""
        with reading(self.context.engine) as connection:
            idle = connection.execute(
                sa.select(job.c.id).where(job.c.state.in_([Stage.WAITING, Stage.RUNNING])).limit(1)
            ).first()
        if idle is None:
            return False
        with writing(self.context.engine) as connection:
            taken = jobs.take(connection)
        if taken is None:
            return False
        try:
            task = self._task(taken)
        except HitokuError as error:
            self._close(taken, None, error.what)
            return True
        answer, said = self._done(taken, task)
        if not self._stopping.is_set():
            self._close(taken, answer, said)
        return True

    def _task(self, taken: Row[tuple[object, ...]]) -> dict[str, Any]:
        """Return the task for the process."""
        with reading(self.context.engine) as connection:
            if taken.kind == Job.DRY_RUN:
                return dry_run_task(connection, self.context, taken.subject)
            if taken.kind == Job.RELEASE:
                return release_task(connection, self.context, taken.subject)
            row = connection.execute(
                sa.select(project)
                .join(request, request.c.project == project.c.id)
                .join(submission, submission.c.request == request.c.id)
                .where(submission.c.id == taken.subject)
            ).one()
            out = self.context.checked(taken.subject)
            if out.exists():
                shutil.rmtree(out)  # left by an earlier attempt that was not recorded
            return {
                "kind": "check",
                "submission": str(self.context.submitted(taken.subject)),
                "out": str(out),
                "policy": as_file(connection, self.context, row.policy),
                "ledger": row.ledger,
                "data": row.data,
                "unit": row.unit,
            }

    def _done(
        self, taken: Row[tuple[object, ...]], task: dict[str, Any]
    ) -> tuple[dict[str, Any] | None, str]:
        """Run a job; return its result, or the reason why it has none."""
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        process = subprocess.Popen(
            [sys.executable, "-m", "hitoku.review.checking"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
            cwd=self.context.folder,
        )
        self._process = process
        assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - pipes
        process.stdin.write(json.dumps(task))
        process.stdin.close()
        said: queue.Queue[str | None] = queue.Queue()
        reader = threading.Thread(target=_read, args=(process.stdout, said), daemon=True)
        reader.start()
        until, beaten, last = time.monotonic() + self.context.settings.check_seconds, 0.0, {}
        state: dict[str, Any] = {"done": 0, "total": 0, "said": "starting"}
        while True:
            try:
                line = said.get(timeout=PULSE / 2)
            except queue.Empty:
                line = ""
            if line is None:
                break
            self.seen = time.time()
            if line:
                last = json.loads(line)
                state |= {name: last[name] for name in ("done", "total", "said") if name in last}
            if time.monotonic() > until:
                process.kill()
                process.wait()
                reader.join()
                self._process = None
                return None, f"it took longer than {self.context.settings.check_seconds} seconds"
            if time.monotonic() - beaten > PULSE or line:
                beaten = time.monotonic()
                with writing(self.context.engine) as connection:
                    jobs.beat(connection, taken.id, state["done"], state["total"], state["said"])
        code = process.wait()
        self._process = None
        if "result" in last or "refused" in last:
            return last, ""
        return None, f"the process left with code {code} and no result"

    def _close(self, taken: Row[tuple[object, ...]], answer: dict[str, Any] | None, said: str) -> None:
        """Record the result of a job in one transaction with its consequences."""
        with writing(self.context.engine) as connection:
            if answer is None:
                jobs.finish(connection, taken.id, Stage.FAILED, said)
                return
            refused = answer.get("refused")
            if refused and taken.kind == Job.CHECK:
                check_refused(connection, taken.subject, refused["what"], refused["fix"])
                jobs.finish(connection, taken.id, Stage.DONE, refused["what"])
            elif refused:
                jobs.finish(connection, taken.id, Stage.FAILED, f"{refused['what']}; {refused['fix']}")
            else:
                if taken.kind == Job.CHECK:
                    check_done(connection, taken.subject, answer["result"])
                elif taken.kind == Job.RELEASE:
                    finish_release(connection, taken, answer["result"])
                else:
                    keep_dry_run(self.context, taken.subject, answer["result"])
                jobs.finish(connection, taken.id, Stage.DONE)


def _read(lines: Any, said: queue.Queue[str | None]) -> None:
    with lines:
        for line in lines:
            said.put(line)
    said.put(None)
