"""τ-ARGUS metadata (``.rda``): description of the columns of a data file.

A line names a variable and its position; the keyword lines below describe its role. There are three layouts:
microdata in fixed columns, microdata with a separator, and tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, get_args

from hitoku.errors import DataError, OutputError, ParameterError, did_you_mean
from hitoku.io.argus.columns import COLUMN_PARTS, NUMERIC_PARTS, Layout, Part, Variable, variable_lines
from hitoku.io.argus.text import (
    ArgusLimit,
    Word,
    found_file,
    lines_of,
    quote,
    read_text,
    words_of,
    write_text,
)
from hitoku.messages import Text

__all__ = ["Metadata", "Variable", "parse_metadata", "read_metadata", "write_metadata"]

Kind = Literal["microdata", "table"]

LETTERS = {"<SAFE>": "safe", "<UNSAFE>": "unsafe", "<PROTECT>": "protect"}
# Keywords of the cell key method, which hitoku does not apply, are kept as written.
CELL_KEY = (
    "<RECORDKEY>",
    "<PFILE>",
    "<PFILE_FREQ>",
    "<PFILE_CONT>",
    "<PFILE_SEP>",
    "<CKM>",
    "<INCLUDEZEROS>",
    "<PARITY>",
    "<SCALING>",
    "<SEPARATION>",
)
BOTH = (
    "<RECODEABLE>",
    "<RECODABLE>",
    "<TOTCODE>",
    "<CODELIST>",
    "<HIERARCHICAL>",
    "<HIERLEVELS>",
    "<HIERCODELIST>",
    "<HIERLEADSTRING>",
    "<DISTANCE>",
    "<NUMERIC>",
    "<DECIMALS>",
    "<SEPARATOR>",
)
MICRODATA = (*BOTH, "<SPSS>", "<TRUNCABLE>", "<WEIGHT>", "<HOLDING>", "<REQUEST>", *CELL_KEY)
TABLE = (*BOTH, *LETTERS, *NUMERIC_PARTS, *COLUMN_PARTS)


@dataclass(frozen=True, slots=True)
class Metadata:
    """Columns of a data file, in order.

    Examples
    --------
    >>> region = Variable("Region", start=1, length=2, recodable=True)
    >>> Metadata("fixed", (region,)).variable("REGION").length
    2
    """

    layout: Layout  # "fixed" or "free" for microdata, or "table".
    variables: tuple[Variable, ...]  # Columns.
    separator: str | None = None  # Separator, if the layout has one.
    # safe, unsafe, protect: letters of cell statuses in a table.
    safe: str = "S"
    unsafe: str = "U"
    protect: str = "P"
    folder: Path = field(default=Path(), compare=False)  # Folder searched for the files that it names.

    def __post_init__(self) -> None:
        if self.layout not in get_args(Layout):
            raise ParameterError(
                "unknown_layout",
                "no layout {layout!r}",
                where="metadata",
                fix=did_you_mean(self.layout, get_args(Layout)),
                layout=self.layout,
            )
        object.__setattr__(self, "variables", tuple(self.variables))

    def variable(self, name: str) -> Variable:
        """Return the variable of this name, ignoring case."""
        for variable in self.variables:
            if variable.name.casefold() == name.casefold():
                return variable
        known = [variable.name for variable in self.variables]
        raise DataError(
            "unknown_variable",
            "no variable {variable!r}",
            where="metadata",
            fix=did_you_mean(name, known),
            variable=name,
        )

    @property
    def spanning(self) -> tuple[Variable, ...]:
        """Variables whose codes are categories, in the order of the file."""
        return tuple(variable for variable in self.variables if variable.recodable)

    def of_part(self, part: Part) -> tuple[Variable, ...]:
        """Return the columns that contain this number of a table's cells."""
        return tuple(variable for variable in self.variables if variable.part == part)

    def path(self, name: str, what: str = "file") -> Path:
        """Return the path of a file named in the metadata."""
        return found_file(name, [self.folder], what)


def read_metadata(path: str | Path, *, kind: Kind | None = None) -> Metadata:
    """Read an ``.rda`` file.

    Parameters
    ----------
    path
        Path of the file.
    kind
        "microdata" or "table"; in τ-ARGUS the command that opens the data decides. Default: table if a table
        keyword occurs or a variable is alone on its line.
    """
    path = Path(path)
    return parse_metadata(read_text(path, "metadata"), name=path.name, folder=path.parent, kind=kind)


