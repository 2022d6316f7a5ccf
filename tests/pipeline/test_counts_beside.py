"""Counts and amounts of one breakdown leave together: what readers of both can tell."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from tests.oracles.counts_beside import joint_ends
from tests.oracles.derivable_groups import small_groups

import hitoku as ht
from hitoku.errors import NeedError, ParameterError
from hitoku.evidence import companion_of
from hitoku.evidence.verify import fingerprint
from hitoku.model import Release, Status
from hitoku.pipeline import counts_of
from hitoku.rules import assess

METHODS = (
    ht.Optimal(cost="value", work_limit=2000),
    ht.Greedy(),
    ht.Circulation(cost="value"),
    ht.Auto(),
)


def drawn(seed: int) -> tuple[pd.DataFrame, dict]:
    """Draw records and what is asked for, as trial S7 does."""
    rng = np.random.default_rng(seed)
    a, b = int(rng.integers(3, 6)), int(rng.integers(3, 6))
    n = int(rng.integers(10, 60))
    firms = pd.DataFrame(
        {
            "a": [f"a{i}" for i in np.minimum(rng.geometric(0.4, n) - 1, a - 1)],
            "b": [f"b{i}" for i in np.minimum(rng.geometric(0.4, n) - 1, b - 1)],
            "v": np.round(rng.lognormal(3, 1, n)) + 1,
        }
    )
    asked = {
        "rules": [ht.Dominance(n=1, k=75), ht.PPercent(p=10)],
        "frequency_rules": [ht.MinFrequency(int(rng.integers(2, 4)))],
        "frequency_width": float(rng.choice([2, 3])),
    }
    return firms, asked


def disclosed(table, done, asked, contribution=(0.0, np.inf), share=0.3) -> list[str]:
    """Name what readers of both tables learn too much about."""
    of_counts, of_amounts = joint_ends(table, done.frequency.release, done.magnitude.release, contribution)
    found = []
    # What the rules ask of each table by itself, but for bounds that readers know from the other one.
    count, amount = (
        assess(counts_of(table), asked["frequency_rules"], asked["frequency_width"]),
        assess(table, asked["rules"], width=share * table.value),
    )
    slack = 1e-6 * (1 + table.value)
    n = asked["frequency_rules"][0].n
    for cell in np.flatnonzero(count.unsafe):
        low, high = of_counts[:, cell]
        if high < n - 1e-6 or high - low < count.width[cell] - 1e-6:
            found.append(f"count of {table.describe(int(cell))}")
    for cell in np.flatnonzero(amount.unsafe):
        low, high = of_amounts[:, cell]
        value = table.value[cell]
        far = (
            low <= value - amount.lower[cell] + slack[cell]
            and high >= value + amount.upper[cell] - slack[cell]
        )
        if not far or high - low < amount.width[cell] - slack[cell]:
            found.append(f"amount of {table.describe(int(cell))}")
    return found


def test_counts_and_amounts_example_is_decided_correctly(monkeypatch):
    """A published count of zero fixed a withheld amount, and with it another firm's."""
    firms, asked = drawn(29)
    table = ht.tabulate(firms, by=["a", "b"], value="v")
    method = METHODS[0]
    done = ht.suppress_magnitude(table, method=method, insiders="singletons", **asked)
    assert done.safe
    assert disclosed(table, done, asked) == []
    for verdict in (done.verdict, done.frequency.verdict, done.magnitude.verdict):
        assert verdict["tables"].status is Status.PROVED, str(verdict)
    # Without bounds from the other table the pattern is that of before, and the oracle finds the firm.
    monkeypatch.setattr("hitoku.pipeline.magnitude_tables.requires_groups", lambda _method: False)
    before = ht.suppress_magnitude(table, method=method, insiders="singletons", **asked)
    assert before.verdict["tables"].status is Status.NOT_DECIDED
    assert "amount of a=a3, b=b2" in disclosed(table, before, asked)


