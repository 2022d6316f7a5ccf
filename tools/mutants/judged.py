"""Test mutants inside one pytest process, in which tests are collected once.

Each mutant is a fork with functions replaced. It is tested by the tests that run its line, fastest first,
until one fails. Coverage determines these tests in a separate fork for each file, and the result is cached.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import json
import os
import pkgutil
import resource
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest
from tools.mutants.proposed import Mutant, constants_of, functions_of

import hitoku

# CPU seconds of tests per mutant, as measured without mutation.
MAX_SECONDS = 4.0
# CPU limit of a mutant: TIMES the seconds of its tests, plus MORE. CLOCK seconds end one that sleeps.
TIMES, MORE, CLOCK, BYTES = 4, 4, 300, 6 << 30


class Judge:
    """A plug-in of pytest that runs the mutants instead of the tests."""

    def __init__(
        self,
        mutants: list[Mutant],
        paths: list[str],
        root: Path,
        kept: Path,
        record: Callable[[Mutant, str, str], None],
    ) -> None:
        self.mutants, self.paths, self.root, self.kept, self.record = mutants, paths, root, kept, record
        self.live: dict[str, list[FunctionType]] = {}

    def pytest_configure(self) -> None:
        """Let hypothesis stop at the first failure, because shrinking a mutant's example is useless."""
        from hypothesis import Phase, settings  # noqa: PLC0415 - after conftest chose a profile

        first = settings(
            settings.get_profile("same"), phases=[Phase.explicit, Phase.generate], report_multiple_bugs=False
        )
        settings.register_profile("mutants", first)
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Failed(f"{session.testsfailed} files cannot be collected")
        items = {item.nodeid: item for item in session.items}
        if os.environ.get("NUMBA_DISABLE_JIT"):
            np.seterr(over="ignore")  # residues wrap around, as they do compiled
        self.loaded()
        seconds, reached = self.measured(items)
        for mutant in self.mutants:
            lines = range(mutant.line, mutant.last_line + 1)
            tests_of_line = {test for line in lines for test in reached.get(f"{mutant.path}:{line}", ())}
            if mutant.line in constants_of(mutant.text).values():  # read at loading, used by anything
                own = (tests for line, tests in reached.items() if line.startswith(f"{mutant.path}:"))
                tests_of_line = {test for tests in own for test in tests}
            tests_of_line &= items.keys()
            chosen, spent = [], 0.0
            for test in sorted(tests_of_line, key=lambda test: (seconds[test], test)):
                if chosen and spent + seconds[test] > MAX_SECONDS:
                    break
                chosen.append(test)
                spent += seconds[test]
            if not chosen:
                self.record(mutant, "not reached", "")
                continue
            code, said = _forked(
                lambda chosen=chosen, mutant=mutant: self._judge(mutant, [items[test] for test in chosen]),
                int(TIMES * spent + MORE),
            )
            word = {0: "survived", 1: "killed", 3: "not applied"}.get(code, "killed")
            left_out = (
                f"; {len(tests_of_line) - len(chosen)} slow ones not run"
                if len(tests_of_line) > len(chosen)
                else ""
            )
            self.record(
                mutant,
                word,
                said or (f"{len(chosen)} tests{left_out}" if code in (0, 3) else f"ended by {code}"),
            )
        return True

    def loaded(self) -> None:
        """Import all modules before forking, and find the functions to replace."""
        for found in pkgutil.walk_packages(hitoku.__path__, "hitoku."):
            if found.name.split(".")[1] not in ("__main__", "cli", "review"):
                importlib.import_module(found.name)
        paths = {str(self.root / mutant.path) for mutant in self.mutants}
        gc.unfreeze()  # make all objects visible to get_objects
        for each in gc.get_objects():
            if type(each) is FunctionType and each.__code__.co_filename in paths:
                self.live.setdefault(each.__code__.co_filename, []).append(each)
        gc.collect()
        gc.freeze()  # garbage collection in a fork would copy all pages

    def _judge(self, mutant: Mutant, items: list[pytest.Item]) -> tuple[int, str]:
        path = str(self.root / mutant.path)
        if not put_in(mutant, path, self.live.get(path, [])):
            return 3, ""
        for item, following in zip(items, [*items[1:], None], strict=True):
            if failed := _run(item, following):
                return 1, f"{item.nodeid}: {failed}"
        return 0, ""

    def measured(self, items: dict[str, pytest.Item]) -> tuple[dict[str, float], dict[str, list[str]]]:
        """Return CPU seconds of each passing test, and the tests that reach each line."""
        paths = self.paths
        known = json.loads(self.kept.read_text("utf-8")) if self.kept.is_file() else {}
        sources = hashlib.sha256(b"".join((self.root / path).read_bytes() for path in paths)).hexdigest()[:12]
        files: dict[Path, list[pytest.Item]] = {}
        for item in items.values():
            files.setdefault(item.path, []).append(item)
        now = {}
        for path, own in files.items():
            digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
            key = f"{path.relative_to(self.root)} {digest} {sources}"
            if key not in known:
                scratch = self.kept.with_suffix(".part")
                scratch.unlink(missing_ok=True)
                ended = _forked(
                    lambda own=own, scratch=scratch: self._measure(own, paths, scratch), 3_600, 3_600
                )
                if not scratch.is_file():
                    raise RuntimeError(f"{path.name} cannot be measured: {ended}")
                known[key] = json.loads(scratch.read_text("utf-8"))
                self.kept.write_text(json.dumps(known), "utf-8")
                scratch.unlink()
                sys.stdout.write(
                    f"  measured {path.relative_to(self.root)}: {len(known[key]['seconds'])} tests\n"
                )
                sys.stdout.flush()
            now[key] = known[key]
        # Keep the results of other tests for the next run.
        tests_of_line = {str(path.relative_to(self.root)) for path in files}
        others = {k: v for k, v in known.items() if k.split()[0] not in tests_of_line and k.endswith(sources)}
        self.kept.write_text(json.dumps({**others, **now}), "utf-8")
        seconds: dict[str, float] = {}
        reached: dict[str, list[str]] = {}
        for each in now.values():
            seconds |= each["seconds"]
            for line, tests in each["reached"].items():
                reached.setdefault(line, []).extend(test for test in tests if test in each["seconds"])
        return seconds, reached

    def _measure(self, items: list[pytest.Item], paths: list[str], scratch: Path) -> tuple[int, str]:
        import coverage  # noqa: PLC0415 - outside the environment

        cover = coverage.Coverage(
            data_file=None, config_file=False, include=[str(self.root / path) for path in paths]
        )
        seconds = {}
        cover.start()
        for item, following in zip(items, [*items[1:], None], strict=True):
            cover.switch_context(item.nodeid)
            begun = time.process_time()
            if not _run(item, following):
                seconds[item.nodeid] = round(time.process_time() - begun, 3)
        cover.stop()
        with warnings.catch_warnings(action="ignore"):  # a test may run no line of the group
            data = cover.get_data()
        reached = {
            f"{path}:{line}": [test for test in tests if test]
            for path in paths
            for line, tests in data.contexts_by_lineno(str(self.root / path)).items()
        }
        scratch.write_text(json.dumps({"seconds": seconds, "reached": reached}), "utf-8")
        return 0, ""


