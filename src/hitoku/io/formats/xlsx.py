"""Excel format: a workbook laid out for print, with title, crossed table, marked cells and notes.

It is written from a :class:`Publication` alone and has no formulas, comments or hidden parts, so that nothing
confidential can be hidden in it. Texts are written as texts, including those that look like formulas. The
same publication gives the same bytes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import IntEnum
from math import ceil
from pathlib import Path
from typing import Any

from hitoku.errors import OutputError
from hitoku.io.layout import LayoutSection, StubLine, sheets_of
from hitoku.io.publication import ADJUSTED, LEGEND, WITHHELD, Format, Publication
from hitoku.model import MAX_DECIMALS


class Excel(IntEnum):
    """Limits and codes of the format."""

    MAX_ROWS, MAX_COLUMNS, MAX_TEXT, MAX_LEVEL, MAX_NAME = 1_048_576, 16_384, 32_767, 7, 31
    A4 = 9
    LIGHT_UP = 14
    """Thin diagonal stripes, visible in black and white print."""


class SheetSize(IntEnum):
    """Rows of a sheet, and widths in characters."""

    ABOVE, BELOW = 6, 10
    """Rows above the table, and maximum rows below."""
    NARROWEST, WIDEST_CODE, WIDEST_VALUE = 9, 44, 24
    PAGE = 260
    """Readable characters per line: A4 landscape at half the screen size."""


# Forbidden characters and names of sheets.
FORBIDDEN = re.compile(r"[\[\]:*?/\\\x00-\x1f]")
RESERVED = ("history", "notes")  # the first by Excel, the second by this writer
# Larger workbooks open slowly and are written only on request.
COMFORTABLE_CELLS = 100_000
# Fixed creation date, so that the same publication gives the same bytes.
CREATED = datetime(2000, 1, 1, tzinfo=UTC).replace(tzinfo=None)
# No temporary files: confidential drafts must not reach the disk.
OPTIONS = {
    "in_memory": True,
    "strings_to_formulas": False,
    "strings_to_numbers": False,
    "strings_to_urls": False,
}

INK, LINE, MARGIN, STRIPE, PALE = "#1B2A38", "#8496A6", "#EEF2F5", "#9FB0BF", "#EEF2F5"


def write_xlsx(path: Path, publication: Publication) -> None:
    """Write the workbook; raise an error if the table exceeds Excel's limits."""
    sheets = sheets_of(publication.release)
    _refuse_oversized(path, publication, sheets)
    path.write_bytes(_Workbook(publication).filled(sheets))


def comfortable(publication: Publication) -> bool:
    """Return whether a table is small enough for a workbook."""
    return publication.release.n_cells <= COMFORTABLE_CELLS


def _refuse_oversized(path: Path, publication: Publication, sheets: Sequence[LayoutSection]) -> None:
    words = (*publication.footnotes, publication.heading, publication.subtitle, publication.source)
    codes = (code for codes in publication.release.labels.codes for code in codes)
    n_rows = max(
        SheetSize.ABOVE + len(sheet.rows) + SheetSize.BELOW + len(publication.footnotes) for sheet in sheets
    )
    n_columns = max(len(sheet.stubs) + len(sheet.columns) for sheet in sheets)
    longest = max(len(text) for text in (*words, *codes))
    for what, size, most in (
        ("rows", n_rows, Excel.MAX_ROWS),
        ("columns", n_columns, Excel.MAX_COLUMNS),
        ("characters in one text", longest, Excel.MAX_TEXT),
    ):
        if size > most:
            raise OutputError(
                "too_large_for_excel",
                "the table does not fit on a sheet of Excel: {n:,} {what}, at most {most:,} are possible",
                where=path.name,
                fix="leave xlsx out of the formats; sdmx-csv and parquet have no such limit",
                n=size,
                what=what,
                most=most,
            )


