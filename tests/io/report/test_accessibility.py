"""Pages that people sign pass axe, narrow and wide, in light and in dark."""

from __future__ import annotations

from importlib import resources

import pytest
from tests.checks.submissions import PEOPLE, session
from tests.io.report.chromium import installed
from tests.io.report.releases import adjusted, magnitudes, unsafe

from hitoku.checks.submission import recheck
from hitoku.io import check_page
from hitoku.io.report import page
from hitoku.pipeline import run_recipe

pytestmark = pytest.mark.browser
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
AXE = resources.files("axe_playwright_python").joinpath("axe.min.js")


@pytest.fixture(scope="module")
def chromium():
    if installed() is None:
        pytest.skip("no chromium on this machine (Debian: apt install chromium)")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed(), args=["--no-sandbox"])
        yield browser
        browser.close()


LANGUAGES = ("en", "ja")
KINDS = (magnitudes, unsafe, adjusted)
REPORTS = ("magnitudes", "unsafe", "adjusted", "check")
# In English alone: the overview of a publication, and what is published.
ENGLISH = ("overview", "table", "linked")
NAMES = [f"{name}-{lang}" for name in REPORTS for lang in LANGUAGES] + [f"{name}-en" for name in ENGLISH]
RECIPE = """
data = "people.csv"
rules = ["min_frequency:n=5"]
width = 5
formats = ["html"]
[[tables]]
name = "linked"
by = ["region", "job"]
[[tables]]
name = "jobs"
by = ["job"]
[[tables]]
name = "incomes"
by = ["region"]
value = "income"
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Reports on releases that are safe, unsafe and adjusted, a check, an overview, and what is published."""
    folder = tmp_path_factory.mktemp("pages")
    PEOPLE.to_csv(folder / "people.csv", index=False)
    (folder / "recipe.toml").write_text(RECIPE, "utf-8")
    submission = session().submit(folder / "submission")
    for lang in LANGUAGES:
        made = {
            kind.__name__: page(kind(), title="A title", lang=lang) for kind in (magnitudes, unsafe, adjusted)
        }
        made["check"] = check_page.page(recheck(submission), lang=lang)
        release = folder / f"release-{lang}"
        run_recipe(folder / "recipe.toml", out=release, lang=lang)
        made["overview"] = (release / "checker" / "overview.html").read_text("utf-8")
        published = {path.stem: path for path in release.rglob("public/**/*.html")}
        made |= {name: published[name].read_text("utf-8") for name in ENGLISH[1:]}
        for name, html in made.items():
            (folder / f"{name}-{lang}.html").write_text(html, "utf-8")
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("name", NAMES)
def test_page_passes_accessibility_rules(chromium, pages, name, width, scheme):
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    shown = context.new_page()
    said = []
    shown.on("console", lambda message: said.append(message.text))
    shown.goto((pages / f"{name}.html").as_uri())
    shown.evaluate(AXE.read_text("utf-8"))
    found = shown.evaluate("axe.run(document, {resultTypes: ['violations']})")
    context.close()
    assert [f"{each['id']}: {each['nodes'][0]['html'][:160]}" for each in found["violations"]] == []
    assert said == []


def test_inaccessible_page_is_reported(chromium, tmp_path):
    (tmp_path / "bad.html").write_text("<!doctype html><html><body><img src='data:,'></body></html>", "utf-8")
    shown = chromium.new_page()
    shown.goto((tmp_path / "bad.html").as_uri())
    shown.evaluate(AXE.read_text("utf-8"))
    found = shown.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert {"image-alt", "html-has-lang", "document-title"} <= {each["id"] for each in found["violations"]}
