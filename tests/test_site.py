"""The documentation as a site: it builds without a warning, and reads nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# What a browser fetches to show a page; a link (a) is only followed by a person.
FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class Fetched(HTMLParser):
    """Collects the addresses that a page loads by itself."""

    def __init__(self, html):
        super().__init__()
        self.addresses = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        address = given.get(FETCHED.get(tag, ""))
        if address and given.get("rel") != "canonical":
            self.addresses.append(address)


def foreign(addresses):
    return [address for address in addresses if re.match(r"(?:[a-z]+:)?//", address)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs", reason="the documentation tools are not installed: make setup")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env={"NO_MKDOCS_2_WARNING": "1"}
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.long
def test_every_page_is_built(site):
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    missing = [page for page in pages if not (site / page).is_file()]
    assert not missing


@pytest.mark.long
def test_pages_load_nothing_external(site):
    loaded = {page: foreign(Fetched(page.read_text("utf-8")).addresses) for page in site.rglob("*.html")}
    assert loaded
    assert not {page.name: addresses for page, addresses in loaded.items() if addresses}


def test_external_address_is_found():
    html = '<script src="https://elsewhere.example/x.js"></script><img src="a.png"><link href="//b/c.css">'
    assert foreign(Fetched(html).addresses) == ["https://elsewhere.example/x.js", "//b/c.css"]
