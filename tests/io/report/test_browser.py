"""The report in a real browser: keys, layers, lists and paper; it asks nobody and complains of nothing."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.io.report.chromium import NAMES, Chromium, installed
from tests.io.report.releases import adjusted, counts, cube, linked, magnitudes, nasty, unsafe

from hitoku.io import interval, number
from hitoku.io.report import page

pytestmark = pytest.mark.browser

KINDS = {kind.__name__: kind for kind in (counts, unsafe, cube, magnitudes, adjusted, linked, nasty)}
CELLS = "[...document.querySelectorAll('[role=grid] td[id]')]"
TEXTS = f"Object.fromEntries({CELLS}.map(t => [t.id.slice(1), t.textContent]))"
FOCUS = "document.activeElement.id"
PANEL = "document.getElementById('panel').innerText"
SHOWN_ROWS = (
    "[...document.querySelectorAll('#list tbody tr')].filter(r => !r.hidden).map(r => Number(r.id.slice(1)))"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program = installed()
    if program is None:
        pytest.skip(f"no browser on the PATH (looked for {', '.join(NAMES)}): apt-get install chromium")
    chromium = Chromium(program, tmp_path_factory.mktemp("chromium"))
    yield chromium
    chromium.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Every kind of release, and its page as a file."""
    folder = tmp_path_factory.mktemp("pages")
    written = {}
    for name, kind in KINDS.items():
        cells, file = kind(), folder / f"{name}.html"
        file.write_text(page(cells, title=name), "utf-8")
        written[name] = cells, file
    return written


@pytest.fixture
def opened(browser, pages):
    """Open a page in a window of the usual size."""

    def open_page(name):
        cells, file = pages[name]
        browser.look()
        browser.open(file)
        return cells

    return open_page


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_loads_without_requests_or_errors(browser, opened, pages, name, scheme):
    browser.look(scheme=scheme)
    opened(name)
    assert browser.value("document.querySelector('h1').textContent") == name
    assert browser.requests == [pages[name][1].as_uri()]
    assert browser.complaints == []


def test_script_in_data_does_not_run(browser, opened):
    opened("nasty")
    browser.click("td.p")
    assert browser.value("typeof window.pwned") == "undefined"
    added = "(() => { const s = document.createElement('script'); s.textContent = 'window.pwned = 1';"
    browser.value(f"{added} document.body.append(s); }})()")
    assert browser.value("typeof window.pwned") == "undefined"
    assert any("Content Security Policy" in each for each in browser.complaints)


def test_arrow_keys_move_between_cells(browser, opened):
    opened("counts")  # seven by seven, row-major
    browser.click("#c0")
    assert browser.value(FOCUS) == "c0"
    for key, expected in (
        ("ArrowRight", "c1"),
        ("ArrowDown", "c8"),
        ("ArrowLeft", "c7"),
        ("ArrowLeft", "c7"),
        ("ArrowUp", "c0"),
        ("ArrowUp", "c0"),
        ("End", "c6"),
        ("ArrowRight", "c6"),
        ("Home", "c0"),
    ):
        browser.press(key)
        assert browser.value(FOCUS) == expected, key
    browser.press("End", control=True)
    assert browser.value(FOCUS) == "c48"
    browser.press("Home", control=True)
    assert browser.value(FOCUS) == "c0"


def test_one_table_cell_is_in_tab_order(browser, opened):
    opened("counts")
    browser.click("#c9")
    browser.press("ArrowRight")
    assert browser.value("document.querySelectorAll('[role=grid] td[tabindex=\"0\"]').length") == 1
    browser.press("Tab")
    assert browser.value("document.activeElement.closest('[role=grid]') === null")
    browser.press("Tab")
    browser.value("document.querySelector('[role=grid] td[tabindex=\"0\"]').focus()")
    assert browser.value(FOCUS) == "c10"


def test_n_and_p_move_between_suppressed_cells(browser, opened):
    cells = opened("counts")
    withheld = np.flatnonzero(cells.protection.withheld).tolist()
    assert 0 not in withheld
    browser.click("#c0")
    seen = []
    for _ in withheld:
        browser.press("n")
        seen.append(int(browser.value(FOCUS)[1:]))
    assert seen == withheld
    browser.press("p")
    assert int(browser.value(FOCUS)[1:]) == withheld[-2]


@pytest.mark.parametrize("name", KINDS)
def test_layers_change_every_cell_and_change_back(browser, opened, name):
    cells = opened(name)
    published = browser.value(TEXTS)
    value, withheld = cells.table.value, cells.protection.withheld
    browser.value("document.querySelector('.sheet:not([hidden]) td[tabindex]').focus()")
    browser.press("2")
    assert browser.value("document.querySelector('input[name=layer]:checked').value") == "true"
    assert browser.value(TEXTS) == {str(cell): number(value[cell]) for cell in range(cells.table.n_cells)}
    if cells.adjusted is None:
        browser.click("input[value=interval]")
        shown = browser.value(TEXTS)
        low, high = cells.ends
        for cell in range(cells.table.n_cells):
            expected = interval(low[cell], high[cell]) if withheld[cell] else published[str(cell)]
            assert shown[str(cell)] == expected
    browser.click("input[value=published]")
    assert browser.value(TEXTS) == published


def test_radio_buttons_follow_the_arrow_keys(browser, opened):
    opened("counts")
    browser.click("input[value=published]")
    browser.press("ArrowRight")
    assert browser.value("document.querySelector('input[name=layer]:checked').value") == "true"
    assert "c" not in browser.value(TEXTS).values()


