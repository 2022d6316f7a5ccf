"""Report messages without a translation, and translations without a message: python -m tools.messages.

Messages are the templates of errors and of :class:`hitoku.messages.Text`, with their ``where`` and ``fix``,
and the texts of HTML templates. Nothing fails.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from hitoku.io import ENGLISH, catalogue, languages
from hitoku.messages import FIELD
from hitoku.web import split_texts

SRC = Path(__file__).resolve().parents[1] / "src" / "hitoku"
# Calls that take a code and a template: of classes of errors, and of helpers that make one.
CODED = ("Error", "Refused", "refuse", "error", "_unreadable")
CODE = re.compile("[a-z][a-z0-9_]+")
# A text with fewer letters outside its fields, or without a blank, is a name and stays as it is.
LETTERS = 3
NAMES = re.compile(r"\w+(, \w+(=\w+)?)+")
# A call of the translating function in an HTML template, and the strings in it.
CALL = re.compile(r"\b_\((?:[^()\"]|\"(?:[^\"\\]|\\.)*\"|\([^()]*\))*\)")
STRING = re.compile(r"\"((?:[^\"\\]|\\.)*)\"")


def templates(source: str) -> Iterator[tuple[int, str]]:
    """Yield the templates of a Python file, with their lines.

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


def html_templates(source: str) -> Iterator[tuple[int, str]]:
    """Yield the texts of an HTML template that are translated, with their lines.

    Examples
    --------
    >>> list(html_templates('<p>{{ _("Table" if whole else "{n} margins", n=count(x)) }}</p>'))
    [(1, 'Table'), (1, '{n} margins')]
    """
    for call in CALL.finditer(source):
        line = source.count("\n", 0, call.start()) + 1
        yield from ((line, text[1].replace('\\"', '"')) for text in STRING.finditer(call[0]))


def literals(source: str) -> set[str]:
    """Return all strings of a Python file."""
    return {text for node in ast.walk(ast.parse(source)) for text in _literals(node)}


def _after_code(given: list[ast.expr]) -> int | None:
    texts = [node.value if isinstance(node, ast.Constant) else None for node in given]
    at = (k + 1 for k, text in enumerate(texts[:-1]) if isinstance(text, str) and CODE.fullmatch(text))
    return next(at, None)


def _literals(node: ast.AST) -> list[str]:
    """Return the texts that an expression chooses among."""
    if isinstance(node, ast.IfExp):
        return _literals(node.body) + _literals(node.orelse)
    if isinstance(node, ast.BoolOp):
        return [text for value in node.values for text in _literals(value)]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def messages() -> dict[str, str]:
    """Return all messages, with where each stands first; the review application is in English."""
    found: dict[str, str] = {}
    for path in (*sorted(SRC.rglob("*.py")), *sorted((SRC / "io").rglob("*.html"))):
        place, read = path.relative_to(SRC).as_posix(), templates if path.suffix == ".py" else html_templates
        if not place.startswith("review/"):
            for line, text in read(path.read_text("utf-8")):
                found.setdefault(text, f"{place}:{line}")
    return found


def report(lang: str) -> tuple[dict[str, str], list[str]]:
    """Return the messages without a translation, with their places, and translations without a message."""
    words, there = catalogue(lang), messages()
    written = set(there).union(*(literals(path.read_text("utf-8")) for path in SRC.rglob("*.py")))
    for path in SRC.rglob("*.html"):
        source = path.read_text("utf-8")
        written |= {text[1] for text in STRING.finditer(source)}
        written |= {text for text, is_text in split_texts(source) if is_text}
    # Names of output types and principles are shown with blanks.
    written |= {text.replace("_", " ") for text in written}
    missing = {text: place for text, place in there.items() if text not in words and is_sentence(text)}
    return missing, [text for text in words if text not in written]


def is_sentence(text: str) -> bool:
    """Return whether a text is more than names and fields."""
    letters = sum(sign.isalpha() for sign in FIELD.sub("", text))
    return " " in text and letters >= LETTERS and not NAMES.fullmatch(text)


if __name__ == "__main__":
    for lang in languages():
        if lang != ENGLISH:
            missing, obsolete = report(lang)
            print(f"{lang}: {len(missing)} messages have no translation")
            print("".join(f"  {place}: {text}\n" for text, place in missing.items()), end="")
            print(f"{lang}: {len(obsolete)} translations belong to no message")
            print("".join(f"  {text}\n" for text in obsolete), end="")
