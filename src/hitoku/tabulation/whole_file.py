"""A file of records with all its columns: numbers where nothing but numbers stands, text elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from hitoku.errors import DataError
from hitoku.files import spill_folder
from hitoku.tabulation.attach import kind_of, reading_text, shapes_of, write_numbers
from hitoku.tabulation.database import connect, literal, quoted, translate_errors
from hitoku.tabulation.file_format import FileFormat, look_at
from hitoku.tabulation.frame_files import read_frame
from hitoku.tabulation.number_style import MOST_SHAPES, NumberStyle, style_of

# Numbers as programs write them.
PLAIN = FileFormat(decimal=".", thousands="")
PADDED = re.compile(r"[+-]?0[09]")


def attach_whole(
    connection: duckdb.DuckDBPyConnection, path: Path, folder: Path, *, guess: bool = False
) -> None:
    """Create ``records`` with all columns of a file; texts go through a private folder.

    Numbers are read as :func:`hitoku.tabulate` reads them: 1.5 and 1,5 and 1.234,5. A column whose numbers
    can be read in two ways stays text. With ``guess`` it is read as programs write numbers, 1.234 with a
    decimal point, unless another column of the file has decimal commas.
    """
    if kind_of(path) == "parquet":
        with translate_errors(path.name):
            connection.execute(f"CREATE VIEW records AS SELECT * FROM read_parquet({literal(str(path))})")
        return
    if kind_of(path) == "frame":
        with translate_errors(path.name):
            connection.register("frame", pa.Table.from_pandas(read_frame(path), preserve_index=False))
            connection.execute("CREATE TABLE records AS SELECT * FROM frame")
        return
    text = look_at(path, None)
    names = [name or f"column {number + 1}" for number, name in enumerate(text.header)]
    chosen = ", ".join(f"k{number} AS {quoted(name)}" for number, name in enumerate(names))
    with translate_errors(path.name):
        connection.execute(f"CREATE TABLE records AS SELECT {chosen} FROM {reading_text(text, folder)}")
    shapes = {name: shapes_of(connection, quoted(name), path.name) for name in names}
    for name, style in _styles(shapes, path.name, guess=guess).items():
        write_numbers(connection, quoted(name), style, shapes[name], path.name)


def _styles(shapes: Mapping[str, Sequence[str]], where: str, *, guess: bool) -> dict[str, NumberStyle]:
    """Find out how the numbers of columns are written, for those that hold nothing else."""
    styles: dict[str, NumberStyle] = {}
    unclear: list[str] = []
    for name, own in shapes.items():
        if not any(own) or len(own) >= MOST_SHAPES or any(map(PADDED.match, own)):
            continue  # 01 is a code
        try:
            style = style_of(own, name, where)
        except DataError:
            unclear.append(name)
            continue
        if style is not None:
            styles[name] = style
    if guess and not any(style.decimal == "," for style in styles.values()):
        plain = {name: style_of(shapes[name], name, where, PLAIN) for name in unclear}
        styles |= {name: style for name, style in plain.items() if style is not None}
    return styles


def read_whole(path: Path) -> pa.Table:
    r"""Read a file as one Arrow table, in the order of its lines; its name tells which.

    A CSV file does not say what its columns are. Those with nothing but numbers are numbers, unless one
    begins with a zero and another digit: then they are codes, and 01 stays 01. All others are text. Numbers
    may have decimal commas; 1.234 is read as programs write it, unless another column has decimal commas.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = place.write_text("region,age,income\n01,40,1.5\n12,39,\n")
    >>> read_whole(place).to_pylist()
    [{'region': '01', 'age': 40, 'income': 1.5}, {'region': '12', 'age': 39, 'income': None}]
    """
    if kind_of(path) == "parquet":
        import pyarrow.parquet as pq  # noqa: PLC0415 - slow to load, and not everybody needs it

        with translate_errors(path.name):
            return pq.read_table(path)
    if kind_of(path) == "frame":
        with translate_errors(path.name):
            return pa.Table.from_pandas(read_frame(path), preserve_index=False)
    with spill_folder() as spill:
        connection = connect(spill)
        try:
            # The hash of the data is that of their order as well.
            connection.execute("SET preserve_insertion_order = true")
            attach_whole(connection, path, spill, guess=True)
            with translate_errors(path.name):
                return connection.sql("SELECT * FROM records").to_arrow_table()
        finally:
            connection.close()