def test_panel_describes_selected_cell(browser, opened):
    cells = opened("magnitudes")
    cell = int(np.flatnonzero(cells.need.unsafe)[0])
    browser.value(f"document.querySelector('#list a[href=\"#c{cell}\"]').click()")
    told = browser.value(PANEL)
    low, high = cells.ends
    for part in (
        " · ".join(cells.table.labels.codes_of(cell)),
        "primary suppression",
        number(cells.table.value[cell]),
        str(cells.table.contributors.count[cell]),
        interval(low[cell], high[cell]),
        ", ".join(cells.need.why(cell)),
        "✓ safe",
    ):
        assert part in told
    assert browser.value("document.querySelectorAll('#panel svg').length") == 1


def test_list_link_opens_the_table_section(browser, opened):
    cells = opened("magnitudes")
    for cell in cells.listed[:: max(1, len(cells.listed) // 5)]:
        browser.value(f"document.querySelector('#list a[href=\"#c{cell}\"]').click()")
        assert browser.value(FOCUS) == f"c{cell}"
        assert browser.value("document.activeElement.closest('.sheet').hidden") is False
        assert browser.value("document.querySelectorAll('.sheet:not([hidden])').length") == 1


def test_failing_section_is_opened_first(browser, opened):
    cells = opened("cube")
    (cell,) = np.flatnonzero(cells.failing)
    assert browser.value("document.getElementById('part').selectedIndex") == 2
    assert browser.value(f"document.getElementById('c{cell}').closest('.sheet').hidden") is False
    assert browser.value("document.querySelectorAll('.sheet:not([hidden])').length") == 1


def test_part_selector_changes_section(browser, opened):
    opened("cube")
    browser.value("document.getElementById('part').focus()")
    browser.press("ArrowDown")
    assert browser.value("document.getElementById('sheet3').hidden") is False
    assert browser.value("document.getElementById('sheet2').hidden") is True


def test_list_sorts_by_any_column_both_ways(browser, opened):
    cells = opened("magnitudes")
    assert browser.value(SHOWN_ROWS) == cells.listed
    value = cells.table.value
    heads = "[...document.querySelectorAll('#list thead th')]"
    column = browser.value(f"{heads}.findIndex(h => h.textContent.includes('true value'))")
    click = f"{heads}[{column}].querySelector('button').click()"
    for falling in (False, True):
        browser.value(click)
        order = [value[cell] for cell in browser.value(SHOWN_ROWS)]
        assert order == sorted(order, reverse=falling)
        word = "descending" if falling else "ascending"
        assert browser.value(f"{heads}.map(h => h.getAttribute('aria-sort')).filter(Boolean).join()") == word
    browser.value(f"{heads}.at(-1).querySelector('button').click()")
    reached = [cells.reached[cell] for cell in browser.value(SHOWN_ROWS)]
    assert reached == sorted(reached)


def test_list_is_filtered_by_kind_and_code(browser, opened):
    cells = opened("magnitudes")
    unsafe_cells = [cell for cell in cells.listed if cells.need.unsafe[cell]]
    browser.click("input[value=u]")
    assert browser.value(SHOWN_ROWS) == unsafe_cells
    assert browser.value("document.getElementById('found').textContent").startswith(
        f"{len(unsafe_cells)} of "
    )
    browser.click("#find")
    for letter in "south":
        browser.press(letter)
    named = [c for c in unsafe_cells if "South" in cells.table.labels.codes_of(c)]
    assert 0 < len(named) < len(unsafe_cells)
    assert browser.value(SHOWN_ROWS) == named
    browser.click("input[value=x]")
    assert browser.value(SHOWN_ROWS) == []


def test_list_can_show_failing_cells_only(browser, opened):
    cells = opened("unsafe")
    browser.click("input[name=kind][value=x]")
    assert browser.value(SHOWN_ROWS) == [cell for cell in cells.listed if cells.failing[cell]]


@pytest.mark.parametrize("name", KINDS)
def test_printed_page_ignores_screen_state(browser, opened, name):
    opened(name)
    published = browser.value(TEXTS)
    browser.click("input[value=true]")
    browser.value(f"window.addEventListener('beforeprint', () => {{ window.printed = {TEXTS}; }})")
    pdf = browser.pdf()
    assert pdf.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) > 0
    assert browser.value("window.printed") == published
    assert browser.value("document.querySelector('input[name=layer]:checked').value") == "true"


def test_paper_has_the_signature_and_no_controls(browser, opened):
    opened("counts")
    browser.look(media="print")
    visible = "e => e.getClientRects().length > 0"
    assert browser.value(f"({visible})(document.getElementById('sign'))")
    for selector in ("#tools", "#sieve", "nav", ".panel", "#list button"):
        assert not browser.value(f"({visible})(document.querySelector({selector!r}))"), selector


@pytest.mark.parametrize("width", [1280, 800, 400])
def test_page_fits_the_window_width(browser, opened, width):
    opened("magnitudes")
    browser.look(width=width)
    assert browser.value("document.documentElement.scrollWidth <= window.innerWidth")


def test_dark_mode_has_dark_background(browser, opened):
    opened("counts")
    grounds = []
    for scheme in ("light", "dark"):
        browser.look(scheme=scheme)
        grounds.append(browser.value("getComputedStyle(document.body).backgroundColor"))
    assert grounds[0] == "rgb(255, 255, 255)"
    assert max(map(int, re.findall(r"\d+", grounds[1]))) < 60
