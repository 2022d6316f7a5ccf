"""Check a batch against the files it names, before anything is computed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PureWindowsPath
from typing import Any

from hitoku.errors import DataError, HitokuError, did_you_mean
from hitoku.io.argus.batch_request import (
    COUNT,
    CSV,
    FREQUENCY_COST,
    INTERMEDIATE,
    SBS,
    UNIT_COST,
    Asked,
    Batch,
    BatchProblem,
    BatchSession,
    Write,
    refuse_problems,
)
from hitoku.io.argus.metadata import Metadata, Variable, read_metadata
from hitoku.io.argus.safe_files import tree_name
from hitoku.io.argus.text import found_file, refuse_impossible
from hitoku.messages import Text


@dataclass(frozen=True, slots=True)
class Ready:
    """Table with existing files and names that match its metadata."""

    asked: Asked  # Request of the batch.
    metadata: Metadata  # Metadata of the data file.
    data: Path  # Path of the data file.
    files: dict[str, Path]  # Recoding and a priori files, by their name in the batch.

    def variable(self, role: str) -> Variable | None:
        """Return the variable with a role (weight, holding or request); None if there is none."""
        return next((v for v in self.metadata.variables if getattr(v, role)), None)

    @property
    def decimals(self) -> int:
        """Decimals of the values, plus those of weights, so that nothing is rounded."""
        own = 0 if self.asked.response == COUNT else self.metadata.variable(self.asked.response).decimals
        weight = self.variable("weight")
        return own + (weight.decimals if self.asked.safety.weighted and weight is not None else 0)


@dataclass(frozen=True, slots=True)
class Checked:
    """Batch that can run: sessions with their tables, and paths of output files."""

    batch: Batch
    sessions: tuple[tuple[BatchSession, tuple[Ready, ...]], ...]
    targets: dict[str, Path]


def check_batch(batch: Batch, *, anywhere: bool = False, overwrite: bool = True) -> Checked:
    """Check a batch against its files; raise DataError that lists the problems by line.

    Parameters
    ----------
    batch
        Batch to check.
    anywhere
        Whether it may write outside its folder. Default: False.
    overwrite
        Whether it may overwrite existing files, except its inputs. Default: True.
    """
    checker = _Checker(batch, anywhere=anywhere, overwrite=overwrite)
    sessions = tuple((session, checker.session(session)) for session in batch.sessions)
    checker.outputs()
    refuse_problems(batch.path, checker.problems)
    return Checked(batch, sessions, checker.targets)


class _Checker:
    def __init__(self, batch: Batch, *, anywhere: bool, overwrite: bool) -> None:
        self.batch = batch
        self.anywhere, self.overwrite = anywhere, overwrite
        self.folder = batch.path.parent
        self.problems: list[BatchProblem] = []
        self.targets: dict[str, Path] = {}
        self.inputs: set[Path] = {batch.path.resolve()}
        self.metadata: dict[tuple[str, bool], Metadata] = {}

    def refuse(self, line: int, code: str, template: str, fix: str = "", /, **fields: Any) -> None:
        self.problems.append(BatchProblem(line, DataError(code, template, fix=fix, **fields)))

    @contextmanager
    def at(self, line: int) -> Iterator[None]:
        """Convert an error about a file into a problem of the line that names it."""
        try:
            yield
        except HitokuError as error:
            what = Text("{what} ({place})", what=error.what, place=error.where) if error.where else error.what
            self.problems.append(BatchProblem(line, DataError(error.code, what, fix=error.fix)))

    def session(self, session: BatchSession) -> tuple[Ready, ...]:
        ready = [one for one in map(self.table, session.tables) if one is not None]
        later = {one.table: one.line for one in session.suppress}
        for write in session.writes:
            leaves = CSV <= write.kind <= SBS
            if leaves and not write.protected and (write.table in later or 0 in later):
                self.refuse(
                    write.line,
                    "batch_table_written_early",
                    "table {table} is written before it is suppressed",
                    "put <WRITETABLE> after <SUPPRESS>",
                    table=write.table,
                )
        linked = next((one for one in session.suppress if one.table == 0), None)
        if linked is not None and len(ready) == len(session.tables):
            self.linked(linked.line, linked.method, ready)
        return tuple(ready)

    def linked(self, line: int, method: str, tables: Sequence[Ready]) -> None:
        if len(tables) < 2:
            self.refuse(
                line,
                "batch_single_linked_table",
                "table 0 stands for linked tables, but there is only one",
                "write table 1",
            )
        if len({one.asked.response for one in tables}) > 1:
            self.refuse(
                line,
                "batch_linked_responses_differ",
                "linked tables have different responses",
                "suppress them one by one",
            )
        if len({(one.asked.cost, one.asked.power) for one in tables}) > 1:
            self.refuse(
                line,
                "batch_linked_costs_differ",
                "linked tables have different costs",
                "give all of them the same cost, or none",
            )
        if method == "CTA":
            self.refuse(
                line,
                "batch_adjustment_of_linked_tables",
                "CTA of linked tables is not supported",
                "write OPT(0,10)",
            )

    def found(self, name: str, what: str) -> Path:
        path = found_file(name, [self.folder], what)
        self.inputs.add(path.resolve())
        return path

    def table(self, asked: Asked) -> Ready | None:
        before = len(self.problems)
        files: dict[str, Path] = {}
        for line, name, what in [
            *((one.line, one.file, "recoding") for one in asked.recodings if one.file),
            *((one.line, one.file, "a priori file") for one in asked.apriori),
        ]:
            with self.at(line):
                files[name] = self.found(name, what)
        with self.at(asked.line):
            data = self.found(asked.data, "data file")
            key = (asked.metadata, asked.records)
            if key not in self.metadata:
                path = self.found(asked.metadata, "metadata file")
                self.metadata[key] = read_metadata(path, kind="microdata" if asked.records else "table")
            ready = self.named(Ready(asked, self.metadata[key], data, files))
            self.rules(ready)
            return ready if len(self.problems) == before else None
        return None

    def named(self, ready: Ready) -> Ready:
        """Check the names of a table, and return it with the spelling of the metadata."""
        asked, metadata, line = ready.asked, ready.metadata, ready.asked.line
        spanning = [variable.name for variable in metadata.spanning]
        by = []
        for name in asked.by:
            variable = metadata.variable(name)
            by.append(variable.name)
            if not variable.recodable:
                self.refuse(
                    line,
                    "batch_variable_not_spanning",
                    "{variable!r} does not span tables",
                    did_you_mean(name, spanning),
                    variable=name,
                )
            elif variable.hierarchy_file is not None:
                self.inputs.add(metadata.path(variable.hierarchy_file, "tree").resolve())
        if not asked.records and sorted(by) != sorted(spanning):
            self.refuse(
                line,
                "batch_table_variables_differ",
                "the table does not have the variables of its file",
                "a table that is read has all its variables: {spanning}",
                spanning=", ".join(spanning),
            )
        response = asked.response if asked.response == COUNT else self.numeric(ready, asked.response)
        cost = asked.cost
        if cost not in {"", FREQUENCY_COST, UNIT_COST}:
            cost = self.numeric(ready, cost, "cost")
            cost = "" if cost == response else cost
        shadow = self.numeric(ready, asked.shadow, "shadow") if asked.shadow else ""
        recodings = tuple(
            one._replace(variable=metadata.variable(one.variable).name) for one in asked.recodings
        )
        for one in recodings:
            if one.level is not None and not metadata.variable(one.variable).hierarchical:
                self.refuse(
                    one.line,
                    "batch_variable_without_tree",
                    "{variable} has no tree to be cut at a level",
                    "give a .grc file",
                    variable=one.variable,
                )
        spelt = replace(asked, by=tuple(by), response=response, cost=cost, shadow=shadow, recodings=recodings)
        return replace(ready, asked=spelt)

    def numeric(self, ready: Ready, name: str, part: str = "value") -> str:
        variable = ready.metadata.variable(name)
        if ready.asked.records:
            fits = variable.numeric
        else:
            fits = variable.part == part or variable.name.casefold() == ready.asked.response.casefold()
        if not fits:
            known = [v.name for v in ready.metadata.variables if v.numeric]
            self.refuse(
                ready.asked.line,
                "batch_column_unknown",
                "{column!r} is not a {role} of this table",
                did_you_mean(name, known),
                column=name,
                role=part,
            )
        return variable.name

    def rules(self, ready: Ready) -> None:
        safety, line = ready.asked.safety, ready.asked.line
        if ready.asked.records:
            for needed, role, rule in (
                (safety.weighted, "weight", "WGT(1)"),
                (safety.holdings, "holding", "a rule on holdings"),
                (bool(safety.req), "request", "REQ"),
            ):
                if needed and ready.variable(role) is None:
                    self.refuse(
                        line,
                        "batch_role_missing",
                        "{rule}, but no variable is a {role}",
                        "mark one with <{role_2}> in the .rda",
                        rule=rule,
                        role=role,
                        role_2=role.upper(),
                    )
            contributions = bool(safety.p or safety.nk or safety.req or safety.zero is not None)
            if ready.asked.response == COUNT and contributions:
                self.refuse(
                    line,
                    "batch_rules_for_counts",
                    "rules on contributions for a table of counts",
                    "use FREQ, or give a response",
                )
            return
        for asked_for, rule in (
            (safety.weighted, "WGT(1)"),
            (safety.holdings, "a rule on holdings"),
            (bool(safety.req), "REQ"),
        ):
            if asked_for:
                self.refuse(
                    line,
                    "batch_rule_needs_microdata",
                    "{rule} requires microdata",
                    "mark cells by hand (.hst)",
                    rule=rule,
                )
        ranks = len(ready.metadata.of_part("largest"))
        if (safety.p or safety.nk) and ranks < safety.top:
            self.refuse(
                line,
                "batch_too_few_largest",
                "the rules look at the {needed} largest contributions, the table has {n}",
                "add columns <MAXSCORE> to the table",
                needed=safety.top,
                n=ranks,
            )
        counted = bool(ready.metadata.of_part("frequency"))
        uses = bool(safety.freq) or ready.asked.response == COUNT or ready.asked.cost == FREQUENCY_COST
        if uses and not counted:
            self.refuse(
                line,
                "batch_frequency_missing",
                "the table has no numbers of contributors",
                "add a column <FREQUENCY>",
            )

    def outputs(self) -> None:
        """Determine the path of every output file: never an input, never twice."""
        named: list[tuple[int, str]] = [
            (write.line, name)
            for session in self.batch.sessions
            for write in session.writes
            for name in _written_files(write, session.tables[write.table - 1].by)
        ]
        named += [(0, name) for name in (self.batch.logbook, self.batch.version_file) if name]
        taken: set[Path] = set()
        for line, name in named:
            with self.at(line):
                path = self.target(name)
                if path.resolve() in self.inputs:
                    self.refuse(
                        line,
                        "batch_file_overwritten",
                        "{file!r} is read by the batch and would be overwritten",
                        "rename it",
                        file=path.name,
                    )
                elif path.resolve() in taken:
                    self.refuse(
                        line,
                        "batch_file_written_twice",
                        "{file!r} is written twice",
                        "give every file its own name",
                        file=path.name,
                    )
                taken.add(path.resolve())
                self.targets[name] = path

    def target(self, name: str) -> Path:
        if PureWindowsPath(name).drive and not Path(name).drive:
            raise DataError(
                "windows_path",
                "{path!r} is a path on Windows",
                fix="name files without a drive: they must be in the folder of the batch",
                path=name,
            )
        path = self.folder / Path(name.replace("\\", "/"))
        refuse_impossible(name)
        if not self.anywhere and not path.resolve().is_relative_to(self.folder.resolve()):
            raise DataError(
                "outside_batch_folder",
                "{path!r} stands outside the folder of the batch",
                fix="write into the folder of the batch, or pass --anywhere",
                path=name,
            )
        if not self.overwrite and path.exists() and not path.is_dir():
            raise DataError(
                "batch_file_exists",
                "{file!r} exists already",
                fix="move it away, or allow it with --overwrite",
                file=path.name,
            )
        if not path.parent.is_dir():
            raise DataError(
                "no_folder_for_file",
                "no folder for {file!r}",
                fix="make the folder first",
                file=path.name,
            )
        if path.is_dir():
            raise DataError(
                "file_is_folder", "{file!r} is a folder", fix="give the file another name", file=path.name
            )
        if not os.access(path.parent, os.W_OK):
            raise DataError(
                "folder_not_writable",
                "{file!r} stands in a folder that cannot be written",
                fix="choose another",
                file=path.name,
            )
        return path


def _written_files(write: Write, by: Sequence[str]) -> list[str]:
    """Return the files written by a command; an intermediate table includes metadata and hierarchies."""
    if write.kind != INTERMEDIATE:
        return [write.file]
    place = write.file.replace("\\", "/")
    folder = f"{place.rpartition('/')[0]}/" if "/" in place else ""
    names = [f"{Path(place).stem}.rda", *(tree_name(place, variable) for variable in by)]
    return [write.file, *(folder + name for name in names)]
