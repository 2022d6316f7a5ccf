"""From the codes of records to leaf cells: the variables of a table, and SQL for a record's leaf."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hitoku.errors import DataError, ParameterError, did_you_mean, some
from hitoku.model.dimension import Dimension
from hitoku.model.frames import code_list, refuse_similar, unseen_codes
from hitoku.model.from_frame import Hierarchies
from hitoku.model.hierarchy import TOTAL, Hierarchy
from hitoku.tabulation.source import Source

FLOATS = ("FLOAT", "DOUBLE")
MISSING, OTHER = "missing", "other"  # the codes that take in missing and unseen ones


@dataclass(frozen=True)
class Cube:
    """Variables, and where each record belongs.

    Parameters
    ----------
    dimensions
        The variables of the table.
    leaf
        SQL for the number of the leaf cell of a record ``r``, row-major over the leaves.
    joins
        SQL that ``leaf`` needs after ``FROM records AS r``.
    """

    dimensions: tuple[Dimension, ...]
    leaf: str
    joins: str

    @property
    def leaf_shape(self) -> tuple[int, ...]:
        return tuple(len(d.leaves) for d in self.dimensions)

    @property
    def n_leaves(self) -> int:
        return math.prod(self.leaf_shape)

    @property
    def n_cells(self) -> int:
        return math.prod(len(d) for d in self.dimensions)


def cube_of(
    source: Source,
    by: Sequence[str],
    hierarchies: Hierarchies,
    total: str | Mapping[str, str],
    *,
    missing: str,
    unseen: str,
) -> Cube:
    """Read the codes of every variable and number the leaf cells.

    Creates a small table ``leaf_of_<variable>`` per variable, with the codes as the data have them.
    """
    _refuse_hierarchies(hierarchies, by)
    dimensions = []
    leaf, joins = "0", ""
    for number, name in enumerate(by):
        column = f"c{number}"
        found = _seen(source, column)
        codes = texts(found, source.types[column])
        n_missing = sum(found[raw] for raw, code in codes.items() if code is None)
        if n_missing and missing == "error":
            raise DataError(
                f"column {name!r} has {n_missing} missing code(s)",
                where=source.where,
                fix=f'give them a code first, or missing="code" to put them under {MISSING!r}',
            )
        wanted = {raw: MISSING if code is None else code for raw, code in codes.items()}
        if name in hierarchies:
            dimension = Dimension.of(name, hierarchies[name])
        else:
            top = total if isinstance(total, str) else total.get(name, TOTAL)
            # Missing codes stand last, unless the data use the word themselves.
            listed = code_list(np.array([code for code in codes.values() if code is not None], dtype=str))
            flat = dict.fromkeys([*listed, MISSING] if n_missing else listed)
            times = dict.fromkeys(listed, 0)
            for raw, code in codes.items():
                if code is not None:
                    times[code] += found[raw]
            _refuse_total(name, top, times, source.where)
            refuse_similar(name, {top: 0} | times, source.where)
            dimension = Dimension.of(name, Hierarchy.flat(flat, top))
        if n_missing and MISSING not in dimension.leaves:
            raise _no_code(name, MISSING, "missing")
        mapped = _places(wanted, dimension, unseen, source.where)
        _write_leaves(source, column, mapped)
        dimensions.append(dimension)
        own = f"leaf_{column}.leaf"
        if None in mapped:
            own = f"coalesce({own}, {mapped[None]})"
        leaf = f"({leaf}) * {len(dimension.leaves)} + {own}"
        joins += f" LEFT JOIN leaf_of_{column} AS leaf_{column} ON leaf_{column}.raw = r.{column}"
    return Cube(tuple(dimensions), f"CAST({leaf} AS BIGINT)", joins)


def _refuse_total(name: str, total: str, times: Mapping[str, int], where: str) -> None:
    if total in times:
        raise DataError(
            f"column {name!r} has {total!r}, the code of the total, in {times[total]:,} record(s)",
            where=where,
            fix="leave rows with totals out; a table that has its totals is given as cells, not as records",
        )


def _refuse_hierarchies(hierarchies: Hierarchies, by: Sequence[str]) -> None:
    for name, given in hierarchies.items():
        if name not in by:
            raise ParameterError(
                f"a hierarchy for {name!r}, which is not a variable of the table",
                where="hierarchies",
                fix=did_you_mean(name, by),
            )
        groupings = given if isinstance(given, list | tuple) else [given]
        if not groupings or not all(isinstance(grouping, Hierarchy) for grouping in groupings):
            raise ParameterError(
                f"the hierarchy of {name!r} is not a Hierarchy, nor a list of them",
                where="hierarchies",
                fix="make one with Hierarchy.from_tree, from_parents, from_levels or flat",
            )


def _seen(source: Source, column: str) -> dict[str | None, int]:
    """Count the records of each code; keeps the codes in their own type in ``seen_<column>``."""
    # Adding zero makes one code of the floats 0.0 and -0.0, which are equal but not written alike.
    raw = f"({column} + 0)" if source.types[column] in FLOATS else column
    source.run(
        f"CREATE TABLE seen_{column} AS SELECT {raw} AS raw, CAST({raw} AS VARCHAR) AS code, "
        "count(*) AS n FROM records GROUP BY ALL"
    )
    return dict(source.rows(f"SELECT code, sum(n)::BIGINT FROM seen_{column} GROUP BY code"))


def _places(
    wanted: Mapping[str | None, str], dimension: Dimension, unseen: str, where: str
) -> dict[str | None, int]:
    """Find the leaf of every code as the data write it."""
    place = {code: number for number, code in enumerate(dimension.leaves)}
    strangers = sorted({code for code in wanted.values() if code not in place})
    groups = [code for code in strangers if code in dimension.position]
    if groups:
        raise DataError(
            f"column {dimension.name!r} has {len(groups)} code(s) that are groups, not leaves",
            where=f"{where}, codes {some(repr(code) for code in groups)}",
            fix="records belong to the finest codes; add a leaf such as 'not further known' to the group",
        )
    if strangers and unseen == "error":
        raise unseen_codes(dimension.name, strangers, dimension.leaves, where)
    if strangers and OTHER not in place:
        raise _no_code(dimension.name, OTHER, "unseen")
    return {raw: place[code if code in place else OTHER] for raw, code in wanted.items()}


def texts(found: Mapping[str | None, int], kind: str) -> dict[str | None, str | None]:
    """Write codes as text, None where missing. Floats that are all whole are written like integers."""
    texts = {raw: raw if raw is not None and raw.strip() else None for raw in found}
    if kind in FLOATS:
        numbers = {raw: float(raw) for raw in found if raw is not None}
        texts |= {raw: None for raw, number in numbers.items() if math.isnan(number)}
        kept = [number for number in numbers.values() if not math.isnan(number)]
        if all(math.isfinite(number) and number == int(number) for number in kept):
            texts |= {raw: str(int(n)) for raw, n in numbers.items() if not math.isnan(n)}
    return texts


def _write_leaves(source: Source, column: str, mapped: Mapping[str | None, int]) -> None:
    pairs = [(raw, leaf) for raw, leaf in mapped.items() if raw is not None]
    listed = pa.table(
        {
            "code": pa.array([raw for raw, _ in pairs], pa.string()),
            "leaf": pa.array([leaf for _, leaf in pairs], pa.int64()),
        }
    )
    source.connection.register(f"listed_{column}", listed)
    # Joined on the raw code in its own type: turning ten million integers into text would take longer.
    source.run(
        f"CREATE TABLE leaf_of_{column} AS "
        f"SELECT raw, leaf FROM seen_{column} JOIN listed_{column} USING (code)"
    )
    source.connection.unregister(f"listed_{column}")


def _no_code(name: str, code: str, option: str) -> ParameterError:
    return ParameterError(
        f'{option}="code" needs the code {code!r} in the hierarchy of {name!r}',
        where="hierarchies",
        fix=f"add {code!r} as a leaf, or correct the data",
    )
