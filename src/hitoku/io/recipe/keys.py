"""Keys of a recipe: name, type, description, and origin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from hitoku.coalitions import INSIDERS, parse_insiders
from hitoku.errors import HitokuError, ParameterError, nearest
from hitoku.io.formats import FORMATS
from hitoku.messages import Text, join, respell
from hitoku.model import DEFAULT_SCOPE, SCOPES, parse_scope
from hitoku.parameters import AtLeastZero, Count, Refused, whole
from hitoku.tabulation import FileFormat
from hitoku.toml import Origin

# Marks a selection of cells to keep whose unsafe cells are suppressed nevertheless.
UNLESS_UNSAFE = "unless_unsafe"


# Options whose name differs from their key.
OPTIONS = {
    "rules": "--rule",
    "formats": "--format",
    "hierarchies": "--hierarchy",
    "data": "DATA",
    "cells": "DATA",
}


@dataclass(frozen=True, slots=True)
class RecipeOrigin(Origin):
    """Origin of the keys of a recipe: a file, or options of a command."""

    options: Mapping[str, str] = field(default_factory=OPTIONS.copy)

    def spoken(self, advice: str) -> str:
        """Return advice with Python arguments replaced by keys or options."""
        return respell(advice, attrgetter("keys" if self.name else "options"))

    def blamed(self, error: HitokuError, path: Sequence[str | int]) -> HitokuError:
        """Return an error with the key that caused it."""
        place = self.place(path)
        more = error.where and error.where != place
        where = Text("{place}; {where}", place=place, where=error.where, file=self.name) if more else place
        return error.copy_as(where=where, fix=self.spoken(error.fix))


def _validate_named(given: Any, kind: str, example: str) -> Any:
    """Validate a text, or a table with a name."""
    if isinstance(given, str) or (isinstance(given, dict) and isinstance(given.get("name"), str)):
        return given
    fix = f'write "{example}", or {{name = "{example.partition(":")[0]}", ...}}'
    raise Refused("recipe_word_or_table", "a {kind} must be a text, or a table with a name", fix, kind=kind)


def _texts(given: Any) -> Any:
    """Validate one text or several; return a list."""
    listed = [given] if isinstance(given, str) else given
    if isinstance(listed, list) and listed and all(isinstance(one, str) for one in listed):
        return listed
    raise Refused("recipe_texts", "a text, or a list of texts, is wanted", 'write "A", or ["A", "B"]')


def _markers(given: Any) -> Any:
    """Validate markers of missing values."""
    return tuple(_texts(given)) if given else ()


def _selection(given: Any) -> Any:
    """Validate codes by variable."""
    if isinstance(given, dict) and given:
        return {name: _texts(codes) for name, codes in given.items()}
    fix = 'write {region = "North", size = ["1", "2"]}; a variable left out means all its codes'
    raise Refused("recipe_selection", "cells are chosen by the codes of some variables", fix)


def _validate_kept(given: Any) -> Any:
    """Validate codes by variable, and whether unsafe cells among them may be suppressed."""
    if not isinstance(given, dict) or UNLESS_UNSAFE not in given:
        return _selection(given)
    yields = given[UNLESS_UNSAFE]
    if yields not in (True, False, ["true"], ["false"]):
        raise Refused(
            "recipe_true_or_false", "{key} is true or false", "write {key} = true", key=UNLESS_UNSAFE
        )
    cells = _selection({name: codes for name, codes in given.items() if name != UNLESS_UNSAFE})
    return cells | ({UNLESS_UNSAFE: ["true"]} if yields in (True, ["true"]) else {})


def _different(given: list[str] | None) -> list[str] | None:
    twice = [name for place, name in enumerate(given or []) if name in (given or [])[:place]]
    fix = "name each column of codes once"
    if twice:
        raise Refused("variable_named_twice", "variable {variable!r} is named twice", fix, variable=twice[0])
    if given == []:
        raise Refused("no_variables", "no variables to tabulate by", fix)
    return given


def _format(given: str) -> str:
    if given not in FORMATS:
        fix = join(
            [nearest(given, FORMATS), Text("use {names}", names=", ".join(FORMATS))], "{first} {second}"
        )
        raise Refused("unknown_format", "no format {format!r}", fix, format=given)
    return given


def _once(given: list[str] | None) -> list[str] | None:
    twice = [name for place, name in enumerate(given or []) if name in (given or [])[:place]]
    if twice:
        raise Refused(
            "format_repeated", "format {format!r} is named twice", "name each format once", format=twice[0]
        )
    return given


def _insiders(given: Any) -> Any:
    """Validate the insiders setting."""
    if not isinstance(given, str):
        raise Refused(
            "recipe_insiders", "insiders must be a text", 'write "singletons", or "contributors:coalition=2"'
        )
    try:
        parse_insiders(given)
    except ParameterError as error:
        raise Refused(error.code, error.what, error.fix) from None
    return given


def _against(given: Any) -> Any:
    """Validate the names of attackers."""
    listed = _texts(given)
    try:
        parse_scope(listed)
    except ParameterError as error:
        raise Refused(error.code, error.what, error.fix) from None
    return listed


RuleWord = Annotated[Any, BeforeValidator(partial(_validate_named, kind="rule", example="p_percent:p=10"))]
MethodWord = Annotated[
    Any, BeforeValidator(partial(_validate_named, kind="method", example="greedy:tidy=true"))
]
FormatWord = Annotated[str, AfterValidator(_format)]
Against = Annotated[list[str], BeforeValidator(_against)]
InsidersWord = Annotated[str, BeforeValidator(_insiders)]
Texts = Annotated[list[str], BeforeValidator(_texts)]
KeptCells = Annotated[dict[str, list[str]], BeforeValidator(_validate_kept)]
Cells = Annotated[dict[str, list[str]], BeforeValidator(_selection)]


class TableKeys(BaseModel):
    """Keys of one table. With ``tables``, these keys hold for all of them."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    data: str | None = Field(None, description="records, one per respondent: a CSV or Parquet file")
    cells: str | None = Field(None, description="instead of data: a CSV file with one row per cell")
    by: Annotated[list[str] | None, AfterValidator(_different)] = Field(
        None, description="columns with codes, one variable each"
    )
    value: str | None = Field(None, description="column to add up; left out, records are counted")
    weight: str | None = Field(None, description="column with the number of units a record stands for")
    unit: str | None = Field(None, description="column that names the respondent")
    holding: str | None = Field(None, description="column that names the owner of respondents")
    hierarchies: dict[str, Texts] = Field(
        default_factory=dict,
        description="by variable, a code list (CSV, Excel, .hrc), several of them, or columns of the data",
    )
    where: Annotated[dict[str, list[str]] | None, BeforeValidator(_selection)] = Field(
        None, description="records to count, by their codes in some columns; all where left out"
    )
    total: str = Field("Total", description="code of the totals")
    magnitude: Literal["signed", "abs"] | None = Field(
        None, description="what becomes of contributions below zero"
    )
    missing: Literal["error", "code"] = Field("error", description="records without a code")
    unseen: Literal["error", "code"] = Field("error", description="codes that the hierarchy lacks")
    empty: Literal["keep", "drop"] = Field(
        "keep", description="codes of a hierarchy that no record has: rows of zeros, or left out"
    )
    top: Count = Field(3, description="how many of the largest contributions to keep per cell")
    measure: str | None = Field(None, description="name of the quantity; default the name of the value")
    frequency: str | None = Field(None, description="cells: column with the respondents")
    largest: list[str] = Field(
        default_factory=list, description="cells: columns with the largest contributions, largest first"
    )
    cost: str | None = Field(None, description='cells: column with own costs, for cost = "own"')
    fixed: str | None = Field(None, description="cells: column that marks cells which stay published")
    totals: Literal["check", "recompute"] = Field(
        "check", description="cells: totals in the file must add up, or are added up again"
    )
    start: str | None = Field(None, description="a CSV file of cells suppressed by hand")
    mark: str | None = Field(None, description="column that marks cells withheld by hand")
    decimals: (
        Annotated[int, whole(0, 9, "2 keeps cents; leave the key out to keep values as they are")] | None
    ) = Field(None, description="round every record's value to this number of decimals before adding")
    encoding: str | None = Field(None, description="text files: cp1252, shift-jis, ...; left out, found")
    separator: str | None = Field(None, description="text files: sign between columns; left out, found")
    decimal: str | None = Field(None, description='text files: "." or ","; left out, found')
    thousands: str | None = Field(
        None, description="text files: sign between groups of three digits; left out, found"
    )
    na: Annotated[tuple[str, ...], BeforeValidator(_markers)] = Field(
        (),
        description='entries that stand for a missing number, as ["x", "-"]; among codes they are codes',
    )
    missing_value: Literal["error", "zero", "drop"] = Field(
        "error", description="records without a value: an error, counted with the value zero, or left out"
    )

    engine: Literal["duckdb", "spark"] = Field(
        "duckdb", description="who reads the records: DuckDB on this machine, or Spark (Parquet only)"
    )
    spark: str | None = Field(
        None, description="engine spark: a master or Spark Connect, spark://host:7077 or sc://host:15002"
    )

    @property
    def file_format(self) -> FileFormat:
        """Stated format of the file of records or cells."""
        value = () if self.value is None else (self.value,)
        return FileFormat(
            self.encoding,
            self.separator,
            self.decimal,
            self.thousands,
            self.na,
            drop_missing=value if self.missing_value == "drop" else (),
            zero_missing=value if self.missing_value == "zero" else (),
        )


