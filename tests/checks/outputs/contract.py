"""What every output type promises, as functions that fail when it does not hold."""

from __future__ import annotations

import ast
import json
import math
from pathlib import Path

import numpy as np

from hitoku.checks.evidence import Evidence
from hitoku.checks.outputs import read_definition, write_definition
from hitoku.checks.policies import policy
from hitoku.errors import DataError

JAPAN = policy("japan-2017")
# Fields that need not be there, so that nothing in their place is fine.
OPTIONAL = {
    *("hierarchies", "holders", "left_out", "squares", "residual", "influence", "freedom", "period"),
    "standard_error",
    *("n_values", "other_values", "other_holders", "categories", "entering", "parts", "wholes", "fit"),
    *("few_cells", "few_values", "few_most", "few_least"),
    *("outcome_groups", "outcome_codes", "outcome_units", "outcome_values", "outcome_holders"),
}
# Fields of which an entry may be null.
NULLABLE = {"outcome_codes"}
# Of a model that cannot be solved for, estimates may be anything.
ANY_NUMBER = {"coefficient", "standard_error"}


def protected(asked, records):
    return asked.protect(asked.collect(records), JAPAN)


def read_again(evidence, kind):
    return kind.from_dict(json.loads(json.dumps(evidence.to_dict(), allow_nan=False)), "output")


def assert_round_trip(asked, records):
    """Evidence and definition are the same after a file; verdicts and numbers follow from them alone."""
    evidence = protected(asked, records)
    assert isinstance(evidence, asked.evidence)
    again = read_again(evidence, type(asked).evidence)
    assert again.to_dict() == evidence.to_dict()
    assert list(again.to_dict()) == list(evidence.to_dict())
    definition = json.loads(json.dumps(write_definition(asked)))
    same = read_definition(asked.kind, definition, "output")
    assert write_definition(same) == write_definition(asked)
    assert same.judge(again, JAPAN) == asked.judge(evidence, JAPAN)
    assert same.publish(again) == asked.publish(evidence)
    json.dumps(asked.publish(evidence), allow_nan=False)
    assert list(asked.contradictions(again)) == []


def assert_twice_the_same(asked, records):
    one, two = (protected(asked, records) for _ in range(2))
    assert json.dumps(one.to_dict()) == json.dumps(two.to_dict())
    assert asked.judge(one, JAPAN) == asked.judge(two, JAPAN)


def assert_withheld_stays_behind(asked, evidence):
    """Nothing but codes is published of a part that is withheld, and something of every other."""
    assert evidence.withheld.any()
    numbers = {
        name: c
        for name, c in asked.publish(evidence).items()
        if name not in {*asked.variables, "term", "file"}
    }
    assert numbers
    shown = asked.publish(evidence)
    for column in numbers.values():
        gone = evidence.withheld if len(evidence.withheld) > 1 else np.repeat(evidence.withheld, len(column))
        if len(column) < len(gone) and asked.cells(evidence) is None:  # what is withheld is not listed
            assert None not in column
            assert len(column) == (~gone).sum()
            continue
        if len(column) < len(gone):  # totals that are not printed at all
            place = {label: at for at, label in enumerate(asked.cells(evidence).labels)}
            rows = zip(*(shown[name] for name in asked.variables), strict=True)
            gone = gone[[place[row] for row in rows]]
        assert [entry is None for entry in column] == gone.tolist()


def assert_repr_tells_nothing(asked, evidence):
    said = f"{evidence!r} {asked!r} {asked.cells(evidence)!r}"
    numbers = [n for n in _numbers(evidence.to_dict()) if len(repr(n)) > 2]
    assert numbers
    assert not [n for n in numbers if repr(n) in said]


def _numbers(tree):
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, list):
        return [n for part in tree for n in _numbers(part)]
    return [tree] if isinstance(tree, int | float) and not isinstance(tree, bool) else []


def forgeries(plain):
    """Yield evidence that no program of ours writes, with what was done to it."""
    yield "no evidence", None
    yield "a list", [plain]
    yield "a field too many", {**plain, "more": 1}
    yield "a number for a name", {**plain, 7: 1}
    for name, value in plain.items():
        wrong = [{"a": 1}, "text", math.nan, 10**400, [[[[0]]]], [{}], 1j]
        if isinstance(value, str):
            wrong.remove("text")
        if isinstance(value, dict):
            wrong = ["text", [1], {"a": 1}, {"a": [1]}, {"a": [{"codes": [1], "parents": "x"}]}]
        if isinstance(value, list):
            wrong += [[*value, value[0] if value else "more"], "x" * len(value), dict(enumerate(value))]
        if isinstance(value, list) and value:
            wrong += [value[1:], [{}, *value[1:]]]
            wrong += [] if name in NULLABLE else [[None, *value[1:]]]
        if isinstance(value, list) and value and isinstance(value[0], int | float):
            wrong += [["1", *value[1:]], [10**400, *value[1:]]]
            if name not in ANY_NUMBER:
                wrong += [[math.nan, *value[1:]], [math.inf, *value[1:]]]
        for each in wrong:
            yield f"{name} is {str(each)[:40]}", {**plain, name: each}
        if name not in OPTIONAL:
            yield f"{name} is missing", {key: part for key, part in plain.items() if key != name}
            yield f"{name} is null", {**plain, name: None}


def assert_forged_shapes_are_refused(kind: type[Evidence], plain):
    """Refuse by our own error, which names the output; nothing else is ever raised."""
    said = {what: _refusal(kind, forged) for what, forged in forgeries(plain)}
    assert len(said) > 20
    assert [
        what for what, reason in said.items() if not reason.startswith(("evidence: ", "the codes of "))
    ] == []


def _refusal(kind, forged):
    try:
        kind.from_dict(forged, "output 7")
    except DataError as error:
        return error.what
    return "accepted"


def defined_types(folder: Path) -> dict[str, str]:
    """Find the classes of a folder that say which kind of output they are, by reading the files."""
    found = {}
    for path in sorted(folder.glob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            for part in getattr(node, "body", ()):
                if (
                    isinstance(part, ast.AnnAssign)
                    and isinstance(part.target, ast.Name)
                    and part.target.id == "kind"
                    and isinstance(part.value, ast.Constant)
                ):
                    found[part.value.value] = path.stem
    return found
