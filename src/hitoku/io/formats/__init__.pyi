from collections.abc import Sequence
from pathlib import Path

from hitoku.io.formats.html import page as page
from hitoku.io.formats.json_stat import write_json_stat as write_json_stat
from hitoku.io.formats.tabular import write_parquet as write_parquet
from hitoku.io.formats.tabular import write_sdmx_csv as write_sdmx_csv
from hitoku.io.formats.tabular import write_table_csv as write_table_csv
from hitoku.io.formats.tabular import write_transmission as write_transmission
from hitoku.io.formats.xlsx import FORBIDDEN as FORBIDDEN
from hitoku.io.formats.xlsx import comfortable as comfortable
from hitoku.io.formats.xlsx import sheet_names as sheet_names
from hitoku.io.formats.xlsx import write_xlsx as write_xlsx
from hitoku.io.publication import Format, Publication

FORMATS: dict[str, Format]
ALWAYS: str
USUAL: tuple[str, ...]

def known_format(name: str) -> Format: ...
def write_formats(
    folder: Path, name: str, publication: Publication, formats: Sequence[str] | None = None
) -> dict[str, str]: ...
