"""Codes and numbers read from data frames of any kind, and published tables written as HTML.

Frames are read through narwhals; the HTML is that of pages and notebooks.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import takewhile
from typing import Any, Protocol

import narwhals as nw
import numpy as np

from hitoku.errors import DataError, did_you_mean, nearest, some
from hitoku.messages import Arguments, Text
from hitoku.model.arrays import Floats, Integers
from hitoku.model.dimension import Labels

# Codes with more digits are sorted as text.
MAX_DIGITS = 300


def open_frame(frame: Any) -> nw.DataFrame[Any]:
    """Return a narwhals frame for pandas, polars, pyarrow or a DuckDB relation."""
    try:
        wrapped = nw.from_native(frame)
    except TypeError as error:
        raise DataError(
            "not_a_data_frame",
            "cannot read a {kind} as a data frame",
            fix="give a pandas, polars or pyarrow frame, or a DuckDB relation",
            kind=type(frame).__name__,
        ) from error
    return wrapped.collect() if isinstance(wrapped, nw.LazyFrame) else wrapped


def backend_of(frame: nw.DataFrame[Any]) -> str:
    """Return the kind of frame for results: the one of the argument, or pandas."""
    name = frame.implementation.value
    return name if name in {"pandas", "polars", "pyarrow"} else "pandas"


def require_columns(frame: nw.DataFrame[Any], names: Sequence[str], where: str = "data") -> None:
    """Raise for the first missing column, suggesting the most similar name."""
    for name in names:
        if name not in frame.columns:
            raise DataError(
                "unknown_column",
                "no column {column!r}",
                column=name,
                where=where,
                fix=did_you_mean(name, frame.columns),
            )


def numbers(frame: nw.DataFrame[Any], name: str, where: str = "data") -> Floats:
    """Return a column of finite numbers."""
    require_columns(frame, [name], where)
    series = frame[name]
    if not series.dtype.is_numeric():
        raise not_numbers(name, where, example=_first_text(series))
    values = series.cast(nw.Float64).to_numpy().astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise DataError(
            "values_not_finite",
            "column {column!r} has {n} missing, NaN or infinite value(s)",
            column=name,
            where="{place}, first in row {row}",
            fix="fill or drop these rows; a cell without respondents is zero",
            n=len(bad),
            place=where,
            row=bad[0] + 1,
        )
    return values


def infinite(name: str, n_values: int, where: str) -> DataError:
    """Return the error for numbers that cannot be summed."""
    return DataError(
        "values_not_finite",
        "column {column!r} has {n} missing, NaN or infinite value(s)",
        column=name,
        where=where,
        fix="fill or drop these records"
        if where == "data"
        else "count missing values as zero with {zero}, or leave these records out with {drop}",
        zero=Arguments("FileFormat", zero_missing=name),
        drop=Arguments("FileFormat", drop_missing=name),
        n=n_values,
    )


def not_numbers(name: str, where: str, example: str) -> DataError:
    """Return the error for text in a column of numbers. The text itself is not shown."""
    comma = "," in example and "." not in example
    return DataError(
        "text_instead_of_numbers",
        "column {column!r} contains text instead of numbers",
        column=name,
        where=where,
        fix="the numbers use a decimal comma: read the file with that decimal sign"
        if comma
        else "convert the column to numbers first",
    )


def whole_numbers(frame: nw.DataFrame[Any], name: str, where: str = "data") -> Integers:
    """Return a column of counts."""
    values = numbers(frame, name, where)
    bad = np.flatnonzero((values != np.round(values)) | (values < 0))
    if len(bad):
        raise DataError(
            "values_not_counts",
            "column {column!r} contains {n} value(s) that are not counts",
            column=name,
            where="{place}, first in row {row}",
            fix="counts must be whole numbers, at least 0",
            n=len(bad),
            place=where,
            row=bad[0] + 1,
        )
    return values.astype(np.int64)


def texts(frame: nw.DataFrame[Any], name: str, where: str = "data") -> np.ndarray[Any, Any]:
    """Return a column of codes as text. Raises for missing codes."""
    require_columns(frame, [name], where)
    series = frame[name]
    if series.dtype.is_float():
        series = series.cast(nw.Int64) if _all_whole(series) else series
    missing = int(series.is_null().sum())
    if missing:
        raise DataError(
            "missing_codes",
            "column {column!r} has {n} missing code(s)",
            column=name,
            where=where,
            fix="replace missing codes by a code such as 'unknown' before building the table",
            n=missing,
        )
    codes = series.cast(nw.String).to_list()
    refuse_nul(name, codes, where)
    return np.array(codes, dtype=str)


def refuse_nul(name: str, codes: Iterable[str | None], where: str) -> None:
    """Raise if a code contains NUL. Text arrays drop it at the end, so that two codes would become one."""
    n_codes = len({code for code in codes if code and "\0" in code})
    if n_codes:
        raise DataError(
            "codes_with_nul",
            "column {column!r} has {n} code(s) with the invalid character NUL",
            column=name,
            where=where,
            fix="remove it from the codes, or read the file with the right encoding",
            n=n_codes,
        )


def code_list(codes: np.ndarray[Any, Any]) -> list[str]:
    """Return the distinct codes, in numerical order if all are numbers, else in alphabetical order."""
    distinct = [str(code) for code in np.unique(codes)]
    # isdecimal, not isdigit, which accepts superscripts. Very long codes are sorted as text.
    if all(code.isdecimal() and len(code) <= MAX_DIGITS for code in distinct):
        distinct.sort(key=lambda code: (int(code), code))
    return distinct


def unseen_codes(name: str, codes: Sequence[str], known: Sequence[str], where: str) -> DataError:
    """Return the error for codes that are not in the hierarchy."""
    return DataError(
        "codes_not_in_hierarchy",
        "column {column!r} has {n} code(s) that are not in its hierarchy",
        column=name,
        where="{place}, codes {codes}",
        fix=_nearly(codes, known) or _near_branch(codes[0], known),
        n=len(codes),
        place=where,
        codes=some(repr(code) for code in codes),
    )


def nearest_code(code: str, known: Iterable[str]) -> str:
    """Return the code of the same branch that is nearest: the one with the longest common beginning.

    Examples
    --------
    >>> nearest_code("1011", ["1311", "10", "1012", "1020"]), nearest_code("101", ["102", "10"])
    ('1012', '10')
    """

    def shared(other: str) -> tuple[int, int]:
        same = list(takewhile(lambda pair: pair[0] == pair[1], zip(code, other, strict=False)))
        return len(same), -len(other)

    best = max(known, key=shared, default="")
    return best if best and shared(best)[0] else ""


def _near_branch(code: str, known: Sequence[str]) -> str:
    """Return what to do about a code that is not in the hierarchy: a misspelt word, or one of a branch."""
    near = nearest_code(code, known)
    word = nearest(code, known)
    if word and not any(sign.isdigit() for sign in code):
        return word
    if near:
        return Text(
            "add {code!r} to the hierarchy beside {near!r}, or put such records together: {arguments}",
            arguments=Arguments("tabulate", unseen="code"),
            code=code,
            near=near,
        )
    return Text(
        "add them to the hierarchy, correct the data, or put such records together: {arguments}",
        arguments=Arguments("tabulate", unseen="code"),
    )


def _nearly(codes: Sequence[str], known: Sequence[str]) -> str:
    """Return similar codes that differ only in leading zeros, spaces or letter case."""
    for words, key in (
        ("in spaces or letter case", fold_code),
        ("in zeros at the front", lambda code: fold_code(code).lstrip("0")),
    ):
        meant = {key(code): code for code in known}
        pairs = [(code, meant[key(code)]) for code in codes if key(code) in meant]
        if pairs:
            code, like = pairs[0]
            return f"{code!r} and {like!r} of the hierarchy differ only {words}: write them alike"
    return ""


def fold_code(code: str) -> str:
    r"""Return a code without surrounding spaces, in one letter case and one character width.

    Examples
    --------
    >>> fold_code("tr1 ") == fold_code("TR1") == fold_code("\uff54\uff52\uff11")
    True
    """
    return " ".join(unicodedata.normalize("NFKC", code).split()).casefold()


def refuse_similar(name: str, counts: Mapping[str, int], where: str) -> None:
    """Raise if codes of a column differ only in spaces, letter case or character width.

    Parameters
    ----------
    counts
        Number of rows of each code; zero for a code that is not in the column, such as the total.
    """
    groups: dict[str, list[str]] = {}
    for code in counts:
        groups.setdefault(fold_code(code), []).append(code)
    alike = [sorted(codes) for codes in groups.values() if len(codes) > 1]
    if alike:
        examples = ", ".join(
            f"{code!r} ({counts[code]:,} rows)" if counts[code] else f"{code!r}" for code in alike[0]
        )
        more = Text(" and {n} more such group(s)", n=len(alike) - 1) if len(alike) > 1 else ""
        raise DataError(
            "codes_look_alike",
            "column {column!r} has codes that differ only in spaces, letter case or character width",
            column=name,
            where="{place}: {examples}{more}",
            fix="use one spelling; if the codes are different, list both in a hierarchy",
            place=where,
            examples=examples,
            more=more,
        )


def _first_text(series: nw.Series[Any]) -> str:
    kept = series.drop_nulls()
    return str(kept[0]) if len(kept) else ""


def _all_whole(series: nw.Series[Any]) -> bool:
    values = series.to_numpy()
    return bool(np.all(np.isfinite(values)) and np.all(values == np.round(values)))


class Shown(Protocol):
    """Attributes of a release used for HTML. Published numbers are NaN where suppressed."""

    @property
    def labels(self) -> Labels: ...
    @property
    def published(self) -> Floats: ...
    @property
    def integer(self) -> bool: ...
    @property
    def measure(self) -> str: ...
    @property
    def n_cells(self) -> int: ...


def release_markup(release: Shown) -> str:
    """Return the HTML of a release: two-way tables for a cross of variables, otherwise one row per cell."""
    if release.labels.positions is not None or len(release.labels.names) == 1:
        return _listing(release)
    return _sections(release)


def small_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return the HTML of a small table, with escaped text and thousands separators.

    Examples
    --------
    >>> small_table(["rule", "cells"], [["a < b", 1200]])
    '<table><tr><th>rule</th><th>cells</th></tr><tr><td>a &lt; b</td><td>1,200</td></tr></table>'
    """
    if not rows:
        return ""
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = ("".join(f"<td>{_text(each)}</td>" for each in row) for row in rows)
    return f"<table><tr>{top}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _text(each: object) -> str:
    return f"{each:,}" if isinstance(each, int) else escape(str(each))


