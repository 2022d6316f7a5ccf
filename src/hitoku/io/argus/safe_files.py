"""Safe files of τ-ARGUS: 1 cross table, 2 pivot table, 3 code and value, 4 SBS, 5 intermediate, 6 JJ.

A suppressed cell is ``x``, an empty one ``-``. Files with statuses (``AS+``), SBS, intermediate and JJ files
are confidential, because they contain the values of suppressed cells, or distinguish primary from secondary
suppressions. An intermediate file (type 5) can be read again with its ``.rda``, even if cells are suppressed
(letter M).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from hitoku.errors import OutputError, ParameterError
from hitoku.io.argus.batch_request import CODE_VALUE, CSV, INTERMEDIATE, JJ, PIVOT, SBS
from hitoku.io.argus.columns import UNSAFE, ArgusStatus, Judged, Part
from hitoku.io.argus.metadata import Metadata, Variable, write_metadata
from hitoku.io.argus.table_writer import SEPARATOR, only_tree
from hitoku.io.argus.text import ArgusLimit, quote, write_text
from hitoku.io.argus.tree import LEAD, write_tree
from hitoku.io.jj import write_jj
from hitoku.model import Bounds, Dimension, Floats, Integers, Mask, Protection


@dataclass(frozen=True, eq=False, kw_only=True)
class SafeTable:
    """Protected table to be written."""

    judged: Judged  # Cells with their statuses.
    # Protection; None before suppression: only unsafe cells are suppressed.
    protection: Protection | None = None
    bounds: Bounds | None = None  # Intervals from an attack, for the audit columns of an intermediate file.

    @property
    def status(self) -> Integers:
        """Statuses after suppression."""
        return self.judged.after(self.protection)

    @property
    def withheld(self) -> Mask:
        """Suppressed cells."""
        if self.protection is not None:
            return self.protection.withheld
        return self.judged.need.unsafe | self.judged.withheld

    @property
    def value(self) -> Floats:
        """Published values, and true values of suppressed cells."""
        own = self.judged.table.value if self.judged.shown is None else self.judged.shown
        if self.protection is None or np.array_equal(self.protection.value, self.judged.table.value):
            return own
        return self.protection.value

    @property
    def order(self) -> Integers:
        """Cells in the order of τ-ARGUS: totals before their parts, the first variable slowest."""
        table = self.judged.table
        if not table.dimensions:
            raise OutputError(
                "no_variables_for_safe_file",
                "a table without variables cannot be written as a safe file",
                fix="write a JJ file (type 6), which needs no codes",
            )
        places = [[d.position[code] for code in ordered_codes(d)] for d in table.dimensions]
        grid = np.arange(table.n_cells).reshape(table.shape)
        return np.asarray(grid[np.ix_(*places)].ravel())

    def text(self, number: float) -> str:
        """Format a number with the decimals of the table."""
        return f"{number + 0.0:.{self.judged.decimals}f}"


def ordered_codes(dimension: Dimension) -> tuple[str, ...]:
    """Return the codes of a variable in the order of τ-ARGUS: the total, then each group before its parts.

    Examples
    --------
    >>> from hitoku.model import Hierarchy
    >>> ordered_codes(Dimension.of("region", Hierarchy.from_tree({"North": ["N1", "N2"], "South": None})))
    ('Total', 'North', 'N1', 'N2', 'South')
    """
    return tuple(dict.fromkeys(code for tree in dimension.hierarchies for code in tree.codes))


def coded(code: str, options: frozenset[str], separator: str = ",") -> str:
    if "QU" in options:
        return quote(code, "code")
    if separator in code or '"' in code:
        raise OutputError(
            "code_needs_quotes",
            "code {code!r} cannot be written without quotes",
            where="option QU-",
            fix="write QU+",
            code=code,
        )
    return code


def codes_of(table: SafeTable, cell: int, options: frozenset[str], separator: str = ",") -> list[str]:
    return [coded(code, options, separator) for code in table.judged.table.labels.codes_of(cell)]


LETTERS = {
    **dict.fromkeys(UNSAFE, "U"),
    ArgusStatus.PROTECTED: "P",
    ArgusStatus.SECONDARY: "M",
    ArgusStatus.SECONDARY_BY_HAND: "M",
    ArgusStatus.EMPTY: "E",
}


def write_intermediate(
    path: Path, table: SafeTable, options: frozenset[str] = frozenset({"QU"})
) -> list[Path]:
    """Write all cells, their metadata, and the hierarchy of every variable.

    Parameters
    ----------
    path
        Path of the file; metadata have the suffix ``.rda``, hierarchies ``_variable.hrc``.
    table
        Table to write.
    options
        SE: without empty cells; QU: quotes; AR: intervals from an attack.

    Returns
    -------
    list
        Paths of the written files.
    """
    source, status = table.judged.table, table.status
    columns = [*_numbers(table), *_levels(table)]
    audit = _audit(table) if "AR" in options else []
    names = [*source.labels.names, *(variable.name for variable, _ in (*columns, *audit))]
    if len({name.casefold() for name in names}) < len(names):
        raise OutputError(
            "file_columns_repeated",
            "two columns of the file would have the same name",
            where=path.name,
            fix="rename the variable or the measure that is called like another column",
        )
    rows = list(zip(*(texts for _, texts in (*columns, *audit)), strict=True))
    lines = [
        SEPARATOR.join([*codes_of(table, cell, options, SEPARATOR), *rows[cell]])
        for cell in table.order.tolist()
        if status[cell] != ArgusStatus.EMPTY or "SE" not in options
    ]
    write_text(path, lines, "intermediate file")
    spanning, trees = [], []
    for dimension in source.dimensions:
        tree = path.with_name(tree_name(path.name, dimension.name))
        write_tree(tree, only_tree(dimension), LEAD)
        trees.append(tree)
        spanning.append(
            Variable(
                dimension.name, recodable=True, total=dimension.total, hierarchy_file=tree.name, lead=LEAD
            )
        )
    described = path.with_suffix(".rda")
    own = [variable for variable, _ in (*columns, *audit)]
    write_metadata(described, Metadata("table", (*spanning, *own), separator=SEPARATOR, folder=path.parent))
    return [path, described, *trees]


def tree_name(file: str, variable: str) -> str:
    """Return the name of the hierarchy file of a variable.

    Examples
    --------
    >>> tree_name("safe.txt", "region")
    'safe_region.hrc'
    """
    return f"{Path(file).stem}_{variable}.hrc"


Column = tuple[Variable, Sequence[str]]


def _numbers(table: SafeTable) -> list[Column]:
    """Return the known number columns: value, respondents, shadow variable, cost, largest contributions."""
    source, decimals = table.judged.table, table.judged.decimals

    def quantity(name: str, part: Part, numbers: Sequence[str]) -> Column:
        return Variable(name, numeric=True, decimals=decimals, part=part), numbers

    columns = [quantity(source.measure, "value", [table.text(value) for value in table.value.tolist()])]
    if source.frequency is not None:
        columns.append((Variable("Freq", part="frequency"), [str(n) for n in source.frequency.tolist()]))
    who = source.contributors
    if who is not None and not np.array_equal(who.total, source.value):
        columns.append(quantity(f"{source.measure}_Shadow", "shadow", _texts(who.total)))
    if source.cost is not None:
        columns.append(quantity(f"{source.measure}_Cost", "cost", _texts(source.cost)))
    if who is not None and not who.negative:
        columns += [
            (Variable(f"Top{rank + 1}", part="largest"), _texts(who.largest[:, rank]))
            for rank in range(who.largest.shape[1])
        ]
    return columns


def _levels(table: SafeTable) -> list[Column]:
    need, decimals = table.judged.need, table.judged.decimals
    letters = [LETTERS.get(ArgusStatus(int(status)), "S") for status in table.status]
    return [
        (Variable("Status", part="status"), letters),
        (Variable("LowerPL", numeric=True, decimals=decimals, part="lower"), _texts(need.lower)),
        (Variable("UpperPL", numeric=True, decimals=decimals, part="upper"), _texts(need.upper)),
    ]


def _audit(table: SafeTable) -> list[Column]:
    """Return audit columns: the interval, its width, and all three in percent of the value.

    Infinite ends, and percentages of zero, are left empty.
    """
    if table.bounds is None:
        raise OutputError(
            "no_attack_on_table",
            "no attack was run on this table",
            where="option AR",
            fix="suppress it first",
        )
    value = table.judged.table.value
    low, high = table.bounds.lower, table.bounds.upper
    size = np.where(value == 0, np.nan, np.abs(value))
    numbers = {
        "AuditLower": low,
        "AuditUpper": high,
        "AuditWidth": high - low,
        "AuditLowerPct": 100 * (value - low) / size,
        "AuditUpperPct": 100 * (high - value) / size,
        "AuditWidthPct": 100 * (high - low) / size,
    }
    return [
        (
            Variable(name, numeric=True, decimals=2, part="value"),
            [f"{n:.2f}" if np.isfinite(n) else "" for n in column],
        )
        for name, column in numbers.items()
    ]


def _texts(numbers: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[str]:
    return [f"{number:.15g}" for number in numbers.tolist()]


WITHHELD, EMPTY = "x", "-"
# Upper bound of all cells as a multiple of the largest value, assumed to be public.
BEYOND = 1.5
FLAGS = {ArgusStatus.FREQUENCY: "A", ArgusStatus.SECONDARY: "D", ArgusStatus.SECONDARY_BY_HAND: "D"}


def confidential(kind: int, options: frozenset[str]) -> bool:
    """Return whether a safe file contains suppressed values, or distinguishes primary from secondary."""
    return kind in {SBS, INTERMEDIATE, JJ} or not options.isdisjoint({"AS", "SO"})


def write_safe_file(
    path: str | Path, table: SafeTable, kind: int, options: frozenset[str] = frozenset({"QU"})
) -> list[Path]:
    """Write a table as a safe file of a type.

    Parameters
    ----------
    path
        Path of the file; an intermediate one is written with metadata and hierarchies.
    table
        Table to write.
    kind
        1 cross table, 2 pivot table, 3 code and value, 4 SBS, 5 intermediate, 6 JJ.
    options
        Options in use: AS statuses, SE without empty cells, FL header, QU quotes, HL levels (type 4), SO
        statuses instead of values, AR intervals from an attack (type 5).

    Returns
    -------
    list
        Paths of the written files.
    """
    path = Path(path)
    if kind == JJ:
        _write_jj(path, table)
        return [path]
    if kind == INTERMEDIATE:
        return write_intermediate(path, table, options)
    writers = {CSV: _cross_lines, PIVOT: _code_lines, CODE_VALUE: _code_lines, SBS: _sbs_lines}
    if kind not in writers:
        raise ParameterError(
            "unknown_safe_file_type",
            "no safe file of type {type}",
            where="type",
            fix="types are 1 to 6",
            type=kind,
        )
    write_text(path, list(writers[kind](table, options)), "safe file")
    return [path]


def _code_lines(table: SafeTable, options: frozenset[str]) -> Iterator[str]:
    source, status, withheld, value = table.judged.table, table.status, table.withheld, table.value
    if "FL" in options:
        last = ["Status"] if "SO" in options else [source.measure, *(["Status"] if "AS" in options else [])]
        yield ",".join(coded(name, options) for name in (*source.labels.names, *last))
    for cell in table.order.tolist():
        empty = status[cell] == ArgusStatus.EMPTY
        if empty and "SE" in options:
            continue
        shown = table.text(value[cell])
        if empty:
            shown = EMPTY
        elif withheld[cell] and "AS" not in options:
            shown = WITHHELD
        last = [str(status[cell])] if {"AS", "SO"} & options else []
        yield ",".join([*codes_of(table, cell, options), *([] if "SO" in options else [shown]), *last])


def _cross_lines(table: SafeTable, options: frozenset[str]) -> Iterator[str]:
    source, status, withheld, value = table.judged.table, table.status, table.withheld, table.value
    rows, *others = source.dimensions
    columns, layers = (others[0], others[1:]) if others else (None, ())
    grid = np.arange(source.n_cells).reshape(source.shape)

    def shown(cell: int) -> str:
        if status[cell] == ArgusStatus.EMPTY:
            return EMPTY
        return WITHHELD if withheld[cell] else table.text(value[cell])

    for codes in product(*(ordered_codes(layer) for layer in layers)):
        if layers:
            named = (f"{layer.name}={code}" for layer, code in zip(layers, codes, strict=True))
            yield coded(" ".join(named), options)
        places = tuple(layer.position[code] for layer, code in zip(layers, codes, strict=True))
        across = ordered_codes(columns) if columns is not None else ()
        yield ",".join(coded(code, options) for code in (rows.name, *(across or (source.measure,))))
        for code in ordered_codes(rows):
            line = np.atleast_1d(grid[(rows.position[code], ...)])
            cells = (
                [line[(columns.position[c], *places)] for c in across] if columns is not None else [line[0]]
            )
            yield ",".join([coded(code, options), *(shown(int(cell)) for cell in cells)])


def _sbs_lines(table: SafeTable, options: frozenset[str]) -> Iterator[str]:
    source, status = table.judged.table, table.status
    depth = {d.name: _depths(d) for d in source.dimensions}
    for cell in table.order.tolist():
        if status[cell] == ArgusStatus.EMPTY:
            continue
        words: list[str] = []
        for name, code in zip(source.labels.names, source.labels.codes_of(cell), strict=True):
            words += [coded(code, options), *([str(depth[name][code])] if "HL" in options else [])]
        count = 1 if source.frequency is None else int(source.frequency[cell])
        yield ",".join(
            [*words, table.text(table.value[cell]), str(count), *_flag(table.judged, status, cell)]
        )


def _depths(dimension: Dimension) -> dict[str, int]:
    """Return the level of every code; a flat variable has a single level."""
    if all(tree.n_levels <= 2 for tree in dimension.hierarchies):
        return dict.fromkeys(dimension.codes, 0)
    depth: dict[str, int] = {}
    for tree in dimension.hierarchies:
        for code, parent in zip(tree.codes, tree.parents.tolist(), strict=True):
            depth.setdefault(code, 0 if parent < 0 else depth[tree.codes[parent]] + 1)
    return depth


def _flag(judged: Judged, status: Integers, cell: int) -> list[str]:
    """Return the flag of a cell and, if required, the shares of its largest contributors in percent."""
    own = ArgusStatus(int(status[cell]))
    if own not in UNSAFE or own is ArgusStatus.FREQUENCY:
        return [FLAGS.get(own, "V")]
    why = judged.need.why(cell)
    dominated = [
        rule.n for place, rule in enumerate(judged.safety.nk) if _rule_name("dominance", place) in why
    ]
    if dominated:
        flag, ranks = ("B", 1) if dominated[0] == 1 else ("C", 2)
    elif own is ArgusStatus.RULE:
        flag, ranks = "F", 2
    else:
        flag, ranks = "B", 1
    who = judged.table.contributors
    if who is None or who.largest.shape[1] < ranks or who.total[cell] <= 0:
        return [flag]
    shares = 100 * who.largest[cell, :ranks] / who.total[cell]
    return [flag, *(f"{share:.1f}" for share in (shares if flag == "F" else [shares.sum()]))]


def _rule_name(rule: str, place: int) -> str:
    """Return the name of the rule of a kind by its position, as in needs."""
    return f"{rule} {place + 1}" if place else rule


def _write_jj(path: Path, table: SafeTable) -> None:
    """Write a JJ file as τ-ARGUS does, with integer costs and finite bounds."""
    source = table.judged.table
    cost = np.abs(source.value) if source.cost is None else source.cost
    scale = ArgusLimit.COST / max(float(cost.max()), 1.0)
    whole = np.maximum(np.rint(cost * min(scale, 1.0)), 1.0)
    far = float(np.ceil(BEYOND * max(float(np.abs(source.value).max()), 1.0)))
    need = table.judged.need
    plain = replace(
        source,
        cost=whole,
        lower=np.where(np.isfinite(source.lower), source.lower, np.minimum(-far, source.value - need.lower)),
        upper=np.where(np.isfinite(source.upper), source.upper, np.maximum(far, source.value + need.upper)),
    )
    write_jj(path, plain, need, table.protection or Protection.withhold(plain, table.withheld, need))
