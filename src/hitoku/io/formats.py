"""The formats in which a release leaves: one name, one file, one writer each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hitoku.errors import ParameterError, did_you_mean
from hitoku.io.csv import write_release
from hitoku.io.excel import comfortable, write_excel
from hitoku.io.json_stat import write_json_stat
from hitoku.io.page import page
from hitoku.io.publication import Publication
from hitoku.io.sdmx import write_parquet, write_sdmx_csv


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write a publication.

    Parameters
    ----------
    name
        As in a recipe and on the command line.
    suffix
        What follows the name of the table in the name of the file.
    about
        What it is, in a few words.
    write
        Writes one file.
    """

    name: str
    suffix: str
    about: str
    write: Callable[[Path, Publication], None]


def _write_csv(path: Path, publication: Publication) -> None:
    write_release(path, publication.release, adjusted=publication.adjusted)


def _write_html(path: Path, publication: Publication) -> None:
    source = [f"Source: {publication.source}"] if publication.source else []
    html = page(
        publication.release,
        title=publication.heading,
        adjusted=publication.adjusted,
        footnotes=[*publication.footnotes, *source],
    )
    path.write_text(html, encoding="utf-8")


FORMATS = {
    one.name: one
    for one in (
        Format("csv", ".csv", "codes, value, status; the proof is about this file", _write_csv),
        Format("html", ".html", "a web page that needs no network", _write_html),
        Format("xlsx", ".xlsx", "an Excel workbook, the table laid out for print", write_excel),
        Format("sdmx-csv", ".sdmx.csv", "CSV with the columns and statuses of SDMX", write_sdmx_csv),
        Format("parquet", ".parquet", "the same columns as Parquet", write_parquet),
        Format("json-stat", ".json", "a JSON-stat 2.0 data set", write_json_stat),
    )
}
ALWAYS = "csv"
USUAL = ("csv", "html", "xlsx")


def known_format(name: str) -> Format:
    """Return a format by its name, or say which one was meant.

    Examples
    --------
    >>> known_format("parquet").suffix
    '.parquet'
    """
    if name not in FORMATS:
        raise ParameterError(f"no format {name!r}", where="formats", fix=did_you_mean(name, FORMATS))
    return FORMATS[name]


def write_formats(
    folder: Path, name: str, publication: Publication, formats: Sequence[str] | None = None
) -> dict[str, str]:
    """Write a table in several formats; return what was left out, and why.

    Parameters
    ----------
    folder
        Where the files go.
    name
        Name of the table, and of its files before the suffix.
    publication
        What is shown.
    formats
        Names. ``csv`` is always among them, for the proof is about it. Left out: the usual ones, without the
        workbook where the table is too large to be looked at in one.
    """
    left_out: dict[str, str] = {}
    asked = USUAL if formats is None else (ALWAYS, *formats)
    for one in [known_format(word) for word in dict.fromkeys(asked)]:
        if formats is None and one.name == "xlsx" and not comfortable(publication):
            left_out[f"{name}{one.suffix}"] = (
                f"{publication.release.n_cells:,} cells are too many to leaf through in a workbook; "
                'a recipe can ask for it all the same: formats = ["xlsx"]'
            )
            continue
        one.write(folder / f"{name}{one.suffix}", publication)
    return left_out
