"""A new output against those released before: seconds per output, beside a plain comparison of all pairs.

The baseline is what a careful person would script: for every pair of a cell of the new output and a cell of
an earlier one, whether one holds the other and how much is left. It sees single nested cells only.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from hitoku.attacks.differencing.partition import Partition
from hitoku.attacks.differencing.search import Ledger
from hitoku.checks.ledger import Ledger as DiskLedger
from hitoku.checks.ledger.membership import N_LEADING
from hitoku.kernels import joint


def variables(random: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """Draw nested classifications of people."""
    age, sex = random.integers(0, 100, n), random.integers(0, 2, n)
    region = random.choice(47, n, p=np.arange(1, 48) / np.arange(1, 48).sum())
    work = random.choice(20, n, p=np.arange(1, 21) / np.arange(1, 21).sum())
    return {
        "age5": age // 5,
        "age10": age // 10,
        "age20": age // 20,
        "sex": sex,
        "region": region,
        "area": region // 6,
        "work": work,
        "sector": work // 5,
    }


def calm(random: np.random.Generator, known: dict[str, np.ndarray]) -> np.ndarray:
    """Draw a table on standard classifications, perhaps filtered, all of its cells of 30 units or more."""
    names, n = list(known), len(known["sex"])
    while True:
        codes = np.zeros(n, dtype=np.int64)
        for name in random.choice(names, random.integers(1, 4), replace=False):
            codes = codes * (known[name].max() + 1) + known[name]
        codes += 1
        if random.random() < 0.3:
            chosen = known[names[random.integers(len(names))]]
            codes = np.where(chosen == random.integers(0, chosen.max() + 1), codes, 0)
        sizes = np.bincount(codes)
        sizes = sizes[1:][sizes[1:] > 0]
        if len(sizes) and len(sizes) < 3000 and sizes.min() >= 30:
            numbers = np.zeros(int(codes.max()) + 1, dtype=np.int32)
            numbers[np.unique(codes[codes > 0])] = np.arange(1, len(sizes) + 1)
            return numbers[codes]


def plainly(new: np.ndarray, earlier: list[np.ndarray], threshold: int) -> int:
    """Count nested pairs of cells with a small rest, in numpy."""
    found = 0
    for old in earlier:
        width = int(old.max()) + 1
        both = np.bincount(
            new.astype(np.int64) * width + old, minlength=(int(new.max()) + 1) * width
        ).reshape(-1, width)
        for counts in (both, both.T):
            whole, inside = counts.sum(axis=1)[1:], counts[1:, 1:]
            nested = inside == counts.sum(axis=0)[None, 1:]
            rest = whole[:, None] - inside
            found += int(np.sum(nested & (inside > 0) & (rest > 0) & (rest < threshold)))
    return found


def on_disk(n_units: int, parts: list[Partition]) -> None:
    """Write a ledger and read it again: bytes per output, seconds."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "bench.ledger"
        ledger = DiskLedger.open(place, data_hash="", n_units=n_units)
        for part in parts:
            (name,) = part.outputs
            ledger.remember(name, [part])
        sizes = [
            path.stat().st_size for path in sorted(place.with_name("bench.ledger.members").glob("*.codes"))
        ]
        began = time.process_time()
        DiskLedger.open(place, data_hash="", n_units=n_units)
        print(
            f"on disk: first outputs {max(sizes[:N_LEADING]) / 1e6:.2f} MB at most, later ones "
            f"{np.mean(sizes[N_LEADING:]) / 1e6:.2f} MB on average; {len(parts)} read again in "
            f"{time.process_time() - began:.1f} s"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, default=200_000)
    parser.add_argument("--outputs", type=int, default=100)
    parser.add_argument("--new", type=int, default=5)
    options = parser.parse_args()
    joint.warm_up()
    random = np.random.default_rng(1)
    known = variables(random, options.units)
    outputs = [calm(random, known) for _ in range(options.outputs + options.new)]
    parts = [Partition.published(f"output {place}", codes) for place, codes in enumerate(outputs)]
    print(f"{options.units:,} units, {options.outputs} outputs, {sum(map(len, parts)):,} cells; CPU seconds")
    earlier = outputs[: options.outputs]
    began = time.process_time()
    for codes in outputs[options.outputs :]:
        plainly(codes, earlier, 10)
    plain = (time.process_time() - began) / options.new
    print(f"plain script, nested pairs only: {plain:.2f} s per new output")
    for depth in (2, 3):
        ledger = Ledger(options.units, depth=depth)
        began = time.process_time()
        for part in parts[: options.outputs]:
            ledger.release([part])
        loading = time.process_time() - began
        seconds, alarms = [], 0
        for part in parts[options.outputs :]:
            began = time.process_time()
            alarms += len(ledger.check([part]))
            seconds.append(time.process_time() - began)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(
            f"depth {depth}: loading {loading:.1f} s, {len(ledger.derived)} derived; new output median "
            f"{np.median(seconds):.2f} s ({np.median(seconds) / plain:.1f} times the script), longest "
            f"{max(seconds):.2f} s; {alarms} alarms; peak {peak:.1f} GB",
            flush=True,
        )
        del ledger
    on_disk(options.units, parts[: min(options.outputs, 20)])


if __name__ == "__main__":
    main()
