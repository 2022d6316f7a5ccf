"""Overview of a publication: links between tables, suppressed cells, and published shares.

Written as a CSV file and as a page. Both are confidential: a share of suppressed value may reveal a single
cell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import numpy as np

from hitoku.evidence import Outcome, combine
from hitoku.files import new_file, write_csv
from hitoku.io.pages import render
from hitoku.io.report import LIGHTS, row_class
from hitoku.model import ATTACKERS, Integers, Release, Verdict

# Name of a table, its number of cells, and the cells shared with others.
Node = tuple[str, int, Mapping[str, int]]

# Above this number of tables in a group, no line is drawn for pairs that share only a grand total.
MANY_TABLES = 12


class LinkSize(float, Enum):
    """Sizes in the picture of linked tables."""

    LETTER = 8.0
    SMALLEST, LARGEST = 5.0, 15.0
    """Radius of a table."""


@dataclass(frozen=True)
class TableSpot:
    """Table in the picture: position, radius, and label."""

    name: str
    x: float
    y: float
    radius: float
    label_x: float
    label_y: float
    anchor: str
    label: str


@dataclass(frozen=True)
class LinkLine:
    """Line between two tables that share cells."""

    x1: float
    y1: float
    x2: float
    y2: float
    width: float
    label: str


@dataclass(frozen=True)
class LinkPicture:
    """Spots and lines within a box of ``width`` by ``height``."""

    width: float
    height: float
    spots: tuple[TableSpot, ...]
    lines: tuple[LinkLine, ...]


def link_picture(group: Sequence[Node]) -> LinkPicture:
    """Return a picture of the tables of a group on a circle.

    Examples
    --------
    >>> picture = link_picture([("a", 9, {"b": 3}), ("b", 12, {"a": 3})])
    >>> [spot.name for spot in picture.spots], [line.label for line in picture.lines]
    (['a', 'b'], ['a and b share 3 cells'])
    """
    radius = 0.0 if len(group) == 1 else max(34.0, len(group) * 2 * LinkSize.LARGEST / (2 * math.pi) * 1.15)
    margin = LinkSize.LARGEST + 12.0 + LinkSize.LETTER * max(len(name) for name, _, _ in group)
    middle = radius + margin, radius + LinkSize.LARGEST + 18.0
    own = {node[0]: _spot(node, place, len(group), middle, radius) for place, node in enumerate(group)}
    wide, high = (round(2 * half, 1) for half in middle)
    return LinkPicture(wide, high, tuple(own.values()), tuple(_link_lines(group, own)))


def _spot(node: Node, place: int, n: int, middle: tuple[float, float], radius: float) -> TableSpot:
    name, size, _ = node
    angle = 2 * math.pi * place / n - math.pi / 2
    across, down = math.cos(angle), math.sin(angle)
    own = min(LinkSize.LARGEST, LinkSize.SMALLEST + 1.6 * math.log10(max(size, 1)) ** 1.4)
    x, y = middle[0] + radius * across, middle[1] + radius * down
    aside = n > 1 and abs(across) > 0.2
    anchor = "middle" if not aside else "start" if across > 0 else "end"
    label_x = x + (math.copysign(own + 5, across) if aside else 0.0)
    label_y = y + (4.0 if aside else -own - 5 if n > 1 and down < 0 else own + 14)
    shown = f"{name}: {size:,} cells"
    x, y, own, label_x, label_y = (round(number, 1) for number in (x, y, own, label_x, label_y))
    return TableSpot(name, x, y, own, label_x, label_y, anchor, shown)


def _link_lines(group: Sequence[Node], spots: Mapping[str, TableSpot]) -> list[LinkLine]:
    found: list[LinkLine] = []
    for place, (name, _, shares) in enumerate(group):
        for other, *_ in group[place + 1 :]:
            n = shares.get(other, 0)
            if n == 0 or (n == 1 and len(group) > MANY_TABLES):
                continue
            one, two = spots[name], spots[other]
            width = round(min(7.0, 0.7 + 0.9 * math.log2(n)), 1)
            label = f"{name} and {other} share {n:,} cell{'' if n == 1 else 's'}"
            found.append(LinkLine(one.x, one.y, two.x, two.y, width, label))
    return found


# Tables with a lower published share of value are marked.
LITTLE = 0.2
STYLES = ("style.css", "overview.css")
NOTICE = """CONFIDENTIAL. This folder is for the person who signs the publication. Do not publish it.

overview.html  the verdict, which tables link where, what each withholds, what is left of it
overview.csv   the same, a line for every table

Tables that share nothing were protected apart. Every folder beside this one is a release with its own
evidence and certificate: public/ is published, checker/ is confidential.

