"""Files that pandas reads best: Excel workbooks, Stata and SAS data sets.

SAS files go through pandas as well: it is here already, kept by many, and reads both .sas7bdat and transport
files (.xpt). pyreadstat knows more of their labels and formats, which tables have no use for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hitoku.errors import DataError

STATA, EXCEL, SAS = (".dta",), (".xlsx",), (".sas7bdat", ".xpt")
# A transport file does not say how its texts are written.
ENCODINGS = ("utf-8", "cp1252")


def read_frame(path: Path) -> Any:
    """Read a Stata or SAS file, or the first sheet of an Excel workbook, as a pandas frame.

    Codes with labels stay the numbers that they are in Stata. In a workbook a cell that holds text stays
    text, so that 01 stays 01; the first row names the columns.
    """
    import pandas as pd  # noqa: PLC0415 - loaded when a file is read

    try:
        if path.name.lower().endswith(STATA):
            return pd.read_stata(path, convert_categoricals=False)
        if path.name.lower().endswith(SAS):
            return _read_sas(path)
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


def _read_sas(path: Path) -> Any:
    """Read a SAS file; numbers that are whole stay whole, for SAS has no other numbers than doubles."""
    import pandas as pd  # noqa: PLC0415 - loaded when a file is read

    if path.name.lower().endswith(".xpt"):
        for place, encoding in enumerate(ENCODINGS):
            try:
                frame: Any = pd.read_sas(path, format="xport", encoding=encoding)
                break
            except UnicodeDecodeError:
                if place + 1 == len(ENCODINGS):
                    raise
    else:
        frame = pd.read_sas(path, format="sas7bdat", encoding="infer")
    for name in frame.columns:
        column = frame[name]
        if column.dtype.kind == "f" and column.notna().all() and (column % 1 == 0).all():
            frame[name] = column.astype("int64")
    return frame


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
