"""Fingerprints of the records of cells, by which separate releases can be compared without the records.

Every record gets two numbers of 64 bits, an MD5 of its own text with a key; the fingerprint of a cell is
their sum over its records, so the order of the records does not matter. Equal fingerprints mean equal
records, except with probability 1 in 2**128.

The key is derived from all the data. Owners of the data can compute fingerprints, and releases of the same
data agree without a secret key. Without the data, a fingerprint cannot be used to test a guess about a
record, because that requires all other records. Fingerprints do reveal which cells have the same records, so
they are for the checker and are never published.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hitoku.model import Hashes, RecordSets, Table, add_up_atoms
from hitoku.tabulation.cube import FLOATS, texts
from hitoku.tabulation.database import translate_errors
from hitoku.tabulation.placement import Coded, RecordAtoms
from hitoku.tabulation.records import kind_of, read_frame
from hitoku.tabulation.shared_records import SharedRecords
from hitoku.tabulation.source import Source, Where, open_source
from hitoku.tabulation.text_files import FileFormat, look_at

# Separator between the entries of a record, and mark for a missing one: characters that no text contains.
BETWEEN, MISSING = "chr(31)", "chr(30)"


@dataclass(frozen=True, eq=False, repr=False)
class RecordPrints:
    r"""Records of a file, with their fingerprints added up to atoms.

    Examples
    --------
    >>> from hitoku.tabulation import tabulate
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "firms.csv"
    >>> _ = file.write_text("town,county\na,A\nb,A\nc,B\nc,B\n")
    >>> prints = RecordPrints.of(file, ["town", "county"])
    >>> town, county = (prints.cells(tabulate(file, by=[name])) for name in ("town", "county"))
    >>> town[2] == county[1], town[3] == county[2], town[0] == county[0]  # c is B, all is all, a is not A
    (True, True, False)
    """

    data: str
    """Identifier of the records: equal for two sets of fingerprints of the same data."""
    atoms: RecordAtoms
    """Distinct combinations of codes."""
    amounts: Hashes
    """Atoms by two: sums of the fingerprints of their records."""

    @classmethod
    def of(
        cls, data: Path | SharedRecords, names: Sequence[str], file: FileFormat | None = None
    ) -> RecordPrints:
        """Read a file; ``names`` are the columns whose codes define cells."""
        every = sorted(column_names(data, file))
        aliases = {f"c{number}": name for number, name in enumerate(every)}
        wanted = [alias for alias, name in aliases.items() if name in set(names)]
        with open_source(data, aliases, file=file, again=True) as source:
            row = f" || {BETWEEN} || ".join(
                f"coalesce({entry_text(source, alias)}, {MISSING})" for alias in aliases
            )
            sums = source.rows(f"SELECT count(*), {_sums(row)} FROM records")[0]
            key = hashlib.sha256(repr((every, *map(str, sums))).encode()).hexdigest()
            codes = ", ".join(f"{entry_text(source, alias)} AS {alias}" for alias in wanted)
            keyed = f"'{key}' || {row}"
            query = (
                f"SELECT {codes}, count(*) AS n, {_sums(keyed)} FROM records "
                f"GROUP BY {', '.join(entry_text(source, alias) for alias in wanted)} ORDER BY ALL"
            )
            with translate_errors(source.where):
                rows = source.connection.sql(query).to_arrow_table()
            columns = {aliases[a]: Coded.of(rows.column(a), source.types[a]) for a in wanted}
        amounts = [[int(x) % 2**64 for x in rows.column(name).to_pylist()] for name in ("low", "high")]
        atoms = RecordAtoms(columns, rows.column("n").to_numpy())
        # The key itself is not stored: with it a guess about a record could be tested.
        return cls(hashlib.sha256(key.encode()).hexdigest(), atoms, np.array(amounts, dtype=np.uint64).T)

    def cells(self, table: Table, where: Where | None = None) -> list[str]:
        """Return the fingerprint of every cell of a table; empty for an empty cell.

        Hexadecimal digits: 16 that identify the data, then 32 for the records.
        """
        sets = RecordSets.of(table, self.atoms.place(table, where))
        sums = [add_up_atoms(sets.leaf, sets.inside, column, table.dimensions) for column in self.amounts.T]
        return [
            f"{self.data[:16]}{int(high):016x}{int(low):016x}" if n else ""
            for low, high, n in zip(*sums, sets.records.tolist(), strict=True)
        ]


def column_names(data: Path | SharedRecords, file: FileFormat | None = None) -> list[str]:
    """Return the columns of a file of records."""
    if isinstance(data, SharedRecords):
        return data.names
    kind = kind_of(data)
    if kind == "text":
        return list(look_at(data, file).header)
    if kind == "frame":
        return [str(name) for name in read_frame(data, file).columns]
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to load, and not always needed

    with translate_errors(data.name):
        return list(pq.read_schema(data).names)


def entry_text(source: Source, alias: str) -> str:
    """Return SQL for an entry as text, the same as tables have it."""
    return f"CAST({alias + ' + 0' if source.types[alias] in FLOATS else alias} AS VARCHAR)"


def _sums(text: str) -> str:
    """Return SQL that adds up both halves of the MD5 of a text over records."""
    halves = (("md5_number_lower", "low"), ("md5_number_upper", "high"))
    return ", ".join(f"sum(CAST({half}({text}) AS HUGEINT)) AS {name}" for half, name in halves)


# Columns examined: even a file with thousands of columns has few classifications.
MAX_COLUMNS = 200
# By variable and column, the entry of the column that belongs to each code of the variable.
Nested = dict[str, dict[str, dict[str, str]]]


def nested_columns(
    data: Path | SharedRecords, names: Sequence[str], file: FileFormat | None = None
) -> Nested:
    r"""Find the columns of a file that some variables determine, other than these variables.

    Parameters
    ----------
    data, file
        The records, as for :func:`hitoku.tabulate`.
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
    every = sorted(column_names(data, file))[:MAX_COLUMNS]
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
                determined = all(row[2 + 2 * place] for row in rows)
                if determined and 1 < len(set(entries.values())) < len(entries):
                    found.setdefault(name, {})[aliases[other]] = entries
    return found


