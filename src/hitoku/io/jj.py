"""JJ files, the exchange format for cell suppression problems (CSPlib, τ-ARGUS, sdcTable).

A file has a constant, the cells (index, value, cost, status, external bounds, protection levels) and the
relations. Status ``u`` is unsafe, ``s`` safe, ``z`` safe and not to be suppressed, ``m`` a secondary
suppression.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
from scipy import sparse

from hitoku.errors import DataError, ProtectionError
from hitoku.files import new_file, unpack
from hitoku.model import INT64_DIGITS, Floats, Labels, Mask, Need, Protection, Table, broken

# JJ readers do not support infinity; this value stands for no bound.
NO_BOUND = 1e30
# Cell for right-hand sides other than zero: published, with value one.
CONSTANT = "constant"
TERM = re.compile(r"([0-9]+)\s*\(\s*([^\s()]+)\s*\)")
NUMBERS = ("value", "cost", "lower bound", "upper bound", "LPL", "UPL", "SPL")


@dataclass(frozen=True, slots=True)
class _File:
    """Content of a JJ file, cells in the order of their index."""

    status: list[str]
    columns: Floats
    relations: sparse.csr_array
    rhs: Floats


def read_jj(path: str | Path, *, integer: bool = False) -> tuple[Table, Need]:
    """Read cells, relations and protection levels, plain or gzip.

    Cells are named by their number. Bounds become public bounds, ``z`` cells are ``fixed``, costs are
    ``table.cost``. Levels of cells other than ``u`` have no meaning and are dropped; for cells with status
    ``m`` see :func:`read_jj_pattern`. If rounding makes the values non-additive, the table has
    ``additive=False``. A right-hand side other than zero becomes an additional cell "constant" with value
    one.

    Parameters
    ----------
    path
        Path of the file.
    integer
        Whether the values are known to be integers; the format does not say. Default: False.

    Returns
    -------
    tuple[Table, Need]
        Table, and the protection levels of its unsafe cells.

    Raises
    ------
    DataError
        If the file cannot be read; the error names the line.

    Examples
    --------
    >>> import tempfile
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> path = Path(tempfile.mkdtemp()) / "table.jj"
    >>> write_jj(path, table, Need(unsafe=table.value == 1, width=9))
    >>> read, need = read_jj(path, integer=True)
    >>> read, float(need.width.max())
    (Table(9 cells, 6 relations, whole numbers), 9.0)
    """
    file = _read(Path(path))
    value, cost, lower, upper, *levels = file.columns.T
    n = len(value)
    status = np.array(file.status)
    fixed = status == "z"
    relations, labels = file.relations, Labels.numbered(n)
    if np.any(file.rhs):
        extra = sparse.csr_array(-file.rhs[:, None])
        relations = sparse.csr_array(sparse.hstack([relations, extra]))
        value, lower, upper = (np.append(column, 1.0) for column in (value, lower, upper))
        cost, fixed = np.append(cost, 1.0), np.append(fixed, True)
        levels = [np.append(level, 0.0) for level in levels]
        status = np.append(status, "z")
        labels = Labels(("cell",), ((*labels.codes[0], CONSTANT),))
    table = Table(
        value=value,
        relations=relations,
        labels=labels,
        integer=integer,
        lower=np.where(lower <= -NO_BOUND, -np.inf, lower),
        upper=np.where(upper >= NO_BOUND, np.inf, upper),
        cost=cost,
        fixed=fixed if fixed.any() else None,
        additive=len(broken(sparse.csr_array(relations), value)) == 0,
    )
    unsafe = status == "u"
    low, high, wide = (np.where(unsafe, level, 0.0) for level in levels)
    return table, Need(unsafe=unsafe, lower=low, upper=high, width=wide, rules={"given": unsafe})


def read_jj_pattern(path: str | Path) -> Mask:
    """Return the cells that a JJ file marks as suppressed: unsafe (``u``) or secondary (``m``).

    Parameters
    ----------
    path
        Path of the file.

    Returns
    -------
    Mask
        One entry per cell of the table returned by :func:`read_jj`.

    Raises
    ------
    DataError
        If the file cannot be read; the error names the line.
    """
    file = _read(Path(path))
    withheld = np.isin(np.array(file.status), ["u", "m"])
    return np.append(withheld, False) if np.any(file.rhs) else withheld


def write_jj(path: str | Path, table: Table, need: Need, protection: Protection | None = None) -> None:
    """Write a table and its need; compressed if the name ends in ``.gz``.

    Reading the file returns the same table, except for cell names and contributors. A table without costs is
    written with cost one.

    Parameters
    ----------
    path
        Path of the file.
    table, need
        The table, and its protection requirements.
    protection
        Protection whose secondary cells get status ``m``. Default: none.

    Raises
    ------
    NeedError, ProtectionError
        If the need or the protection belongs to a table of another size.
    OutputError
        If the file cannot be written.
    """
    need.require_size(table.n_cells)
    secondary = np.zeros(table.n_cells, dtype=bool)
    if protection is not None:
        if len(protection.withheld) != table.n_cells:
            raise ProtectionError(
                "protection_of_other_table",
                "protection has {n_protection} cells, table has {n_table}",
                fix="use the protection computed for this table",
                n_protection=len(protection.withheld),
                n_table=table.n_cells,
            )
        secondary = protection.withheld & ~need.unsafe
    status = np.full(table.n_cells, "s")
    if table.fixed is not None:
        status[table.fixed] = "z"
    status[secondary] = "m"
    status[need.unsafe] = "u"
    cost = np.ones(table.n_cells) if table.cost is None else table.cost
    columns = (table.value, cost, table.lower, table.upper, need.lower, need.upper, need.width)
    n_cells, relations, rhs = _without_constant(table)
    lines = ["0", str(n_cells)]
    for cell, (value, price, low, high, *levels) in enumerate(
        zip(*(c.tolist() for c in columns), strict=True)
    ):
        if cell < n_cells:
            bounds = (max(low, -NO_BOUND), min(high, NO_BOUND))
            lines.append(
                " ".join(
                    [
                        str(cell),
                        _text(value),
                        _text(price),
                        str(status[cell]),
                        *map(_text, (*bounds, *levels)),
                    ]
                )
            )
    lines.append(str(relations.shape[0]))
    ends, cells, data = relations.indptr.tolist(), relations.indices.tolist(), relations.data.tolist()
    for row, right in enumerate(rhs.tolist()):
        part = slice(ends[row], ends[row + 1])
        terms = " ".join(f"{i} ({_text(c)})" for i, c in zip(cells[part], data[part], strict=True))
        lines.append(f"{_text(right)} {part.stop - part.start} : {terms}".rstrip())
    plain = ("\n".join(lines) + "\n").encode("ascii")
    target = Path(path)
    with new_file(target) as draft:
        draft.write_bytes(gzip.compress(plain, mtime=0) if target.suffix == ".gz" else plain)


def _without_constant(table: Table) -> tuple[int, sparse.csr_array, Floats]:
    """Convert the constant cell of :func:`read_jj` back into right-hand sides."""
    relations, n = table.relations, table.n_cells
    named = table.labels.names == ("cell",) and table.labels.codes_of(n - 1) == (CONSTANT,)
    if not named or table.value[-1] != 1.0:
        return n, relations, np.zeros(relations.shape[0])
    return n - 1, sparse.csr_array(relations[:, : n - 1]), -relations[:, [n - 1]].toarray().ravel()


def _text(number: float) -> str:
    """Return the shortest decimal that is read back as the same double; integers without a point."""
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


class _Lines:
    """Lines of a file, with their numbers for messages."""

    def __init__(self, name: str, lines: list[str]) -> None:
        self.name = name
        self.lines = [(number, line.split()) for number, line in enumerate(lines, 1) if line.strip()]
        self.place = 0

    def next(self, due: str) -> list[str]:
        if self.place == len(self.lines):
            raise DataError(
                "jj_file_ends_early",
                "the file ends before {expected}",
                where=self.name,
                fix="the file is incomplete: copy it again",
                expected=due,
            )
        self.place += 1
        return self.lines[self.place - 1][1]

    def refuse(
        self,
        code: str,
        template: str,
        fix: str = "see the layout in docs/reference/evidence.md",
        /,
        **fields: object,
    ) -> NoReturn:
        line = self.lines[self.place - 1][0]
        raise DataError(
            code, template, where="{file}, line {line}", fix=fix, file=self.name, line=line, **fields
        )

    def number(self, word: str, what: str, kind: Callable[[str], float] = float) -> float:
        try:
            found = kind(word)
        except ValueError:
            found = float("nan")
        if not np.isfinite(found):
            self.refuse("jj_entry_not_a_number", "the {what} is not a number", what=what)
        return found

    def count(self, due: str) -> int:
        words = self.next(due)
        found = _whole(words[0]) if len(words) == 1 else None
        if found is None:
            self.refuse("jj_count_missing", "{what} expected, one integer per line", what=due)
        left = len(self.lines) - self.place
        if found > left:
            # Checked before memory is allocated: a small file could announce huge numbers.
            self.refuse(
                "jj_lines_missing",
                "{announced} announced, but {n} lines follow",
                "the file is incomplete: copy it again",
                announced=found,
                n=left,
            )
        return found


def _whole(word: str) -> int | None:
    """Parse digits; return None for anything else, and for too many digits."""
    return int(word) if word.isdecimal() and len(word) <= INT64_DIGITS else None


def _read(path: Path) -> _File:
    try:
        raw = path.read_bytes()
        lines = _Lines(path.name, unpack(raw).decode("ascii").splitlines())
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise DataError(
            "jj_file_unreadable",
            "cannot read the JJ file",
            where=str(path),
            fix="give a text file in JJ format, plain or gzip",
        ) from error
    if len(words := lines.next("the constant")) != 1:
        lines.refuse("jj_constant_missing", "a JJ file starts with a constant, alone on a line")
    lines.number(words[0], "constant")
    n_cells = lines.count("the number of cells")
    status, columns = _cells(lines, n_cells)
    relations, rhs = _relations(lines, n_cells)
    if lines.place < len(lines.lines):
        lines.place += 1
        lines.refuse(
            "jj_file_continues", "there is more after the last relation", "check the number of relations"
        )
    return _File(status, columns, relations, rhs)


def _cells(lines: _Lines, n_cells: int) -> tuple[list[str], Floats]:
    if n_cells == 0:
        lines.refuse("no_cells", "a table without cells", "give at least one cell")
    status = [""] * n_cells
    columns = np.empty((n_cells, len(NUMBERS)))
    for _ in range(n_cells):
        words = lines.next("a cell")
        if len(words) != 9:
            lines.refuse(
                "jj_cell_entries",
                "a cell has 9 entries, not {n}: index value cost status lb ub LPL UPL SPL",
                n=len(words),
            )
        index = _whole(words[0])
        if index is None or index >= n_cells:
            lines.refuse(
                "jj_cell_index", "the cell's index is not a number from 0 to the number of cells less one"
            )
        if status[index]:
            lines.refuse("jj_cell_repeated", "cell {cell} occurs twice", "give each cell once", cell=index)
        if words[3] not in {"s", "z", "u", "m"}:
            lines.refuse("jj_cell_status", "the cell's status must be s, z, u or m")
        status[index] = words[3]
        columns[index] = [
            lines.number(word, what) for word, what in zip([*words[1:3], *words[4:]], NUMBERS, strict=True)
        ]
        value, cost, low, high, *levels = columns[index]
        if not low <= value <= high:
            lines.refuse(
                "jj_value_outside_bounds",
                "the value of cell {cell} lies outside its bounds",
                "widen lb or ub",
                cell=index,
            )
        if min(cost, *levels) < 0:
            lines.refuse(
                "jj_cost_or_level_negative",
                "cell {cell} has a negative cost or level",
                "costs and levels start at zero",
                cell=index,
            )
    return status, columns


def _relations(lines: _Lines, n_cells: int) -> tuple[sparse.csr_array, Floats]:
    n_relations = lines.count("the number of relations")
    rhs = np.empty(n_relations)
    cells: list[int] = []
    data: list[float] = []
    ends = [0]
    for row in range(n_relations):
        words = lines.next("a relation")
        n_terms = _whole(words[1]) if len(words) >= 3 and words[2] == ":" else None
        if n_terms is None:
            lines.refuse(
                "jj_relation_form",
                "a relation reads: rhs count : index (coefficient) index (coefficient) ...",
            )
        rhs[row] = lines.number(words[0], "right-hand side")
        rest = " ".join(words[3:])
        terms = TERM.findall(rest)
        if TERM.sub("", rest).strip() or len(terms) != n_terms:
            lines.refuse(
                "jj_terms_missing",
                "{announced} terms announced, found {n}",
                announced=n_terms,
                n=len(terms),
            )
        own = [n_cells if (index := _whole(word)) is None else index for word, _ in terms]
        if any(index >= n_cells for index in own) or len(set(own)) != len(own):
            lines.refuse("jj_relation_cells", "a relation names a cell twice, or one that does not exist")
        cells += own
        data += [lines.number(coefficient, "coefficient") for _, coefficient in terms]
        ends.append(len(cells))
    matrix = sparse.csr_array((data, np.array(cells, dtype=np.int64), ends), shape=(n_relations, n_cells))
    matrix.sort_indices()
    return matrix, rhs