def sheet_names(wanted: list[str]) -> list[str]:
    """Return unique sheet names that Excel accepts.

    Examples
    --------
    >>> sheet_names(["1/2", "1:2", "History", "x" * 40])
    ['1 2', '1 2 (2)', 'History (2)', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx']
    """
    taken = set(RESERVED)
    names = []
    for text in wanted:
        plain = FORBIDDEN.sub(" ", text).strip(" '")[: Excel.MAX_NAME].strip(" '") or "Table"
        name, number = plain, 1
        while name.lower() in taken:
            number += 1
            tail = f" ({number})"
            name = plain[: Excel.MAX_NAME - len(tail)] + tail
        taken.add(name.lower())
        names.append(name)
    return names


class _Workbook:
    """Workbook under construction."""

    def __init__(self, publication: Publication) -> None:
        import xlsxwriter  # noqa: PLC0415 - loaded when a workbook is written

        self.publication = publication
        self.file = io.BytesIO()
        self.book: Any = xlsxwriter.Workbook(self.file, OPTIONS)
        self.book.set_properties(
            {"title": publication.heading, "subject": publication.subtitle, "created": CREATED}
        )
        texts = publication.texts
        decimals = max((len(text.partition(".")[2]) for text in texts), default=0)
        self.number = "#,##0" + ("." + "0" * min(decimals, MAX_DECIMALS) if decimals else "")
        # Thousands separators take a third more space.
        self.width = 4 * max((len(text) for text in texts), default=0) // 3 + 2
        self.styles: dict[tuple[tuple[str, Any], ...], Any] = {}

    def style(self, **wanted: Any) -> Any:
        """Return a cell format; equal formats are shared."""
        key = tuple(sorted(wanted.items()))
        if key not in self.styles:
            look = {"font_name": "Calibri", "font_size": 11, "font_color": INK, **wanted}
            self.styles[key] = self.book.add_format(look)
        return self.styles[key]

    def filled(self, sheets: Sequence[LayoutSection]) -> bytes:
        names = sheet_names(
            [", ".join(line.code for _, line in sheet.further) or "Table" for sheet in sheets]
        )
        for name, sheet in zip(names, sheets, strict=True):
            self._table(name, sheet)
        self._notes(names, sheets)
        self.book.close()
        return self.file.getvalue()

    def _table(self, name: str, sheet: LayoutSection) -> None:
        page = self.book.add_worksheet(name)
        shown = self.publication
        page.write_string(0, 0, shown.heading, self.style(bold=True, font_size=14))
        page.write_string(1, 0, "; ".join(filter(None, [shown.subtitle, sheet.title])), self.style())
        said = [LEGEND] if shown.release.withheld.any() else []
        said += [ADJUSTED] if shown.adjusted else []
        page.write_string(2, 0, " ".join(said), self.style(italic=True))
        if sheet.across:
            page.write_string(SheetSize.ABOVE - 2, len(sheet.stubs), sheet.across, self.style(bold=True))
        self._heads(page, sheet)
        for place, row in enumerate(sheet.rows, SheetSize.ABOVE):
            self._row(page, place, row)
        below = SheetSize.ABOVE + len(sheet.rows) + 1
        for place, text in enumerate([*shown.footnotes, *self._source(), "See also the sheet Notes."], below):
            page.write_string(place, 0, text, self.style(font_size=9))
        page.freeze_panes(SheetSize.ABOVE, len(sheet.stubs))
        page.outline_settings(symbols_below=False, symbols_right=False)
        page.set_landscape()
        page.set_paper(Excel.A4)
        page.fit_to_pages(self._pages_across(sheet), 0)
        page.repeat_rows(SheetSize.ABOVE - 2, SheetSize.ABOVE - 1)
        page.repeat_columns(0, len(sheet.stubs) - 1)
        page.set_footer("&C&P / &N")

    def _pages_across(self, sheet: LayoutSection) -> int:
        """Return the number of pages side by side needed to keep the print readable."""
        stub = sum(self._stub_width(sheet, place) for place in range(len(sheet.stubs)))
        values = sum(self._value_width(line) for line in sheet.columns)
        return max(1, ceil(values / max(SheetSize.PAGE - stub, SheetSize.PAGE // 2)))

    def _stub_width(self, sheet: LayoutSection, place: int) -> int:
        last = place == len(sheet.stubs) - 1
        texts = [2 * row.depth * last + len(row.texts[place]) for row in sheet.rows]
        return min(max([SheetSize.NARROWEST, len(sheet.stubs[place]), *texts]), SheetSize.WIDEST_CODE) + 2

    def _value_width(self, line: StubLine) -> int:
        return min(max(SheetSize.NARROWEST, self.width, len(line.code) + 2), SheetSize.WIDEST_VALUE)

    def _source(self) -> list[str]:
        return [f"Source: {self.publication.source}"] if self.publication.source else []

    def _heads(self, page: Any, sheet: LayoutSection) -> None:
        look = {"bold": True, "bottom": 1, "border_color": LINE, "bg_color": MARGIN, "text_wrap": True}
        for place, name in enumerate(sheet.stubs):
            page.set_column(place, place, self._stub_width(sheet, place))
            page.write_string(SheetSize.ABOVE - 1, place, name, self.style(**look, valign="bottom"))
        for place, line in enumerate(sheet.columns, len(sheet.stubs)):
            level = {"level": min(line.depth, Excel.MAX_LEVEL)}
            page.set_column(place, place, self._value_width(line), None, level)
            page.write_string(
                SheetSize.ABOVE - 1, place, line.code, self.style(**look, align="right", valign="bottom")
            )
        self.sums = [line.is_sum for line in sheet.columns]

    def _row(self, page: Any, place: int, row: Any) -> None:
        look = {"bold": True, "bg_color": MARGIN} if row.is_sum else {}
        *before, code = row.texts
        for column, text in enumerate(before):
            page.write_string(place, column, text, self.style(**look))
        page.write_string(
            place, len(before), code, self.style(**look, indent=row.depth, text_wrap="\n" in code)
        )
        page.set_row(place, None, None, {"level": min(row.depth, Excel.MAX_LEVEL)})
        for column, cell in enumerate(row.cells):
            at, value = (place, len(row.texts) + column), self.publication.value[cell]
            if value != value:  # noqa: PLR0124 - NaN: withheld
                hidden = self.style(
                    align="right", italic=True, pattern=Excel.LIGHT_UP, fg_color=STRIPE, bg_color=PALE
                )
                page.write_string(*at, WITHHELD, hidden)
            else:
                sums = row.is_sum or self.sums[column]
                margin = {"bold": True, "bg_color": MARGIN} if sums else {}
                page.write_number(*at, value, self.style(**margin, num_format=self.number))

    def _notes(self, names: Sequence[str], sheets: Sequence[LayoutSection]) -> None:
        page = self.book.add_worksheet("Notes")
        shown = self.publication
        page.set_column(0, 0, 110)
        text, head = self.style(text_wrap=True, valign="top"), self.style(bold=True)
        place = 0

        def say(words: str, look: Any) -> None:
            nonlocal place
            page.write_string(place, 0, words, look)
            place += 1

        say(shown.heading, self.style(bold=True, font_size=14))
        say(shown.subtitle, text)
        sections = {
            "Confidentiality": shown.remarks,
            "Footnotes": shown.footnotes,
            "Source": (shown.source,) if shown.source else (),
        }
        for name, said in sections.items():
            if said:
                place += 1
                say(name, head)
                for words in said:
                    say(words, text)
        if len(sheets) > 1:
            place += 1
            say("Sheets", head)
            for name, sheet in zip(names, sheets, strict=True):
                target = name.replace("'", "''")
                page.write_url(place, 0, f"internal:'{target}'!A1", string=sheet.title[:255])
                place += 1
        page.set_landscape()
        page.set_paper(Excel.A4)
        page.fit_to_pages(1, 0)


FORMAT = Format("xlsx", ".xlsx", "an Excel workbook, the table laid out for print", write_xlsx)