def _listing(release: Shown) -> str:
    """Return one row per cell."""
    head = "".join(f"<th>{escape(name)}</th>" for name in release.labels.names)
    rows = []
    for cell in range(release.n_cells):
        codes = "".join(f'<th scope="row">{escape(code)}</th>' for code in release.labels.codes_of(cell))
        rows.append(f"<tr>{codes}{_cell(release, cell, margin=False)}</tr>")
    return f"<table><tr>{head}<th>{escape(release.measure)}</th></tr>\n{chr(10).join(rows)}</table>"


def _sections(release: Shown) -> str:
    """Return two-way tables, one for each combination of the further variables."""
    labels = release.labels
    cells = np.arange(release.n_cells).reshape(labels.shape)
    parts = []
    further = [range(len(codes)) for codes in labels.codes[2:]]
    for place in itertools.product(*further):
        named = zip(labels.names[2:], labels.codes[2:], place, strict=True)
        title = ", ".join(f"{name}: {codes[p]}" for name, codes, p in named)
        heading = f"<h2>{escape(title)}</h2>\n" if title else ""
        here: Any = (slice(None), slice(None), *place)
        parts.append(heading + _two_way(release, labels, cells[here]))
    return "\n".join(parts)


def _two_way(release: Shown, labels: Labels, cells: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> str:
    (row_name, column_name), (rows, columns) = labels.names[:2], labels.codes[:2]
    head = "".join(f'<th scope="col">{escape(code)}</th>' for code in columns)
    lines = []
    for i, code in enumerate(rows):
        last = i == len(rows) - 1
        line = "".join(
            _cell(release, int(cells[i, j]), margin=last or j == len(columns) - 1)
            for j in range(len(columns))
        )
        lines.append(f'<tr><th scope="row">{escape(code)}</th>{line}</tr>')
    caption = f"<caption>{escape(release.measure)} by {escape(row_name)} and {escape(column_name)}</caption>"
    return (
        f'<div class="scroll"><table>{caption}<tr><td></td>{head}</tr>\n{chr(10).join(lines)}</table></div>'
    )


def _cell(release: Shown, cell: int, *, margin: bool) -> str:
    value = release.published[cell]
    if np.isnan(value):
        return '<td class="withheld" title="withheld for confidentiality">c</td>'
    text = f"{value:,.0f}" if release.integer or value == round(value) else f"{value:,.2f}"
    return f'<td class="sum">{text}</td>' if margin else f"<td>{text}</td>"
