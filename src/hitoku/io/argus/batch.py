"""τ-ARGUS batch files (``.arb``), checked completely before anything runs.

Unsupported commands are rejected with line and suggested fix; commands without effect here (solver, silent
mode) are noted. Only the batch file is opened: :mod:`hitoku.io.argus.batch_check` checks the files that it
names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from math import isfinite, nan
from pathlib import Path
from typing import Any

from hitoku.errors import DataError, did_you_mean
from hitoku.io.argus.batch_request import (
    CKM,
    CODE_VALUE,
    COUNT,
    CSV,
    DISTANCE_COST,
    INTERMEDIATE,
    PIVOT,
    SBS,
    Apriori,
    Asked,
    Batch,
    BatchProblem,
    BatchSession,
    Recoding,
    Suppress,
    Write,
    parse_safety,
    refuse_problems,
)
from hitoku.io.argus.text import lines_of, read_text
from hitoku.messages import Text

COMMAND = re.compile(r"<\s*(?P<name>[A-Za-z]+)\s*>\s*(?P<rest>.*)")
CALL = re.compile(r"(?P<name>[A-Za-z]+)\s*\((?P<inside>[^()]*)\)(?P<rest>.*)")
QUOTED_OR_PLAIN = re.compile(r'"([^"]*)"|([^\s"]+)')
ADDITIVITY = ("0", "1", "1T", "2")
MINUTES = 10.0

OPTIONS = {
    "AS": (PIVOT, CODE_VALUE),
    "SE": (PIVOT, CODE_VALUE, SBS, INTERMEDIATE),
    "FL": (PIVOT, CODE_VALUE),
    "QU": (CSV, PIVOT, CODE_VALUE, SBS, INTERMEDIATE),
    "HL": (SBS,),
    "SO": (PIVOT, CODE_VALUE),
    "AR": (INTERMEDIATE,),
}
NOT_HERE = {
    "GOINTERACTIVE": "not interactive: remove the line, and open the release folder given with --out",
    "ANCO": "take the line out; hitoku audits every table that it writes",
    "COVER": "take the line out; tables linked with table 0 need no cover table here",
    "JJ": 'write <WRITETABLE> (1,6,,"file.jj") for a JJ file',
    "OPENSPSS": "export the data to a text file first",
}
# Methods of τ-ARGUS that are replaced by a method of hitoku.
REPLACED = {
    "GH": "hypercube",
    "MOD": "modular (HITAS)",
    "NET": "network",
}


def read_batch(path: str | Path) -> Batch:
    """Read a batch file; raise DataError that lists unsupported lines."""
    path = Path(path)
    reader = _Reader(path)
    for line in lines_of(read_text(path, "batch")):
        if not line.text.startswith("\\\\"):
            reader.take(line.number, line.text)
    return reader.finish()


class _Reader:
    """Parser state; every command is checked against it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[BatchProblem] = []
        self.notes: list[str] = []
        self.sessions: list[BatchSession] = []
        self.logbook = self.version_file = ""
        self.line = 0
        self.clear()

    def clear(self) -> None:
        self.tables: list[Asked] = []
        self.suppress: list[Suppress] = []
        self.writes: list[Write] = []
        self.data = self.metadata = ""
        self.records = False
        # Tables specified but not read yet, and those with rules.
        self.open: list[int] = []
        self.ruled: set[int] = set()

    def refuse(self, code: str, template: str, fix: str = "", /, **fields: Any) -> None:
        self.problems.append(BatchProblem(self.line, DataError(code, template, fix=fix, **fields)))

    def note(self, text: str) -> None:
        self.notes.append(f"line {self.line}: {text}")

    def take(self, number: int, text: str) -> None:
        self.line = number
        match = COMMAND.fullmatch(text)
        if match is None:
            self.refuse(
                "batch_line_without_command",
                "no command: a line starts with a word in angle brackets",
                "start comments with //",
            )
            return
        name, rest = match["name"].upper(), match["rest"].strip()
        if name in NOT_HERE:
            self.refuse(
                "batch_command_not_supported", "<{command}> is not supported", NOT_HERE[name], command=name
            )
        elif name not in COMMANDS:
            self.refuse(
                "batch_command_unknown",
                "<{command}> is not a batch command",
                did_you_mean(name, COMMANDS),
                command=name,
            )
        else:
            COMMANDS[name](self, rest)

    def finish(self) -> Batch:
        self.end_session()
        if not self.problems and not self.sessions:
            self.refuse("batch_without_table", "the batch specifies no table", "see <SPECIFYTABLE>")
        refuse_problems(self.path, self.problems)
        return Batch(self.path, tuple(self.sessions), self.logbook, self.version_file, tuple(self.notes))

    def end_session(self) -> None:
        for number in self.open:
            table = self.tables[number - 1]
            command = "<READMICRODATA>" if table.records else "<READTABLE>"
            self.problems.append(
                BatchProblem(
                    table.line,
                    DataError(
                        "batch_table_never_read",
                        "table {table} is specified but never read",
                        fix="add {command}",
                        table=number,
                        command=command,
                    ),
                )
            )
        if self.tables:
            self.sessions.append(BatchSession(tuple(self.tables), tuple(self.suppress), tuple(self.writes)))

    # One method per command; its argument is the rest of the line.

    def open_data(self, rest: str, *, records: bool) -> None:
        self.data, self.records, self.metadata = self.file(rest), records, ""
        if self.open:
            self.refuse(
                "batch_data_opened_early", "data are opened before the last table was read", "read it first"
            )

    def open_metadata(self, rest: str) -> None:
        if not self.data:
            self.refuse(
                "batch_metadata_without_data",
                "metadata without data",
                "open data first: <OPENMICRODATA> or <OPENTABLEDATA>",
            )
        self.metadata = self.file(rest)

    def specify(self, rest: str) -> None:
        if not self.metadata:
            self.refuse(
                "batch_table_specified_early", "a table is specified before its data and metadata are opened"
            )
            return
        variables, *parts = split_outside_quotes(rest, "|")
        by = tuple(quoted or plain for quoted, plain in QUOTED_OR_PLAIN.findall(variables))
        parts = [*(unquote(part) for part in parts), "", "", ""]
        response, shadow, cost, *power = parts
        last = split_outside_quotes(cost, ",")
        exponent = power[0] if power and power[0] else (last[1] if len(last) > 1 else "1")
        cost = unquote(last[0]) if last else ""
        if not by or not response:
            self.refuse("batch_table_incomplete", "a table needs variables and a response", SPECIFY)
            return
        if len(set(by)) != len(by):
            self.refuse("batch_variable_repeated", "a table names a variable twice", SPECIFY)
            return
        if response.lower() == COUNT:
            response = COUNT
        if cost == DISTANCE_COST:
            self.refuse(
                "batch_cost_by_distance",
                "cost -3 (distance) is not supported",
                'use "-1" (frequency), "-2" (one each) or a variable',
            )
        number = len(self.tables) + 1
        self.tables.append(
            Asked(
                number=number,
                line=self.line,
                data=self.data,
                metadata=self.metadata,
                records=self.records,
                by=by,
                response=response,
                shadow="" if shadow == response else shadow,
                cost=cost,
                power=self.number(unquote(exponent), "the exponent of the cost") or 0.0,
            )
        )
        self.open.append(number)

    def safety(self, rest: str) -> None:
        if not self.open or self.open[-1] in self.ruled:
            self.refuse(
                "batch_rules_without_table",
                "rules without a table",
                "give <SPECIFYTABLE> first; one <SAFETYRULE> for each table",
            )
            return
        self.ruled.add(self.open[-1])
        self.change(self.open[-1], safety=parse_safety(rest, self.refuse))

    def read(self, rest: str, *, records: bool) -> None:
        command = "<READMICRODATA>" if records else "<READTABLE>"
        if not self.open or self.records != records:
            what = "microdata" if records else "a table"
            self.refuse(
                "batch_command_without_data",
                "{command} without {data} opened and specified",
                command=command,
                data=what,
            )
            return
        how = rest.upper() or "0"
        if not records and how not in ADDITIVITY:
            self.refuse(
                "batch_readtable_option",
                "<READTABLE> takes one of {options}",
                "0 checks that totals add up",
                options=", ".join(ADDITIVITY),
            )
            return
        for number in self.open:
            self.change(number, additivity="0" if records else how)
        self.open = []

    def recode(self, rest: str) -> None:
        parts = [unquote(part) for part in split_outside_quotes(rest, ",")]
        if len(parts) != 3:
            self.refuse(
                "batch_recoding_incomplete", "a recoding names table, variable, and a file or level", RECODE
            )
            return
        number = self.table(parts[0])
        if number is None:
            return
        asked = self.tables[number - 1]
        if not asked.records:
            self.refuse(
                "batch_recoding_of_table",
                "<RECODE> is for microdata only",
                "recode the records before you make the table",
            )
        elif parts[1].casefold() not in [name.casefold() for name in asked.by]:
            self.refuse(
                "batch_variable_unknown",
                "table {table} has no variable {variable!r}",
                did_you_mean(parts[1], asked.by),
                table=number,
                variable=parts[1],
            )
        elif any(one.variable.casefold() == parts[1].casefold() for one in asked.recodings):
            self.refuse(
                "batch_variable_recoded_twice",
                "{variable!r} is recoded twice",
                "put both steps into one .grc file",
                variable=parts[1],
            )
        elif self.before_suppression(number):
            level = whole(parts[2])
            one = Recoding(self.line, parts[1], "" if level is not None else parts[2], level)
            self.change(number, recodings=(*asked.recodings, one))

    def apriori(self, rest: str) -> None:
        parts = [unquote(part) for part in split_outside_quotes(rest, ",")]
        if not 3 <= len(parts) <= 5 or any(part not in {"0", "1"} for part in parts[3:]):
            self.refuse(
                "batch_apriori_incomplete",
                "an a priori file comes with table, separator and two switches",
                APRIORI,
            )
            return
        number = self.table(parts[1])
        if number is None or not self.before_suppression(number):
            return
        switches = [part == "1" for part in parts[3:]]
        ignore, expand = [*switches, *[True, False][len(switches) :]]
        one = Apriori(self.line, parts[0], parts[2] or ",", ignore, expand)
        self.change(number, apriori=(*self.tables[number - 1].apriori, one))

    def suppression(self, rest: str) -> None:
        match = CALL.fullmatch(rest)
        if match is None:
            self.refuse(
                "batch_suppress_incomplete",
                "<SUPPRESS> needs a method and a table",
                "write OPT(1,10): table 1, ten minutes",
            )
            return
        name = match["name"].upper()
        arguments = [unquote(part) for part in split_outside_quotes(match["inside"], ",")]
        number = self.table(arguments[0] if arguments else "", linked=True)
        if name == "RND":
            self.refuse(
                "batch_rounding_not_supported",
                "RND (controlled rounding) is not supported",
                "write OPT(1,10), or CTA(1)",
            )
        elif name == "CKM":
            self.refuse(
                "batch_cell_key_not_supported",
                "CKM (the cell key method) is not supported",
                "write OPT(1,10), or CTA(1)",
            )
        elif name not in {*REPLACED, "OPT", "CTA"}:
            self.refuse(
                "batch_method_unknown",
                "{method} is not a method",
                did_you_mean(name, [*REPLACED, "OPT", "CTA"]),
                method=name,
            )
        if number is None:
            return
        asked_for = arguments[1] if len(arguments) > 1 and name in {"OPT", "CTA"} else ""
        minutes = self.number(asked_for, "the minutes of a search") if asked_for else MINUTES
        if minutes is not None and minutes <= 0:
            self.refuse(
                "batch_minutes_not_positive", "the minutes of a search must be above zero", "write OPT(1,10)"
            )
        if self.before_suppression(number):
            self.suppress.append(Suppress(self.line, name, number, minutes or MINUTES))

    def write(self, rest: str) -> None:
        inside = rest.removeprefix("(").removesuffix(")")
        parts = [unquote(part) for part in split_outside_quotes(inside, ",")]
        kind = whole(parts[1]) if len(parts) == 4 and parts[3] else None
        if kind is None:
            self.refuse(
                "batch_writetable_incomplete", "<WRITETABLE> needs table, type, options and a file", WRITE
            )
            return
        number = self.table(parts[0])
        if number is None:
            return
        if kind == CKM:
            self.refuse(
                "batch_type_7_not_supported", "type 7 (cell key method) is not supported", "types 1 to 6 are"
            )
        elif not CSV <= kind < CKM:
            self.refuse("unknown_safe_file_type", "no safe file of type {type}", WRITE, type=kind)
        options = self.options(parts[2], kind)
        done = any(one.table in {0, number} for one in self.suppress)
        self.writes.append(
            Write(line=self.line, table=number, kind=kind, file=parts[3], options=options, protected=done)
        )

    def options(self, text: str, kind: int) -> frozenset[str]:
        # Quotes are on by default, and a pivot table has a header.
        chosen = {"QU", *(["FL"] if kind == PIVOT else [])}
        if re.sub(r"[A-Za-z]{2}[+-]", "", text).strip():
            self.refuse(
                "batch_options_invalid",
                "options {options!r} are not pairs of letters with + or -",
                "write AS+FL-",
                options=text,
            )
        for name, sign in re.findall(r"([A-Za-z]{2})([+-])", text.upper()):
            if sign == "-":
                chosen.discard(name)
            elif name not in OPTIONS:
                self.refuse(
                    "batch_option_not_supported",
                    "option {option} is not supported",
                    "supported are {options}",
                    option=name,
                    options=", ".join(OPTIONS),
                )
            elif kind not in OPTIONS[name]:
                self.note(f"option {name} says nothing about a file of type {kind}")
            else:
                chosen.add(name)
        return frozenset(chosen)

    def logs(self, rest: str) -> None:
        self.logbook = self.file(rest)

    def versions(self, rest: str) -> None:
        self.version_file = self.file(rest)

    def solver(self, rest: str) -> None:
        word = split_outside_quotes(rest, ",")[0] if rest else ""
        self.note(f"solver {unquote(word)}: hitoku has its own, no licence is needed; not used")

    def silent(self, _rest: str) -> None:
        self.note("<SILENT> makes no difference here")

    def cleared(self, _rest: str) -> None:
        self.end_session()
        self.clear()

    # What the commands share.

    def change(self, number: int, **parts: Any) -> None:
        self.tables[number - 1] = replace(self.tables[number - 1], **parts)

    def before_suppression(self, number: int) -> bool:
        if any(one.table in {0, number} or number == 0 for one in self.suppress):
            self.refuse(
                "batch_table_suppressed_twice",
                "{table} is suppressed already",
                "recode, apply a priori files and suppress once, in this order; <CLEAR> starts again",
                table=Text("table {number}", number=number) if number else Text("a table"),
            )
            return False
        return True

    def file(self, rest: str) -> str:
        name = unquote(rest)
        if not name:
            self.refuse("batch_file_name_missing", "a file name is missing", "write it in double quotes")
        return name

    def number(self, text: str, what: str) -> float | None:
        try:
            number = float(text)
        except ValueError:
            number = nan
        if isfinite(number):
            return number
        self.refuse(
            "batch_word_not_a_number",
            "{what} is not a number",
            "write numbers with a decimal point",
            what=what,
        )
        return None

    def table(self, text: str, *, linked: bool = False) -> int | None:
        number = whole(text)
        if number is None or not (0 if linked else 1) <= number <= len(self.tables):
            self.refuse(
                "batch_table_unknown",
                "no table {table!r} yet",
                "{n_tables} table(s) are specified above",
                table=text,
                n_tables=len(self.tables),
            )
            return None
        late = [n for n in self.open if number in {0, n}]
        if late:
            self.refuse(
                "batch_table_not_read",
                "table {table} is not read yet",
                "read it first: <READMICRODATA>, <READTABLE>",
                table=late[0],
            )
            return None
        return number


