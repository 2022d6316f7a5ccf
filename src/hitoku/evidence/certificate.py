"""The evidence of safety as a file: the table, the requirements, and the witnesses that meet them.

The file is confidential. It is self-contained: ``verify.py`` needs nothing else to check it again. It is
written piece by piece, without holding the whole text in memory.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice
from math import isinf
from pathlib import Path
from typing import Any

from hitoku.evidence.attributed import Attributed, required_of
from hitoku.evidence.counts_beside import Beside
from hitoku.evidence.grid import Grid, exact_rows, text
from hitoku.evidence.problem import AuditProblem
from hitoku.evidence.verify import ADJUSTED, FORMAT, fingerprint
from hitoku.evidence.witness_search import Proof
from hitoku.files import make_parent, new_file, sha256
from hitoku.model import Floats, Labels, Release, rational

# Number of numbers, codes or short records written in one piece.
AT_ONCE = 4_096


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """A list whose items are generated while it is written; it can be iterated repeatedly."""

    items: Callable[[], Iterator[Any]]
    """Called for a fresh pass over the items."""
    at_once: int = AT_ONCE
    """Number of items written in one piece: one, if items are large."""

    def __iter__(self) -> Iterator[Any]:
        return self.items()


def pieces(content: Mapping[str, Any]) -> Iterator[bytes]:
    """Write a record like ``json.dumps`` with sorted names and without spaces, piece by piece.

    Examples
    --------
    >>> b"".join(pieces({"b": Stream(lambda: iter(range(3))), "a": None}))
    b'{"a":null,"b":[0,1,2]}'
    """
    begin = "{"
    for name in sorted(content):
        part = content[name]
        begin += f"{_plain(name)}:"
        if not isinstance(part, Stream):
            yield f"{begin}{_plain(part)}".encode()
        else:
            yield f"{begin}[".encode()
            yield from _list_chunks(part)
            yield b"]"
        begin = ","
    yield b"{}" if begin == "{" else b"}"


def _list_chunks(stream: Stream) -> Iterator[bytes]:
    items, between = iter(stream), ""
    while part := list(islice(items, stream.at_once)):
        yield f"{between}{_plain(part)[1:-1]}".encode()
        between = ","


def _plain(thing: Any) -> str:
    return json.dumps(thing, sort_keys=True, separators=(",", ":"))


FOLDER = Path("checker")
NAMES = ("certificate.json", "certificate.json.gz")
# Compression level: the last percent costs more time than everything else.
PRESSURE = 6
# Parts of a certificate that do not belong to its claim.
BESIDE = {"witnesses", "known_method", "beside", "hidden", "remarks", "tables", "files", "verdict", "sha256"}


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """Proof that every unsafe cell of a release is protected as required.

    Made by :func:`hitoku.audit`, deterministically. A ``known_method`` is a claim about an attacker
    who knows the method. Cells that are in no public file are listed as ``hidden``; ``remarks`` list open
    points; ``tables`` describe which cells the public files of linked tables show, and their labels
    there; ``beside`` is the other published measure; ``files`` are the hashes of everything in
    ``public/``; ``verdict`` has one row per attacker.
    """

    release: Release
    grid: Grid
    problem: AuditProblem
    proof: Proof
    known_method: Mapping[str, Any] | None = None
    groups: Attributed | None = None
    hidden: tuple[int, ...] = ()
    remarks: tuple[str, ...] = ()
    tables: Mapping[str, tuple[Labels, Sequence[int]]] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    verdict: Mapping[str, Any] | None = None
    beside: Beside | None = None

    @cached_property
    def content(self) -> Mapping[str, Any]:
        """Complete content, in exact numbers; see ``docs/reference/evidence.md``."""
        return {**_load_streams(self._parts()), "sha256": self.digest}

    def _parts(self) -> dict[str, Any]:
        """Return everything except the fingerprint, long lists as streams."""
        groups = required_of(self.groups.learnt, self.groups.asked) if self.groups else ()
        parts = {**_claim(self.release, self.grid, self.problem, groups), **self._proof()}
        parts |= {"hidden": list(self.hidden)} if self.hidden else {}
        parts |= {"remarks": list(self.remarks)} if self.remarks else {}
        tables = {name: _describe_table(labels, cells) for name, (labels, cells) in self.tables.items()}
        parts |= {"tables": tables} if tables else {}
        parts |= {} if self.beside is None else {"beside": self.beside.written()}
        parts |= {"files": dict(self.files)} if self.files else {}
        return parts | ({} if self.verdict is None else {"verdict": dict(self.verdict)})

    def _proof(self) -> dict[str, Any]:
        """Return the requirement of every unsafe cell, and the witnesses."""
        groups = self.groups.written(len(self.proof.witnesses)) if self.groups else None
        proof: dict[str, Any] = {"unsafe": Stream(self._unsafe)}
        if groups is None:
            proof["witnesses"] = Stream(self._witnesses, at_once=1)
        else:
            proof |= {"groups": groups["groups"], "witnesses": [*self._witnesses(), *groups["witnesses"]]}
        return proof if self.known_method is None else {**proof, "known_method": dict(self.known_method)}

    def _unsafe(self) -> Iterator[dict[str, Any]]:
        attained = (self.proof.attained[place] for place in self.problem.demands)
        for need, each in zip(_requirements(self.problem), attained, strict=True):
            yield {**need, "low": each.low_witness, "high": each.high_witness}

    def _witnesses(self) -> Iterator[dict[str, Any]]:
        cells = self.problem.cells
        for witness in self.proof.witnesses:
            yield {
                "denominator": witness.denominator,
                "cells": cells[list(witness.differences)].tolist(),
                "differences": list(witness.differences.values()),
            }

    @cached_property
    def digest(self) -> str:
        """Fingerprint of the content, to be recorded where the certificate cannot be changed."""
        found = hashlib.sha256()
        for piece in pieces(self._parts()):
            found.update(piece)
        return found.hexdigest()

    @property
    def n_witnesses(self) -> int:
        return len(self.proof.witnesses) + (len(self.groups.proof.witnesses) if self.groups else 0)

    def write(self, path: str | Path) -> Path:
        """Write the certificate and return its path.

        Parameters
        ----------
        path
            A file, compressed if its name ends in ``.gz``; or a release folder, in which it becomes
            ``checker/certificate.json.gz`` and lists the files in ``public/``.
        """
        target = Path(path)
        if target.is_dir():
            folder, files = target / FOLDER, hash_files(target / "public")
            target = next((folder / name for name in NAMES if (folder / name).exists()), folder / NAMES[1])
            return replace(self, files=files).write(target)
        make_parent(target)
        with new_file(target) as draft, draft.open("wb") as raw:
            # No name and no time stamp inside: the same proof is the same file.
            packed = gzip.GzipFile("", "wb", PRESSURE, raw, mtime=0) if target.suffix == ".gz" else None
            with packed or nullcontext(raw) as file:
                for piece in pieces({**self._parts(), "sha256": self.digest}):
                    file.write(piece)
                file.write(b"\n")
        return target

    def __repr__(self) -> str:
        return (
            f"Certificate({len(self.problem.demands):_} unsafe cells, {self.n_witnesses} witnesses, "
            f"{self.release.n_cells:_} cells)"
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AdjustedCertificate(Certificate):
    """Proof that every unsafe cell is published far enough from its true value, and that relations hold."""

    shown: Grid
    """Published values of all cells."""
    levels: Mapping[int, tuple[Fraction, Fraction]]
    """For each unsafe cell the required distance below or above its value."""
    required: tuple[dict[str, Any], ...] = ()
    """Sums of cells that must be large in the published values."""

    def _proof(self) -> dict[str, Any]:
        unsafe = [
            {"cell": cell, "lower": text(down), "upper": text(up)} for cell, (down, up) in self.levels.items()
        ]
        groups = {"groups": list(self.required)} if self.required else {}
        return {"format": ADJUSTED, "published": self.shown.texts, "unsafe": unsafe, **groups}

    def __repr__(self) -> str:
        return f"Certificate({len(self.levels):_} unsafe cells adjusted, {self.release.n_cells:_} cells)"


def hash_files(public: Path) -> dict[str, str]:
    """Return the SHA-256 of every file in ``public/`` and below, by its path there."""
    files = sorted(file for file in public.rglob("*") if file.is_file())
    return {file.relative_to(public).as_posix(): sha256(file) for file in files}


def claim(
    release: Release, grid: Grid, problem: AuditProblem, groups: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """Return the claim of a certificate: the true table, public knowledge, and the requirements.

    Parameters
    ----------
    release, grid, problem
        The release, the true table, and the unknowns of an attacker.
    groups
        Requirements of groups, as returned by :func:`hitoku.evidence.attributed.required_of`.
    """
    return _load_streams(_claim(release, grid, problem, groups))


def _claim(
    release: Release, grid: Grid, problem: AuditProblem, groups: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Return a claim, its long lists as streams."""
    labels = release.labels
    return {
        "format": FORMAT,
        "measure": release.measure,
        "integer": release.integer,
        "variables": list(labels.names),
        "codes": Stream(lambda: _codes(labels)),
        "values": Stream(lambda: iter(grid.texts)),
        "lower": Stream(lambda: _bounds(release.lower, grid, low=True)),
        "upper": Stream(lambda: _bounds(release.upper, grid, low=False)),
        "withheld": problem.cells.tolist(),
        "relations": Stream(lambda: _relations(release.relations)),
        "unsafe": Stream(lambda: _requirements(problem)),
        **({"groups": list(groups)} if groups else {}),
    }


