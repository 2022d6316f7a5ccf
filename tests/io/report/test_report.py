"""The checker's report says what was found, about every cell, and lets nothing of the data become markup."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace

import numpy as np
import pytest
from tests.io.report.parsed import cell_texts, data_of, parsed, rows_of, words
from tests.io.report.releases import (
    adjusted,
    counts,
    cube,
    evidence,
    linked,
    magnitudes,
    unsafe,
)

from hitoku.attacks import Contribution, Insider
from hitoku.errors import OutputError
from hitoku.evidence import Outcome, audit
from hitoku.io import TEMPLATES, Cells, PublicationPlan, interval, number, percent
from hitoku.io.release import write_release
from hitoku.io.report import page, report, write_report
from hitoku.metrics import loss
from hitoku.model import ATTACKERS, Bounds, Need, Protection, Release, Row, Status, Table, Verdict
from hitoku.rules import DirectDisclosure

# What is shown


def test_report_table_shows_every_cell_once(shown):
    cells, tree = shown
    withheld, value = cells.protection.withheld, cells.protection.value
    expected = {c: "c" if withheld[c] else number(value[c]) for c in range(cells.table.n_cells)}
    ids = [td.attributes["id"] for td in tree.all("td") if "id" in td.attributes]
    assert len(ids) == len(set(ids))
    assert cell_texts(tree) == expected


def test_cell_codes_match_row_and_column(shown):
    cells, tree = shown
    labels = cells.table.labels
    for grid in tree.all("table", role="grid"):
        top = [head.text for head in list(grid.all("tr"))[1].all("th")]
        for row in grid.one("tbody").all("tr"):
            heads = [head.text for head in row.all("th")]
            for place, td in enumerate(row.all("td")):
                codes = labels.codes_of(int(td.attributes["id"][1:]))
                assert set(heads) <= set(codes)
                assert len(heads) == len(codes) or top[place] in codes


def test_panel_contains_codes_of_every_cell(shown):
    cells, tree = shown
    data, labels = data_of(tree), cells.table.labels
    for place, cell in enumerate(cell_texts(tree)):
        codes = tuple(data["codes"][v][at] for v, at in enumerate(data["at"][place]))
        assert codes == labels.codes_of(cell)


@pytest.mark.parametrize("kind", [counts, unsafe, cube, magnitudes, linked])
def test_layers_show_truth_contributors_intervals_and_requirements(kind):
    cells = kind()
    tree = parsed(page(cells, title="A title"))
    layers, order = data_of(tree)["layers"], list(cell_texts(tree))
    for place, cell in enumerate(order):
        key = str(place)
        if cells.protection.withheld[cell]:
            low, high = cells.attacked.lower[cell], cells.attacked.upper[cell]
            assert layers["true"][key] == number(cells.table.value[cell])
            assert layers["interval"][key] == interval(round(low, 6), round(high, 6))
        else:
            assert key not in layers["true"]
            assert key not in layers["interval"]
        assert (layers["required"][key] == "·") == (not cells.need.unsafe[cell])
        if cells.table.contributors is not None:
            who = cells.table.contributors
            assert layers["count"][key] == f"{who.count[cell]:,}"
            share = who.largest[cell, 0] / who.total[cell] if who.total[cell] > 0 else None
            assert layers["share"][key] == ("·" if share is None else percent(share))
    names = {radio.attributes["value"] for radio in tree.all("input", name="layer")}
    assert names == set(layers)


def test_requirements_are_shown_as_levels_and_width():
    table = Table.from_array([[20, 15], [72, 1]])
    hit = np.zeros(9, dtype=bool)
    hit[:4] = True
    need = Need(
        unsafe=hit,
        lower=[2, 0, 0.5, 3, 0, 0, 0, 0, 0],
        upper=[2, 7, 1, 3, 0, 0, 0, 0, 0],
        width=[0, 0, 9, 6, 0, 0, 0, 0, 0],
    )
    tree = parsed(page(evidence(table, need, Protection.withhold(table, hit)), title="A title"))
    asked = data_of(tree)["layers"]["required"]
    assert [asked[str(k)] for k in range(5)] == ["±2", "−0 / +7", "−0.5 / +1, width 9", "±3", "·"]  # noqa: RUF001 - a minus sign


def test_adjusted_values_show_change_instead_of_interval():
    cells = adjusted()
    tree = parsed(page(cells, title="A title"))
    layers = data_of(tree)["layers"]
    assert "interval" not in layers
    for place, cell in enumerate(cell_texts(tree)):
        change = cells.protection.value[cell] - cells.table.value[cell]
        assert layers["moved"][str(place)].replace("+", "") == number(change)
    assert len(list(tree.one("table", id="list").one("tbody").all("tr"))) == cells.need.unsafe.sum()
    assert f"{int((cells.protection.value != cells.table.value).sum()):,}" in words(
        tree.one("dl", **{"class": "figures"})
    )


def test_linked_tables_are_listed_with_all_their_codes():
    tree = parsed(page(linked(), title="A title", linked=("by-sex", "by-age")))
    heads = [head.text for head in next(tree.all("table", role="grid")).one("thead").all("th")]
    assert heads == ["region", "sex", "age", "persons"]
    assert "linked tables: by-sex, by-age" in words(tree)


# What is said


def box_of(tree):
    return next(each for each in tree.all("section") if "verdict" in each.classes)


@pytest.mark.parametrize(
    ("kind", "light", "text"),
    [
        pytest.param(counts, "? Amber", "Safe against outsiders as long as the method is secret.", id="safe"),
        pytest.param(
            unsafe,
            "✗ Red",
            "Not safe: outsider, single cells: 2 of 2 unsafe cells: 1 published, 1 recomputable.",
            id="not safe",
        ),
        pytest.param(
            adjusted,
            "? Amber",
            "Moved far enough to protect against outsiders as long as the method is secret.",
            id="adjusted",
        ),
    ],
)
def test_report_begins_with_headline_in_its_colour(kind, light, text):
    cells = kind()
    tree = parsed(page(cells, title="A title"))
    box = box_of(tree)
    assert words(box).startswith(light)
    assert words(box.one("h2")) == text
    verdict = Outcome(cells.protection, cells.audit).verdict
    assert words(box).endswith(" ".join(verdict.sentences()))
    assert light in words(tree.one("section", id="sign"))
    assert box.classes == {"verdict", {"?": "review", "✗": "bad"}[light[0]]}


def test_report_shows_every_row(shown):
    cells, tree = shown
    verdict = Outcome(cells.protection, cells.audit).verdict
    lines = list(tree.one("section", id="verdict").one("tbody").all("tr"))
    assert [row.attacker for row in verdict.rows] == list(ATTACKERS)
    for row, line in zip(verdict.rows, lines, strict=True):
        head, (result, basis, fix) = words(line.one("th")), map(words, line.all("td"))
        outside = row.applies and not row.in_scope
        assert head == row.label + (" outside the scope" if outside else "")
        assert (result, basis) == (row.result, row.reason)
        assert fix == (row.fix if row.applies else "")
        assert ("out" in line.classes) == (not (row.in_scope and row.applies))


def test_green_verdict_is_printed():
    table = Table.from_array([[20, 15], [72, 8]])
    nothing = np.zeros(table.n_cells, dtype=bool)
    cells = evidence(table, Need(unsafe=nothing), Protection.withhold(table, nothing))
    row = Row(attacker="outsider", status=Status.PROVED, in_scope=True)
    tree = parsed(page(cells, title="A title", verdict=Verdict((row,))))
    assert words(box_of(tree)).startswith("✓ Green: every attacker in scope was considered")
    assert "good" in box_of(tree).classes
    assert not list(tree.all("section", id="disclosed"))


def test_caution_overrules_a_verdict_that_is_not_red():
    cells = counts()
    warned = Cells(cells.table, cells.need, replace(cells.protection, caution="a trial run"), cells.audit)
    box = box_of(parsed(page(warned, title="A title")))
    assert words(box).startswith("✗ Not for publication: a trial run")
    assert "bad" in box.classes


def test_non_additive_table_passes_without_certificate():
    table = Table.from_array([[20.0, 15.0], [72.0, 1.0]])
    rough = replace(table, value=table.value + np.array([0.1] + [0.0] * 8), additive=False)
    need = Need(unsafe=rough.value == 1, lower=1.0, upper=1.0)
    cells = evidence(rough, need, Protection.withhold(rough, rough.inner, need), attacked=False)
    assert cells.audit.safe
    tree = parsed(page(cells, title="A title"))
    assert rows_of(tree)["outsider, single cells"][0] == "✓ passed"
    assert "nothing to verify: its values do not add up exactly" in words(tree)


def test_key_figures_match_need_and_loss():
    cells = magnitudes()
    said = words(parsed(page(cells, title="A title")).one("dl", **{"class": "figures"}))
    lost, unsafe_cells = loss(cells.table, cells.protection), int(cells.need.unsafe.sum())
    assert f"cells{lost.n_cells:,}" in said
    assert f"unsafe{unsafe_cells:,}" in said
    assert f"withheld{lost.n_withheld:,}{unsafe_cells} unsafe (primary)" in said
    assert f"cells suppressed{percent(lost.share)}" in said
    assert f"value suppressed{percent(lost.inner_value_share)}" in said
    for name, hits in cells.need.rules.items():
        assert f"{name}: {int(hits.sum()):,}" in said


def test_exactly_met_requirement_is_shown_as_met():
    """Three tenths asked for and three tenths moved differ in the last bit of a double."""
    table = Table.from_array([[1.0, 5.0], [6.0, 2.0]], integer=False)
    need = Need(unsafe=table.value == 1, lower=0.1 + 0.2, upper=0.1 + 0.2)
    moves = np.array([0.3, -0.3, 0.0, -0.3, 0.3, 0.0, 0.0, 0.0, 0.0])
    nothing = np.zeros(table.n_cells, dtype=bool)
    protection = Protection(withheld=nothing, secondary=nothing, value=table.value + moves, method="given")
    cells = evidence(table, need, protection, attacked=False)
    said = words(parsed(page(cells, title="A title")).one("dl", **{"class": "figures"}))
    assert cells.audit.safe
    assert "least protected cell1.00\N{MULTIPLICATION SIGN}" in said


def test_steps_of_the_audit_are_shown():
    def outcomes(cells):
        rows = parsed(page(cells, title="A title")).one("section", id="audit").one("tbody").all("tr")
        return {row.one("th").text: [td.text for td in row.all("td")][1] for row in rows}

    safe, insiders, failed = outcomes(counts()), outcomes(magnitudes()), outcomes(unsafe())
    assert safe == {"adding and subtracting": "✓ no disclosure", "interval": "✓ no disclosure"}
    assert insiders["insider"] == "✓ no disclosure"
    assert failed["adding and subtracting"] == "✗ disclosure"
    assert outcomes(adjusted()) == {"distance": "✓ no disclosure", "sums": "✓ no disclosure"}


def test_list_begins_with_least_protected_cells(shown):
    cells, tree = shown
    rows = list(tree.one("table", id="list").one("tbody").all("tr"))
    listed = [int(row.attributes["id"][1:]) for row in rows]
    assert sorted(listed) == np.flatnonzero(cells.protection.withheld | cells.need.unsafe).tolist()
    danger = [(not cells.failing[c], not cells.need.unsafe[c], cells.reached[c]) for c in listed]
    assert danger == sorted(danger)
    assert all(("x" in row.classes) == cells.failing[c] for row, c in zip(rows, listed, strict=True))


def test_failing_cell_shows_its_reason():
    tree = parsed(page(unsafe(), title="A title"))
    first, second = list(tree.one("table", id="list").one("tbody").all("tr"))
    told = {words(row.one("td", **{"class": "word"})): words(row.one("th")) for row in (first, second)}
    assert set(told) == {"✗ published", "✗ recomputable"}
    assert "exactly 3 by" in told["✗ recomputable"]


def test_cell_open_to_insiders_shows_its_reason():
    table = Table.from_array([[7.0, 11.0], [10.0, 60.0]], integer=False)
    need = Need(unsafe=table.value == 60, lower=1.0, upper=1.0)
    release = Release.of(table, Protection.withhold(table, table.inner, need))
    alone = Insider([Contribution("A", cell=0, amount=7, sole=True)])
    found = audit(table, need, release, insiders=alone)
    cells = Cells(table, need, Protection.withhold(table, table.inner, need), found)
    verdict = Outcome(cells.protection, found, insiders="contributors").verdict
    tree = parsed(page(cells, title="A title", verdict=verdict))
    first = next(tree.one("table", id="list").one("tbody").all("tr"))
    assert words(first).startswith("✗ open to insiders")
    assert "knows their own amounts" in words(first)
    assert rows_of(tree)["large contributors and coalitions"][0] == "✗ failed"
    assert "row=2, column=2" in words(tree.one("section", id="disclosed"))
    outcomes = [words(row) for row in tree.one("section", id="audit").one("tbody").all("tr")]
    assert any(row.startswith("insider") and "✗ disclosure" in row for row in outcomes)


def test_intervals_come_from_proof_without_attack():
    cells = counts()
    plain = Cells(cells.table, cells.need, cells.protection, cells.audit)
    tree = parsed(page(plain, title="A title"))
    assert "The intervals were not computed for this page" in words(tree)
    assert "intervals were not computed for this page" not in words(parsed(page(cells, title="A title")))
    layer = data_of(tree)["layers"]["interval"]
    place = {cell: k for k, cell in enumerate(cell_texts(tree))}
    for cell in np.flatnonzero(plain.protection.withheld):
        told = layer[str(place[cell])]
        assert (told == "not computed") == (not plain.need.unsafe[cell])


def test_count_intervals_are_rounded_outwards_to_truth():
    cells = counts()
    value, withheld = cells.table.value, cells.protection.withheld
    bounds = Bounds(
        lower=np.where(withheld, value - 0.4, value), upper=np.where(withheld, value + 2.0000000001, value)
    )
    low, high = Cells(cells.table, cells.need, cells.protection, cells.audit, bounds).ends
    assert np.array_equal(low[withheld], value[withheld])
    assert np.array_equal(high[withheld], value[withheld] + 2)


# Large tables


def test_large_table_shows_margins_and_a_note(monkeypatch):
    monkeypatch.setattr(report, "MAX_CELLS", 20)
    cells = counts()
    tree = parsed(page(cells, title="A title"))
    totals = {c for c in range(49) if c % 7 == 6 or c >= 42}
    assert set(cell_texts(tree)) == totals
    assert "This table has 49 cells, too many for a page. Shown are the totals" in words(tree)
    body = tree.one("table", id="list").one("tbody")
    assert len(list(body.all("tr"))) == 4
    assert not list(body.all("a"))  # the cells are not there to be gone to


def test_long_margins_leave_space_for_cell_list(monkeypatch):
    boxed = 'class="scroll tall">\n<table role="grid"'
    assert boxed not in page(counts(), title="A title")
    monkeypatch.setattr(report, "MAX_CELLS", 20)
    assert boxed in page(counts(), title="A title")


def test_large_table_without_margins_is_listed(monkeypatch):
    monkeypatch.setattr(report, "MAX_CELLS", 5)
    cells = linked()
    tree = parsed(page(cells, title="A title"))
    assert not list(tree.all("table", role="grid"))
    assert f"This table has {cells.table.n_cells} cells, too many for a page." in words(tree)
    rows = list(tree.one("table", id="list").one("tbody").all("tr"))
    assert len(rows) == (cells.protection.withheld | cells.need.unsafe).sum()


def test_long_list_is_cut_with_a_note(monkeypatch):
    monkeypatch.setattr(report, "MAX_ROWS", 2)
    tree = parsed(page(counts(), title="A title"))
    assert len(list(tree.one("table", id="list").one("tbody").all("tr"))) == 2
    assert "Showing the 2 least protected of 4 cells" in words(tree)


def test_longest_page_is_below_five_megabytes():
    rng = np.random.default_rng(2)
    table = Table.from_array(rng.integers(10**6, 10**9, (140, 140)))
    withheld = rng.random(table.n_cells) < 0.4
    cells = evidence(table, Need(unsafe=np.zeros(table.n_cells, bool)), Protection.withhold(table, withheld))
    assert table.n_cells <= report.MAX_CELLS
    assert len(page(cells, title="A title").encode()) < 5_000_000


@pytest.mark.parametrize(
    ("columns", "classes"),
    [
        pytest.param(4, set(), id="upright"),
        pytest.param(13, {"wide"}, id="across"),
        pytest.param(60, {"wide", "screen"}, id="not at all"),
    ],
)
def test_print_orientation_follows_table_width(columns, classes):
    table = Table.from_array(np.full((70, columns), 1_234))
    cells = evidence(
        table, Need(unsafe=np.zeros(table.n_cells, bool)), Protection.withhold(table, table.value < 0)
    )
    sheet = parsed(page(cells, title="A title")).one("div", id="sheet0")
    assert sheet.classes == {"sheet"} | classes


def test_print_row_limit_matches_stylesheet():
    css = (TEMPLATES / "style.css").read_text("utf-8")
    html = (TEMPLATES / "page.html").read_text("utf-8")
    (most,) = re.findall(r"set most_printed_rows = (\d+)", html)
    assert f"nth-child(n+{int(most) + 1})" in css


# As a file


def test_same_release_gives_same_report(tmp_path):
    first, second = (
        write_report(tmp_path / f"{k}.html", Outcome(c.protection, c.audit, c.attacked))
        for k, c in enumerate((magnitudes(), magnitudes()))
    )
    assert first.read_bytes() == second.read_bytes()
    assert b"\r" not in first.read_bytes()


def test_missing_folder_raises_output_error(tmp_path):
    c = counts()
    with pytest.raises(OutputError, match="cannot write to no"):
        write_report(tmp_path / "no" / "report.html", Outcome(c.protection, c.audit))


# In a release


def test_report_lists_public_files_with_hashes(tmp_path):
    c = counts()
    text = 'title = "Firms"\n# <by hand>\n'
    folder = write_release(
        tmp_path / "out",
        Outcome(c.protection, c.audit, c.attacked),
        PublicationPlan(title="Firms", recipe_text=text),
    )
    tree = parsed((folder / "checker" / "report.html").read_text("utf-8"))
    files = sorted([*(folder / "public").iterdir(), folder / "checker" / "certificate.json.gz"])
    names = sorted(file.relative_to(folder).as_posix() for file in files)
    # What sha256sum prints, by hand.
    lines = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}" for name in names]
    said = words(tree.one("section", id="files"))
    for line in lines:
        digest, name = line.split("  ")
        assert f"{name}{digest}" in said.replace(f"{name} {digest}", f"{name}{digest}")
    whole = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
    assert whole in said
    assert whole in words(tree.one("section", id="sign"))
    assert f"sha256sum {' '.join(names)} | sha256sum" in words(tree.one("section", id="verify"))
    assert tree.one("pre").text == text
    assert "report.html" in (folder / "checker" / "README.txt").read_text("utf-8")


@pytest.mark.parametrize(("hidden", "outcome"), [((2, 4), "✗ failed"), (range(15), "✓ proved")])
def test_rule_groups_are_distinguished_from_cells(hidden, outcome):
    """Lupp and Langsrud, Figure 1: Oslo's drivers as 0 0 x 0 x; and everything withheld."""
    table = Table.from_array([[0, 0, 17, 0], [1, 0, 12, 0]], names=("city", "injury"))
    need = DirectDisclosure(k=0, sensitive="injury").assess(table)
    column = (12, 14) if outcome == "✗ failed" else ()
    mask = np.isin(np.arange(15), [*hidden, *column]) & (np.arange(15) < 14)
    protection = Protection.withhold(table, mask | need.unsafe, need)
    release = Release.of(table, protection)
    cells = Cells(table, need, protection, audit(table, need, release))
    tree = parsed(page(cells, title="A title"))
    assert rows_of(tree)["attribute disclosure (group, direct)"][0] == outcome
