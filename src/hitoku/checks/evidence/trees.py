"""Code trees as plain lists, and the partitions of the leaves by their levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from hitoku.errors import DataError, ParameterError
from hitoku.model import TOTAL, Dimension, Hierarchy, Integers

# Hierarchies of each variable, in JSON-compatible form.
Trees = dict[str, list[dict[str, Any]]]


def plain_trees(given: Mapping[str, Any] | None, by: Sequence[str]) -> Trees:
    """Return hierarchies as plain lists; plain lists are returned unchanged.

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
    return {name: [_plain(name, tree) for tree in _as_list(own)] for name, own in given.items()}


def _as_list(own: Any) -> Sequence[Any]:
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
    """Rebuild hierarchies from plain lists."""
    return {
        name: [Hierarchy(tuple(tree["codes"]), np.array(tree["parents"], dtype=np.int32)) for tree in own]
        for name, own in plain.items()
    }


def read_trees(given: Any) -> Mapping[str, tuple[Hierarchy, ...]] | None:
    """Rebuild hierarchies from untrusted plain lists; hierarchies are returned unchanged."""
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
        raise ValueError("codes that are not texts")
    if not isinstance(parents, list) or not all(type(at) is int and -1 <= at < len(codes) for at in parents):
        raise ValueError("parents that are not codes")
    return Hierarchy(tuple(codes), np.array(parents, dtype=np.int32))


def same_trees(one: Mapping[str, Sequence[Hierarchy]], other: Mapping[str, Sequence[Hierarchy]]) -> bool:
    """Return whether variables are grouped alike; codes directly under a total are not a grouping.

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
    """Rebuild a variable of a table from its codes and its trees, if any."""
    if trees is not None and (not trees or list(trees[0].leaves) != list(codes)):
        raise DataError(
            "codes_not_leaves",
            "the codes of {variable!r} are not the leaves of its hierarchy",
            where="evidence",
            fix="create the output again",
            variable=name,
        )
    return Dimension.of(name, Hierarchy.flat(codes, TOTAL) if trees is None else trees)


def layers(dimension: Dimension) -> Iterator[Integers]:
    """Yield the partitions of the leaves by the codes of a variable: leaves, levels, total.

    Each layer gives the position of the code that contains each leaf, or -1 if no code of the level does.

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
            # Codes of one level of one tree are disjoint.
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
    """Return the direct parent of each leaf: only leaves with the same parent are suggested for merging."""
    tree = dimension.hierarchies[0]
    above = dict(zip(tree.codes[1:], tree.parents[1:].tolist(), strict=True))
    return [tree.codes[above[leaf]] for leaf in dimension.leaves]
