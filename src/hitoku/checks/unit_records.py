"""Data of a session: columns, units, filters and groups."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hitoku.checks.arrow_columns import arrow_table, find_column, list_values, packed_texts, storable, widest
from hitoku.errors import DataError, ParameterError, did_you_mean, some
from hitoku.model import Floats, Integers, Mask, code_list, refuse_nul

MISSING = "missing"
# Treatment of records with a missing value: exclude them, raise an error, or give them a code of their own.
COMPLETE, ERROR, CODE = "complete", "error", "code"


@dataclass(frozen=True, eq=False, repr=False)
class Groups:
    """Records grouped by the combinations of codes that occur."""

    names: tuple[str, ...]  # Names of the variables.
    labels: tuple[tuple[str, ...], ...]  # Codes of each group.
    codes: Integers  # Group index of each record.

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, eq=False, repr=False)
class Records:
    """Records, each with the number of the unit it belongs to.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"id": ["a", "b", "a"], "region": ["N", "S", "N"]})
    >>> Records.open(people, unit="id")
    Records(3 records of 2 units)
    """

    table: pa.Table  # All columns.
    unit: Integers  # Unit number of each record, from 0.
    n_units: int  # Number of units in the whole data; filters do not change it.
    names: Any = None  # Name of each unit; None if every record is a unit.
    unit_column: str | None = None  # Column that names the unit; None if every record is a unit.
    unfiltered: pa.Table | None = None  # All records before any filter; None without a filter.
    filtered: frozenset[str] = frozenset()  # Columns used by the filter.

    @classmethod
    def open(cls, data: Any, unit: str | None = None) -> Records:
        """Read a frame or a file.

        Parameters
        ----------
        data
            pandas, polars or pyarrow frame, or path of a Parquet or CSV file.
        unit
            Column that names the unit. Default: every record is a unit.
        """
        table = arrow_table(data)
        if len(set(table.column_names)) < table.num_columns:
            raise DataError(
                "duplicate_column_names",
                "two columns have the same name",
                where="data",
                fix="rename one of them",
            )
        if table.num_rows == 0:
            raise DataError(
                "data_empty", "the data are empty", where="data", fix="check the file or the filter before it"
            )
        if unit is None:
            return cls(table, np.arange(table.num_rows), table.num_rows)
        column = find_column(table, unit)
        nameless = pc.sum(pc.is_null(column, nan_is_null=True)).as_py()
        if nameless:
            raise DataError(
                "records_without_unit",
                "column {column!r} has {n} record(s) without a unit",
                where="data",
                fix="name the unit of every record, or leave unit out when each record is one",
                column=unit,
                n=nameless,
            )
        listed = column.combine_chunks().dictionary_encode()
        # Numbered in sorted order, so that numbers do not depend on the order of the rows.
        order = np.asarray(pc.sort_indices(listed.dictionary))
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        names = listed.dictionary.take(pa.array(order))
        return cls(table, rank[np.asarray(listed.indices)], len(order), names, unit)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the data, independent of the frame library or file format."""
        digest = hashlib.sha256()
        for name in self.table.column_names:
            digest.update(name.encode())
            sink = pa.BufferOutputStream()
            one = pa.table({"column": widest(self.column(name))})
            with pa.ipc.new_stream(sink, one.schema) as writer:
                writer.write_table(one)
            digest.update(sink.getvalue())
        return digest.hexdigest()

    @property
    def unit_texts(self) -> Iterable[object]:
        """Names of the units in the order of their numbers, packed where possible."""
        packed = packed_texts(self.names)
        return self.names.to_pylist() if packed is None else packed

    @cached_property
    def repeated(self) -> bool:
        """Whether some unit has several records."""
        return bool(np.bincount(self.unit).max() > 1)

    def where(self, kept: Mapping[str, Any]) -> Records:
        """Return the records whose columns have one of the given values."""
        if not isinstance(kept, Mapping):
            raise ParameterError(
                "filter_invalid",
                "a filter names columns and the values that are kept",
                where="where",
                fix='such as where={"region": ["N", "S"]}; make a column of anything more complicated',
            )
        mask = np.ones(len(self), dtype=np.bool_)
        for name, values in kept.items():
            mask &= np.asarray(pc.is_in(self.column(name), value_set=self._typed_filter(name, values)))
        if not mask.any():
            raise ParameterError(
                "filter_keeps_no_record", "the filter keeps no record", where="where", fix=self._nearest(kept)
            )
        if not kept:
            return self
        return replace(
            self,
            table=self.table.filter(pa.array(mask)),
            unit=self.unit[mask],
            unfiltered=self.table if self.unfiltered is None else self.unfiltered,
            filtered=self.filtered.union(kept),
        )

    def narrowed(self, name: str) -> bool:
        """Return whether a filter on other columns may have removed values of a column.

        Examples
        --------
        >>> import pandas as pd
        >>> people = pd.DataFrame({"city": ["A", "A", "B"], "hurt": ["yes", "yes", "no"], "year": [1, 1, 1]})
        >>> filtered = Records.open(people).where({"city": ["A"]})
        >>> [filtered.narrowed(name) for name in ("city", "hurt", "year")]
        [False, True, False]
        """
        if self.unfiltered is None or name in self.filtered:
            return False
        # A derived column, such as histogram bins, might have had other values.
        made = name not in self.unfiltered.column_names
        return made or bool(pc.count_distinct(self.unfiltered.column(name)).as_py() > 1)

    def complete(self, names: Sequence[str]) -> tuple[Records, dict[str, int]]:
        """Exclude the records with a missing value in some columns.

        Returns the remaining records, and the number of missing values per column.

        Examples
        --------
        >>> import pandas as pd
        >>> people = Records.open(pd.DataFrame({"age": [30, None, 50], "job": ["a", " ", None]}))
        >>> people.complete(["age", "job"])
        (Records(1 records of 3 units), {'age': 1, 'job': 2})
        """
        gone = np.zeros(len(self), dtype=np.bool_)
        counted: dict[str, int] = {}
        for name in dict.fromkeys(names):
            if name in self._whole:
                continue
            missing = self._missing(name)
            if n := int(np.count_nonzero(missing)):
                counted[name] = n
                gone |= missing
            else:
                self._whole.add(name)
        if not counted:
            return self, {}
        if gone.all():
            raise DataError(
                "every_record_has_missing_value",
                "every record has a missing value in {columns}",
                where="data",
                fix="check the columns and the filter",
                columns=some(list(counted)),
            )
        kept = ~gone
        return replace(self, table=self.table.filter(pa.array(kept)), unit=self.unit[kept]), counted

    def _missing(self, name: str) -> Mask:
        """Return which records have a missing value in a column: null, NaN, or a blank text."""
        kind = self.column(name).type
        if _is_text(kind):
            texts, indices = self._list(name)
            return np.array([text is None for text in texts], dtype=np.bool_)[indices]
        return np.asarray(pc.is_null(self.column(name), nan_is_null=True))

    def _nearest(self, kept: Mapping[str, Any]) -> str:
        """Return the fix for an empty filter: the nearest code, never a number or the name of a unit."""
        for name, values in kept.items():
            column = self.column(name)
            if name == self.unit_column or not _is_text(column.type):
                continue
            known = [code for code in column.unique().to_pylist() if code is not None]
            for wanted in self._typed_filter(name, values).to_pylist():
                if wanted is not None and wanted not in known:
                    return did_you_mean(wanted, sorted(known), otherwise="check its values")
        return "check its values"

    def filter_codes(self, kept: Mapping[str, Any]) -> dict[str, list[str | None]]:
        """Return the values of a filter as codes; None stands for a missing value."""
        return {name: list_values(self._typed_filter(name, values))[0] for name, values in kept.items()}

    def _typed_filter(self, name: str, values: Any) -> Any:
        """Return the values of a filter in the type of their column."""
        column = self.column(name)
        several = isinstance(values, Iterable) and not isinstance(values, str | bytes)
        plain = list(values) if several else [values]
        if isinstance(values, set | frozenset):
            plain.sort(key=str)  # a set has no order, and the same session writes the same bytes
        try:
            return pa.array(plain).cast(column.type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise ParameterError(
                "filter_values_wrong_kind",
                "the filter on {column!r} has values of another kind than the column",
                where="where",
                fix="give values of type {type}",
                column=name,
                type=column.type,
            ) from error

    def with_codes(self, name: str, codes: Sequence[str], place: Integers) -> Records:
        """Return the records with an additional column of codes, given by their indices."""
        column = pa.DictionaryArray.from_arrays(pa.array(place), pa.array(list(codes), pa.string()))
        kept = [each for each in self.table.column_names if each != name]
        return replace(self, table=self.table.select(kept).append_column(name, column))

    def column(self, name: str) -> Any:
        """Return a column as one contiguous array."""
        chunks = find_column(self.table, name)
        found = chunks.chunk(0) if chunks.num_chunks == 1 else chunks.combine_chunks()
        return found.dictionary_decode() if pa.types.is_dictionary(found.type) else found

    def name_of(self, column: Any) -> str:
        """Return the name of a column passed as a series.

        Raises DataError if it differs from the column of that name in the data.
        """
        try:
            series = nw.from_native(column, series_only=True)
        except TypeError as error:
            raise ParameterError(
                "not_a_column",
                "cannot read a {kind} as a column",
                where="column",
                fix="name a column of the data",
                kind=type(column).__name__,
            ) from error
        name = str(series.name)
        own, given = self.column(name), storable(series)
        if isinstance(given, pa.ChunkedArray):
            given = given.combine_chunks()
        if pa.types.is_dictionary(given.type):
            given = given.dictionary_decode()
        if given.type.equals(own.type) and given.equals(own):
            return name
        raise DataError(
            "not_the_column_of_data",
            "{column!r} is not the column of that name in the data",
            where="column",
            fix="make it a column of the data before the session is opened",
            column=name,
        )

    def numbers(self, name: str) -> Floats:
        """Return a column of finite numbers."""
        column = self.column(name)
        if not self.is_numeric(name):
            raise DataError(
                "column_not_numeric",
                "column {column!r} does not hold numbers",
                where="data",
                fix="convert the column to numbers first",
                column=name,
            )
        values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        wrong = int(np.count_nonzero(~np.isfinite(values)))
        if wrong:
            raise DataError(
                "values_not_finite",
                "column {column!r} has {n} missing, NaN or infinite value(s)",
                where="data",
                fix='missing="{complete}" leaves out what is missing; replace infinite values',
                column=name,
                n=wrong,
                complete=COMPLETE,
            )
        return np.asarray(values)

    def per_unit(self, name: str, weight: str | None = None) -> Floats:
        """Return the sum of a column over each unit, with weights; missing values count as zero."""
        amounts = np.ones(len(self))
        for each in filter(None, (name, weight)):
            values = self.column(each).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            amounts = amounts * np.where(np.isfinite(values), values, 0.0)
        total: Any = np.bincount(self.unit, weights=amounts, minlength=self.n_units)
        return np.asarray(total, dtype=np.float64)

    def is_numeric(self, name: str) -> bool:
        """Return whether a column is numeric."""
        kind = self.column(name).type
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))

    def weights(self, name: str | None) -> Floats:
        """Return a column of weights, or ones if no column is named."""
        if name is None:
            return np.ones(len(self))
        weights = self.numbers(name)
        nothing = int((weights <= 0).sum())
        if nothing:
            raise DataError(
                "weights_not_positive",
                "column {column!r} has {n} weight(s) of zero or below",
                where="data",
                fix="drop these records: they represent no unit, but would be counted as units",
                column=name,
                n=nothing,
            )
        return weights

    def groups(self, by: Sequence[str], missing: str = "error") -> Groups:
        """Group the records by their codes in some columns; without columns, into one group."""
        names = tuple(by)
        if (names, missing) not in self._grouped:
            self._grouped[names, missing] = self._group(names, missing)
        return self._grouped[names, missing]

    def _group(self, names: tuple[str, ...], missing: str) -> Groups:
        if len(set(names)) < len(names):
            raise ParameterError(
                "variable_repeated", "a variable is named twice", where="by", fix="name each once"
            )
        codes = np.zeros(len(self), dtype=np.int64)
        sizes: list[list[str]] = []
        for name in names:
            ordered, positions = self.coded(name, missing)
            codes = codes * len(ordered) + positions
            sizes.append(ordered)
        # Counting is faster than sorting: combinations of codes are few compared with records.
        there = np.bincount(codes) > 0
        present, codes = np.flatnonzero(there), (np.cumsum(there) - 1)[codes]
        labels = []
        for number in present.tolist():
            parts: list[str] = []
            for ordered in reversed(sizes):
                number, position = divmod(number, len(ordered))  # noqa: PLW2901 - digits of a mixed radix
                parts.insert(0, ordered[position])
            labels.append(tuple(parts))
        return Groups(names, tuple(labels), codes)

    def within(self, fine: str, coarse: str) -> dict[str, str]:
        """Return the code of a coarser variable that contains each code of a finer one."""
        pairs = self.groups([fine, coarse], "code").labels
        found = dict(zip(*zip(*pairs, strict=True), strict=True))
        if len(found) < len(pairs):
            raise ParameterError(
                "codes_in_several_codes",
                "{n} code(s) of {fine!r} lie in several codes of {coarse!r}",
                where="nested",
                fix="name the finer variable first, and correct the data or leave it out",
                n=len(pairs) - len(found),
                fine=fine,
                coarse=coarse,
            )
        return found

    def coded(self, name: str, missing: str = "error") -> tuple[list[str], Integers]:
        """Return the codes of a column as sorted text, and the index of each record's code."""
        texts, indices = self._codes(name, missing)
        refuse_nul(name, texts, "data")
        known = [MISSING if text is None else text for text in texts]
        ordered = code_list(np.array(known, dtype=str))
        place = {code: number for number, code in enumerate(ordered)}
        return ordered, np.array([place[code] for code in known], dtype=np.int64)[indices]

    def texts(self, name: str, missing: str = "error") -> pa.Array:
        """Return the codes of a column as text; missing codes are null."""
        texts, indices = self._codes(name, missing)
        return pa.DictionaryArray.from_arrays(pa.array(indices), pa.array(texts, pa.string()))

    def _codes(self, name: str, missing: str) -> tuple[list[str | None], Integers]:
        refuse_missing(missing)
        texts, indices = self._list(name)
        if missing != CODE and None in texts:
            gone = np.array([text is None for text in texts])
            raise DataError(
                "missing_codes",
                "column {column!r} has {n} missing code(s)",
                where="data",
                fix='missing="{complete}" leaves them out, missing="{code}" puts them under {missing!r}',
                column=name,
                n=int(gone[indices].sum()),
                complete=COMPLETE,
                code=CODE,
                missing=MISSING,
            )
        if None in texts and MISSING in texts:
            raise DataError(
                "missing_code_is_taken",
                "column {column!r} has missing codes, and the code {code!r} as well",
                where="data",
                fix="rename that code: the two would become one",
                column=name,
                code=MISSING,
            )
        return texts, indices

    def _list(self, name: str) -> tuple[list[str | None], Integers]:
        if name not in self._listed:
            self._listed[name] = list_values(self.column(name))
        return self._listed[name]

    @cached_property
    def _listed(self) -> dict[str, tuple[list[str | None], Integers]]:
        """Cache of columns as codes: most outputs share their variables."""
        return {}

    @cached_property
    def _whole(self) -> set[str]:
        """Cache of columns without missing values."""
        return set()

    @cached_property
    def _grouped(self) -> dict[tuple[tuple[str, ...], str], Groups]:
        """Cache of groups: outputs about the same cells often follow each other."""
        return {}

    def contributors(self, holding: str | None) -> Integers:
        """Return the contributor number of each record: its holding if it has one, otherwise its unit."""
        if holding is None:
            return self.unit
        column = self.column(holding)
        indices = column.dictionary_encode().indices
        own = self.unit + int(pc.max(indices).as_py() or 0) + 1
        return np.where(np.asarray(column.is_null()), own, np.asarray(indices.fill_null(0)))

    def __repr__(self) -> str:
        return f"Records({len(self):_} records of {self.n_units:_} units)"


