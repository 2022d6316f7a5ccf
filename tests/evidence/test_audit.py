from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction

import narwhals as nw
import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.oracles.certificates import ROUNDING, is_safe, programmed_bounds, redone
from tests.oracles.enumeration import enumerated_bounds
from tests.strategies import count_tables, magnitude_tables, protections

from hitoku.errors import NeedError, ProtectionError, TableError
from hitoku.evidence import AuditProblem, audit
from hitoku.evidence.verify import prove, verify
from hitoku.io import read_jj
from hitoku.model import Need, Protection, Release, Severity, Table

CASES = settings(max_examples=39, deadline=None)


@st.composite
def needs(draw, table: Table, levels) -> Need:
    n = table.n_cells
    unsafe = np.isin(np.arange(n), draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=4)))
    drawn = [np.where(unsafe, draw(st.lists(levels, min_size=n, max_size=n)), 0.0) for _ in range(3)]
    return Need(unsafe=unsafe, lower=drawn[0], upper=drawn[1], width=drawn[2])


def released(table: Table, withheld) -> Release:
    return Release.of(table, Protection.withhold(table, withheld))


@st.composite
def count_cases(draw):
    """Counts in two or three dimensions, flat or not, with outside bounds near the values."""
    dims, hierarchical = draw(st.sampled_from([(2, False), (2, True), (3, False)]))
    table = draw(
        count_tables(max_side=3 if dims == 2 else 2, max_count=3, dims=dims, hierarchical=hierarchical)
    )
    reach = st.lists(st.integers(0, 3), min_size=table.n_cells, max_size=table.n_cells)
    table = replace(
        table,
        lower=np.maximum(0, table.value - np.array(draw(reach))),
        upper=table.value + np.array(draw(reach)),
    )
    need = draw(needs(table, st.sampled_from([0.0, 0.0, 1.0, 1.5, 2.0])))
    withheld = draw(protections(table)).withheld | (table.inner if draw(st.booleans()) else need.unsafe)
    if draw(st.integers(0, 9)) == 0:
        withheld = withheld & ~need.unsafe
    return table, need, released(table, withheld)


@st.composite
def real_cases(draw):
    """Tenths, with and without outside bounds; often everything inside is withheld, so that some are safe."""
    dims, hierarchical = draw(st.sampled_from([(2, False), (2, True), (3, False)]))
    table = draw(magnitude_tables(max_side=3 if dims == 2 else 2, dims=dims, hierarchical=hierarchical))
    if draw(st.booleans()):
        share = draw(st.sampled_from([0.25, 0.5, 1.0]))
        table = replace(table, lower=(1 - share) * table.value, upper=(1 + share) * table.value + 1)
    need = draw(needs(table, st.sampled_from([0.0, 0.0, 0.3, 1.0, 4.25])))
    withheld = draw(protections(table, inner_only=draw(st.booleans()))).withheld | need.unsafe
    return table, need, released(table, withheld | table.inner if draw(st.booleans()) else withheld)


def proved(found, path) -> None:
    """A safe audit has a certificate that holds; one that is not says which cells fail."""
    if found.safe:
        verdict = verify(found.certificate.write(path / "certificate.json"))
        assert verdict.ok, verdict.reason
    else:
        assert found.certificate is None
        assert sum(f.severity is Severity.FAIL for f in found.findings) == found.summary["open"] > 0


@CASES
@given(case=count_cases())
def test_count_audit_matches_enumeration(tmp_path_factory, case):
    table, need, release = case
    found = audit(table, need, release)
    assert found.summary["undecided"] == 0
    event(f"safe: {found.safe}")
    bounds = enumerated_bounds(release, largest=100)
    assert found.safe == is_safe(table, need, release, bounds)
    met = nw.from_native(found.cells)["met"].to_list()
    assert met == [is_safe(table, only(need, cell), release, bounds) for cell in np.flatnonzero(need.unsafe)]
    proved(found, tmp_path_factory.mktemp("audit"))


