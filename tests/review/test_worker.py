"""The worker: a process of its own with a time limit; what it leaves behind when it is killed is taken up."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest
import sqlalchemy as sa
from tests.checks.submissions import resealed

from hitoku.review import (
    Job,
    Stage,
    Worker,
    check_done,
    copy_folder,
    jobs,
    new_request,
    reading,
    user_by_login,
    worker,
    writing,
)

FAKE = """
import json, sys, time
task = json.load(sys.stdin)
print(json.dumps({{"done": 1, "total": 2, "said": "half"}}), flush=True)
{then}
"""


def hand_in(centre, folder=None):
    place, digest = copy_folder(
        folder or centre.submission / "first", centre.context.quarantine, "in", centre.context.settings
    )
    with writing(centre.context.engine) as connection:
        return new_request(
            connection,
            centre.context,
            user_by_login(connection, "ren"),
            project_id=1,
            title="Wages",
            context="c",
            controls="d",
            folder=place,
            digest=digest,
            nonce="a nonce",
        )


def job_of(context):
    with reading(context.engine) as connection:
        return connection.execute(sa.text("SELECT * FROM job")).one()


@pytest.fixture
def process(monkeypatch):
    """Let the worker run a few lines instead of the check."""

    def use(then):
        real = subprocess.Popen

        def popen(_command, **options):
            return real([sys.executable, "-c", FAKE.format(then=then)], **options)

        monkeypatch.setattr(worker.subprocess, "Popen", popen)

    return use


def test_check_runs_in_separate_process(centre):
    """The real thing: data, ledger and policy of the project, outputs judged again, and pages drawn."""
    number = hand_in(centre)
    assert Worker(centre.context).work()
    assert (centre.state(number), job_of(centre.context).state) == ("phase 1", "done")
    summary = json.loads((centre.context.checked(1) / "summary.json").read_text("utf-8"))
    assert [each["status"] for each in summary["outputs"]] == ["pass"] * 3
    assert "tested up to four outputs together" in summary["report"]["differencing"]
    assert not Worker(centre.context).work()


def test_modified_submission_is_returned_with_reason(centre, tmp_path):
    folder, _ = copy_folder(centre.submission / "first", tmp_path, "copy", centre.context.settings)
    (folder / "public" / "01-people.csv").write_text("region,job,count\n", "utf-8")
    number = hand_in(centre, folder)
    Worker(centre.context).work()
    assert centre.state(number) == "returned"
    page = centre.browser("ren").get(f"/requests/{number}").text
    assert "was changed after it was submitted" in page
    assert str(centre.context.folder) not in page


def test_forged_submission_is_not_passed(centre, tmp_path):
    """Resealed by somebody who knows how: the count of N/c is 30 now, and the evidence contradicts itself."""
    folder, _ = copy_folder(centre.submission / "first", tmp_path, "copy", centre.context.settings)
    resealed(folder, "public/01-people.json", lambda content: content["count"].__setitem__(6, 30))
    number = hand_in(centre, folder)
    Worker(centre.context).work()
    if centre.state(number) == "phase 1":
        with reading(centre.context.engine) as connection:
            assert connection.scalar(sa.text("SELECT status FROM output WHERE place = 0")) == "fail"
    else:
        assert centre.state(number) == "returned"


def test_slow_check_is_stopped_and_can_be_repeated(centre, process, monkeypatch):
    number = hand_in(centre)
    process("time.sleep(60)")
    monkeypatch.setattr(worker, "PULSE", 0.2)
    context = centre.context
    quick = type(context)(
        context.folder, context.settings.model_copy(update={"check_seconds": 1}), context.engine
    )
    begun = time.monotonic()
    assert Worker(quick).work()
    assert time.monotonic() - begun < 30
    assert job_of(context).state == "failed"
    assert "longer than 1 seconds" in centre.browser("yui").get(f"/requests/{number}").text
    assert centre.browser("yui").post(f"/requests/{number}/retry").status_code == 303
    assert job_of(context).state == "waiting"


@pytest.mark.parametrize("then", ["import os; os.kill(os.getpid(), 9)", "sys.exit(70)", "print('{}')"])
def test_crashed_process_is_a_failed_check(centre, process, then):
    number = hand_in(centre)
    process(then)
    assert Worker(centre.context).work()
    assert job_of(centre.context).state == "failed"
    assert centre.state(number) == "submitted"


def test_progress_is_reported_during_the_check(centre, process):
    number = hand_in(centre)
    process("time.sleep(0.5)")
    Worker(centre.context).work()
    found = job_of(centre.context)
    assert (found.done, found.total) == (1, 2)
    with writing(centre.context.engine) as connection:
        connection.execute(sa.text("UPDATE job SET state = 'running', said = 'drawing people'"))
    answer = centre.browser("ren").get(f"/requests/{number}/progress", headers={"hx-request": "true"})
    assert "drawing people (1 of 2)" in answer.text


def test_abandoned_job_is_retried_then_given_up(centre):
    hand_in(centre)
    for attempt in range(1, jobs.MAX_ATTEMPTS + 1):
        with writing(centre.context.engine) as connection:
            assert jobs.take(connection).subject == 1
            assert jobs.take(connection) is None, "another worker is at it"
        assert job_of(centre.context).attempts == attempt
        with writing(centre.context.engine) as connection:  # killed: no beat any more
            connection.execute(sa.text("UPDATE job SET beat = '2020-01-01T00:00:00Z'"))
    with writing(centre.context.engine) as connection:
        assert jobs.take(connection) is None
    assert job_of(centre.context).state == "failed"


def test_check_result_is_stored_once(centre):
    number = centre.submit()
    summary = json.loads((centre.submission / "first-check" / "summary.json").read_text("utf-8"))
    with writing(centre.context.engine) as connection:
        check_done(connection, 1, summary)
    assert len(centre.outputs(number)) == 3


def test_check_of_withdrawn_request_changes_nothing(centre):
    number = hand_in(centre)
    assert centre.browser("ren").post(f"/requests/{number}/withdraw").status_code == 303
    summary = json.loads((centre.submission / "first-check" / "summary.json").read_text("utf-8"))
    with writing(centre.context.engine) as connection:
        check_done(connection, 1, summary)
    assert centre.state(number) == "withdrawn"
    assert centre.outputs(number) == []


def test_job_is_enqueued_once(centre):
    with writing(centre.context.engine) as connection:
        for _ in range(2):
            jobs.ask(connection, Job.RELEASE, 7, None)
        assert connection.scalar(sa.text("SELECT count(*) FROM job")) == 1
        jobs.finish(connection, 1, Stage.DONE)
        jobs.ask(connection, Job.RELEASE, 7, None)
        assert connection.scalar(sa.text("SELECT state FROM job")) == "done"
