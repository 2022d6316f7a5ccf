"""What is shipped: the wheel alone works in an empty environment, what it needs is declared and explained."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest
from tests.test_architecture import ROOT, SRC
from tests.test_architecture_page import section

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PAGE = (ROOT / "docs" / "explanation" / "dependencies.md").read_text("utf-8")
LICENCES = ROOT / "packaging" / "licences.py"
# Extras for those who work on hitoku itself.
OURS = {"dev", "docs"}
WATCH = """
import importlib, os, pkgutil, sys
sys.modules["matplotlib"] = None  # it looks for fonts when it is loaded, so whatever draws is left out

home, seen = os.environ["HOME"], set()

def hook(event, args):
    if event.split(".")[0] == "socket" and event != "socket.__new__":
        seen.add(event)
    elif event in ("open", "os.mkdir", "os.listdir", "os.scandir") and isinstance(args[0], (str, bytes)):
        if os.fsdecode(args[0]).startswith(home):
            seen.add(event + " " + os.fsdecode(args[0]))

CLOCKS = {{"time", "time_ns", "now", "utcnow", "today", "localtime", "gmtime", "monotonic", "perf_counter"}}

def asks(frame, event, function):
    ours = str(frame.f_globals.get("__name__")).startswith("hitoku")
    if event == "c_call" and ours and function.__name__ in CLOCKS:
        seen.add("clock " + frame.f_globals["__name__"])

sys.addaudithook(hook)
sys.setprofile(asks)
{planted}
import hitoku
loaded = 0
for info in pkgutil.walk_packages(hitoku.__path__, "hitoku."):
    if not info.name.endswith("__main__"):
        try:
            importlib.import_module(info.name)
            loaded += 1
        except ImportError as error:
            if not str(error.name).startswith("matplotlib"):
                raise
