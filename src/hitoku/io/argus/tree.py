"""Code trees of τ-ARGUS: an indented list (``.hrc``), or the digits of the codes.

The total is never listed. Depth is the number of indent signs before the code; blanks after it
belong to the code, for codes in fixed columns are as wide as their column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hitoku.errors import HierarchyError, OutputError, some
from hitoku.io.argus.metadata import Metadata, Variable
from hitoku.io.argus.text import read_text, write_text
from hitoku.model import TOTAL, Hierarchy, code_list, unseen_codes

LEAD = "@"


class TreeLine(NamedTuple):
    """One line of a tree: its code, the place of the node above it (-1: the total), its number."""

    code: str
    above: int
    line: int


def read_tree(path: str | Path, lead: str = LEAD, total: str = TOTAL) -> Hierarchy:
    """Read an ``.hrc`` file.

    A group with a single part is kept: it is a relation like any other, and the two cells stand and fall
    together.

    Parameters
    ----------
    path
        Path of the file.
    lead
        The sign, or signs, by which each level is indented.
    total
        Code of the total, which the file does not list.
    """
    path = Path(path)
    return parse_tree(read_text(path, "tree"), lead, total, name=path.name)


def parse_tree(text: str, lead: str = LEAD, total: str = TOTAL, *, name: str = "tree") -> Hierarchy:
    r"""Read the text of an ``.hrc`` file; see :func:`read_tree`.

    A group may have the code of another node: records have the codes of leaves, so it is identified by its
    path. Two leaves of one code are refused, for no record could say to which it belongs.

    Examples
    --------
    >>> parse_tree("North\n@N1\n@N2\nSouth").leaves
    ('N1', 'N2', 'South')
    >>> parse_tree("LU\n@LU\nBE\n@B1\n@B2").codes
    ('Total', 'Total/LU', 'LU', 'BE', 'B1', 'B2')
    """
    if not lead:
        raise HierarchyError(
            "tree_without_indent", "the tree has no indent sign", where=name, fix="give one, such as '@'"
        )
    nodes: list[TreeLine] = []
    above = [-1]
    for number, raw in enumerate(text.splitlines(), 1):
        if not raw.strip() or raw.strip().startswith("//"):
            continue
        depth, code = _split_line(raw, lead)
        where = f"{name}, line {number}"
        if not code.strip():
            raise HierarchyError(
                "indent_without_code",
                "an indent without a code",
                where=where,
                fix="write the code after the indent",
            )
        if depth >= len(above):
            raise HierarchyError(
                "indent_too_deep",
                "code {code!r} is {depth} levels deep, the line before it {n_above}",
                where=where,
                fix="a line is at most one level deeper than the one before it",
                code=code,
                depth=depth,
                n_above=len(above) - 2,
            )
        if code == total:
            raise HierarchyError(
                "total_is_listed",
                "the total {total!r} is listed",
                where=where,
                fix="take the line away: a tree lists what is below it",
                total=total,
            )
        above[depth + 1 :] = [len(nodes)]
        nodes.append(TreeLine(code, above[depth], number))
    if not nodes:
        raise HierarchyError(
            "tree_empty", "the tree is empty", where=name, fix="list the codes below the total"
        )
    names = _tell_apart(nodes, total, name)
    return Hierarchy.from_pairs(
        [
            (own, names[node.above] if node.above >= 0 else total)
            for own, node in zip(names, nodes, strict=True)
        ],
        total=total,
    )


def _tell_apart(nodes: Sequence[TreeLine], total: str, name: str) -> list[str]:
    """Give every node a code of its own: a leaf keeps its code, a group of that code is named by its path."""
    groups = {node.above for node in nodes}
    keeps: dict[str, int] = {}
    for place, node in enumerate(nodes):
        if place not in groups and (other := keeps.setdefault(node.code, place)) != place:
            raise HierarchyError(
                "code_repeated",
                "code {code!r} occurs twice",
                where="{name}, lines {lines} and {node_line}",
                fix="keep one of them; a second grouping of the same codes is a tree of its own",
                code=node.code,
                name=name,
                lines=nodes[other].line,
                node_line=node.line,
            )
    for place, node in enumerate(nodes):
        keeps.setdefault(node.code, place)
    names: list[str] = []
    taken = {total, *keeps}
    for place, node in enumerate(nodes):
        own = node.code
        if keeps[own] != place:
            own = f"{names[node.above] if node.above >= 0 else total}/{own}"
            if own in taken:
                raise HierarchyError(
                    "code_repeated",
                    "code {code!r} occurs twice",
                    where="{name}, lines {lines} and {node_line}",
                    fix="rename one: {own!r}, which would distinguish it, is also a code",
                    code=node.code,
                    name=name,
                    lines=nodes[keeps[node.code]].line,
                    node_line=node.line,
                    own=own,
                )
            taken.add(own)
        names.append(own)
    return names


def write_tree(path: str | Path, hierarchy: Hierarchy, lead: str = LEAD) -> None:
    """Write an ``.hrc`` file; the total is left out."""
    depth = [-1]
    lines = []
    for place, code in enumerate(hierarchy.codes[1:], 1):
        depth.append(depth[hierarchy.parents[place]] + 1)
        line = lead * depth[place] + code
        unclear = code.startswith(".") or line.strip().startswith("//") or len(line.splitlines()) != 1
        # A dot starts the program's own level signs; the rest would be read back as something else.
        if unclear or not lead or _split_line(line, lead) != (depth[place], code):
            raise OutputError(
                "code_not_for_hrc_file",
                "code {code!r} cannot be written in an .hrc file indented by {indent!r}",
                where=Path(path).name,
                fix="a code starts neither with the indent, a dot nor '//' and does not end in a blank",
                code=code,
                indent=lead,
            )
        lines.append(line)
    write_text(path, lines, "tree")


def tree_by_digits(codes: Iterable[str], levels: Sequence[int], total: str = TOTAL) -> Hierarchy:
    """Build the tree that the digits of codes tell (``<HIERLEVELS>``).

    A code that is shorter, or blank from some level on, ends there. Levels of no digits are filler.

    Examples
    --------
    >>> tree_by_digits(["1510", "1520", "20"], [1, 1, 2]).codes
    ('Total', '1', '15', '1510', '1520', '2', '20')
    """
    ends = sorted({end for end in accumulate(levels) if end})
    if not ends:
        raise HierarchyError(
            "levels_without_digits",
            "the levels have no digits",
            fix="give the digits of each level, such as 3 1 1",
        )
    parents: dict[str, str] = {}
    given = dict.fromkeys(code.rstrip() for code in codes)
    for code in given:
        if len(code) > ends[-1]:
            raise HierarchyError(
                "code_too_long",
                "code {code!r} has more than the {n} digits of its levels",
                fix="the digits of all levels add up to the width of the codes",
                code=code,
                n=ends[-1],
            )
        above = total
        for end in ends:
            part = code[:end].rstrip()
            if part and part != above:
                parents.setdefault(part, above)
                above = part
    groups = set(parents.values())
    both = [code for code in given if code in groups]
    if both:
        raise HierarchyError(
            "code_is_category_and_sum",
            "{n} code(s) are a category of the data and the sum of others",
            where="codes {codes}",
            fix="give these records a code of the finest level, or describe the tree in an .hrc file",
            n=len(both),
            codes=some(repr(code) for code in both),
        )
    return Hierarchy.from_pairs(parents.items(), total=total)


def tree_of(variable: Variable, metadata: Metadata, codes: Iterable[str]) -> Hierarchy:
    """Build the tree of a variable from its metadata and the codes that occur in its column.

    Codes of the tree are written as in the data where only blanks differ. A missing code stands below the
    total, as a category of its own. A code that the tree lacks is refused.

    Parameters
    ----------
    variable
        Description of the variable in the metadata.
    metadata
        Metadata, whose folder contains the named files.
    codes
        Codes of the column; the total and missing codes may be among them.
    """
    occurring = [code for code in code_list(np.array(list(codes), dtype=str)) if code != variable.total]
    if not variable.hierarchical:
        return Hierarchy.flat(occurring, variable.total)
    blank = {code.strip() for code in variable.missing}
    unknown = [code for code in occurring if code.strip() in blank]
    known = [code for code in occurring if code.strip() not in blank]
    if variable.levels:
        groups = _groups_by_digits(known, variable.levels)
        tree = tree_by_digits([code for code in known if code not in groups], variable.levels, variable.total)
    else:
        file = metadata.path(str(variable.hierarchy_file), "tree")
        tree = _spelt(read_tree(file, variable.lead, variable.total), occurring)
    listed = set(tree.codes)
    strangers = [code for code in known if code not in listed]
    if strangers:
        raise unseen_codes(variable.name, strangers, tree.codes, "data")
    pairs = [
        (code, tree.codes[parent]) for code, parent in zip(tree.codes[1:], tree.parents[1:], strict=True)
    ]
    pairs += [(code, variable.total) for code in unknown if code not in listed]
    return Hierarchy.from_pairs(pairs, total=variable.total)


def _split_line(line: str, lead: str) -> tuple[int, str]:
    """Depth and code of a line; blanks before the indent say nothing, blanks after it belong to the code."""
    line = line.replace("\t", " ").rstrip()
    if line.lstrip().startswith(lead):
        line = line.lstrip()
    depth = 0
    while line.startswith(lead):
        depth += 1
        line = line[len(lead) :]
    return depth, line


def _spelt(tree: Hierarchy, codes: Sequence[str]) -> Hierarchy:
    """Write the codes of a tree as the data do, where only blanks differ."""
    exact = set(codes)
    by_word: dict[str, list[str]] = {}
    for code in codes:
        by_word.setdefault(code.strip(), []).append(code)
    taken = exact & set(tree.codes)
    names = []
    for code in tree.codes:
        same = [other for other in by_word.get(code.strip(), []) if other not in taken]
        if code not in exact and len(same) == 1:
            taken.add(same[0])
            names.append(same[0])
        else:
            names.append(code)
    return Hierarchy(tuple(names), tree.parents)


def _groups_by_digits(codes: Iterable[str], levels: Sequence[int]) -> set[str]:
    """Codes of a table that are groups: another code starts with them, cut at the end of a level."""
    ends = set(accumulate(levels))
    cuts = {code[:end].rstrip() for code in codes for end in ends if 0 < end < len(code)}
    return {code for code in codes if code in cuts}
