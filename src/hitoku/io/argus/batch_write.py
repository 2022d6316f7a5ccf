"""Results of a batch, and its files, which are written to a temporary folder and then moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import metadata
from pathlib import Path

from hitoku.errors import CertificateError, OutputError
from hitoku.evidence import Outcome, combine
from hitoku.evidence.verify import verify
from hitoku.files import new_files, new_folder, private_folder
from hitoku.io.argus.batch_check import Checked, Ready
from hitoku.io.argus.batch_request import INTERMEDIATE, JJ, Batch, Write
from hitoku.io.argus.safe_files import SafeTable, confidential, write_safe_file
from hitoku.io.publication import PublicationPlan
from hitoku.io.release import write_release
from hitoku.model import Release, Row, Status, Verdict

CONTRADICTING = Row(
    attacker="tables",
    status=Status.FAILED,
    reason="a cell that one table withholds is published in another one",
    fix="protect the tables together",
    in_scope=True,
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Done:
    """Protected and audited table of a batch."""

    ready: Ready  # The checked request.
    safe: SafeTable  # Table as its files show it.
    outcome: Outcome  # Outcome of its protection; linked tables share one.
    linked: bool = False  # Whether it was protected together with others.


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BatchRun:
    """Result of a batch."""

    batch: Batch
    tables: tuple[tuple[Done, ...], ...]  # Protected tables by session.
    log: tuple[str, ...]  # Lines of the logbook: counts and names, no values.
    contradicting: bool = False  # Whether a cell suppressed in one table is published in another.
    # Written files, with whether they are confidential.
    files: Mapping[Path, bool] = field(default_factory=dict)
    folder: Path | None = None  # Release folder; None if not requested, or if nothing was written.

    @property
    def safe(self) -> bool:
        """Whether every published table passed its audit, and none shows a cell suppressed in another."""
        return not self.contradicting and all(done.outcome.audit.safe for done in self.leaving)

    @cached_property
    def verdict(self) -> Verdict:
        """Verdict with one row per attacker, each with the worst result of all tables."""
        outcomes = dict.fromkeys(done.outcome for done in self.leaving)
        found = combine({f"table {n}": outcome.verdict for n, outcome in enumerate(outcomes, 1)})
        if not self.contradicting:
            return found
        rows = tuple(CONTRADICTING if row.attacker == "tables" else row for row in found.rows)
        return replace(found, rows=rows)

    @property
    def leaving(self) -> tuple[Done, ...]:
        """Tables that are published or were protected by a method."""
        found = []
        for session, tables in zip(self.batch.sessions, self.tables, strict=True):
            treated = {one.table for one in session.suppress}
            shown = {one.table for one in session.writes if one.kind not in {INTERMEDIATE, JJ}}
            found += [
                done
                for number, done in enumerate(tables, 1)
                if number in shown | treated or 0 in treated or not session.writes
            ]
        return tuple(found)

    def __repr__(self) -> str:
        count = sum(map(len, self.tables))
        said = "safe" if self.safe else "NOT safe"
        return f"BatchRun({said}: {count} table(s), {len(self.files)} file(s) written)"


def write_batch(run: BatchRun, checked: Checked, out: Path | None, *, force: bool) -> BatchRun:
    """Write all requested files, or none; for an unsafe table only the logbook."""
    batch, folder = checked.batch, checked.batch.path.parent
    allowed = force or not run.verdict.refused
    with private_folder(folder, batch.path.stem) as draft:
        made = _safe_files(run, checked, draft) if allowed else []
        log = [*run.log, *_proofs(run, draft / "certificate.json.gz")]
        log += [_log_line(target, secret=secret) for _, target, secret in made]
        if not allowed:
            log.append("nothing but this logbook is written: a table is not safe")
        texts = {batch.logbook: "".join(f"{line}\n" for line in log)}
        if allowed:
            texts[batch.version_file] = f"hitoku {metadata.version('hitoku')}\n"
        try:
            for name, text in texts.items():
                if name:
                    file = draft / f"text{len(made)}"
                    file.write_text(text, encoding="utf-8")
                    made.append((file, checked.targets[name], False))
            with new_files([(file, target) for file, target, _ in made]):
                released = _write_releases(run, out) if out is not None and allowed else None
        except OSError as error:
            raise OutputError(
                "cannot_write_file", "cannot write a file: {reason}", where=str(folder), reason=error.strerror
            ) from error
    files = {target: secret for _, target, secret in made}
    return replace(run, log=tuple(log), files=files, folder=released)


def _proofs(run: BatchRun, draft: Path) -> list[str]:
    """Verify the certificate of every table."""
    lines = []
    for number, outcome in enumerate(dict.fromkeys(done.outcome for done in run.leaving), 1):
        proof = outcome.audit.certificate
        if proof is None:
            lines.append(f"proof {number}: there is none")
            continue
        proof.write(draft)
        answer = verify(draft)
        if not answer.ok:
            raise CertificateError(
                "proof_does_not_hold",
                "the proof of safety does not hold: {reason}",
                where="proof {number}",
                fix="report this: the audit and its verifier disagree",
                reason=answer.reason,
                number=number,
            )
        lines.append(f"proof {number}: checked by the verifier, it holds")
    return lines


def _safe_files(run: BatchRun, checked: Checked, draft: Path) -> list[tuple[Path, Path, bool]]:
    """Write all safe files; return temporary path, target path and confidentiality of each."""
    made: list[tuple[Path, Path, bool]] = []
    for session, tables in zip(run.batch.sessions, run.tables, strict=True):
        for write in session.writes:
            place = draft / str(len(made))
            place.mkdir()
            target = checked.targets[write.file]
            shown = _table_as_of(write, tables[write.table - 1])
            files = write_safe_file(place / target.name, shown, write.kind, write.options)
            secret = confidential(write.kind, write.options)
            # Metadata and hierarchies of the first file contain no values.
            made += [(file, target.with_name(file.name), secret and file == files[0]) for file in files]
    return made


def _log_line(target: Path, *, secret: bool) -> str:
    return f"written: {target.name}{', confidential: not for publication' if secret else ''}"


def _table_as_of(write: Write, done: Done) -> SafeTable:
    """Return a table as of the command: before suppression, only unsafe cells are suppressed."""
    return done.safe if write.protected else replace(done.safe, protection=None)


def _write_releases(run: BatchRun, out: Path) -> Path:
    """Write release folders: one for a single table or for linked tables, otherwise one per table."""
    groups: dict[str, list[Done]] = {}
    for place, tables in enumerate(run.tables, 1):
        before = f"session-{place}-" if len(run.tables) > 1 else ""
        for number, done in enumerate(tables, 1):
            key = f"{before}linked" if done.linked else f"{before}table-{number}"
            groups.setdefault(key, []).append(done)
    if len(groups) == 1:
        _release(out, run, next(iter(groups.values())))
    else:
        with new_folder(out) as draft:
            for key, group in groups.items():
                _release(draft / key, run, group)
    return out


def _release(path: Path, run: BatchRun, group: Sequence[Done]) -> None:
    outcome, first = group[0].outcome, group[0].ready.asked
    parts = {
        f"table-{done.ready.asked.number}": Release.of(done.safe.judged.table, done.safe.protection)
        for done in group
        if done.linked and done.safe.protection is not None
    }
    plan = PublicationPlan(
        title=f"{first.response} by {', '.join(first.by)}",
        recipe={"batch": run.batch.path.name, "log": list(run.log)},
        parts=parts,
    )
    write_release(path, outcome, plan)
