"""Check a certificate of safety again, independently of the program that wrote it.

    python verify.py release/            checker/certificate.json[.gz], and the files around it
    python verify.py certificate.json    the certificate alone

This file needs only Python's standard library and may be copied anywhere. It computes with integers and
fractions only, so that no rounding is involved. It checks, in this order, that

1. the certificate was not changed: its fingerprint matches;
2. the table adds up, and every value lies within the publicly known bounds;
3. every witness is a table that an outsider cannot distinguish from the true one: it differs in suppressed
   cells only, adds up, and satisfies the known bounds (and is integer if the values are counts);
4. every unsafe cell is suppressed, and its witnesses are low enough and high enough for its requirement; and
   for every group about which too much could be inferred, one witness has as many people elsewhere as
   required, and a nonempty group;
5. public/ contains the files that the certificate lists, byte by byte, and no others; the public table shows
   the true value of every cell that is not suppressed, and no suppressed one, and so do linked tables;
6. every row of the verdict that says "proved" is one of these proofs.

Further files next to this one check more than the proof in a certificate; they too need only Python.
verify_files.py does check 5 of a release folder, and verify_rows.py check 6; without it, the answer about a
certificate alone has no verdict. verify_premises.py derives the premises of the proof (how cells add up, and
which of them are unsafe) from the other files in checker/, as far as possible; the answer lists the premises
that are taken on trust. verify_blocks.py and verify_witnesses.py check a claim about an attacker who knows
the method, its parameters and its rules: they run the method again.

For a release that suppresses nothing but publishes other values, 3 and 4 are: the published values add up and
satisfy the known bounds; every unsafe cell is published at least as far below, or above, its value as
required; and 5: the public table shows exactly these values.

Exit code 0: proved; 1: refuted, with the first failure; 2: not a certificate of this version.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import io
import json
import re
import sys
import zlib
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

VERSION = 4
FORMAT, ADJUSTED = (f"hitoku certificate {kind}{VERSION}" for kind in ("", "of adjusted values "))
ANY_VERSION = re.compile(r"hitoku certificate (?:of adjusted values )?([1-9][0-9]{0,5})", re.ASCII)
NONE_UNSAFE = "no cell is listed as unsafe"
TRUSTED_NONE = "that none is unsafe is taken on trust"
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+|/[1-9][0-9]*)?", re.ASCII)
UNREADABLE = (OSError, EOFError, zlib.error, ValueError)
MALFORMED = (*UNREADABLE, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError)


class CheckedRow(NamedTuple):
    """One row of the verdict: hitoku's result for an attacker, and what was proved again here."""

    attacker: str
    label: str
    status: str
    reason: str
    checked: str


@dataclass(frozen=True)
class Verification:
    """Result for one certificate or release folder; true if the proof holds.

    Parameters
    ----------
    ok
        Whether the proof holds.
    reason
        What was proved, or the first failure.
    code
        0 proved, 1 refuted, 2 not a certificate of this version.
    headline
        The verdict in the certificate, in one or two sentences; empty if it has none.
    rows
        The rows of that verdict with what was proved again; empty if the proof fails.
    trusted
        Premises that are not proved here.
    """

    ok: bool
    reason: str
    code: int
    headline: str = ""
    rows: tuple[CheckedRow, ...] = ()
    trusted: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        lines = [f"{'yes' if self.ok else 'no'}: {self.reason}"]
        lines += [f"verdict of hitoku: {self.headline}"] if self.headline else []
        wide, wider = (max((len(row[place]) for row in self.rows), default=0) for place in (1, 2))
        for row in self.rows:
            basis = row.checked or row.reason
            lines.append(f"  {row.label:<{wide}}  {row.status:<{wider}}  {basis}".rstrip())
        lines += ["taken on trust:"] if self.trusted else []
        return "\n".join(lines + [f"  - {premise}" for premise in self.trusted])


class Refuted(Exception):  # noqa: N818 - a finding, not a failure of this program
    """The first failure; code 2 if the file is not a certificate."""


def demand(condition: bool, otherwise: str, code: int = 1) -> None:
    if not condition:
        raise Refuted(otherwise, code)


