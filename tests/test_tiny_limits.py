"""Every method, attack and row of the verdict ends at a tiny limit of work and says so.

The registries are gone through: whatever is added to one of them needs an entry here.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.test_work_limits import cube, linear_only

import hitoku as ht
from hitoku import metrics
from hitoku.attacks import ATTACKS
from hitoku.errors import NeedError, SolverError
from hitoku.evidence import judge_attack
from hitoku.methods import METHODS, auto, circulation
from hitoku.methods.flagged_groups import witness_walk
from hitoku.methods.greedy import greedy
from hitoku.methods.randomised import distribution
from hitoku.methods.tuning import AUTO, FLAGGED_GROUPS


def _narrow_limits(patch) -> None:
    """Lower the limits that are not among the parameters of a method."""
    patch.setattr(greedy, "MINUTES", 0)
    patch.setattr(circulation.circulation, "MAX_WORK", 1)
    patch.setattr(auto, "AUTO", replace(AUTO, small_work=1, flat_work=1))
    patch.setattr(distribution, "MAX_PATTERNS", 1)
    patch.setattr(witness_walk, "FLAGGED_GROUPS", replace(FLAGGED_GROUPS, rounds=0))


COUNTS = ht.Table.from_array([[20, 3, 30, 40], [31, 25, 60, 70], [50, 40, 80, 90], [70, 60, 90, 99]])
KNOWN = {"rules": [ht.MinFrequency(5)], "width": 9}
# For every method: one with a tiny limit, its table, and what its note or its error says.
TINY_METHODS = {
    "adjust": (METHODS["adjust"](senses="optimal", norm="l2", work_limit=1), "cube", "not decided"),
    "auto": (METHODS["auto"](), "linear", "not decided"),
    "blocks": (METHODS["blocks"](**KNOWN), "counts", ""),  # has no search
    "circulation": (METHODS["circulation"](), "linear", "not decided"),
    "flagged_groups": (METHODS["flagged_groups"](**KNOWN), "counts", "no tables were found"),
    "gauss": (METHODS["gauss"](width=True, work_limit=1), "cube", "stopped at its work limit"),
    "greedy": (METHODS["greedy"](), "cube", "not decided"),
    "optimal": (METHODS["optimal"](work_limit=1), "cube", ""),
    "randomised": (METHODS["randomised"](seed=1, **KNOWN), "counts", "everything is withheld"),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_stop_at_tiny_limits_and_say_so(name, monkeypatch):
    method, kind, told = TINY_METHODS[name]
    table, need = cube(9 if name == "auto" else 4)
    if kind == "linear":
        table = linear_only(table)
    if kind == "counts":
        table, need = COUNTS, ht.assess(COUNTS, **KNOWN, groups=False)
    _narrow_limits(monkeypatch)
    try:
        found = method.protect(table, need)
    except (SolverError, NeedError) as error:
        assert told
        assert told in str(error)  # noqa: PT017
        return
    assert not found.proven
    assert told in found.note
    if name == "randomised":
        assert found.withheld[table.inner].all()
    if name == "optimal":
        assert ht.audit(table, need, ht.Release.of(table, found)).safe


def _attacked(name: str) -> tuple[object, ht.Release, ht.Table, ht.Need]:
    """Return an attack with a tiny limit, and a release on which it does not decide everything."""
    table, need = cube(4)
    release = ht.Release.of(table, ht.Protection.withhold(table, table.inner, need))
    one = [ht.Contribution("A", cell=0, amount=1, sole=True)]
    if name == "adjustment":
        release = ht.Release.of(table, ht.Adjust(senses="up", norm="l2").protect(table, need))
        known = metrics.attacker_knowledge(table, need, release, norm="l2")
        return ATTACKS[name](scenario="B2", norm="l2", work_limit=1, known=known), release, table, need
    if name == "matching":
        table, need = COUNTS, ht.assess(COUNTS, **KNOWN)
        release = ht.Release.of(table, ht.Optimal(keep="margins").protect(table, need))
        return ATTACKS[name](method=ht.Greedy(), limit=1, **KNOWN), release, table, need
    made = {
        "group": lambda: ATTACKS[name](k=1, work_limit=1),
        "insider": lambda: ATTACKS[name](one, work_limit=1),
        "interval": lambda: ATTACKS[name](work_limit=1),
    }
    return made[name](), release, table, need


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_stop_at_tiny_limits_and_say_so(name):
    attack, release, table, need = _attacked(name)
    inferred = attack.infer(release)
    if inferred.bounds is not None:
        assert inferred.bounds.unknown[release.withheld].any()
        assert np.all(inferred.bounds.lower <= table.value + 1e-6)
        assert np.all(inferred.bounds.upper >= table.value - 1e-6)
    elif inferred.estimates is not None:
        assert inferred.estimates.undecided.all()
    else:
        assert inferred.findings
        assert {one.severity.value for one in inferred.findings} == {"review"}
        assert all("not decided" in one.reason for one in inferred.findings)
    if name != "insider":
        assert {one.severity.value for one in judge_attack(attack, table, need, release)} <= {"review"}
