"""Hold methods, attacks and audits against independent programs, table after table, for as long as one likes.

python -m tools.campaign --minutes 60            goes on where the last run stopped
python -m tools.campaign --seed 4711             one table again

What was tried is kept in .campaign/tried.jsonl, a line per trial. Exit 1 when something was wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tools.campaign.families import FAMILIES, Instance, drawn
from tools.campaign.judge import UnansweredError, cheapest, ends, worked_out

from hitoku.attacks import Interval
from hitoku.errors import NeedError, ScopeError
from hitoku.evidence import CellOutcome, audit
from hitoku.evidence.verify import verify
from hitoku.methods import METHODS, Promise, traits_of
from hitoku.methods.optimal import Optimal
from hitoku.model import Need, Protection, Release

TRIED = Path(".campaign") / "tried.jsonl"
# Ends that are compared in one table; a program of its own each.
MAX_ENDS = 8
# How far two right answers may lie apart, as a share of the largest value that matters.
NEAR = 1e-6
# Problems that an exact search may solve: a table that takes more has its pattern judged, without a proof.
WORK = 3_000
# Maximum size of tables whose cheapest pattern is checked by enumeration.
MAX_CELLS, MAX_UNSAFE, MAX_VALUE = 36, 5, 1e4


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0, help="begin no new table after so long")
    parser.add_argument("--seed", type=int, help="this table alone; nothing is kept")
    parser.add_argument("--tried", type=Path, default=TRIED, help="where trials are kept")
    options = parser.parse_args(words)
    if options.seed is not None:
        rows = list(trials(options.seed))
    else:
        rows = kept(options.tried)
        seed = max((row["seed"] for row in rows), default=-1) + 1
        options.tried.parent.mkdir(parents=True, exist_ok=True)
        until = time.monotonic() + 60 * options.minutes
        with options.tried.open("a", encoding="utf-8") as file:
            while time.monotonic() < until:
                for row in trials(seed):
                    rows.append(row)
                    file.write(json.dumps(row) + "\n")
                file.flush()
                seed += 1
    sys.stdout.write(shown(rows))
    return 1 if any(row["wrong"] for row in rows) else 0


def kept(path: Path) -> list[dict[str, Any]]:
    """Read earlier trials; a line that a killed run left half-written is dropped."""
    rows = []
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return rows


def asked(seed: int) -> tuple[Instance, Need, np.random.Generator]:
    """Draw a table and what it needs, and return the generator for what else is drawn."""
    generator = np.random.default_rng(seed)
    instance = drawn(generator, list(FAMILIES)[seed % len(FAMILIES)])
    width = generator.choice([0.0, 0.0, 3.0])
    whole = instance.table.integer
    need = Need(
        unsafe=instance.unsafe,
        lower=instance.level,
        upper=instance.level if whole else instance.level * generator.choice([1.0, 1.0, 0.5]),
        width=np.where(instance.unsafe, instance.level * width, 0.0),
    )
    return instance, need, generator


def trials(seed: int) -> Iterator[dict[str, Any]]:
    """Everything that is tried with one table."""
    instance, need, generator = asked(seed)
    table, family = instance.table, list(FAMILIES)[seed % len(FAMILIES)]
    pattern = instance.unsafe | (generator.random(table.n_cells) < generator.choice([0.2, 0.5]))
    anyone = Release.of(table, Protection.withhold(table, pattern, need))
    of = {"seed": seed, "family": family}
    yield of | {"what": "attack"} | attacked(instance, anyone, generator)
    if table.integer:
        yield of | {"what": "whole numbers"} | attacked(instance, anyone, generator, whole=True)
    yield of | {"what": "audit"} | audited(instance, need, anyone, generator)
    for name, made in METHODS.items():
        # Drawn at random, or by laws that have their own need: judged by tests of their own.
        if name in {"randomised", "blocks"}:
            continue
        method = made(work_limit=WORK) if made is Optimal else made()
        yield of | {"what": name} | protected(instance, need, method, generator)


def attacked(
    instance: Instance, release: Release, generator: np.random.Generator, *, whole: bool = False
) -> dict[str, Any]:
    """Compare intervals with independent programs, linear or of whole numbers."""
    bounds = Interval(integer=whole).bounds(release)
    cells = chosen(np.flatnonzero(release.withheld), generator)
    answers = {
        int(cell): differs(instance, release, bounds.lower, bounds.upper, cell, whole=whole) for cell in cells
    }
    return {
        "compared": 2 * sum(answer is not None for answer in answers.values()),
        "wrong": [f"interval of cell {cell}" for cell, answer in answers.items() if answer],
        "refused": False,
    }


def differs(
    instance: Instance,
    release: Release,
    lower: np.ndarray,
    upper: np.ndarray,
    cell: int,
    *,
    whole: bool = False,
) -> bool | None:
    """Tell whether an interval is another one than scipy's; None where scipy has no answer."""
    value, withheld = instance.table.value, release.withheld
    try:
        low, high = ends(instance.sums, value, withheld, release.lower, release.upper, int(cell), whole=whole)
    except UnansweredError:
        return None
    near = NEAR * max(1.0, float(np.abs(value[withheld]).max()))
    return not (
        np.isclose(low, lower[cell], rtol=0, atol=near) and np.isclose(high, upper[cell], rtol=0, atol=near)
    )