@CASES
@given(case=real_cases())
def test_real_audit_matches_linear_programs(tmp_path_factory, case):
    table, need, release = case
    found = audit(table, need, release)
    assert found.summary["undecided"] == 0
    event(f"safe: {found.safe}")
    bounds = programmed_bounds(release)
    assert found.safe == is_safe(table, need, release, bounds)
    proved(found, tmp_path_factory.mktemp("audit"))
    rows = nw.from_native(found.cells)
    cells = np.flatnonzero(need.unsafe)
    met = np.array(rows["met"].to_list(), dtype=bool)
    alone = [is_safe(table, only(need, cell), release, bounds) for cell in cells]
    assert met.tolist() == alone
    low, high = np.array(rows["low"].to_list()), np.array(rows["high"].to_list())
    # Witnesses lie inside what an outsider can infer.
    assert np.all(low >= bounds.lower[cells] - ROUNDING)
    assert np.all(high <= bounds.upper[cells] + ROUNDING)
    slack = np.array(rows["slack"].to_list())
    assert np.all(slack[met] >= -1e-9)


def only(need: Need, cell: int) -> Need:
    keep = np.arange(len(need)) == cell
    return Need(
        unsafe=need.unsafe & keep,
        lower=np.where(keep, need.lower, 0),
        upper=np.where(keep, need.upper, 0),
        width=np.where(keep, need.width, 0),
    )


CLAIM = re.compile(r"(exactly|at most|at least) (\S+) by (.*?): ([^\[\]:]*) = (\S+)$")


@CASES
@given(case=real_cases())
def test_failed_cell_reason_is_checkable_arithmetic(case):
    table, need, release = case
    rows = nw.from_native(audit(table, need, release).cells)
    cells = np.flatnonzero(need.unsafe)
    bounds = programmed_bounds(release)
    public = {Fraction(str(v)).limit_denominator(10) for v in release.published[~release.withheld]}
    known = {
        Fraction(repr(float(b))) for b in np.concatenate([release.lower, release.upper]) if np.isfinite(b)
    }
    allowed = {float(number) for number in public | known}
    for cell, outcome, why in zip(cells, rows["outcome"].to_list(), rows["why"].to_list(), strict=True):
        if outcome in {"safe", "published"}:
            assert why == ("" if outcome == "safe" else "published")
            continue
        claims = why.split("; ")
        if outcome == "recomputable":
            assert [claim.split()[0] for claim in claims] == ["exactly"]
        for claim in claims:
            word, bound = claim.split()[0], Fraction(re.search(r"-?[0-9][0-9./]*", claim)[0])
            if "known beforehand" in claim:
                assert any(abs(float(bound) - b) < 1e-9 for b in (release.lower[cell], release.upper[cell]))
            else:
                match = CLAIM.match(claim)
                assert match, claim
                total, used = redone(match[4])
                assert total == bound == Fraction(match[5])
                assert all(min(abs(float(u) - a) for a in allowed) < 1e-9 for u in used)
            if word == "exactly":
                assert abs(float(bound) - table.value[cell]) < 1e-9
            end = bounds.upper[cell] if claim.startswith("at most") else bounds.lower[cell]
            assert abs(float(bound) - end) < ROUNDING


@given(case=real_cases())
@settings(max_examples=13, deadline=None)
def test_intervals_match_programs_and_keep_verdict(case):
    table, need, release = case
    plain, full = audit(table, need, release), audit(table, need, release, intervals=True)
    assert plain.outcomes == full.outcomes
    bounds, cells = programmed_bounds(release), np.flatnonzero(need.unsafe)
    rows = nw.from_native(full.cells)
    np.testing.assert_allclose(rows["low"].to_list(), bounds.lower[cells], atol=ROUNDING)
    np.testing.assert_allclose(rows["high"].to_list(), bounds.upper[cells], atol=ROUNDING)


@given(case=real_cases())
@settings(max_examples=26, deadline=None)
def test_basis_alone_gives_the_same_verdict(case):
    table, need, release = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AuditProblem, "on_grid", lambda *_: None)
        found = audit(table, need, release)
    assert found.outcomes == audit(table, need, release).outcomes
    if found.safe:
        assert prove(dict(found.certificate.content))


TABLE = Table.from_array([[20, 15], [72, 1]])
NEED = Need(unsafe=TABLE.value == 1, lower=1.0, upper=1.0, rules={"min_frequency": TABLE.value == 1})


@pytest.mark.parametrize(
    ("withheld", "outcome", "why"),
    [
        pytest.param(TABLE.value < 0, "published", "published", id="published"),
        pytest.param(
            TABLE.value == 1, "recomputable", "exactly 1 by [row=Total, column=2]: 16 - 15 = 1", id="alone"
        ),
        pytest.param(TABLE.inner, "safe", "", id="four cells that move together"),
    ],
)  # fmt: skip
def test_audit_ends_safe_unsafe_or_undecided(withheld, outcome, why):
    found = audit(TABLE, NEED, released(TABLE, withheld))
    frame = nw.from_native(found.cells)
    assert (frame["outcome"][0], frame["why"][0]) == (outcome, why)
    assert found.safe is (outcome == "safe")
    assert found.summary[outcome if outcome != "safe" else "unsafe"] == 1


