"""Evidence as an immutable value, validated on creation and written as plain lists.

Submissions are untrusted: every field has a type, a length and a range, and an invalid field is named in the
error before other code uses it. Counts and contributions are also checked for consistency, so that changing
one number to improve a verdict requires changing many others.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from typing import Annotated, Any, Self, TypeVar

import numpy as np
from pydantic import ConfigDict, Field, PlainValidator, StrictStr
from pydantic.dataclasses import dataclass

from hitoku.errors import DataError
from hitoku.model import ADDITIVITY, LARGEST_WHOLE, Floats, Integers, Mask

# Code of records whose value is known, as definitions write it.
KNOWN = "yes"

Count = Annotated[int, Field(ge=0, le=LARGEST_WHOLE, strict=True)]


def known_of(column: str) -> str:
    """Return the name of the pseudo-variable for whether a value of a column is known.

    Examples
    --------
    >>> known_of("income")
    'income known'
    """
    return f"{column} known"


def column_known(question: str) -> str:
    """Undo :func:`known_of`; return an empty text for other variables.

    Examples
    --------
    >>> column_known("income known"), column_known("income")
    ('income', '')
    """
    column = question.removesuffix(known_of(""))
    return "" if column == question else column


@dataclass(frozen=True, kw_only=True, config={"extra": "forbid"})
class LeftOut:
    """Records excluded because of missing values.

    Examples
    --------
    >>> print(LeftOut(records=37, of=612, columns={"income": 37}))
    37 of 612 records left out: income missing
    >>> print(LeftOut(records=37, of=612, columns={"income": 30, "age": 12}))
    37 of 612 records left out: income missing (30), age missing (12)
    """

    # records, of: number of excluded records, and of all records.
    records: Count
    of: Count
    # Missing values by column; a record may lack several. Empty if a model excluded records itself.
    columns: Mapping[StrictStr, Count]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-compatible values."""
        return {"records": self.records, "of": self.of, "columns": dict(self.columns)}

    def contradictions(self, n_used: int) -> Iterator[str]:
        """Yield inconsistencies with the number of records used."""
        counts = list(self.columns.values())
        if self.records + n_used != self.of:
            yield "records used and left out are not those there were"
        if counts and not max(counts) <= self.records <= sum(counts):
            yield "other records left out than have a missing value"

    def __str__(self) -> str:
        several = len(self.columns) > 1
        why = ", ".join(f"{name} missing{f' ({n})' if several else ''}" for name, n in self.columns.items())
        return f"{self.records} of {self.of} records left out{f': {why}' if why else ' by the model'}"


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CodedCells:
    """Cells or groups with their codes."""

    codes: Mapping[str, tuple[str, ...]]  # Codes of each variable.
    # Codes above them in hierarchies, by variable, each with its leaves.
    above: Mapping[str, Mapping[str, list[str]]]
    # Code of each cell in every variable; None where it sums over the variable.
    labels: tuple[tuple[str | None, ...], ...]
    # n_units, n_records: units and records of each cell.
    n_units: Integers
    n_records: Integers

    def named(self) -> Iterator[dict[str, str]]:
        """Yield the codes of each cell by variable, without variables that it sums over."""
        for label in self.labels:
            pairs = zip(self.codes, label, strict=True)
            yield {name: code for name, code in pairs if code is not None}

    def __repr__(self) -> str:
        return f"CodedCells({len(self.labels):_} cells by {', '.join(self.codes) or 'nothing'})"


def compare_units(n_units: Integers, records: Integers) -> Iterator[str]:
    """Yield inconsistencies between the units and the records of groups.

    Examples
    --------
    >>> list(compare_units(np.array([12, 30]), np.array([12, 13])))
    ['1 group(s) with more units than records']
    """
    more = n_units > records
    if more.any():
        yield f"{int(more.sum())} group(s) with more units than records"
    if np.any((n_units < 0) | ((n_units == 0) != (records == 0))):
        yield "groups with records and no units, or the other way round"


def compare_ranks(largest: Floats) -> Iterator[str]:
    """Yield an inconsistency if largest contributions are not in descending order."""
    if np.any(largest < 0) or np.any(np.diff(largest, axis=1) > 0):
        yield "largest contributions are not in order"