def audited(
    instance: Instance, need: Need, release: Release, generator: np.random.Generator
) -> dict[str, Any]:
    """Hold a verdict against independent programs, whole-number ones for counts; check the proof."""
    found = audit(instance.table, need, release)
    cells = chosen(np.flatnonzero(need.unsafe), generator)
    wrong, compared = [], 0
    for cell in cells.tolist():
        met, outcome = is_met(instance, need, release, cell), found.outcomes[cell]
        compared += 2 * (met is not None)
        if outcome is CellOutcome.UNDECIDED:
            wrong.append(f"cell {cell} is undecided")
        elif met is not None and met != (outcome is CellOutcome.SAFE):
            wrong.append(f"cell {cell} is {outcome.value} here, {'safe' if met else 'not safe'} there")
    if found.certificate is not None:
        with tempfile.TemporaryDirectory() as folder:
            if not verify(found.certificate.write(Path(folder) / "certificate.json.gz")).ok:
                wrong.append("the certificate does not verify")
    return {"compared": compared, "wrong": wrong, "refused": False, "safe": bool(found.safe)}


def is_met(instance: Instance, need: Need, release: Release, cell: int) -> bool | None:
    """Return whether a cell is protected; None if within the tolerance."""
    table = instance.table
    value, whole = table.value, table.integer
    if not release.withheld[cell]:
        return False
    lower, upper = release.lower, release.upper
    if whole:
        # Limit on deviations in tables of counts with large values, for the precision of the solver.
        reach = 1e3 * (1 + float((need.lower + need.upper + need.width).max()))
        lower, upper = np.maximum(lower, value - reach), np.minimum(upper, value + reach)
    try:
        low, high = ends(instance.sums, value, release.withheld, lower, upper, cell, whole=whole)
    except UnansweredError:
        return None
    here = float(value[cell])
    slack = min(here - need.lower[cell] - low, high - here - need.upper[cell], high - low - need.width[cell])
    near = 0.5 if whole else NEAR * max(1.0, float(np.abs(value[release.withheld]).max()))
    if slack < -near:
        return False
    return True if whole or slack > near else None


