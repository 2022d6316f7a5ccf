"""A dominated value in every type of output, all of them in one session: nothing that passes tells it.

Two data sets differ in what one giant has, and in nothing else. Where all that leaves is the same of both,
whatever an attacker works out of one output, of two or of all is the same for both: not what the giant has.
"""

from __future__ import annotations

import json

import pytest
from tests.checks.outputs.test_dominated_values import GIANT, ONLY, N, people

import hitoku as ht
from hitoku.checks.outputs import OUTPUT_TYPES
from hitoku.checks.policies import policy
from hitoku.checks.principles import Clearance

# What is asked of the giant's income, by type of output: its evidence depends on it.
STAGED = {
    "magnitude_table": lambda w: [w.magnitude_table(["half"], "income", **ONLY, name="sums")],
    "regression": lambda w: [w.regression("income ~ age", **ONLY, name="model")],
    "percentile": lambda w: [
        w.percentile("income", percent, **ONLY, name=f"p{percent}") for percent in (50, 99.9)
    ],
    "concentration": lambda w: [w.concentration("income", s, **ONLY, name=s) for s in ("hhi", "cr4", "gini")],
    "average": lambda w: [w.mean("income", **ONLY, name="mean"), w.sum("income", by="half", name="sum")],
    "summary": lambda w: [
        *(w.summary(s, "income", **ONLY, name=s) for s in ("std", "kurtosis", "max")),
        *(w.summary(s, "income", "age", **ONLY, name=s) for s in ("ratio", "correlation")),
    ],
    "statistics": lambda w: [
        w.table("half", "income", ["count", "mean", "std", "median"], **ONLY, name="several")
    ],
    "survival": lambda w: [w.survival("income", "event", **ONLY, name="survival")],
    "life_table": lambda w: [w.life_table("income", "event", [0, 3000, 5e6], **ONLY, name="lives")],
    "quantile_groups": lambda w: [
        w.quantile_groups("income", 10, **ONLY, name="steps"),
        w.lorenz("income", 10, **ONLY, name="curve"),
    ],
    "histogram": lambda w: [w.histogram("income", 10, **ONLY, name="bars")],
}
# Nobody's amount is in them: they count records by codes, whatever these have.
COUNTED = {
    "frequency_table": lambda w: [w.frequency_table(["half"], **ONLY, name="counts")],
    "cross_table": lambda w: [w.crosstab("group", "half", name="crossed")],
    "mode": lambda w: [w.mode("half", by="group", name="modes")],
}
# Whatever is in them was made elsewhere: they leave by the decision of a person only.
LOOKED_AT = {
    "handed_over": lambda w, told: w.hand_over(
        {"b": [told]}, n=[N], freedom=N - 1, method="R", name="handed"
    ),
    "free_file": lambda w, told: w.hand_over_file(told, "a text", name="file"),
}


def asked(giant, order, by="japan-2017"):
    frame = people(giant).assign(event=[k % 2 for k in range(2 * N)])
    work = ht.Session("s", frame, policy=by)
    return {kind: {**STAGED, **COUNTED}[kind](work) for kind in order}


def leaving(outputs):
    """All numbers that leave without a decision."""
    return {
        each.name: json.dumps(dict(each.published))
        for own in outputs.values()
        for each in own
        if each.status is Clearance.PASS
    }


def test_every_output_type_is_staged_or_excused():
    assert sorted([*STAGED, *COUNTED, *LOOKED_AT]) == sorted(OUTPUT_TYPES)


@pytest.mark.parametrize("turned", [False, True])
def test_published_values_do_not_depend_on_giant(turned):
    order = [*STAGED, *COUNTED][:: -1 if turned else 1]
    first, second = (asked(giant, order) for giant in (GIANT, GIANT / 3))
    told, other = leaving(first), leaving(second)
    assert told == other
    assert {"p50", "counts"} <= set(told)
    # Every two types stood in this session; evidence knew what did not leave.
    knew = {
        kind
        for kind in order
        if any(
            one.evidence.to_dict() != two.evidence.to_dict()
            for one, two in zip(first[kind], second[kind], strict=True)
        )
    }
    assert knew >= set(STAGED) - {"histogram", "survival", "life_table"}
    assert not knew & set(COUNTED)


def test_policy_without_squares_reveals_giant():
    blind = policy("japan-2017").model_copy(update={"squares": None})
    told, other = (leaving(asked(giant, ["summary"], blind)) for giant in (GIANT, GIANT / 3))
    assert told["std"] != other["std"]


@pytest.mark.parametrize("kind", LOOKED_AT)
def test_external_output_never_passes_automatically(kind, tmp_path):
    text = tmp_path / "told.txt"
    text.write_text(str(GIANT), "utf-8")
    work = ht.Session("s", people())
    out = LOOKED_AT[kind](work, text if kind == "free_file" else GIANT / N)
    assert out.status is not Clearance.PASS
