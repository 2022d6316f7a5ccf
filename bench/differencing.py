"""A new output against those released before: seconds per output, compared with all pairs.

The baseline is what a careful person would script: for every pair of a cell of the new output and a cell of
an earlier one, whether one holds the other and how much is left. It sees single nested cells only.

    python -m bench.differencing                                      a minute or two
    python -m bench.differencing --units 1000000 --outputs 200        the size that the issue names

After calm outputs come the partners of planted disclosures; whom each planted output singles out is known
beforehand, and must be found. A wild ledger has free cut points and odd filters, small cells withheld.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from hitoku.attacks.differencing import DifferencingSearch, Partition
from hitoku.checks.ledger import N_LEADING
from hitoku.checks.ledger import Ledger as DiskLedger
from hitoku.kernels import joint_cells


def variables(random: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """Draw nested classifications of people, and their ages."""
    age, sex = random.integers(0, 100, n), random.integers(0, 2, n)
    region = random.choice(47, n, p=np.arange(1, 48) / np.arange(1, 48).sum())
    work = random.choice(20, n, p=np.arange(1, 21) / np.arange(1, 21).sum())
    return {
        "age": age,
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
    names, n = [name for name in known if name != "age"], len(known["sex"])
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


def numbered(codes: np.ndarray) -> np.ndarray:
    """Number groups from 1 without gaps; 0 means no group."""
    _, numbers = np.unique(np.concatenate([[0], codes]), return_inverse=True)
    return numbers[1:].astype(np.int32)


def only(n: int, *groups: np.ndarray) -> np.ndarray:
    """Return one cell with all units of some groups."""
    codes = np.zeros(n, dtype=np.int32)
    codes[np.concatenate(groups)] = 1
    return codes


def planted(
    random: np.random.Generator, known: dict[str, np.ndarray]
) -> dict[str, tuple[list[np.ndarray], np.ndarray, np.ndarray | None]]:
    """Make cases: outputs released before, the new one, and the units singled out, or None."""
    n = len(known["sex"])
    table = numbered(1 + known["age10"] * 2 + known["sex"])
    few = random.choice(np.flatnonzero(table == 3), 5, replace=False)
    small = np.zeros(n, dtype=bool)
    small[few] = True
    # Neighbouring ages of the smallest region, of whom there are few.
    rare = (known["region"] == 0) & (known["age"] > 20) & (known["age"] < 80)
    ages = np.bincount(known["age"][rare], minlength=100)
    cut = int(np.flatnonzero((ages > 0) & (ages < 10))[0])
    own = np.where(known["region"] == 0, 1, 0)
    zones = numbered(1 + known["area"] * 5 + known["age20"])
    two = (zones == 1) | (zones == 2)
    left = random.choice(np.flatnonzero(zones == 1), 5, replace=False)
    merged = np.where(two, 1, np.where(zones > 4, 2, 0))
    merged[left] = 0
    # Sets that have nothing to do with any classification: who is in them only these outputs tell.
    drawn = iter(np.array_split(random.permutation(n)[: n // 2], 10))
    first, second, out = next(drawn), next(drawn), next(drawn)[:5]
    one, other, shared = next(drawn), next(drawn), next(drawn)[:7]
    stays, before, after = next(drawn), next(drawn)[:5], next(drawn)[:5]
    many = known["age"] < 30
    return {
        "same table without a small subgroup": ([table], np.where(small, 0, table), few),
        "shifted banding of a rare group": (
            [own * (1 + (known["age"] >= cut))],
            own * (1 + (known["age"] > cut)),
            np.flatnonzero((own > 0) & (known["age"] == cut)),
        ),
        "zones less a union of own zones": ([numbered(zones)], merged, left),
        "chain of three": ([only(n, first, second, out), only(n, first)], only(n, second), out),
        "both of two conditions": (
            [only(n, one, shared), only(n, other, shared)],
            only(n, one, other, shared),
            shared,
        ),
        "decoy: banding shifted by many": ([1 + many * 1], 1 + (known["age"] < 32) * 1, None),
        "decoy: symmetric difference": ([only(n, stays, before)], only(n, stays, after), None),
    }


def wild(random: np.random.Generator, known: dict[str, np.ndarray]) -> np.ndarray:
    """Draw a table with free cut points, fine codes and an odd filter; cells below 10 units are withheld."""
    cuts = np.sort(random.choice(np.arange(1, 100), random.integers(2, 9), replace=False))
    codes = np.searchsorted(cuts, known["age"], side="right")
    for name in random.choice(
        ["sex", "region", "area", "work", "sector"], random.integers(0, 3), replace=False
    ):
        codes = codes * (int(known[name].max()) + 1) + known[name]
    codes = codes + 1
    if random.random() < 0.5:
        chosen = known[str(random.choice(["region", "work"]))]
        codes = np.where(chosen != random.integers(0, chosen.max() + 1), codes, 0)
    codes = numbered(codes)
    sizes = np.bincount(codes)
    return numbered(np.where(sizes[codes] >= 10, codes, 0))


def find_planted(
    ledger: DifferencingSearch, cases: dict[str, tuple[list, np.ndarray, np.ndarray | None]]
) -> None:
    """Check that planted outputs are found with their units and decoys raise no finding."""
    for name, (before, new, expected) in cases.items():
        began = time.process_time()
        found = ledger.check([Partition.published(name, new)])
        took = time.process_time() - began
        if len(before) >= ledger.depth:
            said = f"takes {len(before) + 1} outputs together, not tested"
        elif expected is None:
            said = "no alarm" if not found else f"{len(found)} FALSE ALARMS"
        else:
            wanted = np.sort(expected).tolist()
            said = "found" if any(np.sort(g.units).tolist() == wanted for g in found) else "NOT found"
        print(f"    {name}: {said}, {took:.2f} s", flush=True)


def on_disk(n_units: int, parts: list[Partition]) -> None:
    """Write a ledger and read it again: bytes per output, seconds."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "bench.ledger"
        ledger = DiskLedger.open(place, data_hash="", n_units=n_units)
        sizes = [0]
        for part in parts:
            (name,) = part.outputs
            ledger.remember(name, [part])
            sizes.append(place.stat().st_size)
        grown = np.diff(sizes) / 1e6
        began = time.process_time()
        DiskLedger.open(place, data_hash="", n_units=n_units)
        print(
            f"on disk: first outputs {max(grown[:N_LEADING]):.2f} MB at most, later ones "
            f"{sum(grown[N_LEADING:]) / max(len(grown) - N_LEADING, 1):.2f} MB on average; "
            f"{len(parts)} read again in {time.process_time() - began:.1f} s"
        )


