"""Data frames of any kind, read through narwhals: columns of codes and columns of numbers."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from hitoku.errors import DataError, did_you_mean, some
from hitoku.model.arrays import Floats, Integers

# Codes of more digits are names, not numbers.
MOST_DIGITS = 300


def opened(frame: Any) -> nw.DataFrame[Any]:
    """Accept pandas, polars, pyarrow or a DuckDB relation."""
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
    """Kind of frame in which answers are handed back: the caller's, or pandas."""
    name = frame.implementation.value
    return name if name in {"pandas", "polars", "pyarrow"} else "pandas"


def require_columns(frame: nw.DataFrame[Any], names: Sequence[str], where: str = "data") -> None:
    """Raise on the first column that is missing, naming the nearest one."""
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
    """Read a column of finite numbers."""
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
    """Explain numbers that cannot be added."""
    return DataError(
        "values_not_finite",
        "column {column!r} has {n} missing, NaN or infinite value(s)",
        column=name,
        where=where,
        fix="fill or drop these records",
        n=n_values,
    )


def not_numbers(name: str, where: str, example: str) -> DataError:
    """Explain text where numbers are due; the text itself is not shown."""
    comma = "," in example and "." not in example
    return DataError(
        "text_instead_of_numbers",
        "column {column!r} holds text where numbers are due",
        column=name,
        where=where,
        fix="the numbers use a decimal comma: read the file with that decimal sign"
        if comma
        else "convert the column to numbers first",
    )


def whole_numbers(frame: nw.DataFrame[Any], name: str, where: str = "data") -> Integers:
    """Read a column of counts."""
    values = numbers(frame, name, where)
    bad = np.flatnonzero((values != np.round(values)) | (values < 0))
    if len(bad):
        raise DataError(
            "values_not_counts",
            "column {column!r} holds {n} value(s) that are no counts",
            column=name,
            where="{place}, first in row {row}",
            fix="counts are whole and not negative",
            n=len(bad),
            place=where,
            row=bad[0] + 1,
        )
    return values.astype(np.int64)


def texts(frame: nw.DataFrame[Any], name: str, where: str = "data") -> np.ndarray[Any, Any]:
    """Read a column of codes as text; a missing code is refused."""
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
            fix="give missing codes a name of their own before building the table",
            n=missing,
        )
    codes = series.cast(nw.String).to_list()
    refuse_nul(name, codes, where)
    return np.array(codes, dtype=str)


def refuse_nul(name: str, codes: Iterable[str | None], where: str) -> None:
    """Raise when a code has a NUL: arrays of texts drop it at the end, and two codes would be one."""
    n_codes = len({code for code in codes if code and "\0" in code})
    if n_codes:
        raise DataError(
            "codes_with_nul",
            "column {column!r} has {n} code(s) with a character that no text has (NUL)",
            column=name,
            where=where,
            fix="take it out of the codes, or read the file in its own encoding",
            n=n_codes,
        )


def code_list(codes: np.ndarray[Any, Any]) -> list[str]:
    """Distinct codes: numbers in numerical, all else in alphabetical order."""
    distinct = [str(code) for code in np.unique(codes)]
    # Not isdigit: a superscript is a digit, and no number. Nor are names of hundreds of digits numbers.
    if all(code.isdecimal() and len(code) <= MOST_DIGITS for code in distinct):
        distinct.sort(key=lambda code: (int(code), code))
    return distinct


def unseen_codes(name: str, codes: Sequence[str], known: Sequence[str], where: str) -> DataError:
    """Name codes that a code list lacks."""
    return DataError(
        "codes_not_in_hierarchy",
        "column {column!r} has {n} code(s) that its hierarchy lacks",
        column=name,
        where="{place}, codes {codes}",
        fix=_nearly(codes, known)
        or did_you_mean(codes[0], known, otherwise="add them to the hierarchy, or correct the data"),
        n=len(codes),
        place=where,
        codes=some(repr(code) for code in codes),
    )


def _nearly(codes: Sequence[str], known: Sequence[str]) -> str:
    """Say which code is meant where zeros at the front, blanks or letter case are all that differs."""
    for words, key in (
        ("in blanks or letter case", folded),
        ("in zeros at the front", lambda code: folded(code).lstrip("0")),
    ):
        meant = {key(code): code for code in known}
        pairs = [(code, meant[key(code)]) for code in codes if key(code) in meant]
        if pairs:
            code, like = pairs[0]
            return f"{code!r} and {like!r} of the hierarchy differ only {words}: write them alike"
    return ""


def folded(code: str) -> str:
    r"""Write a code without what people do not see: blanks around it, letter case, width of letters.

    Examples
    --------
    >>> folded("tr1 ") == folded("TR1") == folded("\uff54\uff52\uff11")
    True
    """
    return " ".join(unicodedata.normalize("NFKC", code).split()).casefold()


def refuse_similar(name: str, counts: Mapping[str, int], where: str) -> None:
    """Raise when codes of a column differ only in blanks or letter case.

    Parameters
    ----------
    counts
        Rows of each code; zero for a code that is there anyway, such as the total.
    """
    groups: dict[str, list[str]] = {}
    for code in counts:
        groups.setdefault(folded(code), []).append(code)
    alike = [sorted(codes) for codes in groups.values() if len(codes) > 1]
    if alike:
        told = ", ".join(
            f"{code!r} ({counts[code]:,} rows)" if counts[code] else f"{code!r}" for code in alike[0]
        )
        more = f" and {len(alike) - 1} more such group(s)" if len(alike) > 1 else ""
        raise DataError(
            "codes_look_alike",
            "column {column!r} has codes that differ only in blanks, letter case or width",
            column=name,
            where="{place}: {told}{more}",
            fix="write them alike; if they are different codes, list both in a hierarchy",
            place=where,
            told=told,
            more=more,
        )


def _first_text(series: nw.Series[Any]) -> str:
    kept = series.drop_nulls()
    return str(kept[0]) if len(kept) else ""


def _all_whole(series: nw.Series[Any]) -> bool:
    values = series.to_numpy()
    return bool(np.all(np.isfinite(values)) and np.all(values == np.round(values)))
