"""Export a release as τ-ARGUS files: table, metadata, hierarchies, marks, two batches, a JJ file.

The table contains unsafe cells and their levels. The suppression pattern is exported twice: as marks in an a
priori file, for viewing and auditing the release, and as costs in the table, because the optimal method of
τ-ARGUS fails on cells marked as suppressed. Suppressed cells have minimal costs there, published ones maximal
costs: if the release is safe, τ-ARGUS finds a pattern within the suppressed cells. All files are
confidential.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hitoku.attacks import Interval
from hitoku.errors import OutputError
from hitoku.evidence import Grid, texts
from hitoku.files import new_folder
from hitoku.io.argus.apriori import AprioriEntry, write_apriori
from hitoku.io.argus.batch_request import JJ, Safety
from hitoku.io.argus.columns import ArgusStatus, Judged
from hitoku.io.argus.metadata import Metadata, read_metadata
from hitoku.io.argus.safe_files import SafeTable, write_safe_file
from hitoku.io.argus.table_file import GivenTable, read_table
from hitoku.io.argus.table_writer import SEPARATOR, write_table
from hitoku.io.argus.text import ArgusLimit, StandIns, quote, stand_ins, write_text
from hitoku.io.release import read_numbers, read_release
from hitoku.model import Integers, Need, Protection, Release, Table

NAME = "table"
RELEASE, CHECK = "release", "check"
# Written if a code or a name is not ASCII.
CODES = "codes.csv"
NOTICE = """CONFIDENTIAL. These files hold the values of withheld cells. Do not publish them.

table.tab     every cell: codes, value, contributors where they are known, cost, status, required levels
table.rda     what stands in its columns; table_*.hrc: the tree of each variable
release.hst   cells withheld with the unsafe ones (m)
release.arb   a batch that reads the table with these marks and writes release.csv: the release as it is.
              Open it in τ-ARGUS and choose Audit there, or run it with hitoku, which audits it
check.arb     a batch that lets τ-ARGUS look for a pattern of its own, for ten minutes at most. Cells that
              the release withholds cost next to nothing: if check.csv withholds none but those, it is safe
