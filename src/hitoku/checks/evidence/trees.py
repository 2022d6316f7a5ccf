"""Code trees as plain lists, and the layers of codes into which they divide a variable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from hitoku.errors import DataError, ParameterError
from hitoku.model import TOTAL, Dimension, Hierarchy, Integers

# For each variable with a hierarchy its groupings, as JSON knows them.
Trees = dict[str, list[dict[str, Any]]]


def plain_trees(given: Mapping[str, Any] | None, by: Sequence[str]) -> Trees:
    """Write hierarchies as plain lists; what is plain already stays as it is.

    Examples
    --------
    >>> plain_trees({"region": Hierarchy.from_tree({"N": ["N1", "N2"], "S": None})}, ["region"])
    {'region': [{'codes': ['Total', 'N', 'N1', 'N2', 'S'], 'parents': [-1, 0, 1, 1, 0]}]}
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ParameterError(
            "hierarchies_not_by_variable",
            "hierarchies belong to variables",
            where="hierarchies",
            fix='such as {"region": tree}',
        )
    strangers = [name for name in given if name not in by]
    if strangers:
        raise ParameterError(
            "hierarchy_of_unknown_variable",
            "a hierarchy for {variable!r}, which is not a variable of the table",
            where="hierarchies",
            fix="name one of the variables of by",
            variable=strangers[0],
        )
    return {name: [_plain(name, tree) for tree in _listed(own)] for name, own in given.items()}


def _listed(own: Any) -> Sequence[Any]:
    return own if isinstance(own, list | tuple) else [own]


def _plain(name: str, tree: Any) -> dict[str, Any]:
    if isinstance(tree, Hierarchy):
        return {"codes": list(tree.codes), "parents": tree.parents.tolist()}
    if isinstance(tree, Mapping) and set(tree) == {"codes", "parents"}:
        return {"codes": list(tree["codes"]), "parents": list(tree["parents"])}
    raise ParameterError(
        "not_a_hierarchy",
        "the hierarchy of {variable!r} is not a Hierarchy, nor a list of them",
        where="hierarchies",
        fix="make one with Hierarchy.from_tree, from_parents, from_levels or flat",
        variable=name,
    )


def trees_of(plain: Mapping[str, Any]) -> dict[str, list[Hierarchy]]:
    """Make the hierarchies again."""
    return {
        name: [Hierarchy(tuple(tree["codes"]), np.array(tree["parents"], dtype=np.int32)) for tree in own]
        for name, own in plain.items()
    }


def read_trees(given: Any) -> Mapping[str, tuple[Hierarchy, ...]] | None:
    """Make the hierarchies again, of a file that may hold anything; those that are made already stay."""
    if given is None:
        return None
    if not isinstance(given, Mapping) or not all(isinstance(own, list | tuple) for own in given.values()):
        raise ValueError("not a list of trees for each variable")
    return {str(name): tuple(_read_tree(tree) for tree in own) for name, own in given.items()}


def _read_tree(tree: Any) -> Hierarchy:
    if isinstance(tree, Hierarchy):
        return tree
    if not isinstance(tree, Mapping) or set(tree) != {"codes", "parents"}:
        raise ValueError("not a tree of codes and parents")
    codes, parents = tree["codes"], tree["parents"]
    if not isinstance(codes, list) or not all(isinstance(code, str) for code in codes):
        raise ValueError("codes that are no texts")
    if not isinstance(parents, list) or not all(type(at) is int and -1 <= at < len(codes) for at in parents):
        raise ValueError("parents that are no codes")
    return Hierarchy(tuple(codes), np.array(parents, dtype=np.int32))


def same_trees(one: Mapping[str, Sequence[Hierarchy]], other: Mapping[str, Sequence[Hierarchy]]) -> bool:
    """Tell whether variables are grouped alike; codes under a total alone are no grouping.

    Examples
    --------
    >>> north = Hierarchy.from_tree({"N": ["N1", "N2"], "S": None})
    >>> same_trees({"region": [north]}, {}), same_trees({"region": [Hierarchy.flat(["N1", "S"])]}, {})
    (False, True)
    """
    return _grouping(one) == _grouping(other)


def _grouping(trees: Mapping[str, Sequence[Hierarchy]]) -> dict[str, list[tuple[Any, ...]]]:
    return {
        name: [(each.codes, each.parents.tolist()) for each in own]
        for name, own in trees.items()
        if any(len(each.codes) > len(each.leaves) + 1 or each.codes[0] != TOTAL for each in own)
    }


def dimension_of(name: str, codes: Sequence[str], trees: Sequence[Hierarchy] | None) -> Dimension:
    """Make a variable of a table again from its codes, and its trees where it has some."""
    if trees is not None and (not trees or list(trees[0].leaves) != list(codes)):
        raise DataError(
            "codes_not_leaves",
            "the codes of {variable!r} are not the leaves of its hierarchy",
            where="evidence",
            fix="have the output made again",
            variable=name,
        )
    return Dimension.of(name, Hierarchy.flat(codes, TOTAL) if trees is None else trees)


def layers(dimension: Dimension) -> Iterator[Integers]:
    """Divide the leaves in every way that the codes of a variable do: leaves, groups of a level, the total.

    Each layer says for every leaf which code it is in, by position; -1 where no code of the level holds it.

    Examples
    --------
    >>> region = Dimension.of("region", Hierarchy.from_tree({"N": ["N1", "N2"], "S": None}))
    >>> region.codes, [layer.tolist() for layer in layers(region)]
    (('N1', 'N2', 'S', 'N', 'Total'), [[0, 1, 2], [3, 3, -1], [4, 4, 4]])
    """
    n_leaves = len(dimension.leaves)
    yield np.arange(n_leaves)
    seen = {*dimension.leaves, dimension.total}
    for hierarchy in dimension.hierarchies:
        depth = np.zeros(len(hierarchy.codes), dtype=np.int64)
        for place, parent in enumerate(hierarchy.parents[1:].tolist(), start=1):
            depth[place] = depth[parent] + 1
        for level in range(1, int(depth.max()) + 1):
            # Codes of one level of one tree have no leaf in common.
            own = [code for code, at in zip(hierarchy.codes, depth, strict=True) if at == level]
            fresh = [code for code in own if code not in seen]
            seen.update(fresh)
            if fresh:
                layer = np.full(n_leaves, -1)
                for code in fresh:
                    place = dimension.position[code]
                    start, end = dimension.closure.indptr[place : place + 2]
                    layer[dimension.closure.indices[start:end]] = place
                yield layer
    yield np.full(n_leaves, len(dimension.codes) - 1)


def unions(dimension: Dimension) -> dict[str, list[str]]:
    """Return the codes between the leaves and the total, each with its leaves."""
    inner = dimension.codes[len(dimension.leaves) : -1]
    closure = dimension.closure
    return {
        code: [dimension.leaves[leaf] for leaf in closure.indices[closure.indptr[p] : closure.indptr[p + 1]]]
        for code in inner
        for p in [dimension.position[code]]
    }


def siblings(dimension: Dimension) -> list[str]:
    """Return the code right above each leaf: only leaves with the same one are merged with sense."""
    tree = dimension.hierarchies[0]
    above = dict(zip(tree.codes[1:], tree.parents[1:].tolist(), strict=True))
    return [tree.codes[above[leaf]] for leaf in dimension.leaves]
