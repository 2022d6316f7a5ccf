"""A sample makes up for few units where the population hardly has few: estimate and consequences."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pandas as pd
import pytest
from tests.checks.outputs.test_tables import people
from tests.raising import raises

from hitoku.checks import parse_decisions
from hitoku.checks.policies import Sampling, policy, population_risk
from hitoku.checks.principles import Clearance, Principle
from hitoku.checks.session import Session
from hitoku.checks.submission import recheck

JAPAN = policy("japan-2017")
# A sample of one in ten: 3 of at most 9 happen in 5.3 % of all samples, 4 in 0.8 %.
TENTH = JAPAN.model_copy(update={"sampling": Sampling(fraction=0.1, risk=0.05)})

CASES = [(n, fraction, m) for n in (1, 2, 3, 5) for fraction in (0.01, 0.1, 0.5) for m in (4, 10)]


@pytest.mark.parametrize(("n", "fraction", "minimum"), CASES)
def test_chance_matches_largest_too_small_population(n, fraction, minimum):
    chance = sum(
        np.prod([fraction if chosen else 1 - fraction for chosen in sample])
        for sample in product((True, False), repeat=minimum - 1)
        if sum(sample) >= n
    )
    assert population_risk(n, fraction, minimum) == pytest.approx(chance)


@pytest.mark.parametrize(("n", "fraction", "minimum"), CASES)
def test_smaller_populations_yield_n_less_often(n, fraction, minimum):
    def shows(size):
        return sum(
            comb(size, hits) * fraction**hits * (1 - fraction) ** (size - hits) for hits in range(n, size + 1)
        )

    assert max(shows(size) for size in range(minimum)) <= population_risk(n, fraction, minimum) * (1 + 1e-12)


@pytest.mark.parametrize(("n", "fraction", "minimum"), [case for case in CASES if case[1] >= 0.1])
def test_posterior_uses_prior_inverse_to_size(n, fraction, minimum):
    # Far beyond what matters at these fractions.
    sizes = np.arange(n, 2000)
    binomial = np.array([comb(int(size), n) for size in sizes], dtype=object)
    weight = np.array(
        [
            float(b * fraction**n) * (1 - fraction) ** int(s - n) / s
            for b, s in zip(binomial, sizes, strict=True)
        ]
    )
    posterior = weight[sizes < minimum].sum() / weight.sum()
    assert population_risk(n, fraction, minimum) == pytest.approx(posterior, rel=1e-6)


def test_simulated_samples_match_probability():
    rng = np.random.default_rng(5)
    drawn = rng.binomial(9, 0.1, 200_000)
    assert population_risk(2, 0.1, 10) == pytest.approx((drawn >= 2).mean(), abs=0.005)


@pytest.mark.parametrize(
    ("sampling", "least"),
    [
        pytest.param(None, 10, id="no sample, no relaxation"),
        pytest.param(Sampling(fraction=0.1, risk=0.05), 4, id="3 come with 0.053, 4 with 0.008"),
        pytest.param(Sampling(fraction=0.1, risk=0.054), 3, id="0.053 is allowed"),
        pytest.param(Sampling(fraction=0.01, risk=0.05), 3, id="never fewer than three"),
        pytest.param(Sampling(fraction=0.01, risk=0.05, least=6), 6, id="nor fewer than the policy says"),
        pytest.param(Sampling(fraction=0.9, risk=0.05), 10, id="nearly a census relaxes nothing"),
    ],
)
def test_smallest_sample_matches_enumeration(sampling, least):
    assert JAPAN.model_copy(update={"sampling": sampling}).least_units == least


def test_policy_hash_depends_on_sample_section():
    assert TENTH.hash != JAPAN.hash
    assert JAPAN.model_copy(update={"sampling": None}).hash == JAPAN.hash


def units_of(out):
    return next(v for v in out.verdicts if v.principle is Principle.UNITS)


@pytest.mark.parametrize(
    ("n", "rules", "shown", "status"),
    [
        pytest.param(4, TENTH, True, Clearance.REVIEW, id="leaves, and a person looks"),
        pytest.param(3, TENTH, False, Clearance.PASS, id="withheld"),
        pytest.param(4, JAPAN, False, Clearance.PASS, id="without a sample withheld"),
        pytest.param(10, TENTH, True, Clearance.PASS, id="ten are ten"),
    ],
)
def test_sampling_uncertainty_excuses_small_cell(n, rules, shown, status):
    frame = people([[n, 30, 45], [25, 32, 40], [33, 41, 28]])
    frame["income"] = 10.0 + np.arange(len(frame)) % 13
    work = Session("s", frame, unit="id", policy=rules)
    for out in (
        work.frequency_table(by=["region", "job"]),
        work.magnitude_table(by=["region", "job"], value="income"),
    ):
        assert bool(pd.notna(out.frame.loc["r0", "c0"])) is shown
        assert units_of(out).status is status
        assert out.status is status


def test_sampled_group_reports_its_numbers():
    frame = pd.DataFrame({"region": ["N"] * 5 + ["S"] * 30, "income": np.arange(35.0) % 7 + 10})
    found = units_of(Session("s", frame, policy=TENTH).mean("income", by="region"))
    assert (found.status, found.reason) == (Clearance.REVIEW, "relaxed_by_sampling")
    assert found.numbers["relaxed"] == 1
    assert found.numbers["population_risk"] == population_risk(5, 0.1, 10)
    assert units_of(Session("s", frame).mean("income", by="region")).reason == "withheld"


def granted(fraction):
    return parse_decisions(
        f"""
        [[decision]]
        output = "table"
        decision = "release"
        principle = "units"
        reason = "a sample"
        facts.sampling_fraction = {fraction}
        who = "M. Sato"
        when = 2026-11-16
        """,
        "decisions.toml",
    )


def test_recheck_recomputes_sampling_estimate(tmp_path):
    frame = people([[4, 30, 45], [25, 32, 40], [33, 41, 28]])
    work = Session("s", frame, unit="id", policy=TENTH)
    work.frequency_table(by=["region", "job"], name="table")
    folder = work.submit(tmp_path / "submission")

    def status(**options):
        (output,) = recheck(folder, data=frame, unit="id", **options).outputs
        return output.row[Principle.UNITS]

    assert status(policy=TENTH) == "review"
    assert status(policy=TENTH, decisions=granted(0.1)) == "exception granted"
    assert status(policy=TENTH, decisions=granted(0.05)) == "review"  # decided about another sample
    assert status(policy=JAPAN) == "fail"  # the checker's own policy knows no sample


def test_misspelt_sample_key_is_named(tmp_path):
    text = "\n".join(
        f"[{name}]\n" + "\n".join(f"{key} = {value!r}" for key, value in part.items() if value is not None)
        for name, part in JAPAN.model_dump().items()
        if isinstance(part, dict)
    )
    place = tmp_path / "own.toml"
    head = 'name = "own"\nversion = "1"\nindividual_values = "confidential"\n'
    place.write_text(head + text.replace("'", '"') + "\n[sampling]\nfraction = 0.1\nrisk = 0.05\n")
    assert policy(place).least_units == 4
    place.write_text(place.read_text().replace("risk", "rsik"))
    with raises("unknown_key"):
        policy(place)
