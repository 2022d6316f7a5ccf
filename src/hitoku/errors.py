"""Exceptions of hitoku: what is wrong, where, and how to fix it.

Messages contain codes and counts, never a cell value, a contribution or a record.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any, Self, TypeVar, overload

from hitoku.messages import Text, join

# Characters that move the cursor, start a line or reverse text in a terminal.
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""Escape control characters, so that untrusted names cannot control the terminal.

    Examples
    --------
    >>> print(visible("table\x1b[2Jpass"))
    table\x1b[2Jpass
    """
    return UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


E = TypeVar("E", bound="HitokuError")


class HitokuError(Exception):
    """Base class of all errors: what is wrong, where, and how to fix it.

    Parameters
    ----------
    code
        Identifier of the problem, stable across versions and languages.
    template
        Message template, with names of fields in braces.
    where, fix
        Location and suggested fix, with the same fields.
    fields
        Values of the fields; ``column`` and ``argument`` are those concerned.

    Attributes
    ----------
    what, where, fix
        Lines of the message.
    others
        Further errors found at the same time; see :func:`join_errors`.

    Examples
    --------
    >>> error = DataError("unknown_column", "no column {column!r}", where="data", column="turnver")
    >>> print(error)
    no column 'turnver'
      where: data
    >>> error.code, error.what.template, error.column
    ('unknown_column', 'no column {column!r}', 'turnver')
    """

    def __init__(self, code: str, template: str, /, *, where: str = "", fix: str = "", **fields: Any) -> None:
        self.code = code
        self.fields = fields
        self.others: tuple[HitokuError, ...] = ()
        self.what = Text(template, **fields)
        self.where = Text(where, **fields)
        self.fix = Text(fix, **fields)
        super().__init__(code, template)

    @property
    def column(self) -> str:
        """Return the column concerned; empty if none."""
        return str(self.fields.get("column", ""))

    @property
    def argument(self) -> str:
        """Return the argument that the error is about: its field, or a place that is a name."""
        place = self.where.template
        return str(self.fields.get("argument", place if place.isidentifier() else ""))

    @overload
    def copy_as(self, kind: None = None, *, where: str | None = None, fix: str | None = None) -> Self: ...
    @overload
    def copy_as(self, kind: type[E], *, where: str | None = None, fix: str | None = None) -> E: ...
    def copy_as(
        self, kind: type[HitokuError] | None = None, *, where: str | None = None, fix: str | None = None
    ) -> HitokuError:
        """Return the error as another class, or with another location or fix.

        Examples
        --------
        >>> error = DataError("empty_file", "the file has no lines", where="a.csv")
        >>> print(error.copy_as(TableError, fix="write it again"))
        the file has no lines
          where: a.csv
          fix: write it again
        """
        made = (kind or type(self))(
            self.code,
            self.what,
            where=self.where if where is None else where,
            fix=self.fix if fix is None else fix,
        )
        made.fields, made.others = self.fields, self.others
        return made

    def __str__(self) -> str:
        """Return the message in English."""
        lines: list[str] = [self.what]
        if self.where:
            lines.append(f"  where: {self.where}")
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        return "\n".join([*lines, *map(str, self.others)])


class ParameterError(HitokuError):
    """A parameter is out of range, or two of them contradict each other."""


class DataError(HitokuError):
    """Records or a frame cannot be read as a table."""


class HierarchyError(HitokuError):
    """A code list is not a tree, or two of them do not fit together."""


class TableError(HitokuError):
    """Cells, relations and bounds do not make a table."""


class RuleError(HitokuError):
    """A primary rule got parameters it cannot use, or a table that lacks what it needs."""


class NeedError(HitokuError):
    """A protection requirement is malformed or cannot be met."""


class ScopeError(HitokuError):
    """A method does not support this kind of table or need."""


class ProtectionError(HitokuError):
    """A protection does not fit its table."""


class SolverError(HitokuError):
    """The solver failed, or its answer did not survive recomputation."""


class CertificateError(HitokuError):
    """A proof could not be made exact, or cannot be read."""


class OutputError(HitokuError):
    """A file or folder cannot be written."""


def join_errors(errors: Sequence[E]) -> E:
    """Return the first of several errors, with the others after it: all problems are reported at once.

    Examples
    --------
    >>> print(join_errors([DataError("a", "no column 'x'", where="f.csv"), DataError("b", "no column 'y'")]))
    no column 'x'
      where: f.csv
    no column 'y'
    """
    first, *others = errors
    for other in others:
        first.others += (other, *other.others)
    return first


def did_you_mean(name: object, known: Iterable[str], *, otherwise: str = "") -> str:
    """Return a fix that names the nearest known word.

    Examples
    --------
    >>> did_you_mean("turnver", ["region", "turnover"])
    "did you mean 'turnover'?"
    """
    choices = list(known)
    if near := nearest(name, choices):
        return near
    return Text(otherwise) if otherwise else Text("use one of: {names}", names=some(choices, 12))


def nearest(name: object, known: Iterable[str]) -> str:
    """Return a question that names the nearest known word; empty if none is near.

    Examples
    --------
    >>> nearest("turnver", ["region", "turnover"]), nearest("x", ["region", "turnover"])
    ("did you mean 'turnover'?", '')
    """
    near = difflib.get_close_matches(str(name), list(known), n=1, cutoff=0.6)
    return Text("did you mean {name!r}?", name=near[0]) if near else ""


def must_be(kind: type, value: object, where: str) -> None:
    """Raise ParameterError if an argument has the wrong type, for instance because two were swapped.

    Examples
    --------
    >>> must_be(dict, [1, 2], "hierarchies")
    Traceback (most recent call last):
        ...
    hitoku.errors.ParameterError: hierarchies is of type list, not dict
      where: hierarchies
      fix: look at the order of the arguments
    """
    must_not_be_a_class(value, where)
    if not isinstance(value, kind):
        raise ParameterError(
            "wrong_type",
            "{argument} is of type {kind}, not {expected}",
            where=where,
            fix="look at the order of the arguments",
            argument=where,
            kind=type(value).__name__,
            expected=kind.__name__,
        )


def must_not_be_a_class(value: object, where: str) -> None:
    """Raise ParameterError if a class was passed instead of an instance.

    Examples
    --------
    >>> must_not_be_a_class(dict, "rule 1")
    Traceback (most recent call last):
        ...
    hitoku.errors.ParameterError: rule 1 is the class dict
      where: rule 1
      fix: write dict(...)
    """
    if isinstance(value, type):
        raise ParameterError(
            "class_instead_of_object",
            "{argument} is the class {kind}",
            where=where,
            fix="write {kind}(...)",
            argument=where,
            kind=value.__name__,
        )


def some(words: Iterable[object], limit: int = 5) -> str:
    """Return the first few words, and how many more there are.

    Examples
    --------
    >>> some("abcdefgh", limit=3)
    'a, b, c and 5 more'
    """
    listed = [word if isinstance(word, str) else str(word) for word in words]
    head = join(listed[:limit], "{first}, {second}")
    rest = len(listed) - limit
    return Text("{names} and {n} more", names=head, n=rest) if rest > 0 else head
