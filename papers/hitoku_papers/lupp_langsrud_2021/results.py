"""The paper's tables, figure and definitions, computed again.

Its tables print totals of rows and none over groups. So what is compared with print is protected without the
totals of columns, as cells that are not published; what the paper does not have is computed with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from hitoku.attacks import Group, derivable_cells
from hitoku.errors import HitokuError
from hitoku.evidence import audit
from hitoku.methods import Auto, Method
from hitoku.methods.gauss import Gauss
from hitoku.methods.greedy import Greedy
from hitoku.methods.optimal import Optimal
from hitoku.model import Dimension, Hierarchy, Mask, Need, Protection, Release, Table, add_up
from hitoku.rules import DirectDisclosure, MinFrequency, assess
from hitoku_papers.lupp_langsrud_2021.published import (
    DISCLOSIVE,
    FIGURE_1,
    FIGURE_1_GROUPS,
    GROUPS,
    INJURIES,
    TABLE_1,
    TABLE_2,
    TOTALS,
    UNKNOWN_REGION,
)
from hitoku_papers.page import Cell, PageTable
from hitoku_papers.reproduction import Reproduction, same

Forbidden = dict[str, list[tuple[str, ...]]]
SENSITIVE = "injury"
UNKNOWN = {SENSITIVE: "Unknown"}
COALITIONS = (0, 1, 2, 3)
METHODS: dict[str, Method] = {
    "auto": Auto(),
    "optimal": Optimal(cost="unit"),
    "gauss": Gauss(order="coalition", zeros="withhold"),
    "greedy": Greedy(),
}
HURT = ("Light", "Serious")


def table_of(groups: tuple[str, ...] = GROUPS) -> Table:
    """Return Table 1, or some of its rows."""
    counts = [TABLE_1[GROUPS.index(group)] for group in groups]
    return Table.from_array(counts, names=("group", SENSITIVE), codes=(groups, INJURIES))


def sums(table: Table) -> Mask:
    """Tell the totals over groups, which the paper does not print."""
    width = len(INJURIES) + 1
    return np.arange(table.n_cells) >= table.n_cells - width


def pattern(withheld: Mask, unsafe: Mask | None = None) -> tuple[str, ...]:
    """Draw what is withheld, a row each and the total last, without the totals over groups."""
    primary = np.zeros_like(withheld) if unsafe is None else unsafe
    marks = np.where(withheld, "x" if unsafe is None else np.where(primary, "p", "s"), ".")
    return tuple("".join(row) for row in marks.reshape(-1, len(INJURIES) + 1)[:-1])


def _withheld(drawn: Iterable[str]) -> Mask:
    return np.append([mark != "." for row in drawn for mark in row], np.ones(len(INJURIES) + 1, dtype=bool))


def _groups(attack: Group, release: Release) -> tuple[str, ...]:
    """Name the groups that an attack pins, totals over groups aside."""
    codes = release.labels.codes[0]
    column = release.labels.column(0)
    named = [codes[column[place.total]] for place in attack.find(release)]
    return tuple(group for group in GROUPS if group in named)


def cells(table: Table, rule: DirectDisclosure) -> tuple[tuple[str, str, int], ...]:
    """List directly disclosive cells as group, injury and frequency, as section 2.2 does."""
    unsafe = np.asarray(rule.assess(table).unsafe & ~sums(table))
    names = (table.labels.codes_of(int(cell)) for cell in np.flatnonzero(unsafe))
    return tuple(
        (group, injury, int(value)) for (group, injury), value in zip(names, table.value[unsafe], strict=True)
    )


def _text(found: Iterable[tuple[str, str, int]]) -> str:
    return "; ".join(f"{group}, {injury}, {n}" for group, injury, n in found) or "none"


def results() -> tuple[Reproduction, ...]:
    """Compare everything that the paper prints."""
    return (*_definitions(), *_unknowns(), _two_diversity(), *_figure_1(), *_table_2())


def _definitions() -> Iterator[Reproduction]:
    table = table_of()
    totals = table.value.reshape(-1, len(INJURIES) + 1)[:-1, -1].astype(int).tolist()
    yield same("Table 1", "totals of the rows", str(list(TOTALS)), str(totals))
    for k, printed in DISCLOSIVE.items():
        found = cells(table, DirectDisclosure(k=k, sensitive=SENSITIVE))
        why = "the text then speaks of these three cells; it names four" if k else ""
        yield same("section 2.2", f"directly disclosive cells, k = {k}", _text(printed), _text(found), why)
    rule = DirectDisclosure(k=0, sensitive=SENSITIVE)
    passengers = [cell for cell in cells(table, rule) if cell[0] == GROUPS[1]]
    yield same(
        "section 2.1",
        "Oslo's passengers are hurt, lightly or seriously: a disclosure?",
        "no",
        "yes" if passengers else "no",
        "it is one where the user says so: see user-defined sets below",
    )


def _unknowns() -> Iterator[Reproduction]:
    for what, unknown, printed in (
        ("Unknown is a value", {}, _text([(GROUPS[3], "Unknown", 14)])),
        ("Unknown says nothing", UNKNOWN, "none"),
    ):
        found = cells(table_of(), DirectDisclosure(k=1, sensitive=SENSITIVE, unknown=unknown))
        ours = _text(cell for cell in found if cell[0] == GROUPS[3])
        yield same("section 2.3", f"Bergen's passengers, k = 1: {what}", printed, ours)
    table = Table.from_array(
        [UNKNOWN_REGION, TABLE_1[4]], names=("region", SENSITIVE), codes=(("Unknown", "Oslo"), INJURIES)
    )
    for what, unknown, printed in (
        ("a region is a region", {}, _text([("Unknown", "Serious", 7)])),
        ("an unknown region places nobody", {"region": "Unknown"}, "none"),
    ):
        found = cells(table, DirectDisclosure(k=1, sensitive=SENSITIVE, unknown=unknown))
        yield same("section 2.3", f"drivers of unknown region, k = 1: {what}", printed, _text(found))


def _two_diversity(n_tables: int = 200) -> Reproduction:
    """Compare with a count of distinct values, on tables drawn at random."""
    random, differ = np.random.default_rng(2021), 0
    for _ in range(n_tables):
        counts = random.poisson(0.7, (5, 4))
        table = Table.from_array(counts, names=("group", SENSITIVE))
        unsafe = DirectDisclosure(k=0, sensitive=SENSITIVE).assess(table).unsafe & ~sums(table)
        rows = unsafe.reshape(-1, 5)[:-1].any(axis=1)
        # A row of nobody breaches no diversity: there is nobody to learn anything about.
        differ += int(np.any(rows != ((counts > 0).sum(axis=1) == 1)))
    return same(
        "section 4",
        f"k = 0: rows where disclosive cells and 2-diversity disagree, of {n_tables} random tables",
        "0",
        str(differ),
    )


def _figure_1() -> Iterator[Reproduction]:
    table = table_of(FIGURE_1_GROUPS)
    attack = Group(k=1, sensitive=SENSITIVE)
    for name, (drawn, disclosed) in FIGURE_1.items():
        withheld = _withheld(drawn)
        release = Release.of(table, Protection.withhold(table, withheld))
        yield same(
            f"Figure 1, {name}",
            "groups given away, k = 1",
            ", ".join(disclosed) or "none",
            ", ".join(_groups(attack, release)) or "none",
        )
        printed = withheld & ~sums(table)
        if printed.any():
            known = int((derivable_cells(release) & printed).sum())
            yield same(f"Figure 1, {name}", "withheld cells that can be recalculated", "0", str(known))
    small = Need(unsafe=MinFrequency(3, zeros=False).assess(table).unsafe & ~sums(table))
    found = Gauss(zeros="withhold", hidden=sums(table)).protect(table, small).withheld[5:10]
    zero = bool(found[[1, 3]].any())
    yield same(
        "section 2.4",
        "Bergen by small counts, zeros may be withheld: 1 and a zero withheld, 12 and 13 printed",
        "yes",
        "yes" if found[0] and zero and not found[[2, 4]].any() else "no",
        "which of the two zeros is a tie",
    )


def _table_2() -> Iterator[Reproduction]:
    table = table_of()
    rule = DirectDisclosure(k=3, sensitive=SENSITIVE, unknown=UNKNOWN)
    found = rule.assess(table)
    printed_groups = found.attributions.group < sums(table).argmax()
    need = Need(unsafe=found.unsafe & ~sums(table), attributions=found.attributions.take(printed_groups))
    method = Gauss(order="coalition", zeros="withhold", hidden=sums(table))
    protection = method.protect(table, need)
    ours = pattern(protection.withheld, need.unsafe)
    n = sum(a != b for one, other in zip(ours, TABLE_2, strict=True) for a, b in zip(one, other, strict=True))
    yield Reproduction(
        place="Table 2",
        what="k = 3, an unknown says nothing: pattern, a row each",
        published=" ".join(TABLE_2),
        ours=" ".join(ours),
        agrees=n == 0,
        distance="" if n == 0 else f"{n} of 25 cells",
        why="Gauss(order='coalition', zeros='withhold'), totals over groups not printed",
    )
    release = Release.of(table, Protection.withhold(table, _withheld(TABLE_2)))
    attack = Group(k=3, sensitive=SENSITIVE, unknown=UNKNOWN)
    yield same(
        "Table 2",
        "groups that three people can pin in it",
        "none",
        ", ".join(_groups(attack, release)) or "none",
    )


def _rule(k: int, forbidden: Forbidden | None = None) -> DirectDisclosure:
    return DirectDisclosure(k=k, sensitive=SENSITIVE, forbidden=forbidden or {})


def coalitions() -> PageTable:
    """Protect Table 1 with totals over groups for k = 0 to 3, by several methods, and attack the outcome."""
    table = table_of()
    rows: list[tuple[Cell, ...]] = []
    for k in COALITIONS:
        for name, method in METHODS.items():
            rows.append((f"k = {k}" if name == "auto" else "", name, *_attacked(table, _rule(k), method)))
    return PageTable(
        "Beyond the paper: totals over groups are published, k = 0 to 3",
        ("coalition", "method", "disclosive", "withheld", "groups pinned before", "after", "audit"),
        tuple(rows),
        "Disclosive cells, cells withheld, groups that the attack of the rule pins in the table as it is and "
        "in the release, and what the audit says. The totals over groups are rows, too, and are protected.",
        words=2,
    )


def _attacked(
    table: Table, rule: DirectDisclosure, method: Method, forbidden: Forbidden | None = None
) -> tuple[Cell, ...]:
    attack = Group(k=rule.k, sensitive=SENSITIVE, forbidden=forbidden)
    need = assess(table, [rule])
    whole = Release.of(table, Protection.withhold(table, np.zeros(table.n_cells, dtype=bool)))
    n_unsafe, before = int(need.unsafe.sum()), len(attack.find(whole))
    try:
        release = Release.of(table, method.protect(table, need))
    except HitokuError as error:
        return n_unsafe, None, before, None, f"refused: {error.what}"
    verdict = "safe" if audit(table, need, release).safe else "NOT safe"
    return n_unsafe, int(release.withheld.sum()), before, len(attack.find(release)), verdict


def future_work() -> PageTable:
    """Do what the paper announces: hierarchies, and sets of codes that the user forbids or allows."""
    tree = Hierarchy.from_tree({"None": None, "Hurt": HURT, "Unknown": None})
    dimensions = (Dimension.of("group", Hierarchy.flat(GROUPS)), Dimension.of(SENSITIVE, tree))
    value = add_up(np.array(TABLE_1), dimensions)
    nested = Table(
        value=value.astype(np.float64), dimensions=dimensions, frequency=value.astype(np.int64), integer=True
    )
    flat = table_of()
    tried: dict[str, tuple[Table, Forbidden | None]] = {
        "hierarchy: Light and Serious under Hurt": (nested, None),
        "hierarchy, and Hurt must not be learnt": (nested, {SENSITIVE: [("Hurt",)]}),
        "flat, the set Light or Serious must not be learnt": (flat, {SENSITIVE: [HURT]}),
    }
    rows = [
        (name, *_attacked(table, _rule(1, forbidden), Auto(), forbidden))
        for name, (table, forbidden) in tried.items()
    ]
    return PageTable(
        "What the paper announces: hierarchies and user-defined sets, k = 1",
        ("what", "disclosive", "withheld", "groups pinned before", "after", "audit"),
        tuple(rows),
        "Section 4 names both as future work of the R package; the method is auto.",
    )
