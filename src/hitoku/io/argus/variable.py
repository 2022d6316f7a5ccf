"""One column of a τ-ARGUS data file, and how metadata describe it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hitoku.errors import OutputError
from hitoku.io.argus.text import quoted
from hitoku.model.hierarchy import TOTAL

Layout = Literal["fixed", "free", "table"]
Part = Literal["value", "shadow", "cost", "lower", "upper", "frequency", "largest", "status"]

# What may follow <NUMERIC> on its line, in a table.
NUMERIC_PARTS: dict[str, Part] = {
    "<SHADOW>": "shadow",
    "<COST>": "cost",
    "<COSTVAR>": "cost",
    "<LOWERPL>": "lower",
    "<UPPERPL>": "upper",
}
COLUMN_PARTS: dict[str, Part] = {"<FREQUENCY>": "frequency", "<MAXSCORE>": "largest", "<STATUS>": "status"}


@dataclass(frozen=True, slots=True)
class Variable:
    """One column of a data file and what it is for.

    Parameters
    ----------
    name
        Its name; upper and lower case are the same to τ-ARGUS.
    start, length
        First column (counted from one) and width; microdata with a separator have a width only, tables
        neither.
    missing
        At most two codes that mean "not known".
    recodable
        It spans tables: its codes are categories.
    total
        Code of its total.
    code_list
        File with labels (``.cdl``).
    hierarchy_file, lead
        File with the tree of codes (``.hrc``) and the sign that indents it there.
    levels
        Instead of a file: how many digits of the code belong to each level.
    distance
        Five prices of withholding a neighbour, by distance.
    numeric, decimals
        It is a quantity, with this many decimals.
    weight, holding, request
        Sampling weight; name of the holding; the codes by which a respondent asks for protection.
    part
        In a table: which number of a cell it holds.
    cell_key
        Keywords of the cell key method and what follows them, as written.
    """

    name: str
    start: int | None = None
    length: int | None = None
    missing: tuple[str, ...] = ()
    recodable: bool = False
    total: str = TOTAL
    code_list: str | None = None
    hierarchy_file: str | None = None
    lead: str = "."
    levels: tuple[int, ...] = ()
    distance: tuple[int, ...] = ()
    numeric: bool = False
    decimals: int = 0
    weight: bool = False
    holding: bool = False
    request: tuple[str, ...] = ()
    part: Part | None = None
    cell_key: tuple[tuple[str, str], ...] = ()

    @property
    def hierarchical(self) -> bool:
        """Whether its codes form a tree."""
        return self.hierarchy_file is not None or bool(self.levels)

    @property
    def record_key(self) -> bool:
        """Whether it holds the record keys of the cell key method."""
        return any(keyword == "<RECORDKEY>" for keyword, _ in self.cell_key)

    @property
    def is_number(self) -> bool:
        """Whether its column holds numbers and nothing else."""
        quantity = (self.numeric and not self.recodable) or self.weight or self.record_key
        return quantity or self.part not in (None, "status")


def written(variable: Variable, layout: Layout) -> list[str]:
    """Lines of one variable in an ``.rda`` file."""
    name = variable.name
    if not name or name.startswith(("<", "//")):
        raise OutputError(
            f"{name!r} cannot be the name of a variable in an .rda file",
            where="metadata",
            fix="start it with a letter: '<' and '//' mean something else",
        )
    blank = any(sign.isspace() or sign == '"' for sign in name)
    places: tuple[int | None, ...] = {
        "fixed": (variable.start, variable.length),
        "free": (variable.length,),
        "table": (),
    }[layout]
    words = [quoted(name, "name") if blank else name, *map(str, places)]
    head = " ".join([*words, *(quoted(code, "missing code") for code in variable.missing)])
    return [head, *(" ".join(["   ", *map(str, words)]) for words in _keywords(variable))]


def _keywords(variable: Variable) -> list[list[object]]:
    """Keywords that apply, each with its values."""
    numeric = [keyword for keyword, part in NUMERIC_PARTS.items() if part == variable.part]
    column = [keyword for keyword, part in COLUMN_PARTS.items() if part == variable.part]
    tree, labels = variable.hierarchy_file, variable.code_list
    lines: list[tuple[bool, list[object]]] = [
        (variable.recodable, ["<RECODEABLE>"]),
        (variable.recodable, ["<TOTCODE>", quoted(variable.total, "code")]),
        (labels is not None, ["<CODELIST>", quoted(labels or "", "file name")]),
        (variable.hierarchical, ["<HIERARCHICAL>"]),
        (bool(variable.levels), ["<HIERLEVELS>", *variable.levels]),
        (tree is not None, ["<HIERCODELIST>", quoted(tree or "", "file name")]),
        (tree is not None, ["<HIERLEADSTRING>", quoted(variable.lead, "indent")]),
        (bool(variable.distance), ["<DISTANCE>", *variable.distance]),
        (variable.numeric, ["<NUMERIC>", *numeric[:1]]),
        (bool(column), [*column]),
        *((True, _cell_key(keyword, values)) for keyword, values in variable.cell_key),
        (variable.decimals != 0, ["<DECIMALS>", variable.decimals]),
        (variable.weight, ["<WEIGHT>"]),
        (variable.holding, ["<HOLDING>"]),
        (bool(variable.request), ["<REQUEST>", *(quoted(code, "request code") for code in variable.request)]),
    ]
    return [words for applies, words in lines if applies]


def _cell_key(keyword: str, values: str) -> list[object]:
    if not values:
        return [keyword]
    return [keyword, quoted(values, "file name") if "FILE" in keyword else values]
