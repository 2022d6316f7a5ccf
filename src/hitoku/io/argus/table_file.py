"""τ-ARGUS tables (``.tab``): one line per cell, including all totals.

Additivity is checked to the decimals declared in the metadata. If a total differs from the sum of its parts,
the error lists the relations by their codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from hitoku.errors import DataError, ParameterError, TableError, did_you_mean, some
from hitoku.io.argus.columns import Part, bare, parsed_numbers, split_lines
from hitoku.io.argus.metadata import Metadata, Variable
from hitoku.io.argus.text import read_text
from hitoku.io.argus.tree import tree_of
from hitoku.messages import Arguments, Text
from hitoku.model import (
    LARGEST_WHOLE,
    Contributors,
    Dimension,
    Floats,
    Integers,
    Labels,
    Mask,
    Need,
    Table,
    add_up,
    broken,
    cross_relations,
    refuse_too_large,
)

Additivity = Literal["check", "recompute", "open"]
Letters = np.ndarray[Any, Any]

# Statuses used here, whatever letters a file has: safe, unsafe, protected, secondary, empty.
SAFE, UNSAFE, PROTECTED, SECONDARY, EMPTY = "S", "U", "P", "M", "E"
NUMBERS: tuple[Part, ...] = ("frequency", "shadow", "cost", "lower", "upper")
ADDED: tuple[Part, ...] = ("frequency", "shadow", "cost")
# Response name for the number of contributors, as in a batch.
FREQUENCY = "<freq>"
# Maximum number of failing relations listed.
MAX_LISTED = 5
# Separator between the codes of a cell.
CROSS = " \N{MULTIPLICATION SIGN} "


@dataclass(frozen=True, eq=False, kw_only=True)
class GivenTable:
    """Table read from a file, with its statuses and protection levels."""

    table: Table  # The table; protected and empty cells are fixed.
    # Letter per cell: S safe, U unsafe, P protected, M secondary, E empty. None if the file has no statuses.
    status: Letters | None
    # lower, upper: protection levels of every cell; None if the file has none.
    lower: Floats | None
    upper: Floats | None
    in_file: Mask  # Mask of cells listed in the file; others are empty or were recomputed.

    @property
    def need(self) -> Need:
        """Protection requirements of the file; levels are zero if it has none."""
        unsafe = np.zeros(self.table.n_cells, dtype=bool) if self.status is None else self.status == UNSAFE
        lower, upper = (
            np.where(unsafe, level, 0.0) if level is not None else 0.0 for level in (self.lower, self.upper)
        )
        return Need(unsafe=unsafe, lower=lower, upper=upper, rules={"given": unsafe})  # type: ignore[arg-type]  # a scalar is repeated


def read_table(
    path: str | Path,
    metadata: Metadata,
    *,
    by: Sequence[str] | None = None,
    value: str | None = None,
    additivity: Additivity = "check",
    keep_status: bool = True,
) -> GivenTable:
    """Read the cells of a table.

    Cells not in the file are empty, that is, zero. Totals are checked, recomputed or kept. A group with a
    single part is a relation like any other: the two cells are equal and suppressed together.

    Parameters
    ----------
    path
        The file, plain or gzip.
    metadata
        Metadata of the file.
    by
        Spanning variables to use. Default: all. For variables not used, cells with their total are read.
    value
        Column of the cell values; ``"<freq>"`` is the number of contributors. Default: the only one.
    additivity
        "check" raises an error for a table that is not additive to the declared decimals; "recompute"
        recomputes totals, including largest contributions; "open" keeps all values. Default: "check".
    keep_status
        Whether recomputed totals keep their status. Default: True.
    """
    path = Path(path)
    _refuse_misuse(metadata, additivity, path.name)
    file = _File(path, metadata)
    spanning = [metadata.variable(name) for name in by] if by is not None else list(metadata.spanning)
    response = _response(metadata, value, path.name)
    cells = _Cells(file, spanning, complete=additivity != "recompute")
    values = cells.spread(file.numbers(response, needed=True))
    decimals = max(response.decimals, file.decimals(response))
    parts = {part: cells.column(part) for part in NUMBERS}
    columns = [cells.spread(file.numbers(variable)) for variable in metadata.of_part("largest")]
    largest = np.column_stack(columns) if columns else np.zeros((len(values), 0))
    status = cells.status()
    if additivity == "check":
        _refuse_broken(cells, values, decimals, response.decimals, path.name)
    elif additivity == "recompute":
        added = cells.added(values)
        values = np.round(added, decimals) if _exact(added, decimals) else added
        for part in ADDED:
            column = parts[part]
            parts[part] = None if column is None else cells.added(column)
        largest = cells.merged(largest)
        status = status if keep_status or status is None else np.where(cells.leaf, status, SAFE)
    frequency = None if parts["frequency"] is None else _counts(parts["frequency"], path.name)
    status, fixed = _settle_status(status, _empty(values, frequency, status, cells.given))
    whole = values if parts["shadow"] is None else parts["shadow"]
    table = Table(
        value=values,
        relations=cells.relations,
        dimensions=cells.dimensions,
        frequency=frequency,
        units=_contributors(largest, frequency, whole, cells.labels, path.name) if columns else None,
        measures={} if parts["shadow"] is None else {"shadow": parts["shadow"]},
        integer=decimals == 0,
        cost=parts["cost"],
        fixed=fixed if fixed.any() else None,
        measure=response.name,
        additive=len(broken(cells.relations, values)) == 0,
    )
    return GivenTable(
        table=table, status=status, lower=parts["lower"], upper=parts["upper"], in_file=cells.given
    )


def _refuse_misuse(metadata: Metadata, additivity: str, name: str) -> None:
    if metadata.layout != "table":
        raise ParameterError(
            "metadata_of_records",
            "these metadata describe records, not a table",
            where=name,
            fix="read it with read_microdata, or read the metadata with kind='table'",
        )
    if additivity not in get_args(Additivity):
        raise ParameterError(
            "unknown_additivity",
            "no way {additivity!r} to treat totals",
            where="additivity",
            fix=did_you_mean(additivity, get_args(Additivity)),
            additivity=additivity,
        )


def _settle_status(status: Letters | None, empty: Mask) -> tuple[Letters | None, Mask]:
    """Return the status of every cell, including empty ones, and the cells that stay published."""
    if status is None:
        return None, empty
    settled = np.where(empty, EMPTY, np.where(status == EMPTY, SAFE, status))
    return settled, empty | (settled == PROTECTED)


class _File:
    """Columns of the file, as text and as numbers."""

    def __init__(self, path: Path, metadata: Metadata) -> None:
        self.name = path.name
        self.metadata = metadata
        names = [variable.name for variable in metadata.variables]
        columns = split_lines(read_text(path, "table"), str(metadata.separator), names, path.name)
        self.columns = dict(zip(names, map(bare, columns), strict=True))
        figures = [self.columns[v.name] for v in metadata.variables if v.is_number]
        signs = {sign for column in figures for entry in column for sign in ",." if sign in entry}
        if len(signs) > 1:
            raise DataError(
                "points_and_commas_in_file",
                "the file holds both points and commas in its numbers",
                where=self.name,
                fix="use one decimal sign and no sign between thousands",
            )

    def numbers(self, variable: Variable, *, needed: bool = False) -> Floats:
        values = parsed_numbers(self.columns[variable.name], variable.name, self.name)
        blank = np.isnan(values)
        if needed and blank.any():
            raise DataError(
                "column_blank",
                "column {column!r} is blank in {n} line(s)",
                where="{name}, first in record {argmax}",
                fix="write 0 for an empty cell, or leave its line out",
                column=variable.name,
                n=int(blank.sum()),
                name=self.name,
                argmax=int(np.argmax(blank)) + 1,
            )
        return np.where(blank, 0.0, values)

    def decimals(self, variable: Variable) -> int:
        """Return the maximum number of printed decimals in a column."""
        printed = (entry.strip().replace(",", ".").partition(".")[2] for entry in self.columns[variable.name])
        return max((len(digits.rstrip("0")) for digits in printed), default=0)


class _Cells:
    """Positions in the table of the lines of a file."""

    def __init__(self, file: _File, spanning: Sequence[Variable], *, complete: bool) -> None:
        self.file = file
        self.rows = _totals_of_others(file, spanning)
        self.dimensions = tuple(
            _dimension(file, variable, self.rows, complete=complete) for variable in spanning
        )
        refuse_too_large(self.dimensions)
        self.labels = Labels.cross(self.dimensions)
        self.relations = cross_relations(self.dimensions)
        self.shape = tuple(len(dimension) for dimension in self.dimensions)
        places = [
            [d.position[code] for code in _codes(file, variable, self.rows)]
            for d, variable in zip(self.dimensions, spanning, strict=True)
        ]
        self.cell: Integers = np.asarray(np.ravel_multi_index(places, self.shape), dtype=np.int64)
        times = np.bincount(self.cell, minlength=len(self.labels))
        twice = np.flatnonzero(times > 1)
        if len(twice):
            raise DataError(
                "cells_repeated",
                "{n} cell(s) have more than one line",
                where="{file}: {twice}",
                fix="give every cell one line",
                n=len(twice),
                file=file.name,
                twice=some((self.labels.describe(int(c)) for c in twice[:3]), 3),
            )
        self.given: Mask = times > 0
        inner = np.zeros(self.shape, dtype=bool)
        inner[tuple(slice(len(dimension.leaves)) for dimension in self.dimensions)] = True
        self.leaf: Mask = inner.ravel()

    def spread(self, column: Floats) -> Floats:
        """Return a column of the file by cell, with zero elsewhere."""
        cells = np.zeros(len(self.labels))
        cells[self.cell] = column[self.rows]
        return cells

    def column(self, part: Part) -> Floats | None:
        """Return the only column with this number of the cells; None if there is none."""
        named = self.file.metadata.of_part(part)
        if len(named) > 1:
            raise DataError(
                "several_columns_for_part",
                "the metadata have {n} columns with the {part} of cells",
                where="variables {variables}",
                fix="keep one of them",
                n=len(named),
                part=part,
                variables=", ".join(variable.name for variable in named),
            )
        return self.spread(self.file.numbers(named[0])) if named else None

    def added(self, cells: Floats) -> Floats:
        """Return the cells with recomputed totals."""
        leaves = cells[self.leaf].reshape([len(dimension.leaves) for dimension in self.dimensions])
        return add_up(leaves, self.dimensions)

    def merged(self, largest: Floats) -> Floats:
        """Return the largest contributions, with those of totals taken from their parts."""
        top = largest.shape[1]
        ranks = largest[self.leaf].reshape([*(len(d.leaves) for d in self.dimensions), top])
        for axis, dimension in enumerate(self.dimensions):
            moved = np.moveaxis(ranks, axis, 0)
            found = []
            for row in range(len(dimension)):
                entries = slice(dimension.closure.indptr[row], dimension.closure.indptr[row + 1])
                parts = np.concatenate(list(moved[dimension.closure.indices[entries]]), axis=-1)
                found.append(-np.sort(-parts, axis=-1)[..., :top])
            ranks = np.moveaxis(np.stack(found), 0, axis)
        return ranks.reshape(len(self.labels), top)

    def status(self) -> Letters | None:
        """Return the status letter of each cell; E if the file has no line for it."""
        metadata = self.file.metadata
        named = metadata.of_part("status")
        if not named:
            return None
        known = {letter.casefold(): letter for letter in (SECONDARY, EMPTY)}
        known |= {"": SAFE, metadata.safe.casefold(): SAFE, metadata.protect.casefold(): PROTECTED}
        known[metadata.unsafe.casefold()] = UNSAFE
        letters = [self.file.columns[named[0].name][row].casefold() for row in self.rows.tolist()]
        strange = [place for place, letter in enumerate(letters) if letter not in known]
        if strange:
            raise DataError(
                "unknown_statuses",
                "{n} cell(s) have a status that the metadata do not name",
                where="{file}: {describe}",
                fix="name the letters with <SAFE>, <UNSAFE> and <PROTECT>",
                n=len(strange),
                file=self.file.name,
                describe=self.labels.describe(int(self.cell[strange[0]])),
            )
        status = np.full(len(self.labels), EMPTY)
        status[self.cell] = [known[letter] for letter in letters]
        return status


def _response(metadata: Metadata, value: str | None, where: str) -> Variable:
    if value is not None and value.casefold() == FREQUENCY:
        candidates = metadata.of_part("frequency")
    elif value is not None:
        return metadata.variable(value)
    else:
        candidates = metadata.of_part("value") or metadata.of_part("frequency")
    if len(candidates) != 1:
        raise DataError(
            "several_value_columns",
            "the metadata name {n} columns that could be the value of cells",
            where=where,
            fix=Text(
                "choose one with {arguments}: {candidates}",
                arguments=Arguments(value=...),
                candidates=", ".join(v.name for v in candidates),
            )
            if candidates
            else "add <NUMERIC>",
            n=len(candidates),
        )
    return candidates[0]


def _is_total(code: str, variable: Variable) -> bool:
    """Return whether a code means the total: in any case, or blank."""
    return code.strip().casefold() in {variable.total.strip().casefold(), ""}


def _totals_of_others(file: _File, spanning: Sequence[Variable]) -> Integers:
    """Return the lines with the total of every variable that does not span the table."""
    if not spanning:
        raise DataError(
            "no_spanning_variable",
            "the table has no spanning variable",
            where=file.name,
            fix="mark one with <RECODEABLE>",
        )
    names = {variable.name for variable in spanning}
    others = [variable for variable in file.metadata.spanning if variable.name not in names]
    n_lines = len(next(iter(file.columns.values())))
    rows = [
        row
        for row in range(n_lines)
        if all(_is_total(file.columns[variable.name][row], variable) for variable in others)
    ]
    if not rows:
        raise DataError(
            "no_line_with_left_out_totals",
            "no line has the totals of the variables that are left out",
            where="{file}, variables {variables}",
            fix="name them in by=, or correct <TOTCODE>",
            file=file.name,
            variables=", ".join(variable.name for variable in others),
        )
    return np.array(rows, dtype=np.int64)


def _codes(file: _File, variable: Variable, rows: Integers) -> list[str]:
    column = file.columns[variable.name]
    spelt = {code: variable.total if _is_total(code, variable) else code.rstrip() for code in set(column)}
    return [spelt[column[row]] for row in rows.tolist()]


def _dimension(file: _File, variable: Variable, rows: Integers, *, complete: bool) -> Dimension:
    codes = set(_codes(file, variable, rows))
    if complete and variable.total not in codes:
        raise DataError(
            "no_line_with_total",
            "no line has the total {total!r} of variable {variable!r}",
            where=file.name,
            fix="name the code of its total with <TOTCODE>, or let the totals be recomputed",
            total=variable.total,
            variable=variable.name,
        )
    return Dimension.of(variable.name, tree_of(variable, file.metadata, codes))


def _empty(values: Floats, frequency: Integers | None, status: Letters | None, given: Mask) -> Mask:
    """Return the mask of empty cells: no contributors, or, if unknown, not in the file or marked empty."""
    if frequency is not None:
        nobody: Mask = frequency == 0
    else:
        nobody = ~given if status is None else ~given | (status == EMPTY)
    return np.asarray((values == 0) & nobody)


def _counts(column: Floats, where: str) -> Integers:
    wrong = (column < 0) | (column != np.round(column))
    if wrong.any():
        raise DataError(
            "frequency_not_a_count",
            "{n} cell(s) have a frequency that is not a count",
            where=where,
            fix="frequencies are whole numbers, not below zero",
            n=int(wrong.sum()),
        )
    return column.astype(np.int64)


def _contributors(
    largest: Floats, frequency: Integers | None, whole: Floats, labels: Labels, where: str
) -> Contributors:
    wrong = np.flatnonzero(np.any(np.diff(largest, axis=1) > 0, axis=1) | np.any(largest < 0, axis=1))
    if len(wrong):
        raise DataError(
            "largest_contributions_invalid",
            "{n} cell(s) have largest contributions below zero or not in falling order",
            where="{place}: {wrong}",
            fix="the first <MAXSCORE> column holds the largest, the next one the second largest",
            n=len(wrong),
            place=where,
            wrong=some((labels.describe(int(c)) for c in wrong[:3]), 3),
        )
    count = (largest > 0).sum(axis=1) if frequency is None else frequency
    return Contributors(count=count, largest=largest, total=whole, negative=bool(np.any(whole < 0)))


def _exact(values: Floats, decimals: int) -> bool:
    """Return whether sums of the values, in units of the last decimal, are exact as doubles."""
    return bool(np.abs(values).sum() * 10.0**decimals < LARGEST_WHOLE)


def _refuse_broken(cells: _Cells, values: Floats, decimals: int, declared: int, where: str) -> None:
    """Raise an error if a total differs from its parts by at least half a unit of the last decimal."""
    relations = cells.relations
    allowed = 0.5 * 10.0**-declared
    if _exact(values, decimals):
        # Integers in units of the last decimal avoid rounding: 0.1 + 0.2 is 0.3.
        units = np.abs(relations @ np.round(values * 10.0**decimals))
        failing = np.flatnonzero(units >= allowed * 10.0**decimals)
    else:
        failing = np.intersect1d(
            np.flatnonzero(np.abs(relations @ values) >= allowed), broken(relations, values)
        )
    if len(failing) == 0:
        return
    named = []
    for row in failing[:MAX_LISTED]:
        entries = slice(relations.indptr[row], relations.indptr[row + 1])
        places, signs = relations.indices[entries], relations.data[entries]
        total = int(places[signs < 0][0])
        codes = cells.labels.codes_of(total)
        parts = [cells.labels.codes_of(int(place)) for place in places[signs > 0]]
        axis = next(a for a, code in enumerate(codes) if parts[0][a] != code)
        cross = CROSS.join(code.strip() for code in codes)
        absent = "" if cells.given[total] else ", which has no line,"
        summands = some((part[axis].strip() for part in parts), 6)
        named.append(f"{cross}{absent} does not equal the sum of {cells.labels.names[axis]} {summands}")
    rest = f"; and {len(failing) - MAX_LISTED} more" if len(failing) > MAX_LISTED else ""
    raise TableError(
        "table_not_additive",
        "the table does not add up: {n_failing} of {n_relations} relations fail",
        where="{place}: {named}{rest}",
        fix="correct these totals or their parts, or let the totals be recomputed (additivity='recompute')",
        n_failing=len(failing),
        n_relations=relations.shape[0],
        place=where,
        named="; ".join(named),
        rest=rest,
    )
