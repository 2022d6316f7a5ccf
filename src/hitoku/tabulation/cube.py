"""From the codes of records to leaf cells: the variables of a table, and the leaf of every code."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hitoku.errors import DataError, HitokuError, ParameterError, join_errors, some
from hitoku.messages import Arguments
from hitoku.model import (
    TOTAL,
    Dimension,
    Hierarchies,
    Hierarchy,
    code_list,
    refuse_nul,
    refuse_similar,
    relations,
    require_hierarchies,
    unseen_codes,
)

FLOATS = ("FLOAT", "DOUBLE")
MISSING, OTHER = "missing", "other"  # codes for missing and unseen ones


class CodedRecords(Protocol):
    """Provider of the codes of records; see :class:`hitoku.tabulation.engines.engine.Engine`."""

    @property
    def where(self) -> str: ...

    def codes(self, column: str) -> tuple[Mapping[str | None, int], str]: ...

    def place(self, column: str, leaf_of: Mapping[str | None, int], n_leaves: int) -> None: ...


@dataclass(frozen=True)
class Cube:
    """The variables of a table; leaf cells and cells are numbered row-major."""

    dimensions: tuple[Dimension, ...]

    @property
    def leaf_shape(self) -> tuple[int, ...]:
        return tuple(len(d.leaves) for d in self.dimensions)

    @property
    def n_leaves(self) -> int:
        return math.prod(self.leaf_shape)

    @property
    def n_cells(self) -> int:
        return math.prod(len(d) for d in self.dimensions)

    def upward(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], int, int, int]]:
        """Yield how leaves become cells, one variable after another.

        Each item has the leaves below the variable's codes (start of each code, and leaves), and the number
        of rows before the variable, of its leaves, and of rows after it.
        """
        before, after = 1, self.n_leaves
        for dimension in self.dimensions:
            closure, n_leaves = dimension.closure, len(dimension.leaves)
            after //= n_leaves
            yield closure.indptr.astype(np.int64), closure.indices.astype(np.int64), before, n_leaves, after
            before *= len(dimension)


def cube_of(
    engine: CodedRecords,
    by: Sequence[str],
    hierarchies: Hierarchies,
    total: str | Mapping[str, str],
    *,
    missing: str,
    unseen: str,
) -> Cube:
    """Read the codes of every variable, and pass the leaf of each to the engine."""
    require_hierarchies(hierarchies, by)
    dimensions = []
    problems: list[HitokuError] = []
    for number, name in enumerate(by):
        try:
            dimensions.append(_dimension(engine, number, name, hierarchies, total, missing, unseen))
        except HitokuError as error:
            problems.append(error)
    if problems:
        raise join_errors(problems)
    return Cube(tuple(dimensions))


def _dimension(
    engine: CodedRecords,
    number: int,
    name: str,
    hierarchies: Hierarchies,
    total: str | Mapping[str, str],
    missing: str,
    unseen: str,
) -> Dimension:
    """Read the codes of one variable, and tell the engine where each belongs."""
    column = f"c{number}"
    found, kind = engine.codes(column)
    codes = texts(found, kind)
    refuse_nul(name, codes.values(), engine.where)
    n_missing = sum(found[raw] for raw, code in codes.items() if code is None)
    if n_missing and missing == "error":
        raise DataError(
            "missing_codes",
            "column {column!r} has {n} missing code(s)",
            column=name,
            where=engine.where,
            fix="give them a code first, or use {arguments} to put them under {missing!r}",
            arguments=Arguments(missing="code"),
            n=n_missing,
            missing=MISSING,
        )
    wanted = {raw: MISSING if code is None else code for raw, code in codes.items()}
    if name in hierarchies:
        dimension = Dimension.of(name, hierarchies[name])
    else:
        top = total if isinstance(total, str) else total.get(name, TOTAL)
        # Missing codes come last, unless the data use the word themselves.
        listed = code_list(np.array([code for code in codes.values() if code is not None], dtype=str))
        flat = dict.fromkeys([*listed, MISSING] if n_missing else listed)
        times = dict.fromkeys(listed, 0)
        for raw, code in codes.items():
            if code is not None:
                times[code] += found[raw]
        _refuse_total(name, top, times, engine.where)
        _refuse_identifiers(name, times, engine.where)
        refuse_similar(name, {top: 0} | times, engine.where)
        dimension = Dimension.of(name, Hierarchy.flat(flat, top))
    if n_missing and MISSING not in dimension.leaves:
        raise _no_code(name, MISSING, "missing")
    mapped = _places(wanted, dimension, unseen, engine.where)
    engine.place(column, mapped, len(dimension.leaves))
    return dimension


def _refuse_total(name: str, total: str, times: Mapping[str, int], where: str) -> None:
    if total in times:
        raise DataError(
            "total_code_in_records",
            "column {column!r} has {total!r}, the code of the total, in {n:,} record(s)",
            column=name,
            where=where,
            fix="leave rows with totals out; a table that has its totals is given as cells, not as records",
            total=total,
            n=times[total],
        )


# A column with more codes, of which more than this share stand in one record, identifies records.
MAX_IDENTIFYING, IDENTIFYING_SHARE = 100, 0.5


def _refuse_identifiers(name: str, times: Mapping[str, int], where: str) -> None:
    """Raise if most codes of a column without a hierarchy stand in a single record."""
    n_single = sum(n == 1 for n in times.values())
    if n_single > MAX_IDENTIFYING and n_single > IDENTIFYING_SHARE * len(times):
        raise DataError(
            "codes_identify_records",
            "column {column!r} has {m:,} codes, {n:,} of them in a single record: published as codes, they "
            "identify respondents or disclose their values",
            column=name,
            where=where,
            fix="name a column of codes; if these are codes, list them in a hierarchy",
            m=len(times),
            n=n_single,
        )


def _places(
    wanted: Mapping[str | None, str], dimension: Dimension, unseen: str, where: str
) -> dict[str | None, int]:
    """Find the leaf of every code as written in the data."""
    place = {code: number for number, code in enumerate(dimension.leaves)}
    strangers = sorted({code for code in wanted.values() if code not in place})
    groups = [code for code in strangers if code in dimension.position]
    if groups:
        raise DataError(
            "codes_are_groups",
            "column {column!r} has {n} code(s) that are groups, not leaves",
            column=dimension.name,
            where="{place}, codes {codes}",
            fix="records belong to the finest codes; add a leaf such as 'not further known' to the group",
            n=len(groups),
            place=where,
            codes=some(repr(code) for code in groups),
        )
    if strangers and unseen == "error":
        raise unseen_codes(dimension.name, strangers, dimension.leaves, where)
    if strangers and OTHER not in place:
        raise _no_code(dimension.name, OTHER, "unseen")
    return {raw: place[code if code in place else OTHER] for raw, code in wanted.items()}


def texts(found: Mapping[str | None, int], kind: str) -> dict[str | None, str | None]:
    """Return codes as text, None for missing ones. Integral floats are written without decimals."""
    texts = {raw: raw if raw is not None and raw.strip() else None for raw in found}
    if kind in FLOATS:
        numbers = {raw: float(raw) for raw in found if raw is not None}
        texts |= {raw: None for raw, number in numbers.items() if math.isnan(number)}
        kept = [number for number in numbers.values() if not math.isnan(number)]
        if all(math.isfinite(number) and number == int(number) for number in kept):
            texts |= {raw: str(int(n)) for raw, n in numbers.items() if not math.isnan(n)}
    return texts


def _no_code(name: str, code: str, option: str) -> ParameterError:
    return ParameterError(
        "code_option_without_code",
        '{option}="code" needs the code {code!r} in the hierarchy of {variable!r}',
        where="hierarchies",
        fix="add {code!r} as a leaf, or correct the data",
        option=option,
        code=code,
        variable=name,
    )


def refuse_large_cube(cube: Cube, width: int, allowed: int) -> None:
    """Raise if ranks of this width and the finished table need more memory than allowed, in bytes."""
    ranks = 3 * width * 8  # per cell: while leaves are ranked, while they are merged, and the answer
    # Values, frequencies, bounds, measures and copies of them while the table is checked.
    relations.refuse_too_large(cube.dimensions, per_cell=8 * 24 + ranks, allowed=allowed)
