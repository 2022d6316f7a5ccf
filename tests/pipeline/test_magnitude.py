"""Counts and magnitudes of one breakdown, protected together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from tests.coalitions.test_coalition_search import METHODS, UnsafeOnly, firms, told
from tests.oracles.insiders import too_close

from hitoku.errors import HitokuError, ProtectionError, RuleError, TableError
from hitoku.evidence import audit
from hitoku.methods.greedy import Greedy
from hitoku.methods.optimal import Optimal
from hitoku.model import Protection, Release, Table
from hitoku.pipeline import STAGES, counts_of, suppress_magnitude
from hitoku.rules import FROM_COUNTS, Dominance, FewContributors, MinFrequency, PPercent, assess
from hitoku.tabulation import tabulate


@pytest.mark.parametrize("method", [pytest.param(method, id=name) for name, method in METHODS.items()])
@settings(max_examples=4)
@given(drawn=firms())
def test_both_releases_are_safe_and_agree(method, drawn):
    table, people = drawn
    outcome = suppress_magnitude(
        table,
        [PPercent(20)],
        method=method,
        frequency_rules=[MinFrequency(2)],
        frequency_width=2,
        insiders=told(people),
    )
    counts, magnitudes = outcome.frequency, outcome.magnitude
    assert outcome.safe
    # A withheld count is withheld as a magnitude; both again by audits of their own.
    assert np.all(magnitudes.release.withheld >= counts.release.withheld)
    assert audit(table, magnitudes.need, magnitudes.release).safe
    assert audit(counts_of(table), counts.need, counts.release).safe
    hidden = counts.release.withheld
    assert np.all(magnitudes.bounds.width[hidden] >= 0.3 * table.value[hidden] - 1e-6)
    assert too_close(table, magnitudes.need, magnitudes.release, people) == set()


# 14 firms: the count of (N, A) is small, the turnover of (S, B) is nearly one firm's.
FIRMS = pd.DataFrame(
    {
        "region": list("NNNNNSSSSSSSWWWWWWW"),
        "trade": list("ABBBBAAABBBBAAAABBB"),
        "turnover": [9, 10, 12, 14, 11, 21, 20, 22, 90, 2, 1, 1, 13, 11, 9, 10, 20, 25, 25],
    }
)
TABLE = tabulate(FIRMS, by=["region", "trade"], value="turnover")
RULES = {"rules": [Dominance(1, 80)], "frequency_rules": [MinFrequency(3)]}
N_A, S_B = 0, 4


def named(table, cell):
    return table.describe(cell)


def test_pattern_matches_procedure_of_the_paper():
    """Figure 5: rules on magnitudes, and the cells withheld in the counts; then secondary cells."""
    assert (named(TABLE, N_A), named(TABLE, S_B)) == ("region=N, trade=A", "region=S, trade=B")
    stages: list[str] = []
    outcome = suppress_magnitude(
        TABLE, **RULES, method=Greedy(), frequency_width=3, insiders=False, report=stages.append
    )
    done = [stage for stage in STAGES if stage != "insiders"]
    assert stages == [*done, *done]
    counts, magnitudes = outcome.frequency, outcome.magnitude
    assert np.flatnonzero(counts.need.unsafe).tolist() == [N_A]
    assert magnitudes.need.why(S_B) == ("dominance",) or S_B in np.flatnonzero(counts.release.withheld)
    assert np.array_equal(magnitudes.need.rules[FROM_COUNTS], counts.release.withheld)
    assert np.array_equal(
        magnitudes.need.unsafe, counts.release.withheld | assess(TABLE, RULES["rules"]).unsafe
    )
    # 30 % of the value, whatever the reason.
    unsafe = magnitudes.need.unsafe
    assert np.all(magnitudes.need.width[unsafe] == 0.3 * TABLE.value[unsafe])
    assert outcome.safe
    assert repr(outcome).startswith("MagnitudeOutcome(safe")


def test_caller_sets_shares_and_widths():
    outcome = suppress_magnitude(
        TABLE, **RULES, method=Greedy(), frequency_width=None, width_share=0.5, insiders=False
    )
    unsafe = outcome.magnitude.need.unsafe
    assert np.all(outcome.magnitude.need.width[unsafe] == 0.5 * TABLE.value[unsafe])
    assert np.all(outcome.frequency.need.width == 0)
    each = np.where(np.arange(TABLE.n_cells) == S_B, 0.6, 0.1)
    outcome = suppress_magnitude(
        TABLE, **RULES, method=Greedy(), frequency_width=3, width_share=each, insiders=False
    )
    assert outcome.magnitude.need.width[S_B] == 0.6 * TABLE.value[S_B]


def test_each_table_may_have_its_own_method():
    outcome = suppress_magnitude(
        TABLE,
        **RULES,
        method=Greedy(),
        frequency_method=Optimal(cost="value"),
        frequency_width=3,
    )
    assert (outcome.frequency.protection.method, outcome.magnitude.protection.method) == ("optimal", "greedy")


def test_manual_count_suppressions_are_kept_and_audited():
    corners = np.isin(np.arange(TABLE.n_cells), [0, 1, 3, 4])
    # Somebody is in each of the four cells, as the amounts tell, so one firm may be three, and not none.
    for given_by_hand in (corners, Protection.withhold(counts_of(TABLE), corners)):
        outcome = suppress_magnitude(
            TABLE, **RULES, method=Greedy(), frequency_width=2, frequency_withheld=given_by_hand
        )
        assert np.array_equal(outcome.frequency.release.withheld, corners)
        assert outcome.safe
    alone = np.arange(TABLE.n_cells) == N_A
    outcome = suppress_magnitude(TABLE, **RULES, method=Greedy(), frequency_width=3, frequency_withheld=alone)
    assert not outcome.frequency.audit.safe
    assert not outcome.safe
    assert "NOT safe" in repr(outcome)


def test_method_suppressing_too_little_is_detected():
    outcome = suppress_magnitude(TABLE, **RULES, method=UnsafeOnly(), frequency_width=3)
    assert not outcome.frequency.audit.safe
    assert not outcome.magnitude.audit.safe


def test_insiders_are_enabled_by_default():
    usual = suppress_magnitude(TABLE, **RULES, method=Greedy(), frequency_width=3)
    without = suppress_magnitude(TABLE, **RULES, method=Greedy(), frequency_width=3, insiders=False)
    assert usual.magnitude.audit.insiders is not None
    assert usual.frequency.audit.insiders is None
    assert without.magnitude.audit.insiders is None
    assert np.all(usual.magnitude.release.withheld >= without.magnitude.release.withheld)


def test_zeros_and_empty_cells_are_handled():
    # N has no B at all, by nature; two firms of S and A have no turnover; W has no A by chance.
    records = pd.DataFrame(
        {
            "region": list("NNNNSSSSSSSWWWWWW"),
            "trade": list("AAAAAABBBBBBBBBBB"),
            "turnover": [9, 8, 12, 10, 0, 0, 9, 11, 12, 9, 10, 20, 25, 22, 8, 9, 10],
        }
    )
    never = pd.DataFrame({"region": ["N"], "trade": ["B"]})
    table = tabulate(records, by=["region", "trade"], value="turnover", structural_zeros=never)
    outcome = suppress_magnitude(
        table, [PPercent(10)], method=Greedy(), frequency_rules=[MinFrequency(3)], frequency_width=3
    )
    assert outcome.safe
    withheld = outcome.magnitude.release.withheld
    n_b, s_a = 1, 3
    assert [named(table, cell) for cell in (n_b, s_a)] == ["region=N, trade=B", "region=S, trade=A"]
    # The structural zero stays published in both; everybody knows it in both.
    assert not withheld[n_b]
    assert not outcome.frequency.release.withheld[n_b]
    assert counts_of(table).upper[n_b] == 0
    # Turnover zero of two firms: withheld, and no table of shares says how far; but nobody works it out.
    assert withheld[s_a]
    assert outcome.magnitude.need.width[s_a] == 0
    assert outcome.magnitude.bounds.upper[s_a] > 0


def test_negative_values_are_protected():
    records = FIRMS.assign(turnover=FIRMS["turnover"].where(FIRMS.index > 0, -9))
    table = tabulate(records, by=["region", "trade"], value="turnover", magnitude="abs")
    outcome = suppress_magnitude(
        table, [PPercent(10)], method=Greedy(), frequency_rules=[MinFrequency(3)], frequency_width=3
    )
    assert outcome.safe
    assert table.value[N_A] == -9
    # A share of the size; without a lower bound nothing but equations can give a cell away.
    assert outcome.magnitude.need.width[N_A] == pytest.approx(0.3 * 9)
    assert np.all(np.isneginf(table.lower))
    assert np.isinf(outcome.magnitude.bounds.width[N_A])


def test_nonadditive_counts_raise():
    # One owner in two regions is one contributor to their total.
    records = pd.DataFrame({"region": list("NNSS"), "owner": list("abac"), "turnover": [5, 2, 4, 1]})
    table = tabulate(records, by=["region"], value="turnover", unit="owner")
    with pytest.raises(TableError, match="do not add up"):
        counts_of(table)
    assert counts_of(tabulate(records, by=["region"], value="turnover", holding="owner")).value.tolist() == [
        2,
        2,
        4,
    ]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        pytest.param({"table": Table.from_array([1.5, 2.5])}, RuleError, id="no counts"),
        pytest.param({"width_share": -0.1}, HitokuError, id="negative share"),
        pytest.param({"width_share": [0.1, 0.2]}, HitokuError, id="shares of another table"),
        pytest.param({"width_share": np.nan}, HitokuError, id="no share"),
        pytest.param({"frequency_rules": []}, HitokuError, id="no rules on counts"),
        pytest.param({"frequency_withheld": [True]}, HitokuError, id="a pattern of another table"),
    ],
)
def test_invalid_parameters_raise(changes, error):
    arguments = {"table": TABLE, **RULES, "method": Greedy(), "insiders": False, **changes}
    if "table" in changes:
        arguments["rules"] = [MinFrequency(3)]
    with pytest.raises(error):
        suppress_magnitude(**arguments)


def test_manually_suppressed_fixed_cell_raises():
    table = Table.from_array([[7.0, 1.0], [2.0, 3.0]], frequency=[[5, 4], [3, 9]], fixed=np.arange(9) == 8)
    with pytest.raises(ProtectionError):
        suppress_magnitude(
            table,
            [MinFrequency(4)],
            method=Greedy(),
            frequency_rules=[MinFrequency(4)],
            frequency_withheld=np.ones(9, dtype=bool),
            insiders=False,
        )


def test_release_shows_all_but_suppressed_cells():
    outcome = suppress_magnitude(TABLE, [FewContributors(2)], method=Greedy(),
                                 frequency_rules=[MinFrequency(2)], frequency_width=2)  # fmt: skip
    for one, value in ((outcome.frequency, TABLE.frequency), (outcome.magnitude, TABLE.value)):
        shown = ~one.release.withheld
        assert isinstance(one.release, Release)
        assert np.array_equal(one.release.published[shown], value[shown])
