"""Machine-readable definition of the cells of an output.

An output groups base codes of its variables (ages into bands, municipalities into regions), under a filter.
Its published cells are combinations of groups; a margin sums over a variable. An attacker knows nothing else
about the members of a cell, so this determines what can be subtracted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from hitoku.attacks.differencing.axes import as_range, range_name
from hitoku.errors import DataError, some

# The base code of a unit whose value is not known.
MISSING = "missing"

# For each variable of a partition the group of a cell, None if it sums over the variable.
Groups = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Nested:
    """A variable whose codes each lie in one code of another: municipalities in regions."""

    fine: str
    coarse: str
    """Names of the two variables."""
    parents: Mapping[str, str]
    """For each base code of the fine one, its base code of the coarse one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """Derivation of an output from base codes.

    Examples
    --------
    >>> ages = Definition.of({"age": {"17": "0-18", "18": "0-18", "19": "19+"}}, [[["0-18"], ["19+"]]])
    >>> ages, ages.as_dict() == Definition.from_dict(ages.as_dict()).as_dict()
    (Definition(age; 2 cells), True)
    """

    variables: Mapping[str, Mapping[str, str | None]]
    """For each variable all of its base codes and the group of each; None for codes in no group."""
    parts: tuple[tuple[Groups, ...], ...]
    """For each partition (inner cells, each kind of total) the groups of its published cells in order, so
    that cell 1 comes first. Withheld cells are not listed."""
    filter: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For some variables, grouped or not, the base codes that are covered."""
    unions: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    """For variables with a hierarchy the codes above the groups, each with its base codes."""
    nested: tuple[Nested, ...] = ()
    """Variables nested in others, as far as the output states."""

    def __post_init__(self) -> None:
        for part in self.parts:
            for cell in part:
                if len(cell) != len(self.variables):
                    raise _unreadable(
                        "groups_per_cell",
                        "a cell has {n_groups} groups for {n_variables} variables",
                        n_groups=len(cell),
                        n_variables=len(self.variables),
                    )
                for group, (name, codes) in zip(cell, self.variables.items(), strict=True):
                    if group is not None and group not in {*codes.values(), *self.unions.get(name, ())}:
                        raise _unreadable(
                            "group_without_codes",
                            "no base code of {variable!r} is in group {group!r}",
                            variable=name,
                            group=group,
                        )
        for name, kept in self.filter.items():
            unknown = set(kept) - set(self.variables.get(name, kept))
            if unknown:
                raise _unreadable(
                    "filter_keeps_unknown_codes",
                    "the filter on {variable!r} keeps unknown codes: {codes}",
                    variable=name,
                    codes=some(sorted(unknown)),
                )

    @classmethod
    def of(
        cls,
        variables: Mapping[str, Mapping[str, str | None]],
        parts: Sequence[Sequence[Sequence[str | None]]],
        filter: Mapping[str, Sequence[str]] | None = None,  # noqa: A002 - the word researchers use
        unions: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
        nested: Sequence[Nested] = (),
    ) -> Definition:
        """Make a definition from lists."""
        above = unions or {}
        return cls(
            variables={name: dict(codes) for name, codes in variables.items()},
            parts=tuple(tuple(tuple(cell) for cell in part) for part in parts),
            filter={name: tuple(kept) for name, kept in (filter or {}).items()},
            unions={name: {code: tuple(base) for code, base in own.items()} for name, own in above.items()},
            nested=tuple(nested),
        )

    @classmethod
    def ungrouped(
        cls,
        codes: Mapping[str, Sequence[str]],
        parts: Sequence[Sequence[Sequence[str | None]]],
        filter: Mapping[str, Sequence[str]] | None = None,  # noqa: A002 - the word researchers use
        unions: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
        nested: Sequence[Nested] = (),
    ) -> Definition:
        """Make a definition of an output whose codes are base codes, or ranges of whole numbers.

        Parameters
        ----------
        codes
            For each variable all of its codes, those of withheld cells included.
        parts, filter, unions, nested
            As in the class.
        """
        base = {name: {code: code for code in own} for name, own in codes.items()}
        return cls.of(base, parts, filter, unions, nested)

    def as_dict(self) -> dict[str, Any]:
        """Return plain dictionaries and lists, for JSON."""
        return {
            "variables": {name: dict(codes) for name, codes in self.variables.items()},
            "parts": [[list(cell) for cell in part] for part in self.parts],
            "filter": {name: list(kept) for name, kept in self.filter.items()},
            "unions": {
                name: {code: list(base) for code, base in own.items()} for name, own in self.unions.items()
            },
            "nested": [[each.fine, each.coarse, dict(each.parents)] for each in self.nested],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Definition:
        """Read the result of :meth:`as_dict`."""
        try:
            nested = [Nested(fine, coarse, parents) for fine, coarse, parents in plain.get("nested", ())]
            return cls.of(plain["variables"], plain["parts"], plain["filter"], plain.get("unions"), nested)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _unreadable("definition_incomplete", "a part is missing or has the wrong type") from error

    def cut(self, variable: str, points: Sequence[tuple[int, int]]) -> Definition:
        """Return the same with a variable's codes, ranges of whole numbers, cut into finer ranges."""

        def finer(code: str) -> list[str]:
            whole = as_range(code)
            if whole is None:
                return [code]
            return [range_name(a, b) for a, b in points if whole[0] <= a and b <= whole[1]]

        variables, filtered, unions = dict(self.variables), dict(self.filter), dict(self.unions)
        if variable in variables:
            variables[variable] = {
                point: group for code, group in variables[variable].items() for point in finer(code)
            }
        if variable in filtered:
            filtered[variable] = tuple(point for code in filtered[variable] for point in finer(code))
        if variable in unions:
            unions[variable] = {
                code: tuple(point for one in base for point in finer(one))
                for code, base in unions[variable].items()
            }
        return Definition(
            variables=variables, parts=self.parts, filter=filtered, unions=unions, nested=self.nested
        )

    def __repr__(self) -> str:
        return f"Definition({', '.join(self.variables)}; {sum(map(len, self.parts))} cells)"


def cut_alike(definitions: Sequence[Definition]) -> list[Definition]:
    """Cut ranges of whole numbers at every end that occurs in some definition.

    Examples
    --------
    >>> first, second = (
    ...     Definition.ungrouped({"age": codes}, [[[code] for code in codes]])
    ...     for codes in (["0-18", "19+"], ["0-20", "21+"])
    ... )
    >>> [list(each.variables["age"]) for each in cut_alike([first, second])]
    [['0-18', '19-20', '21+'], ['0-18', '19-20', '21+']]
    """
    found = list(definitions)
    for name in dict.fromkeys(name for each in found for name in (*each.variables, *each.filter)):
        codes = {
            code for each in found for code in (*each.variables.get(name, ()), *each.filter.get(name, ()))
        }
        ranges = {as_range(code) for code in codes - {MISSING}}
        known = [each for each in ranges if each]
        if len(known) == len(ranges) and any(first < last for first, last in known):
            ends = sorted({first for first, _ in known} | {last + 1 for _, last in known})
            points = [(first, after - 1) for first, after in pairwise(ends)]
            found = [each.cut(name, points) for each in found]
    return found


def _unreadable(code: str, template: str, /, **fields: object) -> DataError:
    fix = "list every base code, and one group per variable and cell"
    return DataError(code, template, where="definition of an output", fix=fix, **fields)
