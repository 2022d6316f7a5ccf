"""Every text of a deliberate error, read out of the source, with braces where something is put in."""

from __future__ import annotations

import ast
import re
from pathlib import Path

SRC = Path(__file__).resolve().parents[2] / "src" / "hitoku"
PARTS = ("what", "where", "fix")
# Texts with fewer letters of their own say nothing that could be translated: names, options, numbers.
LETTERS = 3


def error_texts() -> dict[str, set[str]]:
    """Return the texts of all errors, and the files that say them."""
    kinds = {
        node.name
        for node in ast.parse((SRC / "errors.py").read_text("utf-8")).body
        if isinstance(node, ast.ClassDef)
    }
    found: dict[str, set[str]] = {}
    for path in sorted(SRC.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and _name(node.func) in kinds:
                given = [("what", each) for each in node.args[:1]]
                given += [(word.arg, word.value) for word in node.keywords if word.arg in PARTS]
                for part, value in given:
                    for text in _texts(value):
                        # Where something is wrong is mostly a name: only sentences are asked for.
                        if _says_something(text) and (part != "where" or " " in text):
                            found.setdefault(text, set()).add(path.relative_to(SRC).as_posix())
    return found


def shape(text: str) -> str:
    """Take the names out of the braces of a catalogue's text."""
    return re.sub(r"\{\w+\}", "{}", text)


def _says_something(text: str) -> bool:
    return len(re.findall("[A-Za-z]", text)) >= LETTERS


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _texts(node: ast.expr) -> list[str]:
    """Return what an expression can say, as far as it is written down right there."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.JoinedStr):
        return ["".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in node.values)]
    if isinstance(node, ast.IfExp):
        return [*_texts(node.body), *_texts(node.orelse)]
    if isinstance(node, ast.BoolOp):
        return [text for value in node.values for text in _texts(value)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [one + other for one in _texts(node.left) for other in _texts(node.right)]
    return []