def _load_streams(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Load streams into memory."""
    return {name: list(part) if isinstance(part, Stream) else part for name, part in parts.items()}


def _codes(labels: Labels) -> Iterator[list[str]]:
    columns = [labels.column(v) for v in range(len(labels.codes))]
    for first in range(0, len(labels), AT_ONCE):
        part = (column[first : first + AT_ONCE].tolist() for column in columns)
        for places in zip(*part, strict=True):
            yield [codes[place] for codes, place in zip(labels.codes, places, strict=True)]


def _relations(relations: Any) -> Iterator[list[list[int]]]:
    for first in range(0, relations.shape[0], AT_ONCE):
        yield from ([*row] for row in exact_rows(relations[first : first + AT_ONCE]))


def _describe_table(labels: Labels, cells: Sequence[int]) -> dict[str, Any]:
    """Describe the cells that one of several linked tables shows."""
    return {
        "variables": list(labels.names),
        "codes": list(_codes(labels)),
        "cells": [int(cell) for cell in cells],
    }


def is_about(content: Mapping[str, Any], claimed: Mapping[str, Any]) -> bool:
    """Return whether a certificate has exactly this claim, with any proof.

    Parameters
    ----------
    content
        Result of ``verify.read``.
    claimed
        Result of :func:`claim`.
    """
    return fingerprint(_claimed_by(content)) == fingerprint(dict(claimed))


def asks_for_less(content: Mapping[str, Any], claimed: Mapping[str, Any]) -> bool:
    """Return whether a certificate has the same release and unsafe cells, but lower levels.

    Such are the certificates of versions whose rules required less, and had no requirement on groups.

    Parameters
    ----------
    content
        Result of ``verify.read``.
    claimed
        Result of :func:`claim`.
    """
    own, due = _claimed_by(content), dict(claimed)
    levels, wanted = ({need["cell"]: need for need in each.pop("unsafe")} for each in (own, due))
    for each in (own, due):
        each.pop("groups", None)
    return (
        fingerprint(own) == fingerprint(due)
        and levels.keys() == wanted.keys()
        and all(
            Fraction(levels[cell][name]) <= Fraction(wanted[cell][name])
            for cell in wanted
            for name in ("lower", "upper", "width")
        )
    )


def _claimed_by(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the claim of a certificate, without its proof."""
    own = {name: part for name, part in content.items() if name not in BESIDE}
    own["unsafe"] = [
        {name: part for name, part in need.items() if name not in {"low", "high"}} for need in own["unsafe"]
    ]
    if "groups" in own:
        own["groups"] = [
            {name: part for name, part in group.items() if name != "witness"} for group in own["groups"]
        ]
    return own


def _requirements(problem: AuditProblem) -> Iterator[dict[str, Any]]:
    """Return the requirement of every unsafe cell that is suppressed."""
    for place, demand in problem.demands.items():
        yield {
            "cell": int(problem.cells[place]),
            "lower": text(demand.lower),
            "upper": text(demand.upper),
            "width": text(demand.width),
        }


def _bounds(bound: Floats, grid: Grid, *, low: bool) -> Iterator[int | str | None]:
    """Return known bounds exactly; one that equals the value up to rounding must not exclude it."""
    known: dict[float, tuple[Fraction, int | str]] = {}
    for cell, number in enumerate(bound.tolist()):
        if isinf(number):
            yield None
            continue
        if number not in known:
            end = rational(number)
            known[number] = end * grid.scale, text(end)
        steps, plain = known[number]
        beyond = steps > grid.units[cell] if low else steps < grid.units[cell]
        yield text(grid.value(cell)) if beyond else plain
