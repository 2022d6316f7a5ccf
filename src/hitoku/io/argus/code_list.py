"""Labels of codes (``.cdl``): a code, a comma, its label."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hitoku.errors import DataError, OutputError
from hitoku.io.argus.text import read_text, write_text


def read_code_list(path: str | Path) -> dict[str, str]:
    """Read the labels of codes.

    Blanks before a code belong to it, for codes in fixed columns are as wide as their column. A label may
    hold commas. Codes without a label do no harm.
    """
    path = Path(path)
    return parse_code_list(read_text(path, "code list"), name=path.name)


def parse_code_list(text: str, *, name: str = "code list") -> dict[str, str]:
    r"""Read the text of a ``.cdl`` file; see :func:`read_code_list`.

    Examples
    --------
    >>> parse_code_list(" 1,Groningen\n10,Zeeland\n")
    {' 1': 'Groningen', '10': 'Zeeland'}
    """
    labels: dict[str, str] = {}
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.replace("\t", " ")
        if not line.strip() or line.strip().startswith("//"):
            continue
        code, comma, label = line.partition(",")
        code, label = _bare(code.rstrip()), _bare(label.strip())
        if not comma or not code.strip():
            raise DataError(
                "a line is not a code, a comma and a label",
                where=f"{name}, line {number}",
                fix="write one code per line, then a comma, then its label",
            )
        if code in labels:
            raise DataError(
                f"code {code!r} has two labels", where=f"{name}, line {number}", fix="keep one of them"
            )
        labels[code] = label
    return labels


def write_code_list(path: str | Path, labels: Mapping[str, str]) -> None:
    """Write the labels of codes."""
    lines = [f"{code},{label}" for code, label in labels.items()]
    for (code, label), line in zip(labels.items(), lines, strict=True):
        if len(line.splitlines()) != 1 or parse_code_list(line) != {code: label}:
            raise OutputError(
                f"code {code!r} cannot be written in a .cdl file",
                where=Path(path).name,
                fix="a code holds no comma and ends in no blank; a label has no blanks around it",
            )
    write_text(path, lines, "code list")


def _bare(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
