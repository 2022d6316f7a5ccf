"""Concentration ratios of nearly as many: the contributor between them comes out of no two outputs that pass.

The attacker has all published numbers of a session, or of the ledger and a session, knows n, and subtracts.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import hitoku as ht
from hitoku.checks import Records
from hitoku.checks.ledger import init
from hitoku.checks.outputs import Concentration, QuantileGroups
from hitoku.checks.policies import policy
from hitoku.checks.principles import Clearance
from hitoku.checks.submission import recheck, release

N = 60
FIRMS = pd.DataFrame(
    {
        "size": np.random.default_rng(6).permutation(
            np.r_[np.arange(1, 41) * 10.0, 500 + 31.0 * np.arange(20)]
        ),
        "region": ["N"] * 40 + ["S"] * 20,
        "all": ["yes"] * N,
    }
)
RANKED = np.sort(FIRMS["size"])[::-1]


def ratio(work, n, **how):
    return work.concentration("size", f"cr{n}", **how)


def told(out):
    """What an output says: sums of the n largest as shares of all, by n."""
    if out.status is not Clearance.PASS:
        return {}
    if isinstance(out.asked, Concentration):
        return {int(out.asked.statistic[2:]): out.published[f"{out.asked.statistic}_size"][0]}
    percent = [0.0, *out.published["to_percent"]]
    lorenz = [0.0, *out.published["lorenz_size"]]
    return {round(N * (1 - p / 100)): 1 - share for p, share in zip(percent, lorenz, strict=True)}


def recovered(outputs):
    """Every difference of what is told that is one contributor's share, with n of the larger one."""
    sums = {0: 0.0, N: 1.0}
    for out in outputs:
        sums |= told(out)
    return [
        (n, share - other)
        for n, share in sums.items()
        for m, other in sums.items()
        if n - m == 1
    ]  # fmt: skip


def test_attack_on_unchecked_top_shares_succeeds():
    plain = {n: RANKED[:n].sum() / RANKED.sum() for n in (4, 5)}
    assert (plain[5] - plain[4]) * RANKED.sum() == pytest.approx(RANKED[4])


ASKED = {
    **{f"cr{n}": lambda w, n=n: ratio(w, n) for n in (1, 2, 3, 4, 5, 6, 8, 9, 11, 29, 30, 31, 58, 59)},
    **{f"lorenz {n}": lambda w, n=n: w.lorenz("size", n) for n in (2, 5, 6)},
}


@pytest.mark.parametrize("first", ASKED)
def test_passing_outputs_do_not_isolate_a_contributor(first):
    for second, ask in ASKED.items():
        work = ht.Session("s", FIRMS)
        outputs = [ASKED[first](work)]
        if second != first:
            outputs.append(ask(work))
        assert recovered(outputs) == [], second


def test_ratios_of_well_separated_sizes_pass_together():
    work = ht.Session("s", FIRMS)
    assert [ratio(work, n).status for n in (4, 8, 20)] == [Clearance.PASS] * 3
    work.sum("size", name="sum")
    assert work.outputs[-1].status is Clearance.PASS


@pytest.mark.parametrize(
    ("n", "passes"), [(1, False), (2, False), (3, True), (57, True), (58, False), (60, True)]
)
def test_single_ratio_does_not_reveal_top_contributors(n, passes):
    out = ratio(ht.Session("s", FIRMS), n)
    assert (out.status is Clearance.PASS) is passes


def test_other_groups_with_same_maximum_are_checked():
    # The twenty largest are nearly all in one part: its four largest may be those of all.
    frame = FIRMS.assign(part=np.where(FIRMS["size"] > 100, "large", "small"))
    work = ht.Session("s", frame)
    assert ratio(work, 4, where={"part": ["large"]}).status is Clearance.PASS
    out = ratio(work, 5)
    assert out.status is Clearance.FAIL
    assert "= 1 unit" in str(out.verdicts[-1])
    assert "differ by 3 contributors" in out.verdicts[-1].remedy


@pytest.mark.parametrize("data", [FIRMS, None], ids=["with the data", "without"])
def test_recheck_finds_top_contributors_in_ledger(tmp_path, data):
    init(tmp_path / "l", policy="japan-2017", checkers=1)
    work = ht.Session("first", FIRMS)
    ratio(work, 4, by="region", name="four")
    release(work.submit(tmp_path / "a"), ledger=tmp_path / "l", data=FIRMS, checkers=["Ito"])
    second = ht.Session("second", FIRMS)
    ratio(second, 5, by="region", name="five")
    found = recheck(second.submit(tmp_path / "b"), ledger=tmp_path / "l", data=data).outputs[0]
    assert found.row["differencing"] == "fail"
    # The session that knows the ledger says so itself; eight beside four are fine.
    knowing = ht.Session("third", FIRMS, ledger=tmp_path / "l")
    assert ratio(knowing, 5, by="region").status is Clearance.FAIL
    assert ratio(knowing, 8, by="region").status is Clearance.PASS


def test_top_contributors_are_found_without_the_data(tmp_path):
    work = ht.Session("s", FIRMS)
    ratio(work, 4, name="four")
    ratio(work, 8, name="eight")
    made = ratio(ht.Session("t", FIRMS), 6, name="six")
    work.outputs.append(made)
    states = [each.row["differencing"] for each in recheck(work.submit(tmp_path / "s")).outputs]
    assert states == ["pass", "pass", "fail"]


def test_holding_counts_as_one_contributor():
    frame = FIRMS.assign(owner=np.arange(N) // 2)
    work = ht.Session("s", frame)
    assert work.concentration("size", "cr4", holding="owner").status is Clearance.PASS
    # Units of the same owner are together among the largest.
    four, five = (
        Concentration("size", f"cr{n}", holding="owner").membership(
            Records.open(frame),
            Concentration("size", f"cr{n}", holding="owner").collect(Records.open(frame)),
        )
        for n in (4, 5)
    )
    assert [int((each.codes[1] > 0).sum()) for each in (four, five)] == [8, 10]
    amounts = frame.groupby("owner")["size"].sum().nlargest(4).index
    assert set(frame["owner"][four.codes[1] > 0]) == set(amounts)


def test_lorenz_steps_equal_largest_contributions():
    asked = QuantileGroups("size", 6, statistic="lorenz")
    records = Records.open(FIRMS)
    evidence = asked.protect(asked.collect(records), policy("japan-2017"))
    codes = asked.membership(records, evidence).codes[0]
    top = FIRMS["size"][codes == codes.max()]
    assert sorted(top) == sorted(RANKED[: len(top)])
    assert all(len(FIRMS["size"][codes == k]) >= 10 for k in set(codes.tolist()))
