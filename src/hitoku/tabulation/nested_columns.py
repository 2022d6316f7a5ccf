"""Columns of the records that group the codes of a variable, whether or not a table uses them.

Somebody else may publish a table by them. A release keeps them beside its evidence, so that an audit of
releases made apart finds sums of its cells among the cells of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hitoku.tabulation.cube import FLOATS, texts
from hitoku.tabulation.file_format import FileFormat
from hitoku.tabulation.fingerprints import column_names, entry_text
from hitoku.tabulation.shared_records import SharedRecords
from hitoku.tabulation.source import open_source

# Columns looked at: a file of thousands has few classifications among them.
MOST_COLUMNS = 200
# By variable and column, the entry of the column that every code of the variable comes with.
Nested = dict[str, dict[str, dict[str, str]]]


def nested_columns(
    data: Path | SharedRecords, names: Sequence[str], file: FileFormat | None = None
) -> Nested:
    r"""Find the columns of a file that some variables determine, other than these variables.

    Parameters
    ----------
    data, file
        The records, as :func:`hitoku.tabulate` takes them.
    names
        Columns with codes.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "firms.csv"
    >>> _ = file.write_text("town,county,size\na,A,1\nb,A,1\nc,B,1\nc,B,2\n")
    >>> nested_columns(file, ["town", "size"])
    {'town': {'county': {'a': 'A', 'b': 'A', 'c': 'B'}}}
    """
    every = sorted(column_names(data, file))[:MOST_COLUMNS]
    aliases = {f"c{number}": name for number, name in enumerate(every)}
    found: Nested = {}
    with open_source(data, aliases, file=file, again=True) as source:
        own = {name: alias for alias, name in aliases.items() if name in set(names)}
        others = [a for a, name in aliases.items() if name not in own and source.types[a] not in FLOATS]
        for name, alias in own.items() if others else ():
            asked = ", ".join(_the_same(entry_text(source, other)) for other in others)
            code = entry_text(source, alias)
            rows = source.rows(
                f"SELECT {code}, {asked} FROM records WHERE {code} IS NOT NULL GROUP BY 1 ORDER BY 1"
            )
            written = texts({row[0]: 0 for row in rows}, source.types[alias])
            for place, other in enumerate(others):
                entries = {str(written[row[0]]): row[1 + 2 * place] for row in rows}
                told = all(row[2 + 2 * place] for row in rows)
                if told and 1 < len(set(entries.values())) < len(entries):
                    found.setdefault(name, {})[aliases[other]] = entries
    return found


def _the_same(entry: str) -> str:
    """Return SQL for the entry of a group of records, and whether all of them have it."""
    return f"min({entry}), min({entry}) = max({entry}) AND count({entry}) = count(*)"
