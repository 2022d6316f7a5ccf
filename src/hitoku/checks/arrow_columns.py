"""Reading data: a frame or a file as an Arrow table, and its columns as codes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hitoku.errors import DataError, did_you_mean
from hitoku.model import Integers


@dataclass(frozen=True, eq=False, repr=False)
class PackedTexts:
    """Texts stored one after the other in one byte string."""

    content: bytes  # The concatenated texts, in UTF-8.
    offsets: Integers  # Start of each text, and the end of the last one.

    def __iter__(self) -> Iterator[bytes]:
        return (self.content[start:end] for start, end in pairwise(self.offsets.tolist()))


def packed_texts(column: Any) -> PackedTexts | None:
    """Return a column of texts or integers as packed texts.

    Texts are written as Python would write them. Returns None for other types and for columns with missing
    values.
    """
    kind = column.type
    plain = pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if not plain or column.null_count:
        return None
    texts = column.cast(pa.large_string())
    _, places, content = texts.buffers()
    offsets = np.frombuffer(places, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return PackedTexts(b"" if content is None else content.to_pybytes(), offsets)


def arrow_table(data: Any) -> pa.Table:
    """Read a frame of any supported library, or a file."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, str | Path):
        # Most sessions start from a frame; then no database is needed.
        from hitoku.tabulation import read_whole  # noqa: PLC0415 - see above

        return read_whole(Path(data))
    try:
        frame: Any = nw.from_native(data)
    except TypeError as error:
        raise DataError(
            "not_a_data_frame",
            "cannot read a {kind} as a data frame",
            where="data",
            fix="give a pandas, polars or pyarrow frame, or the path of a Parquet or CSV file",
            kind=type(data).__name__,
        ) from error
    except nw.exceptions.DuplicateError as error:
        raise DataError(
            "duplicate_column_names", "two columns have the same name", where="data", fix="rename one of them"
        ) from error
    if not all(isinstance(name, str) for name in frame.collect_schema().names()):
        raise DataError(
            "numbered_columns",
            "some columns are named by numbers",
            where="data",
            fix="name every column by a text",
        )
    eager = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    try:
        return pa.table({name: storable(eager[name]) for name in eager.columns})
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(
            "mixed_column",
            "a column mixes several types",
            where="data",
            fix="text for codes, numbers for values",
        ) from error


def storable(series: Any) -> Any:
    """Return a column as an Arrow array.

    Intervals and periods of pandas become codes, written as pandas prints them.
    """
    column = series.to_arrow()
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not isinstance(kind, pa.BaseExtensionType):
        return column
    return pa.array(
        [
            None if gone else str(each)
            for each, gone in zip(series.to_list(), series.is_null().to_list(), strict=True)
        ],
        pa.string(),
    )


def widest(column: Any) -> Any:
    """Return a column in the widest type of its kind, with a fixed value where it is missing."""
    kind = column.type
    if pa.types.is_signed_integer(kind) and not column.null_count:
        return column.cast(pa.int64())
    if pa.types.is_signed_integer(kind) or pa.types.is_floating(kind):
        # As in pandas: integers with missing values are floats.
        return pc.fill_null(column.cast(pa.float64(), safe=False), float("nan"))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pc.fill_null(column.cast(pa.large_string()), "\0")
    return column


def list_values(column: Any) -> tuple[list[str | None], Integers]:
    """List the distinct values of a column as text, and the index of each record's value.

    A missing value is None. Floats without fractional parts are written as integers.
    """
    listed = column.dictionary_encode()
    values = listed.dictionary
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), None, values)
        if bool(pc.all(pc.equal(values, pc.round(values))).as_py()):
            values = values.cast(pa.int64())
    texts = [text if text and text.strip() else None for text in values.cast(pa.string()).to_pylist()]
    indices = listed.indices
    if indices.null_count:
        texts.append(None)
        indices = indices.fill_null(len(texts) - 1)
    return texts, np.asarray(indices)


def find_column(table: pa.Table, name: str) -> Any:
    """Return a column; raise DataError for an unknown name."""
    if name not in table.column_names:
        raise DataError(
            "unknown_column",
            "no column {column!r}",
            where="data",
            fix=did_you_mean(name, table.column_names),
            column=name,
        )
    return table[name]