def hold(seeds) -> int:
    """Protect pairs by every method in turn; return how many were decided."""
    proved = 0
    for seed in seeds:
        firms, asked = drawn(seed)
        table = ht.tabulate(firms, by=["a", "b"], value="v")
        method = METHODS[seed % len(METHODS)]
        try:
            done = ht.suppress_magnitude(table, method=method, insiders="none", **asked)
        except NeedError:
            continue
        assert done.safe, seed
        assert done.verdict["tables"].status is Status.PROVED, seed
        assert done.frequency.groups.safe, seed
        assert disclosed(table, done, asked) == [], (seed, method)
        if table.inner.sum() <= 16:
            n = asked["frequency_rules"][0].n
            for one in (done.frequency, done.magnitude):
                assert small_groups(table, one.release.withheld, table.frequency, n) == [], seed
        proved += 1
    return proved


def test_attacker_with_both_tables_learns_too_little():
    assert hold(range(8)) == 8


@pytest.mark.long
def test_attacker_with_2000_table_pairs_learns_too_little():
    assert hold(range(2_000)) > 1_900


def test_manual_counts_pattern_is_audited_with_magnitudes():
    """Nobody is in (b, y), and everybody can tell; so its amount is no room for others."""
    firms = pd.DataFrame(
        {"r": list("aaaabbbcccc"), "s": list("xxyyxxxxxyy"), "v": [9, 8, 3, 4, 20, 5, 6, 8, 9, 7, 6]}
    )
    table = ht.tabulate(firms, by=["r", "s"], value="v")
    corners = np.isin(np.arange(table.n_cells), [0, 1, 3, 4])
    asked = {"rules": [ht.PPercent(p=10)], "frequency_rules": [ht.MinFrequency(2)], "frequency_width": 2}
    done = ht.suppress_magnitude(table, method=ht.Greedy(), frequency_withheld=corners, **asked)
    # The count of (b, y) is withheld, and may be one as far as readers can tell.
    assert done.frequency.release.withheld[4]
    assert done.magnitude.table.upper[4] == np.inf
    assert disclosed(table, done, asked) == []
    alone = done.magnitude.release.published.copy()
    assert np.isnan(alone[[0, 1, 3, 4]]).all()


def test_count_derived_as_zero_gives_no_slack():
    """The counts of a row are withheld with a total that leaves nobody for the last cell."""
    firms = pd.DataFrame(
        {
            "r": list("aaaaabbbbbccccc"),
            "s": list("xxxyyxxxxxxxyyy"),
            "v": [9, 8, 3, 4, 5, 2, 6, 8, 9, 7, 6, 5, 4, 3, 2],
        }
    )
    table = ht.tabulate(firms, by=["r", "s"], value="v")
    b_x, b_y, b = 3, 4, 5
    assert [table.frequency[cell] for cell in (b_x, b_y, b)] == [5, 0, 5]
    withheld = np.arange(table.n_cells) == b_y
    counts = counts_of(table)
    release = Release.of(counts, ht.Protection.withhold(counts, withheld))
    assert companion_of(counts, release)[b_y] == 0
    asked = {"rules": [ht.PPercent(p=10)], "frequency_rules": [ht.MinFrequency(2)], "frequency_width": 2}
    done = ht.suppress_magnitude(table, method=ht.Greedy(), frequency_withheld=withheld, **asked)
    assert done.magnitude.table.upper[b_y] == 0
    # Withheld as the count is, though everybody can tell.
    assert done.magnitude.release.withheld[b_y]
    assert done.safe
    assert disclosed(table, done, asked) == []


@pytest.mark.parametrize("contribution", [(0.0, 60.0), (1.0, np.inf), (2.0, 80.0)])
def test_known_contribution_bounds_are_used(contribution):
    proved = 0
    for seed in range(20):
        firms, asked = drawn(seed)
        firms["v"] = np.clip(firms["v"], 2, 60)
        table = ht.tabulate(firms, by=["a", "b"], value="v")
        asked = {**asked, "rules": [ht.PPercent(p=5)]}
        try:
            done = ht.suppress_magnitude(
                table,
                method=ht.Optimal(cost="value", work_limit=500),
                contribution_bounds=contribution,
                width_share=0.05,
                insiders="none",
                **asked,
            )
        except NeedError:
            continue
        assert done.verdict["tables"].status is Status.PROVED
        assert disclosed(table, done, asked, contribution, share=0.05) == [], seed
        proved += 1
    assert proved > 0


