"""Program that the worker runs in a separate process: checks, releases and policy dry runs.

It reads its task as JSON from standard input, reports progress as JSON lines on standard output, and exits
with the codes of the command line. It knows paths, not the database.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from hitoku.checks import Decision
from hitoku.checks.ledger import init
from hitoku.checks.submission import CHECKER, PUBLIC, RECEIPT, Recheck, recheck
from hitoku.checks.submission import release as let_go
from hitoku.errors import HitokuError, ParameterError
from hitoku.files import new_folder, sha256
from hitoku.messages import Text
from hitoku.review.drawing import draw, draw_picture, pack_columns, sums

Progress = Callable[[int, int, str], None]


def check(task: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Check a submission and draw its outputs; return the summary."""
    folder, out = Path(task["submission"]), Path(task["out"])
    progress(0, 1, "reading")

    def rechecking(done: int, steps: int, said: str) -> None:
        # Three steps for each output: judge, compare, draw.
        progress(done, steps * 3 // 2, said)

    found = recheck(folder, **_options(task), progress=rechecking)
    total = 3 * len(found.outputs)
    summary, n_cells = [], []
    with new_folder(out) as draft:
        for place, each in enumerate(found.outputs):
            progress(total - len(found.outputs) + place, total, f"drawing {each.output.name}")
            view = {**draw(each, found.policy), "verdict": found.verdict_of(each).as_dict()}
            drawn = {**view, "cells": pack_columns(view["cells"])}
            (draft / f"{place:03}.json").write_text(json.dumps(drawn), "utf-8")
            n_cells.append(len(view["cells"]["shown"]))
            picture = draw_picture(each.output)
            if picture:
                (draft / f"{place:03}.png").write_bytes(picture)
            summary.append(
                {
                    "name": each.output.name,
                    "kind": each.output.kind,
                    "status": each.status,
                    "digest": _digest(found, place),
                    "principles": {str(name): word for name, word in each.row.items()},
                    "cells": n_cells[-1],
                }
            )
        together = sums(found, n_cells)
        (draft / "sums.json").write_text(json.dumps(together), "utf-8")
        report = {name: part for name, part in found.to_dict().items() if name != "outputs"}
        whole = {"outputs": summary, "report": report}
        (draft / "summary.json").write_text(json.dumps(whole), "utf-8")
    return whole


def release(task: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Release the decided outputs. Idempotent."""
    progress(0, 1, "checking against everything released, and writing the receipt")
    ledger = Path(task["ledger"])
    if not ledger.exists():
        init(ledger, policy=task["policy"], unit=task["unit"] or None, checkers=task["signatures"])
    done = let_go(
        task["submission"],
        ledger=ledger,
        data=task["data"],
        checkers=task["checkers"],
        decisions=[Decision.model_validate(each) for each in task["decisions"]],
        out=task["out"],
        now=datetime.fromisoformat(task["now"]),
    )
    if done.receipt is None or done.folder is None:
        raise ParameterError(
            "no_output_released",
            "nothing was released: {reason}",
            where="release",
            fix="return the request, or decide again",
            reason=done.blocked or Text("no output may be released"),
        )
    return {
        "digest": sha256(done.folder / RECEIPT),
        "outputs": [each.name for each in done.receipt.outputs],
        "number": done.receipt.number,
    }


def dry_run(task: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Judge released outputs by another policy; return those that would fail."""
    failing = []
    for done, each in enumerate(task["released"]):
        progress(done, len(task["released"]), f"request {each['request']}")
        found = recheck(each["submission"], policy=task["policy"])
        failing += [
            {
                "request": each["request"],
                "output": one.output.name,
                "status": one.status,
                "why": [str(verdict) for verdict in one.verdicts if verdict.status != "pass"],
            }
            for one in found.outputs
            if one.output.name in each["outputs"] and one.status == "fail"
        ]
    return {"failing": failing, "looked_at": sum(len(each["outputs"]) for each in task["released"])}


def _options(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return the optional arguments of the library, without those that the project lacks."""
    given = {name: task.get(name) for name in ("policy", "ledger", "data", "unit")}
    if given["ledger"] and not given["data"] and not Path(given["ledger"]).exists():
        given["ledger"] = None
    return {name: value for name, value in given.items() if value}


def _digest(found: Recheck, place: int) -> str:
    """Return a hash of the published values and the evidence of an output."""
    stem = found.submission.stems[place]
    files = [
        found.submission.path / CHECKER / f"{stem}.json",
        found.submission.path / PUBLIC / f"{stem}.json",
    ]
    return sha256("".join(sha256(path) for path in files if path.is_file()).encode())


TASKS: dict[str, Callable[[Mapping[str, Any], Progress], dict[str, Any]]] = {
    "check": check,
    "release": release,
    "dry run": dry_run,
}


def main() -> int:
    """Run the task on standard input; return the exit code."""
    task = json.load(sys.stdin)

    def progress(done: int, total: int, said: str) -> None:
        sys.stdout.write(json.dumps({"done": done, "total": total, "said": said}) + "\n")
        sys.stdout.flush()

    try:
        result = TASKS[task["kind"]](task, progress)
    except HitokuError as error:
        sys.stdout.write(json.dumps({"refused": {"what": error.what, "fix": error.fix}}) + "\n")
        return 2
    sys.stdout.write(json.dumps({"result": result}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
