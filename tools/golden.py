"""Compare hitoku's answers with recorded ones, so that a refactoring cannot change them unnoticed.

    python tools/golden.py               compare; exit code 1 where an answer differs
    python tools/golden.py --record      write tools/golden.json again
    python tools/golden.py optimal gauss only cases whose names begin with one of these words

Determined answers (tabulation, rules, intervals, proved optima, Gauss, adjusted values, batches, outputs of
sessions) are compared by their hashes. Heuristics may choose another pattern: it must be certified, and the
mean cost of each family must not be larger than recorded. A recorded answer changes only in a commit that
says why. Cases under ``shared`` read instances from ``../shared`` and are left out where it is missing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import hitoku as ht
from hitoku.pipeline import run_batch

HERE = Path(__file__).resolve().parent
RECORDED = HERE / "golden.json"
SHARED = HERE.parents[1] / "shared" / "data"
# Costs are sums of doubles; a relative difference below this is rounding.
NEAR = 1e-9
# An answer: a hash, or the cost of a certified pattern.
Answer = str | float
Case = tuple[str, Callable[[Path], Answer]]

RULES = [
    ht.MinFrequency(5),
    ht.MinFrequency(3, zeros=True),
    ht.FewContributors(3),
    ht.FewContributors(3, level="unit"),
    ht.PPercent(10),
    ht.PriorPosterior(10, 50),
    ht.Dominance(1, 75),
    ht.Dominance(2, 85),
]
COUNT_RULES = [ht.GroupDisclosure(share=0.9), ht.DirectDisclosure(k=1), ht.KDisclosure(k=2)]


def digest(*parts: Any) -> str:
    """Hash arrays, texts and bytes, in this order."""
    found = hashlib.sha256()
    for part in parts:
        raw = part if isinstance(part, bytes) else part.encode() if isinstance(part, str) else None
        found.update(np.ascontiguousarray(part).tobytes() if raw is None else raw)
        found.update(b"\0")
    return found.hexdigest()[:20]


def counts(*shape: int, seed: int, mean: float = 12.0) -> ht.Table:
    """Draw a table of counts with many small cells."""
    rng = np.random.default_rng(seed)
    return ht.Table.from_array(rng.negative_binomial(1, 1 / (1 + mean), shape))


def firms(n: int = 900, seed: int = 1) -> Any:
    """Return a synthetic register."""
    return ht.samples.register(n, seed, regions=(3, 3), activities=(4, 3))


def amounts(by: list[str], n: int = 900, seed: int = 1, **how: Any) -> ht.Table:
    """Tabulate the turnover of a synthetic register."""
    made = firms(n, seed)
    trees = {name: tree for name, tree in made.hierarchies.items() if name in by}
    return ht.tabulate(made.records, by=by, value="turnover", hierarchies=trees, **how)


def tabulation(how: dict[str, Any], _: Path) -> Answer:
    table = amounts(["region", "activity", "size"], **how)
    largest = np.zeros(0) if table.largest is None else table.largest
    return digest(table.value, np.asarray(table.frequency), largest, table.relations.toarray())


def assessment(table: Callable[[], ht.Table], rule: Any, _: Path) -> Answer:
    need = ht.assess(table(), [rule])
    return digest(need.unsafe, need.lower, need.upper, need.width)


def intervals(table: Callable[[], ht.Table], _: Path) -> Answer:
    made = table()
    inner = made.value < np.median(made.value)
    bounds = ht.Interval().bounds(ht.Release.of(made, ht.Protection.withhold(made, inner)))
    # Ends are computed by different engines: equal to nine digits, not to the last bit.
    ends = [f"{low:.9g} {high:.9g}" for low, high in zip(bounds.lower, bounds.upper, strict=True)]
    return digest("\n".join(ends).replace("-0 ", "0 "))


def determined(table: Callable[[], ht.Table], rules: list[Any], method: Any, _: Path) -> Answer:
    """Hash a pattern that does not depend on how it is searched for."""
    made = table()
    protection = method.protect(made, ht.assess(made, rules))
    if isinstance(method, ht.Optimal) and not protection.proven:
        return "not proved"
    return digest(protection.withheld, np.round(protection.value, 6))


def heuristic(table: Callable[[], ht.Table], rules: list[Any], method: Any, _: Path) -> Answer:
    """Return the cost of a pattern that the verifier accepts."""
    made = table()
    need = ht.assess(made, rules)
    protection = method.protect(made, need)
    return certified(made, need, protection)


def certified(table: ht.Table, need: ht.Need, protection: ht.Protection) -> Answer:
    audit = ht.audit(table, need, ht.Release.of(table, protection))
    if not audit.safe or audit.certificate is None:
        return "not certified"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json.gz"
        audit.certificate.write(path)
        return float(protection.cost) if ht.verify(path).ok else "refuted"


def instance(name: str, method: Any, _: Path) -> Answer:
    table, need = ht.read_jj(SHARED / name)
    protection = method.protect(table, need)
    if isinstance(method, ht.Optimal):
        return digest(f"{protection.cost:.6f}") if protection.proven else "not proved"
    return certified(table, need, protection)


def recipe(text: str, records: pd.DataFrame, folder: Path) -> Answer:
    """Run a recipe and hash the published tables."""
    records.to_csv(folder / "records.csv", index=False)
    (folder / "recipe.toml").write_text(text, encoding="utf-8")
    run = ht.run_recipe(folder / "recipe.toml", folder / "out")
    files = sorted((folder / "out").rglob("public/**/*.csv"))
    names = [str(file.relative_to(folder)) for file in files]
    return digest(str(run.safe), *names, *(file.read_bytes() for file in files))


def batch(rules: str, suppress: str, folder: Path) -> Answer:
    """Run a batch of tau-ARGUS and hash what it wrote."""
    lines = [
        f"{i % 3 + 1:2d}{'sl'[i % 2]} {1 + i % 2} {'abcdef'[i % 6]} {(i * 37) % 90 + 3:4d}" for i in range(40)
    ]
    (folder / "r.asc").write_text("\n".join(lines) + "\n", encoding="ascii")
    columns = (
        "Region 1 2 99\n  <RECODEABLE>\nSize 3 1 9\n  <RECODEABLE>\nWeight 5 1\n  <NUMERIC>\n  <WEIGHT>\n"
    )
    columns += "Group 7 1\n  <HOLDING>\nTurnover 9 4\n  <NUMERIC>\n"
    (folder / "r.rda").write_text(columns, encoding="ascii")
    text = '<OPENMICRODATA> "r.asc"\n<OPENMETADATA> "r.rda"\n<SPECIFYTABLE> "Region""Size"|"Turnover"||\n'
    text += (
        f'<SAFETYRULE> {rules}\n<READMICRODATA>\n<SUPPRESS> {suppress}\n<WRITETABLE> (1,3,AS+,"out.csv")\n'
    )
    (folder / "b.arb").write_text(text, encoding="utf-8")
    done = run_batch(folder / "b.arb")
    return digest(str(done.safe), (folder / "out.csv").read_bytes())


OUTPUTS: dict[str, Callable[[Any], Any]] = {
    "frequency": lambda work: work.frequency_table(by=["region", "size"]),
    "magnitude": lambda work: work.magnitude_table(by=["region", "size"], value="turnover"),
    "mean": lambda work: work.mean("turnover", by="region"),
    "sum": lambda work: work.sum("turnover", by="size"),
    "percentile": lambda work: work.percentile("turnover", 50, by="region"),
    "mode": lambda work: work.mode("employees", by="size"),
    "concentration": lambda work: work.concentration("turnover", by="size"),
    "quantile groups": lambda work: work.quantile_groups("turnover", 4),
    "lorenz": lambda work: work.lorenz("turnover", 4),
    "summary": lambda work: work.summary("std", "turnover", by="size"),
    "test": lambda work: work.test("kruskal", "turnover", "size"),
    "regression": lambda work: work.regression("turnover ~ employees"),
    "histogram": lambda work: work.histogram("employees", [0, 10, 50, 250, 100_000]),
}


def output(kind: str, policy: str, _: Path) -> Answer:
    """Hash the verdict and the numbers of one output of a session."""
    work = ht.Session("golden", firms(2_000, 3).records, unit="enterprise", policy=policy)
    made = OUTPUTS[kind](work)
    # Ten digits: the last digits of sums and of models depend on the processor.
    return digest(str(made.status), made.frame.to_csv(index=False, float_format="%.10g"))


LINKED = """out = "out"
data = "records.csv"
value = "turnover"
rules = ["p_percent:p=10", "few_contributors:n=3"]
method = "gauss"
insiders = "none"
[[tables]]
name = "one"
by = ["region", "size"]
[[tables]]
name = "two"
by = ["activity", "size"]
"""
RECIPES = {
    "counts gauss": 'data = "records.csv"\nby = ["region", "size"]\nrules = ["min_frequency:n=5"]\n'
    'method = "gauss"\n',
    "counts optimal": 'data = "records.csv"\nby = ["region", "size"]\nrules = ["min_frequency:n=5"]\n'
    'method = "optimal:cost=unit"\nwidth = 5\n',
    "magnitudes optimal": 'data = "records.csv"\nby = ["region", "size"]\nvalue = "turnover"\n'
    'rules = ["p_percent:p=10"]\nmethod = "optimal:cost=value"\ninsiders = "none"\n',
    "adjusted": 'data = "records.csv"\nby = ["region", "size"]\nrules = ["min_frequency:n=5"]\n'
    'method = "adjust"\n',
    "linked gauss": LINKED,
}


BATCHES = (("P(10,1)", "OPT(1,1)"), ("FREQ(3,20)", "MOD(1,1,1,1,1)"), ("NK(1,70)", "OPT(1,1)"))
DETERMINED = {
    "optimal unit": ht.Optimal(cost="unit"),
    "optimal value": ht.Optimal(cost="value"),
    "gauss": ht.Gauss(),
    "adjust": ht.Adjust(norm="l2"),
}
INSTANCES = (
    (
        "shared optimal",
        ht.Optimal(cost="own"),
        ("jj_synthetic/t2d_10x10.jj.gz", "jj_synthetic/t3d_5x5x5.jj.gz", "csplib/targus_additive.jj.gz"),
    ),
    (
        "shared circulation",
        ht.Circulation(cost="own"),
        ("jj_synthetic/h2d_4.5_6.jj.gz", "jj_synthetic/t2d_20x20.jj.gz", "csplib/hier13.jj.gz"),
    ),
)
HEURISTICS = {
    "circulation": ht.Circulation(cost="value"),
    "greedy": ht.Greedy(cost="value"),
    "auto": ht.Auto(),
}


def cases() -> Iterator[Case]:
    """Yield every case; the word before the slash is its kind."""
    yield from tables()
    for name, text in RECIPES.items():
        yield f"recipe/{name}", partial(recipe, text, firms(900, 2).records)
    for rules, suppress in BATCHES:
        yield f"batch/{rules} {suppress}", partial(batch, rules, suppress)
    for policy in ("japan-2017", "essnet-2009"):
        for kind in OUTPUTS:
            yield f"session/{policy} {kind}", partial(output, kind, policy)
    for kind, method, names in INSTANCES if SHARED.is_dir() else ():
        for name in names:
            yield f"{kind}/{name}", partial(instance, name, method)


def tables() -> Iterator[Case]:
    """Yield cases of single tables: tabulation, rules, intervals, methods."""
    for n, how in enumerate(({}, {"unit": "enterprise"}, {"unit": "enterprise", "holding": "holding"})):
        yield f"tabulation/{n}", partial(tabulation, how)
    magnitude = partial(amounts, ["region", "activity"], unit="enterprise", holding="holding")
    for rule in RULES:
        yield f"rules/{rule}", partial(assessment, magnitude, rule)
    for rule in COUNT_RULES:
        yield f"rules/{rule}", partial(assessment, partial(counts, 6, 5, seed=4), rule)
    for shape in ((9,), (7, 6), (5, 4, 3)):
        name = "x".join(map(str, shape))
        drawn = partial(counts, *shape, seed=1)
        yield f"intervals/{name}", partial(intervals, drawn)
        for kind, method in DETERMINED.items():
            yield f"{kind}/{name}", partial(determined, drawn, RULES[:1], method)
        for family, method in HEURISTICS.items():
            yield f"{family}/counts {name}", partial(heuristic, drawn, RULES[:1], method)
    for family, method in HEURISTICS.items():
        yield f"{family}/amounts", partial(heuristic, magnitude, [ht.PPercent(10)], method)


def compare(found: dict[str, Answer], recorded: dict[str, Answer]) -> list[str]:
    """Return what differs, a line each."""
    wrong, families = [], defaultdict[str, list[tuple[float, float]]](list)
    for name, answer in found.items():
        before = recorded.get(name)
        if isinstance(answer, float) and isinstance(before, float):
            families[name.partition("/")[0]].append((answer, before))
        elif answer != before:
            wrong.append(f"{name}: {answer}, recorded {before}")
    for family, pairs in families.items():
        now, then = (float(np.mean(costs)) for costs in zip(*pairs, strict=True))
        if now > then * (1 + NEAR):
            wrong.append(f"{family}: mean cost {now:.6g}, recorded {then:.6g}")
    return wrong


def main(words: list[str] | None = None) -> int:
    """Answer on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="only cases whose names begin with one of these")
    parser.add_argument("--record", action="store_true", help="write the answers instead of comparing them")
    options = parser.parse_args(words)
    recorded: dict[str, Answer] = json.loads(RECORDED.read_text("utf-8")) if RECORDED.is_file() else {}
    found: dict[str, Answer] = {}
    for name, run in cases():
        if options.names and not name.startswith(tuple(options.names)):
            continue
        with tempfile.TemporaryDirectory() as folder:
            found[name] = run(Path(folder))
        if sys.stderr.isatty():
            sys.stderr.write(f"{name}\n")
    if options.record:
        text = json.dumps({**recorded, **found}, indent=1, sort_keys=True)
        RECORDED.write_text(text + os.linesep, encoding="utf-8")
        return 0
    wrong = compare(found, recorded)
    sys.stdout.write("".join(f"{line}\n" for line in wrong))
    sys.stdout.write(f"{len(found)} answers compared, {len(wrong)} differ\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