def against(
    depth: int, known: dict[str, np.ndarray], earlier: list[Partition], new: list[Partition], plain: float
) -> None:
    """Release calm outputs and check more of them; then the partners of planted ones, and these."""
    cases = planted(np.random.default_rng(2), known)
    partners = [
        Partition.published(f"{name}, partner {place}", codes)
        for name, (before, _, _) in cases.items()
        for place, codes in enumerate(before)
    ]
    ledger = DifferencingSearch(len(known["sex"]), depth=depth)
    began = time.process_time()
    for part in earlier[len(partners) :]:
        ledger.release([part])
    loading = time.process_time() - began
    seconds, alarms = [], 0
    for part in new:
        began = time.process_time()
        alarms += len(ledger.check([part]))
        seconds.append(time.process_time() - began)
    print(
        f"depth {depth}: loading {loading:.1f} s, {len(ledger.derived)} derived; new output median "
        f"{np.median(seconds):.2f} s ({np.median(seconds) / plain:.1f} times the script), longest "
        f"{max(seconds):.2f} s; {alarms} alarms; peak {peak():.1f} GB",
        flush=True,
    )
    for part in partners:
        ledger.release([part])
    find_planted(ledger, cases)


def in_the_wild(
    random: np.random.Generator, known: dict[str, np.ndarray], n_outputs: int, n_new: int
) -> None:
    """Release tables with free cut points, then check more of them."""
    outputs = [Partition.published(f"wild {n}", wild(random, known)) for n in range(n_outputs + n_new)]
    ledger = DifferencingSearch(len(known["sex"]), depth=2)
    began = time.process_time()
    for part in outputs[:n_outputs]:
        ledger.release([part])
    loading = time.process_time() - began
    seconds, groups = [], 0
    for part in outputs[n_outputs:]:
        began = time.process_time()
        groups += len(ledger.check([part]))
        seconds.append(time.process_time() - began)
    print(
        f"wild, two together: {n_outputs} outputs, {sum(map(len, outputs)):,} cells; loading "
        f"{loading:.1f} s; new output median {np.median(seconds):.2f} s, longest {max(seconds):.2f} s; "
        f"{groups} groups singled out by {n_new} outputs; peak {peak():.1f} GB",
        flush=True,
    )