print(loaded)
print(*sorted(seen), sep="\\n")
"""


def names(requirements: list[str]) -> set[str]:
    return {re.match(r"[A-Za-z0-9._-]+", line)[0].lower() for line in requirements}


def explained(text: str) -> set[str]:
    return set(re.findall(r"^\| ([a-z0-9-]+) \| (?!for)", text, re.MULTILINE)) - {"package"}


def test_every_dependency_is_documented():
    assert explained(section(PAGE, "Required")) == names(PROJECT["dependencies"])
    extras = {
        name
        for extra, needed in PROJECT["optional-dependencies"].items()
        if extra not in OURS
        for name in names(needed)
    }
    assert explained(section(PAGE, "Extras")) == extras


def watched(home: Path, planted: str = "") -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", WATCH.format(planted=planted)],
        env={**os.environ, "HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded, *seen = done.stdout.splitlines()
    return int(loaded), [line for line in seen if line]


def test_oldest_tested_versions_equal_lower_bounds():
    """A bound that nothing was tested with is a guess: make test-min installs exactly these."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = ("excel", "regression", "review", "postgresql", "oidc")
    declared = [
        *project["dependencies"],
        *(each for name in extras for each in project["optional-dependencies"][name]),
    ]
    bounds = dict(re.match(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", each).groups() for each in declared)
    lines = (ROOT / "constraints-min.txt").read_text("utf-8").splitlines()
    tested = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert bounds.keys() == tested.keys()
    for name, bound in bounds.items():
        longer = max(len(bound.split(".")), len(tested[name].split(".")))
        one, other = ([*map(int, text.split("."))] + [0] * longer for text in (bound, tested[name]))
        assert one[:longer] == other[:longer], f"{name}: {bound} allowed, {tested[name]} tested"


def test_imports_touch_no_network_home_or_clock(tmp_path):
    loaded, seen = watched(tmp_path / "home")
    assert loaded > 300
    assert seen == []


def test_access_to_home_folder_is_found(tmp_path):
    _, seen = watched(tmp_path / "home", "os.makedirs(home); print(0, *seen, sep='\\n'); sys.exit()")
    assert len(seen) == 1


@pytest.mark.parametrize(
    "asked", ["import time; time.time()", "from datetime import datetime; datetime.now()"]
)
def test_access_to_clock_is_found(tmp_path, asked):
    planted = f"exec({asked!r}, {{'__name__': 'hitoku.planted'}}); print(0, *seen, sep='\\n'); sys.exit()"
    assert watched(tmp_path / "home", planted)[1] == ["clock hitoku.planted"]


def test_every_dependency_declares_its_licence():
    done = subprocess.run([sys.executable, LICENCES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    listed = {line.split()[0] for line in done.stdout.splitlines() if line.split()[-1] == "direct"}
    assert listed == names(PROJECT["dependencies"])


def run(where: Path, *words: str | Path, env: dict[str, str] | None = None) -> str:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL"))}
    done = subprocess.run(
        list(map(str, words)), cwd=where, env=clean | (env or {}), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(folder, sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """Install the wheel, and what it asks for, where nothing else is."""
    folder = tmp_path_factory.mktemp("alone")
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    options = ("--quiet", "--disable-pip-version-check", "--constraint", ROOT / "constraints.txt")
    run(folder, python, "-m", "pip", "install", *options, wheel)
    return folder


@pytest.mark.long
def test_wheel_contains_every_package_file(wheel):
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("hitoku/")}
        (metadata,) = (name for name in archive.namelist() if name.endswith("METADATA"))
        text = archive.read(metadata).decode()
    kept = {
        path.relative_to(SRC.parent).as_posix()
        for path in SRC.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == kept
    assert "hitoku/py.typed" in packed
    assert re.search(r"^License-Expression: Apache-2.0$", text, re.MULTILINE)
    assert re.search(r"^Requires-Python: >=3.11$", text, re.MULTILINE)


@pytest.mark.long
def test_installed_wheel_runs_end_to_end(installed):
    hitoku = installed / "venv" / "bin" / "hitoku"
    where = run(
        installed, installed / "venv" / "bin" / "python", "-c", "import hitoku; print(hitoku.__file__)"
    )
    assert Path(where.strip()).is_relative_to(installed), "the sources, not what was installed"
    run(installed, hitoku, "demo", "--out", "release")
    assert "safe" in run(installed, hitoku, "audit", "release")
    run(installed, hitoku, "verify", "release")
    script = (
        "import hitoku as ht\n"
        "firms = ht.samples.register(n=2_000)\n"
        "work = ht.Session('sizes', firms.records, unit='enterprise', policy='japan-2017')\n"
        "work.frequency_table(by='size')\n"
        "work.submit('submission')\n"
    )
    run(installed, installed / "venv" / "bin" / "python", "-c", script)
    run(installed, hitoku, "check", "submission")


def answer(address: str, server: subprocess.Popen[str]) -> str:
    """Ask until the server has begun; it makes a centre up first."""
    for _ in range(600):
        assert server.poll() is None, server.stderr.read()
        try:
            with urllib.request.urlopen(address, timeout=20) as found:  # noqa: S310 - our own server
                return found.read().decode()
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    pytest.fail("the server does not answer")


@pytest.mark.long
def test_review_application_runs_from_wheel_with_extra(installed, wheel):
    """Without the extra it says what is missing; with it pages and what they load come out of the wheel."""
    hitoku = installed / "venv" / "bin" / "hitoku"
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL"))}
    bare = subprocess.run(
        [hitoku, "serve", "--demo"], cwd=installed, env=clean, capture_output=True, text=True, check=False
    )
    assert bare.returncode == 2
    assert "hitoku[review]" in bare.stderr
    python = installed / "venv" / "bin" / "python"
    options = ("--quiet", "--disable-pip-version-check", "--constraint", ROOT / "constraints.txt")
    run(installed, python, "-m", "pip", "install", *options, f"{wheel}[review]")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [hitoku, "serve", "--demo", "--port", str(port)]
    with subprocess.Popen(
        words, cwd=installed, env=clean, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as server:
        try:
            page = answer(f"http://127.0.0.1:{port}/", server)
            assert "password" in page
            loaded = re.findall(r'(?:href|src)="(/[^"]+\.(?:css|js))', page)
            assert loaded
            for name in loaded:
                assert len(answer(f"http://127.0.0.1:{port}{name}", server)) > 100
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(60)