"""


@dataclass(frozen=True, kw_only=True)
class OverviewTable:
    """Key figures of a table in a publication."""

    # name, measure, variables: name, measure and variables.
    name: str
    measure: str
    variables: tuple[str, ...]
    # n_cells, n_filled: number of cells, and of non-empty cells.
    n_cells: int
    n_filled: int
    # n_unsafe, n_withheld: number of unsafe cells, and of suppressed cells.
    n_unsafe: int
    n_withheld: int
    # kept_cells, kept_value: published shares of non-empty cells, and of the value of inner cells.
    kept_cells: float
    kept_value: float
    # Number of cells shared with other tables, by name.
    shares: Mapping[str, int] = field(default_factory=dict)

    @property
    def most_shared(self) -> list[tuple[str, int]]:
        """The three tables with the most shared cells, and their number."""
        return sorted(self.shares.items(), key=lambda each: -each[1])[:3]

    @classmethod
    def of(
        cls, name: str, outcome: Outcome, release: Release, places: Mapping[str, Integers]
    ) -> OverviewTable:
        """Return the figures of a table of an outcome; ``places`` are the cell indices of all tables."""
        cells = places[name] if name in places else np.flatnonzero(outcome.table.shown)
        whole, withheld = outcome.table, release.withheld
        value = np.abs(whole.value[cells])
        filled = (value != 0) | (False if whole.frequency is None else whole.frequency[cells] > 0)
        sums = np.zeros(release.n_cells, dtype=bool)
        sums[release.relations.indices[release.relations.data < 0]] = True
        inner = value[~sums].sum()
        return cls(
            name=name,
            measure=release.measure,
            variables=release.labels.names,
            n_cells=release.n_cells,
            n_filled=int(filled.sum()),
            n_unsafe=int(outcome.need.unsafe[cells].sum()),
            n_withheld=int(withheld.sum()),
            kept_cells=float((filled & ~withheld).sum() / filled.sum()) if filled.any() else 1.0,
            kept_value=float(value[~sums & ~withheld].sum() / inner) if inner else 1.0,
            shares={
                other: n
                for other, own in places.items()
                if other != name and (n := int(np.isin(cells, own).sum()))
            },
        )


@dataclass(frozen=True, kw_only=True)
class OverviewGroup:
    """Group of tables protected together."""

    # name, folder: name of the group, and path of its release relative to the overview.
    name: str
    folder: str
    outcome: Outcome  # What was decided and found.
    tables: tuple[OverviewTable, ...]  # Figures of its tables.

    @classmethod
    def of(
        cls,
        name: str,
        folder: str,
        outcome: Outcome,
        parts: Mapping[str, Release],
        places: Mapping[str, Integers],
    ) -> OverviewGroup:
        """Return the figures of an outcome; a table protected alone has the name of its group."""
        shown = parts or {name: outcome.public}
        tables = tuple(OverviewTable.of(each, outcome, shown[each], places) for each in shown)
        return cls(name=name, folder=folder, outcome=outcome, tables=tables)

    @property
    def linked(self) -> bool:
        """Whether there are several tables, each with its own folder."""
        return len(self.tables) > 1

    @property
    def least(self) -> OverviewTable:
        """Table with the lowest published share of value."""
        return min(self.tables, key=lambda table: table.kept_value)

    @property
    def picture(self) -> LinkPicture:
        """Picture of its tables and shared cells."""
        return link_picture([(table.name, table.n_cells, table.shares) for table in self.tables])

    @property
    def page(self) -> str:
        """Path of the report on the group."""
        return f"{self.folder}/checker/report.html"

    def table_page(self, table: OverviewTable) -> str:
        """Return the path of the published page of a table."""
        name = f"{table.name}/{table.name}" if self.linked else "table"
        return f"{self.folder}/public/{name}.html"


def write_overview(path: Path, groups: Sequence[OverviewGroup]) -> None:
    """Write a CSV file with one row per table."""
    rows: list[list[object]] = [
        [
            *("table", "group", "measure", "variables", "cells", "filled", "unsafe", "withheld"),
            *("published_share_of_cells", "published_share_of_value"),
            *("verdict", "colour", *ATTACKERS, "shares_cells_with"),
        ]
    ]
    for group in groups:
        verdict = group.outcome.verdict
        results = {row.attacker: str(row.status) for row in verdict.rows if row.applies}
        rows += [
            [
                table.name,
                group.name,
                table.measure,
                " x ".join(table.variables),
                *(table.n_cells, table.n_filled, table.n_unsafe, table.n_withheld),
                *(round(table.kept_cells, 4), round(table.kept_value, 4)),
                *(str(verdict), str(verdict.colour)),
                *(results.get(attacker, "") for attacker in ATTACKERS),
                "; ".join(f"{other} {n}" for other, n in table.shares.items()),
            ]
            for table in group.tables
        ]
    write_csv(path, rows)


def _verdict(groups: Sequence[OverviewGroup]) -> Verdict:
    """Return the verdict on all groups of tables."""
    return combine({group.name: group.outcome.verdict for group in groups})


def overview_page(groups: Sequence[OverviewGroup], title: str) -> str:
    """Render the page about all tables of a publication."""
    tables = [table for group in groups for table in group.tables]
    remarks = dict.fromkeys(str(remark) for group in groups for remark in group.outcome.remarks)
    verdict = _verdict(groups)
    return render(
        "overview.html",
        STYLES,
        title=title or "Publication",
        groups=groups,
        tables=tables,
        little=LITTLE,
        verdict=verdict,
        light=LIGHTS[verdict.colour],
        light_of=lambda group: LIGHTS[group.outcome.verdict.colour],
        row_class=row_class,
        _=str,
        remarks=list(remarks),
        n_cells=sum(table.n_cells for table in tables),
        n_withheld=sum(table.n_withheld for table in tables),
    )


def write_overview_page(path: Path, groups: Sequence[OverviewGroup], title: str) -> None:
    """Write the page, replacing an earlier one."""
    with new_file(path) as draft:
        draft.write_text(overview_page(groups, title), encoding="utf-8", newline="\n")


def write_publication(folder: Path, groups: Sequence[OverviewGroup], title: str) -> None:
    """Write the overview folder of a publication."""
    folder.mkdir()
    write_overview(folder / "overview.csv", groups)
    write_overview_page(folder / "overview.html", groups, title)
    verdict = _verdict(groups)
    lines = "".join(f"{line}\n" for line in (f"Verdict: {verdict}", *verdict.lines))
    (folder / "README.txt").write_text(NOTICE + lines, encoding="utf-8")
