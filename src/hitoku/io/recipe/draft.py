"""Draft a recipe for a data file: guess the role of each column, and write commented TOML."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

from hitoku.errors import DataError, HitokuError, OutputError, some
from hitoku.io.pages import MAX_CELLS
from hitoku.tabulation import (
    Column,
    columns_of,
    determined_pairs,
    find_totals,
    kept_open,
    n_combinations,
    read_column_tree,
)
from hitoku.toml import toml_key, toml_value

# Columns with more codes, or fewer records per code, are taken for names of respondents.
MAX_CODES = 500
MAX_NUMBER_CODES = 30
RECORDS_PER_CODE = 10


def _name_pattern(*words: str) -> re.Pattern[str]:
    """Return a pattern for column names that contain one of these words."""
    return re.compile(rf"(^|[^a-z])({'|'.join(words)})s?([^a-z]|$)", re.IGNORECASE)


LIKE_UNIT = _name_pattern(
    "id", "ident", "nr", "no", "key", "unit", "person", "firm", "enterprise", "respondent", "index"
)
LIKE_HOLDING = _name_pattern("holding", "owner", "enterprise_?group", "parent", "trust")
LIKE_WEIGHT = _name_pattern("weight", "wgt", "grossing")
LIKE_CODE = _name_pattern(
    "code", "class", "region", "county", "sector", "nace", "isic", "nuts", "zip", "year", "month"
)
LIKE_COUNT = _name_pattern(
    *("n", "nb", "obs", "freq", "frequency", "count", "number", "ant", "persons", "respondents"),
    *("anzahl", "betriebe", "unternehmen", "personen", "fälle", "nombre", "effectif", "aantal"),
    *("件数", "度数", "人数", "事業所数", "企業数", "世帯数"),
)
LIKE_MARK = _name_pattern("status", "mark", "marked", "flag", "secret", "suppressed", "withheld")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """Guessed roles of the columns of a file."""

    codes: tuple[Column, ...]  # Columns of codes.
    quantities: tuple[Column, ...]  # Columns of numbers to sum, without gaps, likeliest first.
    # unit, holding, weight, mark: columns that name respondents and holdings, contain weights, or mark cells.
    unit: str | None = None
    holding: str | None = None
    weight: str | None = None
    mark: str | None = None
    others: tuple[str, ...] = ()  # Other columns of numbers.

    @property
    def value(self) -> Column | None:
        return self.quantities[0] if self.quantities else None


def guess_columns(n_records: int, columns: Iterable[Column]) -> Guess:
    """Guess which columns contain codes, a quantity, and names of respondents.

    Examples
    --------
    >>> columns = [
    ...     Column("firm", "text", 900, 0, negative=False),
    ...     Column("region", "text", 8, 0, negative=False),
    ...     Column("turnover", "number", 870, 0, negative=False),
    ... ]
    >>> guess = guess_columns(900, columns)
    >>> guess.unit, [column.name for column in guess.codes], guess.value.name
    ('firm', ['region'], 'turnover')
    """
    codes: list[Column] = []
    quantities: list[Column] = []
    roles: dict[str, str] = {}
    for column in columns:
        role = _role(column, n_records)
        if role in {"unit", "holding", "weight", "mark"}:
            roles.setdefault(role, column.name)
        elif role == "codes":
            codes.append(column)
        elif role == "quantity":
            quantities.append(column)
    # A quantity has many distinct values and no gaps.
    whole = [column for column in quantities if not column.n_missing]
    whole.sort(key=lambda column: (column.n_distinct, column.kind == "number"), reverse=True)
    others = tuple(column.name for column in quantities if column not in whole[:1])
    return Guess(codes=tuple(codes), quantities=tuple(whole), others=others, **roles)


def _role(column: Column, n_records: int) -> str:
    numeric, name = column.kind in {"whole", "number"}, column.name
    if LIKE_HOLDING.search(name) and column.kind in {"text", "whole"}:
        return "holding"
    if column.n_distinct == n_records > 2 and (column.kind == "text" or _names(column)):
        return "unit"
    if numeric and LIKE_WEIGHT.search(name):
        return "weight" if not column.n_missing and not column.negative else ""
    if LIKE_MARK.search(name) and column.n_distinct <= 3:
        return "mark"
    if _are_codes(column, n_records):
        return "codes"
    return "quantity" if numeric and not _names(column) and not _looks_like_code(column) else ""


def _names(column: Column) -> bool:
    return column.kind == "whole" and bool(LIKE_UNIT.search(column.name))


def _looks_like_code(column: Column) -> bool:
    return column.kind == "whole" and bool(LIKE_CODE.search(column.name))


def _are_codes(column: Column, n_records: int) -> bool:
    if column.total:
        return True
    if column.kind == "text" or _looks_like_code(column):
        # Columns with at most this many codes need fewer records per code.
        most = max(n_records // RECORDS_PER_CODE, min(n_records // 2, 20), 2)
        return 2 <= column.n_distinct <= min(MAX_CODES, most)
    return column.kind == "whole" and 2 <= column.n_distinct <= min(
        MAX_NUMBER_CODES, n_records // RECORDS_PER_CODE
    )


def finest(codes: Iterable[Column], nests: set[tuple[str, str]]) -> list[Column]:
    """Remove columns determined by another one; of two that determine each other the first is kept."""
    left: list[Column] = []
    listed = list(codes)
    for place, column in enumerate(listed):
        lines = [
            other
            for rank, other in enumerate(listed)
            if (other.name, column.name) in nests and ((column.name, other.name) not in nests or rank < place)
        ]
        if not lines:
            left.append(column)
    return left


def count_of(guess: Guess) -> Column | None:
    """Return the column of respondent counts in a file with one row per cell; None if there is none."""
    counts = [column for column in guess.quantities if column.kind == "whole" and not column.negative]
    named = [column for column in counts if LIKE_COUNT.search(column.name)]
    alone = counts if len(guess.quantities) == 1 else []
    return next(iter([*named, *alone]), None)


def are_cells(n_records: int, n_combinations: int, codes: Iterable[Column]) -> bool:
    """Return whether a file has one row per cell: unique combinations, with totals or nearly complete."""
    listed = list(codes)
    full = 2 * n_records >= prod(column.n_distinct for column in listed)
    return n_combinations == n_records and (full or any(column.total for column in listed))


def draft_recipe(data: str | Path, folder: str | Path = ".") -> str:
    """Return a recipe for a data file that runs unchanged, with paths relative to a folder.

    Parameters
    ----------
    data
        CSV or Parquet file of records, or CSV file with one row per cell.
    folder
        Folder of the recipe.
    """
    path = Path(data)
    with kept_open(path):
        n_records, columns = columns_of(path)
        if not any(column.total for column in columns):
            columns = find_totals(path, columns)
        guess = guess_columns(n_records, columns)
        _refuse_unnamed(path, columns, guess)
        # Number of code-like columns whose pairs are compared.
        nests = determined_pairs(path, guess.codes[:12])
        cells, counted = finest(guess.codes, nests), count_of(guess)
        per_cell = are_cells(n_records, n_combinations(path, cells), cells)
    totals = _totals(path, columns, able=counted is not None and per_cell)
    if path.suffix.lower() == ".csv" and counted is not None and per_cell:
        # In files with counts, other integers are rather codes than values.
        shown = next((column for column in guess.quantities if column.kind == "number"), counted)
        kind, chosen, named = "cells", cells, shown.name
        body = [*totals, *_cell_lines(shown, counted, guess.mark)]
    else:
        kind, chosen = "data", _few(guess.codes, nests)
        named = guess.value.name if guess.value else "Records"
        body = [*_quantity(guess), *_people(guess), *_codes(chosen), *_protection(guess.value)]
    further = [column.name for column in guess.codes if column not in chosen]
    title = f"{named} by {' and '.join(column.name for column in chosen)}"
    release = f"{path.name.partition('.')[0]}-release"
    place = Path(os.path.relpath(path, folder)).as_posix()
    what = "one for each cell" if kind == "cells" else "records"
    lines = [
        f"# Recipe for {path.name} ({n_records:,} rows, {what}), drafted by hitoku init.",
        "# Every line is a guess from names and counts: read it through and correct it. Then:",
        "#     hitoku protect <this file>",
        "",
        f"title = {toml_value(title)}",
        f"{kind} = {toml_value(place)}  # relative to this file",
        "",
        "# The variables of the table: columns with codes.",
        f"by = {toml_value([column.name for column in chosen])}",
        *([f"# These look like codes too: {some(further, 12)}"] if further else []),
        *_nesting(nests),
        "",
        *body,
        "# Folder of the release: public/ is published, checker/ is confidential evidence.",
        f"out = {toml_value(release)}",
        '# formats = ["csv", "html", "xlsx"]  # files in public/; also sdmx-csv, parquet, json-stat',
        "",
        *_trees(chosen[0], _groupings(path, chosen, guess.codes, nests) if kind == "data" else {}),
    ]
    return "\n".join(lines) + "\n"


def _totals(path: Path, columns: Sequence[Column], *, able: bool) -> list[str]:
    """Return the lines about the code of totals; raise DataError if records contain totals."""
    marked = [column for column in columns if column.total]
    codes = {column.total: None for column in marked}
    if not codes:
        return []
    totals = some(f"{column.total!r} in column {column.name!r}" for column in marked)
    if not able or path.suffix.lower() != ".csv" or len(codes) > 1:
        raise DataError(
            "file_has_totals",
            "the file seems to be a table with totals, not records: there is {totals}",
            where=path.name,
            fix="leave rows with totals out; or spell totals alike in a CSV file with one row per cell, and "
            "call the column with the number of respondents n or count",
            totals=totals,
        )
    return [f"total = {toml_value(next(iter(codes)))}  # the code of totals: {totals}", ""]


def _refuse_unnamed(path: Path, columns: Sequence[Column], guess: Guess) -> None:
    if all(_is_number(column.name) for column in columns):
        raise DataError(
            "header_holds_numbers",
            "the first line holds numbers, no names of columns",
            where=path.name,
            fix="add a line with the names of the columns",
        )
    if not guess.codes:
        raise DataError(
            "no_code_column",
            "no column looks like codes of a variable",
            where=path.name,
            fix="columns of codes are texts that repeat; there are: {columns}",
            columns=some(c.name for c in columns),
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _cell_lines(value: Column, counted: Column, mark: str | None) -> list[str]:
    return [
        "# The true values, and how many respondents are behind each.",
        f"value = {toml_value(value.name)}",
        f"frequency = {toml_value(counted.name)}",
        '# largest = ["..."]  # columns with the largest contributions, for rules such as dominance',
        f"# mark = {toml_value(mark or 'status')}  # marks cells withheld by hand: they stay so",
        "",
        *_protection(None),
    ]


def _nesting(nests: set[tuple[str, str]]) -> list[str]:
    # Two columns that determine each other are one variable with two spellings.
    pairs = [f"{fine} within {coarse}" for fine, coarse in sorted(nests) if (coarse, fine) not in nests]
    if not pairs:
        return []
    return [f"# Nested: {some(pairs, 8)}. Take the finer one here, and the other into its hierarchy below."]


def _few(codes: Iterable[Column], nests: set[tuple[str, str]]) -> list[Column]:
    """Return the first two variables whose table fits on a page, none of which determines another."""
    chosen: list[Column] = []
    size = 1
    for column in codes:
        grown = size * (column.n_distinct + 1)
        nested = any({(one.name, column.name), (column.name, one.name)} & nests for one in chosen)
        if len(chosen) < 2 and (grown <= MAX_CELLS or not chosen) and not nested:
            chosen.append(column)
            size = grown
    return chosen


def _quantity(guess: Guess) -> list[str]:
    lines = ["# What is added up; without a value records are counted."]
    if guess.value is None:
        return [*lines, '# value = "turnover"', ""]
    lines.append(f"value = {toml_value(guess.value.name)}")
    if guess.others:
        lines.append(f"# Other columns with numbers: {some(guess.others, 12)}")
    if guess.value.negative:
        lines += [
            "# Some values are below zero: they lower totals and are never among the largest.",
            'magnitude = "signed"',
        ]
    if guess.weight:
        lines += ["# Does a record stand for several units?", f"# weight = {toml_value(guess.weight)}"]
    return [*lines, ""]


def _people(guess: Guess) -> list[str]:
    lines = ["# Who is behind a record, and who owns them: one owner of several counts as one contributor."]
    for key, name in (("unit", guess.unit), ("holding", guess.holding)):
        lines.append(f"{key} = {toml_value(name)}" if name else f'# {key} = "..."')
    return [*lines, ""]


def _codes(chosen: Iterable[Column]) -> list[str]:
    gaps = [column.name for column in chosen if column.n_missing]
    if not gaps:
        return []
    comment = f"# {' and '.join(gaps)} {'is' if len(gaps) == 1 else 'are'} missing in some records."
    return [comment, 'missing = "code"  # they go under the code "missing"; "error" refuses them', ""]


def _protection(value: Column | None) -> list[str]:
    insiders: list[str] = []
    if value is None:
        rules = ['rules = ["min_frequency:n=3"]  # fewer than 3 respondents']
    else:
        insiders = [
            'insiders = "singletons"  # who is alone in a cell; "contributors": the largest too; or "none"'
        ]
        rules = [
            "rules = [",
            '  "p_percent:p=10",        # the largest contributor can be estimated to within 10 percent',
            '  "few_contributors:n=3",  # fewer than 3 contributors',
            "]",
        ]
    return [
        "# What makes a cell unsafe.",
        *rules,
        "# width = 9  # minimum interval width; without it, the rules determine the protection of cells",
        *insiders,
        "",
        "# What chooses the cells withheld with them: auto looks at the table and says what it took.",
        'method = "auto"',
        '# method = "optimal:cost=value,time_limit_s=60"',
        "",
    ]


def _groupings(
    path: Path, chosen: Sequence[Column], codes: Sequence[Column], nests: set[tuple[str, str]]
) -> dict[str, list[str]]:
    """Return for each variable the columns that group its codes, fine to coarse, if they form a hierarchy."""
    found: dict[str, list[str]] = {}
    for variable in chosen:
        chain = [variable]
        for column in sorted(codes, key=lambda column: -column.n_distinct):
            above = (chain[-1].name, column.name) in nests and (column.name, chain[-1].name) not in nests
            if above and not column.n_missing and column.n_distinct > 1:
                chain.append(column)
        groups = [column.name for column in chain[1:]]
        try:
            if groups and not any(Path(name).suffix for name in groups):  # a name with a dot is a file
                read_column_tree(path, variable.name, groups)
                found[variable.name] = groups
        except HitokuError:
            continue  # a group shares the code of another group's part: a person must decide
    return found


def _trees(first: Column, groupings: Mapping[str, Sequence[str]]) -> list[str]:
    variable = first.name
    if groupings:
        head = [
            "# Groups of codes: columns that group those of a variable, fine to coarse.",
            "[hierarchies]",
            *(f"{toml_key(name)} = {toml_value(list(groups))}" for name, groups in groupings.items()),
        ]
    else:
        head = [
            "# Groups of codes: by variable, columns of the data that group its codes, or a CSV file with",
            "# the columns code and parent.",
            "# [hierarchies]",
            f'# {variable} = "{variable}.csv"',
        ]
    return [
        *head,
        "",
        "# Cells that must stay published (or [[withhold]]), by codes; a variable left out means all.",
        "# [[keep]]",
        f"# {toml_key(variable)} = {toml_value(first.total or 'Total')}",
    ]


def write_draft(data: str | Path, out: str | Path) -> Path:
    """Write a drafted recipe; raise OutputError if the file exists."""
    path = Path(out)
    text = draft_recipe(data, path.parent)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise OutputError(
            "recipe_exists",
            "the recipe {file!r} exists already",
            where=str(path),
            fix="choose another name with --out, or move the old one away first",
            file=path.name,
        ) from None
    except OSError as error:
        raise OutputError(
            "cannot_write_recipe",
            "cannot write {file!r}: {reason}",
            where=str(path.parent),
            fix="choose a folder that you may write to",
            file=path.name,
            reason=error.strerror,
        ) from error
    return path
