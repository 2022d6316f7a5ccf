from __future__ import annotations

import json

import numpy as np
import pytest

from hitoku.errors import OutputError
from hitoku_papers.resumable import Store, Task, fingerprint, run_all

CALLS: list[int] = []


def square(number: int) -> dict[str, int]:
    CALLS.append(number)
    return {"square": number * number}


INTERRUPTED: set[int] = set()


def stubborn(number: int) -> dict[str, int]:
    if number in INTERRUPTED:
        raise KeyboardInterrupt
    return square(number)


def failing(number: int) -> dict[str, object]:
    CALLS.append(number)
    return {"failed": "too odd"} if number % 2 else {"square": number * number}


def tasks(work, n=5):
    return [Task(work, (number,), (number,), f"task {number}") for number in range(n)]


@pytest.fixture(autouse=True)
def forget():
    CALLS.clear()


def test_results_keep_task_order_and_are_stored(tmp_path):
    store = Store(tmp_path / "answers")
    assert [a["square"] for a in run_all(tasks(square), store)] == [0, 1, 4, 9, 16]
    assert len(list(store.folder.glob("*.json"))) == 5
    assert [a["square"] for a in run_all(tasks(square, 6), store)] == [0, 1, 4, 9, 16, 25]
    assert CALLS == [0, 1, 2, 3, 4, 5]  # the second run computed one


def test_interrupted_run_is_resumed(tmp_path):
    store = Store(tmp_path)
    INTERRUPTED.add(3)
    with pytest.raises(KeyboardInterrupt):
        run_all(tasks(stubborn), store)
    INTERRUPTED.clear()
    assert CALLS == [0, 1, 2]
    assert [a["square"] for a in run_all(tasks(stubborn), store)] == [0, 1, 4, 9, 16]
    assert CALLS == [0, 1, 2, 3, 4]


def test_partially_written_result_is_ignored(tmp_path):
    store, task = Store(tmp_path), tasks(square)[2]
    (tmp_path / f"{task.key}.json").write_text('{"square": ', "utf-8")
    assert store.get(task.key) is None
    assert run_all([task], store) == [{"square": 4}]


def test_failed_task_is_reported_and_retried(tmp_path):
    store = Store(tmp_path)
    assert [("failed" in a) for a in run_all(tasks(failing, 3), store)] == [False, True, False]
    run_all(tasks(failing, 3), store)
    assert CALLS == [0, 1, 2, 1]


def test_processes_change_no_answer(tmp_path):
    alone = run_all(tasks(square, 4), Store(tmp_path / "one"))
    together = run_all(tasks(square, 4), Store(tmp_path / "two"), jobs=2)
    assert alone == together


def test_progress_counts_what_is_there_and_what_comes(tmp_path):
    told = []
    run_all(tasks(square, 2), Store(tmp_path))
    run_all(tasks(square, 4), Store(tmp_path), progress=lambda *news: told.append(news))
    assert told == [(2, 4, ""), (3, 4, "task 2"), (4, 4, "task 3")]


def test_numbers_survive_the_store_unchanged(tmp_path):
    store = Store(tmp_path)
    numbers = np.random.default_rng(1).standard_normal(50).tolist()
    store.put("key", {"numbers": numbers})
    assert store.get("key") == {"numbers": numbers}


def test_unwritable_folder_raises(tmp_path):
    (tmp_path / "file").write_text("here", "utf-8")
    with pytest.raises(OutputError):
        Store(tmp_path / "file").put("key", {})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(("ab",), ("a", "b"), id="cut elsewhere"),
        pytest.param((1,), (1.0,), id="another kind"),
        pytest.param((np.array([1.0, 2.0]),), (np.array([[1.0], [2.0]]),), id="another shape"),
        pytest.param((np.array([1.0]),), (np.array([np.nextafter(1.0, 2)]),), id="the last digit"),
        pytest.param((np.array([1]),), (np.array([1.0]),), id="another type"),
    ],
)
def test_different_things_have_different_fingerprints(one, other):
    assert fingerprint(*one) != fingerprint(*other)
    assert fingerprint(*one) == fingerprint(*one)
    json.dumps(fingerprint(*one))
