"""``hitoku init``: draft a recipe from the columns of a data file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hitoku.cli.terminal import AsJson, print_json


def init(
    data: Annotated[Path, typer.Argument(help="Records: CSV or Parquet file.")],
    out: Annotated[Path, typer.Option(help="Recipe to write. It must not exist.")] = Path("recipe.toml"),
    as_json: AsJson = False,
) -> None:
    """Draft a recipe from the columns of a data file.

    The recipe has comments and can be run unchanged. The roles of the columns (codes, value, contributors)
    are guessed, so read the recipe before you use it.

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
        typer.echo(f"written to {written}; read it, then run: hitoku protect {written}")
