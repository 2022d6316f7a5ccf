"""Hierarchies of codes: which code is the total of which others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hitoku.errors import HierarchyError, some
from hitoku.messages import Arguments
from hitoku.model.arrays import Positions

TOTAL = "Total"


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy:
    """A tree of codes whose root is the total. Branches may have different depths.

    Build one with :meth:`flat`, :meth:`from_tree`, :meth:`from_parents` or :meth:`from_levels`.

    Parameters
    ----------
    codes
        All codes in depth-first order, starting with the root.
    parents
        Index of the parent of each code; -1 for the root.

    Examples
    --------
    >>> regions = Hierarchy.from_tree({"North": ["N1", "N2"], "South": ["S1", "S2", "S3"]})
    >>> regions
    Hierarchy(8 codes, 5 leaves, 3 levels, total 'Total')
    >>> regions.leaves
    ('N1', 'N2', 'S1', 'S2', 'S3')
    """

    codes: tuple[str, ...]
    parents: Positions

    def __post_init__(self) -> None:
        parents = np.array(self.parents, dtype=np.int32)
        parents.setflags(write=False)
        object.__setattr__(self, "codes", tuple(self.codes))
        object.__setattr__(self, "parents", parents)
        if len(set(self.codes)) != len(self.codes):
            repeated = sorted({code for code in self.codes if self.codes.count(code) > 1})
            raise HierarchyError(
                "code_repeated",
                "code {code!r} occurs twice",
                fix="list every code once, with all its children",
                code=repeated[0],
            )
        follows = np.arange(len(parents))
        if parents.shape != (len(self.codes),) or len(parents) == 0 or parents[0] != -1:
            raise HierarchyError(
                "hierarchy_without_total", "a hierarchy starts with its total, whose parent is -1"
            )
        if np.any(parents[1:] < 0) or np.any(parents >= follows):
            raise HierarchyError("parents_out_of_order", "every code but the total comes after its parent")

    @classmethod
    def flat(cls, codes: Iterable[Any], total: str = TOTAL) -> Hierarchy:
        """Return a hierarchy with one level of codes below the total."""
        return cls.from_pairs([(code, total) for code in codes], total=total)

    @classmethod
    def from_tree(cls, tree: Mapping[Any, Any], total: str = TOTAL) -> Hierarchy:
        """Return a hierarchy from nested mappings or lists: ``{"North": ["N1", "N2"], "Abroad": None}``."""
        pairs: list[tuple[Any, Any]] = []

        def grow(children: Any, parent: Any) -> None:
            if isinstance(children, Mapping):
                for code, below in children.items():
                    pairs.append((code, parent))
                    grow(below, code)
            elif isinstance(children, str):
                raise HierarchyError(
                    "children_not_a_list",
                    "the children of {parent!r} are one text, not a list",
                    fix="write {{parent_2!r}: [{children!r}]}",
                    parent=parent,
                    parent_2=str(parent),
                    children=children,
                )
            elif children is not None:
                pairs.extend((code, parent) for code in children)

        grow(tree, total)
        return cls.from_pairs(pairs, total=total)

    @classmethod
    def from_parents(cls, parents: Mapping[Any, Any], total: str = TOTAL) -> Hierarchy:
        """Return a hierarchy from a mapping of codes to parents. Top-level codes have the total."""
        return cls.from_pairs(parents.items(), total=total)

    @classmethod
    def from_levels(cls, rows: Iterable[Sequence[Any]], total: str = TOTAL) -> Hierarchy:
        """Return a hierarchy from one row for each leaf, coarse to fine: ``("North", "N1")``.

        A shorter row, None, or a code repeated on the next level ends a branch early.
        """
        pairs: dict[tuple[Any, Any], None] = {}
        for row in rows:
            above: Any = total
            for code in row:
                if code is None or code == above:
                    continue
                pairs[(code, above)] = None
                above = code
        return cls.from_pairs(pairs, total=total)

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[Any, Any]], total: str = TOTAL) -> Hierarchy:
        """Return a hierarchy from pairs of (code, parent), in display order."""
        total = _text(total)
        parent_of: dict[str, str] = {}
        children: dict[str, list[str]] = {}
        for raw_code, raw_parent in pairs:
            code, parent = _text(raw_code), _text(raw_parent)
            if code == total:
                raise HierarchyError(
                    "total_listed_as_code",
                    "the total {total!r} is also listed as a code",
                    where="under {parent!r}",
                    fix="remove the total from the list, or name it with {arguments}",
                    arguments=Arguments(total=...),
                    total=total,
                    parent=parent,
                )
            known = parent_of.get(code)
            if known == parent:
                raise HierarchyError(
                    "code_listed_twice",
                    "code {code!r} is listed twice",
                    where="under {parent!r}",
                    fix="list every code once",
                    code=code,
                    parent=parent,
                )
            if known is not None:
                raise HierarchyError(
                    "two_parents",
                    "code {code!r} has two parents",
                    where="under {known!r} and under {parent!r}",
                    fix="keep one parent, or declare the second grouping as its own hierarchy",
                    code=code,
                    known=known,
                    parent=parent,
                )
            parent_of[code] = parent
            children.setdefault(parent, []).append(code)
        if not parent_of:
            raise HierarchyError(
                "no_codes_below_total",
                "no codes below the total {total!r}",
                fix="list at least two codes, or drop the dimension",
                total=total,
            )
        _refuse_loose_codes(parent_of, total)
        codes, parents = [total], [-1]
        stack = [(code, 0) for code in reversed(children[total])]
        while stack:
            code, above = stack.pop()
            stack.extend((child, len(codes)) for child in reversed(children.get(code, [])))
            codes.append(code)
            parents.append(above)
        return cls(tuple(codes), np.array(parents, dtype=np.int32))

    def only(self, leaves: Iterable[str]) -> Hierarchy:
        """Return the hierarchy of some leaves, without groups that contain none of them.

        Examples
        --------
        >>> tree = Hierarchy.from_tree({"North": ["N1", "N2"], "South": ["S1"], "Abroad": None})
        >>> tree.only(["N2", "Abroad"]).codes
        ('Total', 'North', 'N2', 'Abroad')
        """
        kept = set(leaves)
        for place in range(len(self.codes) - 1, 0, -1):  # parents come before their children
            if self.codes[place] in kept:
                kept.add(self.codes[self.parents[place]])
        pairs = [
            (code, self.codes[above])
            for code, above in zip(self.codes[1:], self.parents[1:].tolist(), strict=True)
            if code in kept
        ]
        return Hierarchy.from_pairs(pairs, total=self.total)

    @property
    def total(self) -> str:
        return self.codes[0]

    @property
    def leaves(self) -> tuple[str, ...]:
        """Codes without children, in depth-first order."""
        has_children = np.zeros(len(self.codes), dtype=bool)
        has_children[self.parents[1:]] = True
        return tuple(code for code, inner in zip(self.codes, has_children, strict=True) if not inner)

    @property
    def n_levels(self) -> int:
        """Number of levels, including the total."""
        depth = np.zeros(len(self.codes), dtype=np.int64)
        for position, parent in enumerate(self.parents[1:], start=1):
            depth[position] = depth[parent] + 1
        return int(depth.max()) + 1

    def groups(self) -> list[tuple[str, tuple[str, ...]]]:
        """Each code that has children, with its children, from the bottom up."""
        below: dict[int, list[str]] = {}
        for position, parent in enumerate(self.parents[1:], start=1):
            below.setdefault(int(parent), []).append(self.codes[position])
        height = np.zeros(len(self.codes), dtype=np.int64)
        for position in range(len(self.codes) - 1, 0, -1):
            parent = self.parents[position]
            height[parent] = max(height[parent], height[position] + 1)
        order = sorted(below, key=lambda parent: (height[parent], parent))
        return [(self.codes[parent], tuple(below[parent])) for parent in order]

    def __repr__(self) -> str:
        return (
            f"Hierarchy({len(self.codes)} codes, {len(self.leaves)} leaves, "
            f"{self.n_levels} levels, total {self.total!r})"
        )


def _text(code: Any) -> str:
    if code is None or code != code or (isinstance(code, str) and not code.strip()):  # noqa: PLR0124 - NaN
        raise HierarchyError(
            "code_empty", "a code is empty", fix="name every code; a missing code needs a name too"
        )
    if isinstance(code, str) and "\0" in code:
        # Text arrays drop NUL at the end, so that two codes would become one.
        raise HierarchyError(
            "code_with_nul", "a code contains the invalid character NUL", fix="take it out of the code"
        )
    return str(code)


def _refuse_loose_codes(parent_of: Mapping[str, str], total: str) -> None:
    """Raise unless every code leads to the total, without cycles and without missing parents."""
    reaches: set[str] = {total}
    for start in parent_of:
        path: list[str] = []
        code = start
        while code not in reaches:
            if code in path:
                circle = [*path[path.index(code) :], code]
                raise HierarchyError(
                    "codes_form_cycle",
                    "codes form a cycle: {circle}",
                    fix="break the cycle: a code cannot contain itself",
                    circle=some(circle, 8),
                )
            path.append(code)
            if code not in parent_of:
                raise HierarchyError(
                    "code_without_parent",
                    "code {code!r} has no parent",
                    where="it contains {path}",
                    fix="put it under the total {total!r}, or name the total with {arguments}",
                    arguments=Arguments(total=...),
                    code=code,
                    path=some(path[:-1]),
                    total=total,
                )
            code = parent_of[code]
        reaches.update(path)
