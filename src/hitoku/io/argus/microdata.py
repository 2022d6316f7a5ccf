"""τ-ARGUS microdata (``.asc``): one record per line, in fixed columns or with a separator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.errors import DataError, ParameterError
from hitoku.io.argus.columns import bare, parsed_numbers, split_lines
from hitoku.io.argus.metadata import Metadata, Variable
from hitoku.io.argus.text import read_text
from hitoku.model import Floats


def read_microdata(
    path: str | Path,
    metadata: Metadata,
    *,
    variables: Sequence[str] | None = None,
    quantities: Sequence[str] = (),
) -> Any:
    """Read records into a pandas frame: codes as text, quantities as numbers.

    In fixed columns, blanks before a code belong to it: ``" 1"`` is not ``"1"``. Decimals follow from the
    point or comma in the number, not from ``<DECIMALS>``. A missing code of a spanning variable is treated as
    a code. A missing quantity raises DataError, because τ-ARGUS would add up the missing code itself.

    Parameters
    ----------
    path
        Path of the file, plain or gzip.
    metadata
        Metadata of the file.
    variables
        Columns to read. Default: all.
    quantities
        Columns to read as numbers although they also span tables (``<RECODEABLE>`` and ``<NUMERIC>``).
    """
    import pandas as pd  # noqa: PLC0415 - loaded when a file is read

    path = Path(path)
    if metadata.layout == "table":
        raise ParameterError(
            "metadata_of_table",
            "these metadata describe a table, not records",
            where=path.name,
            fix="read it with read_table, or read the metadata with kind='microdata'",
        )
    chosen = [metadata.variable(name) for name in variables or [v.name for v in metadata.variables]]
    forced = {metadata.variable(name).name.casefold() for name in quantities}
    text = read_text(path, "microdata")
    if metadata.layout == "fixed":
        columns = _split_fixed_width(text, chosen, path.name)
    else:
        names = [variable.name for variable in metadata.variables]
        split = split_lines(text, str(metadata.separator), names, path.name)
        columns = [split[names.index(v.name)] for v in chosen]
        columns = [c if v.is_number else bare(c) for v, c in zip(chosen, columns, strict=True)]
    return pd.DataFrame(
        {
            v.name: _numbers(v, entries, path.name)
            if v.is_number or v.name.casefold() in forced
            else _codes(entries)
            for v, entries in zip(chosen, columns, strict=True)
        }
    )


def _split_fixed_width(text: str, variables: Sequence[Variable], where: str) -> list[list[str]]:
    """Split every record at the columns of its variables, all records at once."""
    # UTF-32: one number of four bytes per character, because columns count characters.
    plain = text.replace("\r\n", "\n").replace("\t", " ")
    signs = np.frombuffer(plain.encode("utf-32-le"), dtype="<u4")
    ends = np.flatnonzero(signs == ord("\n"))
    if not plain.endswith("\n"):
        ends = np.append(ends, len(signs))
    starts = np.concatenate([[0], ends[:-1] + 1])
    line = np.arange(1, len(starts) + 1)
    kept = ends > starts
    starts, lengths, line = starts[kept], (ends - starts)[kept], line[kept]
    if len(starts) == 0:
        raise DataError(
            "data_empty", "the data are empty", where=where, fix="check that this is the right file"
        )
    needed = max(_place(v).stop for v in variables)
    short = np.flatnonzero(lengths < needed)
    if len(short):
        raise DataError(
            "records_too_short",
            "{n} record(s) are shorter than the {needed} columns that the metadata describe",
            where="{place}, first in line {line}",
            fix="check first column and width of the variables; is the file cut off?",
            n=len(short),
            needed=needed,
            place=where,
            line=line[short[0]],
        )
    columns = []
    for variable in variables:
        place = _place(variable)
        width = place.stop - place.start
        block = signs[starts[:, None] + np.arange(place.start, place.stop)]
        columns.append(np.ascontiguousarray(block).view(f"<U{width}").ravel().tolist())
    return columns


def _place(variable: Variable) -> slice:
    if variable.start is None or variable.length is None:
        raise DataError(
            "variable_without_position",
            "variable {variable!r} has no position in the record",
            where="metadata",
            fix="give its first column and width",
            variable=variable.name,
        )
    return slice(variable.start - 1, variable.start - 1 + variable.length)


def _codes(entries: Sequence[str]) -> Any:
    import pandas as pd  # noqa: PLC0415 - loaded when a file is read

    spelt = {code: code.rstrip() for code in set(entries)}
    return pd.array([spelt[code] for code in entries], dtype="str")


def _numbers(variable: Variable, entries: Sequence[str], where: str) -> Floats:
    values = parsed_numbers(entries, variable.name, where, missing=variable.missing)
    missing = np.isnan(values)
    if missing.any():
        raise DataError(
            "variable_missing_in_records",
            "variable {variable!r} is missing in {n} record(s)",
            where="{place}, first in record {argmax}",
            fix="impute or drop these records: τ-ARGUS would add up the missing code as if it were a number",
            variable=variable.name,
            n=int(missing.sum()),
            place=where,
            argmax=int(np.argmax(missing)) + 1,
        )
    return values
