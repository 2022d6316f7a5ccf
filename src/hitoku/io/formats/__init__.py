"""Public file formats, one module and one writer each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hitoku.errors import ParameterError, did_you_mean
from hitoku.io.formats import html, json_stat, tabular, xlsx
from hitoku.io.formats.xlsx import comfortable
from hitoku.io.publication import Format, Publication
from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)

# A test compares this list with the modules of the folder.
FORMATS = {
    one.name: one
    for one in (
        tabular.CSV,
        html.FORMAT,
        xlsx.FORMAT,
        tabular.SDMX_CSV,
        tabular.PARQUET,
        json_stat.FORMAT,
        tabular.CSV_PLAIN,
    )
}
ALWAYS = "csv"
USUAL = ("csv", "html", "xlsx")


def known_format(name: str) -> Format:
    """Return a format by name; raise ParameterError with a suggestion for an unknown one.

    Examples
    --------
    >>> known_format("parquet").suffix
    '.parquet'
    """
    if name not in FORMATS:
        raise ParameterError(
            "unknown_format",
            "no format {format!r}",
            where="formats",
            fix=did_you_mean(name, FORMATS),
            format=name,
        )
    return FORMATS[name]


def write_formats(
    folder: Path, name: str, publication: Publication, formats: Sequence[str] | None = None
) -> dict[str, str]:
    """Write a table in several formats; return the skipped formats with reasons.

    Parameters
    ----------
    folder
        Folder of the files.
    name
        Name of the table, and of its files without suffix.
    publication
        Table to publish, with its texts.
    formats
        Names of formats. ``csv`` is always included, because the proof refers to it. Default: the usual
        formats, without the workbook for large tables.
    """
    left_out: dict[str, str] = {}
    asked = USUAL if formats is None else (ALWAYS, *formats)
    for one in [known_format(word) for word in dict.fromkeys(asked)]:
        if formats is None and one.name == "xlsx" and not comfortable(publication):
            left_out[f"{name}{one.suffix}"] = (
                f"{publication.release.n_cells:,} cells are too many to leaf through in a workbook; "
                'a recipe can select it nevertheless: formats = ["xlsx"]'
            )
            continue
        one.write(folder / f"{name}{one.suffix}", publication)
    return left_out
