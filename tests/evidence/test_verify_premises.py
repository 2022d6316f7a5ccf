"""What a certificate takes for granted: derived again from the folder, or named as taken on trust."""

from __future__ import annotations

import copy
import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.oracles.forgeries import reseal

import hitoku as ht
from hitoku.evidence import exact_rows, verify_premises, verify_rows
from hitoku.evidence import verify as verifier
from hitoku.io.release import write_hierarchies
from hitoku.model import ATTACKERS, Dimension, Hierarchy, Labels, cross_relations

RULES = ["min_frequency:n=4", "direct_disclosure:k=1,sensitive=b"]


def records():
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "a": rng.choice(list("pqrs"), 120, p=[0.5, 0.3, 0.15, 0.05]),
            "b": rng.choice(list("xyz"), 120, p=[0.6, 0.35, 0.05]),
            "v": rng.integers(1, 100, 120),
        }
    )


def firms():
    """Records with amounts of very different size."""
    rng = np.random.default_rng(5)
    return records().assign(v=np.ceil(rng.pareto(0.8, 120) * 10))


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    outcome = ht.protect(records(), by=["a", "b"], rules=RULES, width=4)
    return outcome.write(tmp_path_factory.mktemp("premises") / "release")


@pytest.fixture
def folder(released, tmp_path):
    return Path(shutil.copytree(released, tmp_path / "release"))


def forged(folder, **changes):
    """Change parts of the certificate, sign it again, and return the answer."""
    reseal(folder, lambda content: content.update(copy.deepcopy(changes)))
    return ht.verify(folder)


def rewrite(path, change):
    """Change a JSON file in place."""
    told = json.loads(path.read_text("utf-8"))
    change(told)
    path.write_text(json.dumps(told), "utf-8")


def clear_marks(folder):
    """Take every mark of a rule out of cells.csv."""
    path = folder / "checker" / "cells.csv"
    with path.open(newline="") as file:
        head, *rows = csv.reader(file)
    for row in rows:
        row[head.index("rules")] = ""
        row[head.index("decision")] = row[head.index("decision")].replace("primary", "secondary")
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])


def test_answer_lists_the_premises(released):
    answer = ht.verify(released)
    assert answer.ok, answer.reason
    for word in (
        "bounds",
        "code trees",
        "respondents",
        "direct_disclosure",
        "required protection",
        "table.xlsx",
    ):
        assert any(word in premise for premise in answer.trusted), word
        assert word in str(answer)
    alone = ht.verify(released / "checker" / "certificate.json.gz")
    assert alone.ok
    for word in (
        "listed relations",
        "listed cells are unsafe",
        "required protection",
        "folder was not given",
    ):
        assert any(word in premise for premise in alone.trusted), word


def test_rows_state_what_was_reproved(released):
    rows = {row.attacker: row for row in ht.verify(released).rows}
    assert list(rows) == list(ATTACKERS)
    assert {who: rows[who].label for who in verify_rows.LABELS} == {
        who: ATTACKERS[who][0] for who in verify_rows.LABELS
    }
    for who in ("outsider", "attributes"):
        assert rows[who].status == "proved"
        assert rows[who].checked.startswith("proved again here")
    assert rows["released"].status == "not considered"
    assert rows["released"].checked == ""


def test_single_certificate_assumes_the_rules(tmp_path):
    """A certificate has no rules, so that it proves intervals and not how many units a group must have."""
    outcome = ht.protect(ht.Table.from_array([[20, 15, 9], [72, 1, 30]]), rules=["min_frequency:n=3"])
    folder = outcome.write(tmp_path / "release")
    whole, alone = ht.verify(folder), ht.verify(next((folder / "checker").glob("certificate.json*")))
    assert whole.ok
    assert alone.ok
    told = [{row.attacker: row.checked for row in each.rows}["groups"] for each in (whole, alone)]
    assert told == ["proved again here by the same witnesses", verify_rows.WITHOUT_RULES]
    assert verify_rows.TRUSTED_RULES in alone.trusted
    assert verify_rows.TRUSTED_RULES not in whole.trusted


def test_audited_row_is_not_reported_as_proved(tmp_path):
    outcome = ht.protect(
        records(), by=["a", "b"], value="v", rules=["few_contributors:n=3", "p_percent:p=10"]
    )
    answer = ht.verify(outcome.write(tmp_path / "release"))
    rows = {row.attacker: row for row in answer.rows}
    assert (rows["singletons"].status, rows["singletons"].checked) == (
        "passed",
        "by hitoku, not checked here",
    )
    assert any("unsafe by p_percent" in premise for premise in answer.trusted)