def protected(instance: Instance, need: Need, method: Any, generator: np.random.Generator) -> dict[str, Any]:
    """Let a method work, and judge what it did; a refusal must be one that everything withheld bears out."""
    table = instance.table
    try:
        protection = method.protect(table, need)
    except ScopeError:
        return {"compared": 0, "wrong": [], "refused": True}
    except NeedError:
        everything = Release.of(table, Protection.withhold(table, np.ones(table.n_cells, dtype=bool)))
        hopeless = any(
            is_met(instance, need, everything, int(cell)) is not True for cell in np.flatnonzero(need.unsafe)
        )
        return {"compared": 0, "wrong": [] if hopeless else ["refused without need"], "refused": True}
    except Exception as error:  # noqa: BLE001 - whatever ends a method is a find, and the campaign goes on
        return {"compared": 0, "wrong": [f"{type(error).__name__}"], "refused": True}
    promise = traits_of(method).promise
    if promise is Promise.ADJUSTED:
        return {"compared": table.n_cells, "wrong": moved(instance, need, protection), "refused": False}
    release = Release.of(table, protection)
    if promise is Promise.EXACT_ONLY:
        cells = np.flatnonzero(need.unsafe)
        known = [int(cell) for cell in cells if worked_out(instance.sums, release.withheld, int(cell))]
        wrong = [f"cell {cell} follows from the sums" for cell in known]
        return {"compared": len(cells), "wrong": wrong, "refused": False}
    found = audited(instance, need, release, generator)
    if not found["safe"]:
        found["wrong"].append("its pattern is not safe")
    if isinstance(method, Optimal) and protection.proven:
        found["wrong"] += find_cheaper(instance, need, protection)
    return found


def moved(instance: Instance, need: Need, protection: Protection) -> list[str]:
    """Tell what is wrong with values published instead: sums that do not hold, values that stay too near."""
    value, instead = instance.table.value, protection.value
    unit = max(1.0, float(np.abs(value).max()))
    wrong = []
    if np.abs(instance.sums @ instead).max() > NEAR * unit:
        wrong.append("published values do not add up")
    away = (instead <= value - need.lower + NEAR * unit) | (instead >= value + need.upper - NEAR * unit)
    return wrong + [f"cell {cell} stays near its value" for cell in np.flatnonzero(need.unsafe & ~away)]


def find_cheaper(instance: Instance, need: Need, protection: Protection) -> list[str]:
    """Tell whether a pattern called the cheapest is not.

    Except in networks, integers may require more cells than real numbers.
    """
    table = instance.table
    small = table.n_cells <= MAX_CELLS and 0 < need.unsafe.sum() <= MAX_UNSAFE
    # Beyond, a binary that a solver takes for zero lets a whole unit through.
    if not small or np.abs(table.value).max() > MAX_VALUE:
        return []
    least = cheapest(instance.sums, table.value, table.lower, need.unsafe, need.lower, need.upper, need.width)
    if least is None:
        return []
    n = int(protection.withheld.sum())
    network = instance.family in {"1 dimension", "2 dimensions"} or not table.integer
    if n < least or (network and n > least):
        return [f"{n} cells are called the cheapest, {least} are"]
    return []


def chosen(cells: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    if len(cells) <= MAX_ENDS:
        return cells
    return np.sort(generator.choice(cells, MAX_ENDS, replace=False))


def shown(rows: list[dict[str, Any]]) -> str:
    """Print what was tried, a line for each kind of table and thing tried, and whatever was wrong."""
    tried: Counter[tuple[str, str]] = Counter()
    ends_compared: Counter[tuple[str, str]] = Counter()
    refused: Counter[tuple[str, str]] = Counter()
    wrong: Counter[tuple[str, str]] = Counter()
    for row in rows:
        key = row["family"], row["what"]
        tried[key] += 1
        ends_compared[key] += row["compared"]
        refused[key] += row["refused"]
        wrong[key] += bool(row["wrong"])
    lines = [f"{'tables':<16}{'what':<14}{'tried':>7}{'ends':>8}{'refused':>9}{'wrong':>7}"]
    for family, what in sorted(tried):
        key = family, what
        lines.append(
            f"{family:<16}{what:<14}{tried[key]:>7}{ends_compared[key]:>8}{refused[key]:>9}{wrong[key]:>7}"
        )
    lines.append(
        f"{'all':<30}{tried.total():>7}{ends_compared.total():>8}{refused.total():>9}{wrong.total():>7}"
    )
    for row in rows:
        lines += [f"seed {row['seed']}, {row['family']}, {row['what']}: {what}" for what in row["wrong"]]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