def shifted(known: dict[str, np.ndarray]) -> None:
    """Shift five-year bands by a year in every region, for a few people: hundreds of small groups."""
    inside = np.arange(len(known["sex"])) < 30_000
    for depth in (2, 3):
        ledger = DifferencingSearch(len(inside), depth=depth)
        old, new = (
            numbered(np.where(inside, 1 + known["region"] * 30 + (known["age"] + shift) // 5, 0))
            for shift in (0, 1)
        )
        ledger.release([Partition.published("old", old)])
        began = time.process_time()
        found = ledger.check([Partition.published("new", new)])
        print(
            f"bands shifted by a year, depth {depth}: {len(found)} small groups in "
            f"{time.process_time() - began:.2f} s",
            flush=True,
        )


def chains_of_four(seed: int, n: int = 20_000, n_outputs: int = 50) -> tuple[int, int, int, float]:
    """Hide two chains of four and a decoy among calm outputs, in any order.

    Returns how many chains were found by their last output, how often the decoy and calm outputs were accused
    although no sum of released cells covers few units, how many outputs there were, and CPU seconds for all.
    """
    random = np.random.default_rng(seed)
    known = variables(random, n)
    chains, decoys = [], []
    for left in (5, 9, 40):
        first, second, third, out = np.split(random.permutation(n)[: 3_000 + left], [1_000, 2_000, 3_000])
        pieces = [only(n, first, second, third, out), only(n, first), only(n, second), only(n, third)]
        (chains if left < 10 else decoys).append((pieces, set(out.tolist())))
    outputs = [(codes, None) for codes in (calm(random, known) for _ in range(n_outputs - 12))]
    for pieces, out in [*chains, *decoys]:
        places = np.sort(random.choice(len(outputs), 4, replace=False))[::-1]
        whose = [out, None, None, None] if len(out) < 10 else [None] * 4
        for place, codes, who in zip(places, random.permutation(np.array(pieces)), whose, strict=True):
            outputs.insert(int(place), (codes, who))
    ledger = DifferencingSearch(n, depth=4)
    found, wrong, began = 0, 0, time.process_time()
    for number, (codes, who) in enumerate(outputs):
        part = Partition.published(f"output {number}", codes)
        reported = [set(group.units.tolist()) for group in ledger.check([part])]
        found += who is not None and who in reported
        wrong += sum(each != who for each in reported)
        ledger.release([part])
    return found, wrong, len(outputs), time.process_time() - began


def chains(n_times: int) -> None:
    """Hide chains of four outputs repeatedly and count those found."""
    rows = [chains_of_four(seed) for seed in range(n_times)]
    found, wrong, _, took = zip(*rows, strict=True)
    print(
        f"chains of four among {rows[0][2]} outputs, {n_times} times: {sum(found)} of {2 * n_times} found, "
        f"{sum(wrong)} other alarms, {np.median(took):.1f} s for all outputs, longest {max(took):.1f} s",
        flush=True,
    )


def peak() -> float:
    """Peak memory of this process in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--units", type=int, default=200_000)
    parser.add_argument("--outputs", type=int, default=60)
    parser.add_argument("--new", type=int, default=5)
    parser.add_argument("--wild", type=int, default=40, help="outputs of the wild ledger")
    parser.add_argument("--disk", type=int, default=20, help="outputs written to disk and read again")
    parser.add_argument("--chains", type=int, default=5, help="how often chains of four are hidden")
    options = parser.parse_args()
    joint_cells.warm_up()
    random = np.random.default_rng(1)
    known = variables(random, options.units)
    outputs = [calm(random, known) for _ in range(options.outputs + options.new)]
    parts = [Partition.published(f"output {place}", codes) for place, codes in enumerate(outputs)]
    print(f"{options.units:,} units, {options.outputs} outputs, {sum(map(len, parts)):,} cells; CPU seconds")
    earlier, new = parts[: options.outputs], parts[options.outputs :]
    began = time.process_time()
    for part in new:
        plainly(part.codes, [each.codes for each in earlier], 10)
    plain = (time.process_time() - began) / options.new
    print(f"plain script, nested pairs only: {plain:.2f} s per new output")
    for depth in (2, 3):
        against(depth, known, earlier, new, plain)
    shifted(known)
    in_the_wild(random, known, options.wild, options.new)
    on_disk(options.units, parts[: min(options.outputs, options.disk)])
    chains(options.chains)


if __name__ == "__main__":
    main()
