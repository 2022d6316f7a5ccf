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
    joins
        SQL that ``who`` needs after ``FROM records AS r``.
    size
        One more than the largest number.
    n_own
        Records that are contributors of their own.
    """

    who: str = "NULL::BIGINT"
    joins: str = ""
    size: int = 0
    n_own: int = 0


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
            return Identity(f"(CAST(r.{column} AS BIGINT) - ({low}))", "", size, n_own)
    source.run(
        f"CREATE TABLE who_{column} AS SELECT name, row_number() OVER (ORDER BY name) - 1 AS who "
        f"FROM (SELECT DISTINCT {given} AS name FROM records AS r) WHERE name IS NOT NULL"
    )
    size = int(source.rows(f"SELECT count(*) FROM who_{column}")[0][0])
    joins = f" LEFT JOIN who_{column} AS named_{column} ON named_{column}.name = {given}"
    return Identity(f"named_{column}.who", joins, size, n_own)


def of_holdings(source: Source, holdings: Identity, units: Identity | None) -> Identity:
    """Give numbers to holdings; a record without one belongs to a holding made of its unit alone.

    These stand-ins are numbered behind the holdings, so the two never meet.
    """
    if units is None or holdings.n_own == 0 or units.size == 0:
        return holdings
    who = f"coalesce({holdings.who}, {holdings.size} + {units.who})"
    joins = holdings.joins + units.joins
    n_own = source.rows(f"SELECT count(*) FROM records AS r{joins} WHERE {who} IS NULL")[0][0]
    return Identity(who, joins, holdings.size + units.size, int(n_own))
