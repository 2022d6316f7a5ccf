"""A file of records as one Arrow table, all columns, in the order of its lines."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa

from hitoku.tabulation.source import NUMERIC, PARQUET, connect, literal, quoted, reading_of, translate_errors


def read_whole(path: Path) -> pa.Table:
    r"""Read a Parquet or CSV file; its name tells which.

    A CSV file does not say what its columns are. Those with nothing but numbers are numbers, unless one
    begins with a zero and another digit: then they are codes, and 01 stays 01. All others are text.

    Examples
    --------
    >>> place = Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = place.write_text("region,age,income\n01,40,1.5\n12,39,\n")
    >>> read_whole(place).to_pylist()
    [{'region': '01', 'age': 40, 'income': 1.5}, {'region': '12', 'age': 39, 'income': None}]
    """
    reading = reading_of(path)
    if path.name.lower().endswith(PARQUET):
        import pyarrow.parquet as pq  # noqa: PLC0415 - slow to load, and not everybody needs it

        with translate_errors(path.name):
            return pq.read_table(path)
    with tempfile.TemporaryDirectory(prefix="hitoku-") as spill:
        connection = connect(spill)
        try:
            with translate_errors(path.name):
                # The hash of the data is that of their order as well.
                connection.execute("SET preserve_insertion_order = true")
                found = connection.sql(f"DESCRIBE SELECT * FROM {reading}").fetchall()
                kinds = {str(row[0]): str(row[1]) for row in found}
                as_text = reading[:-1] + ", all_varchar = true)"
                connection.execute(f"CREATE TABLE lines AS SELECT * FROM {as_text}")
                chosen = []
                for name, kind in kinds.items():
                    number = kind.lstrip("U").startswith(NUMERIC)
                    if number:
                        padded = f"regexp_matches({quoted(name)}, {literal('^[+-]?0[0-9]')})"
                        query = f"SELECT coalesce(bool_or({padded}), false) FROM lines"
                        number = not connection.sql(query).fetchall()[0][0]
                    text = f"CAST({quoted(name)} AS {kind})" if number else quoted(name)
                    chosen.append(f"{text} AS {quoted(name)}")
                return connection.sql(f"SELECT {', '.join(chosen)} FROM lines").to_arrow_table()
        finally:
            connection.close()