def parse_metadata(
    text: str, *, name: str = "metadata", folder: Path | None = None, kind: Kind | None = None
) -> Metadata:
    r"""Read the text of an ``.rda`` file; see :func:`read_metadata`.

    Examples
    --------
    >>> parse_metadata("Region 1 2 99\n  <RECODEABLE>\nTurnover 4 8\n  <NUMERIC>").layout
    'fixed'
    """
    lines = [_Line(name, line.number, words_of(line.text)) for line in lines_of(text)]
    if not lines:
        raise DataError(
            "metadata_empty", "the metadata are empty", where=name, fix="name at least one variable"
        )
    if kind is None:
        kind = "table" if any(map(_says_table, lines)) else "microdata"
    return _Reader(kind, lines).metadata(Path() if folder is None else folder)


def write_metadata(path: str | Path, metadata: Metadata) -> None:
    """Write an ``.rda`` file; reading it gives the same metadata."""
    lines = []
    if metadata.separator is not None:
        lines.append(f"<SEPARATOR> {quote(metadata.separator, 'separator')}")
    if metadata.layout == "table":
        letters = {keyword: getattr(metadata, letter) for keyword, letter in LETTERS.items()}
        lines += [f"{keyword} {quote(letter, 'status letter')}" for keyword, letter in letters.items()]
    for variable in metadata.variables:
        lines += variable_lines(variable, metadata.layout)
    again = parse_metadata(
        "\n".join(lines),
        name=Path(path).name,
        kind="table" if metadata.layout == "table" else "microdata",
    )
    if again != metadata:
        raise OutputError(
            "metadata_not_for_rda_file",
            "these metadata cannot be written as an .rda file",
            where=Path(path).name,
            fix="the format cannot represent {lost}",
            lost=_first_lost_property(metadata, again),
        )
    write_text(path, lines, "metadata")


class _Line(NamedTuple):
    file: str
    number: int
    words: list[Word]

    @property
    def where(self) -> str:
        return f"{self.file}, line {self.number}"

    def refuse(self, code: str, template: str, fix: str, /, **fields: object) -> NoReturn:
        raise DataError(code, template, where=self.where, fix=fix, **fields)

    def commands(self) -> list[tuple[str, list[str]]]:
        """Return the keywords of the line with their values."""
        commands: list[tuple[str, list[str]]] = []
        for word in self.words:
            if word.is_keyword:
                commands.append((word.text.upper(), []))
            else:
                commands[-1][1].append(word.text)
        return commands

    def whole(self, text: str, what: str, at_least: int = 0) -> int:
        if not text.isdecimal() or int(text) < at_least:
            self.refuse(
                "metadata_number_invalid",
                "{what} is not a whole number, or too small",
                "give a whole number of at least {at_least}",
                what=what,
                at_least=at_least,
            )
        return int(text)

    def one(self, keyword: str, values: Sequence[str]) -> str:
        if len(values) != 1:
            self.refuse(
                "metadata_value_count",
                "{keyword} takes one value, got {n}",
                "put a value with blanks in double quotes",
                keyword=keyword,
                n=len(values),
            )
        return values[0]


def _says_table(line: _Line) -> bool:
    if not line.words[0].is_keyword:
        return len(line.words) == 1
    only_tables = set(TABLE) - set(MICRODATA)
    return any(word.is_keyword and word.text.upper() in only_tables for word in line.words)


