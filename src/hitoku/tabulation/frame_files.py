"""Files that pandas reads best: Excel workbooks and Stata data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hitoku.errors import DataError

STATA, EXCEL = (".dta",), (".xlsx",)


def read_frame(path: Path) -> Any:
    """Read a Stata file, or the first sheet of an Excel workbook, as a pandas frame.

    Codes with labels stay the numbers that they are in Stata. In a workbook a cell that holds text stays
    text, so that 01 stays 01; the first row names the columns.
    """
    import pandas as pd  # noqa: PLC0415 - loaded when a file is read

    try:
        if path.name.lower().endswith(STATA):
            return pd.read_stata(path, convert_categoricals=False)
        rows: Any = pd.read_excel(path, header=None, dtype=object)
    except ImportError:
        raise DataError(
            "a package that reads Excel files is missing",
            where=path.name,
            fix="install hitoku[excel], or save the sheet as CSV",
        ) from None
    except Exception as error:  # noqa: BLE001 - readers raise anything on a broken file, and may quote it
        raise DataError(
            f"cannot read {path.name!r}: {type(error).__name__}",
            where=str(path),
            fix="check that the file opens in the program that wrote it",
        ) from None
    return _named(rows, path.name)


def _named(rows: Any, where: str) -> Any:
    if not len(rows):
        raise DataError("the sheet is empty", where=where, fix="the first row names the columns")
    names = [str(name) if isinstance(name, str | int) else "" for name in rows.iloc[0]]
    twice = [name for place, name in enumerate(names) if name and name in names[:place]]
    if twice:
        raise DataError(
            f"two columns are called {twice[0]!r}",
            where=f"{where}, first row",
            fix="give every column a name of its own",
        )
    below = rows.iloc[1:].set_axis(range(len(names)), axis=1)
    kept = [place for place, name in enumerate(names) if name]
    return below[kept].set_axis([names[place] for place in kept], axis=1).infer_objects()
