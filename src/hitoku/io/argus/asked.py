"""What a batch of τ-ARGUS asks for: tables, how to protect them, files to write."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from hitoku.io.argus.safety import Safety

COUNT = "<freq>"  # the response of a table of counts
FREQUENCY_COST, UNIT_COST, DISTANCE_COST = "-1", "-2", "-3"

# Types of safe files, as the command numbers them.
CSV, PIVOT, CODE_VALUE, SBS, INTERMEDIATE, JJ, CKM = range(1, 8)


class Recoding(NamedTuple):
    """A variable to be coarsened, by a file or down to a level of its tree."""

    line: int
    variable: str
    file: str
    level: int | None


class Apriori(NamedTuple):
    """A file of marks, costs, levels and bounds for single cells."""

    line: int
    file: str
    separator: str
    ignore: bool
    expand: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One table that a batch asks for.

    Parameters
    ----------
    number, line
        Which one, and where it is specified.
    data, metadata
        Names of its files.
    records
        The data are microdata, not cells.
    by, response
        The variables, and what is added up: a name, or ``<freq>`` for counts.
    shadow
        Variable whose contributions the rules look at; the response where it is empty.
    cost, power
        What withholding costs: a name, -1 frequency, -2 one, empty the response; and its exponent.
    safety
        The rules.
    additivity
        What becomes of totals in a table that is read: "0" check, "1" add up, "1T" the same but marks
        stay, "2" leave.
    recodings, apriori
        What is applied before anything is suppressed.
    """

    number: int
    line: int
    data: str
    metadata: str
    records: bool
    by: tuple[str, ...]
    response: str
    shadow: str = ""
    cost: str = ""
    power: float = 1.0
    safety: Safety = field(default_factory=Safety)
    additivity: str = "0"
    recodings: tuple[Recoding, ...] = ()
    apriori: tuple[Apriori, ...] = ()


class Suppress(NamedTuple):
    """How a table is to be protected; table 0 stands for all of them, linked."""

    line: int
    method: str
    table: int
    minutes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A file to be written; ``protected`` says whether that is after the table was suppressed."""

    line: int
    table: int
    kind: int
    file: str
    options: frozenset[str] = frozenset()
    protected: bool = False


@dataclass(frozen=True, slots=True)
class BatchSession:
    """What stands between two ``<CLEAR>`` commands."""

    tables: tuple[Asked, ...] = ()
    suppress: tuple[Suppress, ...] = ()
    writes: tuple[Write, ...] = ()


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that hitoku can run.

    Parameters
    ----------
    path
        The file.
    sessions
        What it asks for.
    logbook, version_file
        Further files to write.
    notes
        What stands in it and makes no difference here, with the line.
    """

    path: Path
    sessions: tuple[BatchSession, ...]
    logbook: str = ""
    version_file: str = ""
    notes: tuple[str, ...] = ()
