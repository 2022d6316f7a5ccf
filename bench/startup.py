"""Starting: what `import hitoku`, `hitoku --version` and the help of every command cost; and the demo.

Beside each figure, in the same run, what Python costs that does nothing (`pass`) or imports numpy alone.
The best of several runs after a first one that is thrown away, in CPU seconds, with the peak of memory.

python -m bench.startup --json
python -m bench.startup --demo  # once with every kernel still to be compiled, once with all of them kept
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from bench import keep
from hitoku.cli import app

BASELINES = {"python -c pass": ["-c", "pass"], "import numpy": ["-c", "import numpy"]}


def jobs() -> Iterator[tuple[str, list[str]]]:
    """What is measured, by name: arguments of Python."""
    yield from BASELINES.items()
    yield "import hitoku", ["-c", "import hitoku"]
    yield "ht.Table", ["-c", "import hitoku as ht; ht.Table"]
    yield "hitoku --version", ["-m", "hitoku", "--version"]
    for name, command in typer.main.get_command(app).commands.items():
        for inner in getattr(command, "commands", [""]):
            words = [name, *filter(None, [inner]), "--help"]
            yield " ".join(["hitoku", *words]), ["-m", "hitoku", *words]


def cost(arguments: list[str], **environment: str) -> tuple[float, float]:
    """CPU seconds and peak megabytes of one process."""
    started = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.DEVNULL, env={**os.environ, **environment}
    )
    _, status, used = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    assert started.returncode == 0, arguments
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def measure(repeats: int) -> dict[str, dict[str, float]]:
    """Every job once to warm the disk, then in turn, so that other work on the machine hits them alike."""
    named = dict(jobs())
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in named}
    for repeat in range(repeats + 1):
        for name, arguments in named.items():
            spent = cost(arguments)
            if repeat:
                runs[name].append(spent)
    best = {name: min(costs) for name, costs in runs.items()}
    nothing, numpy = (best[name][0] for name in BASELINES)
    return {
        name: {"cpu_s": cpu, "mb": mb, "of_nothing": cpu / nothing, "of_numpy": cpu / numpy}
        for name, (cpu, mb) in best.items()
    }


def measure_demo() -> None:
    """Run the demo with an empty folder of compiled kernels, then with the same folder."""
    with TemporaryDirectory() as place:
        for name in ("cold", "warm"):
            words = ["-m", "hitoku", "demo", "--out", str(Path(place, name))]
            # Installed modules are compiled once: an empty word is as good as none.
            cpu, mb = cost(words, NUMBA_CACHE_DIR=str(Path(place, "kernels")), PYTHONDONTWRITEBYTECODE="")
            print(f"{'hitoku demo, ' + name:<40} {cpu:7.1f} {mb:5.0f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="runs of which the best counts")
    parser.add_argument("--json", action="store_true", help="write .bench/startup.json")
    parser.add_argument("--demo", action="store_true", help="the demo alone, cold and warm, one run each")
    options = parser.parse_args()
    if options.demo:
        measure_demo()
        return
    found = measure(options.repeats)
    print(f"{'':<40} {'CPU s':>7} {'MB':>5} {'x pass':>7} {'x numpy':>8}")
    for name, row in found.items():
        print(
            f"{name:<40} {row['cpu_s']:7.3f} {row['mb']:5.0f} {row['of_nothing']:7.1f} {row['of_numpy']:8.2f}"
        )
    if options.json:
        keep("startup", found)


if __name__ == "__main__":
    main()
