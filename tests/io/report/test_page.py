"""The page asks nobody, runs nothing but its own, and is there for everybody."""

from __future__ import annotations

import base64
import hashlib
import re
from itertools import pairwise

import pytest
from tests.io.report.parsed import data_of, parsed
from tests.io.report.releases import NASTY, evidence, nasty

from hitoku.io import TEMPLATES
from hitoku.io.report import page
from hitoku.model import Need, Protection, Table

# One file that asks nobody and runs nothing but its own


def test_data_is_escaped_in_markup():
    cells = nasty()
    html = page(
        cells,
        title=NASTY[0],
        asked=NASTY[1],
        versions={NASTY[0]: NASTY[1]},
        sha256={NASTY[0]: NASTY[1]},
        linked=(NASTY[2],),
    )
    tree = parsed(html)
    assert len(list(tree.all("script"))) == 2
    assert not [
        each.tag for each in tree.all() if each.tag in {"img", "iframe", "link", "object", "u", "s", "em"}
    ]
    assert not [name for each in tree.all() for name in each.attributes if name.startswith("on")]
    assert tree.one("h1").text == NASTY[0]
    heads = {head.text for head in tree.all("th")}
    assert set(NASTY) <= heads
    assert "49" not in heads
    assert data_of(tree)["codes"][0][:5] == list(NASTY)


def test_long_code_is_wrapped_within_the_table():
    table = Table.from_array(
        [[1, 4], [5, 6]], codes=[["a" * 300, "Fog bottling"], ["b" * 41, "c" * 40]], measure="firms"
    )
    need = Need(unsafe=table.value == 1, width=2.0)
    cells = evidence(table, need, Protection.withhold(table, table.inner, need))
    heads = {head.text: "long" in head.classes for head in parsed(page(cells, title="A title")).all("th")}
    assert [heads[code] for code in ("a" * 300, "Fog bottling", "b" * 41, "c" * 40)] == [
        True,
        False,
        True,
        False,
    ]


def test_content_policy_lists_only_used_hashes(shown):
    _, tree = shown
    (policy,) = (
        meta.attributes["content"] for meta in tree.all("meta", **{"http-equiv": "Content-Security-Policy"})
    )
    rules = dict(part.strip().split(" ", 1) for part in policy.split(";"))

    def named(text):
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    code = next(each for each in tree.all("script") if "id" not in each.attributes)
    assert rules == {
        "default-src": "'none'",
        "style-src": named(tree.one("style").text),
        "script-src": named(code.text),
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_page_contains_no_external_link(shown):
    _, tree = shown
    for each in tree.all():
        assert each.attributes.get("href", "#").startswith("#")
        assert not {"src", "srcset", "action", "data", "style"} & set(each.attributes)
    ours = tree.one("style").text + "".join(s.text for s in tree.all("script") if "id" not in s.attributes)
    assert not re.search(r"https?:|url\(|@import|fetch\(|XMLHttpRequest|innerHTML", ours)


def test_internal_links_resolve_and_ids_are_unique(shown):
    _, tree = shown
    ids = [each.attributes["id"] for each in tree.all() if "id" in each.attributes]
    assert len(ids) == len(set(ids))
    for each in tree.all():
        for name in ("href", "aria-labelledby", "aria-describedby"):
            if name in each.attributes:
                assert each.attributes[name].removeprefix("#") in ids


# For everybody


def test_page_begins_with_confidentiality_notice(shown):
    _, tree = shown
    assert tree.one("title").text.startswith("Confidential: ")
    note = next(tree.one("body").all("p"))
    assert note.text.startswith("Confidential.")


def test_page_structure_serves_screen_readers(shown):
    _, tree = shown
    assert tree.one("html").attributes["lang"] == "en"
    assert len(list(tree.all("h1"))) == len(list(tree.all("main"))) == len(list(tree.all("nav"))) == 1
    levels = [int(each.tag[1]) for each in tree.all() if re.fullmatch("h[1-6]", each.tag)]
    assert all(after - before <= 1 for before, after in pairwise(levels))
    for section in tree.one("main").all("section"):
        assert "aria-labelledby" in section.attributes
    for table in tree.all("table"):
        assert all("scope" in head.attributes for head in table.all("th"))
    labelled = {id(field) for label in tree.all("label") for field in label.all()}
    for tag in ("input", "select"):
        assert all(id(field) in labelled for field in tree.all(tag))
    assert all(svg.attributes.get("aria-hidden") == "true" for svg in tree.all("svg"))


def luminance(colour):
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_measured_as_defined():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("place", [0, 1, 2], ids=["light", "dark", "print"])
def test_contrast_meets_wcag_aa(place):
    css = (TEMPLATES / "style.css").read_text("utf-8")
    blocks = [
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", b)) for b in re.findall(r":root \{([^}]*)\}", css)
    ]
    assert len(blocks) == 3
    colour = blocks[0] | blocks[place]
    grounds = ("paper", "panel", "sum", "primary", "primary-line", "secondary", "secondary-dot")
    texts = [("ink", ground) for ground in (*grounds, "good-tint", "bad-tint", "review-tint")]
    texts += [(text, ground) for text in ("faint", "link") for ground in ("paper", "panel")]
    texts += [(kind, f"{kind}-tint") for kind in ("good", "bad", "review")]
    texts += [
        ("good", "paper"),
        ("bad", "paper"),
        ("bad", "panel"),
        ("link", "bad-tint"),
        ("secret-ink", "secret"),
    ]
    drawn = [("have", "paper"), ("need", "paper"), ("need", "have"), ("bad", "paper"), ("strong", "paper")]
    drawn += [("focus", ground) for ground in ("paper", "primary", "secondary", "bad-tint")]
    assert not {
        pair: contrast(*map(colour.get, pair)) for pair in texts if contrast(*map(colour.get, pair)) < 4.5
    }
    assert not {
        pair: contrast(*map(colour.get, pair)) for pair in drawn if contrast(*map(colour.get, pair)) < 3
    }
