"""From microdata to a table with exact contributor statistics at every marginal.

Rows of totals among the records are rejected, and cells that can only be zero are fixed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.errors import DataError, ParameterError, some
from hitoku.model import (
    ADDITIVITY,
    TOTAL,
    Contributors,
    Dimension,
    Floats,
    Integers,
    Labels,
    Magnitude,
    Mask,
    Table,
    open_frame,
    require_columns,
    texts,
    unseen_codes,
)
from hitoku.tabulation.cube import Cube, cube_of, refuse_large_cube
from hitoku.tabulation.engines import Engine, given_to, open_engine
from hitoku.tabulation.exact_sums import Numbers, numbers_of
from hitoku.tabulation.record_columns import WORDS_FOR_TOTALS, Groupings, grown
from hitoku.tabulation.source import Where
from hitoku.tabulation.text_files import READING, FileFormat

ZEROS = "structural_zeros"


@dataclass(frozen=True)
class KnownZeros:
    """A mask over the cells."""

    mask: Mask

    def refuse_records(self, records: Integers, dimensions: Sequence[Dimension]) -> None:
        """Raise if one of the cells has records."""
        held = np.flatnonzero(self.mask & (records > 0))
        if len(held):
            labels = Labels.cross(dimensions)
            raise DataError(
                "structural_zeros_hold_records",
                "{n} cell(s) declared as structural zeros hold records",
                where="cells {cells}",
                fix="correct the records, or take these cells from structural_zeros",
                n=len(held),
                cells=some((labels.describe(int(c)) for c in held[:3]), 3),
            )


def known_zeros(given: Any, by: Sequence[str], dimensions: Sequence[Dimension]) -> KnownZeros:
    """Read a frame of codes, or a mask; everything below a zero group is zero too."""
    shape = tuple(len(d) for d in dimensions)
    if isinstance(given, np.ndarray | list | tuple):
        mask = np.asarray(given)
        if mask.dtype != np.bool_ or mask.size != np.prod(shape, dtype=np.int64):
            raise ParameterError(
                "structural_zeros_shape",
                "a mask of {n_mask} {dtype} entries for {n_cells} cells",
                where=ZEROS,
                fix="give one boolean per cell in the order of table.cells, or a frame with the codes",
                n_mask=mask.size,
                dtype=mask.dtype.name,
                n_cells=np.prod(shape, dtype=np.int64),
            )
        mask = mask.reshape(shape).copy()
    else:
        mask = np.zeros(shape, dtype=bool)
        mask[_zero_places(given, by, dimensions)] = True
    return KnownZeros(_with_parts(mask, dimensions).ravel())


def _zero_places(given: Any, by: Sequence[str], dimensions: Sequence[Dimension]) -> tuple[Integers, ...]:
    frame = open_frame(given)
    require_columns(frame, by, ZEROS)
    places = []
    for dimension in dimensions:
        codes = texts(frame, dimension.name, ZEROS)
        distinct, inverse = np.unique(codes, return_inverse=True)
        strangers = [str(code) for code in distinct if str(code) not in dimension.position]
        if strangers:
            raise unseen_codes(dimension.name, strangers, dimension.codes, ZEROS)
        position = np.array([dimension.position[str(code)] for code in distinct], dtype=np.int64)
        places.append(position[inverse])
    return tuple(places)


def _with_parts(mask: Mask, dimensions: Sequence[Dimension]) -> Mask:
    """Mark the cells below a marked one: numbers of records are nonnegative, so these are empty too."""
    for axis, dimension in enumerate(dimensions):
        closure = dimension.closure
        common = (closure @ closure.T).toarray()
        # below[a, b]: all leaves of a are leaves of b.
        below = common == closure.sum(axis=1)[:, None]
        moved = np.moveaxis(mask, axis, 0)
        spread = below.astype(np.float64) @ moved.reshape(len(dimension), -1).astype(np.float64)
        mask = np.moveaxis((spread > 0).reshape(moved.shape), 0, axis)
    return np.ascontiguousarray(mask)


def refuse_unnamed_totals(
    dimensions: Sequence[Dimension],
    value: Floats | None,
    records: Integers,
    *,
    listed: Collection[str],
    where: str,
) -> None:
    """Raise if the rows of a code are the sum of all others; warn about other codes named like totals.

    Parameters
    ----------
    dimensions
        Dimensions of the table.
    value, records
        The sum of every cell, None if records are only counted; and its number of records.
    listed
        Variables with an explicit list of codes, whose entries are codes.
    where
        Name of the data in messages.
    """
    shape = tuple(len(dimension) for dimension in dimensions)
    for axis, dimension in enumerate(dimensions):
        words = [code for code in dimension.leaves if code.casefold() in WORDS_FOR_TOTALS]
        if dimension.name in listed or len(dimension.leaves) < 2:
            continue
        # Everything else at its total, which comes last.
        line = tuple(slice(None) if place == axis else -1 for place in range(len(shape)))
        for code in words:
            place = dimension.position[code]
            n_records = int(np.reshape(records, shape)[line][place])
            described = f"column {dimension.name!r} has {code!r} in {n_records:,} record(s)"
            if value is not None:
                sums = np.reshape(value, shape)[line]
                others = sums[-1] - sums[place]
                if sums[place] and abs(sums[place] - others) <= ADDITIVITY * abs(others):
                    raise DataError(
                        "totals_in_records",
                        "{rows}, the sum of all other codes: these rows are totals",
                        where=where,
                        fix="leave rows with totals out; a table that has its totals is given as cells, "
                        "not as records; if it is a code like others, list all codes in a hierarchy",
                        rows=described,
                    )
            READING.warning(
                "%s: %s, a word for totals; it was taken for a code like others", where, described
            )


def tabulate(
    data: Any,
    by: Sequence[str],
    *,
    value: str | None = None,
    weight: str | None = None,
    unit: str | None = None,
    holding: str | None = None,
    hierarchies: Groupings | None = None,
    total: str | Mapping[str, str] = TOTAL,
    top: int = 3,
    magnitude: Magnitude | None = None,
    missing: str = "error",
    unseen: str = "error",
    structural_zeros: Any = None,
    where: Where | None = None,
    outside: Sequence[Where] = (),
    measure: str | None = None,
    decimals: int | None = None,
    file: FileFormat | None = None,
    engine: Any = "duckdb",
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Table:
    """Add up records to a table: every combination of codes, including totals.

    Largest contributions and numbers of distinct contributors are exact in every cell, even if a holding
    is in several of the cells below. The same records give the same bits, in any order and with any number
    of threads.

    Parameters
    ----------
    data
        pandas, polars or pyarrow frame, DuckDB relation, Spark frame, table of Ibis, or the path of a Parquet
        or CSV file. The records of a Spark frame stay on its cluster, those of an Ibis table in its database.
    by
        Columns with the codes, one variable each.
    value
        Column to add up. Default: count records.
    weight
        Column with the number of units that each record represents: sums and counts are weighted, and a
        contributor of weight w fills w ranks.
    unit
        Column that names the respondent. Default: every record is a respondent. A record without a name is a
        separate respondent.
    holding
        Column that names the group of respondents who act as one. A respondent without one is a separate
        holding. With ``holding`` but no ``unit``, contributors are known per holding only.
    hierarchies
        Hierarchies by variable, or several groupings for one; or the names of columns that group its codes,
        fine to coarse, ``{"town": ["county", "state"]}``. Variables without an entry are flat.
    total
        Code of the total of flat variables, one for all or one for each.
    top
        Number of the largest contributions to keep per cell.
    magnitude
        Treatment of negative contributions: "signed" (the default), they lower the total and are
        never among the largest; "abs", they are ranked by size, and ``contributors.total`` adds sizes.
    missing
        "error", or "code": a record without a code gets the code "missing".
    unseen
        "error", or "code": a code that the hierarchy lacks becomes its code "other".
    structural_zeros
        Cells that can only be zero: a frame with the columns ``by``, or a mask over the cells. They are
        public knowledge, and are not suppressed.
    where
        Filter: columns and the codes that are kept, ``{"legal_form": ["SA", "SE"]}``; other records are
        excluded from every cell.
    outside
        Further filters, each like ``where``; records that match one of them are excluded. So
        ``outside=[{"legal_form": ["SA", "SE"]}]`` selects the records that a table with that filter excludes.
    measure
        Name of the quantity. Default: the name of the value column, or "count".
    decimals
        Number of decimals to which every record's contribution (its value, times its weight if any) is
        rounded before summation: the table then adds up exactly and can have a proof. Default: no rounding;
        sums of decimals with up to four digits are exact anyway.
    file
        Format of a text file: encoding, separator, decimal and thousands signs; the rest is
        detected, and logged by "hitoku.reading".
    engine
        Reader of a path: "duckdb" on this machine, "spark" for Parquet files that a cluster can reach (in the
        existing session), or a session of Spark. Frames determine their own engine.
    memory_limit, threads
        Limits such as "4GB" and 2; default most of the machine. With Spark ``threads`` is the number of parts
        into which contributors are divided, default the number of parallel tasks. Neither changes the result.

    Returns
    -------
    Table
        Values, frequencies and contributors of all cells; the frame of its cells is of the same kind as the
        data.

    Raises
    ------
    ParameterError
        If arguments contradict each other, or a column does not exist.
    DataError
        If records lack codes, have codes that a hierarchy lacks, or their numbers cannot be read.

    Examples
    --------
    >>> import pandas as pd
    >>> records = pd.DataFrame({
    ...     "region": ["N", "N", "S", "S"],
    ...     "owner": ["a", "b", "a", "c"],
    ...     "turnover": [50, 20, 40, 10],
    ... })
    >>> table = tabulate(records, by=["region"], value="turnover", holding="owner", top=2)
    >>> table.cells["region"].tolist(), table.value.tolist()
    (['N', 'S', 'Total'], [70.0, 50.0, 120.0])

    Owner a is in both regions: its 50 and 40 are one contribution of 90 to the total.

    >>> table.holdings.largest.tolist(), table.holdings.count.tolist()
    ([[50.0, 20.0], [40.0, 10.0], [90.0, 20.0]], [2, 2, 3])
    """
    columns = _columns(by, value, weight, unit, holding)
    _refuse_parameters(top, magnitude, missing, unseen)
    _refuse_decimals(decimals)
    data = given_to(engine, data)
    trees = grown(data, hierarchies or {}, total, file)
    limits: dict[str, Any] = {"memory_limit": memory_limit, "threads": threads}
    with open_engine(data, columns, where=where, outside=outside, file=file, **limits) as opened:
        numbers = numbers_of(opened, decimals)
        cube = cube_of(opened, by, trees, total, missing=missing, unseen=unseen)
        zeros = None if structural_zeros is None else known_zeros(structural_zeros, by, cube.dimensions)
        parts = _count_cells(opened, cube, numbers, top if value else 0, magnitude)
        refuse_unnamed_totals(
            cube.dimensions,
            parts["value"] if value else None,
            parts["measures"]["records"],
            listed=trees,
            where=opened.where,
        )
        whole = weight is None and (value is None or opened.is_integer("x") or decimals == 0)
        if zeros is not None:
            zeros.refuse_records(parts["measures"]["records"], cube.dimensions)
            parts |= {"fixed": zeros.mask, "upper": np.where(zeros.mask, 0.0, np.inf)}
        return Table(
            dimensions=cube.dimensions,
            integer=whole,
            measure=measure or value or "count",
            backend=opened.backend,
            **parts,
        )


def _count_cells(
    engine: Engine,
    cube: Cube,
    numbers: Numbers,
    top: int,
    magnitude: Magnitude | None,
) -> dict[str, Any]:
    """Return values, frequencies, contributors and measures of every cell."""
    # Deferred: the kernels load numba, which an error about a misspelt column does not need.
    from hitoku.tabulation.contributor_sums import LeafSums, Ranked, Ranking  # noqa: PLC0415 - see above

    weighted, valued = "w" in engine.names, "x" in engine.names
    ranking = Ranking.of(numbers, top=top, absolute=magnitude == "abs", weighted=weighted)
    refuse_large_cube(cube, ranking.width, engine.memory)
    named = "u" in engine.names
    levels = ["holdings"] * ("h" in engine.names) + ["units"] * (named or "h" not in engine.names)
    sums = LeafSums.empty(cube, numbers, valued=valued, weighted=weighted)
    found: dict[str, Ranked] = {}
    for level in levels:
        who = engine.identify(level)
        state = engine.rank(cube, who, ranking, numbers, None if found else sums)
        found[level] = state.ranked(numbers, engine.where)
    measures: dict[str, NDArray[Any]] = sums.measures()
    value = measures[_quantity(valued=valued, weighted=weighted)]
    contributors = {
        level: Contributors(
            count=r.count,
            largest=r.largest,
            total=r.sizes if ranking.absolute else value,
            negative=numbers.negative,
            magnitude=magnitude,
        )
        for level, r in found.items()
    }
    for level in ("units", "holdings"):
        if level in found and (level == "holdings" or named):
            measures[level] = found[level].count
    if valued:
        measures["squares"] = found["holdings" if "holdings" in found else "units"].squares
    frequency: Integers = found["units"].count if named else measures["records"]
    return {
        "value": value,
        "frequency": frequency,
        "units": contributors.get("units"),
        "holdings": contributors.get("holdings"),
        "measures": measures,
    }


def _quantity(*, valued: bool, weighted: bool) -> str:
    if valued:
        return "weighted_sum" if weighted else "sum"
    return "weighted_count" if weighted else "records"


def _columns(
    by: Sequence[str], value: str | None, weight: str | None, unit: str | None, holding: str | None
) -> dict[str, str]:
    """Return hitoku's short names of the columns."""
    if isinstance(by, str):
        raise ParameterError(
            "by_is_one_text", "by is one text, not a list", where="by", fix="write by=[{by!r}]", by=by
        )
    if not isinstance(by, Sequence):
        raise ParameterError(
            "by_not_a_list",
            "by is of type {kind}, not a list",
            where="by",
            fix="name the columns: by=['region']",
            kind=type(by).__name__,
        )
    for role, name in (("value", value), ("weight", weight), ("unit", unit), ("holding", holding)):
        _refuse_column(name, role)
    for name in by:
        _refuse_column(name, "by")
    if not by:
        raise ParameterError(
            "no_variables", "no variables to tabulate by", where="by", fix="name at least one column"
        )
    twice = [name for place, name in enumerate(by) if name in by[:place]]
    if twice:
        raise ParameterError(
            "variable_named_twice",
            "variable {variable!r} is named twice",
            where="by",
            fix="name it once",
            variable=twice[0],
        )
    for role, name in (("value", value), ("weight", weight)):
        if name is not None and name in by:
            raise ParameterError(
                "column_is_also_variable",
                "column {column!r} is both {role} and a variable of the table",
                where="by, {role}",
                fix="a column either holds codes or numbers to add",
                column=name,
                role=role,
            )
    if value is not None and value == weight:
        raise ParameterError(
            "column_is_value_and_weight",
            "column {column!r} is both value and weight",
            where="value, weight",
            argument="weight",
            fix="name two columns",
            column=value,
        )
    roles = {"x": value, "w": weight, "u": unit, "h": holding}
    columns = {f"c{number}": name for number, name in enumerate(by)}
    return columns | {role: name for role, name in roles.items() if name is not None}