@pytest.mark.parametrize("rule", ["p_percent:p=10", "dominance:n=2,k=80", "prior_posterior:p=10,q=50"])
def test_rules_on_contributions_are_reapplied(tmp_path, rule):
    """A cell whose two largest contributions make it unsafe must be listed, with its level."""
    outcome = ht.protect(firms(), by=["a", "b"], value="v", rules=[rule], insiders="none")
    folder = outcome.write(tmp_path / "release")
    assert outcome.need.unsafe.any()
    name = rule.partition(":")[0]
    told = [one for one in ht.verify(folder).trusted if name in one]
    assert told == [
        f"the largest contributions in checker/cells.csv, which give the cells that are unsafe by {name}"
    ]
    # The largest contribution of a safe cell is nearly all of it; its marks say nothing.
    path = folder / "checker" / "cells.csv"
    with path.open(newline="") as file:
        head, *rows = csv.reader(file)
    safe = next(
        row for row in rows if not row[head.index("rules")] and row[head.index("decision")] != "primary"
    )
    safe[head.index("largest")], safe[head.index("second")] = safe[head.index("value")], "0"
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])
    answer = ht.verify(folder)
    assert not answer.ok
    assert f"unsafe by {name}, and not by the certificate" in answer.reason


def test_level_below_rule_on_contributions_is_rejected(tmp_path):
    outcome = ht.protect(firms(), by=["a", "b"], value="v", rules=["p_percent:p=10"], insiders="none")
    folder = outcome.write(tmp_path / "release")
    path = folder / "checker" / "summary.json"
    summary = json.loads(path.read_text())
    summary["rules"][0]["p"] = 60
    path.write_text(json.dumps(summary))
    answer = ht.verify(folder)
    assert not answer.ok
    assert "p_percent" in answer.reason


def test_missing_unsafe_cells_are_rejected(folder):
    answer = forged(folder, unsafe=[])
    assert (answer.ok, answer.code) == (False, 1)
    assert "unsafe by checker/cells.csv, and not by the certificate" in answer.reason
    clear_marks(folder)
    answer = ht.verify(folder)
    assert (answer.ok, answer.code) == (False, 1)
    assert "unsafe by min_frequency, and not by the certificate" in answer.reason


def test_absence_of_unsafe_cells_is_an_assumption(folder):
    clear_marks(folder)
    rewrite(folder / "checker" / "summary.json", lambda summary: summary.update(rules=[]))
    assert "derivable groups of units: called proved" in forged(folder, unsafe=[]).reason

    def claim_less(content):
        content["verdict"]["rows"][1]["status"] = "not considered"

    reseal(folder, claim_less)
    answer = ht.verify(folder)
    assert answer.ok
    assert "unsafe cells are safe" not in answer.reason
    assert answer.reason.startswith("no cell is listed as unsafe;")
    assert "that none is unsafe is taken on trust" in answer.reason
    assert {row.checked for row in answer.rows if row.attacker == "outsider"} == {
        "no cell is listed as unsafe"
    }
    for name in ("cells.csv", "summary.json"):
        (folder / "checker" / name).unlink()
    assert "that none is unsafe is taken on trust" in ht.verify(folder).reason
    reseal(folder, lambda content: content.pop("verdict"))
    alone = ht.verify(folder / "checker" / "certificate.json.gz")
    assert "that none is unsafe is taken on trust" in alone.reason
    assert alone.rows[0].status == "on trust"


def test_absence_of_unsafe_cells_follows_from_rules(tmp_path):
    many = pd.DataFrame({"a": list("pq") * 40, "b": list("xxyy") * 20})
    folder = ht.protect(many, by=["a", "b"], rules=["min_frequency:n=4"]).write(tmp_path / "release")
    answer = ht.verify(folder)
    assert answer.ok, answer.reason
    assert answer.reason.startswith("no cell is listed as unsafe;")
    assert "by the counts in checker/ none is" in answer.reason


def test_lower_levels_than_required_are_rejected(folder):
    def lower(content):
        content["unsafe"][0] |= {"lower": 0, "upper": 0, "width": 0}

    reseal(folder, lower)
    assert "checker/cells.csv requires more than the certificate" in ht.verify(folder).reason