class _Reader:
    """Parser of variables and keywords, line by line."""

    def __init__(self, kind: Kind, lines: Sequence[_Line]) -> None:
        self.kind = kind
        self.known = TABLE if kind == "table" else MICRODATA
        self.lines = lines
        self.file: dict[str, Any] = {}
        self.variables: list[Variable] = []
        self.declared: dict[str, _Line] = {}
        self.trees: set[str] = set()

    def metadata(self, folder: Path) -> Metadata:
        for place, line in enumerate(self.lines):
            if line.words[0].is_keyword:
                for keyword, values in line.commands():
                    self._keyword(line, keyword, values, first=place == 0)
            else:
                self._variable(line)
        if not self.variables:
            self.lines[0].refuse(
                "metadata_without_variable",
                "the metadata name no variable",
                "a variable's name starts its line",
            )
        for variable in self.variables:
            self._refuse_half_trees(variable)
        if self.kind == "table":
            # Default of τ-ARGUS, although not in its manual.
            self.file.setdefault("separator", ";")
        layout: Layout = "table" if self.kind == "table" else "free" if "separator" in self.file else "fixed"
        return Metadata(layout, tuple(self.variables), folder=folder, **self.file)

    def _variable(self, line: _Line) -> None:
        name, *values = (word.text for word in line.words)
        if any(word.is_keyword for word in line.words):
            line.refuse(
                "metadata_keyword_on_variable_line",
                "a keyword stands on the line of variable {variable!r}",
                "put it on a line of its own",
                variable=name,
            )
        if name.casefold() in self.declared:
            line.refuse(
                "metadata_variable_repeated",
                "variable {variable!r} is declared twice",
                "it is there in line {line}; case makes no difference",
                variable=name,
                line=self.declared[name.casefold()].number,
            )
        self.declared[name.casefold()] = line
        start = length = None
        if self.kind == "microdata":
            n_places = 1 if "separator" in self.file else 2
            if len(values) < n_places:
                line.refuse(
                    "metadata_place_missing",
                    "variable {variable!r} lacks its position in the record",
                    "write name, first column, width" if n_places == 2 else "write name, width",
                    variable=name,
                )
            *first, last = (line.whole(v, f"the place of variable {name!r}", 1) for v in values[:n_places])
            start, length = (first[0] if first else None), last
            values = values[n_places:]
        missing = tuple(value for value in values if value.strip())
        if len(missing) > ArgusLimit.MISSING:
            line.refuse(
                "metadata_missing_code_count",
                "variable {variable!r} has {n} missing codes",
                "give at most {max_missing} of them",
                variable=name,
                n=len(missing),
                max_missing=ArgusLimit.MISSING,
            )
        if length is not None and any(len(code) > length for code in missing):
            line.refuse(
                "metadata_missing_code_too_wide",
                "a missing code of {variable!r} is wider than the variable",
                "widen it, or shorten the code",
                variable=name,
            )
        self.variables.append(Variable(name, start=start, length=length, missing=missing))

    def _keyword(self, line: _Line, keyword: str, values: list[str], *, first: bool) -> None:
        if keyword not in self.known:
            other = MICRODATA if self.kind == "table" else TABLE
            fix = did_you_mean(keyword, self.known)
            if keyword in other:
                line.refuse(
                    "metadata_keyword_of_other_kind",
                    "unknown keyword {keyword} (it belongs to {kind})",
                    fix,
                    keyword=keyword,
                    kind=Text("microdata") if self.kind == "table" else Text("tables"),
                )
            line.refuse("metadata_keyword_unknown", "unknown keyword {keyword}", fix, keyword=keyword)
        if keyword == "<SPSS>":
            line.refuse(
                "metadata_of_spss",
                "metadata of an SPSS file: hitoku reads no SPSS files (<SPSS>)",
                "save the data as text in fixed columns or with a separator, and describe those",
            )
        if keyword == "<SEPARATOR>":
            if self.kind == "microdata" and not first:
                line.refuse(
                    "metadata_separator_late",
                    "<SEPARATOR> comes too late",
                    "it is the first line of the metadata",
                )
            self.file["separator"] = _separator(line, values)
        elif keyword in LETTERS:
            self.file[LETTERS[keyword]] = line.one(keyword, values)
        elif not self.variables:
            line.refuse(
                "metadata_keyword_before_variable",
                "{keyword} comes before any variable",
                "name the variable first, its keywords after it",
                keyword=keyword,
            )
        else:
            if keyword == "<HIERARCHICAL>":
                self.trees.add(self.variables[-1].name)
            changes = self._changes(line, keyword, values, self.variables[-1])
            self.variables[-1] = replace(self.variables[-1], **changes)

    def _changes(self, line: _Line, keyword: str, values: list[str], variable: Variable) -> Mapping[str, Any]:
        """Return the settings of a variable given by a keyword."""
        if keyword in CELL_KEY:
            return {"cell_key": (*variable.cell_key, (keyword, " ".join(values)))}
        if keyword in ONE_VALUE:
            return {ONE_VALUE[keyword]: line.one(keyword, values)}
        if keyword in SEVERAL_VALUES:
            return SEVERAL_VALUES[keyword](line, values, variable)
        if values:
            line.refuse(
                "metadata_keyword_takes_nothing",
                "something follows {keyword}, which stands alone",
                "give every keyword its own line",
                keyword=keyword,
            )
        if keyword in NUMERIC_PARTS and not variable.numeric:
            line.refuse(
                "metadata_keyword_without_numeric",
                "{keyword} without <NUMERIC>",
                "write <NUMERIC> {keyword} on one line",
                keyword=keyword,
            )
        if keyword == "<NUMERIC>" and self.kind == "table":
            return {"numeric": True, "part": "value"}
        return FLAGS[keyword]

    def _refuse_half_trees(self, variable: Variable) -> None:
        line = self.declared[variable.name.casefold()]
        marked = variable.name in self.trees
        if marked and not variable.hierarchical:
            line.refuse(
                "metadata_tree_missing",
                "variable {variable!r} is <HIERARCHICAL>, but its tree is not given",
                "add <HIERCODELIST> with <HIERLEADSTRING>, or <HIERLEVELS>",
                variable=variable.name,
            )
        if variable.hierarchy_file is not None and variable.levels:
            line.refuse(
                "metadata_two_trees",
                "variable {variable!r} has two trees: <HIERCODELIST> and <HIERLEVELS>",
                "keep one of them",
                variable=variable.name,
            )
        if variable.hierarchy_file is not None and not marked:
            line.refuse(
                "metadata_tree_of_flat_variable",
                "variable {variable!r} has a <HIERCODELIST> but is not <HIERARCHICAL>",
                "add <HIERARCHICAL>, or take the list away: τ-ARGUS ignores a list alone",
                variable=variable.name,
            )


