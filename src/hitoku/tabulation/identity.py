"""Who is behind a record: contributors as small whole numbers."""

from __future__ import annotations

from dataclasses import dataclass

from hitoku.tabulation.source import Source

WIDEST = 2**61  # contributor and leaf share one 64-bit key


@dataclass(frozen=True)
class Identity:
    """Numbers for the contributors of one level.

    Parameters
    ----------
    who
        SQL for the contributor of a record ``r``: 0 up to ``size`` - 1, NULL for a record that is a
        contributor of its own.
    given
        SQL for something that is NULL where a contributor has no name.
    named
        Tables of names that ``who`` needs: the column, its name in SQL, and what is added to its numbers.
    size
        One more than the largest number.
    n_own
        Records that are contributors of their own.
    """

    who: str = "NULL::BIGINT"
    given: str = "NULL"
    named: tuple[tuple[str, str, int], ...] = ()
    size: int = 0
    n_own: int = 0

    def joins(self, part: int = 0, n_parts: int = 1) -> str:
        """Write SQL that ``who`` needs after ``FROM records AS r``.

        With the names of one part only, contributors of all others have no number: few names fit into memory
        where all of them would not.
        """
        return "".join(
            f" LEFT JOIN (SELECT name, who FROM who_{column} WHERE (who + {added}) % {n_parts} = {part}) "
            f"AS named_{column} ON named_{column}.name = {given}"
            for column, given, added in self.named
        )


def of_records(n_records: int) -> Identity:
    """Every record is a contributor."""
    return Identity(n_own=n_records)


def of_column(source: Source, column: str, n_leaves: int) -> Identity:
    """Contributors named by a column; a record without a name is a contributor of its own.

    Integers in a narrow range are their own numbers. All else is numbered in sorted order, so that the
    numbers, and with them the order of every sum, follow from the data and not from chance.
    """
    given = f"r.{column}"
    if source.types[column].startswith(("VARCHAR", "ENUM")):
        # As text also where the frame has categories: their order may be that of the rows.
        given = f"CASE WHEN trim(CAST(r.{column} AS VARCHAR)) <> '' THEN CAST(r.{column} AS VARCHAR) END"
    elif source.types[column] in {"FLOAT", "DOUBLE"}:
        given = f"CASE WHEN NOT isnan(r.{column}) THEN r.{column} END"
    n_own = int(source.rows(f"SELECT count(*) FILTER (WHERE {given} IS NULL) FROM records AS r")[0][0])
    if source.is_integer(column):
        low, high = source.rows(f"SELECT min({column}), max({column}) FROM records")[0]
        if low is None:
            return Identity(n_own=n_own)
        size = int(high) - int(low) + 1
        if size * n_leaves * 2 < WIDEST and abs(int(low)) < WIDEST:
            return Identity(f"(CAST(r.{column} AS BIGINT) - ({low}))", given, (), size, n_own)
    source.run(
        f"CREATE TABLE who_{column} AS SELECT name, row_number() OVER (ORDER BY name) - 1 AS who "
        f"FROM (SELECT DISTINCT {given} AS name FROM records AS r) WHERE name IS NOT NULL"
    )
    size = int(source.rows(f"SELECT count(*) FROM who_{column}")[0][0])
    return Identity(f"named_{column}.who", given, ((column, given, 0),), size, n_own)


def of_holdings(source: Source, holdings: Identity, units: Identity | None) -> Identity:
    """Give numbers to holdings; a record without one belongs to a holding made of its unit alone.

    These stand-ins are numbered behind the holdings, so the two never meet.
    """
    if units is None or holdings.n_own == 0 or units.size == 0:
        return holdings
    who = f"CASE WHEN {holdings.given} IS NULL THEN {holdings.size} + {units.who} ELSE {holdings.who} END"
    neither = f"{holdings.given} IS NULL AND {units.given} IS NULL"
    n_own = source.rows(f"SELECT count(*) FROM records AS r WHERE {neither}")[0][0]
    named = holdings.named + tuple((column, name, holdings.size) for column, name, _ in units.named)
    given = f"CASE WHEN {neither} THEN NULL ELSE TRUE END"
    return Identity(who, given, named, holdings.size + units.size, int(n_own))
