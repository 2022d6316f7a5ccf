"""Safe files of τ-ARGUS: a table as it leaves the program, in the layouts that other tools read.

A withheld cell is ``x``, an empty one ``-``. Files with statuses (``AS+``), SBS, intermediate and JJ files
hold the values of withheld cells too, and statuses tell unsafe cells from those withheld with them: such
files are confidential, and stay in the house.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from hitoku.errors import ParameterError
from hitoku.io.argus.asked import CODE_VALUE, CSV, INTERMEDIATE, JJ, PIVOT, SBS
from hitoku.io.argus.intermediate import write_intermediate
from hitoku.io.argus.judged import UNSAFE, ArgusStatus, Judged
from hitoku.io.argus.safe_table import SafeTable, coded, codes_of, ordered_codes
from hitoku.io.argus.text import write_text
from hitoku.io.jj import write_jj
from hitoku.model.arrays import Integers
from hitoku.model.dimension import Dimension
from hitoku.model.protection import Protection

WITHHELD, EMPTY = "x", "-"
# Costs in a JJ file are whole numbers up to this one, as τ-ARGUS scales them.
LARGEST_COST = 20_000
# Nobody is assumed to know more than that a cell is no larger than this many times the largest one.
BEYOND = 1.5
FLAGS = {ArgusStatus.FREQUENCY: "A", ArgusStatus.SECONDARY: "D", ArgusStatus.SECONDARY_BY_HAND: "D"}


def confidential(kind: int, options: frozenset[str]) -> bool:
    """Tell whether a safe file holds values of withheld cells, or tells unsafe cells from the others."""
    return kind in {SBS, INTERMEDIATE, JJ} or not options.isdisjoint({"AS", "SO"})


def write_safe_file(
    path: str | Path, table: SafeTable, kind: int, options: frozenset[str] = frozenset({"QU"})
) -> list[Path]:
    """Write a table as a safe file of some type.

    Parameters
    ----------
    path
        The file; an intermediate one gets its metadata and trees beside it.
    table
        What to write.
    kind
        1 cross table, 2 pivot table, 3 code and value, 4 SBS, 5 intermediate, 6 JJ.
    options
        Those that are switched on: AS statuses, SE without empty cells, FL header, QU quotes, HL levels
        (type 4), SO statuses instead of values, AR what an attack proves (type 5).

    Returns
    -------
    list
        The files that were written.
    """
    path = Path(path)
    if kind == JJ:
        _write_jj(path, table)
        return [path]
    if kind == INTERMEDIATE:
        return write_intermediate(path, table, options)
    writers = {CSV: _cross_lines, PIVOT: _code_lines, CODE_VALUE: _code_lines, SBS: _sbs_lines}
    if kind not in writers:
        raise ParameterError(f"no safe file of type {kind}", where="type", fix="types are 1 to 6")
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
    """Return the level of every code; a variable without a tree has one level only."""
    if all(tree.n_levels <= 2 for tree in dimension.hierarchies):
        return dict.fromkeys(dimension.codes, 0)
    depth: dict[str, int] = {}
    for tree in dimension.hierarchies:
        for code, parent in zip(tree.codes, tree.parents.tolist(), strict=True):
            depth.setdefault(code, 0 if parent < 0 else depth[tree.codes[parent]] + 1)
    return depth


def _flag(judged: Judged, status: Integers, cell: int) -> list[str]:
    """Return the flag of a cell and, where it is due, the shares of its largest contributors in percent."""
    own = ArgusStatus(int(status[cell]))
    if own not in UNSAFE or own is ArgusStatus.FREQUENCY:
        return [FLAGS.get(own, "V")]
    why = judged.need.why(cell)
    dominated = [rule.n for place, rule in enumerate(judged.safety.nk) if _named("dominance", place) in why]
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


def _named(rule: str, place: int) -> str:
    """Name the rule of a kind that stands in some place, as needs do."""
    return f"{rule} {place + 1}" if place else rule


def _write_jj(path: Path, table: SafeTable) -> None:
    """Write a JJ file as τ-ARGUS does: whole costs, every bound a number."""
    source = table.judged.table
    cost = np.abs(source.value) if source.cost is None else source.cost
    scale = LARGEST_COST / max(float(cost.max()), 1.0)
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