def test_certificate_without_relations_is_rejected(folder):
    answer = forged(folder, relations=[])
    assert (answer.ok, answer.code) == (False, 1)
    assert "the relations lack a sum that checker/hierarchies.json names" in answer.reason
    # Without the trees nothing shows that there are totals: the answer says what it rests on.
    (folder / "checker" / "hierarchies.json").unlink()
    assert any("not one relation is listed" in premise for premise in ht.verify(folder).trusted)
    alone = ht.verify(folder / "checker" / "certificate.json.gz")
    assert any("not one relation is listed" in premise for premise in alone.trusted)


@pytest.mark.parametrize("place", [0, 3, -1])
def test_missing_relation_is_rejected(folder, place):
    reseal(folder, lambda content: content["relations"].pop(place))
    assert "the relations lack a sum" in ht.verify(folder).reason


def test_hierarchy_relations_match_the_table(tmp_path):
    """The table's own relations, one by one, against those derived from the trees in plain Python."""
    region = Hierarchy.from_tree({"North": ["N1", "N2"], "South": ["S1", "S2", "S3"]})
    coast = Hierarchy.from_tree({"Coast": ["N1", "S1"], "Inland": ["N2", "S2", "S3"]})
    dimensions = (
        Dimension("region", (region, coast)),
        Dimension.of("sex", Hierarchy.flat(["f", "m"], "all")),
        Dimension.of("age", Hierarchy.from_tree({"young": ["0", "1"], "old": ["2"]})),
    )
    labels, relations = Labels.cross(dimensions), cross_relations(dimensions)
    write_hierarchies(tmp_path / "trees.json", {"table": dimensions})
    trees = json.loads((tmp_path / "trees.json").read_text("utf-8"))["table"]
    codes = [list(labels.codes_of(cell)) for cell in range(len(labels))]
    table = {"codes": codes, "cells": list(range(len(codes)))}
    derived = [terms for _, terms in verify_premises.sums(table, list(trees.values()), verifier.demand)]
    rows = [dict(zip(cells, weights, strict=True)) for cells, weights in exact_rows(relations)]

    def listed(sums):
        return sorted(sorted(terms.items()) for terms in sums)

    # A total that two groupings split in the same way is derived twice, and one relation of the table.
    assert listed({tuple(sorted(terms.items())): terms for terms in derived}.values()) == listed(rows)
    content = {
        "variables": list(labels.names),
        "codes": codes,
        "relations": [[list(row), list(row.values())] for row in rows],
    }
    verify_premises.relations(content, {"table": trees}, verifier.demand)
    for place in range(len(rows)):
        less = [row for other, row in enumerate(content["relations"]) if other != place]
        with pytest.raises(verifier.Refuted, match="the relations lack a sum"):
            verify_premises.relations({**content, "relations": less}, {"table": trees}, verifier.demand)


def test_relation_may_be_scaled(folder):
    def double(content):
        cells, coefficients = content["relations"][0]
        content["relations"][0] = [cells[::-1], [-2 * c for c in reversed(coefficients)]]

    reseal(folder, double)
    answer = ht.verify(folder)
    assert answer.ok, answer.reason


def test_hierarchy_without_total_is_rejected(folder):
    def flatten(trees):
        tree = trees["table"]["a"][0]
        del tree["parents"]["s"]

    rewrite(folder / "checker" / "hierarchies.json", flatten)
    answer = ht.verify(folder)
    assert not answer.ok
    assert "code s: it is in no tree of checker/hierarchies.json" in answer.reason


def test_missing_groups_are_rejected(folder):
    answer = forged(folder, groups=[])
    assert (answer.ok, answer.code) == (False, 1)
    assert "required by checker/groups.json, and not by the certificate" in answer.reason
    (folder / "checker" / "groups.json").unlink()
    assert (
        "attribute disclosure (group, direct): called proved, but without a proof" in ht.verify(folder).reason
    )


def test_lower_group_goal_is_rejected(folder):
    def lower(content):
        content["groups"][0]["goal"] = 0

    reseal(folder, lower)
    assert "required by checker/groups.json" in ht.verify(folder).reason


