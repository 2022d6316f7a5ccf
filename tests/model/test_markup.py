"""What a notebook shows: nothing confidential, nothing unescaped."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np

from hitoku.evidence import audit
from hitoku.model import Need, Protection, Release, Table
from hitoku.model.release import MAX_IN_A_NOTEBOOK

EVIL = "<script>alert(1)</script>"
TABLE = Table.from_array(
    [[711, 152, 40], [87, 193, 93]], names=("region & place", EVIL), codes=[["N", EVIL], ["a", "b", "c"]]
)
UNSAFE = TABLE.value == 93
NEED = Need(unsafe=UNSAFE, width=9.0, rules={EVIL: UNSAFE})
WITHHELD = np.isin(TABLE.value, [152, 40, 193, 93])
SAFE = Release.of(TABLE, Protection.withhold(TABLE, WITHHELD, NEED))
OPEN = Release.of(TABLE, Protection.withhold(TABLE, UNSAFE, NEED))


class Cells(HTMLParser):
    """Collects the text of every cell, and the names of all tags."""

    def __init__(self, html):
        super().__init__()
        self.texts, self.tags = [], set()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):  # noqa: ARG002 - the name is the parser's
        self.tags.add(tag)
        if tag in {"td", "th"}:
            self.texts.append("")

    def handle_data(self, data):
        if self.texts:
            self.texts[-1] += data


def shown(thing):
    return Cells(thing._repr_html_())


def test_release_markup_shows_published_values():
    texts = [text.strip() for text in shown(SAFE).texts]
    assert texts[:4] == ["", "a", "b", "c"]
    assert texts[5:10] == ["N", "711", "c", "c", "903"]
    assert texts[10:15] == [EVIL, "87", "c", "c", "373"]


def test_codes_names_and_rules_are_text_not_markup():
    for thing in (TABLE, NEED, SAFE, audit(TABLE, NEED, SAFE), audit(TABLE, NEED, OPEN)):
        assert "script" not in shown(thing).tags


def test_markup_omits_suppressed_values():
    for thing in (TABLE, NEED, SAFE, audit(TABLE, NEED, SAFE), audit(TABLE, NEED, OPEN)):
        texts = set(shown(thing).texts)
        assert not texts & {"152", "40", "193", "93"}


def test_audit_markup_shows_failures_and_remedies():
    bad, good = audit(TABLE, NEED, OPEN)._repr_html_(), audit(TABLE, NEED, SAFE)._repr_html_()
    assert "&#10007; not safe" in bad
    assert "region &amp; place=" in bad  # the cell, by its codes
    assert "&#10003; safe" in good
    assert "&#10007;" not in good


def test_long_release_markup_is_summarised():
    table = Table.from_array(np.ones((60, 60), dtype=int))
    release = Release.of(table, Protection.withhold(table, np.zeros(table.n_cells, dtype=bool)))
    assert release.n_cells > MAX_IN_A_NOTEBOOK
    assert shown(release).texts == []
