"""What was approved leaves: receipt, ledger, log and state; once, also when the worker dies in between."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
import sqlalchemy as sa

from hitoku.review import Worker, checking, differences, log, reading, release_task, verify_log


class Here(Worker):
    """A worker that does the release in this process: another interpreter would take seconds to start."""

    def _done(self, _taken, task):
        return {"result": checking.TASKS[task["kind"]](task, lambda *_: None)}, ""


@pytest.fixture
def approved(centre):
    number = centre.submit()
    for login in ("yui", "sota"):
        centre.vote(number, login, ["approve"] * 3)
    centre.browser("yui").post(f"/requests/{number}/settle")
    haru = centre.browser("haru")
    first, *others = centre.outputs(number)
    haru.post(f"/outputs/{first}/decision", data={"choice": "refuse", "reason": "merge N with S"})
    for place in others:
        haru.post(f"/outputs/{place}/decision", data={"choice": "approve"})
    haru.post(f"/requests/{number}/finish")
    assert centre.state(number) == "approved"
    return number


def test_release_writes_receipt_ledger_log_and_letter(centre, approved):
    haru = centre.browser("haru")
    assert [haru.post(f"/requests/{approved}/release").status_code for _ in range(2)] == [303, 303]
    assert Here(centre.context).work()
    assert centre.state(approved) == "released"
    answer = centre.browser("ren").get(f"/requests/{approved}/release.zip")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    assert {"receipt.json", "log.json", "letter.txt"} < set(content)
    receipt = json.loads(content["receipt.json"])
    assert [each["name"] for each in receipt["outputs"]] == ["incomes", "means"]
    assert {"Yui Tanaka", "Sota Mori", "Haru Ito"} == set(receipt["checkers"])
    assert "people: merge N with S" in content["letter.txt"].decode()
    # Its head is in the log, and a log without it is not whole.
    head = json.loads(content["log.json"])
    assert verify_log(centre.context.engine, [head])[1] == []
    assert verify_log(centre.context.engine, [{**head, "entries": head["entries"] + 9}])[1] != []
    with reading(centre.context.engine) as connection:
        assert differences(connection, list(log.entries(connection))) == []
    assert centre.browser("mio").get(f"/requests/{approved}/release.zip").status_code == 404


def test_worker_killed_between_writes_releases_once(centre, approved):
    centre.browser("haru").post(f"/requests/{approved}/release")
    with reading(centre.context.engine) as connection:
        task = release_task(connection, centre.context, approved)
    before = checking.release(task, lambda *_: None)  # and then it was killed
    assert centre.state(approved) == "approved"
    assert Here(centre.context).work()
    assert centre.state(approved) == "released"
    receipt = json.loads((centre.context.released(approved) / "receipt.json").read_text("utf-8"))
    assert (before["number"], receipt["number"]) == (1, 1)
    with reading(centre.context.engine) as connection:
        assert connection.scalar(sa.text("SELECT digest FROM release")) == before["digest"]
        assert connection.scalar(sa.text("SELECT count(*) FROM log WHERE event = 'release'")) == 1


def test_cells_and_expiry_are_passed_to_library(centre):
    number = centre.submit()
    for login in ("yui", "sota"):
        centre.vote(number, login, ["approve"] * 3)
    centre.browser("yui").post(f"/requests/{number}/settle")
    haru = centre.browser("haru")
    first, *others = centre.outputs(number)
    cells = [part.split('"')[0] for part in haru.get(f"/outputs/{first}").text.split('name="open-')[1:]]
    opened = {f"open-{cell}": "yes" for cell in cells}
    said = {"choice": "approve", "reason": "the census of 1920", "expires": "2999-12-31"}
    haru.post(f"/outputs/{first}/decision", data={**said, **opened})
    for place in others:
        haru.post(f"/outputs/{place}/decision", data={"choice": "approve"})
    haru.post(f"/requests/{number}/finish")
    haru.post(f"/requests/{number}/release")
    with reading(centre.context.engine) as connection:
        decided = release_task(connection, centre.context, number)["decisions"]
    [one] = [each for each in decided if "cells" in each]
    assert len(one["cells"]) == len(cells) > 1
    assert "principle" not in one
    assert one["expires"] == "2999-12-31"
    assert Here(centre.context).work()
    # Everything that was withheld has left: the numbers are those of the data.
    [people] = centre.context.released(number).glob("*people.csv")
    assert "N,c,3" in people.read_text("utf-8")