def put_in(mutant: Mutant, path: str, live: list[FunctionType]) -> bool:
    """Replace code and constants of a loaded module by the mutant's. Return whether anything changed."""
    codes = functions_of(mutant.text, path)
    usual = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:  # may be loaded again
        return compile(mutant.text, path, "exec") if loader.path == path else usual(loader, name)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]
    changed = False
    for each in live:
        new = codes.get((each.__code__.co_qualname, each.__code__.co_firstlineno))
        if new is not None and new != each.__code__:
            each.__code__ = new
            changed = True
    if changed:
        return True
    module = next((m for m in list(sys.modules.values()) if getattr(m, "__file__", None) == path), None)
    if module is None:
        return False
    scope: dict[str, Any] = {"__name__": module.__name__, "__file__": path, "__package__": module.__package__}
    try:
        exec(compile(mutant.text, path, "exec"), scope)  # noqa: S102 - a mutated source file of this repository
    except Exception as refused:
        raise AssertionError("the mutant cannot be loaded") from refused
    for name in constants_of(mutant.text):
        old = getattr(module, name, None)
        if type(old) in (int, float, str, tuple, frozenset) and scope[name] != old:
            changed |= _replaced(name, old, scope[name])
    return changed


def _replaced(name: str, old: object, new: object) -> bool:
    holders = [
        m for m in list(sys.modules.values()) if isinstance(m, ModuleType) and m.__dict__.get(name) is old
    ]
    for holder in holders:
        setattr(holder, name, new)
    return bool(holders)


def _run(item: pytest.Item, following: pytest.Item | None) -> str:
    """Run a test; give what failed, or nothing."""
    from _pytest.runner import runtestprotocol  # noqa: PLC0415 - what the loop itself calls

    for report in runtestprotocol(item, log=False, nextitem=following):
        if report.failed:
            return str(getattr(report.longrepr, "reprcrash", None) or report.longrepr)[:200].replace(
                "\n", " "
            )
        if report.skipped:
            return "" if hasattr(report, "wasxfail") else "skipped"
    return ""


def _forked(work: Callable[[], tuple[int, str]], cpu_seconds: int, clock: int = CLOCK) -> tuple[int, str]:
    """Run work in a fork with limits. Return its exit code, or the negated signal, and its message."""
    out, into = os.pipe()
    child = os.fork()
    if not child:
        os.close(out)
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
        resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))
        signal.alarm(clock)
        code, said = 1, ""
        try:
            code, said = work()
        except BaseException as error:  # noqa: BLE001 - whatever a mutant throws, it was seen
            said = f"{type(error).__name__}: {error}"[:200]
        finally:
            os.write(into, said.encode()[:2_000])
            os._exit(code)
    os.close(into)
    with os.fdopen(out, "rb") as read:
        said = read.read().decode("utf-8", "replace")
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), said


def judge(tests: Iterable[str], judging: Judge) -> int:
    """Collect tests once and judge the mutants by them."""
    quiet = ["-p", "no:xdist", "-p", "no:cacheprovider", "-p", "no:faulthandler", "-m"]
    chosen = "not (browser or postgresql or spark or long or shared)"
    return int(pytest.main([*quiet, chosen, *tests], plugins=[judging]))