def number(thing: Any, what: str) -> Fraction:
    """Read 12, "12.5" or "25/2"; no other notation is an exact number."""
    if type(thing) is int:
        return thing  # type: ignore[return-value]  # an int works like a Fraction and is faster
    exact = type(thing) is str and NUMBER.fullmatch(thing) is not None
    demand(exact, f"{what}: not an exact number", 2)
    return Fraction(thing)


def positions(things: list[Any], limit: int, what: str) -> list[int]:
    """Read positions in a list, which must exist and be distinct."""
    demand(all(type(thing) is int for thing in things), f"{what}: a position is not a whole number", 2)
    demand(all(0 <= thing < limit for thing in things), f"{what}: a position does not exist")
    demand(len(set(things)) == len(things), f"{what}: a position occurs twice")
    return things


def numbers(things: list[Any], size: int, what: str) -> list[Fraction]:
    """Read one number for each cell."""
    demand(len(things) == size, f"{what}: not one number for each cell", 2)
    return [number(thing, what) for thing in things]


def ends(things: list[Any], size: int, what: str) -> list[Fraction | None]:
    """Read a bound for each cell; null if none is known."""
    demand(len(things) == size, f"{what}: not one for each cell", 2)
    return [None if thing is None else number(thing, what) for thing in things]


def sparse(cells: list[Any], things: list[Any], limit: int, what: str) -> dict[int, Fraction]:
    """Read numbers of some cells."""
    found = numbers(things, len(cells), what)
    return dict(zip(positions(cells, limit, what), found, strict=True))


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    demand(len(dict(pairs)) == len(pairs), "a name occurs twice in one record", 2)
    return dict(pairs)


def inexact(_: str) -> None:
    demand(False, "a number is floating point, NaN or infinite", 2)


def unpack(path: Path) -> str:
    """Return the text of a file, plain or compressed; a decompression bomb is rejected."""
    raw = path.read_bytes()
    most = 200 * len(raw) + 10_000_000
    plain = gzip.GzipFile(fileobj=io.BytesIO(raw)).read(most + 1) if raw[:2] == b"\x1f\x8b" else raw
    demand(len(plain) <= most, "it unpacks to more than two hundred times its size", 2)
    return plain.decode("utf-8")


def read(path: Path) -> dict[str, Any]:
    """Read a certificate, independently of what it proves."""
    hooks: Any = {"object_pairs_hook": once, "parse_float": inexact, "parse_constant": inexact}
    content: dict[str, Any] = json.loads(unpack(path), **hooks)
    known = ANY_VERSION.fullmatch(content["format"])
    demand(known is not None, "not in the format of a certificate", 2)
    version = int(known[1])  # type: ignore[index]  # demanded above
    demand(version >= VERSION, "written by an earlier version of hitoku: protect again", 2)
    demand(version == VERSION, "written by a later version of hitoku: verify with that one", 2)
    moved = content["format"] == ADJUSTED
    wrong = ("published" in content) != moved or (moved and "known_method" in content)
    demand(not wrong, "a claim in the wrong format", 2)
    demand(type(content["integer"]) is bool, "'integer' is neither true nor false", 2)
    return content


def canonical_text(thing: Any) -> str:
    """Write something in the canonical form of fingerprints."""
    return json.dumps(thing, sort_keys=True, separators=(",", ":"))


def fingerprint(content: dict[str, Any]) -> str:
    """Return the SHA-256 of everything except the fingerprint itself."""
    found, between = hashlib.sha256(b"{"), ""
    for name in sorted(content.keys() - {"sha256"}):
        part = content[name]
        found.update(f"{between}{canonical_text(name)}:".encode())
        if isinstance(part, list):  # in parts: a whole copy is large
            for first in range(0, len(part), 10_000):
                items = canonical_text(part[first : first + 10_000])
                found.update((("," if first else "[") + items[1:-1]).encode())
            found.update(b"]" if part else b"[]")
        else:
            found.update(canonical_text(part).encode())
        between = ","
    found.update(b"}")
    return found.hexdigest()