def _separator(line: _Line, values: Sequence[str]) -> str:
    """Return the separator; a blank next to another character is ignored, because columns are stripped."""
    separator = line.one("<SEPARATOR>", values)
    separator = separator.strip() or separator
    if len(separator) != 1:
        line.refuse(
            "metadata_separator_length",
            "the separator has {n} signs",
            "the separator is one sign, in double quotes",
            n=len(separator),
        )
    return separator


def _levels(line: _Line, values: Sequence[str], variable: Variable) -> dict[str, Any]:
    levels = tuple(line.whole(value, "the number of digits of a level") for value in values)
    if not levels or len(levels) > ArgusLimit.LEVELS:
        line.refuse(
            "metadata_level_count",
            "<HIERLEVELS> has {n} levels",
            "give between one and {max_levels}",
            n=len(levels),
            max_levels=ArgusLimit.LEVELS,
        )
    if variable.length is not None and sum(levels) != variable.length:
        line.refuse(
            "metadata_level_digits",
            "the levels of {variable!r} have {n} digits for a width of {width}",
            "the digits of all levels add up to the width",
            variable=variable.name,
            n=sum(levels),
            width=variable.length,
        )
    return {"levels": levels}


def _distances(line: _Line, values: Sequence[str], _: Variable) -> dict[str, Any]:
    distances = [line.whole(value, "a distance") for value in values]
    if len(distances) > ArgusLimit.DISTANCES:
        line.refuse(
            "metadata_distance_count",
            "<DISTANCE> has {n} numbers",
            "give {n_distances}",
            n=len(distances),
            n_distances=ArgusLimit.DISTANCES,
        )
    while len(distances) < ArgusLimit.DISTANCES:
        distances.append(distances[-1] if distances else 1)
    return {"distance": tuple(distances)}


def _requests(line: _Line, values: Sequence[str], _: Variable) -> dict[str, Any]:
    codes = tuple(value for value in values if value != ",")
    if not 0 < len(codes) <= ArgusLimit.REQUESTS:
        line.refuse(
            "metadata_request_count",
            "<REQUEST> has {n} codes",
            "give one or {max_requests}",
            n=len(codes),
            max_requests=ArgusLimit.REQUESTS,
        )
    return {"request": codes}


def _decimals(line: _Line, values: Sequence[str], _: Variable) -> dict[str, Any]:
    return {"decimals": line.whole(line.one("<DECIMALS>", values), "the number of decimals")}


FLAGS: dict[str, dict[str, Any]] = {
    "<RECODEABLE>": {"recodable": True},
    "<RECODABLE>": {"recodable": True},
    "<HIERARCHICAL>": {},
    "<TRUNCABLE>": {},  # accepted by τ-ARGUS, without effect
    "<NUMERIC>": {"numeric": True},
    "<WEIGHT>": {"weight": True},
    "<HOLDING>": {"holding": True},
    **{keyword: {"part": part} for keyword, part in {**NUMERIC_PARTS, **COLUMN_PARTS}.items()},
}
ONE_VALUE = {
    "<TOTCODE>": "total",
    "<CODELIST>": "code_list",
    "<HIERCODELIST>": "hierarchy_file",
    "<HIERLEADSTRING>": "lead",
}
SEVERAL_VALUES: dict[str, Callable[[_Line, Sequence[str], Variable], dict[str, Any]]] = {
    "<DECIMALS>": _decimals,
    "<HIERLEVELS>": _levels,
    "<DISTANCE>": _distances,
    "<REQUEST>": _requests,
}


def _first_lost_property(metadata: Metadata, again: Metadata) -> str:
    """Return the first property that the file does not preserve."""
    for before, after in zip(metadata.variables, again.variables, strict=False):
        for entry in fields(Variable):
            if getattr(before, entry.name) != getattr(after, entry.name):
                return f"the {entry.name} of variable {before.name!r} in layout {metadata.layout!r}"
    return "its separator or status letters"