def _refuse_column(name: object, role: str) -> None:
    """Raise if the numbers of a column were passed instead of its name; comparing them with names fails."""
    if hasattr(name, "__array__") and not isinstance(name, np.generic):
        raise ParameterError(
            "column_name_wrong_type",
            "{role} is of type {kind}, not the name of a column",
            where=role,
            fix="put the numbers into a column of the data, and name it",
            role=role,
            kind=type(name).__name__,
        )


def _refuse_decimals(decimals: int | None) -> None:
    if decimals is None or (
        isinstance(decimals, int) and not isinstance(decimals, bool) and 0 <= decimals <= 9
    ):
        return
    raise ParameterError(
        "decimals_range",
        "decimals must be a whole number from 0 to 9, got {decimals!r}",
        where="decimals",
        fix="2 keeps cents; leave it out to keep values as they are",
        decimals=decimals,
    )


def _refuse_parameters(top: int, magnitude: str | None, missing: str, unseen: str) -> None:
    if isinstance(top, bool) or not isinstance(top, int) or top < 1:
        raise ParameterError(
            "top_invalid",
            "top must be a whole number above zero, got {top!r}",
            where="top",
            fix="3 suits dominance and p% rules with one intruder",
            top=top,
        )
    choices: list[tuple[str, str | None, tuple[str | None, ...]]] = [
        ("magnitude", magnitude, (None, "signed", "abs")),
        ("missing", missing, ("error", "code")),
        ("unseen", unseen, ("error", "code")),
    ]
    for name, given, allowed in choices:
        if given not in allowed:
            words = " or ".join(repr(word) for word in allowed)
            raise ParameterError(
                "option_invalid",
                "{option} must be {options}, got {given!r}",
                where=name,
                fix="use {options}",
                option=name,
                options=words,
                given=given,
            )