class CertifiedTable:
    """Check 2: the true table, its publicly known bounds, and its relations.

    All are lists by cell or relation: for a million cells dictionaries take several times as much memory.
    """

    def __init__(self, content: dict[str, Any]) -> None:
        self.codes, self.whole = content["codes"], content["integer"]
        n = self.size = len(self.codes)
        self.value = numbers(content["values"], n, "values")
        self.lower, self.upper = (ends(content[side][:n], n, f"{side} bounds") for side in ("lower", "upper"))
        for cell, x in enumerate(self.value):
            what = f"cell {self.name(cell)}"
            demand(self.allows(cell, x), f"{what}: its value is outside its bounds, or not whole")
        self.relations = [
            (
                positions(members, n, f"relation {row}"),
                numbers(coefficients, len(members), f"relation {row}"),
            )
            for row, (members, coefficients) in enumerate(content["relations"])
        ]
        row = self.broken(self.value)
        demand(row is None, f"relation {row}: the table does not add up")

    def name(self, cell: int) -> str:
        return " / ".join(self.codes[cell])

    def broken(self, values: list[Fraction]) -> int | None:
        """Find the first relation in which values of all cells do not add up."""
        for row, (members, coefficients) in enumerate(self.relations):
            if sum(c * values[cell] for cell, c in zip(members, coefficients, strict=True)) != 0:
                return row
        return None

    def find_terms(self, withheld: set[int]) -> None:
        """List for each suppressed cell its relations and coefficients."""
        self.terms: dict[int, list[tuple[int, Fraction]]] = {cell: [] for cell in withheld}
        for row, (members, coefficients) in enumerate(self.relations):
            for cell, coefficient in zip(members, coefficients, strict=True):
                if cell in withheld:
                    self.terms[cell].append((row, coefficient))

    def adjusted(self, published: list[Any]) -> list[Fraction]:
        """Check 3 of an adjusted release: the values published instead."""
        shown = numbers(published, self.size, "published values")
        for cell, x in enumerate(shown):
            what = f"cell {self.name(cell)}"
            demand(self.inside(cell, x), f"{what}: its published value is outside its bounds")
        row = self.broken(shown)
        demand(row is None, f"relation {row}: the published values do not add up")
        return shown

    def inside(self, cell: int, x: Fraction) -> bool:
        low, high = self.lower[cell], self.upper[cell]
        return (low is None or low <= x) and (high is None or x <= high)

    def allows(self, cell: int, x: Fraction) -> bool:
        """Return whether an outsider considers this value possible."""
        return self.inside(cell, x) and (x.denominator == 1 or not self.whole)


def divide(move: Fraction, below: int) -> Fraction:
    """Divide exactly; integers stay integers, which are faster and smaller."""
    return move // below if move % below == 0 else Fraction(move, below)  # type: ignore[return-value]


def witness(
    parts: dict[str, Any], table: CertifiedTable, withheld: set[int], what: str
) -> dict[int, Fraction]:
    """Check 3: another feasible table; return its values in place of the true ones."""
    below, deviations = parts["denominator"], sparse(parts["cells"], parts["differences"], table.size, what)
    demand(type(below) is int and below > 0, f"{what}: its denominator is not a positive whole number", 2)
    demand(withheld.issuperset(deviations), f"{what}: it changes a cell that is published")
    values = {cell: table.value[cell] + divide(move, below) for cell, move in deviations.items()}
    for cell, x in values.items():
        demand(
            table.allows(cell, x),
            f"{what}: it leaves the bounds of cell {table.name(cell)}, or is not whole",
        )
    change: dict[int, Fraction] = {}
    for cell, move in deviations.items():
        for row, coefficient in table.terms[cell]:
            change[row] = coefficient * move + change.get(row, 0)
    broken = [row for row, total in change.items() if total != 0]
    demand(not broken, f"{what}: it does not add up in relation {min(broken, default=0)}")
    return values