def compare_contributions(
    largest: Floats,
    size: Floats,
    records: Integers,
    n_contributors: Integers | None = None,
    n_units: Integers | None = None,
) -> Iterator[str]:
    """Yield inconsistencies between the largest contributions and their total.

    Parameters
    ----------
    largest, size
        Largest contributions of each group, and the sum of all.
    records
        Records of each group.
    n_contributors
        Contributors of each group. Default: unknown, at most the records.
    n_units
        Units of each group, which must equal the contributors. Default: not compared, because of holdings.
    """
    slack = ADDITIVITY * np.maximum(1.0, size)
    if np.any(largest.sum(axis=1) > size + slack):
        yield "largest contributions exceed their total"
    n = records if n_contributors is None else n_contributors
    top = largest.shape[1]
    if n_contributors is not None:
        if np.any(n < 0) or np.any(n > records) or np.any((n == 0) != (records == 0)):
            yield "contributors without records, or more of them than records"
        if n_units is not None and not np.array_equal(n, n_units):
            yield "contributors differ from the units, but no unit holds another"
        if np.any((n <= top) & (size - largest.sum(axis=1) > slack)):
            yield "few contributors, who do not make up their total"
    # Every other contributor has at most the smallest of the listed contributions.
    with np.errstate(over="ignore"):  # a forger's number may be beyond all numbers
        others = np.maximum(n - top, 0) * largest[:, -1]
    if np.any(size > largest.sum(axis=1) + others + slack):
        yield "the largest contributions are too small for this number of contributors and their total"


def compare_sums(total: Floats, size: Floats, *, negative: bool = True) -> Iterator[str]:
    """Yield inconsistencies between sums and the sizes they consist of.

    A size that is too large would hide a dominant contributor.
    """
    slack = ADDITIVITY * np.maximum(1.0, size)
    if np.any(np.abs(total) > size + slack):
        yield "a sum exceeds the sizes of its contributions"
    if not negative and np.any(np.abs(total - size) > slack):
        yield "no amount is negative, and yet a sum is not the size of its contributions"


def compare_range(value: Floats, low: float, high: float, what: str) -> Iterator[str]:
    """Yield an inconsistency for values outside the range of a statistic."""
    if np.any(value < low - ADDITIVITY) or np.any(value > high + ADDITIVITY):
        yield f"no {what} has such a value"


STRICT = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
WITHHELD = "withheld"

T = TypeVar("T")


def _array(
    kinds: tuple[type, ...],
    dtype: Any,
    words: str,
    *,
    ndim: int = 1,
    least: float = -LARGEST_WHOLE,
    finite: bool = True,
) -> PlainValidator:
    """Return a validator that reads a list, or equally long lists, into a read-only array."""

    def from_lists(given: object) -> Any:
        rows = given if ndim == 2 else [given]
        if not isinstance(rows, list | tuple) or not all(isinstance(row, list | tuple) for row in rows):
            raise ValueError(f"not a list of {words}")
        if any(type(entry) not in kinds for row in rows for entry in row):
            raise ValueError(f"not a list of {words}")
        if len({len(row) for row in rows}) > 1:
            raise ValueError("lists of unequal lengths")
        try:
            return np.array(given, dtype=dtype).reshape((len(rows), -1) if ndim == 2 else -1)
        except (OverflowError, ValueError):
            raise ValueError(f"not a list of {words}") from None

    def read(given: object) -> Any:
        array = np.asarray(given, dtype=dtype) if isinstance(given, np.ndarray) else from_lists(given)
        if array.ndim != ndim:
            raise ValueError(f"not a list of {words}")
        if finite and not np.isfinite(array).all():
            raise ValueError("a number that is not finite")
        if dtype is not np.bool_ and np.any((array < least) | (array > LARGEST_WHOLE) & (dtype is np.int64)):
            raise ValueError("a number out of range")
        array.setflags(write=False)
        return array

    return PlainValidator(read)


