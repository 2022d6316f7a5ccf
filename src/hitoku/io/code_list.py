"""Code lists as offices keep them: hierarchies and labels in CSV files, Excel sheets and τ-ARGUS files.

Five forms are recognised: a column of parents; a column of levels; one column per level (a correspondence
table); codes that are indented; codes that begin with the code of their group. Further columns hold labels.
All problems of a file are reported at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from hitoku.errors import DataError, HierarchyError, HitokuError, join_errors, some
from hitoku.files import split_sheet
from hitoku.messages import Text
from hitoku.model import TOTAL, Hierarchy, nearest_code
from hitoku.tabulation import BLANKS, WORDS_FOR_TOTALS, is_text_file, look_at, read_sheet

# Names of columns, in lower case and without blanks and underscores.
PARENT = {"parent", "parentcode", "codeparent", "broader", "above", "oberbegriff", "padre"}
PARENT |= {"\u4e0a\u4f4d", "\u4e0a\u4f4d\u30b3\u30fc\u30c9", "\u89aa", "\u89aa\u30b3\u30fc\u30c9"}
LEVEL = {"level", "niveau", "nivel", "livello", "ebene", "stufe"}
LEVEL |= {"\u968e\u5c64", "\u30ec\u30d9\u30eb"}
CODE = {"code", "codes", "id", "key", "\u30b3\u30fc\u30c9", "\u7b26\u53f7"}
LABEL = re.compile(
    "label|name|title|description|text$|bezeichnung|libell|intitul|nombre|denomin"
    "|\u540d\u79f0|\u540d$|\u30e9\u30d9\u30eb|\u9805\u76ee",
    re.IGNORECASE,
)
LIKE_CODE = re.compile(r"[A-Za-z]{0,3}[0-9A-Z./_-]{0,10}")
# What stands before an indented code.
INDENT = re.compile(r"[ \u00a0\u3000\t@]*")
MOST_LINES = 5


@dataclass(frozen=True, slots=True)
class CodeList:
    """A hierarchy of codes and their labels."""

    hierarchy: Hierarchy
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Row:
    """A code with its parent ("" for the total), its label, and the line where it stands."""

    line: int
    code: str
    parent: str
    label: str = ""


def read_code_list(path: str | Path, total: str = TOTAL) -> CodeList:
    r"""Read a code list; its form is recognised from the names of its columns and from the codes.

    Parameters
    ----------
    path
        CSV file, Excel sheet (``nace.xlsx#Rev2``), or a tree of τ-ARGUS (``.hrc``).
    total
        Code of the total. An empty parent means the total.

    Returns
    -------
    CodeList
        Hierarchy of the codes, and their labels.

    Raises
    ------
    HierarchyError
        If columns are missing, or the codes do not form a tree; problems are listed with their lines.
    DataError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "nace.csv"
    >>> _ = file.write_text("class,group,class_name\n1011,101,Beef\n1012,101,Poultry\n1020,102,Fish\n")
    >>> found = read_code_list(file)
    >>> found.hierarchy.codes, found.labels["1020"]
    (('Total', '101', '1011', '1012', '102', '1020'), 'Fish')
    """
    path = Path(path)
    if not is_text_file(path):
        from hitoku.io.argus import read_tree  # noqa: PLC0415 - the files of τ-ARGUS are a package

        return CodeList(read_tree(path, total=total))
    header, lines = _lines(path)
    rows = _rows(header, lines, path.name, total)
    top = [row for row in rows if row.parent in {"", total} and row.code != total]
    if len(top) == 1 and top[0].code.lower() in WORDS_FOR_TOTALS:
        # The list has a total of its own.
        own = top[0].code
        as_total = {own: total}
        rows = [
            replace(row, code=as_total.get(row.code, row.code), parent=as_total.get(row.parent, row.parent))
            for row in rows
        ]
    labels = {row.code: row.label for row in rows if row.label}
    rows = [row for row in rows if row.code != total]
    problems = _problems(rows, path.name, total)
    if problems:
        raise join_errors(problems)
    try:
        tree = Hierarchy.from_pairs([(row.code, row.parent or total) for row in rows], total=total)
    except HierarchyError as error:
        where = Text("{file}, {where}", file=path.name, where=error.where) if error.where else path.name
        raise error.copy_as(where=where) from error
    return CodeList(tree, labels)


def read_code_tree(path: str | Path, total: str = TOTAL) -> Hierarchy:
    """Read the hierarchy of a code list."""
    return read_code_list(path, total).hierarchy


def _lines(path: Path) -> tuple[tuple[str, ...], list[tuple[int, list[str]]]]:
    """Return the names of the columns, and the lines with their numbers; a sheet keeps its indents."""
    file, _ = split_sheet(path)
    text = look_at(path)
    if text.lines is not None:
        rows = read_sheet(path, indents=True).rows[1:]
        return text.header, [(number, list(row)) for number, row in rows]
    lines = list(text.numbered_rows())
    if (
        len(text.header) == 1
        and file.name.lower().endswith((".txt", ".txt.gz"))
        and not _is_code(text.header[0])
    ):
        lines = [(1, list(text.header)), *lines]  # an indented list without names of columns
    return text.header, lines


def _rows(
    header: Sequence[str], lines: Sequence[tuple[int, list[str]]], where: str, total: str
) -> list[_Row]:
    """Recognise the form of a list."""
    words = [_word(name) for name in header]
    columns = {name: [row[place] for _, row in lines] for place, name in enumerate(header) if name}
    numbers = [number for number, _ in lines]
    parent = next((header[n] for n, word in enumerate(words) if word in PARENT), None)
    level = next((header[n] for n, word in enumerate(words) if word in LEVEL), None)
    named = [name for name in columns if name not in {parent, level}]
    coded = next((name for name in named if _is_code(name)), None)
    labels = [name for name in named if LABEL.search(name) and name != coded]
    codes = [name for name in named if name not in labels] or named[:1]
    if not codes:
        raise HierarchyError(
            "hierarchy_file_lacks_column",
            "the hierarchy has no column of codes",
            where=where,
            fix="its first line names the columns, such as code and parent; an empty parent means the total",
        )
    if parent is None and level is None and len(codes) > 1:
        levels, labelled = _levels(columns, codes, labels, where)
        return _from_levels(numbers, columns, levels, labelled)
    code = coded or codes[0]
    label = next((name for name in (*labels, *codes) if name not in {code, parent, level}), None)
    texts = columns[label] if label else [""] * len(lines)
    own = [entry.strip(BLANKS + "@") for entry in columns[code]]
    if parent is not None:
        above = [entry.strip(BLANKS) for entry in columns[parent]]
    elif level is not None:
        above = _above([_depth(entry) for entry in columns[level]], own)
    elif any(INDENT.match(entry)[0] for entry in columns[code]):  # type: ignore[index]
        above = _above([len(INDENT.match(entry)[0]) for entry in columns[code]], own)  # type: ignore[index]
    else:
        above = _by_prefix(own)
    return [
        _Row(number, each, "" if up == total else up, text.strip(BLANKS))
        for number, each, up, text in zip(numbers, own, above, texts, strict=True)
        if each or up
    ]


def _word(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).lower()


def _is_code(name: str) -> bool:
    return _word(name) in CODE


def _depth(entry: str) -> int:
    digits = re.search(r"\d+", entry)
    return int(digits[0]) if digits else 0


def _above(depths: Sequence[int], codes: Sequence[str]) -> list[str]:
    """Return the code above each: the last one before it that is less deep."""
    path: list[tuple[int, str]] = []
    above = []
    for depth, code in zip(depths, codes, strict=True):
        while path and path[-1][0] >= depth:
            path.pop()
        above.append(path[-1][1] if path else "")
        path.append((depth, code))
    return above


def _by_prefix(codes: Sequence[str]) -> list[str]:
    """Return the longest listed code with which each begins; none at all unless every code fits in."""
    listed = set(codes)
    above = [
        next((code[:n] for n in range(len(code) - 1, 0, -1) if code[:n] in listed), "") for code in codes
    ]
    shortest = min((len(code) for code in codes if code), default=0)
    nested = all(up or len(code) == shortest for code, up in zip(codes, above, strict=True))
    return above if nested else [""] * len(codes)


def _levels(
    columns: Mapping[str, list[str]], codes: Sequence[str], labels: Sequence[str], where: str
) -> tuple[list[str], dict[str, str]]:
    """Return the columns of levels, coarse to fine, and the column of labels of each.

    Of two columns that determine each other, one that does not look like codes holds labels.
    """
    distinct = {name: len(set(entries)) for name, entries in columns.items()}
    levels: list[str] = []
    labelled: dict[str, str] = {}
    for name in sorted(codes, key=lambda name: (distinct[name], sum(map(len, columns[name])))):
        same = next((n for n in levels if _tells(columns, n, name) and _tells(columns, name, n)), None)
        if same is None or all(map(LIKE_CODE.fullmatch, filter(None, columns[name]))):
            levels.append(name)
        else:
            labelled.setdefault(same, name)
    for name in labels:
        fitting = [level for level in levels if _tells(columns, level, name) and level not in labelled]
        alike = [level for level in fitting if _word(level) in _word(name)]
        if fitting:
            labelled[(alike or fitting)[0]] = name
    torn = [
        f"{fine!r} in {coarse!r} ({some(_several(columns, fine, coarse), 3)})"
        for coarse, fine in pairwise(levels)
        if not _tells(columns, fine, coarse)
    ]
    if torn:
        raise HierarchyError(
            "levels_not_nested",
            "the columns are not levels of one hierarchy: {columns} do not nest",
            where=where,
            fix="name the columns code and parent, or keep one column per level, where each code has one "
            "code above it",
            columns="; ".join(torn),
        )
    return levels, labelled


def _tells(columns: Mapping[str, list[str]], fine: str, coarse: str) -> bool:
    """Return whether every code of one column comes with one code of another."""
    pairs = {(one, other) for one, other in zip(columns[fine], columns[coarse], strict=True) if one}
    return len(pairs) == len({one for one, _ in pairs})


def _several(columns: Mapping[str, list[str]], fine: str, coarse: str) -> list[str]:
    seen: dict[str, set[str]] = {}
    for one, other in zip(columns[fine], columns[coarse], strict=True):
        seen.setdefault(one, set()).add(other)
    return [repr(code) for code, above in seen.items() if len(above) > 1]


def _from_levels(
    numbers: Sequence[int],
    columns: Mapping[str, list[str]],
    levels: Sequence[str],
    labelled: Mapping[str, str],
) -> list[_Row]:
    """Return every code of a correspondence table once; empty and repeated entries are skipped."""
    found: dict[tuple[str, str], _Row] = {}
    for place, number in enumerate(numbers):
        above = ""
        for level in levels:
            code = columns[level][place].strip(BLANKS)
            if code and code != above:
                label = columns[labelled[level]][place].strip(BLANKS) if level in labelled else ""
                found.setdefault((code, above), _Row(number, code, above, label))
                above = code
    return list(found.values())


def _problems(rows: Sequence[_Row], where: str, total: str) -> list[HitokuError]:
    """Return all problems of a list: repeated codes, two parents, parents that are not listed."""
    lines: dict[str, list[_Row]] = {}
    for row in rows:
        lines.setdefault(row.code, []).append(row)
    problems: list[HitokuError] = []
    for code, same in lines.items():
        parents = dict.fromkeys(row.parent or total for row in same)
        if not code:
            problems.append(
                HierarchyError(
                    "code_empty",
                    "a code is empty",
                    where=_place(where, same),
                    fix="name every code; a missing code needs a name too",
                )
            )
        elif len(parents) > 1:
            known, parent, *_ = parents
            problems.append(
                HierarchyError(
                    "two_parents",
                    "code {code!r} has two parents",
                    where="{place}, under {known!r} and {parent!r}",
                    fix="keep one parent, or declare the second grouping as its own hierarchy",
                    code=code,
                    place=_place(where, same),
                    known=known,
                    parent=parent,
                )
            )
        elif len(same) > 1:
            problems.append(
                HierarchyError(
                    "code_listed_twice",
                    "code {code!r} is listed twice",
                    where=_place(where, same),
                    fix="list every code once",
                    code=code,
                )
            )
    lacking: dict[str, list[_Row]] = {}
    for row in rows:
        if row.parent and row.parent not in lines and row.parent != total:
            lacking.setdefault(row.parent, []).append(row)
    for parent, below in lacking.items():
        children = {row.code for row in below}
        near = nearest_code(parent, [code for code in lines if code not in children])
        problems.append(
            HierarchyError(
                "parent_not_listed",
                "{parent!r}, the parent of {codes}, is not listed as a code",
                where=_place(where, below),
                fix="add a line for {parent!r}, probably under {near!r} or beside it"
                if near
                else "add a line for {parent!r} with the parent {total!r}, or leave the parent empty",
                parent=parent,
                codes=some((repr(row.code) for row in below), 3),
                near=near,
                total=total,
            )
        )
    if not rows:
        problems.append(
            DataError(
                "code_list_empty",
                "the code list has no codes",
                where=where,
                fix="list one code per line",
            )
        )
    return problems


def _place(where: str, rows: Iterable[_Row]) -> str:
    return Text("{file}, lines {lines}", file=where, lines=some((row.line for row in rows), MOST_LINES))