def check_cell(
    need: dict[str, Any], table: CertifiedTable, withheld: set[int], witnesses: list[dict[int, Fraction]]
) -> int:
    """Check 4: one unsafe cell; return it."""
    (cell,) = positions([need["cell"]], table.size, "an unsafe cell")
    what, value = f"unsafe cell {table.name(cell)}", table.value[cell]
    demand(cell in withheld, f"{what}: it is published")
    lower, upper, width = (number(need[name], what) for name in ("lower", "upper", "width"))
    demand(min(lower, upper, width) >= 0, f"{what}: a requirement is negative", 2)
    chosen = [need[side] for side in ("low", "high")]  # null stands for the true table itself
    positions([*{place for place in chosen if place is not None}], len(witnesses), f"{what}, its witnesses")
    low, high = (value if place is None else witnesses[place].get(cell, value) for place in chosen)
    demand(low <= value - lower, f"{what}: its low witness is not low enough")
    demand(high >= value + upper, f"{what}: its high witness is not high enough")
    demand(high - low >= width and high > low, f"{what}: its witnesses are not far enough apart")
    return cell


def elsewhere(
    group: dict[str, Any],
    table: CertifiedTable,
    witnesses: list[dict[int, Fraction]],
    *,
    may_be_empty: bool = False,
) -> None:
    """Check 4 of a group: the sum of cells that must be able to become large is large in one table.

    A table in which the group is empty is not a witness of where its members could be.
    """
    weights = sparse(group["cells"], group["weights"], table.size, "a group")
    what = f"group of {', '.join(table.name(cell) for cell in weights)}"
    demand("group" in group, f"{what}: it is not said which cell is the whole group, as in earlier versions")
    (whole,) = positions([group["group"]], table.size, f"{what}, its cell")
    demand(weights.get(whole, 0) > 0, f"{what}: the cell of the whole group is not counted in its sum")
    place, goal = group["witness"], number(group["goal"], what)  # null stands for the true table itself
    positions([place] if place is not None else [], len(witnesses), f"{what}, its witness")
    shown = {} if place is None else witnesses[place]
    total = sum(weight * shown.get(cell, table.value[cell]) for cell, weight in weights.items())
    demand(total >= goal, f"{what}: its witness has too few people elsewhere")
    nonempty = shown.get(whole, table.value[whole]) > 0
    demand(nonempty or may_be_empty, f"{what}: its witness has no member in the group")


def check_adjusted_cell(need: dict[str, Any], table: CertifiedTable, shown: list[Fraction]) -> int:
    """Check 4 of an adjusted release: one unsafe cell; return it."""
    (cell,) = positions([need["cell"]], table.size, "an unsafe cell")
    what, away = f"unsafe cell {table.name(cell)}", shown[cell] - table.value[cell]
    lower, upper = (number(need[name], what) for name in ("lower", "upper"))
    demand(min(lower, upper) >= 0, f"{what}: a requirement is negative", 2)
    demand(away != 0, f"{what}: it is published with its true value")
    # A level of zero excludes that direction, unless both are zero: then any other value is enough.
    far = (away <= -lower and lower > 0) or (away >= upper > 0) or lower == upper == 0
    demand(far, f"{what}: its published value is not far enough from its own")
    return cell


def prove(content: dict[str, Any]) -> str:
    """Run checks 1 to 4."""
    demand(content["sha256"] == fingerprint(content), "the fingerprint does not fit: something was changed")
    table = CertifiedTable(content)
    if content["format"] == ADJUSTED:
        demand(content["withheld"] == [], "a cell of an adjusted release is withheld")
        shown = table.adjusted(content["published"])
        unsafe = [check_adjusted_cell(need, table, shown) for need in content["unsafe"]]
        positions(unsafe, table.size, "unsafe cells")
        for group in content.get("groups", []):
            # A published empty group is taken to be empty, and reveals nothing about anyone.
            elsewhere({**group, "witness": 0}, table, [dict(enumerate(shown))], may_be_empty=True)
        if not unsafe:
            return f"{NONE_UNSAFE}, and all sums hold"
        return f"{len(unsafe)} unsafe cells are published far enough from their values, and all sums hold"
    withheld = set(positions(content["withheld"], table.size, "withheld cells"))
    table.find_terms(withheld)
    witnesses = [witness(w, table, withheld, f"witness {i}") for i, w in enumerate(content["witnesses"])]
    unsafe = [check_cell(need, table, withheld, witnesses) for need in content["unsafe"]]
    positions(unsafe, table.size, "unsafe cells")
    for group in content.get("groups", []):
        elsewhere(group, table, witnesses)
    safe = [f"{len(unsafe)} unsafe cells"] if unsafe else []
    safe += [f"{len(content['groups'])} groups"] if content.get("groups") else []
    answer = f"{' and '.join(safe)} are safe, {len(witnesses)} witnesses prove it" if safe else ""
    answer = "; ".join([*([] if unsafe else [NONE_UNSAFE]), *([answer] if answer else [])])
    if "beside" in content:
        answer += "; " + beside("verify_beside.py").fits(content, table, demand, number)
    if "known_method" in content:
        answer += "; " + beside("verify_blocks.py").withstood(content, table, withheld, demand, beside)
    return answer