# Columns with more distinct entries than this share of the records identify records; they do not classify.
MAX_DISTINCT = 0.5


def finer_columns(data: SharedRecords, names: Sequence[str], without: Sequence[str] = ()) -> list[str]:
    """Find the columns of a file that determine several of some columns, other than these.

    Towns say which counties and which health districts have people in common.

    Parameters
    ----------
    data
        Records of the tables.
    names
        Columns with codes.
    without
        Columns with amounts or names.

    Examples
    --------
    >>> import pandas as pd
    >>> from hitoku.tabulation import share_records
    >>> people = {"town": list("aabbcc"), "county": list("AAAABB"), "district": list("XXYYYY")}
    >>> with share_records(pd.DataFrame(people)) as opened:
    ...     finer_columns(opened, ["county", "district"])
    ['town']
    """
    every = sorted(set(data.names) - {*names, *without})[:MAX_COLUMNS]
    if len(names) < 2 or not every:
        return []
    aliases = {f"c{number}": name for number, name in enumerate([*names, *every])}
    found = []
    with open_source(data, aliases, again=True) as source:
        distinct = ", ".join(f"approx_count_distinct({alias})" for alias in aliases)
        n_records, *counts = source.rows(f"SELECT count(*), {distinct} FROM records")[0]
        own = list(aliases)[: len(names)]
        # The second finest of the columns that it determines has no more codes, up to the error of the count.
        least = 0.8 * sorted(counts[: len(names)])[1]
        for alias, count in zip(list(aliases)[len(names) :], counts[len(names) :], strict=True):
            if source.types[alias] in FLOATS or not least <= count <= MAX_DISTINCT * n_records:
                continue
            pair_counts = ", ".join(f"count(DISTINCT ({alias}, {one}))" for one in own)
            query = f"SELECT count(DISTINCT {alias}), {pair_counts} FROM records WHERE {alias} IS NOT NULL"
            n_codes, *pairs = source.rows(query)[0]
            if sum(n == n_codes for n in pairs) > 1 and n_codes <= MAX_DISTINCT * n_records:
                found.append(aliases[alias])
    return found


def _the_same(entry: str) -> str:
    """Return SQL for the entry of a group of records, and whether all of them have it."""
    return f"min({entry}), min({entry}) = max({entry}) AND count({entry}) = count(*)"