def test_single_point_is_unsafe_without_required_levels():
    # 0 + 0 = 0: bounds at zero pin both parts, though no sum of published numbers has one of them alone.
    table = Table.from_array([[0, 0, 5], [3, 4, 6]])
    withheld = np.isin(np.arange(table.n_cells), [0, 1, 4, 5])
    need = Need(unsafe=np.arange(table.n_cells) == 0)
    found = audit(table, need, released(table, withheld))
    assert (found.safe, found.summary["narrow"], found.summary["recomputable"]) == (False, 1, 0)
    free = replace(table, lower=np.full(table.n_cells, -np.inf))
    assert audit(free, need, released(free, withheld)).safe


@pytest.mark.parametrize(("width", "safe"), [(16, True), (17, False)])
def test_width_counts_both_directions_together(width, safe):
    # By hand: the 1 can be 0 (19, 16 / 73, 0) and 16 (35, 0 / 57, 16).
    need = Need(unsafe=TABLE.value == 1, width=float(width))
    assert audit(TABLE, need, released(TABLE, TABLE.inner)).safe is safe


def test_half_steps_do_not_protect_a_count():
    # 2x + 2y = z + 4 with x, y in 0..1, z in 0..1 withheld: z must be even, so z = 0 for every whole table.
    table = Table(
        value=[1.0, 1.0, 0.0, 1.0],
        relations=[[2, 2, -1, -4]],
        integer=True,
        lower=0.0,
        upper=[1.0, 2.0, 1.0, 1.0],
    )
    withheld = np.array([True, True, True, False])
    need = Need(unsafe=[False, False, True, False], upper=[0, 0, 1, 0])
    whole = audit(table, need, released(table, withheld))
    assert (whole.safe, whole.summary["narrow"]) == (False, 1)
    assert "whole numbers" in nw.from_native(whole.cells)["why"][0]
    real = replace(table, integer=False)
    assert audit(real, need, released(real, withheld)).safe


def test_inexact_values_are_audited_without_certificate():
    inner = np.random.default_rng(0).lognormal(3, 1, (3, 3))
    table = Table.from_array(inner)
    need = Need(unsafe=np.arange(table.n_cells) == 0, lower=0.5, upper=0.5)
    found = audit(table, need, released(table, table.inner))
    assert (found.safe, found.certificate) == (True, None)
    assert [f.severity for f in found.findings] == [Severity.REVIEW]
    rounded = Table.from_array(inner.round(3))
    assert audit(rounded, need, released(rounded, rounded.inner)).certificate is not None


def test_frames_have_the_caller_type():
    table = replace(TABLE, backend="polars")
    frame = audit(table, NEED, released(table, TABLE.inner)).cells
    assert nw.from_native(frame).implementation.is_polars()
    assert nw.from_native(frame)["rules"].to_list() == ["min_frequency"]


def test_repr_omits_confidential_values():
    table = Table.from_array([[8231, 9377], [9511, 7919]])
    need = Need(unsafe=table.value == 7919, lower=4219.0, upper=4219.0)
    for withheld in (need.unsafe, table.inner):
        found = audit(table, need, released(table, withheld))
        shown = f"{found!r} {found._repr_html_()} {found.certificate!r} {found.proof.failed and ''}"
        shown += " ".join(map(str, found.findings))
        assert not {"8231", "9377", "9511", "7919", "4219"} & set(
            re.findall(r"[0-9]{4}", shown.replace(",", ""))
        )


@pytest.mark.parametrize(
    ("need", "release", "error"),
    [
        pytest.param(
            Need(unsafe=[True]), released(TABLE, TABLE.inner), NeedError, id="need of another table"
        ),
        pytest.param(
            NEED,
            released(Table.from_array([[20, 15, 1], [72, 1, 1]]), [False] * 12),
            ProtectionError,
            id="release of another size",
        ),
        pytest.param(
            NEED,
            released(Table.from_array([[20, 15], [71, 1]]), TABLE.inner),
            ProtectionError,
            id="release of another table",
        ),
        pytest.param(
            NEED, replace(released(TABLE, TABLE.inner), lower=50.0), TableError, id="bounds it breaks"
        ),
    ],
)
def test_mismatched_arguments_raise(need, release, error):
    with pytest.raises(error) as caught:
        audit(TABLE, need, release)
    assert caught.value.fix


