"""What came of a protection, in words that promise no more than there is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hitoku.attacks import Contribution, Insider
from hitoku.evidence import Outcome, audit
from hitoku.model import Colour, Finding, Need, Protection, Release, Severity, Status, Table

TABLE = Table.from_array([[20, 15], [72, 1]])
NEED = Need(unsafe=TABLE.value == 1, lower=1.0, upper=1.0, rules={"given": TABLE.value == 1})


def outcome(withheld, table=TABLE, need=NEED, **more):
    protection = Protection.withhold(table, withheld, need)
    return Outcome(protection, audit(table, need, Release.of(table, protection)), **more)


def remark(severity):
    return Finding(severity=severity, place="tables", reason="they share records")


@pytest.mark.parametrize(
    ("withheld", "table", "outsider", "tables"),
    [
        pytest.param(TABLE.inner, TABLE, Status.PROVED, "", id="proved"),
        pytest.param(TABLE.value == 1, TABLE, Status.FAILED, "", id="given away"),
        pytest.param(TABLE.value == 1, TABLE, Status.FAILED, "two tables", id="given away, one of two"),
        pytest.param(TABLE.inner, TABLE, Status.PROVED, "two tables", id="one of two tables"),
        pytest.param(
            TABLE.inner,
            Table(value=TABLE.value + np.eye(1, 9, 8).ravel(), relations=TABLE.relations, additive=False),
            Status.PASSED,
            "",
            id="no certificate",
        ),
    ],
)
def test_verdict_matches_available_evidence(withheld, table, outsider, tables):
    found = outcome(withheld, table, tables=tables).verdict
    assert found["outsider"].status is outsider
    assert found["tables"].applies is bool(tables)
    assert (found["tables"].status is Status.NOT_DECIDED) is bool(tables)
    assert found.refused is (outsider is Status.FAILED)
    # Neither rules nor contributors nor other releases are known to a bare outcome.
    assert found.colour is (Colour.RED if outsider is Status.FAILED else Colour.AMBER)


def test_open_remarks_name_unaudited_attackers_only():
    remarks = tuple(remark(severity) for severity in (Severity.REVIEW, Severity.NOTE, Severity.REVIEW))
    assert outcome(TABLE.inner, remarks=remarks).left_open == (remarks[0], remarks[2])


@pytest.mark.parametrize(
    ("published", "warned"),
    [
        pytest.param(5, "", id="a twentieth is left"),
        pytest.param(4, "4% of the value", id="less"),
        pytest.param(0, "0% of the value", id="nothing"),
        pytest.param(100, "", id="everything"),
    ],
)
def test_low_published_share_warns(published, warned):
    table = Table.from_array([100 - published, published])
    hidden = np.arange(3) == 0 if published < 100 else np.zeros(3, dtype=bool)
    found = outcome(hidden, table, Need(unsafe=np.zeros(3, dtype=bool)))
    assert found.warning.startswith(warned)
    assert bool(found.warning) is bool(warned)
    assert ("of the value" in repr(found)) is bool(warned)


def test_cell_frames_state_every_decision():
    table = replace(TABLE, hidden=np.arange(9) == 3)
    found = outcome(table.inner, table)
    kinds = ["secondary", "secondary", "published", "hidden", "primary", *["published"] * 4]
    assert found.confidential_frame["status"].tolist() == kinds
    assert found.confidential_frame["rules"].tolist() == ["given" if k == "primary" else "" for k in kinds]
    assert found.confidential_frame["value"].tolist() == [20, 15, 35, 72, 1, 73, 92, 16, 108]
    # Nobody outside learns that there is a cell of 72, or which of the others is unsafe.
    assert found.frame["status"].tolist() == [
        "withheld",
        "withheld",
        "published",
        "withheld",
        *["published"] * 4,
    ]
    assert not found.adjusted
    moved = replace(found.protection, withheld=np.zeros(9, bool), secondary=np.zeros(9, bool))
    moved = replace(moved, value=TABLE.value + np.array([1, -1, 0, -1, 1, 0, 0, 0, 0]))
    shifted = Outcome(moved, audit(TABLE, NEED, Release.of(TABLE, moved)))
    assert shifted.adjusted
    assert shifted.frame["status"].tolist() == ["adjusted"] * 9
    kinds = shifted.confidential_frame["status"].tolist()
    assert kinds == ["adjusted", "adjusted", "published", "adjusted", "adjusted", *["published"] * 4]


def test_hidden_cells_count_only_as_unsafe():
    table = replace(Table.from_array([[20, 15], [72, 1]]), hidden=np.arange(9) == 4)
    need = Need(unsafe=np.isin(table.value, [1, 15]), upper=1.0)
    summary = audit(table, need, Release.of(table, Protection.withhold(table, table.inner, need))).summary
    counted = {name: summary[name] for name in ("cells", "unsafe", "withheld", "secondary", "unsafe_hidden")}
    # Of four withheld cells the 1 is hidden; the 20 and the 72 are withheld for the others.
    assert counted == {"cells": 8, "unsafe": 2, "withheld": 3, "secondary": 2, "unsafe_hidden": 1}
    plain = audit(
        replace(table, hidden=None), need, Release.of(table, Protection.withhold(table, table.inner, need))
    ).summary
    assert "unsafe_hidden" not in plain
    assert (plain["cells"], plain["withheld"]) == (9, 4)


def test_insider_disclosure_fails_manual_outcome():
    table = Table.from_array([50, 60, 90], frequency=[1, 1, 3])
    unsafe = np.isin(table.value, [50, 60])
    need = Need(unsafe=unsafe, lower=5.0, upper=5.0, rules={"given": unsafe})
    protection = Protection.withhold(table, unsafe, need)
    release = Release.of(table, protection)
    assert audit(table, need, release).safe  # either could be anything from 0 to 110
    found = audit(table, need, release, insiders=Insider([Contribution("v", cell=0, amount=50, sole=True)]))
    assert not found.safe
    verdict = Outcome(protection, found).verdict
    assert (verdict.colour, verdict.refused) == (Colour.RED, True)
    assert verdict["contributors"].status is Status.FAILED
