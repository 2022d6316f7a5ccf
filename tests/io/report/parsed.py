"""A page as a tree, read with the parser of the standard library."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "input", "br", "img", "link", "hr"}


@dataclass
class Element:
    """One element: its name, its attributes, what is inside."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    inside: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(each if isinstance(each, str) else each.text for each in self.inside)

    @property
    def classes(self) -> set[str]:
        return set(self.attributes.get("class", "").split())

    def all(self, tag: str = "", **wanted: str) -> Iterator[Element]:
        """Find the elements inside with a name and attributes."""
        for each in self.inside:
            if isinstance(each, Element):
                fits = all(each.attributes.get(name) == value for name, value in wanted.items())
                if fits and tag in ("", each.tag):
                    yield each
                yield from each.all(tag, **wanted)

    def one(self, tag: str = "", **wanted: str) -> Element:
        (found,) = self.all(tag, **wanted)
        return found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element("page")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].inside.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].inside.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].inside.append(data)


def parsed(html: str) -> Element:
    """Read a page; what is opened must be closed in order."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert len(reader.open) == 1, f"<{reader.open[-1].tag}> is never closed"
    return reader.open[0]


def data_of(page: Element) -> dict[str, Any]:
    """What the script of a page reads."""
    return dict(json.loads(page.one("script", id="data").text))


def cell_texts(page: Element) -> dict[int, str]:
    """What stands in the cells of the table."""
    return {int(td.attributes["id"][1:]): td.text for td in page.all("td") if "id" in td.attributes}


def words(element: Element) -> str:
    """The text of an element as it is read."""
    return " ".join(element.text.split())


def rows_of(page: Element) -> dict[str, list[str]]:
    """Rows of the verdict by the name of the attacker: result, basis, what to do."""
    rows = page.one("section", id="verdict").one("tbody").all("tr")
    return {words(row.one("th")): [words(td) for td in row.all("td")] for row in rows}