# Keys that name columns of the file: one, a list, or codes by column. An error about a column is reported at
# the first key that names it, and a mark column used twice is the mistake.
COLUMN_KEYS = (
    *("mark", "by", "value", "weight", "unit", "holding", "where"),
    *("frequency", "largest", "cost", "fixed"),
)


class LinkedKeys(TableKeys):
    """Keys of a linked table."""

    name: str = Field(min_length=1, pattern=r"^[A-Za-z0-9_-]+$", description="names its files in public/")


class CountsKeys(BaseModel):
    """Keys for the counts behind a magnitude table, whose suppressions apply to the magnitudes as well."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    rules: list[RuleWord] = Field(min_length=1, description="what makes a count unsafe")
    width: AtLeastZero = Field(10.0, description="width that every unsafe count's interval must have")
    method: MethodWord | None = Field(None, description="what chooses the counts withheld with them")


class CostKeys(BaseModel):
    """Cells that are more or less expensive to suppress than the method's cost says."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    cells: Cells = Field(description="cells by their codes")
    times: AtLeastZero = Field(description="what their cost is multiplied by")


class RecipeKeys(TableKeys):
    """All keys of a recipe."""

    title: str = Field("", description="heading of the published table")
    source: str = Field("", description="where the data come from; goes out with the table")
    footnotes: list[str] = Field(default_factory=list, description="remarks that go out with the table")
    formats: Annotated[list[FormatWord] | None, AfterValidator(_once)] = Field(
        None, description=f"files in public/: {', '.join(FORMATS)}; csv always, left out csv, html and xlsx"
    )
    out: str | None = Field(None, description="folder to write; must not hold anything yet")
    jobs: int | str | None = Field(
        None,
        description="where groups of tables that share nothing are worked on: a number of processes, or "
        '"dask:tcp://host:8786", "spark:spark://host:7077"; changes no byte',
    )
    memory_limit: str | None = Field(
        None, description='memory for reading and adding up records, such as "4GB"; changes no byte'
    )
    rules: list[RuleWord] = Field(default_factory=list, description="what makes a cell unsafe")
    unsafe: list[Cells] = Field(default_factory=list, description="further unsafe cells, by their codes")
    width: AtLeastZero | None = Field(None, description="width that every unsafe cell's interval must have")
    width_share: AtLeastZero | None = Field(
        None, description="with counts: the same, as a share of the value"
    )
    insiders: InsidersWord | None = Field(
        None,
        description=f"contributors who know their own amounts: {', '.join(INSIDERS)}; left out, singletons "
        "of magnitudes",
    )
    against: Against | None = Field(
        None,
        description=f"attackers that the verdict depends on: {', '.join(SCOPES)}; left out, "
        f"{', '.join(DEFAULT_SCOPE)}, and method where the method may be known",
    )
    groups: bool = Field(
        True,
        description="keep groups that can be derived from published cells as large as min_frequency and "
        "few_contributors require; false considers cells only",
    )
    method: MethodWord = Field("auto", description="what chooses the cells withheld with the unsafe ones")
    keep: list[KeptCells] = Field(
        default_factory=list,
        description=f"cells that stay published; with {UNLESS_UNSAFE} = true where no rule hits",
    )
    withhold: list[Cells] = Field(default_factory=list, description="cells that are withheld in any case")
    forced: list[Cells] = Field(
        default_factory=list, description="cells that are published whatever this exposes"
    )
    costs: list[CostKeys] = Field(
        default_factory=list, description="cells that are more expensive or cheaper to suppress"
    )
    counts: CountsKeys | None = Field(
        None, description="protect a magnitude table together with the counts behind it"
    )
    tables: list[LinkedKeys] = Field(
        default_factory=list, description="several tables that share cells, protected together"
    )
    classifications: dict[str, Texts] = Field(
        default_factory=dict,
        description="by variable, others that are levels of it: their codes are nodes of its tree",
    )
