"""What a definition may say falsely without that anybody sees it who has no data: listed by field.

The list is the one of docs/how-to/check-outputs.md; nothing else passes.
"""

from __future__ import annotations

import warnings
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from bench.forgery import OTHERS, Rewritten, redefined, submitted

from hitoku.checks.outputs import OUTPUT_TYPES
from hitoku.checks.session import Session
from hitoku.checks.submission import read_submission

# Fields in which a false word is found in every output it was tried with.
FOUND = {"by", "hierarchies", "of", "percent", "period", "statistics", "structural"}
# Another word is no lie: it says how gaps were treated where there are none, or how numbers are rounded.
TRUE_AS_WELL = {"decimals", "missing"}
# Of the others what passes, as docs/how-to/check-outputs.md has it. A name of a column is in no number.
UNSEEN = {
    "edges": {"[0.0, 25.0, 45.0]": {"lives"}},
    "event": {"alive": {"survival", "lives"}},
    "formula": {"profit ~ age + C(region)": {"ols", "logit"}},
    "holding": {"employer": {"sum"}},
    "model": {"ols": {"logit"}, "probit": {"logit"}},
    "n_groups": {"5": {"lorenz"}, "9": {"lorenz"}},
    "other": {"profit": {"correlation", "t", "chi2"}, "age": {"t", "chi2"}},
    "statistic": {
        "gini": {"hhi", "cr4"},
        "cr5": {"cr4"},
        "variance": {"std"},
        "mean": {"lorenz", "magnitude"},
        "share": {"lorenz"},
    },
    "value": {"profit", "age", "salary"},
    "weight": {"weight"},
}
# Nothing to compare with: what somebody says in words, or what is no part of a definition.
WORDS = {"method", "given", "what", "result", "exog", "endog"}


def test_every_definition_field_is_tried_or_listed():
    known = {each.name for kind in OUTPUT_TYPES.values() for each in fields(kind)}
    assert known - WORDS == set(OTHERS)
    assert set(OTHERS) == FOUND | TRUE_AS_WELL | set(UNSEEN)


@pytest.mark.long
def test_only_listed_redefinitions_pass(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = redefined(submitted(tmp_path, grouped=True))
    passing = {
        field: {other: set(names) for other, names in each.items() if other != "tried"}
        for field, each in found.items()
    }
    assert {field for field, each in passing.items() if not each} == FOUND
    for field, allowed in UNSEEN.items():
        if isinstance(allowed, dict):
            assert passing[field] == allowed, field
        else:
            assert set(passing[field]) <= allowed, field


@pytest.mark.parametrize("of", ["count", "row", "column", "all"])
def test_redefined_percentages_are_found(tmp_path, of):
    # Which totals are published says of what the percentages are.
    count = np.arange(240)
    people = pd.DataFrame(
        {"region": np.array(list("NSW"))[count % 3], "job": np.array(list("ab"))[count % 2]}
    )
    work = Session("one", people)
    if of == "count":
        work.crosstab("region", "job", name="crossed")
    else:
        work.percentages(["region", "job"], of=of, name="crossed")
    folder = work.submit(tmp_path / "submission")
    found = read_submission(folder)
    honest = Rewritten(**{name: getattr(found, name) for name in found.__dataclass_fields__})
    assert redefined(honest)["of"] == {"tried": ["crossed"] * 3}
