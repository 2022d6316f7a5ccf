"""Templates and static files of an application stand in front of those that applications share."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError
from starlette.applications import Starlette
from starlette.testclient import TestClient

from hitoku.web import Site


@pytest.fixture
def site(tmp_path):
    for name, text in (
        ("templates/page.html", '{% extends "base.html" %}{% block main %}{{ text }}{% endblock %}'),
        ("static/own.css", "p { color: red }"),
        ("static/icon.svg", "<svg></svg>"),
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    return Site(tmp_path)


def served(site):
    return TestClient(Starlette(routes=[site.static_files()]))


def test_page_of_an_application_extends_the_shared_base(site):
    page = site.fill("page.html", text="<b>", done="")
    assert page.startswith("<!doctype html>")
    assert "&lt;b&gt;" in page
    for name in ("page.css", "page.js", "htmx-2.0.11.min.js"):
        assert site.asset(name) in page
        assert served(site).get(site.asset(name)).status_code == 200


def test_page_with_missing_value_raises(site):
    with pytest.raises(UndefinedError):
        site.fill("page.html", done="")


def test_application_file_replaces_shared_static_file(site):
    assert served(site).get(site.asset("icon.svg")).text == "<svg></svg>"
    assert served(site).get(site.asset("own.css")).text == "p { color: red }"


def test_static_address_changes_with_the_content(site):
    before = site.asset("own.css")
    (site.folder / "static" / "own.css").write_text("p { color: blue }", "utf-8")
    assert Site(site.folder).asset("own.css") != before