def refuse_missing(word: str) -> None:
    """Raise ParameterError for an unknown treatment of missing values."""
    if word not in (COMPLETE, ERROR, CODE):
        raise ParameterError(
            "missing_option_invalid",
            "missing must be {complete!r}, {error!r} or {code!r}, got {given!r}",
            where="missing",
            fix="{complete!r} leaves records out that have no value, and says how many",
            complete=COMPLETE,
            error=ERROR,
            code=CODE,
            given=word,
        )


def in_order(codes: Integers, n_groups: int) -> Integers:
    """Return the record indices sorted by group, stable within each group."""
    # 16-bit codes are radix-sorted, about ten times faster.
    short = codes.astype(np.uint16) if n_groups <= np.iinfo(np.uint16).max else codes
    return np.argsort(short, kind="stable")


def per_contributor(
    codes: Integers, who: Integers, amounts: Floats, n_groups: int
) -> tuple[Integers, Floats, Integers]:
    """Add up amounts per group and contributor.

    Returns the group and the amount of each pair, and the number of contributors per group.
    """
    if np.bincount(who).max(initial=0) <= 1:
        order = in_order(codes, n_groups)
        each: Any = np.bincount(codes, minlength=n_groups)
        return codes[order], amounts[order], each
    width = int(who.max(initial=0)) + 1
    keys, place = np.unique(codes * width + who, return_inverse=True)
    group: Integers = keys // width
    total: Any = np.bincount(place, weights=amounts, minlength=len(keys))
    count: Any = np.bincount(group, minlength=n_groups)
    return group, total, count


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
