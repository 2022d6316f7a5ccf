"""Every page we write forbids scripts and styles that are not ours, by their hashes."""

from __future__ import annotations

import base64
import hashlib
import re
from html import unescape
from pathlib import Path

import pytest
from tests.checks.submissions import session

from hitoku.checks.submission import recheck
from hitoku.evidence import Outcome, audit
from hitoku.io import Cells, check_page, content_policy
from hitoku.io.formats import html as table_page
from hitoku.io.release import OverviewGroup, overview_page
from hitoku.io.report import report
from hitoku.model import Need, Protection, Release, Table

SRC = Path(report.__file__).resolve().parents[2]


def of_a_release(_):
    table = Table.from_array([[20, 15], [72, 1]])
    need = Need(unsafe=table.value == 1, lower=1.0, upper=1.0)
    protection = Protection.withhold(table, need.unsafe, need)
    found = audit(table, need, Release.of(table, protection))
    return report.page(Cells(table, need, protection, found), title="Persons")


def of_a_table(_):
    table = Table.from_array([[20, 15], [72, 1]])
    return table_page.page(Release.of(table, Protection.withhold(table, table.value == 1)), title="Persons")


def of_a_publication(_):
    table = Table.from_array([[20, 15], [72, 1]])
    need = Need(unsafe=table.value == 1, lower=1.0, upper=1.0)
    protection = Protection.withhold(table, table.inner, need)
    outcome = Outcome(protection, audit(table, need, Release.of(table, protection)))
    return overview_page([OverviewGroup.of("persons", "../persons", outcome, {}, {})], "Persons")


PAGES = {
    "src/hitoku/io/templates/page.html": of_a_release,
    "src/hitoku/io/templates/overview.html": of_a_publication,
    "src/hitoku/io/templates/public.html": of_a_table,
    "src/hitoku/io/templates/check.html": lambda tmp_path: check_page.page(
        recheck(session().submit(tmp_path / "submission"))
    ),
}


def test_every_page_template_has_a_content_policy():
    written = {
        f"src/hitoku/{path.relative_to(SRC).as_posix()}"
        for path in SRC.rglob("*")
        if path.suffix in {".py", ".html"} and "<!doctype html>" in path.read_text("utf-8")
    }
    # The review application sends its policy as a header: tests/review/test_security.py.
    written -= {"src/hitoku/web/templates/base.html"}
    assert written == set(PAGES)


def digest(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def assert_policy(html):
    """Check that a page allows its own style and script, by their hashes, and nothing else."""
    assert html.count("Content-Security-Policy") == 1
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', html)
    # The policy counts for what follows it only.
    assert policy.start() < min(html.index(tag) for tag in ("<style", "<body"))
    rules = dict(rule.split(" ", 1) for rule in unescape(policy[1]).split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    (style,) = re.findall(r"<style>(.*?)</style>", html, flags=re.DOTALL)
    assert rules["style-src"] == digest(style)
    scripts = re.findall(r"<script>(.*?)</script>", html, flags=re.DOTALL)
    assert [rules.get("script-src")] == ([digest(scripts[0])] if scripts else [None])
    assert set(rules) <= {"default-src", "style-src", "script-src", "img-src", "base-uri", "form-action"}
    assert rules.get("img-src", "data:") == "data:"
    body = html[html.index("<body") :]
    assert not re.search(r"<[^>]*\s(on\w+|style)=", body)


@pytest.mark.parametrize("name", PAGES)
def test_content_policy_allows_only_embedded_hashes(name, tmp_path):
    assert_policy(PAGES[name](tmp_path))


def test_content_policy_names_script_only_if_present():
    assert "script-src" not in content_policy("a {}")
    assert content_policy("a {}", "1").count("sha256-") == 2