Counts = Annotated[Integers, _array((int,), np.int64, "counts", least=0)]
CountRows = Annotated[Integers, _array((int,), np.int64, "lists of counts", ndim=2, least=0)]
Wholes = Annotated[Integers, _array((int,), np.int64, "whole numbers")]
Numbers = Annotated[Floats, _array((int, float), np.float64, "numbers", least=-np.inf)]
NumberRows = Annotated[Floats, _array((int, float), np.float64, "lists of numbers", ndim=2, least=-np.inf)]
# Estimates of an under-determined model may be arbitrary, even infinite.
Estimates = Annotated[Floats, _array((int, float), np.float64, "numbers", least=-np.inf, finite=False)]
Flags = Annotated[Mask, _array((bool,), np.bool_, "true and false")]
Texts = tuple[StrictStr, ...]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class Evidence:
    """Confidential data from which the rules of an output are computed.

    A subclass adds its fields, in the order of the file.
    """

    # Mask of suppressed cells or groups, or one entry for a whole model. False until the output is protected.
    withheld: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    left_out: LeftOut | None = None  # Records excluded because of missing values; None if there are none.

    @property
    def whole(self) -> bool:
        """Whether published numbers are integers."""
        return False

    @property
    def files(self) -> Mapping[str, bytes]:
        """Released files other than the table, by file-name suffix."""
        return {}

    @property
    def n_parts(self) -> int:
        """Number of cells or groups; 1 for an output that is not divided."""
        return 1

    @property
    def n_used(self) -> int | None:
        """Number of records used; None if not counted."""
        return None

    @property
    def cells(self) -> CodedCells | None:
        """Cells or groups with their codes; None if the output has none."""
        return None

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Names and values of general facts, shown in the report."""
        return ()

    @property
    def supported_terms(self) -> tuple[tuple[str, int], ...]:
        """Terms of a model with the units behind each, fewest first."""
        return ()

    def label(self, place: int) -> Sequence[str]:  # noqa: ARG002 - for cells and groups
        """Return the codes of a cell or group, used in messages."""
        return ()

    def __post_init__(self) -> None:
        if not self.withheld.size:
            object.__setattr__(self, WITHHELD, np.zeros(self.n_parts, dtype=np.bool_))
        self.require(len(self.withheld) == self.n_parts, f"{WITHHELD}: not one entry for each cell or group")

    @staticmethod
    def require(fits: bool, otherwise: str) -> None:
        """Raise ValueError if fields are inconsistent."""
        if not fits:
            raise ValueError(otherwise)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-compatible values, in the order of the file."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        for last in (WITHHELD, "left_out"):
            found[last] = found.pop(last)
        return {name: _plain(value) for name, value in found.items() if value is not None}

    @classmethod
    def from_dict(cls, plain: object, where: str) -> Self:
        """Read what :meth:`to_dict` wrote; raise DataError that names an invalid field.

        Parameters
        ----------
        plain
            Content of the file.
        where
            Name of the output, used in the message.
        """
        if not isinstance(plain, Mapping) or not all(isinstance(name, str) for name in plain):
            raise refuse("it has no fields", where)
        if WITHHELD not in plain:
            raise refuse(f"{WITHHELD}: missing", where)
        made = read_checked(lambda: cls(**plain), where)
        if len(plain[WITHHELD]) != made.n_parts:
            raise refuse(f"{WITHHELD}: not one entry for each cell or group", where)
        return made

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_parts:_} parts, {int(self.withheld.sum()):_} withheld)"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class Unreadable(Evidence):
    """Placeholder for evidence that could not be read; nothing can be judged from it."""

    reason: StrictStr  # Description of the problem.


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, LeftOut):
        return value.to_dict()
    return value


def refuse(what: str, where: str, part: str = "evidence") -> DataError:
    """Return the error for an invalid part of an output."""
    return DataError(
        "evidence_invalid",
        "{part}: {problem}",
        where=where,
        fix="create the output again",
        part=part,
        problem=what,
    )


def read_checked(make: Callable[[], T], where: str, part: str = "evidence") -> T:
    """Create an object from a file, and turn validation errors into DataError without values.

    Parameters
    ----------
    make
        Function that creates the object or raises ValueError; errors of pydantic name the field.
    where
        Name of the output, used in the message.
    part
        Part of the output that is read.
    """
    try:
        return make()
    except ValueError as error:
        listed = getattr(error, "errors", None)
        if listed is None:
            raise refuse(str(error), where, part) from None
        first = listed(include_input=False, include_url=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        what = first["msg"].removeprefix("Value error, ").lower()
        raise refuse(f"{place}: {what}" if place else what, where, part) from None