SPECIFY = 'write <SPECIFYTABLE> "region""size"|"turnover"||'
RECODE = 'write <RECODE> 1,"region","region.grc"'
APRIORI = 'write <APRIORI> "table.hst",1,";",1,0'
WRITE = 'write <WRITETABLE> (1,3,AS+,"table.csv")'

COMMANDS: dict[str, Callable[[_Reader, str], None]] = {
    "OPENMICRODATA": lambda reader, rest: reader.open_data(rest, records=True),
    "OPENTABLEDATA": lambda reader, rest: reader.open_data(rest, records=False),
    "OPENMETADATA": _Reader.open_metadata,
    "SPECIFYTABLE": _Reader.specify,
    "SAFETYRULE": _Reader.safety,
    "READMICRODATA": lambda reader, rest: reader.read(rest, records=True),
    "READTABLE": lambda reader, rest: reader.read(rest, records=False),
    "RECODE": _Reader.recode,
    "APRIORI": _Reader.apriori,
    "APRIORY": _Reader.apriori,
    "SUPPRESS": _Reader.suppression,
    "WRITETABLE": _Reader.write,
    "LOGBOOK": _Reader.logs,
    "VERSIONINFO": _Reader.versions,
    "SOLVER": _Reader.solver,
    "SILENT": _Reader.silent,
    "CLEAR": _Reader.cleared,
}


def split_outside_quotes(text: str, separator: str) -> list[str]:
    """Split a text at separators outside quotes.

    Examples
    --------
    >>> split_outside_quotes('"t.hst",1,",",1', ",")
    ['"t.hst"', '1', '","', '1']
    """
    parts = re.split(rf'{re.escape(separator)}(?=(?:[^"]*"[^"]*")*[^"]*$)', text)
    return [part.strip() for part in parts]


def whole(text: str) -> int | None:
    """Parse a number of one to nine digits; return None for anything else.

    Examples
    --------
    >>> whole("12"), whole("1.5"), whole("\N{SUPERSCRIPT TWO}")
    (12, None, None)
    """
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else None


def unquote(text: str) -> str:
    """Remove surrounding blanks and quotes."""
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text.strip('"')
