"""Report which messages have no translation: python -m tools.messages.

Read are the templates of errors and of :class:`hitoku.messages.Text`, with their ``where`` and ``fix``. A
translation belongs to a template whatever its fields are called. Nothing fails.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from hitoku.io import ENGLISH, ERRORS, FOLDER, PLACE, languages, read_po
from hitoku.messages import FIELD

SRC = Path(__file__).resolve().parents[1] / "src" / "hitoku"
# Calls that take a code and a template: of classes of errors, and of helpers that make one.
CODED = ("Error", "Refused", "refuse", "error", "_unreadable")
CODE = re.compile("[a-z][a-z0-9_]+")
# A text with fewer letters outside its fields, or without a blank, is a name and stays as it is.
LETTERS = 3


def templates(source: str) -> Iterator[tuple[int, str]]:
    """Yield the templates of a file, with their lines.

    Examples
    --------
    >>> list(templates('DataError("no_file", "no file {name!r}", where=place, fix="check the path")'))
    [(1, 'no file {name!r}'), (1, 'check the path')]
    """
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        first = 0 if name == "Text" else _after_code(node.args) if name.endswith(CODED) else None
        if first is not None:
            words = [word.value for word in node.keywords if word.arg in {"where", "fix"} and name != "Text"]
            yield from (
                (node.lineno, text) for one in [*node.args[first:], *words] for text in _literals(one)
            )


def _after_code(given: list[ast.expr]) -> int | None:
    texts = [node.value if isinstance(node, ast.Constant) else None for node in given]
    at = (k + 1 for k, text in enumerate(texts[:-1]) if isinstance(text, str) and CODE.fullmatch(text))
    return next(at, None)


def _literals(node: ast.expr) -> list[str]:
    """Return the texts that an expression chooses among."""
    if isinstance(node, ast.IfExp):
        return _literals(node.body) + _literals(node.orelse)
    if isinstance(node, ast.BoolOp):
        return [text for value in node.values for text in _literals(value)]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def missing(lang: str) -> tuple[int, list[str]]:
    """Return the number of messages, and where those without a translation stand."""
    known = {PLACE.sub("{}", text) for text in read_po((FOLDER / lang / f"{ERRORS}.po").read_text("utf-8"))}
    found: dict[str, str] = {}
    for path in sorted(SRC.rglob("*.py")):
        for line, text in templates(path.read_text("utf-8")):
            shape = FIELD.sub("{}", text)
            if " " in text and sum(sign.isalpha() for sign in shape) >= LETTERS:
                found.setdefault(shape, f"{path.relative_to(SRC).as_posix()}:{line}: {text}")
    return len(found), [where for shape, where in found.items() if shape not in known]


if __name__ == "__main__":
    for lang in languages():
        if lang != ENGLISH:
            total, without = missing(lang)
            print(f"{lang}: {total - len(without)} of {total} messages of errors have a translation")
            print("\n".join(f"  {each}" for each in without))