@pytest.mark.shared
def test_sdctable_disclosed_cell_is_found(shared):
    rows = np.genfromtxt(
        shared / "data/tables/sdctable/attack_4x4.csv", delimiter=",", dtype=str, skip_header=1
    )
    value = rows[:, 2].astype(int).reshape(5, 5)
    table = Table.from_array(value[:4, :4], names=["v1", "v2"], codes=["wxyz", "abcd"])
    assert table.value.tolist() == value.ravel().tolist()
    withheld = rows[:, 3] == "u"
    found = audit(table, Need(unsafe=withheld), released(table, withheld), intervals=True)
    assert found.summary["recomputable"] == found.summary["open"] == 1
    frame = nw.from_native(found.cells)
    ranges = {(a, b): (low, high) for a, b, low, high in frame.select("v1", "v2", "low", "high").iter_rows()}
    # From the folder's README.
    assert ranges == {
        ("w", "a"): (25, 94), ("w", "b"): (47, 47), ("w", "c"): (0, 69), ("x", "a"): (26, 95),
        ("x", "c"): (0, 69), ("y", "b"): (0, 185), ("y", "d"): (0, 185),
        ("z", "b"): (906, 1091), ("z", "d"): (585, 770),
    }  # fmt: skip
    assert "= 47" in frame.filter(nw.col("outcome") == "recomputable")["why"][0]
    more = withheld | ((rows[:, 0] == "x") & (rows[:, 1] == "d"))
    assert audit(table, Need(unsafe=withheld), released(table, more)).safe


@pytest.mark.shared
@pytest.mark.parametrize(("case", "safe"), [("paper_t1_direct_k1", False), ("paper_t1_direct_k2", True)])
def test_unsafe_published_pattern_is_flagged(shared, case, safe):
    content = json.loads((shared / "oracles/gausssuppression" / case / "case.json").read_text("utf-8"))
    cells = {(c["group"], c["injury"]): c for c in content["cells"]}
    groups, injuries = ([*dict.fromkeys(k[i] for k in cells if k[i] != "Total")] for i in (0, 1))
    inner = [[cells[g, i]["freq"] for i in injuries] for g in groups]
    table = Table.from_array(inner, names=["group", "injury"], codes=[groups, injuries])
    keys = [(g, i) for g in (*groups, "Total") for i in (*injuries, "Total")]
    withheld = np.array([cells[k]["suppressed"] for k in keys])
    need = Need(unsafe=np.array([cells[k]["primary"] for k in keys]))
    found = audit(table, need, released(table, withheld))
    assert found.safe is safe
    if not safe:
        frame = nw.from_native(found.cells).filter(~nw.col("met"))
        failed = frame.select("group", "injury", "low", "high").rows()
        assert ("Bergen_Car_Passenger", "Unknown", 14, 14) in failed


@pytest.mark.shared
def test_tau_argus_pattern_protects_its_nine_cells(shared, tmp_path):
    folder = shared / "data/tables/tauargus/jj"
    table, need = read_jj(folder / "simple2d.jj.gz")
    rows = np.genfromtxt(folder / "simple2d_argus_result.csv", delimiter=",", dtype=str, skip_header=1)
    status = rows[:, 4].astype(int)
    withheld = np.isin(status, [3, 4, 5, 6, 9, 11, 12])
    found = audit(table, need, released(table, withheld))
    assert (found.safe, found.summary["unsafe"], found.summary["secondary"]) == (True, 9, 12)
    assert verify(found.certificate.write(tmp_path / "proof.json.gz")).ok
    assert not audit(table, need, released(table, need.unsafe)).safe


@pytest.mark.shared
def test_six_digit_values_are_compared_by_difference(shared):
    table, need = read_jj(shared / "data/csplib/targus.jj.gz")
    assert not table.additive
    everything = ~table.fixed
    found = audit(table, need, released(table, everything))
    exact, same = read_jj(shared / "data/csplib/targus_additive.jj.gz")
    again = audit(exact, same, released(exact, everything))
    assert found.certificate is None
    assert found.safe == again.safe == (again.certificate is not None)
