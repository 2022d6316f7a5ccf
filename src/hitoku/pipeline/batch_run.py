"""Run a batch of τ-ARGUS with hitoku's methods: protect, attack, audit, then write the requested files.

The batch is checked before any computation, and files are written only after all computations: they appear
atomically, and only if every table to be published passed its audit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from importlib import metadata
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.coalitions import Insiders, choose_insiders, parse_insiders
from hitoku.errors import HitokuError, NeedError, OutputError, ParameterError
from hitoku.evidence import SHOWN_FINDINGS, Outcome
from hitoku.files import refuse_occupied
from hitoku.io.argus import (
    BY_HAND,
    JJ,
    REPLACED,
    BatchRun,
    BatchSession,
    Checked,
    Done,
    Judged,
    Ready,
    SafeTable,
    Suppress,
    Write,
    check_batch,
    read_batch,
    write_batch,
)
from hitoku.messages import Text
from hitoku.methods import METHODS, Auto, Method, Progress, costs, method_from_spec
from hitoku.methods.adjust import Adjust
from hitoku.methods.optimal import Optimal
from hitoku.model import Bounds, Integers, Mask, Need, Protection, Table
from hitoku.pipeline.batch_tables import Sources, build
from hitoku.pipeline.protect import STAGES, attack_and_audit
from hitoku.pipeline.recipe_run import TAKEN_AS
from hitoku.pipeline.recipe_tables import positions

# Stages in order, described for the user.
BATCH_STEPS = {
    "check": "checking the batch",
    "build": "making the tables",
    **STAGES,
    "write": "writing files",
}


def run_batch(
    path: str | Path,
    out: str | Path | None = None,
    *,
    method: str | None = None,
    insiders: str = "singletons",
    force: bool = False,
    anywhere: bool = False,
    overwrite: bool = True,
    report: Callable[[str], None] | None = None,
    progress: Progress | None = None,
) -> BatchRun:
    """Run a batch: check, tabulate, protect, attack, audit, write.

    The same batch and data give the same bytes, unless a search reached its time limit, which the log
    reports.

    Parameters
    ----------
    path
        The ``.arb`` file. Files that it names are read from, and written to, its folder.
    out
        Folder for a release with its evidence, in addition to the files that the batch names.
    method
        A method spec such as "greedy", which replaces the method of every ``<SUPPRESS>``.
    insiders
        "singletons": sole contributors of a cell must not come too close to other unsafe cells, which is
        stricter than the singleton options of τ-ARGUS; "contributors": nor must the largest; "none".
    force
        Write files even if an audit failed.
    anywhere
        Whether the batch may write outside its own folder.
    overwrite
        Whether it may overwrite existing files; never those that it reads.
    report, progress
        Called with the name of each stage (see ``BATCH_STEPS``), and within the method.
    """
    tell = report or (lambda _stage: None)
    tell("check")
    parse_insiders(insiders)
    replacement = None if method is None else method_from_spec(method, METHODS)
    if out is not None:
        refuse_occupied(Path(out))
    checked = check_batch(read_batch(path), anywhere=anywhere, overwrite=overwrite)
    runner = _Runner(checked, replacement, method or "", insiders, tell, progress)
    sources = Sources()
    tables = tuple(runner.session(*session, sources) for session in checked.sessions)
    run = BatchRun(batch=checked.batch, tables=_beside_each_other(tables), log=tuple(runner.log))
    remarks, contradicting = compare_apart(run.leaving)
    run = replace(run, log=(*run.log, *remarks), contradicting=contradicting)
    tell("write")
    return write_batch(run, checked, None if out is None else Path(out), force=force)


def _beside_each_other(sessions: tuple[tuple[Done, ...], ...]) -> tuple[tuple[Done, ...], ...]:
    """Record in every outcome that other tables of the batch are published with it; linked ones share one."""
    n = sum(map(len, sessions))
    if n < 2:
        return sessions
    why = Text(
        "{n} tables: sums of linked ones were audited, other combinations of their cells were not", n=n
    )
    outcomes = dict.fromkeys(done.outcome for tables in sessions for done in tables)
    beside = {outcome: replace(outcome, tables=why) for outcome in outcomes}
    return tuple(tuple(replace(done, outcome=beside[done.outcome]) for done in tables) for tables in sessions)


class _Runner:
    def __init__(
        self,
        checked: Checked,
        replacement: Method | None,
        word: str,
        insiders: str,
        tell: Callable[[str], None],
        progress: Progress | None,
    ) -> None:
        self.replacement, self.word, self.insiders = replacement, word, insiders
        self.tell, self.progress = tell, progress
        self.log = [
            f"hitoku {metadata.version('hitoku')} runs {checked.batch.path.name}",
            *checked.batch.notes,
        ]

    def session(self, session: BatchSession, tables: Sequence[Ready], sources: Sources) -> tuple[Done, ...]:
        self.tell("build")
        judged = []
        for ready in tables:
            made, notes = build(ready, sources)
            judged.append(made)
            name = f"table {ready.asked.number}"
            self.log += [f"{name}: {line}" for line in [*_describe_table(ready, made), *notes]]
        for write in session.writes:
            _refuse_strange_codes(write, judged[write.table - 1].table)
            if "AR" in write.options and self.adjusts(session, write.table):
                raise OutputError(
                    "no_intervals_of_adjusted",
                    "releases with adjusted values have no intervals",
                    where="line {line} of the batch, option AR",
                    fix="leave AR+ out",
                    line=write.line,
                )
        for one in session.suppress:
            if one.table == 0:
                return self.together(one, tables, judged)
        asked = {one.table: one for one in session.suppress}
        return tuple(
            self.alone(asked.get(ready.asked.number), ready, made)
            for ready, made in zip(tables, judged, strict=True)
        )

    def adjusts(self, session: BatchSession, table: int) -> bool:
        """Return whether the values of a table are changed, and none is suppressed."""
        if self.replacement is not None:
            return isinstance(self.replacement, Adjust)
        return any(one.method == "CTA" and one.table == table for one in session.suppress)

    def alone(self, asked: Suppress | None, ready: Ready, judged: Judged) -> Done:
        name = f"table {ready.asked.number}"
        if asked is None:
            by_hand = Protection.withhold(judged.table, judged.need.unsafe | judged.withheld, judged.need)
            no_insiders = Insiders(None, Text("{word}, {why}", word="none", why=Text("no <SUPPRESS>")))
            outcome: Outcome = attack_and_audit(
                judged.table, judged.need, by_hand, Optimal(), no_insiders, self.tell
            )
            self.log.append(f"{name}: no <SUPPRESS>: only what is unsafe or marked is withheld")
            self.log += [f"{name}: {line}" for line in _describe_audit(outcome)]
            safe = SafeTable(judged=judged, bounds=outcome.bounds)
        else:
            method = self.method(asked, judged, ready.asked.power)
            outcome = self.protect(name, asked, method, judged.table, judged.need)
            safe = SafeTable(judged=judged, protection=outcome.protection, bounds=outcome.bounds)
        return Done(ready=ready, safe=safe, outcome=outcome)

    def together(
        self, asked: Suppress, tables: Sequence[Ready], judged: Sequence[Judged]
    ) -> tuple[Done, ...]:
        whole = Table.link([one.table for one in judged])
        cells = [positions(one.table, whole) for one in judged]
        need = _merge_needs(whole, judged, cells)
        withheld = np.zeros(whole.n_cells, dtype=bool)
        for one, places in zip(judged, cells, strict=True):
            withheld[places] |= one.withheld
        both = replace(judged[0], table=whole, need=need, status=np.zeros(whole.n_cells, dtype=np.int64))
        method = self.method(asked, both, tables[0].asked.power, withheld & ~need.unsafe)
        outcome = self.protect("linked tables", asked, method, whole, need)
        done = []
        for ready, one, places in zip(tables, judged, cells, strict=True):
            part = replace(
                outcome.protection,
                withheld=outcome.protection.withheld[places],
                value=outcome.protection.value[places],
                secondary=outcome.protection.withheld[places] & ~one.need.unsafe,
                steps=(),
                deviations=(),
            )
            bounds = Bounds(
                lower=outcome.bounds.lower[places],
                upper=outcome.bounds.upper[places],
                unknown=outcome.bounds.unknown[places],
            )
            safe = SafeTable(judged=one, protection=part, bounds=bounds)
            done.append(Done(ready=ready, safe=safe, outcome=outcome, linked=True))
        return tuple(done)

    def method(self, asked: Suppress, judged: Judged, power: float, withheld: Mask | None = None) -> Method:
        """Return the method of a command with costs and suppressed cells."""
        withheld = judged.withheld if withheld is None else withheld
        exponent = None if power == 1 else max(power, 0.0)
        if self.replacement is None and asked.method == "CTA":
            return Adjust(senses="optimal", time_limit_s=asked.minutes * 60)
        if self.replacement is None and asked.method not in REPLACED:
            return Optimal(
                cost="own",
                power=exponent,
                withhold=withheld if withheld.any() else None,
                time_limit_s=asked.minutes * 60,
            )
        method: Any = self.replacement or Auto()
        known = {one.name for one in fields(method)} if is_dataclass(method) else set()
        given: dict[str, Any] = {}
        if "cost" in known and "cost=" not in self.word:
            given["cost"] = "own"
            if "power" not in known and exponent is not None:
                given["cost"] = costs(judged.table, "own", exponent)
            elif "power" in known and "power=" not in self.word:
                given["power"] = exponent
        if withheld.any():
            parameter = next((name for name in TAKEN_AS["withhold"] if name in known), None)
            if parameter is None:
                raise ParameterError(
                    "method_cannot_extend_pattern",
                    "method {method} has no option for cells that are already suppressed",
                    where="--method",
                    fix="use greedy or optimal, or take marks m out of the a priori file",
                    method=self.word,
                )
            given[parameter] = withheld
        configured: Method = replace(method, **given)
        return configured

    def protect(self, name: str, asked: Suppress, method: Method, table: Table, need: Need) -> Outcome:
        self.tell("protect")
        try:
            protection = method.protect(table, need, self.progress)
        except NeedError as error:
            raise error.copy_as(where=_within(name, error.where)) from error
        no_insiders = Insiders(None, Text("{word}, {why}", word="none", why=Text("nothing is withheld")))
        inside = self.inside(name, table) if protection.withheld.any() else no_insiders
        try:
            outcome = attack_and_audit(table, need, protection, method, inside, self.tell, self.progress)
        except NeedError as error:
            fix = "merge codes, require less, or run with --insiders none"
            raise error.copy_as(where=_within(name, error.where), fix=fix) from error
        self.log += [f"{name}: {line}" for line in _describe_result(asked, self.word, outcome)]
        return outcome

    def inside(self, name: str, table: Table) -> Insiders:
        """Return the insiders from whom a table must be protected."""
        no_insiders = "contributors who know their own amounts are not considered"
        if table.integer or table.contributors is None:
            why = Text("it has no contributors" if table.contributors is None else "it is a table of counts")
            self.log.append(f"{name}: {no_insiders}: {why}")
            return Insiders(None, Text("{word}, {why}", word="none", why=why))
        inside = choose_insiders(table, self.insiders)
        if inside.attack is None:
            self.log.append(f"{name}: {no_insiders}")
            return inside
        kind = "sole" if parse_insiders(self.insiders)[0] == "singletons" else "sole and largest"
        self.log.append(f"{name}: {kind} contributors, who know their own amounts, must not come too close")
        return inside if inside.attack.contributions else Insiders(None, inside.words)


def _merge_needs(whole: Table, judged: Sequence[Judged], cells: Sequence[Integers]) -> Need:
    """Return the combined need of linked tables: for every cell the largest requirement."""
    parts = []
    for one, places in zip(judged, cells, strict=True):
        levels: dict[str, Any] = {}
        for name in ("unsafe", "lower", "upper", "width"):
            own = getattr(one.need, name)
            levels[name] = np.zeros(whole.n_cells, dtype=own.dtype)
            levels[name][places] = own
        rules = {}
        for name, hits in one.need.rules.items():
            rules[name] = np.zeros(whole.n_cells, dtype=bool)
            rules[name][places] = hits
        parts.append(Need(**levels, rules=rules))
    return Need.merge(parts)


def _refuse_strange_codes(write: Write, table: Table) -> None:
    """Raise before a long computation if a file could not be written after it."""
    if write.kind == JJ:
        return
    for name, codes in zip(table.labels.names, table.labels.codes, strict=True):
        strange = [word for word in (name, *codes) if not word.isascii()]
        if strange:
            raise OutputError(
                "not_ascii",
                "{text!r} cannot be written to a safe file, which is read as ASCII",
                where="line {line} of the batch, variable {variable}",
                fix="rename it in the data and the tree; a JJ file (type 6) holds no codes",
                text=strange[0],
                line=write.line,
                variable=name,
            )


def _describe_table(ready: Ready, judged: Judged) -> list[str]:
    asked, need = ready.asked, judged.need
    named = ", ".join(f"{name} {int(hits.sum())}" for name, hits in need.rules.items() if name != BY_HAND)
    marked = int(need.rules[BY_HAND].sum()) if BY_HAND in need.rules else 0
    rules = f" ({named})" if named else ""
    size = f"{judged.table.n_cells} cells, {judged.table.relations.shape[0]} relations"
    nothing = [] if asked.safety.by_rule else ["no rule is given: only cells that are marked are unsafe"]
    return [
        f"{asked.response} by {', '.join(asked.by)}, {size}",
        *nothing,
        f"unsafe cells: {int(need.unsafe.sum())}{rules}, marked by hand: {marked}",
    ]


def _describe_result(asked: Suppress, word: str, outcome: Outcome) -> list[str]:
    protection = outcome.protection
    # Methods of the batch that hitoku does not have are replaced by the one that suits the table.
    chosen = word or (f"auto ({protection.note})" if asked.method in REPLACED else "")
    instead = f", instead of {asked.method}" if chosen else ""
    n = int(protection.secondary.sum())
    lines = [f"method {chosen or protection.method}{instead}: {n} secondary cells"]
    if protection.proven:
        lines.append("none cheaper is safe: proven")
    elif np.isfinite(protection.gap) and protection.gap > 0:
        lines.append(
            f"not proven to be the cheapest: one cheaper by {protection.gap:.2%} at most may be safe"
        )
    return [*lines, *_describe_audit(outcome)]


def _describe_audit(outcome: Outcome) -> list[str]:
    findings = outcome.audit.findings
    more = [f"audit: and {len(findings) - SHOWN_FINDINGS} more"] if len(findings) > SHOWN_FINDINGS else []
    verdict = f"audit: {'safe' if outcome.audit.safe else 'NOT safe'}"
    return [verdict, *(f"audit: {finding}" for finding in findings[:SHOWN_FINDINGS]), *more]


def _within(table: str, where: str) -> Text:
    return Text("{table}, {where}", table=table, where=where)


TOGETHER = "suppress them together, <SUPPRESS> OPT(0,10)"


def compare_apart(tables: Sequence[Done]) -> tuple[list[str], bool]:
    """Compare tables of the same quantity.

    Returns
    -------
    tuple
        Lines for the logbook; whether some cell is suppressed in one table and published in another.
    """
    remarks, open_ones = [], False
    for one, other in combinations(tables, 2):
        if one.outcome is other.outcome or _quantity(one) != _quantity(other):
            continue
        pair = f"tables of lines {one.ready.asked.line} and {other.ready.asked.line}"
        shown = _shown_elsewhere(one, other)
        if shown:
            remarks.append(f"{pair}: {shown} cell(s) withheld in one are published in the other: {TOGETHER}")
            open_ones = True
        else:
            remarks.append(f"{pair}: of the same quantity, but the audit looks at each by itself: {TOGETHER}")
    return remarks, open_ones


def _quantity(done: Done) -> tuple[object, ...]:
    asked, protection = done.ready.asked, done.safe.protection
    # Adjusted values are not values of the quantity.
    adjusted = protection is not None and not np.array_equal(protection.value, done.safe.judged.table.value)
    return done.ready.data, asked.response, asked.safety.weighted, adjusted


def _shown_elsewhere(one: Done, other: Done) -> int:
    """Count the cells of both tables that only one of them suppresses."""
    pair = [done.safe.judged.table for done in (one, other)]
    try:
        whole = Table.link(pair)
    except HitokuError:
        # With different recodings or hierarchies the codes do not identify common cells.
        return 0
    holds, withholds = np.zeros((2, 2, whole.n_cells), dtype=bool)
    for place, (done, table) in enumerate(zip((one, other), pair, strict=True)):
        cells = positions(table, whole)
        holds[place, cells], withholds[place, cells] = True, done.safe.withheld
    return int(np.sum(holds.all(axis=0) & (withholds[0] != withholds[1])))
