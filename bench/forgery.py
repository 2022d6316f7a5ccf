"""How many forged numbers of a submission pass the checker who has no data: python -m bench.forgery.

One number of the evidence at a time is raised by 7 (a truth value is turned around). A careless forger leaves
it at that; a careful one makes everything that is published and judged again from it. Then one field of a
definition at a time is changed, by a careful forger. With the data every one is found.
"""

import copy
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hitoku.checks.outputs import Output
from hitoku.checks.principles import Clearance, Principle, worst
from hitoku.checks.session import Session
from hitoku.checks.submission import Submission, csv_text, disagreements, judge_again, read_submission
from hitoku.errors import HitokuError
from hitoku.model import Hierarchy

N = 240


class Rewritten(Submission):
    """A submission whose public files follow what its outputs say."""

    def public(self, place: int) -> tuple[str, Any] | None:
        published = dict(self.outputs[place].published)
        return csv_text(published), published


def submitted(folder: Path, *, grouped: bool = False) -> Rewritten:
    """Submit twenty outputs; one more, by groups of regions, where these are wanted."""
    count = np.arange(N)
    people = pd.DataFrame(
        {
            "id": count,
            "region": np.array(list("NSW"))[count % 3],
            "job": np.array(list("abcd"))[count // 3 % 4],
            "income": 900.0 + 17 * (count * 29 % 101),
            "profit": count % 37 - 9.5,
            "employer": count % 40,
            "age": 20 + count * 13 % 41,
            "decade": 2 + count * 13 % 41 // 10,
            "win": (count * 7 % 11 < 5) * 1.0,
        }
    )
    work = Session("all", people, unit="id")
    work.frequency_table(by=["region", "job"], name="frequency")
    work.magnitude_table(by=["region"], value="income", name="magnitude")
    if grouped:
        tree = Hierarchy.from_tree({"inland": ["S", "W"], "N": None})
        work.frequency_table(by=["region"], hierarchies={"region": tree}, name="grouped")
    work.mean("income", by="region", name="mean")
    work.sum("profit", by="region", name="sum")
    work.percentile("income", 50, by="region", name="percentile")
    work.mode("job", by="region", name="mode")
    work.concentration("income", by="region", holding="employer", name="hhi")
    work.concentration("income", "cr4", by="region", name="cr4")
    work.summary("std", "income", by="region", name="std")
    work.summary("correlation", "income", "age", name="correlation")
    work.test("t", "income", "region", where={"region": ["N", "S"]}, name="t")
    work.test("chi2", "job", "region", name="chi2")
    work.crosstab("region", "job", name="crossed")
    work.table("region", "income", ["count", "mean", "median"], name="several")
    work.histogram("income", [1200, 1800, 2200], name="histogram")
    work.survival("decade", "win", by="region", name="survival")
    work.life_table("age", "win", [0, 30, 40], name="lives")
    work.lorenz("income", 4, name="lorenz")
    work.regression("income ~ age + C(region)", name="ols")
    work.regression("win ~ age + C(region)", family="logit", name="logit")
    found = read_submission(work.submit(folder / "submission"))
    return Rewritten(**{name: getattr(found, name) for name in found.__dataclass_fields__})


def numbers(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every number in nested lists and mappings, with the way to it."""
    if isinstance(tree, (list, tuple)):
        for place, part in enumerate(tree):
            yield from numbers(part, (*path, place))
    elif isinstance(tree, dict):
        for name, part in tree.items():
            yield from numbers(part, (*path, name))
    elif isinstance(tree, (bool, int, float)):
        yield path, tree


def forged(evidence: Any, path: tuple[Any, ...], value: Any) -> Any:
    new = copy.deepcopy(evidence)
    place: Any = new
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = (not value) if isinstance(value, bool) else value + 7
    return new


def made_again(output: Output, evidence: Any, honest: Submission) -> Output | None:
    """What a session would have said of this evidence; None where it makes no sense of it."""
    kind = output.asked
    try:
        verdicts = kind.judge(evidence, honest.policy)
        published = kind.publish(evidence)
    except (ArithmeticError, HitokuError, LookupError, TypeError, ValueError):
        return None
    compared = [verdict for verdict in output.verdicts if verdict.principle is Principle.DIFFERENCING]
    return replace(output, evidence=evidence, published=published, verdicts=(*verdicts, *compared))


def passed(honest: Submission, *, careful: bool) -> dict[str, list[int]]:
    """Return forged numbers per output: all, those that pass alone, and with the other outputs."""
    counts: dict[str, list[int]] = {}
    for place, output in enumerate(honest.outputs):
        assert not judge_again(honest, place, honest.policy)[1], "an honest output is accused"
        counts[output.name] = [0, 0, 0]
        for path, value in numbers(output.evidence.to_dict()):
            counts[output.name][0] += 1
            try:
                plain = forged(output.evidence.to_dict(), path, value)
                evidence = output.asked.evidence.from_dict(plain, output.name)
            except HitokuError:
                continue  # refused where the file is read
            changed = made_again(output, evidence, honest) if careful else replace(output, evidence=evidence)
            if changed is None:
                continue
            lie = replace(
                honest, outputs=tuple(changed if other is output else other for other in honest.outputs)
            )
            verdicts, found = judge_again(lie, place, honest.policy)
            if not found and worst(verdicts) is not Clearance.FAIL:
                counts[output.name][1] += 1
                counts[output.name][2] += not disagreements(lie.outputs)[place]
    return counts


# Another grouping of the regions than the one submitted.
TREE = {"codes": ["Total", "coast", "N", "W", "S"], "parents": [-1, 0, 1, 1, 0]}
OTHERS: dict[str, list[Any]] = {
    "value": ["profit", "age", "salary"],
    "other": ["profit", "age"],
    "by": [[], ["job"], ["region", "job"], ["town"]],
    "statistic": ["mean", "sum", "gini", "hhi", "cr5", "std", "variance", "median", "share", "lorenz"],
    "statistics": [["mean"], ["count", "mean", "std"]],
    "percent": [25.0, 75.0],
    "weight": ["weight"],
    "holding": ["employer", None],
    "missing": ["error", "code", "complete"],
    "decimals": [0, 2],
    "structural": [True],
    "of": ["count", "row", "column", "all"],
    "hierarchies": [{}, {"region": [TREE]}],
    "edges": [[1000.0, 2000.0], [0.0, 25.0, 45.0]],
    "event": ["alive"],
    "n_groups": [5, 9],
    "formula": ["income ~ age + C(job)", "profit ~ age + C(region)"],
    "model": ["ols", "logit", "probit"],
    "period": ["region"],
}


def redefined(honest: Submission) -> dict[str, dict[str, list[str]]]:
    """Return per field and output: values of a definition that only the data could refute."""
    found: dict[str, dict[str, list[str]]] = {}
    for place, output in enumerate(honest.outputs):
        for field, now in output.definition.items():
            for other in OTHERS.get(field, []):
                if other == now:
                    continue
                found.setdefault(field, {}).setdefault("tried", []).append(output.name)
                try:
                    plain = {**output.to_dict(), "definition": {**output.definition, field: other}}
                    lie = made_again(Output.from_dict(plain), output.evidence, honest)
                except HitokuError:
                    continue
                if lie is None:
                    continue
                every = tuple(lie if each is output else each for each in honest.outputs)
                forged_one = replace(honest, outputs=every)
                verdicts, wrong = judge_again(forged_one, place, honest.policy)
                agrees = not disagreements(forged_one.outputs)[place]
                if not wrong and agrees and worst(verdicts) is not Clearance.FAIL:
                    found[field].setdefault(str(other), []).append(output.name)
    return found


def print_redefined(found: dict[str, dict[str, list[str]]]) -> None:
    tried = sum(len(each["tried"]) for each in found.values())
    passing = sum(len(names) for each in found.values() for what, names in each.items() if what != "tried")
    print(f"\ndefinitions: {tried} fields changed, {passing} pass")
    for field, each in sorted(found.items()):
        passing = [f"{other} ({', '.join(names)})" for other, names in each.items() if other != "tried"]
        print(f"{field:12}{len(each['tried']):4} {'; '.join(passing) or 'none passes'}")


def main() -> None:
    warnings.simplefilter("ignore")  # statsmodels remarks on odd models
    with tempfile.TemporaryDirectory() as folder:
        honest = submitted(Path(folder))
        careless, careful = (passed(honest, careful=word) for word in (False, True))
        (Path(folder) / "grouped").mkdir()
        definitions = redefined(submitted(Path(folder) / "grouped", grouped=True))
    print("                      careless forger   careful forger")
    print("output        forged    alone  jointly   alone  jointly")
    total = [0] * 5
    for name in careless:
        row = [*careless[name], *careful[name][1:]]
        total = [a + b for a, b in zip(total, row, strict=True)]
        print(f"{name:12}" + "".join(f"{number:8}" for number in row))
    print(f"{'all':12}" + "".join(f"{number:8}" for number in total))
    print_redefined(definitions)


if __name__ == "__main__":
    main()
