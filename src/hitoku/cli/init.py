"""``hitoku init``: a commented recipe for a data file, to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hitoku.cli.terminal import AsJson, print_json


def init(
    data: Annotated[Path, typer.Argument(help="Records: a CSV or Parquet file.")],
    out: Annotated[Path, typer.Option(help="Recipe to write; must not exist yet.")] = Path("recipe.toml"),
    as_json: AsJson = False,
) -> None:
    """Look at the columns of a data file and write a commented recipe for it, which runs as it is.

    Which columns hold codes, a quantity or the names of respondents is guessed: read the recipe through.

    [bold]Examples[/bold]

    hitoku init firms.csv

    hitoku init firms.parquet --out turnover.toml
    """
    from hitoku.files import require_path
    from hitoku.io.recipe import write_draft

    written = write_draft(require_path(data), out)
    if as_json:
        print_json({"data": str(data), "recipe": str(written)})
    else:
        typer.echo(f"written to {written}; read it through, then: hitoku protect {written}")
