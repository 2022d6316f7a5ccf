"""The evidence of a chi square: its cells give every other number in it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import hitoku as ht

COUNT = np.arange(240)
PEOPLE = pd.DataFrame(
    {
        "region": np.array(list("NSW"))[COUNT % 3],
        "job": np.array(list("abcd"))[COUNT // 5 % 4],
        "sex": np.array(list("fm"))[COUNT // 7 % 2],
    }
)


@pytest.mark.parametrize("by", [(), ("sex",)])
@pytest.mark.parametrize(("value", "other"), [("job", "region"), ("region", "job")])
def test_chi_square_evidence_honest_contradicts_nothing(value, other, by):
    made = ht.Session("study", PEOPLE).summary("chi2", value, other, by=by)
    assert not list(made.asked.contradictions(made.evidence))


@pytest.mark.parametrize("field", ["parts", "wholes", "entering", "fit", "freedom"])
def test_chi_square_evidence_one_number_changed_contradicts(field):
    made = ht.Session("study", PEOPLE).summary("chi2", "job", "region")
    numbers = getattr(made.evidence, field)
    for place in range(numbers.size):
        changed = numbers.copy()
        changed.reshape(-1)[place] -= 1
        assert list(made.asked.contradictions(replace(made.evidence, **{field: changed}))), place


def test_correlation_evidence_fit_changed_contradicts():
    people = pd.DataFrame({"x": COUNT % 37, "y": COUNT * 7 % 41})
    made = ht.Session("study", people).summary("correlation", "x", "y")
    assert not list(made.asked.contradictions(made.evidence))
    lower = replace(made.evidence, fit=made.evidence.fit / 2)
    assert list(made.asked.contradictions(lower)) == ["fit: not the square of the correlation"]
