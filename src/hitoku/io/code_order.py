"""In which order the codes of a variable are printed, and how far each is indented."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hitoku.model.dimension import Dimension
from hitoku.model.labels import Labels


@dataclass(frozen=True, slots=True)
class StubLine:
    """One code as it is printed: its position among the codes, its depth, whether it is a sum of others."""

    place: int
    code: str
    depth: int = 0
    is_sum: bool = False


def lines_of(labels: Labels, variable: int, dimensions: Sequence[Dimension]) -> list[StubLine]:
    """List the codes of a variable in the order in which a person reads them.

    A flat variable is read from its first code to its total. A tree is read from the total down, parts below
    their sum; groups of further groupings come last, for their parts stand elsewhere already.

    Examples
    --------
    >>> from hitoku.model.hierarchy import Hierarchy
    >>> regions = Dimension.of("region", Hierarchy.from_tree({"North": ["N1", "N2"], "South": None}))
    >>> [(line.code, line.depth) for line in lines_of(Labels.cross([regions]), 0, [regions])]
    [('Total', 0), ('North', 1), ('N1', 2), ('N2', 2), ('South', 1)]
    """
    codes = labels.codes[variable]
    if not dimensions:
        return [StubLine(place, code) for place, code in enumerate(codes)]
    dimension = dimensions[variable]
    sums = {code for code, _ in dimension.groups}
    if len(sums) == 1:
        return [StubLine(place, code, 0, code in sums) for place, code in enumerate(codes)]
    depth: dict[str, int] = {}
    for number, tree in enumerate(dimension.hierarchies):
        for code, above in zip(tree.codes, tree.parents.tolist(), strict=True):
            below = 0 if above < 0 else depth[tree.codes[above]] + 1
            depth.setdefault(code, below if number == 0 else 1)
    return [StubLine(dimension.position[code], code, level, code in sums) for code, level in depth.items()]