@pytest.mark.parametrize("given", [(-1, 5), (3, 2), (0, 0), (np.inf, np.inf), (0, 5), (20, np.inf)])
def test_invalid_contribution_bounds_raise(given):
    table = ht.tabulate(pd.DataFrame({"r": list("aabb"), "v": [9, 8, 7, 6]}), by=["r"], value="v")
    with pytest.raises(ParameterError) as raised:
        ht.suppress_magnitude(
            table,
            [ht.PPercent(p=10)],
            method=ht.Greedy(),
            frequency_rules=[ht.MinFrequency(2)],
            contribution_bounds=given,
        )
    assert raised.value.code.startswith("contribution_bounds")


@pytest.mark.parametrize("method", [ht.Gauss(), ht.Gauss(width=True)])
def test_methods_with_own_promise_are_judged_separately(method):
    firms, asked = drawn(29)
    table = ht.tabulate(firms, by=["a", "b"], value="v")
    done = ht.suppress_magnitude(table, method=method, insiders="none", **asked)
    row = done.verdict["tables"]
    if row.status is Status.PROVED:
        assert disclosed(table, done, asked) == []
    else:
        assert row.status is Status.NOT_DECIDED
        assert "judged separately" in row.reason


RECIPE = """
data = "firms.csv"
by = ["a", "b"]
value = "v"
rules = ["p_percent:p=10"]
insiders = "none"
formats = ["html"]
[counts]
rules = ["min_frequency:n=3"]
width = 3
"""


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    place = tmp_path_factory.mktemp("pair")
    drawn(29)[0].to_csv(place / "firms.csv", index=False)
    (place / "recipe.toml").write_text(RECIPE, "utf-8")
    run = ht.run_recipe(place / "recipe.toml", place / "release")
    assert run.verdict["tables"].status is Status.PROVED
    return run.folder


def test_verify_proves_the_row_for_both_folders(released):
    for kind, other in (("counts", "amounts"), ("magnitudes", "counts")):
        answer = ht.verify(released / kind)
        assert answer.ok, answer.reason
        assert f"every witness is consistent with the {other} released with them" in answer.reason
        row = next(row for row in answer.rows if row.attacker == "tables")
        assert (row.status, row.checked) == ("proved", "proved again here for counts and amounts")


def certificate(folder):
    return json.loads(gzip.decompress((folder / "checker" / "certificate.json.gz").read_bytes()))


def forged(content, tmp_path):
    content["sha256"] = fingerprint(content)
    path = tmp_path / "forged.json"
    path.write_text(json.dumps(content), "utf-8")
    return ht.verify(path)


def test_nonzero_value_with_zero_count_raises(released, tmp_path):
    content = certificate(released / "magnitudes")
    beside = content["beside"]
    empty = next(i for i, x in enumerate(beside["values"]) if x == 0 and i not in beside["withheld"])
    assert (content["lower"][empty], content["upper"][empty]) == (0, 0)
    content["upper"][empty] = None
    assert "an amount is possible without a counted unit" in forged(content, tmp_path).reason


def test_zero_count_with_nonzero_value_raises(released, tmp_path):
    content = certificate(released / "counts")
    full = next(i for i, x in enumerate(content["beside"]["values"]) if x != 0)
    content["lower"][full] = 0
    assert "a positive amount is possible without a counted unit" in forged(content, tmp_path).reason


def test_companion_of_another_table_raises(released, tmp_path):
    for change, reason in (
        (lambda beside: beside["values"].__setitem__(0, 10**6), "do not add up"),
        (lambda beside: beside["companion"].update(cells=[0], differences=[1]), "published"),
        (lambda beside: beside.update(kind="weights"), "neither counts nor amounts"),
        (lambda beside: beside.update(contribution=[-1, None]), "bounds of a contribution"),
    ):
        content = certificate(released / "magnitudes")
        content["beside"]["withheld"] = [cell for cell in content["beside"]["withheld"] if cell]
        change(content["beside"])
        answer = forged(content, tmp_path)
        assert not answer.ok
        assert reason in answer.reason
    # A companion that changes withheld counts must add up as well.
    content = certificate(released / "magnitudes")
    content["beside"]["companion"] = {"cells": content["beside"]["withheld"][:1], "differences": [1]}
    assert "companion does not add up" in forged(content, tmp_path).reason


def test_row_is_not_proved_without_other_measure(released, tmp_path):
    content = certificate(released / "magnitudes")
    del content["beside"]
    assert "called proved, but without a proof" in forged(content, tmp_path).reason