@pytest.mark.parametrize("who", ["method", "singletons", "released", "tables", "groups"])
def test_row_claiming_a_missing_proof_is_rejected(folder, who):
    def claim(content):
        (row,) = (row for row in content["verdict"]["rows"] if row["attacker"] == who)
        row |= {"status": "proved", "applies": True}

    rewrite(folder / "checker" / "summary.json", lambda summary: summary.update(rules=[]))
    reseal(folder, claim)
    answer = ht.verify(folder)
    assert (answer.ok, answer.code) == (False, 1)
    assert "called proved, but without a proof" in answer.reason


def test_derivable_groups_are_proved_by_the_same_witnesses(folder):
    """Every unsafe count has a width of four or more, so it can hold four: no derivable group is smaller."""

    def claim(content):
        content["verdict"]["rows"][1] |= {"status": "proved", "applies": True}

    reseal(folder, claim)
    answer = ht.verify(folder)
    assert answer.ok, answer.reason
    assert answer.rows[1].checked == "proved again here by the same witnesses"
    alone = ht.verify(folder / "checker" / "certificate.json.gz")
    assert alone.rows[1].checked == verify_rows.WITHOUT_RULES


# Trial S9: 2 and 1 are withheld beside 40 and 9 of 52; each may be up to 3, and all others are published.
ROW = {
    "values": [2, 1, 40, 9, 52],
    "witnesses": [
        {"denominator": 1, "cells": [0, 1], "differences": [-2, 2]},
        {"denominator": 1, "cells": [0, 1], "differences": [1, -1]},
    ],
    "unsafe": [{"cell": 0, "low": 0, "high": 1}, {"cell": 1, "low": 1, "high": 0}],
}


@pytest.mark.parametrize(
    ("n", "counts", "proved"),
    [
        pytest.param(3, "2 1 40 9 52", "proved again here by the same witnesses", id="both can be three"),
        pytest.param(4, "2 1 40 9 52", None, id="neither can be four"),
        pytest.param(3, "2 1 2 9 14", "by hitoku, not checked here", id="other numbers than published"),
        pytest.param(2, "20 10 40 90 520", "proved again here by the same witnesses", id="nobody is few"),
        pytest.param(10, "2 1 40 9 52", None, id="one that is not even listed"),
    ],
)
def test_group_size_follows_from_its_small_cells(n, counts, proved):
    columns, rules = {"respondents": counts.split()}, [{"rule": "min_frequency", "n": n}]
    assert verify_premises.derivable_groups(ROW, columns, rules).get("groups") == proved
    assert verify_premises.derivable_groups(ROW, columns, [{"rule": "p_percent"}]) == {}
    weighted = [{**rules[0], "weighted": True}]
    assert verify_premises.derivable_groups(ROW, columns, weighted) == verify_premises.UNITS_APART


def test_release_with_failed_audit_is_rejected(folder):
    def fail(content):
        row = content["verdict"]["rows"][1]
        row |= {"status": "failed", "in_scope": True, "reason": "3 groups"}

    reseal(folder, fail)
    assert ht.verify(folder).reason == "hitoku itself refuses it: derivable groups of units: 3 groups"


def test_verdict_without_its_proof_row_is_rejected(folder):
    reseal(folder, lambda content: content["verdict"]["rows"].pop(0))
    assert ht.verify(folder).code == 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cells.csv", "a,b\n"),
        ("summary.json", "[]"),
        ("summary.json", '{"rules": [{"rule": "min_frequency"}]}'),
        ("hierarchies.json", '{"table": 3}'),
        ("hierarchies.json", "{"),
        ("groups.json", '{"cells": [[1e999]], "weights": [[1]], "goal": [1], "group": [0]}'),
        ("groups.json", '{"cells": [[0]], "weights": [[0]], "goal": [1], "group": [3]}'),
    ],
)
def test_unreadable_evidence_proves_nothing(folder, name, text):
    (folder / "checker" / name).write_text(text, "utf-8")
    assert not ht.verify(folder).ok


def test_folder_requires_sibling_files_of_verify(released, tmp_path):
    here = Path(verifier.__file__).parent
    shutil.copy(here / "verify.py", tmp_path)

    def run(path):
        command = [sys.executable, "-I", "-S", str(tmp_path / "verify.py"), str(path)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert run(released / "checker" / "certificate.json.gz").returncode == 0
    for name in ("verify_files.py", "verify_premises.py", "verify_rows.py"):
        done = run(released)
        assert done.returncode == 2
        assert f"needs {name} beside verify.py" in done.stdout
        shutil.copy(here / name, tmp_path)
    done = run(released)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{ht.verify(released)}\n"