def beside(name: str) -> Any:
    """Load a file next to this one; it, too, needs only Python."""
    path = Path(__file__).with_name(name)
    demand(path.is_file(), f"this check needs {name} beside verify.py", 2)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    demand(spec is not None and spec.loader is not None, f"{name} cannot be read", 2)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]  # demanded above
    spec.loader.exec_module(module)  # type: ignore[union-attr]  # as above
    return module


def trusted_alone(content: dict[str, Any]) -> list[str]:
    """List the premises of a certificate without its folder."""
    n = len(content["relations"])
    listed = f"that cells add up in the {n} listed relations and in no others"
    return [
        "the true values, and the bounds that an outsider knows",
        listed if n else "that no cell is a sum of others: not one relation is listed",
        f"that exactly the {len(content['unsafe'])} listed cells are unsafe",
        "the required protection of each unsafe cell",
        "that what is published is what the certificate says: the release folder was not given",
    ]


def printable(text: Any) -> str:
    """Remove characters that could control a terminal."""
    return "".join(c for c in str(text) if c.isprintable())


def verify(path: str | Path) -> Verification:
    """Check a certificate, or a release folder that contains one.

    Parameters
    ----------
    path
        Certificate, or release folder with ``checker/certificate.json`` or ``.json.gz``.

    Returns
    -------
    Verification
        Result with its reason; ``ok`` is False, and nothing is raised, if a file is missing or malformed.
    """
    path = Path(path)
    folder = path if path.is_dir() else None
    places = [path / "checker" / name for name in ("certificate.json", "certificate.json.gz")]
    found = [place for place in places if place.is_file()] if folder else [path]
    try:
        demand(len(found) > 0, f"{path.name}: no certificate in checker/, so nothing is proved", 2)
        demand(len(found) == 1, f"{path.name}: not exactly one certificate in checker/", 2)
        content = read(found[0])
        said, again = [prove(content)], dict[str, str]()
        if folder is None:
            said += [] if content["unsafe"] else [TRUSTED_NONE]
            trusted = trusted_alone(content)
        else:
            files, premises = beside("verify_files.py"), beside("verify_premises.py")
            said.append(files.check_public_files(content, path / "public", demand, number))
            note, trusted, again = premises.check_premises(content, path / "checker", demand, files.plain)
            said += [note] if note else []
        left_open = printable("; ".join(content.get("remarks", [])))
        reason = "; ".join(said) + (f". Not covered: {left_open}" if left_open else "")
        headline, rows = "", tuple[CheckedRow, ...]()
        if folder is not None or Path(__file__).with_name("verify_rows.py").is_file():
            verdict = beside("verify_rows.py")
            listed, taken = verdict.check_rows(content, again, folder is None, demand, printable)
            headline = printable(content["verdict"]["headline"]) if "verdict" in content else ""
            rows, trusted = tuple(CheckedRow(*row) for row in listed), trusted + taken
        return Verification(True, reason, 0, headline, rows, tuple(map(printable, trusted)))
    except Refuted as failure:
        reason, code = failure.args
        return Verification(False, printable(reason), code)
    except MALFORMED as error:
        reason = f"{path.name}: cannot be read, or is malformed ({type(error).__name__})"
        return Verification(False, printable(reason), 2)


def main() -> int:
    """Run from the command line."""
    usage = Verification(False, "usage: python verify.py release/", 2)
    answer = verify(sys.argv[1]) if len(sys.argv) == 2 else usage
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # names in any language
    sys.stdout.write(f"{answer}\n")
    return answer.code


if __name__ == "__main__":
    sys.exit(main())