table.jj      cells, relations, levels and pattern, for programs that read JJ files
"""
STOOD_FOR = """codes.csv     what names and codes stand for that τ-ARGUS cannot read: it knows ASCII alone
"""


@dataclass(frozen=True, slots=True)
class Exported:
    """Written files, and features that τ-ARGUS does not support."""

    folder: Path
    files: tuple[str, ...]
    notes: tuple[str, ...]


def export_release(release: str | Path, out: str | Path) -> Exported:
    """Write a release folder as files for τ-ARGUS.

    Parameters
    ----------
    release
        Release folder with ``public/`` and ``checker/``.
    out
        Folder to write, which must not exist or be empty; it is written atomically.
    """
    folder = Path(release)
    table, need, shown = read_release(folder)
    table = replace(table, cost=None, frequency=_respondents(folder, table))
    return export_table(out, table, need, shown)


def export_table(out: str | Path, table: Table, need: Need, release: Release) -> Exported:
    """Write a table, its need and its pattern as files for τ-ARGUS; see :func:`export_release`.

    Codes and names that are not ASCII are replaced, as listed in ``codes.csv``; :func:`read_export` restores
    them.
    """
    _refuse(table, release)
    renamed = stand_ins(table)
    table = renamed.applied(table) if renamed else table
    protection = Protection.withhold(replace(table, fixed=None), release.withheld, need)
    status = np.full(table.n_cells, int(ArgusStatus.SAFE))
    if table.fixed is not None:
        status[table.fixed] = ArgusStatus.PROTECTED
    status[need.unsafe] = ArgusStatus.BY_HAND
    judged = Judged(table=table, need=need, status=status, safety=Safety())
    # Floating-point residue of sums is not exported: 0.1 + 0.2 becomes 0.3.
    printed = np.array([float(text) for text in texts(table.value)])
    # A published cell is as expensive as possible.
    priced = replace(table, value=printed, cost=np.where(release.withheld, 1.0, float(ArgusLimit.COST)))
    levels = _levels(table, need, release)
    with new_folder(Path(out)) as draft:
        _, described, *_ = write_table(draft / f"{NAME}.tab", priced, levels)
        columns = read_metadata(described)
        write_apriori(draft / f"{RELEASE}.hst", _marks(table, levels, protection), SEPARATOR)
        write_safe_file(draft / f"{NAME}.jj", SafeTable(judged=judged, protection=protection), JJ)
        for name in (RELEASE, CHECK):
            write_text(draft / f"{name}.arb", _batch(columns, name), "batch")
        if renamed:
            renamed.write(draft / CODES)
        (draft / "README.txt").write_text(NOTICE + (STOOD_FOR if renamed else ""), encoding="utf-8")
        files = tuple(sorted(entry.name for entry in draft.iterdir()))
    notes = _notes(table, need, release)
    if renamed:
        notes.append(f"{len(renamed)} names or codes are not ASCII: {CODES} says what stands for them")
    return Exported(Path(out), files, tuple(notes))


def read_export(folder: str | Path) -> GivenTable:
    """Read the table of an export with its original codes and names."""
    folder = Path(folder)
    given = read_table(folder / f"{NAME}.tab", read_metadata(folder / f"{NAME}.rda"))
    if not (folder / CODES).is_file():
        return given
    own = StandIns.read(folder / CODES).reversed()
    return replace(given, table=own.applied(given.table))


def _refuse(table: Table, release: Release) -> None:
    withheld = release.withheld
    if not table.dimensions:
        raise OutputError(
            "linked_tables_not_for_argus",
            "τ-ARGUS reads tables that cross whole variables, which this release does not (linked tables)",
            where="release",
            fix="checker/table.jj.gz is a JJ file with all its cells and relations: use that",
        )
    if not withheld.any() and not Grid.of(table.value).same(release.published).all():
        raise OutputError(
            "adjusted_release_without_pattern",
            "the release publishes adjusted values, so it has no suppression pattern to check",
            where="release",
            fix="compare public/table.csv with the table by hand",
        )


def _respondents(folder: Path, table: Table) -> Integers | None:
    """Return the number of respondents of every cell; None if unknown."""
    count = read_numbers(folder, table.labels, "respondents")
    return None if count is None else count.astype(np.int64)


def _levels(table: Table, need: Need, release: Release) -> Need:
    """Convert required widths to levels, because τ-ARGUS has no widths.

    An interval is wide enough if it covers levels that add up to the width. Levels are chosen within the
    interval if it is wide enough, and beyond it otherwise.
    """
    wide = need.unsafe & release.withheld & (need.width > need.lower + need.upper)
    if not wide.any():
        return need
    slack = Interval().bounds(release).upper - table.value
    # Interval ends have rounding errors.
    slack = np.floor(slack * 1e6 + 0.5) / 1e6
    upper = np.minimum(slack, need.width - need.lower)
    lower = np.minimum(need.width - upper, table.value - table.lower)
    return replace(
        need,
        lower=np.where(wide, lower, need.lower),
        upper=np.where(wide, need.width - lower, need.upper),
    )


def _marks(table: Table, need: Need, protection: Protection) -> list[AprioriEntry]:
    """Return the a priori entries: secondary suppressions, and unsafe cells that are empty."""
    nobody = np.zeros(table.n_cells, dtype=bool) if table.frequency is None else table.frequency == 0
    lost = need.unsafe & nobody & (table.value == 0)
    entries = []
    for cell in np.flatnonzero(protection.withheld & (~need.unsafe | lost)).tolist():
        codes = table.labels.codes_of(cell)
        if lost[cell]:
            entries.append(AprioriEntry(codes, "u"))
            entries.append(AprioriEntry(codes, "pl", (float(need.lower[cell]), float(need.upper[cell]))))
        else:
            entries.append(AprioriEntry(codes, "m"))
    return entries


def _batch(columns: Metadata, name: str) -> list[str]:
    variables = "".join(quote(variable.name, "variable") for variable in columns.spanning)
    response = quote(columns.of_part("value")[0].name, "response")
    price = quote(columns.of_part("cost")[0].name, "cost") if name == CHECK else ""
    own = {
        RELEASE: [f'<APRIORI> "{RELEASE}.hst",1,"{SEPARATOR}",1,0'],
        CHECK: ["<SOLVER> FREE", "<SUPPRESS> OPT(1,10)"],
    }
    return [
        f'<OPENTABLEDATA> "{NAME}.tab"',
        f'<OPENMETADATA> "{NAME}.rda"',
        f"<SPECIFYTABLE> {variables}|{response}||{price}",
        "<SAFETYRULE> MAN(20)",
        "<READTABLE> 0",
        *own[name],
        f'<WRITETABLE> (1,3,AS+,"{name}.csv")',
    ]


def _notes(table: Table, need: Need, release: Release) -> list[str]:
    notes = []
    published = int(np.sum(need.unsafe & ~release.withheld))
    if published:
        notes.append(f"the release publishes {published} unsafe cell(s), which τ-ARGUS will take as withheld")
    if np.any(need.width > 0):
        notes.append("τ-ARGUS does not support widths: the table requires levels that add up to them")
    if np.isfinite(table.upper).any() or np.any((table.lower != 0) & np.isfinite(table.lower)):
        notes.append("a table for τ-ARGUS holds no bounds that outsiders know: only the JJ file has them")
    if table.frequency is not None and np.any(release.withheld & (table.frequency == 0)):
        notes.append("empty cells are withheld: τ-ARGUS always publishes those")
    if len(table.dimensions) > ArgusLimit.VARIABLES:
        notes.append(f"τ-ARGUS looks for optimal patterns in at most {ArgusLimit.VARIABLES} variables")
    return notes
